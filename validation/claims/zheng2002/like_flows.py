"""Like flows of pairs: how far their rates are apart, and what timeouts have to do with it (Z17)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from validation.claims.effect_claims import effects, where
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.claims.zheng2002.pairs import (
    CASE,
    EXCHANGED,
    GENTLE,
    LAST,
    LATER,
    LATEST,
    QUARTER,
    READINGS,
    TCP,
    TFRC,
    pair,
)
from validation.statistics import Estimate, average, difference, of_runs

SIMILAR = 0.2
"""Standard deviation of the rates of like flows over their mean, up to which they are similar."""
EXCEPTIONS = (f"{GENTLE} beside {TFRC}", f"{QUARTER} beside {TFRC}")
"""The flows that vary somewhat, as the paper has it."""
EXCEPTION = EXCEPTIONS[0]
LOOKS = (10, 110, 310)
"""Runs of the second exception after which it was tested before all were there."""


@effects("Z17", cases=(CASE, LATER, LATEST, LAST), least=SIMILAR)
def flows_of_one_kind() -> Effects:
    """Measure how much the rates of like flows differ.

    The model is not judged: it assumes that flows of a kind have one rate.
    """
    pairs = ((GENTLE, TCP), (QUARTER, TCP), (GENTLE, TFRC), (QUARTER, TFRC), (TFRC, TCP))

    def apart(**reading: Any) -> dict[str, Estimate]:
        found = {}
        for names in pairs:
            table = pair(*names, **reading)
            for kind, beside in (names, names[::-1]):
                found[f"{kind} beside {beside}"] = of_runs(table["apart"][kind])
        return found

    def statements(found: dict[str, Estimate]) -> dict[str, Statement]:
        varied, second = (found[name] for name in EXCEPTIONS)
        rest = [e for name, e in found.items() if name not in EXCEPTIONS]
        return {
            "similar": Statement(tuple(beyond(-e, -SIMILAR) for e in rest), least=-SIMILAR),
            "varies": Statement((difference(varied, average(rest)),)),
            "varies_quarter": Statement((difference(second, average(rest)),)),
        }

    found = apart()
    return Effects(
        statements(found),
        {"ns-2": Curve(list(found), list(found.values()))},
        ("kind of flow", "deviation of the rates over their mean"),
        values={
            "exception": found[EXCEPTION], "all": found,
            "second": found[EXCEPTIONS[1]], "runs": len(pair(QUARTER, TFRC)),
            "beyond": difference(
                found[EXCEPTIONS[1]], average(e for name, e in found.items() if name not in EXCEPTIONS)
            ),
            "rest": average(e for name, e in found.items() if name not in EXCEPTIONS),
            "without": without_timeouts(GENTLE, TFRC), "others": without_timeouts(QUARTER, TFRC),
        },
        readings={
            name: statements(apart(**reading))
            for name, reading in READINGS.items()
            if name != EXCHANGED
        },
    )  # fmt: skip


@dataclass(frozen=True)
class Timeouts:
    """What timeouts cost flows of a kind: each one, over the mean rate; deviations without them."""

    cost: float
    apart: Estimate


def without_timeouts(kind: str, beside: str) -> Timeouts:
    """Return the deviation of the rates of like flows, at equal numbers of timeouts.

    The cost of a timeout is the slope of the rate over the flow's timeouts within a run.
    """
    frame = where(CASE, pair=f"{kind} with {beside}", background=0, reading="1-b", kind=kind)
    runs = frame.groupby("seed")
    rate, number = (frame[c] - runs[c].transform("mean") for c in ("rate", "timeouts"))
    slope = float((rate * number).sum() / (number**2).sum())
    rest = (rate - slope * number).groupby(frame["seed"]).std() / runs["rate"].mean()
    return Timeouts(-slope / float(frame["rate"].mean()), of_runs(rest.to_numpy()))
