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
from validation.statistics import Estimate, combine, difference, of_runs, relative_difference

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
BINS = "zheng2002/pairs-8x8-bins"
"""The rates of seeds 1 to 110 of the default reading in longer bins."""
LENGTHS = {f"rates in bins of {length:g} s": length for length in (2.5, 10.0)}
"""Readings of how long a packet counts as sent at the rate of its bin, which the paper does not state, s; by default half a second."""
VARIANCE, COEFFICIENT = "variance", "rough"
"""Measures of smoothness: the variance of the rate, and its deviation over its mean."""
MEASURES = {
    VARIANCE: "smoothness by the variance of the rate",
    COEFFICIENT: "smoothness by the deviation of the rate over its mean",
}
"""Readings of smoothness, each where the other is the default one."""
VALUES = {"TCP(1/5,1/8)": (1 / 5, 1 / 8), "TCP(3/7,1/4)": (3 / 7, 1 / 4)}
"""a and b of the gentle rules."""
GENTLE, QUARTER, TCP, TFRC = "TCP(1/5,1/8)", "TCP(3/7,1/4)", "TCP(1,1/2)", "TFRC"
EACH = 8
"""Flows of each kind."""


def kinds(cases: tuple[str, ...], **chosen: Any) -> pd.DataFrame:
    """Return rate, variation over time, and variation over the flows, by seed and kind."""
    return _by_kind(pd.concat([where(case, **chosen) for case in cases]))


def in_bins(case: str, length: float, **chosen: Any) -> pd.DataFrame:
    """Return the flows of a case with their rates in bins of a length in s."""
    frame = where(case, bin=length, **chosen)
    return frame.assign(rate_cov=frame["rate_variance"] ** 0.5 / frame["rate"])


def pair_in_bins(one: str, other: str, length: float) -> pd.DataFrame:
    """Return the kinds of a pair in the default reading, with rates in longer bins."""
    return _by_kind(in_bins(BINS, length, pair=f"{one} with {other}"))


def at_packet_level(one: str, other: str) -> pd.DataFrame | None:
    """Return the same of hopflow's packet level, which has no TFRC."""
    if TFRC in (one, other):
        return None
    return _by_kind(level.runs(level.pair(one, other, EACH)).flows)


def _by_kind(frame: pd.DataFrame) -> pd.DataFrame:
    groups = frame[frame["kind"] != "background"].groupby(["seed", "kind"])
    found = {
        "rate": groups["rate"].mean(),
        COEFFICIENT: groups["rate_cov"].mean(),
        VARIANCE: groups["rate_variance"].mean(),
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


def measure_of(other: str) -> str:
    """Return the measure of smoothness that the paper has beside a kind: by the mean beside TFRC alone."""
    return COEFFICIENT if other == TFRC else VARIANCE


def smoother(found: pd.DataFrame, one: str, other: str, measure: str | None = None) -> Estimate:
    """Return by how much one kind is smoother than the other, relative to the first; None: by `measure_of` the other."""
    values = found[measure or measure_of(other)]
    return relative_difference(values[other], values[one])


def smoother_by_law(one: str, other: str, reading: str, measure: str | None = None) -> float:
    """Return the same by the square-root law of both kinds at the same loss, with independent losses."""
    b = None if one == TFRC else values_of(one, reading)[1]
    apart = variation(other) / variation(one, b=b)
    if (measure or measure_of(other)) == COEFFICIENT:
        return apart - 1.0
    return (apart / derived(one, reading)) ** 2 - 1.0


def rougher(quarter: pd.DataFrame, gentle: pd.DataFrame, measure: str = COEFFICIENT) -> Estimate:
    """Return by how much the rate of TCP(3/7,1/4) varies more than that of TCP(1/5,1/8), both beside TCP."""
    return difference(of_runs(quarter[measure][QUARTER]), of_runs(gentle[measure][GENTLE]))


def rougher_by_law(reading: str, measure: str = COEFFICIENT) -> float:
    """Return the same by the square-root law; variances in those of TCP's rate squared."""
    quarter, gentle = (
        (variation(rule, b=values_of(rule, reading)[1]), derived(rule, reading)) for rule in (QUARTER, GENTLE)
    )
    if measure == COEFFICIENT:
        return quarter[0] - gentle[0]
    return math.prod(quarter) ** 2 - math.prod(gentle) ** 2


def levelled(
    said: dict[str, Statement],
    one: str,
    other: str,
    share: float,
    sign: int,
    measure: str | None = None,
) -> dict[str, Statement]:
    """Return statements with the same quantities at hopflow's packet level."""
    own, gentle = at_packet_level(one, other), at_packet_level(GENTLE, TCP)
    if own is None or gentle is None:
        return said
    mine = ratio(own, one, other)
    found = {
        "share": deviation(mine, share),
        "smooth": combine((smoother(own, one, other, measure),), (sign,)),
        "more": difference(mine, ratio(gentle, GENTLE, TCP)),
    }
    if one == QUARTER:
        found["rougher"] = rougher(own, gentle, measure or COEFFICIENT)
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


@effects("Z06", GENTLE, TCP, HALF, 1, cases=(CASE, LATER, LAST, OTHER, BINS), equal=True)
@effects("Z07", QUARTER, TCP, HALF, 1, cases=(CASE, LATER, LAST, OTHER, SENSITIVITY, BINS), equal=True)
@effects("Z08", GENTLE, TFRC, HALF, -1, cases=(CASE, LATER, LAST, OTHER, BINS), equal=True)
@effects("Z09", QUARTER, TFRC, HALF, -1, cases=(CASE, LATER, LATEST, LAST, OTHER, BINS), equal=True)
@effects(
    "Z10",
    TFRC,
    TCP,
    SAME,
    1,
    cases=(CASE, LATER, LAST, SENSITIVITY, BINS),
    equal=True,
    also={"factor": FACTOR},
)
def share_beside(one: str, other: str, share: float, sign: int) -> Effects:
    """Measure the share of one kind beside another, and which of them is smoother."""

    def statements(
        found: pd.DataFrame,
        gentle: pd.DataFrame | None,
        how: str = "1-b",
        measure: str | None = None,
    ) -> dict[str, Statement]:
        mine, law = ratio(found, one, other), Estimate(derived(one, how), 0.0)
        said = {
            "share": Statement((deviation(mine, share),), (deviation(law, share),), equal=True),
            "smooth": Statement(
                (combine((smoother(found, one, other, measure),), (sign,)),),
                (Estimate(sign * smoother_by_law(one, other, how, measure), 0.0),),
            ),
        }
        if other == TCP:
            said["fairly"] = Statement(_between(mine), _between(law))
        if gentle is not None:
            more = derived(QUARTER, how) - derived(GENTLE, how)
            less = difference(mine, ratio(gentle, GENTLE, TCP))
            said["more"] = Statement((less,), (Estimate(round(more, 9), 0.0),))
            by = measure or COEFFICIENT
            said["rougher"] = Statement((rougher(found, gentle, by),), (Estimate(rougher_by_law(how, by), 0.0),))
        return said

    def in_longer_bins(length: float) -> dict[str, Statement]:
        """Return the statements with rates in longer bins, of which the law says nothing."""
        binned = pair_in_bins(one, other, length)
        other_pair = None if gentle() is None else pair_in_bins(GENTLE, TCP, length)
        longer = statements(binned, other_pair)
        smooth = {key: replace(longer[key], model=None) for key in SMOOTHNESS if key in longer}
        return statements(found, gentle()) | smooth

    def gentle(**reading: Any) -> pd.DataFrame | None:
        return pair(GENTLE, TCP, **reading) if (one, other) == (QUARTER, TCP) else None

    found = pair(one, other)
    others = {
        name: statements(pair(one, other, **reading), gentle(**reading), reading.get("reading", "1-b"))
        for name, reading in READINGS.items()
        if not (TFRC in one and "reading" in reading)
    }
    measure = VARIANCE if other == TFRC else COEFFICIENT
    by_measure = {
        MEASURES[measure]: levelled(statements(found, gentle(), measure=measure), one, other, share, sign, measure)
    }
    rates, rough = ([of_runs(found[column][kind]) for kind in (one, other)] for column in ("rate", "rough"))
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
            "longer": {
                length: [of_runs(table[COEFFICIENT][kind]) for kind in (one, other)] +
                    [smoother(table, one, other)]
                for length, table in ((n, pair_in_bins(one, other, n)) for n in LENGTHS.values())
            },
            "shorter": smoother(found, one, other), "slip": {} if one == TFRC else slip(),
        },
        readings=others | by_measure | {name: in_longer_bins(n) for name, n in LENGTHS.items()},
        level_readings=tuple(by_measure) if own is not None else (),
    )  # fmt: skip


SMOOTHNESS = ("smooth", "rougher")
"""The statements that the bins and the measure of smoothness bear on."""


def slip() -> dict[str, tuple[Estimate, float]]:
    """Return, by pair, the ratio of the rates with a and b exchanged in ns-2 and by the law: near one half in all four."""
    return {
        f"{one} with {other}": (
            ratio(pair(one, other, reading=EXCHANGED), one, other), derived(one, EXCHANGED),
        )
        for one in VALUES for other in (TCP, TFRC)
    }  # fmt: skip


def _ratios(one: str, other: str, readings: list[str], own: pd.DataFrame | None) -> dict[str, Curve]:
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


share_beside.constants_of(level)

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
    found = (fixed_point(Group(kind, 8), Group(TCP, 8)).rates for kind in (TFRC, BY_EVENTS, WITH_TIMER))
    return {name: a / b for name, (a, b) in zip(("law", "events", "timer"), found, strict=True)}


def settings(one: str, other: str) -> dict[str, Estimate]:
    """Return the ratio of the rates for other values of settings that the paper does not give."""
    frame = where(SENSITIVITY, pair=f"{one} with {other}")
    return {
        str(name): ratio(kinds((SENSITIVITY,), pair=f"{one} with {other}", setting=name), one, other)
        for name in frame["setting"].unique()
    }
