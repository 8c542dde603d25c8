"""Two kinds of flow in growing numbers, and at growing distances (Z11 to Z14)."""

from __future__ import annotations

import itertools
import math

import pandas as pd

from validation.claims.effects import (
    EQUAL,
    Curve,
    Effects,
    Estimates,
    Statement,
    beyond,
    by,
    effects,
    where,
)
from validation.claims.zheng2002.pairs import GENTLE, QUARTER, TCP, TFRC
from validation.statistics import Estimate, combine, difference, of_runs, slope

SLOW, FAST = "zheng2002/friendliness-15", "zheng2002/friendliness-60"
SENSITIVITY = "zheng2002/sensitivity"
DELAYS = "zheng2002/access-delay"
FEW = (2, 4)
"""Flows of each kind that count as few; with one of each ns-2's starts decide."""
BOTH = (4, 16, 32, 64)
"""Flows of each kind on both links."""
READING = "ns-2's decrease setting is b"


def gap(case: str, one: str, other: str, reading: str = "1-b") -> dict[int, Estimate]:
    """Return the logarithm of the ratio of the rates of two kinds, by the flows of each."""
    chosen = reading if one != TFRC else "1-b"
    frame = where(case, pair=f"{one} with {other}", reading=chosen)
    rates = frame.groupby(["number", "seed", "kind"])["rate"].mean().unstack()  # noqa: PD010
    ratio = (rates[one] / rates[other]).map(math.log)
    return {int(number): of_runs(values.to_numpy()) for number, values in ratio.groupby("number")}


def size(gap: Estimate) -> Estimate:
    """Return the size of a gap, with its error; the sign is the one measured."""
    return gap if gap.value >= 0.0 else -gap


@effects("Z11", QUARTER, TCP, cases=(SLOW, FAST, SENSITIVITY), equal=True)
@effects("Z12", QUARTER, TFRC, cases=(SLOW, FAST), equal=True)
@effects("Z13", TFRC, TCP, cases=(SLOW, FAST, SENSITIVITY), equal=True)
def growing_numbers(one: str, other: str) -> Effects:
    """Measure the gap between two kinds, and the loss, by the number of flows."""

    def statements(reading: str) -> dict[str, Statement]:
        slow, fast = (gap(case, one, other, reading) for case in (SLOW, FAST))
        chosen = reading if one != TFRC else "1-b"
        lost = by(where(SLOW, "link", pair=f"{one} with {other}", reading=chosen), "number", "loss")
        closer = [difference(size(slow[n]), size(fast[n])) for n in BOTH]
        return {
            "close": Statement(tuple(slow[n] for n in FEW), equal=True),
            "gap": Statement((_trend(slow),)),
            "loss": Statement(_steps(lost)),
            "closer": Statement((combine(closer, [1.0 / len(closer)] * len(closer)),)),
        } | ({"order": Statement(_order())} if one == TFRC else {})

    curves = {f"{one}, {rate} Mb/s": gap(case, one, other) for rate, case in
              (("15", SLOW), ("60", FAST))}  # fmt: skip
    shown = {name: Curve(list(found), list(found.values())) for name, found in curves.items()}
    slow, fast = curves.values()
    return Effects(
        statements("1-b"),
        shown,
        ("flows of each kind", "logarithm of the ratio of the rates"),
        "x",
        values={
            "one": one, "other": other, "few": slow[FEW[0]], "most": slow[BOTH[-1]],
            "fast": fast[BOTH[-1]], "ratio": math.exp(slow[BOTH[-1]].value),
            "fast_ratio": math.exp(fast[BOTH[-1]].value),
        },
        readings={} if one == TFRC else {READING: statements("b")},
    )  # fmt: skip


def _trend(found: dict[int, Estimate]) -> Estimate:
    """Return the slope of the size of the gap per unit of log(number), from 4 flows on."""
    kept = [n for n in found if n >= BOTH[0]]
    return slope([size(found[n]) for n in kept], [math.log(n) for n in kept])


def _steps(found: dict[int, Estimate]) -> Estimates:
    return tuple(difference(found[b], found[a]) for a, b in itertools.pairwise(found))


def _order() -> Estimates:
    """Return the gaps of TFRC over TCP and of TCP over TCP(a,b), with 16 flows and more."""
    above = gap(SLOW, TFRC, TCP), gap(SLOW, QUARTER, TCP)
    numbers = [n for n in above[0] if n >= BOTH[1]]
    return tuple(above[0][n] for n in numbers) + tuple(-above[1][n] for n in numbers)


@effects("Z14", cases=(DELAYS,))
def growing_delays() -> Effects:
    """Measure rate and variance by the access delay."""
    pairs = ((GENTLE, TCP), (QUARTER, TCP), (GENTLE, TFRC), (QUARTER, TFRC), (TFRC, TCP))

    def statements(reading: str) -> dict[str, Statement]:
        rates, variances, above = [], [], []
        for lower, upper in pairs:
            chosen = "1-b" if lower == TFRC else reading
            frame = where(DELAYS, pair=f"{lower} with {upper}", reading=chosen)
            for kind in (lower, upper):
                flows = frame[frame["kind"] == kind]
                rates.append(_fall(by(flows, "access_delay", "rate")))
                variances.append(_fall(by(flows, "access_delay", "rate_variance")))
            above.append(_above(frame, *((lower, upper) if lower == TFRC else (upper, lower))))
        return {
            "rate": Statement(tuple(rates)),
            "variance": Statement(tuple(variances)),
            "order": Statement(tuple(above)),
        }

    shown = where(DELAYS, pair=f"{TFRC} with {TCP}", reading="1-b")
    curves = {
        kind: by(shown[shown["kind"] == kind], "access_delay", "rate") for kind in (TFRC, TCP)
    }
    ends = {kind: list(found.values()) for kind, found in curves.items()}
    return Effects(
        statements("1-b"),
        {kind: Curve(list(found), list(found.values())) for kind, found in curves.items()},
        ("access delay (s)", "rate (packets/s)"),
        values={"ends": ends, "pairs": len(pairs)},
        readings={READING: statements("b")},
    )


def _fall(found: dict[float, Estimate]) -> Estimate:
    """Return the slope over the delay, negated and relative to the mean."""
    values = list(found.values())
    mean = sum(e.value for e in values) / len(values)
    return combine((slope(values, list(found)),), (-1.0 / mean,))


def _above(frame: pd.DataFrame, upper: str, lower: str) -> Estimate:
    rates = frame.groupby(["seed", "kind"])["rate"].mean().unstack()  # noqa: PD010
    return beyond(of_runs((rates[upper] / rates[lower] - 1.0).to_numpy()), -EQUAL)
