"""Two flows of any two rules (K03)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from validation.claims.effect_claims import Curve, Effects, Estimates, Statement, deviation, effects
from validation.claims.kaneko2007.runs import FRIENDLY, GREEDY, NAMES, modelled, of_cases
from validation.records import rows
from validation.statistics import Estimate, combine, of_runs

CASES = (
    "kaneko2007/pairs-friendly-ns3", "kaneko2007/pairs-ns3", "kaneko2007/pairs-with-fast-ns3",
    "kaneko2007/pairs-ns2",
)  # fmt: skip
"""The cell of a pair is that of the first case that has it."""
NEAR = 0.1
"""Relative difference up to which a cell is that of the slide."""

Cells = dict[tuple[str, str], Estimate]


def cells(frame: pd.DataFrame) -> Cells:
    """Return the throughput of the first rule of each pair beside the second, Mb/s, by names."""
    found: Cells = {}
    for _, of_case in frame.groupby("case", sort=False):
        for (first, second), group in of_case[of_case["flow"] == 1].groupby(["first", "second"]):
            key = NAMES[str(first)], NAMES[str(second)]
            found.setdefault(key, of_runs(1e-6 * group["goodput_bits"].to_numpy()))
    return found


def _equal(found: Cells) -> Estimates:
    """Return the relative deviations from an equal share, of pairs of two friendly rules."""
    names = [NAMES[rule] for rule in FRIENDLY]
    sums = {
        (a, b): combine((found[a, b], found[b, a]), (1.0, 1.0))
        for a in names
        for b in names
        if a < b
    }
    return tuple(deviation(found[a, b], total.value / 2) for (a, b), total in sums.items())


def _greedy(found: Cells) -> Estimates:
    """Return how much more than an equal share HSTCP, BIC and CUBIC take, in Mb/s."""
    taken = []
    for rule in map(NAMES.__getitem__, GREEDY):
        for other in map(NAMES.__getitem__, FRIENDLY):
            pair = found.get((rule, other)), found.get((other, rule))
            if pair[0] and pair[1]:
                taken.append(combine((pair[0], pair[1]), (1.0, -1.0)))
    return tuple(taken)


@effects("K03", cases=CASES, equal=True)
def pairs() -> Effects:
    """Measure the throughput of each rule beside each other, and compare it with the slide."""
    found = cells(of_cases(*CASES))
    model = cells(modelled(CASES[0]).assign(case=CASES[0]))
    printed = {
        (row["rule"], row["against"]): float(row["throughput_mbit_per_s"])
        for row in rows("kaneko2007_pairs.csv")
    }
    both = [key for key in printed if key in found]
    apart = [deviation(found[key], printed[key]) for key in both]
    curves = {}
    for rule in dict.fromkeys(rule for rule, _ in printed):
        kept = [key for key in both if key[0] == rule]
        values = [found[key] for key in kept]
        curves[rule] = Curve([other for _, other in kept], values)
    sizes = np.abs([e.value for e in apart])
    return Effects(
        {
            "equal": Statement(_equal(found), _equal(model), equal=True),
            "take": Statement(_greedy(found)),
            "cells": Statement(tuple(apart), equal=True),
        },
        curves,
        ("the other rule", "throughput (Mb/s)"),
        values={
            "cells": len(printed), "both": len(both), "near": int((sizes < NEAR).sum()),
            "median": float(np.median(sizes)), "arenos": found["ARENO", "Reno"],
            "fusions": found["Fusion", "Reno"],
        },
    )  # fmt: skip
