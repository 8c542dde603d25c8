"""Two flows of any two rules (K03)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from validation.claims.effect_claims import deviation, effects
from validation.claims.effect_statements import Curve, Decided, Effects, Estimates, Statement, beyond
from validation.claims.kaneko2007 import runs
from validation.claims.kaneko2007.level import levelled
from validation.judgements.verdicts import Verdict
from validation.networks.further_seeds import CASE as SEEDS
from validation.records import rows
from validation.statistics import Estimate, combine, of_runs

CASES = {
    "ns-2": ("kaneko2007/pairs-ns2", "kaneko2007/pairs-seeds-ns2", "kaneko2007/pairs-more-seeds-ns2"),
    "ns-3": (
        "kaneko2007/pairs-friendly-ns3", "kaneko2007/pairs-ns3", "kaneko2007/pairs-with-fast-ns3",
    ),
}  # fmt: skip
"""The cell of a pair has the runs of all cases of the simulator that have it."""
NEAR = 0.1
"""Relative difference up to which a cell is that of the slide; `runs.FAIR` is of a difference over a sum."""

PAIR_SEEDS = 3
"""Runs of a pair at hopflow's packet level, as many as in ns-3."""
LONGER = 4
"""Multiple of the time measured in an experiment."""
Cells = dict[tuple[str, str], Estimate]


def cells(frame: pd.DataFrame) -> Cells:
    """Return the throughput of the first rule of each pair beside the second, Mb/s, by names."""
    return {
        (runs.NAMES[str(first)], runs.NAMES[str(second)]): of_runs(1e-6 * group["goodput_bits"].to_numpy())
        for (first, second), group in frame[frame["flow"] == 1].groupby(["first", "second"], sort=False)
    }


def _equal(found: Cells, without: str = "") -> Estimates:
    """Return the differences of the rates of two friendly rules over their sums, of the pairs that were run.

    Pairs of the rule ``without`` are left out.
    """
    names = [name for rule in runs.FRIENDLY if (name := runs.NAMES[rule]) != without]
    return tuple(runs.uneven_means(found[a, b], found[b, a]) for a in names for b in names if a < b and (a, b) in found)


def _of_simulator(rates: Cells) -> Decided:
    """Return what decides whether the friendly rules share almost equally in a simulator, all rules together.

    Runs of ARENO have one of two versions of its rule, so that with them a simulator upholds nothing, and contradicts by its
    other pairs only.
    """
    if not any(runs.NAMES["areno"] in pair for pair in rates):
        return _equal(rates)
    others = runs.unsettled(_equal(rates, without=runs.NAMES["areno"]))
    return lambda thresholds: Verdict.of(False, others(thresholds) is Verdict.CONTRADICTED)


def _greedy(found: Cells) -> Estimates:
    """Return how much more than an equal share HSTCP, BIC and CUBIC take, in Mb/s."""
    taken = []
    for rule in map(runs.NAMES.__getitem__, runs.GREEDY):
        for other in map(runs.NAMES.__getitem__, runs.FRIENDLY):
            pair = found.get((rule, other)), found.get((other, rule))
            if pair[0] and pair[1]:
                taken.append(combine((pair[0], pair[1]), (1.0, -1.0)))
    return tuple(taken)


def _beside_reno(found: Cells) -> Callable[[Mapping[str, float]], Estimates]:
    """Return the difference of the rates of Reno and of HSTCP, BIC, CUBIC or FAST over their sum, the larger less the smaller."""
    pairs = [(("Reno", name), (name, "Reno")) for name in (*map(runs.NAMES.__getitem__, runs.GREEDY), "FAST")]
    both = [(found[a], found[b]) for a, b in pairs if a in found and b in found]
    apart = [abs(runs.uneven_means(*pair)) for pair in both]
    return lambda given: tuple(beyond(each, given["margin"]) for each in apart)


def _above(found: Cells) -> Estimate:
    """Return the difference of ARENO's and Reno's throughput beside each other over their sum."""
    return runs.uneven_means(found["ARENO", "Reno"], found["Reno", "ARENO"])


def _changed(**how: Any) -> Estimate:
    """Return the same of changed runs of hopflow's packet level, four of each order."""
    both = "(first == 'areno' and second == 'reno') or (first == 'reno' and second == 'areno')"
    return _above(cells(levelled(CASES["ns-3"][0], both, **how).assign(case="")))


def _used(frame: pd.DataFrame, printed: dict[tuple[str, str], float]) -> tuple[float, float]:
    """Return the median over pairs of the sum of both flows, on the slide and in the bundled runs, Mb/s."""
    slide = [printed[a, b] + printed[b, a] for a, b in printed if a < b]
    sums = frame.groupby(["first", "second", "case", "seed"])["goodput_bits"].sum()
    return float(np.median(slide)), 1e-6 * float(sums.groupby(["first", "second"]).mean().median())


@effects("K03", cases=(*CASES["ns-3"], *CASES["ns-2"], SEEDS), equal=runs.FAIR, also={"near": NEAR})
def pairs() -> Effects:
    """Measure the throughput of each rule beside each other in each simulator, and compare it with the slide."""
    frames = {tool: runs.of_cases(*names) for tool, names in CASES.items()}
    found = {tool: cells(frame) for tool, frame in frames.items()}
    friendly = CASES["ns-3"][0]
    model, other_model = (
        cells(runs.modelled(friendly, version=version).assign(case=friendly)) for version in ("", runs.INCLUSIVE)
    )
    level = cells(
        pd.concat([levelled(c, rules=tuple(runs.RULES), seeds=PAIR_SEEDS).assign(case=c) for c in CASES["ns-3"][:2]])
    )
    inclusive = level | cells(
        pd.concat(
            [
                levelled(
                    c, "first == 'areno' or second == 'areno'", rules=tuple(runs.RULES), seeds=PAIR_SEEDS,
                    version=runs.INCLUSIVE,
                ).assign(case=c)
                for c in CASES["ns-3"][:2]
            ]
        )
    )  # fmt: skip
    printed = {
        (row["rule"], row["against"]): float(row["throughput_mbit_per_s"]) for row in rows("kaneko2007_pairs.csv")
    }
    apart = {
        tool: tuple(deviation(seen[key], printed[key]) for key in printed if key in seen)
        for tool, seen in found.items()
    }
    own, other = (
        tuple(deviation(seen[key], printed[key]) for key in printed if key in seen) for seen in (level, inclusive)
    )

    def of_table(deviations: Mapping[str, Estimates], level: Estimates) -> Statement:
        packets = {tool: _inside(each) for tool, each in deviations.items()}
        return Statement(packets or None, level=_inside(level))

    curves = {}
    for tool, seen in found.items():
        for rule in dict.fromkeys(rule for rule, _ in printed):
            if kept := [key for key in printed if key[0] == rule and key in seen]:
                values = [seen[key] for key in kept]
                curves[f"{rule}, {tool}"] = Curve([other for _, other in kept], values)
    ns3 = found["ns-3"]
    below = {tool: _beside_reno(seen) for tool, seen in found.items()}
    return Effects(
        {
            "equal": Statement(
                {tool: _of_simulator(seen) for tool, seen in found.items()},
                runs.unsettled(_equal(model), _equal(other_model)), equal=True,
                level=runs.unsettled(_equal(level), _equal(inclusive)),
            ),
            "take": Statement(
                {tool: _greedy(seen) for tool, seen in found.items()}, level=_greedy(level)
            ),
            "cells": of_table(apart, own),
            "below": Statement(below, level=_beside_reno(level)),
        },
        curves,
        ("the other rule", "throughput (Mb/s)"),
        values={
            "cells": len(printed), "near": {tool: _near(each) for tool, each in apart.items()},
            "arenos": ns3["ARENO", "Reno"], "fusions": ns3["Fusion", "Reno"],
            "ctcps": found["ns-2"]["CTCP", "Reno"], "own": _above(ns3), "level": _above(level),
            "inclusive": _above(inclusive), "longer": _changed(longer=LONGER, seeds=2),
            "own_near": _near(own),
            "used": {tool: _used(frame, printed) for tool, frame in frames.items()},
            "reading_near": _near(other),
        },
        readings={
            runs.EXCLUSIVE_NAME: {
                "equal": Statement(
                    {tool: _equal(seen) for tool, seen in found.items()}, _equal(model), equal=True, level=_equal(level)
                ),
                "take": Statement({tool: _greedy(seen) for tool, seen in found.items()}, level=_greedy(level)),
                "cells": of_table(apart, own),
                "below": Statement(below, level=_beside_reno(level)),
            },
            runs.INCLUSIVE_NAME: {
                "equal": Statement(model=_equal(other_model), equal=True, level=_equal(inclusive)),
                "take": Statement(level=_greedy(inclusive)),
                "cells": of_table({}, other),
                "below": Statement(below, level=_beside_reno(inclusive)),
            },
        },
        level_readings=(runs.EXCLUSIVE_NAME, runs.INCLUSIVE_NAME),
    )  # fmt: skip


def _inside(deviations: Estimates) -> Callable[[Mapping[str, float]], Estimates]:
    """Return by how much relative deviations from cells of the slide are inside the threshold ``near``, on both sides."""

    def inside(thresholds: Mapping[str, float]) -> Estimates:
        limit = Estimate(thresholds["near"], 0.0)
        return tuple(combine((limit, e), (1.0, sign)) for e in deviations for sign in (1.0, -1.0))

    return inside


def _near(apart: Estimates) -> tuple[int, int, float]:
    """Return how many cells are near those of the slide, how many were run, and the median difference."""
    sizes = np.abs([e.value for e in apart])
    return int((sizes < NEAR).sum()), len(sizes), float(np.median(sizes))


pairs.constants_of(runs)
