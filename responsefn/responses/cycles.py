"""The deterministic loss cycle of any rule, solved numerically: one packet in 1/p is lost.

The rule's own functions, compiled, advance the window by blocks of ACKs (an eighth of a window at a
time, by the midpoint rule; single ACKs in slow start) until one cycle is like the one before. This
is the response of rules that have no closed form, derived here and not published.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import is_compiled_package, loop_of
from responsefn.responses import rule_kernels as templates
from responsefn.responses.dynamics import Cycle, Event
from responsefn.responses.errors import RuleError
from responsefn.responses.kernel.rows import LIMITS, RECORD, ROWS, SEARCH
from responsefn.responses.rule_checks import raise_wrong, sample_states
from responsefn.responses.rule_compilation import (
    Kind,
    addresses,
    as_function,
    compile_step,
    is_compiled,
    kind_of,
    parameters_in,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]

__all__ = ["solve"]

TOLERANCE = 1e-11
"""Relative change of the peak over two cycles below which it goes on only as long as that falls."""
SAME = 1e-13
"""Relative difference of peaks and durations between which several cycles are taken to repeat."""
MOST = 4096
"""Cycles after which the mean over the last half stands for the cycle; a power of two."""
BUDGET = 2_000_000
"""Blocks of ACKs after which the same is done at the next power of two."""
DRIFT = 1e-3
"""Relative change of the rate from one mean to that over twice the cycles, twice one way, that is taken for a drift."""
LONG, LONG_BUDGET = 2**22, 100_000_000
"""Cycles and blocks of ACKs that a window which drifts may take to come to rest."""
AGREE = 1e-9
"""Relative difference of two windows that are the same."""
FEW, OFTEN, SHORT_BUDGET = 1, 3, 30_000
"""Cycles that plain Python solves at once while a rule is not compiled, how many in all, and the
blocks of ACKs that each may take: a quarter of a second, where the compiler takes more than one."""
SOME, SEVERAL, SHORT = 64, 256, 8_000
"""As many and as many in all of a rule that is new on this machine are solved with compiled steps while the loop over cycles is
not compiled, which takes the compiler another second; the calls of steps that they may take then, half a second."""
_solved: Counter[Kind] = Counter()
_by_steps: Counter[Kind] = Counter()
KERNEL = "responsefn.responses.kernel"


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
    shape = np.broadcast_shapes(p.shape, rtt.shape)
    packets = np.broadcast_to(1.0 / p, shape).ravel().copy()
    rtts = np.broadcast_to(rtt, shape).ravel().copy()
    starts = begin_at_peak(rule, p, rtt, bandwidth, peaks)
    service = 0.0 if bandwidth is None else 1.0 / bandwidth
    out = None
    if _plain_python_will_do(rule, len(rtts)):
        out = _run(rule, packets, rtts, service, starts, SHORT_BUDGET, compiled=False)
    if out is None and _steps_will_do(rule, len(rtts)):
        compare_compiled(rule, loop=False)
        out = _run(rule, packets, rtts, service, starts, BUDGET, loop=False)
    if out is None:
        compare_compiled(rule)
        out = _run(rule, packets, rtts, service, starts, BUDGET)
    assert out is not None
    open_ = out[:, 6] == 0.0
    if open_.any():
        out[open_] = _at_rest(rule, out[open_], packets[open_], rtts[open_], service, starts[open_])
    columns = [out[:, n].reshape(shape) for n in range(7)]
    return Cycle(*columns)


def _at_rest(
    rule: Dynamics, out: Floats, packets: Floats, rtts: Floats, service: float, starts: Floats
) -> Floats:
    """Return the columns of cycles that do not repeat; where the window drifts those in which it comes to rest.

    Where it climbs these are the cycles in which a window of twice what the path holds comes to rest, if it does.

    Raises
    ------
    ArithmeticError
        Where it drifts for longer than `LONG` cycles.
    """
    compare_compiled(rule)
    quarter, half = (
        _run(rule, packets, rtts, service, starts, BUDGET, most=MOST // part) for part in (4, 2)
    )
    assert quarter is not None
    assert half is not None
    steps = np.log([half[:, 0] / quarter[:, 0], out[:, 0] / half[:, 0]])
    drifts = (abs(steps) > DRIFT).all(axis=0) & (steps[0] * steps[1] > 0.0)
    if not drifts.any():
        return out
    if service > 0.0:
        tops = 2.0 * rtts / service
        starts = begin_at_peak(rule, 1.0 / packets, rtts, 1.0 / service, tops)
        above = _run(rule, packets, rtts, service, starts, BUDGET)
        assert above is not None
        climbs = drifts & (steps[0] > 0.0) & (above[:, 6] > 0.0) & (above[:, 0] > out[:, 0])
        out[climbs] = above[climbs]
        drifts &= ~climbs
        if not drifts.any():
            return out
    chosen = packets[drifts], rtts[drifts], service, starts[drifts]
    found = _run(rule, *chosen, LONG_BUDGET, most=LONG)
    assert found is not None
    wrong = (found[:, 6] == 0.0) & (abs(found[:, 0] / out[drifts, 0] - 1.0) > DRIFT)
    if wrong.any():
        p, rtt = 1.0 / chosen[0][wrong][0], chosen[1][wrong][0]
        raise ArithmeticError(
            f"{rule!r}: p = {p:g}, rtt = {rtt:g}: the window still drifts after {LONG} loss events: it has no rate; "
            "simulate_rule says how it moves"
        )
    out[drifts] = found
    return out


def _plain_python_will_do(rule: Dynamics, points: int) -> bool:
    """Return whether a few cycles are wanted of a rule that was hardly used and is not compiled.

    Or whose machine code is there, where Numba, which loads it, is not loaded yet.
    """
    kind = kind_of(rule)
    if points > FEW or _solved[kind] > OFTEN:
        return False
    if "numba" in sys.modules and is_compiled(templates.alone, rule):
        return False
    _solved[kind] += points
    return True


def _steps_will_do(rule: Dynamics, points: int) -> bool:
    """Return whether some cycles of a rule are wanted that is new on this machine, where the loop is not compiled."""
    kind = kind_of(rule)
    if points > SOME or _by_steps[kind] > SEVERAL or is_compiled_package(KERNEL, "cycles.run"):
        return False
    if kind not in _by_steps and is_compiled(templates.alone, rule):
        return False
    _by_steps[kind] += points
    return True


class _TooManyCyclesError(Exception):
    """A loop in plain Python that has called compiled steps too often."""


def _counted(step: Any) -> Any:
    """Return a compiled step as a Python function that may be called so often."""
    calls, call = itertools.count(), as_function(step)

    def counted(run: Floats, *numbers: float) -> None:
        if next(calls) > SHORT:
            raise _TooManyCyclesError
        call(run, *numbers)

    return counted


def _run(
    rule: Dynamics,
    packets: Floats,
    rtts: Floats,
    service: float,
    starts: Floats,
    budget: int,
    *,
    most: int = MOST,
    compiled: bool = True,
    loop: bool | None = None,
) -> Floats | None:
    """Return the columns of `Cycle`; None where plain Python did not come to an end.

    Without a compiled ``loop`` (None: as ``compiled``) it calls the compiled steps from plain Python.

    Raises
    ------
    RuleError
        For a window that cannot be.
    """
    loop = compiled if loop is None else loop
    repeat = loop_of(KERNEL, "cycles", compiled=loop)
    step = compile_step(templates.alone, rule, compiled=compiled)
    steps = addresses(_counted(step) if compiled and not loop else step)
    loss = addresses(compile_step(templates.loss, rule, compiled=loop))
    one, limits = np.zeros(ROWS), np.zeros(1, LIMITS)
    parameters_in(one, rule)
    limits[0] = TOLERANCE, SAME, most, budget, np.inf if compiled else budget
    out, wrong = np.zeros((len(rtts), 7)), np.zeros(RECORD + starts.shape[1])
    searches = np.zeros(len(rtts), SEARCH)
    if not loop:
        searches, limits = (array.view(np.recarray) for array in (searches, limits))
    try:
        with np.errstate(all="ignore"):
            repeat(
                packets, rtts, service, starts, steps, loss, one, searches, limits, out, wrong
            )  # fmt: skip
    except (ArithmeticError, ValueError):  # where hardware goes on with inf or NaN
        if loop:
            raise
        return None
    except _TooManyCyclesError:
        return None
    raise_wrong((rule,), wrong)
    return out if compiled or out[:, 6].all() else None


@lru_cache(maxsize=256)
def compare_compiled(rule: Dynamics, *, loop: bool = True) -> None:
    """Compare a compiled rule with plain Python: a loss and an ACK from each of some states.

    The loop that calls it is compiled, too, or plain Python.

    Raises
    ------
    RuleError
        Naming the state for which they differ.
    """
    states = sample_states(rule)
    starts = np.array(states, dtype=np.float64)
    rtts = np.full(len(states), 0.1)
    out = _run(rule, np.ones(len(states)), rtts, 0.0, starts, 1, most=1, loop=loop)
    assert out is not None
    for state, found in zip(states, out, strict=True):
        after = rule.on_loss(state, rule.params, Event(0.0, 0.1))
        new = rule.on_ack(after, rule.params, Event(0.0, 0.1)).cwnd
        if not abs(found[3] - new) <= AGREE * abs(new):
            raise RuleError(
                f"{type(rule).__name__}: compiled, a loss and an ACK make cwnd = {found[3]!r} of "
                f"{state}, where plain Python makes {new!r}"
            )


def begin_at_peak(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, given: Floats | None = None
) -> Floats:
    """Return states just before a loss near where it is expected, shape (entries, fields).

    That is at the peaks given, in packets, or else at `_expected_peaks`.
    Estimates of the rate are what it is there: from 0 they would hold the window at its least for some cycles,
    which are alike although nothing is at rest.
    """
    peaks = _expected_peaks(rule, p, rtt, bandwidth) if given is None else given
    rtts = np.broadcast_to(rtt, peaks.shape).ravel()
    starts = np.array([tuple(rule.start(float(r), bandwidth)) for r in rtts], dtype=np.float64)
    fields = rule.State._fields
    starts = starts.reshape(len(rtts), len(fields))
    starts[:, fields.index("cwnd")] = np.maximum(1.0, peaks.ravel())
    for n in (fields.index(name) for name in rule.rate_estimates):
        starts[:, n] = starts[:, fields.index("cwnd")] / rtts
    if "ssthresh" in fields:
        starts[:, fields.index("ssthresh")] = 2.0
    return starts


def _expected_peaks(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> Floats:
    """Return the peak of the closed form, or that of Reno, and not above twice what the path holds."""
    from responsefn.responses.equations import formula_of

    formula = formula_of(rule)
    if formula is None:
        peaks = np.sqrt(8 / (3 * p)) + 0.0 * rtt
    elif formula.peak_window is None:
        peaks = rule.value_of(formula.mean_window, p=p, R=rtt) + 0.0 * p * rtt
    else:
        peaks = rule.value_of(formula.peak_window, p=p, R=rtt) + 0.0 * p * rtt
    return peaks if bandwidth is None else np.minimum(peaks, 2 * bandwidth * rtt)
