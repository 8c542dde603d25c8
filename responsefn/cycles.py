"""The deterministic loss cycle of any rule, solved numerically: one packet in 1/p is lost.

The rule's own functions, compiled, advance the window by blocks of ACKs (an eighth of a window at a time, by the
midpoint rule; single ACKs in slow start) until one cycle repeats the previous one. The solution is compared with cycles
ACK by ACK, and where they differ, as for rules that act at particular ACKs, the cycle is solved ACK by ACK. This
is the response of rules without a closed form, derived here and not published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import engine
from responsefn import steps
from responsefn.closed_forms.printed import formula_of
from responsefn.diagnostics import RuleError, warns
from responsefn.dynamics import Cycle, Event
from responsefn.kernel.flow import (
    ALL_STEPS,
    CHANGE,
    CHECKED_STATES,
    CYCLE_COLUMNS,
    CYCLES,
    ERROR,
    FAULT_STATE,
    FOLLOWED,
    LIMITS,
    PEAK,
    PERIOD,
    RATE,
    RATE_BEFORE,
    RATE_EARLIER,
    ROWS,
)
from responsefn.rule_events import check_dynamics, raise_fault, sample_states
from responsefn.steps import compile_step, write_parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.dynamics import Dynamics

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = [
    "ACCURACY",
    "KERNEL",
    "SLOW_LOSS_EVENTS",
    "Cases",
    "Limits",
    "Solution",
    "begin_at_peak",
    "blocks_agree",
    "build_cases",
    "check",
    "compare_compiled",
    "find_cycles",
    "follow_approach",
    "repeating_only",
    "reuse_steps",
    "solve",
]

KERNEL = "responsefn.kernel"
MAX_CYCLES, MAX_BLOCKS = 4096, 2_000_000
"""Cycles, a power of two, and blocks of ACKs, after which the mean over the last half is the answer."""
MAX_CHECKED_CYCLES, MAX_CHECKED_BLOCKS = 256, 200_000
"""The same for a check before a simulation."""
MAX_ACKS = 20_000_000
"""ACKs after which the mean over the last half is the answer of a cycle that is solved ACK by ACK."""
DRIFT_FACTORS = (16, 256, 1024)
"""How many times as many cycles and steps a drifting window gets, one after the other."""
MAX_DRIFT_BLOCKS, MAX_DRIFT_ACKS = 100_000_000, 1_000_000_000
"""Blocks of ACKs and ACKs that a drifting window may take at most."""
NOISE_FACTOR = 8
"""Factor on the number of ACKs of a noisy cycle.

A cycle is noisy where the mean rates over its last two halves differ by more than the accuracy."""
DRIFT, DRIFT_BY_ACKS = 1e-3, 0.0025
"""Relative change of the rate from one mean to the mean over twice the cycles, twice in one direction, that counts as a
drift; ACK by ACK, where cycles that do not repeat are fewer."""
ACCURACY = 0.005
"""Relative error of the rate that is stated."""
BLOCK_ERROR = 0.004
"""Estimated relative error of a cycle in blocks above which it is solved ACK by ACK."""
SHORT_CYCLE, SHORT_BLOCK_ERROR = 99.5, 0.05
"""The same for cycles of fewer packets: blocks count parts of packets, and their rate is continuous in p."""
PERIOD_CHANGE = 1e-4
"""Relative change of a period much later above which it does not repeat."""
CHECKED_ACKS, CHECKED_ACKS_OF_CYCLES = 1_000_000, 10_000
"""ACKs of one cycle, and of several cycles, that a check follows."""
LONGEST_CYCLE = 1e8
"""ACKs of the longest cycle that is solved ACK by ACK."""
APPROACH_BLOCKS, APPROACH_ACKS = 2**20, 2**22
"""Blocks of ACKs or ACKs in which the loss events that a connection needs are counted: about 0.1 s."""
SLOW_LOSS_EVENTS, NEAR_RATE, MEAN_EVENTS = 10_000, 0.01, 64
"""Loss events above which a warning states how many a connection needs; the relative distance from the rate that it
must reach, averaged over the last number of events."""
COMPARED_RTT, COMPARED_DIFFERENCE = 0.1, 1e-9
"""Round-trip time in s at which a compiled rule is compared with plain Python, and the relative difference of equal
windows."""
_compiled_steps: ContextVar[dict[tuple[Any, ...], NDArray[Any]] | None] = ContextVar("compiled_steps", default=None)
_repeating_only: ContextVar[bool] = ContextVar("repeating_only", default=False)


class Cases(NamedTuple):
    """A rule at n loss event rates and round-trip times.

    ``packets`` from loss to loss and ``rtts`` in s have shape (n,), ``starts`` before a loss (n, fields); ``service``
    is the time per packet in s, 0 without a capacity.
    """

    rule: Dynamics
    packets: Floats
    rtts: Floats
    service: float
    starts: Floats

    def select(self, mask: Bools) -> Cases:
        """Return the cases in a mask."""
        return self._replace(packets=self.packets[mask], rtts=self.rtts[mask], starts=self.starts[mask])


class Limits(NamedTuple):
    """Limits of a search for cycles that repeat.

    Attributes
    ----------
    steps, cycles
        Maximum number of steps and of cycles; the search ends at a power of two of cycles.
    acks
        Whether each step is an ACK, otherwise a block of ACKs.
    tolerance
        Relative change of the peak below which cycles repeat.
    same
        Relative difference of equal states; no cycles repeat where it is negative.
    """

    steps: float
    cycles: float
    acks: bool = False
    tolerance: float = 1e-11
    same: float = 1e-13


class Solution(NamedTuple):
    """Columns of `kernel.cycles.find_cycle`, shape (n, CYCLE_COLUMNS), and states before a loss, (n, 2 + fields).

    The first two columns of ``states`` are the time in s and the remaining packets.
    """

    columns: Floats
    states: Floats

    def select(self, mask: Bools) -> Solution:
        """Return a copy of the rows in a mask."""
        return Solution(self.columns[mask], self.states[mask])

    def update(self, mask: Bools, other: Solution) -> None:
        """Replace the rows in a mask."""
        self.columns[mask] = other.columns
        self.states[mask] = other.states


class _Answer(NamedTuple):
    """A solution and the result of its check.

    ``by_acks`` is true where the solution is ACK by ACK. ``followed`` is the part of a cycle that the check followed.
    ``drifted`` is true where the window drifted.
    """

    solution: Solution
    by_acks: Bools
    followed: Floats
    drifted: Bools


# Calls of the kernel


@contextmanager
def reuse_steps() -> Iterator[None]:
    """Compile each step of a rule, or load it from the cache, once within this context."""
    if _compiled_steps.get() is not None:
        yield
        return
    token = _compiled_steps.set({})
    try:
        yield
    finally:
        _compiled_steps.reset(token)


def _compile(template: Callable[..., Any], rule: Dynamics, compiled: bool, acks: bool = False) -> NDArray[Any]:
    """Compile a template of `steps`, once within `reuse_steps`."""
    cached = _compiled_steps.get()
    key = (template, rule, compiled, acks)
    if cached is not None and key in cached:
        return cached[key]
    step = steps.ack if acks else steps.block
    function = compile_step(template, rule, step=step, compiled=compiled)
    if cached is not None:
        cached[key] = function
    return function


def _arguments(cases: Cases, limits: Limits, compiled: bool = True) -> tuple[Any, ...]:
    """Return the arguments that the entries of the kernel share: loss, numbers, limits and fault."""
    numbers, table = np.zeros(ROWS), np.zeros(1, LIMITS)
    write_parameters(numbers, cases.rule)
    table[0] = limits.tolerance, limits.same, limits.cycles, limits.steps, limits.acks
    if not compiled:
        table = table.view(np.recarray)
    fault = np.zeros(FAULT_STATE + cases.starts.shape[1])
    return _compile(steps.loss, cases.rule, compiled), numbers, table, fault


def find_cycles(cases: Cases, limits: Limits, *, compiled: bool = True) -> Solution:
    """Return the cycle of each case; its period is -1 where a block of ACKs ends at an invalid window.

    Without ``compiled`` the same code runs as plain Python: slow, for tests and debugging.

    Raises
    ------
    RuleError
        For an invalid window after a single ACK or a loss.
    """
    loss, numbers, table, fault = _arguments(cases, limits, compiled)
    step = _compile(steps.to_next_loss, cases.rule, compiled, limits.acks)
    count, fields = cases.starts.shape
    columns, final_states = np.zeros((count, CYCLE_COLUMNS)), np.zeros((count, 2 + fields))
    room = numbers, np.zeros(2 + fields), np.zeros(2 + fields)
    run = engine(KERNEL, "cycles", compiled=compiled)
    run(tuple(cases[1:]), (step, loss), table, room, (final_states, columns, fault))
    raise_fault(cases.rule, fault)
    return Solution(columns, final_states)


def check(cases: Cases, solution: Solution, limits: Limits) -> Floats:
    """Return the differences of blocks of ACKs and single ACKs in each case, shape (n, 3).

    The columns are the estimated relative error of the rate, the part of a cycle that was followed, and the change of
    the period much later, where it may not repeat. ``limits.cycles`` is the maximum of ACKs per case, ``limits.steps``
    that of several cycles. With ``limits.acks`` the cycles are ACK by ACK, and only the last column is computed.
    """
    loss, numbers, table, fault = _arguments(cases, limits._replace(acks=not limits.acks))
    acks = _compile(steps.to_next_loss, cases.rule, True, True)
    blocks = acks if limits.acks else _compile(steps.to_next_loss, cases.rule, True, False)
    out = np.zeros((len(cases.packets), 3))
    states = np.zeros((CHECKED_STATES, solution.states.shape[1]))
    solved = cases.packets, cases.rtts, cases.service, solution.states, solution.columns
    engine(KERNEL, "checks")(solved, (blocks, acks, loss), table, (numbers, states), (out, fault))
    return np.where(np.isnan(out), np.inf, out)


def follow_approach(
    cases: Cases,
    rates: Floats,
    limits: Limits,
    events: NDArray[np.int64],
    max_steps: Floats | None = None,
) -> Floats:
    """Return after how many loss events each case is within ``limits.same`` of its rate, and its mean rates.

    Parameters
    ----------
    rates
        Packets/s, shape (n,).
    events
        Loss events over which a mean rate is taken, shape (n,).
    max_steps
        Maximum of steps, shape (n,); None: ``limits.steps``.

    Returns
    -------
    Shape (n, 3). The first column is infinite where the limits do not suffice. The others are mean rates over the last
    complete interval between powers of two of means, and over the previous one.
    """
    loss, numbers, table, fault = _arguments(cases, limits)
    out = np.empty((len(rates), 3))
    if max_steps is None:
        max_steps = np.full(len(rates), float(limits.steps))
    functions = _compile(steps.to_next_loss, cases.rule, True, limits.acks), loss
    targets = rates, events, max_steps
    engine(KERNEL, "approach")(tuple(cases[1:]), functions, table, targets, numbers, (out, fault))
    return out


@lru_cache(maxsize=256)
def compare_compiled(rule: Dynamics) -> None:
    """Compare a compiled rule with plain Python: a loss and an ACK from each of its sample states.

    Raises
    ------
    RuleError
        With the state for which they differ.
    """
    states = sample_states(rule)
    starts = np.array(states, dtype=np.float64)
    rtts = np.full(len(states), COMPARED_RTT)
    cases = Cases(rule, np.ones(len(states)), rtts, 0.0, starts)
    columns = find_cycles(cases, Limits(1, 1)).columns
    if (columns[:, PERIOD] < 0.0).any():
        columns = find_cycles(cases, Limits(1, 1, acks=True)).columns  # raises its error
    for state, peak in zip(states, columns[:, PEAK], strict=True):
        reduced = rule.on_loss(state, rule.params, Event(0.0, COMPARED_RTT))
        lag = COMPARED_RTT
        if reduced.cwnd < getattr(reduced, "ssthresh", 0.0):
            lag = float(steps.doubling(reduced.cwnd, COMPARED_RTT))  # type: ignore[no-untyped-call]
        event = Event(lag / reduced.cwnd, COMPARED_RTT)
        cwnd = rule.on_ack(reduced, rule.params, event).cwnd
        if not abs(peak - cwnd) <= COMPARED_DIFFERENCE * abs(cwnd):
            raise RuleError(
                f"{type(rule).__name__}: compiled, a loss and an ACK make cwnd = {peak!r} of "
                f"{state}, where plain Python makes {cwnd!r}"
            )


# States before a loss


def begin_at_peak(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, peaks: Floats | None = None
) -> Floats:
    """Return states just before a loss, shape (entries, fields), at given or estimated peaks in packets.

    Rate estimates start at the rate of the peak. Estimates of 0 would hold the window at its minimum for several
    identical cycles, although the rule is not in equilibrium.
    """
    if peaks is None:
        peaks = _estimate_peaks(rule, p, rtt, bandwidth)
    rtts = np.broadcast_to(rtt, peaks.shape).ravel()
    starts = np.array([tuple(rule.start(float(r), bandwidth)) for r in rtts], dtype=np.float64)
    fields = rule.State._fields
    starts = starts.reshape(len(rtts), len(fields))
    cwnd = fields.index("cwnd")
    starts[:, cwnd] = np.maximum(1.0, peaks.ravel())
    for name in rule.rate_estimates:
        starts[:, fields.index(name)] = starts[:, cwnd] / rtts
    if "ssthresh" in fields:
        starts[:, fields.index("ssthresh")] = 2.0
    return starts


def _estimate_peaks(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> Floats:
    """Return estimates of the peak window, at most twice the path's capacity.

    They are the rule's ``expected_peak``, otherwise the peak of its closed form, otherwise Reno's.
    """
    formula = formula_of(rule)
    if hasattr(rule, "expected_peak"):
        peaks = np.asarray(rule.expected_peak(p + 0.0 * rtt, rtt + 0.0 * p))
    elif formula is None:
        peaks = np.sqrt(8 / (3 * p)) + 0.0 * rtt
    else:
        window = formula.code("peak_window") or formula.code("mean_window")
        peaks = rule.value_of(window, p=p, R=rtt) + 0.0 * p * rtt
    return peaks if bandwidth is None else np.minimum(peaks, 2 * bandwidth * rtt)


# Solution


def solve(
    rule: Dynamics,
    p: Floats,
    rtt: Floats,
    bandwidth: float | None,
    peaks: Floats | None = None,
) -> Cycle:
    """Return the cycle for checked arrays p and rtt that broadcast.

    It starts at the peaks of `begin_at_peak`, or at given peaks in packets, in the common shape.
    """
    check_dynamics(rule)
    shape = np.broadcast_shapes(p.shape, rtt.shape)
    with reuse_steps():
        cases = build_cases(rule, p, rtt, bandwidth, peaks)
        compare_compiled(rule)
        answer = _solve(cases)
        columns = answer.solution.columns
        events = np.full(len(cases.packets), np.nan)
        for acks in (False, True):
            slow = (answer.drifted | (columns[:, CYCLES] > SLOW_LOSS_EVENTS)) & (answer.by_acks == acks)
            if slow.any() and warns():
                max_steps = APPROACH_ACKS if acks else APPROACH_BLOCKS
                limits = Limits(max_steps, DRIFT_FACTORS[-1] * MAX_CYCLES, acks, same=NEAR_RATE)
                means = np.full(int(slow.sum()), MEAN_EVENTS)
                rates = columns[slow, RATE].copy()
                events[slow] = follow_approach(cases.select(slow), rates, limits, means)[:, 0]
        events[events <= SLOW_LOSS_EVENTS] = np.nan
    more = [answer.by_acks, answer.followed, events, columns[:, ALL_STEPS]]
    return Cycle(*(column.reshape(shape) for column in [*columns.T[:7], *more]))


@contextmanager
def repeating_only() -> Iterator[None]:
    """Within this context, return a rough rate with period 0 for cycles ACK by ACK that do not repeat.

    All other cycles are the same as without.
    """
    token = _repeating_only.set(True)
    try:
        yield
    finally:
        _repeating_only.reset(token)


def build_cases(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, peaks: Floats | None = None) -> Cases:
    """Return the cases of checked arrays that broadcast, from the states of `begin_at_peak`."""
    shape = np.broadcast_shapes(p.shape, rtt.shape)
    packets = np.broadcast_to(1.0 / p, shape).ravel().copy()
    rtts = np.broadcast_to(rtt, shape).ravel().copy()
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    return Cases(rule, packets, rtts, service, begin_at_peak(rule, p, rtt, bandwidth, peaks))


def blocks_agree(rule: Dynamics, p: float, rtt: float, bandwidth: float | None) -> bool:
    """Return whether the cycle in blocks of ACKs agrees with the same cycle ACK by ACK."""
    cases = build_cases(rule, np.array([p]), np.array([rtt]), bandwidth)
    solution = find_cycles(cases, Limits(MAX_CHECKED_BLOCKS, MAX_CHECKED_CYCLES))
    return not bool(_compare_with_acks(cases, solution)[0].any())


def _solve(cases: Cases) -> _Answer:
    """Solve in blocks, compare with ACKs, and solve ACK by ACK where they differ."""
    count = len(cases.packets)
    if cases.rule.counts_acks:
        everywhere, nowhere = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        return _Answer(_solve_by_acks(cases, nowhere), everywhere, np.ones(count), nowhere)
    solution = find_cycles(cases, Limits(MAX_BLOCKS, MAX_CYCLES))
    differs, followed = _compare_with_acks(cases, solution)
    drifted = np.zeros(count, dtype=np.bool_)
    aperiodic = (solution.columns[:, PERIOD] == 0.0) & ~differs
    if aperiodic.any():
        open_cases = cases.select(aperiodic)
        resolved, drifted[aperiodic], unresolved = _resolve_drifts(open_cases, solution.select(aperiodic))
        changed = ((resolved.columns[:, CYCLES] > MAX_CYCLES) | drifted[aperiodic]) & ~unresolved
        if changed.any():
            unresolved[changed], _ = _compare_with_acks(open_cases.select(changed), resolved.select(changed))
        solution.update(aperiodic, resolved)
        differs[aperiodic] |= unresolved
    if differs.any():
        # Blocks remain the answer of a short cycle where they have the rate of ACKs: it is continuous in p.
        short = (cases.packets < SHORT_CYCLE) & (solution.columns[:, PERIOD] > 0.0)
        by_acks = _solve_by_acks(cases.select(differs), short[differs])
        followed[differs] = 1.0
        rate = by_acks.columns[:, RATE]
        same = abs(solution.columns[differs, RATE] - rate) <= BLOCK_ERROR * rate
        replaced = ~np.isnan(rate) & ~(short[differs] & same)
        differs[differs] = replaced
        solution.update(differs, by_acks.select(replaced))
    return _Answer(solution, differs, followed, drifted)


def _compare_with_acks(cases: Cases, solution: Solution) -> tuple[Bools, Floats]:
    """Return which solutions in blocks differ from ACKs, and the part of a cycle that was followed."""
    checked = check(cases, solution, Limits(CHECKED_ACKS_OF_CYCLES, CHECKED_ACKS))
    max_error = np.where(cases.packets < SHORT_CYCLE, SHORT_BLOCK_ERROR, BLOCK_ERROR)
    invalid = solution.columns[:, PERIOD] < 0.0
    differs = invalid | (checked[:, ERROR] > max_error) | (checked[:, CHANGE] > PERIOD_CHANGE)
    return differs, checked[:, FOLLOWED].copy()


def _solve_by_acks(cases: Cases, optional: Bools) -> Solution:
    """Return cycles ACK by ACK; NaN for ``optional`` cases whose window drifts.

    Raises
    ------
    ArithmeticError
        If a cycle has too many ACKs, or the window drifts for too many.
    """
    if (long := cases.packets > LONGEST_CYCLE).any():
        p, rtt = 1.0 / cases.packets[long][0], cases.rtts[long][0]
        raise ArithmeticError(
            f"{cases.rule!r}: p = {p:g}, rtt = {rtt:g}: must be at least {1.0 / LONGEST_CYCLE:g} for a rule that acts "
            "at some ACKs only, whose cycle is solved ACK by ACK"
        )
    # 1. The search as for blocks; a period that changes much later does not count.
    limits = Limits(MAX_ACKS, MAX_CYCLES, True, same=1e-11)
    aperiodic = limits._replace(same=-1.0)
    solution = find_cycles(cases, limits)
    changes = check(cases, solution, limits)[:, CHANGE] > PERIOD_CHANGE
    if changes.any():
        solution.update(changes, find_cycles(cases.select(changes), aperiodic))
    # 2. Longer means where the mean rates still fluctuate.
    rough = _repeating_only.get()
    if (noisy := _is_noisy(solution) & (optional | (not rough))).any():
        longer = aperiodic._replace(steps=NOISE_FACTOR * MAX_ACKS, cycles=NOISE_FACTOR * MAX_CYCLES)
        solution.update(noisy, find_cycles(cases.select(noisy), longer))
    # 3. More cycles where the window drifts; in the last attempt from the peak of the previous one.
    for factor in DRIFT_FACTORS:
        drifts = _drifts(solution, DRIFT_BY_ACKS)
        solution.columns[drifts & optional] = np.nan
        drifts &= ~optional
        if rough or not drifts.any():
            return solution
        longer = limits._replace(steps=min(MAX_DRIFT_ACKS, factor * MAX_ACKS), cycles=factor * MAX_CYCLES)
        for same, mask in ((limits.same, drifts & ~changes), (aperiodic.same, drifts & changes)):
            if mask.any():
                part = cases.select(mask)
                if factor == DRIFT_FACTORS[-1]:
                    part = _start_from(part, solution.columns[mask, PEAK])
                solution.update(mask, find_cycles(part, longer._replace(same=same)))
    if (drifts := _drifts(solution, DRIFT_BY_ACKS)).any():
        p, rtt = 1.0 / cases.packets[drifts][0], cases.rtts[drifts][0]
        raise ArithmeticError(
            f"{cases.rule!r}: p = {p:g}, rtt = {rtt:g}: the window still drifts after "
            f"{solution.columns[drifts][0, CYCLES]:.0f} loss events: it has no rate; simulate_rule says how it moves"
        )
    return solution


def _drifts(solution: Solution, threshold: float = DRIFT) -> Bools:
    """Return where mean rates over twice the cycles change, twice in one direction."""
    rate, before, earlier = solution.columns[:, [RATE, RATE_BEFORE, RATE_EARLIER]].T
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = np.log([before / earlier, rate / before])
        drifts = (abs(changes) > threshold).all(axis=0) & (changes[0] * changes[1] > 0.0)
    return np.asarray(drifts & (solution.columns[:, PERIOD] == 0.0))


def _is_noisy(solution: Solution) -> Bools:
    """Return where cycles do not repeat and their mean rates are inaccurate.

    The last two mean rates differ there by more than the accuracy, without a drift.
    """
    rate, before = solution.columns[:, [RATE, RATE_BEFORE]].T
    with np.errstate(divide="ignore", invalid="ignore"):
        noisy = abs(np.log(rate / before)) > ACCURACY
    return np.asarray(noisy & (solution.columns[:, PERIOD] == 0.0) & ~_drifts(solution, DRIFT_BY_ACKS))


def _start_from(cases: Cases, peaks: Floats) -> Cases:
    """Return the cases with other peaks."""
    bandwidth = 1.0 / cases.service if cases.service > 0.0 else None
    starts = begin_at_peak(cases.rule, 1.0 / cases.packets, cases.rtts, bandwidth, peaks)
    return cases._replace(starts=starts)


def _resolve_drifts(cases: Cases, solution: Solution) -> tuple[Solution, Bools, Bools]:
    """Return aperiodic cycles; cycles of drifting windows are replaced by cycles in which the window settles.

    Also return masks of cycles whose rate changed and of windows that still drift.
    """
    before = solution.columns[:, RATE].copy()
    drifts = _drifts(solution)
    # A window that grows towards the capacity settles where a window of twice the capacity settles, if it does.
    if drifts.any() and cases.service > 0.0:
        capacity_start = _start_from(cases, 2.0 * cases.rtts / cases.service)
        above = find_cycles(capacity_start, Limits(MAX_BLOCKS, 64 * MAX_CYCLES))
        grows = solution.columns[:, RATE] > solution.columns[:, RATE_BEFORE]
        higher = above.columns[:, RATE] > solution.columns[:, RATE]
        settles = drifts & grows & (above.columns[:, PERIOD] > 0.0) & higher
        solution.update(settles, above.select(settles))
        drifts &= ~settles
    for factor in DRIFT_FACTORS:
        if not drifts.any():
            break
        limits = Limits(min(MAX_DRIFT_BLOCKS, factor * MAX_BLOCKS), factor * MAX_CYCLES)
        longer = find_cycles(cases.select(drifts), limits)
        moves = abs(longer.columns[:, RATE] / solution.columns[drifts, RATE] - 1.0) > DRIFT
        solution.update(drifts, longer)
        drifts[drifts] = (longer.columns[:, PERIOD] == 0.0) & moves
    return solution, abs(solution.columns[:, RATE] / before - 1.0) > NEAR_RATE, drifts
