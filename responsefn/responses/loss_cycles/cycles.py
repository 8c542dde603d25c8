"""The deterministic loss cycle of any rule, solved numerically: one packet in 1/p is lost.

The rule's own functions, compiled, advance the window by blocks of ACKs (an eighth of a window at a
time, by the midpoint rule; single ACKs in slow start) until one cycle is like the one before. What is found is
compared with cycles ACK by ACK, and where they differ, as they do for rules that act at some ACKs only, the
cycle is solved ACK by ACK. This is the response of rules that have no closed form, derived here and not
published.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from responsefn.responses.dynamics import Cycle
from responsefn.responses.loss_cycles.cycle_loops import (
    Cases,
    Found,
    Limits,
    approach,
    check,
    compare_compiled,
    run,
    steps_kept,
)
from responsefn.responses.loss_cycles.cycle_starts import begin_at_peak
from responsefn.responses.response_warnings import warns
from responsefn.responses.rule_checks import check_dynamics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["ACCURACY", "SLOW", "cases_of", "follows_blocks", "repeating_only", "solve"]

MAX_CYCLES, BUDGET = 4096, 2_000_000
"""Cycles, and blocks of ACKs, after which the mean over the last half stands for the cycle; a power of two."""
SHORT, SHORT_BUDGET = 256, 200_000
"""The same where only the check matters, before a simulation."""
DRIFT = 1e-3
"""Relative change of the rate from one mean to that over twice the cycles, twice one way, that is taken for a drift."""
ACK_DRIFT = 0.0025
"""The same ACK by ACK, where cycles that do not repeat are fewer."""
MAX_LONG_CYCLES, LONG_BUDGET = 2**22, 100_000_000
"""Cycles and blocks of ACKs that a window which drifts may take to come to rest."""
ACCURACY = 0.005
"""Relative error of the rate that is stated."""
ERROR = 0.004
"""Estimated relative error of a cycle in blocks from which on it is solved ACK by ACK."""
FEW_PACKETS, SHORT_ERROR = 99.5, 0.05
"""Cycles of fewer packets may differ by this: blocks count parts of packets, and their rate is continuous in p."""
CHANGE = 1e-4
"""Relative change of a period much later from which on it does not repeat."""
FOLLOWED, SEVERAL = 1_000_000, 10_000
"""ACKs of a cycle that are followed in a check, and up to which several cycles are."""
ACKS, LONG_ACKS = 20_000_000, 1_000_000_000
"""ACKs after which the mean over the last half stands for the cycle, and those of a window that drifts."""
NOISE_FACTOR = 8
"""How many times as many ACKs are taken where the mean rates over the two last halves differ by more than the accuracy."""
LONGEST = 1e8
"""ACKs of the longest cycle that is solved ACK by ACK."""
APPROACH_BLOCKS, APPROACH_ACKS = 2**20, 2**22
"""Blocks of ACKs, or ACKs, in which it is counted how many loss events a connection needs: about 0.1 s."""
SLOW, NEAR, MEAN = 10_000, 0.01, 64
"""Loss events from which on it is said how many a connection needs; how near the rate it is then, averaged over
the last number."""
_repeating_only: ContextVar[bool] = ContextVar("repeating_only", default=False)


class _Answer(NamedTuple):
    """What was found; by ACKs or blocks, the part of a cycle that was followed, and which are limits of drifts."""

    found: Found
    by_acks: Bools
    followed: Floats
    slow: Bools


def solve(
    rule: Dynamics,
    p: Floats,
    rtt: Floats,
    bandwidth: float | None,
    peaks: Floats | None = None,
) -> Cycle:
    """Return the cycle for checked arrays p and rtt that broadcast.

    It begins at the peaks of `begin_at_peak`, or at those given, in packets, in the common shape.
    """
    check_dynamics(rule)
    with steps_kept():
        return _solve(
            cases_of(rule, p, rtt, bandwidth, peaks), np.broadcast_shapes(p.shape, rtt.shape)
        )


@contextmanager
def repeating_only() -> Iterator[None]:
    """Spend no time on cycles ACK by ACK that do not repeat: within this context their rate is a rough one.

    Their period is 0. All other cycles are the same as without.
    """
    token = _repeating_only.set(True)
    try:
        yield
    finally:
        _repeating_only.reset(token)


def _solve(cases: Cases, shape: tuple[int, ...]) -> Cycle:
    compare_compiled(cases.rule)
    answer = _solved(cases)
    columns = answer.found.columns
    events = np.full(len(cases.packets), np.nan)
    for acks in (False, True):
        slow = (answer.slow | (columns[:, 5] > SLOW)) & (answer.by_acks == acks)
        if slow.any() and warns():
            limits = Limits(
                APPROACH_ACKS if acks else APPROACH_BLOCKS, MAX_LONG_CYCLES, acks, same=NEAR
            )
            mean = np.full(int(slow.sum()), MEAN)
            events[slow] = approach(cases.some(slow), columns[slow, 0].copy(), limits, mean)[:, 0]
    events[events <= SLOW] = np.nan
    more = [answer.by_acks, answer.followed, events, columns[:, 9]]
    every = [columns[:, n] for n in range(7)] + more
    return Cycle(*(each.reshape(shape) for each in every))


def cases_of(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, peaks: Floats | None = None
) -> Cases:
    """Return the cases of checked arrays that broadcast, from the states of `begin_at_peak`."""
    shape = np.broadcast_shapes(p.shape, rtt.shape)
    packets = np.broadcast_to(1.0 / p, shape).ravel().copy()
    rtts = np.broadcast_to(rtt, shape).ravel().copy()
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    return Cases(rule, packets, rtts, service, begin_at_peak(rule, p, rtt, bandwidth, peaks))


def follows_blocks(rule: Dynamics, p: float, rtt: float, bandwidth: float | None) -> bool:
    """Return whether a cycle in blocks of ACKs, from some cycles on, is the one ACK by ACK."""
    cases = cases_of(rule, np.array([p]), np.array([rtt]), bandwidth)
    found = run(cases, Limits(SHORT_BUDGET, SHORT))
    return not bool(_differs(cases, found)[0].any())


def _solved(cases: Cases) -> _Answer:
    """Solve by blocks and check; solve ACK by ACK what differs."""
    count = len(cases.packets)
    if cases.rule.counts_acks:
        every = np.ones(count, dtype=np.bool_)
        return _Answer(_by_acks(cases, ~every), every, np.ones(count), ~every)
    found = run(cases, Limits(BUDGET, MAX_CYCLES))
    differs, followed = _differs(cases, found)
    slow = np.zeros(count, dtype=np.bool_)
    open_ = (found.columns[:, 6] == 0.0) & ~differs
    if open_.any():
        rest, slow[open_], lost = _at_rest(cases.some(open_), _chosen(found, open_))
        moved = ((rest.columns[:, 5] > MAX_CYCLES) | slow[open_]) & ~lost
        if moved.any():
            lost[moved], _ = _differs(cases.some(open_).some(moved), _chosen(rest, moved))
        for array, new in zip(found, rest, strict=True):
            array[open_] = new
        differs[open_] |= lost
    if differs.any():
        short = (cases.packets < FEW_PACKETS) & (found.columns[:, 6] > 0.0)  # not those that drift
        acks = _by_acks(cases.some(differs), short[differs])
        followed[differs] = 1.0
        # of short ones blocks are as good where the rate is that of ACKs, and continuous in p
        rate = acks.columns[:, 0]
        same = abs(found.columns[differs, 0] - rate) <= ERROR * rate
        other = ~np.isnan(rate) & ~(short[differs] & same)
        differs[differs] = other
        for array, new in zip(found, _chosen(acks, other), strict=True):
            array[differs] = new
    return _Answer(found, differs, followed, slow)


def _chosen(found: Found, chosen: Bools) -> Found:
    return Found(found.columns[chosen], found.ends[chosen])


def _differs(cases: Cases, found: Found) -> tuple[Bools, Floats]:
    """Return which solutions by blocks differ from ACKs, and the part of a cycle that was followed."""
    wrong = found.columns[:, 6] < 0.0
    seen = check(cases, found, Limits(SEVERAL, FOLLOWED))
    most = np.where(cases.packets < FEW_PACKETS, SHORT_ERROR, ERROR)
    return wrong | (seen[:, 0] > most) | (seen[:, 2] > CHANGE), seen[:, 1].copy()


def _by_acks(cases: Cases, optional: Bools) -> Found:
    """Return cycles ACK by ACK; NaN for ``optional`` ones of which the window drifts.

    Raises
    ------
    ArithmeticError
        Where one has too many ACKs, or the window drifts for too many.
    """
    if (long := cases.packets > LONGEST).any():
        p, rtt = 1.0 / cases.packets[long][0], cases.rtts[long][0]
        raise ArithmeticError(
            f"{cases.rule!r}: p = {p:g}, rtt = {rtt:g}: must be at least {1.0 / LONGEST:g} for a rule that acts at "
            "some ACKs only, whose cycle is solved ACK by ACK"
        )
    limits = Limits(ACKS, MAX_CYCLES, True, same=1e-11)
    found = run(cases, limits)
    later = check(cases, found, limits)[:, 2] > CHANGE
    if later.any():
        again = run(cases.some(later), limits._replace(same=-1.0))
        for array, new in zip(found, again, strict=True):
            array[later] = new
    only = _repeating_only.get()
    if (noisy := _noisy(found) & (optional | (not only))).any():
        more = limits._replace(
            budget=NOISE_FACTOR * ACKS, most=NOISE_FACTOR * MAX_CYCLES, same=-1.0
        )
        again = run(cases.some(noisy), more)
        for array, new in zip(found, again, strict=True):
            array[noisy] = new
    for further in (16, 256, MAX_LONG_CYCLES // MAX_CYCLES):
        drifts = _drifts(found, ACK_DRIFT)
        found.columns[drifts & optional] = np.nan
        drifts &= ~optional
        if only or not drifts.any():
            return found
        budget = min(LONG_ACKS, further * ACKS)
        more = limits._replace(budget=budget, most=further * MAX_CYCLES)
        for same, some in ((limits.same, drifts & ~later), (-1.0, drifts & later)):
            if some.any():
                chosen = cases.some(some)
                if (
                    further == MAX_LONG_CYCLES // MAX_CYCLES
                ):  # as many ACKs again, from where the last ones came to
                    chosen = _from_peaks(chosen, found.columns[some, 3])
                again = run(chosen, more._replace(same=same))
                for array, new in zip(found, again, strict=True):
                    array[some] = new
    if (drifts := _drifts(found, ACK_DRIFT)).any():
        raise _drift(cases.some(drifts), found.columns[drifts][0, 5])
    return found


def _drifts(found: Found, least: float = DRIFT) -> Bools:
    """Return where means of the rate over twice the cycles change, twice one way."""
    rate, before, earlier = found.columns[:, [0, 7, 8]].T
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.log([before / earlier, rate / before])
        moves = (abs(steps) > least).all(axis=0) & (steps[0] * steps[1] > 0.0)
    return np.asarray(moves & (found.columns[:, 6] == 0.0))


def _noisy(found: Found) -> Bools:
    """Return where cycles do not repeat, and the last two mean rates differ by more than the accuracy, to and fro."""
    rate, before = found.columns[:, [0, 7]].T
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = abs(np.log(rate / before)) > ACCURACY
    return np.asarray(apart & (found.columns[:, 6] == 0.0) & ~_drifts(found, ACK_DRIFT))


def _from_peaks(cases: Cases, peaks: Floats) -> Cases:
    bandwidth = 1.0 / cases.service if cases.service > 0.0 else None
    starts = begin_at_peak(cases.rule, 1.0 / cases.packets, cases.rtts, bandwidth, peaks)
    return cases._replace(starts=starts)


def _drift(cases: Cases, events: float) -> ArithmeticError:
    p, rtt = 1.0 / cases.packets[0], cases.rtts[0]
    return ArithmeticError(
        f"{cases.rule!r}: p = {p:g}, rtt = {rtt:g}: the window still drifts after {events:.0f} loss events: it has no rate; "
        "simulate_rule says how it moves"
    )


def _at_rest(cases: Cases, found: Found) -> tuple[Found, Bools, Bools]:
    """Return cycles that do not repeat; where the window drifts those in which it comes to rest.

    Where it climbs these are the cycles in which a window of twice what the path holds comes to rest, if it does.
    Also return which drifted, and which of these came to no rest.
    """
    drifts = _drifts(found)
    lost = np.zeros(len(drifts), dtype=np.bool_)
    before = found.columns[:, 0].copy()
    if drifts.any() and cases.service > 0.0:
        tops = 2.0 * cases.rtts / cases.service
        bandwidth = 1.0 / cases.service
        starts = begin_at_peak(cases.rule, 1.0 / cases.packets, cases.rtts, bandwidth, tops)
        above = run(cases._replace(starts=starts), Limits(BUDGET, 64 * MAX_CYCLES))
        rises = found.columns[:, 0] > found.columns[:, 7]
        higher = above.columns[:, 0] > found.columns[:, 0]
        climbs = drifts & rises & (above.columns[:, 6] > 0.0) & higher
        for array, new in zip(found, above, strict=True):
            array[climbs] = new[climbs]
        drifts &= ~climbs
    for further in (16, 256, MAX_LONG_CYCLES // MAX_CYCLES):
        if not drifts.any():
            break
        limits = Limits(min(LONG_BUDGET, further * BUDGET), further * MAX_CYCLES)
        long = run(cases.some(drifts), limits)
        moved = abs(long.columns[:, 0] / found.columns[drifts, 0] - 1.0) > DRIFT
        for array, new in zip(found, long, strict=True):
            array[drifts] = new
        drifts[drifts] = (long.columns[:, 6] == 0.0) & moved
    lost[drifts] = True
    return found, abs(found.columns[:, 0] / before - 1.0) > NEAR, lost
