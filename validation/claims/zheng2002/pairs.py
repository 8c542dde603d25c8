"""Eight flows of each of two kinds: shares and smoothness (Z06 to Z10)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from validation.claims.effect_claims import deviation, effects, where
from validation.claims.effect_statements import (
    EQUAL,
    Curve,
    Decided,
    Effects,
    Estimates,
    Statement,
    beyond,
)
from validation.claims.zheng2002 import level
from validation.claims.zheng2002.red import BY_EVENTS, WITH_TIMER, Group, fixed_point, variation
from validation.statistics import Estimate, combine, difference, of_runs

CASE, OTHER = "zheng2002/pairs-8x8", "zheng2002/exchanged-8x8"
LATER = "zheng2002/pairs-8x8-seeds"
"""Further seeds: over ten some intervals decided nothing."""
LATEST = "zheng2002/pairs-8x8-more-seeds"
"""Further ones of TCP(3/7,1/4) with TFRC."""
LAST = "zheng2002/pairs-8x8-last-seeds"
"""A thousand more, most of them of this pair."""
EXCHANGED = "a and b exchanged"
"""The reading of the caption of the paper's Fig. 7, which has TCP(1/8,1/5)."""
SENSITIVITY = "zheng2002/sensitivity"
HALF, SAME = 0.5, 1.0
READINGS: dict[str, dict[str, Any]] = {
    "ns-2's decrease setting is b": {"reading": "b"},
    "with background traffic": {"background": 5},
    EXCHANGED: {"reading": EXCHANGED},
}
VALUES = {"TCP(1/5,1/8)": (1 / 5, 1 / 8), "TCP(3/7,1/4)": (3 / 7, 1 / 4)}
"""a and b of the gentle rules."""
GENTLE, QUARTER, TCP, TFRC = "TCP(1/5,1/8)", "TCP(3/7,1/4)", "TCP(1,1/2)", "TFRC"
EACH = 8
"""Flows of each kind."""


def kinds(cases: tuple[str, ...], **chosen: Any) -> pd.DataFrame:
    """Return rate, variation over time, and variation over the flows, by seed and kind."""
    return _by_kind(pd.concat([where(case, **chosen) for case in cases]))


def at_packet_level(one: str, other: str) -> pd.DataFrame | None:
    """Return the same of hopflow's packet level, which has no TFRC."""
    if TFRC in (one, other):
        return None
    return _by_kind(level.runs(level.pair(one, other, EACH)).flows)


def _by_kind(frame: pd.DataFrame) -> pd.DataFrame:
    groups = frame[frame["kind"] != "background"].groupby(["seed", "kind"])
    found = {
        "rate": groups["rate"].mean(),
        "rough": groups["rate_cov"].mean(),
        "variance": groups["rate_variance"].mean(),
        "apart": groups["rate"].std() / groups["rate"].mean(),
    }
    wide: Any = pd.DataFrame(found).unstack()  # noqa: PD010
    table: pd.DataFrame = wide
    return table


def pair(one: str, other: str, **reading: Any) -> pd.DataFrame:
    """Return the kinds of a pair of the figures, in the default reading changed by ``reading``."""
    chosen: dict[str, Any] = {
        "pair": f"{one} with {other}",
        "reading": "1-b",
        "background": 0,
    } | reading
    if TFRC in one:
        chosen["reading"] = "1-b"
    if chosen["reading"] == EXCHANGED:
        del chosen["background"]
        return kinds((OTHER,), **chosen)
    return kinds((CASE, LATER, LATEST, LAST), **chosen)


FACTOR = 2.0
"""Factor of TCP's rate within which a rate is reasonably fair: the paper's own (Sect. 2.2)."""


def _between(ratio: Estimate) -> Callable[[Mapping[str, float]], Estimates]:
    """Return how far a ratio is above the inverse of the factor of a fair rate, and below the factor."""

    def within(given: Mapping[str, float]) -> Estimates:
        factor = given["factor"]
        return beyond(ratio, 1.0 / factor), beyond(-ratio, -factor)

    return within


def ratio(found: pd.DataFrame, one: str, other: str) -> Estimate:
    """Return the rate of one kind over that of the other, seed by seed."""
    return of_runs(found["rate"][one] / found["rate"][other])


def smoother(found: pd.DataFrame, one: str, other: str) -> Estimate:
    """Return by how much one kind is smoother than the other, by the measure that the paper has for the pair.

    Beside TCP the variance of the rate, beside TFRC that over its mean squared, by its root; relative
    to that of the first kind.
    """
    measure = found["rough" if other == TFRC else "variance"]
    return of_runs(measure[other] / measure[one] - 1.0)


def smoother_by_law(one: str, other: str, reading: str) -> float:
    """Return the same by the square-root law of both kinds at the same loss, with independent losses."""
    b = None if one == TFRC else values_of(one, reading)[1]
    apart = variation(other) / variation(one, b=b)
    return apart - 1.0 if other == TFRC else (apart / derived(one, reading)) ** 2 - 1.0


def rougher(quarter: pd.DataFrame, gentle: pd.DataFrame) -> Estimate:
    """Return by how much the rate of TCP(3/7,1/4) varies more, over its mean, than that of TCP(1/5,1/8), both beside TCP."""
    return difference(of_runs(quarter["rough"][QUARTER]), of_runs(gentle["rough"][GENTLE]))


def levelled(
    said: dict[str, Statement], one: str, other: str, share: float, sign: int
) -> dict[str, Statement]:
    """Return statements with the same quantities at hopflow's packet level."""
    own, gentle = at_packet_level(one, other), at_packet_level(GENTLE, TCP)
    if own is None or gentle is None:
        return said
    mine = ratio(own, one, other)
    found = {
        "share": deviation(mine, share),
        "smooth": combine((smoother(own, one, other),), (sign,)),
        "more": difference(mine, ratio(gentle, GENTLE, TCP)),
    }
    if one == QUARTER:
        found["rougher"] = rougher(own, gentle)
    own_level: dict[str, Decided] = {key: (each,) for key, each in found.items()}
    own_level["fairly"] = _between(mine)
    return {key: replace(each, level=own_level[key]) for key, each in said.items()}


def values_of(one: str, reading: str) -> tuple[float, float]:
    """Return a and b of a gentle rule in a reading: as defined, b kept instead of 1 - b, or both exchanged."""
    a, b = VALUES[one]
    if reading == EXCHANGED:
        return b, a
    return a, 1.0 - b if reading == "b" else b


def derived(one: str, reading: str = "1-b") -> float:
    """Return the ratio to TCP's throughput at the same loss, by the square-root law of TCP(a,b).

    TFRC has TCP's law (RFC 5348).
    """
    if one == TFRC:
        return 1.0
    a, b = values_of(one, reading)
    return math.sqrt(a * (2.0 - b) / (2.0 * b) / 1.5)


@effects("Z06", GENTLE, TCP, HALF, 1, cases=(CASE, LATER, LAST, OTHER), equal=True)
@effects("Z07", QUARTER, TCP, HALF, 1, cases=(CASE, LATER, LAST, OTHER, SENSITIVITY), equal=True)
@effects("Z08", GENTLE, TFRC, HALF, -1, cases=(CASE, LATER, LAST, OTHER), equal=True)
@effects("Z09", QUARTER, TFRC, HALF, -1, cases=(CASE, LATER, LATEST, LAST, OTHER), equal=True)
@effects(
    "Z10",
    TFRC,
    TCP,
    SAME,
    1,
    cases=(CASE, LATER, LAST, SENSITIVITY),
    equal=True,
    also={"factor": FACTOR},
)
def share_beside(one: str, other: str, share: float, sign: int) -> Effects:
    """Measure the share of one kind beside another, and which of them is smoother."""

    def statements(
        found: pd.DataFrame, gentle: pd.DataFrame | None, how: str = "1-b"
    ) -> dict[str, Statement]:
        mine, law = ratio(found, one, other), Estimate(derived(one, how), 0.0)
        said = {
            "share": Statement((deviation(mine, share),), (deviation(law, share),), equal=True),
            "smooth": Statement(
                (combine((smoother(found, one, other),), (sign,)),),
                (Estimate(sign * smoother_by_law(one, other, how), 0.0),),
            ),
        }
        if other == TCP:
            said["fairly"] = Statement(_between(mine), _between(law))
        if gentle is not None:
            more = derived(QUARTER, how) - derived(GENTLE, how)
            less = difference(mine, ratio(gentle, GENTLE, TCP))
            said["more"] = Statement((less,), (Estimate(round(more, 9), 0.0),))
            apart = [variation(rule, b=values_of(rule, how)[1]) for rule in (QUARTER, GENTLE)]
            said["rougher"] = Statement(
                (rougher(found, gentle),), (Estimate(apart[0] - apart[1], 0.0),)
            )
        return said

    def gentle(**reading: Any) -> pd.DataFrame | None:
        return pair(GENTLE, TCP, **reading) if (one, other) == (QUARTER, TCP) else None

    found = pair(one, other)
    others = {
        name: statements(
            pair(one, other, **reading), gentle(**reading), reading.get("reading", "1-b")
        )
        for name, reading in READINGS.items()
        if not (TFRC in one and "reading" in reading)
    }
    rates, rough = (
        [of_runs(found[column][kind]) for kind in (one, other)] for column in ("rate", "rough")
    )
    own = at_packet_level(one, other)
    return Effects(
        levelled(statements(found, gentle()), one, other, share, sign),
        _ratios(one, other, list(others), own),
        ("reading of the paper", f"throughput of {one} over that of {other}"),
        expected=(share * (1.0 - EQUAL), share * (1.0 + EQUAL)),
        values={
            "one": one, "other": other, "share": share, "ratio": ratio(found, one, other),
            "own": None if own is None else ratio(own, one, other),
            "rates": rates, "smoother": sign > 0, "runs": len(found),
            "more": (one, other) == (QUARTER, TCP),
            "rough": rough, "varied": [variation(one), variation(other)],
            "own_rough": [] if own is None else [of_runs(own["rough"][kind]) for kind in (one, other)],
            **in_other_readings(one, other),
            "settings": settings(one, other),
            "switched": switched() if (one, other) == (TFRC, TCP) else {},
        },
        readings=others,
    )  # fmt: skip


def _ratios(
    one: str, other: str, readings: list[str], own: pd.DataFrame | None
) -> dict[str, Curve]:
    """Return the ratio of the throughputs in each reading, and at hopflow's packet level."""
    named: dict[str, dict[str, Any]] = {DEFAULT: {}}
    named |= {name: READINGS[name] for name in readings}
    found = {
        "ns-2": Curve(
            list(named),
            [ratio(pair(one, other, **reading), one, other) for reading in named.values()],
            [derived(one, reading.get("reading", "1-b")) for reading in named.values()],
        )
    }
    if own is not None:
        found["hopflow's packets"] = Curve((DEFAULT,), level=[ratio(own, one, other)])
    return found


DEFAULT = "as read here"
"""The name of the default reading."""


def in_other_readings(one: str, other: str) -> dict[str, Any]:
    """Return the ratio of the rates by the square-root law and in ns-2, with b kept and with a and b exchanged."""
    if one == TFRC:
        return {"derived": 1.0, "reversed": None}
    kept, exchanged = (ratio(pair(one, other, reading=how), one, other) for how in ("b", EXCHANGED))
    return {
        "derived": derived(one), "reversed": kept, "kept": derived(one, "b"),
        "exchanged": exchanged, "exchanged_law": derived(one, EXCHANGED),
    }  # fmt: skip


def switched() -> dict[str, float]:
    """Return TFRC's rate over TCP's with eight flows of each: the law's, and as ns-2 has TFRC."""
    found = (
        fixed_point(Group(kind, 8), Group(TCP, 8)).rates for kind in (TFRC, BY_EVENTS, WITH_TIMER)
    )
    return {name: a / b for name, (a, b) in zip(("law", "events", "timer"), found, strict=True)}


def settings(one: str, other: str) -> dict[str, Estimate]:
    """Return the ratio of the rates for other values of settings that the paper does not give."""
    frame = where(SENSITIVITY, pair=f"{one} with {other}")
    return {
        str(name): ratio(
            kinds((SENSITIVITY,), pair=f"{one} with {other}", setting=name), one, other
        )
        for name in frame["setting"].unique()
    }
