"""Spread of the transfer times of a class, by priority, mechanism and discipline (Y13, Y18)."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd

from validation.claims.effect_claims import Curve, Effects, Estimates, Statement, beyond, effects
from validation.claims.yang2001.priorities import CONTROL, TURNS
from validation.claims.yang2001.sharing import RATIOS, turns
from validation.claims.yang2001.tables import (
    CLASSES,
    DISCIPLINES,
    TCP,
    UDP,
    apart,
    case_of,
    cases,
    classes,
    regulated,
    under,
)
from validation.statistics import PART, Estimate, mostly, of_runs
from validation.verdicts import Verdict

UNSTABLE_TCP = (("cc/cc", "cc"), ("cc/be", "cc"), ("be/be", "be"))
"""Environments and mechanisms whose TCP the paper's fourth observation calls unstable under DRR."""
BEST_EFFORT = (("cc/be", "be"), ("ts/be", "be"), ("be/be", "be"))
"""Those whose UDP its fifth observation calls most stable under SFQ."""
REGULATED = (("cc/be", "cc"), ("ts/be", "ts"))
"""Those whose TCP it calls more stable under SFQ."""


def _spread_of(
    discipline: str, environment: str, mechanism: str, kinds: tuple[str, ...]
) -> Estimate:
    """Return the deviation over the ratios of classes of flows, their mean, s."""
    return of_runs(
        _spreads(environment, discipline, mechanism)[list(kinds)].mean(axis=1).to_numpy()
    )


def _against(
    discipline: str, where: tuple[tuple[str, str], ...], kinds: tuple[str, ...], sign: float
) -> Estimates:
    """Return by how much the deviation under each other discipline exceeds that under this one, relative to it.

    ``sign`` -1: by how much it is below.
    """

    def spread(chosen: str) -> pd.Series[float]:
        each = (_spreads(e, chosen, m)[list(kinds)].mean(axis=1) for e, m in where)
        return pd.concat(list(each), axis=1).mean(axis=1)

    own = spread(discipline)
    others = (spread(other) for other in DISCIPLINES if other != discipline)
    return tuple(of_runs((sign * (other / own - 1.0)).to_numpy()) for other in others)


def _spreads(environment: str, discipline: str, mechanism: str = "") -> pd.DataFrame:
    """Return by seed the standard deviation of the mean times of the classes over the ratios of TCP to UDP.

    The quantity of the paper's Table 6: best-effort UDP beside a regulated source takes 8 s for each
    percent of UDP, whose mean and deviation over the 19 ratios are the table's.
    """
    means = classes(case_of(environment, discipline)).reset_index("tcp_flows")
    found: Any = means.drop(columns="tcp_flows", level=0).groupby("seed").std(ddof=0)
    return under(found.dropna(axis="columns", how="all"), mechanism or regulated(environment))


@effects("Y13", cases=(*cases("cc/cc", "ts/ts", "cc/be", "ts/be"), CONTROL))
def spread_of_times() -> Effects:
    """Measure the standard deviation over the ratios of the mean times of a class."""
    pairs = [(("cc/cc", "ts/ts"), d) for d in DISCIPLINES]
    pairs += [(("cc/be", "ts/be"), d) for d in DISCIPLINES]
    share = []
    for (one, other), d in pairs:
        cc, ts = _spreads(one, d), _spreads(other, d)
        share.append((ts[list(CLASSES)] < cc[list(CLASSES)]).to_numpy().mean())
    steps = tuple(
        of_runs((_spreads("cc/cc", d)[low] / _spreads("cc/cc", d)[high] - 1.0).to_numpy())
        for d in DISCIPLINES
        for high, low in itertools.pairwise(TCP)
    )
    curves = {
        f"{e} {d}": Curve(TCP, [of_runs(_spreads(e, d)[k].to_numpy()) for k in TCP])
        for e in ("cc/cc", "ts/ts")
        for d in DISCIPLINES
    }
    most = of_runs(share, PART)
    return Effects(
        {
            "below": Statement((beyond(most, 0.5),), Verdict.NOT_APPLICABLE),
            "priority": Statement(mostly(e.value > 0.0 for e in steps)),
        },
        curves,
        ("class of flows", "standard deviation over the ratios (s)"),
        values={
            "share": most, "steps": (sum(e.value > 0.0 for e in steps), len(steps)), "shrinks": [d for d, e in zip(DISCIPLINES, steps[2::3], strict=True) if e.value < 0.0],
            "with": [_last_step(None, pair) for pair in LAST_STEPS],
            "without": [_last_step("lost", pair) for pair in LAST_STEPS],
        },
    )  # fmt: skip


LAST_STEPS = (("TCP3", "TCP2"), ("TCP4", "TCP3"))


def _last_step(acks: str | None, pair: tuple[str, str]) -> Estimate:
    """Return how much more the first class of a pair scatters than the second under cc and FCFS.

    ``"lost"``: where acknowledgements that come while a flow is stopped are lost.
    """
    frame = classes(CONTROL, "std").reset_index()
    frame = frame[frame["value"] == (acks or "default")]
    return apart(frame, ("cc", pair[0]), ("cc", pair[1]))


def _turns_spread() -> Estimates:
    """Return how much more the mean time of a class deviates over the ratios than the next higher one's when flows take turns."""
    found = pd.concat([turns(n).groupby("kind")["time"].mean() for n in RATIOS], axis=1)
    spread = found.std(axis=1, ddof=0)
    return tuple(
        Estimate(spread[low] / spread[high] - 1.0, 0.0) for high, low in itertools.pairwise(TCP)
    )


FEW_SLOTS = 1 / 64
"""The smallest multiple of the slots per turn that was run."""


def _spread_at(scale: float) -> tuple[float, Estimate]:
    """Return how much more TCP4 scatters than TCP1 under ts/ts, model and ns-2, in s, by the slots."""
    own = turns(90, scale=scale).groupby("kind")["time"].std()
    frame = classes(TURNS, "std").reset_index()
    ns2 = frame[frame["value"] == scale].set_index("seed")["ts"]
    return float(own["TCP4"] - own["TCP1"]), of_runs((ns2["TCP4"] - ns2["TCP1"]).to_numpy())


@effects("Y18", cases=(*cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), TURNS))
def spread_by_discipline() -> Effects:
    """Measure the deviation of the classes over the ratios, by priority and discipline."""
    total = {d: _spreads("cc/cc", d)[list(CLASSES)].mean(axis=1) for d in DISCIPLINES}
    stable = tuple(
        of_runs((total[worse] / total[better] - 1.0).to_numpy())
        for better in ("FCFS", "RED")
        for worse in ("DRR", "SFQ")
    )
    ts = tuple(
        of_runs((_spreads("ts/ts", d)[low] / _spreads("ts/ts", d)[high] - 1.0).to_numpy())
        for d in DISCIPLINES
        for high, low in itertools.pairwise(TCP)
    )
    return Effects(
        {
            "priority": Statement(ts, _turns_spread()),
            "stable": Statement(stable, Verdict.NOT_APPLICABLE),
            "drr": Statement(_against("DRR", UNSTABLE_TCP, TCP, -1.0), Verdict.NOT_APPLICABLE),
            "sfq": Statement(_against("SFQ", BEST_EFFORT, UDP, 1.0), Verdict.NOT_APPLICABLE),
            "sfq_tcp": Statement(_against("SFQ", REGULATED, TCP, 1.0), Verdict.NOT_APPLICABLE),
        },
        {"cc/cc": Curve(DISCIPLINES, [of_runs(total[d].to_numpy()) for d in DISCIPLINES])},
        ("discipline", "standard deviation over the ratios, mean of the classes (s)"),
        values={"total": {d: of_runs(values.to_numpy()) for d, values in total.items()},
                "against": sum(e.value < 0 for e in ts), "steps": len(ts),
                "udp": {d: _spread_of(d, "be/be", "be", UDP) for d in DISCIPLINES},
                "slots": {scale: _spread_at(scale) for scale in (1.0, FEW_SLOTS)}},
    )  # fmt: skip
