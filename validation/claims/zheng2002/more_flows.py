"""Two kinds of flow in growing numbers, and at growing distances (Z11 to Z14)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import pandas as pd

from validation.claims.effect_claims import by, effects, where
from validation.claims.effect_statements import EQUAL, Curve, Effects, Estimates, Statement, beyond
from validation.claims.zheng2002 import level
from validation.claims.zheng2002.pairs import (
    COEFFICIENT,
    EXCHANGED,
    GENTLE,
    LENGTHS,
    MEASURES,
    QUARTER,
    TCP,
    TFRC,
    in_bins,
)
from validation.claims.zheng2002.red import (
    BY_EVENTS,
    WITH_TIMER,
    Group,
    Link,
    fixed_point,
    variation,
)
from validation.claims.zheng2002.red import FAST as FAST_LINK
from validation.claims.zheng2002.red import SLOW as SLOW_LINK
from validation.networks.further_seeds import CASE as OWN_SEEDS
from validation.statistics import LEVEL, Estimate, average, combine, difference, of_runs, relative_difference, slope

SLOW, FAST = "zheng2002/friendliness-15", "zheng2002/friendliness-60"
LATER = "zheng2002/friendliness-15-seeds"
LATER_TCP = "zheng2002/friendliness-15-tcp-seeds"
"""Further seeds of pairs whose gaps five seeds left open."""
SENSITIVITY = "zheng2002/sensitivity"
CHANGED = {SLOW: "zheng2002/exchanged-15", FAST: "zheng2002/exchanged-60"}
"""The cases with a and b exchanged, by the default's."""
DELAYS, MORE_DELAYS = "zheng2002/access-delay", "zheng2002/access-delay-seeds"
DELAYS_IN_BINS = "zheng2002/access-delay-bins"
OWN = (4, 16, 64)
"""Flows of each kind at hopflow's packet level; on the fast link the last two."""
FEW_FLOWS = (2, 4)
"""Flows of each kind that count as few; with one of each ns-2's starts decide."""
BOTH = (4, 16, 32, 64)
"""Flows of each kind on both links."""
FEW_FLOWS_BY_LINK = {SLOW: FEW_FLOWS, FAST: (16,)}
"""Flows of each kind that count as few, by link. On four times the rate, 16 of each lose as many of their packets as 4 on the
slow link; 4 there are as one here, whose rates the starts decide, and 8 were not run."""
LINKS = {SLOW: SLOW_LINK, FAST: FAST_LINK}
LARGE = (16, 32, 64)
"""Flows of each kind at which the order of the kinds is judged."""
READING = "ns-2's decrease setting is b"


def gap(case: str, one: str, other: str, reading: str = "1-b", *, more_seeds: bool = True) -> dict[int, Estimate]:
    """Return the logarithm of the ratio of the rates of two kinds, by the flows of each."""
    chosen = reading if one != TFRC else "1-b"
    cases = (SLOW, LATER, LATER_TCP) if case == SLOW and more_seeds else (case,)
    if reading == EXCHANGED:
        cases = (CHANGED[case],)
    frame = pd.concat([where(each, pair=f"{one} with {other}", reading=chosen) for each in cases])
    rates = frame.groupby(["number", "seed", "kind"])["rate"].mean().unstack()  # noqa: PD010
    ratio = (rates[one] / rates[other]).map(math.log)
    return {int(str(number)): of_runs(values.to_numpy()) for number, values in ratio.groupby("number")}


def modelled(one: str, other: str, numbers: Sequence[int], link: Link = SLOW_LINK) -> dict[int, Estimate]:
    """Return the same logarithms by the fixed point of RED, to six digits."""
    found = {n: fixed_point(Group(one, n), Group(other, n), link=link).rates for n in numbers}
    return {n: Estimate(round(math.log(a / b), 6), 0.0) for n, (a, b) in found.items()}


def size(gap: Estimate) -> Estimate:
    """Return the size of a gap, with its error; the sign is the one measured."""
    return gap if gap.value >= 0.0 else -gap


@effects(
    "Z11",
    QUARTER,
    TCP,
    cases=(SLOW, FAST, SENSITIVITY, LATER_TCP, *CHANGED.values(), OWN_SEEDS),
    equal=True,
)
@effects("Z12", QUARTER, TFRC, cases=(SLOW, FAST, LATER, *CHANGED.values()), equal=True)
@effects("Z13", TFRC, TCP, cases=(SLOW, FAST, SENSITIVITY, LATER), equal=True)
def growing_numbers(one: str, other: str) -> Effects:
    """Measure the gap between two kinds, and the loss, by the number of flows.

    The model judges no gap of TCP and TCP(a,b), to which it gives one law.
    """

    def statements(reading: str) -> dict[str, Statement]:
        gaps = {case: gap(case, one, other, reading) for case in LINKS}
        lost = {case: _lost(case, one, other, reading) for case in LINKS}
        slow, fast = gaps.values()
        closer = [difference(size(slow[n]), size(fast[n])) for n in BOTH]
        laws = {case: modelled(one, other, list(gaps[case]), link) for case, link in LINKS.items()}
        own, wide = laws.values()
        losses = {case: _modelled_loss(one, other, list(lost[case]), link) for case, link in LINKS.items()}
        nearer = [abs(own[n].value) - abs(wide[n].value) for n in BOTH]
        order = tuple(modelled(TFRC, TCP, LARGE).values())  # TCP(a,b) has TCP's law, which is no evidence
        tells = TFRC in (one, other)
        at = levels(one, other)
        apart = [difference(size(at.slow[n]), size(at.fast[n])) for n in at.fast]
        at_level = {SLOW: at.slow, FAST: at.fast}
        return {
            "few": Statement(_few(gaps), _few(laws) if tells else None, equal=True, level=_few(at_level)),
            "grows": Statement(_growth(gaps), _growth(laws) if tells else None, level=_growth(at_level)),
            "lost": Statement(
                tuple(step for by_number in lost.values() for step in _steps(by_number)),
                tuple(step for by_number in losses.values() for step in _steps(by_number)),
                level=_steps(at.loss) + _steps(at.fast_loss),
            ),
            "close": Statement(
                tuple(slow[n] for n in FEW_FLOWS),
                tuple(own[n] for n in FEW_FLOWS) if tells else None,
                equal=True,
                level=tuple(at.slow[n] for n in at.slow if n in FEW_FLOWS),
            ),
            "gap": Statement(
                (_trend(slow),), (_trend(own),) if tells else None, level=(_trend(at.slow),) if at.slow else None
            ),
            "loss": Statement(_steps(lost[SLOW]), _steps(losses[SLOW]), level=_steps(at.loss)),
            "closer": Statement(
                (average(closer),),
                (Estimate(round(sum(nearer) / len(nearer), 6), 0.0),) if tells else None,
                level=(average(apart),) if apart else None,
            ),
        } | ({"order": Statement(_order(), order), "smaller": _smaller()} if one == TFRC else {})

    slow, fast = gap(SLOW, one, other), gap(FAST, one, other)
    return Effects(
        statements("1-b"),
        {
            f"{one}, 15 Mb/s": _beside(slow, modelled(one, other, list(slow), SLOW_LINK)),
            f"{one}, 60 Mb/s": _beside(fast, modelled(one, other, list(fast), FAST_LINK)),
        },
        ("flows of each kind", "logarithm of the ratio of the rates"),
        "x",
        expected=(-EQUAL, EQUAL),
        values={
            "one": one, "other": other, "few": slow[FEW_FLOWS[0]], "most": slow[BOTH[-1]],
            "fast": fast[BOTH[-1]], "ratio": math.exp(slow[BOTH[-1]].value),
            "fast_ratio": math.exp(fast[BOTH[-1]].value),
            "switched": switched(one, other), "seen": [slow[n].value for n in BOTH],
            "level": levels(one, other),
            "five": gap(SLOW, one, other, more_seeds=False)[FEW_FLOWS[0]],
            "steps": [_signs(_growth({case: gap(case, one, other)})) for case in LINKS],
        },
        readings={} if one == TFRC else {
            name: {key: Statement(each.packets, equal=each.equal) for key, each in statements(how).items()}
            for name, how in ((READING, "b"), (EXCHANGED, EXCHANGED))
        },
    )  # fmt: skip


def _few(gaps: Mapping[str, Mapping[int, Estimate]]) -> Estimates:
    """Return the gaps with few flows of each kind, by link."""
    return tuple(by_number[n] for case, by_number in gaps.items() for n in FEW_FLOWS_BY_LINK[case] if n in by_number)


def _growth(gaps: Mapping[str, Mapping[int, Estimate]]) -> Estimates:
    """Return by how much the size of the gap grows at each step of the number of flows, from the most that are few on, by link."""
    sizes = (
        {n: size(found) for n, found in by_number.items() if n >= max(FEW_FLOWS_BY_LINK[case])}
        for case, by_number in gaps.items()
    )
    return tuple(step for by_number in sizes for step in _steps(by_number))


class Signs(NamedTuple):
    """How many of several quantities are certainly above zero at `LEVEL`, certainly below, and all of them."""

    up: int
    down: int
    all: int


def _signs(estimates: Estimates) -> Signs:
    up, down = (sum(e.p_positive() < LEVEL for e in signed) for signed in (estimates, [-e for e in estimates]))
    return Signs(up, down, len(estimates))


def _modelled_loss(one: str, other: str, numbers: Sequence[int], link: Link) -> dict[int, Estimate]:
    """Return the loss by the fixed point of RED, by the flows of each kind."""
    return {n: Estimate(fixed_point(Group(one, n), Group(other, n), link=link).loss, 0.0) for n in numbers}


def _lost(case: str, one: str, other: str, reading: str) -> dict[int, Estimate]:
    """Return the loss of a pair on a link, by the flows of each kind."""
    chosen = reading if one != TFRC else "1-b"
    return by(
        where(CHANGED[case] if reading == EXCHANGED else case, "link", pair=f"{one} with {other}", reading=chosen),
        "number",
        "loss",
    )


def _beside(found: dict[int, Estimate], model: dict[int, Estimate]) -> Curve:
    """Return measured gaps with those of the model beside them, by the number of flows."""
    return Curve(list(found), list(found.values()), [gap.value for gap in model.values()])


class Levels(NamedTuple):
    """The gaps and the loss on both links at hopflow's packet level, by the number."""

    slow: dict[int, Estimate]
    fast: dict[int, Estimate]
    loss: dict[int, Estimate]
    fast_loss: dict[int, Estimate]


def levels(one: str, other: str) -> Levels:
    """Return what hopflow's packet level has of a pair; nothing of TFRC, which is no sender there."""
    if TFRC in (one, other):
        return Levels({}, {}, {}, {})
    slow = {n: level.pair(one, other, n) for n in OWN}
    fast = {n: level.pair(one, other, n, FAST_LINK) for n in OWN[1:]}
    return Levels(
        {n: level.ratio(flows, one, other) for n, flows in slow.items()},
        {n: level.ratio(flows, one, other) for n, flows in fast.items()},
        {n: level.of_link(flows, "loss") for n, flows in slow.items()},
        {n: level.of_link(flows, "loss") for n, flows in fast.items()},
    )


def switched(one: str, other: str) -> dict[str, list[float]]:
    """Return the gaps of `BOTH` with TFRC by the loss rate, by loss events, and with TCP's timer."""
    if TFRC not in (one, other):
        return {}
    found = {}
    for name, kind in {"law": TFRC, "events": BY_EVENTS, "timer": WITH_TIMER}.items():
        first, second = (kind if each == TFRC else each for each in (one, other))
        found[name] = [e.value for e in modelled(first, second, BOTH).values()]
    return found


def _trend(found: dict[int, Estimate]) -> Estimate:
    """Return the slope of the size of the gap per unit of log(number), from 4 flows on."""
    kept = [n for n in found if n >= BOTH[0]]
    return slope([size(found[n]) for n in kept], [math.log(n) for n in kept])


def _steps(found: Mapping[int, Estimate]) -> Estimates:
    """Return by how much a quantity grows from each number of flows to the next."""
    return tuple(difference(found[b], found[a]) for a, b in itertools.pairwise(found))


def _order() -> Estimates:
    """Return the gaps of TFRC over TCP and of TCP over TCP(a,b), with 16 flows and more."""
    above = gap(SLOW, TFRC, TCP), gap(SLOW, QUARTER, TCP)
    numbers = [n for n in above[0] if n >= BOTH[1]]
    return tuple(above[0][n] for n in numbers) + tuple(-above[1][n] for n in numbers)


def _smaller() -> Statement:
    """Return by how much the gap of TCP and TCP(a,b) exceeds that of TFRC and TCP, in the mean over the numbers of flows."""
    tfrc, gentle = gap(SLOW, TFRC, TCP), gap(SLOW, QUARTER, TCP)
    law, other = modelled(TFRC, TCP, BOTH), modelled(QUARTER, TCP, BOTH)
    more = [difference(size(gentle[n]), size(tfrc[n])) for n in BOTH]
    exact = [difference(size(other[n]), size(law[n])) for n in BOTH]
    return Statement((average(more),), (average(exact),))


ACCESS = tuple(0.002 + 0.0025 * n for n in range(8))
"""Access delays of Figs. 17 to 21, s."""


AT_DELAYS = ((GENTLE, TCP), (QUARTER, TCP), (GENTLE, TFRC), (QUARTER, TFRC), (TFRC, TCP))
"""The pairs of Figs. 17 to 21."""


def by_delay(one: str, other: str) -> dict[str, list[float]]:
    """Return the rates of both kinds by access delay, by the fixed point of RED, packets/s."""
    groups = [Group(kind, 1, 0.04 + 4.0 * delay) for kind in (one, other) for delay in ACCESS]
    rates = fixed_point(*groups).rates
    return {one: list(rates[: len(ACCESS)]), other: list(rates[len(ACCESS) :])}


@effects("Z14", cases=(DELAYS, MORE_DELAYS, DELAYS_IN_BINS, OWN_SEEDS))
def growing_delays() -> Effects:
    """Measure rate and variance by the access delay."""
    shown = _by_distance(f"{TFRC} with {TCP}", "1-b")
    curves = {kind: by(shown[shown["kind"] == kind], "access_delay", "rate") for kind in (TFRC, TCP)}
    ends = {kind: list(found.values()) for kind, found in curves.items()}
    return Effects(
        _by_delay("1-b"),
        {
            kind: Curve(list(found), list(found.values()), by_delay(TFRC, TCP)[kind])
            for kind, found in curves.items()
        },
        ("access delay (s)", "rate (packets/s)"),
        values={
            "ends": ends, "pairs": len(AT_DELAYS),
            "rough": by(_by_distance(f"{GENTLE} with {TCP}", "1-b"), "kind", "rate_cov"),
            "above": [_beside_tcp()],
            "longer": {length: _beside_tcp(length) for length in LENGTHS.values()},
            "steps": {key: _signs(_in_packets(each)) for key, each in _by_delay("1-b").items() if key.endswith("_steps")},
        },
        readings={
            READING: _by_delay("b"),
            CLOSE: _by_delay("1-b", EQUAL),
            MEASURES[COEFFICIENT]: _by_delay("1-b", column="rate_cov"),
        }
        | {name: _in_longer_bins(length) for name, length in LENGTHS.items()},
    )  # fmt: skip


growing_delays.constants_of(level)


def _in_packets(statement: Statement) -> Estimates:
    """Return what packets have measured for a statement."""
    return statement.quantities[""]


def _beside_tcp(length: float | None = None) -> Estimate:
    """Return by how much the variance of TCP(1/5,1/8)'s rates exceeds that of TCP's beside it, relative to TCP's."""
    return _smoother(_by_distance(f"{GENTLE} with {TCP}", "1-b", length), TCP, GENTLE, "rate_variance")


def _in_longer_bins(length: float) -> dict[str, Statement]:
    """Return the statements with rates in longer bins, of whose variances the model says nothing."""
    default, binned = _by_delay("1-b"), _by_delay("1-b", length=length)
    return default | {key: replace(binned[key], model=None) for key in ("variance_steps", "variance", "smoother")}


def _by_delay(
    reading: str,
    least: float = 0.0,
    *,
    column: str = "rate_variance",
    length: float | None = None,
) -> dict[str, Statement]:
    """Return the statements on growing delays in a reading; rates may be lower by a part ``least``.

    ``column`` is the measure by which kinds are compared, ``length`` that of the bins of the rates in s, None: half a second.
    """
    above, smooth = [], []
    names = "rate", "variance", "order", "smoother"
    model: dict[str, list[Estimate]] = {name: [] for name in names}
    frames = {}
    for lower, upper in AT_DELAYS:
        frame = frames[lower, upper] = _by_distance(
            f"{lower} with {upper}", "1-b" if lower == TFRC else reading, length
        )
        first, second = (lower, upper) if lower == TFRC else (upper, lower)
        above.append(_above(frame, first, second))
        own = by_delay(lower, upper)
        for kind in (lower, upper):
            falls = [a - b for a, b in itertools.pairwise(own[kind])]
            model["rate"] += [Estimate(fall, 0.0) for fall in falls]
            square = [(variation(kind) * rate) ** 2 for rate in own[kind]]
            model["variance"] += [Estimate(a - b, 0.0) for a, b in itertools.pairwise(square)]
        if first == TFRC:  # to TCP and TCP(a,b) the model gives one law, which is no evidence
            apart = sum(own[first]) / sum(own[second]) - 1.0
            model["order"].append(Estimate(apart + least, 0.0))
            smooth.append(_smoother(frame, first, second, column))
            one, other = (
                sum((variation(kind) * rate) ** 2 for rate in own[kind])
                if column == "rate_variance"
                else variation(kind)
                for kind in (first, second)
            )
            model["smoother"].append(Estimate(other / one - 1.0, 0.0))
    packets = {pair: _level(*pair) for pair in AT_DELAYS[:2]}
    return {
        **{
            key: Statement(falls(frames, name), tuple(model[measure]), level=falls(packets, name))
            for measure, name in (("rate", "rate"), ("variance", "rate_variance"))
            for key, falls in ((f"{measure}_steps", _steps_over_delays), (measure, _slopes_over_delays))
        },
        "order": Statement(
            tuple(beyond(e, -least) for e in above),
            tuple(model["order"]),
            level=tuple(beyond(_above(frame, upper, lower), -least) for (lower, upper), frame in packets.items()),
        ),
        "smoother": Statement(tuple(smooth), tuple(model["smoother"])),
    }


CLOSE = "differences of the rates up to a tenth do not count"
"""A reading of the order of rates that the paper calls close."""


def _by_distance(pair: str, reading: str, length: float | None = None) -> pd.DataFrame:
    """Return the flows of a pair at growing distances, of all seeds; ``length``: of the bins of their rates, s."""
    if length is not None:
        frame = in_bins(DELAYS_IN_BINS, length, pair=pair, reading=reading)
        return frame.assign(access_delay=[ACCESS[flow - 1] for flow in frame["flow"]])
    return pd.concat([where(case, pair=pair, reading=reading) for case in (DELAYS, MORE_DELAYS)])


Pairs: TypeAlias = Mapping[tuple[str, str], pd.DataFrame]
"""The flows of each pair of kinds, by access delay and seed."""


def _level(lower: str, upper: str) -> pd.DataFrame:
    """Return the flows of a pair at growing distances at hopflow's packet level."""
    flows = level.Dumbbell((lower,) * len(ACCESS) + (upper,) * len(ACCESS), ACCESS * 2)
    frame = level.runs(flows).flows
    return frame.assign(access_delay=frame["flow"].map(lambda n: ACCESS[n % len(ACCESS)]))


def _slopes_over_delays(pairs: Pairs, column: str) -> Estimates:
    """Return the slope of a column over the delay, negated and relative to the mean, of both kinds of each pair."""
    return tuple(
        _fall(by(frame[frame["kind"] == kind], "access_delay", column))
        for pair, frame in pairs.items()
        for kind in pair
    )


def _steps_over_delays(pairs: Pairs, column: str) -> Estimates:
    """Return by how much a column is less at the next longer delay, relative to the mean, of both kinds of each pair.

    Flows at both delays are of one run, so that differences are taken seed by seed.
    """
    steps = []
    for pair, frame in pairs.items():
        for kind in pair:
            flows = frame[frame["kind"] == kind].groupby(["access_delay", "seed"])[column].mean().unstack()  # noqa: PD010
            by_delay = flows.to_numpy() / flows.to_numpy().mean()
            steps += [of_runs(shorter - longer) for shorter, longer in itertools.pairwise(by_delay)]
    return tuple(steps)


def _fall(found: dict[float, Estimate]) -> Estimate:
    """Return the slope over the delay, negated and relative to the mean."""
    values = list(found.values())
    mean = sum(e.value for e in values) / len(values)
    return combine((slope(values, list(found)),), (-1.0 / mean,))


def _above(frame: pd.DataFrame, upper: str, lower: str) -> Estimate:
    rates = frame.groupby(["seed", "kind"])["rate"].mean().unstack()  # noqa: PD010
    return relative_difference(rates[upper], rates[lower])


def _smoother(frame: pd.DataFrame, one: str, other: str, column: str) -> Estimate:
    """Return by how much a measure of the other kind's rates exceeds that of the first's, relative to it."""
    mean = frame.groupby(["seed", "kind"])[column].mean().unstack()  # noqa: PD010
    return relative_difference(mean[other], mean[one])
