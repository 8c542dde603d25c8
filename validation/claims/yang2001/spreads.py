"""Spread of the transfer times of a class, by priority, mechanism and discipline (Y13, Y18)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pandas as pd

from validation.claims.effect_claims import effects, where
from validation.claims.effect_statements import (
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
)
from validation.claims.yang2001 import tables
from validation.claims.yang2001.priorities import CONTROL, TURNS
from validation.claims.yang2001.sharing import RATIOS, turns
from validation.judgements.verdicts import Verdict
from validation.records import rows
from validation.statistics import PART, Estimate, of_runs

Groups: TypeAlias = tuple[tuple[str, str], ...]
"""Environments of Table 6, each with the mechanism whose flows are meant."""
UNSTABLE_TCP = (("cc/cc", "cc"), ("cc/be", "cc"), ("be/be", "be"))
"""Environments and mechanisms whose TCP the paper's fourth observation calls unstable under DRR."""
BEST_EFFORT = (("cc/be", "be"), ("ts/be", "be"), ("be/be", "be"))
"""Those whose UDP its fifth observation calls most stable under SFQ."""
REGULATED = (("cc/be", "cc"), ("ts/be", "ts"))
"""Those whose TCP it calls more stable under SFQ."""


STEPS = (*itertools.pairwise(tables.TCP), *itertools.pairwise(tables.UDP))
"""Each class of a protocol with that of the next lower priority."""
Spreads: TypeAlias = Callable[[str, str, str], pd.DataFrame]
"""The deviations of the classes by seed, of an environment, a discipline and a mechanism (`_spreads`)."""


def _spread_of(discipline: str, environment: str, mechanism: str, kinds: tuple[str, ...]) -> Estimate:
    """Return the deviation over the ratios of classes of flows, their mean, s."""
    return of_runs(_spreads(environment, discipline, mechanism)[list(kinds)].mean(axis=1).to_numpy())


def _spread_cells(discipline: str, among: Groups, kinds: tuple[str, ...]) -> pd.DataFrame:
    """Return the deviation of each class of each group under a discipline, s: a row for each seed that all groups have."""
    cells = {group: _spreads(group[0], discipline, group[1])[list(kinds)] for group in among}
    return pd.concat(cells, axis=1, join="inner")


def _below(better: Sequence[str], worse: Sequence[str], among: Groups, kinds: tuple[str, ...]) -> Statement:
    """Return the statement that classes deviate less under some disciplines than under others, in most comparisons."""
    cells = {d: _spread_cells(d, among, kinds) for d in (*better, *worse)}
    less = [cells[b] < cells[w] for b in better for w in worse]
    return Statement(_beyond_half(pd.concat(less, axis=1, join="inner")), Verdict.NOT_APPLICABLE)


def _beyond_half(holds: pd.DataFrame) -> Estimates:
    """Return by how much the part of the comparisons that hold exceeds one half, over the seeds, one in each row.

    Comparisons of one seed (its classes, disciplines and environments, in the columns) are no independent runs.
    """
    return (beyond(of_runs(holds.mean(axis=1).to_numpy()), 0.5),)


def _steps(environments: Sequence[str], spreads: Spreads, steps: Sequence[tuple[str, str]] = STEPS) -> pd.DataFrame:
    """Return whether a class deviates more than the next higher one, by seed: a column for each step, discipline and environment."""
    cells = {(e, d): spreads(e, d, tables.regulated(e)) for e in environments for d in tables.DISCIPLINES}
    grows = {(*key, low): each[low] > each[high] for key, each in cells.items() for high, low in steps}
    return pd.concat(grows, axis=1, join="inner")


def _apart_from(discipline: str) -> tuple[str, ...]:
    return tuple(d for d in tables.DISCIPLINES if d != discipline)


OTHER_RATIOS = "yang2001/all-ratios"
"""The ratios of TCP to UDP that the cases of Table 4 leave out where a source is regulated."""
MORE_SEEDS = "yang2001/all-ratios-seeds"
"""Further seeds: at these ratios, or at all of them where the cases of Table 4 have not run the seed."""


@functools.cache
def means(environment: str, discipline: str) -> pd.DataFrame:
    """Return the mean times of the classes at the 19 ratios of the paper, a row for each ratio and seed.

    Rows of seeds that were not run at all of them are left out.
    """
    table = tables.classes(tables.case_of(environment, discipline))
    index: Any = table.index
    found = table.set_axis(index.droplevel(["environment", "discipline", "size"]), axis=0)
    cases = (MORE_SEEDS,) if environment == "be/be" else (OTHER_RATIOS, MORE_SEEDS)
    frame = pd.concat([where(case, environment=environment, discipline=discipline) for case in cases])
    sums = tables.by_kind(frame).assign(time=frame["flows"] * frame["transfer_time"])
    groups = sums.groupby(["tcp_flows", "seed", "mechanism", "kind"])[["time", "flows"]].sum()
    others = (groups["time"] / groups["flows"]).unstack(["mechanism", "kind"])  # noqa: PD010
    every: pd.DataFrame = pd.concat([found, others])
    runs = every.groupby("seed").size()
    complete = runs.index[runs == every.index.unique("tcp_flows").size]
    return every[every.index.get_level_values("seed").isin(complete)]


def _spreads(environment: str, discipline: str, mechanism: str = "") -> pd.DataFrame:
    """Return by seed the standard deviation of the mean times of the classes over the ratios of TCP to UDP.

    The quantity of the paper's Table 6: best-effort UDP beside a regulated source takes 8 s for each
    percent of UDP, whose mean and deviation over the 19 ratios are the table's.
    """
    found: Any = means(environment, discipline).groupby("seed").std(ddof=0)
    return tables.under(found.dropna(axis="columns", how="all"), mechanism or tables.regulated(environment))


def _less_under_ts() -> pd.DataFrame:
    """Return whether a class deviates less under ts than under cc, by seed: a column for each class, discipline and other source."""
    rows = [(others, d) for others in (("cc/cc", "ts/ts"), ("cc/be", "ts/be")) for d in tables.DISCIPLINES]
    kinds = list(tables.CLASSES)
    less = [_spreads(ts, d, "ts")[kinds] < _spreads(cc, d, "cc")[kinds] for (cc, ts), d in rows]
    return pd.concat(less, axis=1, join="inner")


@effects("Y13", cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be"), OTHER_RATIOS, MORE_SEEDS, CONTROL))
def spread_of_times() -> Effects:
    """Measure the standard deviation over the ratios of the mean times of a class."""
    curves = {
        f"{e} {d}": Curve(tables.CLASSES, [of_runs(_spreads(e, d)[k].to_numpy()) for k in tables.CLASSES])
        for e in ("cc/cc", "ts/ts")
        for d in tables.DISCIPLINES
    }
    less, grows = _less_under_ts(), _steps(("cc/cc", "cc/be"), _spreads)
    return Effects(
        {
            "below": Statement(_beyond_half(less), Verdict.NOT_APPLICABLE),
            "lower": Statement(_beyond_half(grows)),
            "priority": Statement(_beyond_half(_steps(("cc/cc",), _spreads, STEPS[:-1]))),
        },
        curves,
        ("class of flows", "standard deviation over the ratios (s)"),
        values={
            "below": _part(less), "grows": _part(grows), "seeds": len(less),
            "with": [_last_step(None, pair) for pair in LAST_STEPS],
            "without": [_last_step("lost", pair) for pair in LAST_STEPS],
        },
    )  # fmt: skip


def _part(holds: pd.DataFrame) -> Estimate:
    """Return the part of the comparisons that hold, over the seeds."""
    return of_runs(holds.mean(axis=1).to_numpy(), PART)


LAST_STEPS = (("TCP3", "TCP2"), ("TCP4", "TCP3"))


def _last_step(acks: str | None, pair: tuple[str, str]) -> Estimate:
    """Return how much more the first class of a pair scatters than the second under cc and FCFS.

    ``"lost"``: where acknowledgements that come while a flow is stopped are lost.
    """
    frame = tables.classes(CONTROL, "std").reset_index()
    frame = frame[frame["value"] == (acks or "default")]
    return tables.apart(frame, ("cc", pair[0]), ("cc", pair[1]))


def _turns_spread(steps: Sequence[tuple[str, str]]) -> Estimates:
    """Return how much more the mean time of a class deviates over the ratios than the next higher one's when flows take turns."""
    found = pd.concat([turns(n).groupby("kind")["time"].mean() for n in RATIOS], axis=1)
    spread = found.std(axis=1, ddof=0)
    return tuple(Estimate(spread[low] / spread[high] - 1.0, 0.0) for high, low in steps)


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
    cases=(*tables.cases("cc/cc", "ts/ts", "cc/be", "ts/be", "be/be"), OTHER_RATIOS, MORE_SEEDS, TURNS),
)
def spread_by_discipline() -> Effects:
    """Measure the deviation of the classes over the ratios, by priority and discipline."""
    total = {d: _spreads("cc/cc", d)[list(tables.CLASSES)].mean(axis=1) for d in tables.DISCIPLINES}

    lower = _steps(("ts/ts", "ts/be"), _spreads)
    return Effects(
        {
            "lower": Statement(_beyond_half(lower), _turns_spread(STEPS)),
            "stable": _below(("FCFS", "RED"), ("DRR", "SFQ"), (("cc/cc", "cc"),), tables.CLASSES),
            "drr": _below(_apart_from("DRR"), ("DRR",), UNSTABLE_TCP, tables.TCP),
            "sfq": _below(("SFQ",), _apart_from("SFQ"), BEST_EFFORT, tables.UDP),
            "sfq_tcp": _below(("SFQ",), _apart_from("SFQ"), REGULATED, tables.TCP),
            "priority": Statement(_beyond_half(_steps(("ts/ts",), _spreads, STEPS[:-1])), _turns_spread(STEPS[:-1])),
            "cells": Statement(_against_table_6(), equal=True),
        },
        {"cc/cc": Curve(tables.DISCIPLINES, [of_runs(total[d].to_numpy()) for d in tables.DISCIPLINES])},
        ("discipline", "standard deviation over the ratios, mean of the classes (s)"),
        values={"total": {d: of_runs(values.to_numpy()) for d, values in total.items()},
                "grows": _part(lower), "seeds": len(lower),
                "udp": {d: _spread_of(d, "be/be", "be", tables.UDP) for d in tables.DISCIPLINES},
                "slots": {scale: _spread_at(scale) for scale in (1.0, FEW_SLOTS)}},
    )  # fmt: skip
