"""Spread of the transfer times of a class, by priority, mechanism and discipline (Y13, Y18)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import pandas as pd

from validation.claims.effect_claims import effects, where
from validation.claims.effect_statements import (
    Curve,
    Decided,
    Effects,
    Estimates,
    Statement,
)
from validation.claims.yang2001 import tables
from validation.claims.yang2001.priorities import CONTROL, TURNS
from validation.claims.yang2001.sharing import RATIOS, turns
from validation.judgements.verdicts import Verdict
from validation.records import rows
from validation.statistics import PART, Estimate, mostly, of_runs

Groups: TypeAlias = tuple[tuple[str, str], ...]
"""Environments of Table 6, each with the mechanism whose flows are meant."""
UNSTABLE_TCP = (("cc/cc", "cc"), ("cc/be", "cc"), ("be/be", "be"))
"""Environments and mechanisms whose TCP the paper's fourth observation calls unstable under DRR."""
BEST_EFFORT = (("cc/be", "be"), ("ts/be", "be"), ("be/be", "be"))
"""Those whose UDP its fifth observation calls most stable under SFQ."""
REGULATED = (("cc/be", "cc"), ("ts/be", "ts"))
"""Those whose TCP it calls more stable under SFQ."""


def _spread_of(discipline: str, environment: str, mechanism: str, kinds: tuple[str, ...]) -> Estimate:
    """Return the deviation over the ratios of classes of flows, their mean, s."""
    return of_runs(_spreads(environment, discipline, mechanism)[list(kinds)].mean(axis=1).to_numpy())


def _spread_cells(discipline: str, among: Groups, kinds: tuple[str, ...]) -> pd.DataFrame:
    """Return the deviation of each class of each group under a discipline, s: a row for each seed that all groups have."""
    cells = {m: _spreads(m[0], discipline, m[1])[list(kinds)] for m in among}
    return pd.concat(cells, axis=1, join="inner")


def _below(better: Sequence[str], worse: Sequence[str], among: Groups, kinds: tuple[str, ...]) -> Statement:
    """Return the statement that classes deviate less under some disciplines than under others, in most comparisons."""
    cells = {d: _spread_cells(d, among, kinds) for d in (*better, *worse)}
    less = [cells[b] < cells[w] for b in better for w in worse]
    return Statement(_in_most_runs(pd.concat(less, axis=1)), Verdict.NOT_APPLICABLE)


def _in_most_runs(holds: pd.DataFrame) -> Decided:
    """Return the verdict on whether most comparisons hold, by a sign test in which each seed counts once.

    Comparisons of one seed (its classes, disciplines and environments, in the columns) are no independent runs.
    """
    by_seed = holds.mean(axis=1) > 0.5
    return lambda given: mostly(by_seed, given["level"])


def _steps(environment: str) -> pd.DataFrame:
    """Return whether a class deviates more than the next higher one, by seed: a column for each step and discipline."""
    spreads = {d: _spreads(environment, d) for d in tables.DISCIPLINES}
    return pd.DataFrame(
        {
            (d, low): each[low] > each[high]
            for d, each in spreads.items()
            for high, low in itertools.pairwise(tables.TCP)
        }
    )


def _apart_from(discipline: str) -> tuple[str, ...]:
    return tuple(d for d in tables.DISCIPLINES if d != discipline)


OTHER_RATIOS = "yang2001/all-ratios"
"""The ratios of TCP to UDP that the cases of Table 4 leave out where a source is regulated."""


def means(environment: str, discipline: str) -> pd.DataFrame:
    """Return the mean times of the classes at the 19 ratios of the paper, a row for each ratio and seed.

    Rows of seeds that were not run at all ratios are left out.
    """
    table = tables.classes(tables.case_of(environment, discipline))
    index: Any = table.index
    found = table.set_axis(index.droplevel(["environment", "discipline", "size"]), axis=0)
    if environment == "be/be":
        return found
    frame = where(OTHER_RATIOS, environment=environment, discipline=discipline)
    sums = tables.by_kind(frame).assign(time=frame["flows"] * frame["transfer_time"])
    groups = sums.groupby(["tcp_flows", "seed", "mechanism", "kind"])[["time", "flows"]].sum()
    others = (groups["time"] / groups["flows"]).unstack(["mechanism", "kind"])  # noqa: PD010
    both: pd.DataFrame = pd.concat([found, others])
    return both[both.index.get_level_values("seed").isin(others.index.unique("seed"))]


def _spreads(environment: str, discipline: str, mechanism: str = "") -> pd.DataFrame:
    """Return by seed the standard deviation of the mean times of the classes over the ratios of TCP to UDP.

    The quantity of the paper's Table 6: best-effort UDP beside a regulated source takes 8 s for each
    percent of UDP, whose mean and deviation over the 19 ratios are the table's.
    """
    found: Any = means(environment, discipline).groupby("seed").std(ddof=0)
    return tables.under(found.dropna(axis="columns", how="all"), mechanism or tables.regulated(environment))


@effects("Y13", cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be"), OTHER_RATIOS, CONTROL))
def spread_of_times() -> Effects:
    """Measure the standard deviation over the ratios of the mean times of a class."""
    pairs = [(("cc/cc", "ts/ts"), d) for d in tables.DISCIPLINES]
    pairs += [(("cc/be", "ts/be"), d) for d in tables.DISCIPLINES]
    kinds = list(tables.CLASSES)
    less = [_spreads(other, d)[kinds] < _spreads(one, d)[kinds] for (one, other), d in pairs]
    below = pd.concat(less, axis=1, join="inner")
    grows = _steps("cc/cc")
    curves = {
        f"{e} {d}": Curve(tables.TCP, [of_runs(_spreads(e, d)[k].to_numpy()) for k in tables.TCP])
        for e in ("cc/cc", "ts/ts")
        for d in tables.DISCIPLINES
    }
    return Effects(
        {
            "below": Statement(_in_most_runs(below), Verdict.NOT_APPLICABLE),
            "priority": Statement(_in_most_runs(grows)),
        },
        curves,
        ("class of flows", "standard deviation over the ratios (s)"),
        values={
            "share": of_runs(below.mean(axis=1).to_numpy(), PART), "steps": of_runs(grows.mean(axis=1).to_numpy(), PART), "seeds": len(below),
            "with": [_last_step(None, pair) for pair in LAST_STEPS],
            "without": [_last_step("lost", pair) for pair in LAST_STEPS],
        },
    )  # fmt: skip


LAST_STEPS = (("TCP3", "TCP2"), ("TCP4", "TCP3"))


def _last_step(acks: str | None, pair: tuple[str, str]) -> Estimate:
    """Return how much more the first class of a pair scatters than the second under cc and FCFS.

    ``"lost"``: where acknowledgements that come while a flow is stopped are lost.
    """
    frame = tables.classes(CONTROL, "std").reset_index()
    frame = frame[frame["value"] == (acks or "default")]
    return tables.apart(frame, ("cc", pair[0]), ("cc", pair[1]))


def _turns_spread() -> Estimates:
    """Return how much more the mean time of a class deviates over the ratios than the next higher one's when flows take turns."""
    found = pd.concat([turns(n).groupby("kind")["time"].mean() for n in RATIOS], axis=1)
    spread = found.std(axis=1, ddof=0)
    return tuple(Estimate(spread[low] / spread[high] - 1.0, 0.0) for high, low in itertools.pairwise(tables.TCP))


FEW_SLOTS = 1 / 64
"""The smallest multiple of the slots per turn that was run."""


def _spread_at(scale: float) -> tuple[float, Estimate]:
    """Return how much more TCP4 scatters than TCP1 under ts/ts, model and ns-2, in s, by the slots."""
    own = turns(90, scale=scale).groupby("kind")["time"].std()
    frame = tables.classes(TURNS, "std").reset_index()
    ns2 = frame[frame["value"] == scale].set_index("seed")["ts"]
    return float(own["TCP4"] - own["TCP1"]), of_runs((ns2["TCP4"] - ns2["TCP1"]).to_numpy())


NEAR = 0.5
"""Relative deviation of a standard deviation up to which it counts as that of Table 6: over 19 ratios its own error is a sixth."""


def _against_table_6() -> Estimates:
    """Return the relative deviation of the deviation over the ratios from each cell of Table 6, of both sources together.

    The table has a cell for each source; a class of both is compared with the mean of its cells.
    """
    printed: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows("yang2001_table6.csv"):
        key = row["environment"], row["discipline"], row["mechanism"], row["flow_class"]
        printed.setdefault(key, []).append(float(row["standard_deviation_s"]))
    found = []
    for (environment, discipline, mechanism, kind), values in sorted(printed.items()):
        spread = _spreads(environment, discipline, mechanism)[kind]
        found.append(of_runs((spread / (sum(values) / len(values)) - 1.0).to_numpy()))
    return tuple(found)


@effects(
    "Y18",
    equal=NEAR,
    cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), OTHER_RATIOS, TURNS),
)
def spread_by_discipline() -> Effects:
    """Measure the deviation of the classes over the ratios, by priority and discipline."""
    total = {d: _spreads("cc/cc", d)[list(tables.CLASSES)].mean(axis=1) for d in tables.DISCIPLINES}
    grows = _steps("ts/ts")
    return Effects(
        {
            "priority": Statement(_in_most_runs(grows), _turns_spread()),
            "stable": _below(("FCFS", "RED"), ("DRR", "SFQ"), (("cc/cc", "cc"),), tables.CLASSES),
            "drr": _below(_apart_from("DRR"), ("DRR",), UNSTABLE_TCP, tables.TCP),
            "sfq": _below(("SFQ",), _apart_from("SFQ"), BEST_EFFORT, tables.UDP),
            "sfq_tcp": _below(("SFQ",), _apart_from("SFQ"), REGULATED, tables.TCP),
            "cells": Statement(_against_table_6(), equal=True),
        },
        {"cc/cc": Curve(tables.DISCIPLINES, [of_runs(total[d].to_numpy()) for d in tables.DISCIPLINES])},
        ("discipline", "standard deviation over the ratios, mean of the classes (s)"),
        values={"total": {d: of_runs(values.to_numpy()) for d, values in total.items()},
                "grows": of_runs(grows.mean(axis=1).to_numpy(), PART), "seeds": len(grows),
                "udp": {d: _spread_of(d, "be/be", "be", tables.UDP) for d in tables.DISCIPLINES},
                "slots": {scale: _spread_at(scale) for scale in (1.0, FEW_SLOTS)}},
    )  # fmt: skip
