"""The loops over the cycles of a rule, and what runs them: machine code, or plain Python.

Plain Python solves a few short cycles faster than the compiler compiles the rule.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import is_compiled_package, engine
from responsefn.responses import rule_kernels as templates
from responsefn.responses.dynamics import Event
from responsefn.responses.errors import RuleError
from responsefn.responses.kernel.rows import CHECK_ROWS, CYCLE_COLUMNS, LIMITS, RECORD, ROWS, SEARCH
from responsefn.responses.rule_checks import raise_wrong, sample_states
from responsefn.responses.rule_compilation import (
    addresses,
    as_function,
    compile_step,
    is_compiled,
    parameters_in,
)
from responsefn.responses.rule_events import RuleSignature, kind_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]

__all__ = [
    "COMPILED",
    "KERNEL",
    "PLAIN",
    "STEPS",
    "Cases",
    "Found",
    "Limits",
    "Runner",
    "UnfinishedError",
    "approach",
    "check",
    "compare_compiled",
    "run",
    "runners",
    "steps_kept",
]

KERNEL = "responsefn.responses.kernel"
RTT, AGREE = 0.1, 1e-9
"""Round-trip time in s of the states that are compared, and the relative difference of windows that are the same."""
PLAIN_CASES, PLAIN_SOLUTIONS, PLAIN_ACKS = 1, 3, 20_000
"""Cycles that plain Python solves in one call while a rule is not compiled, how many in all, and the ACKs that
each may take: a quarter of a second, where the compiler takes more than one."""
STEPS_CASES, STEPS_SOLUTIONS, STEPS_CALLS = 64, 256, 8_000
"""The same of a rule that is new on this machine, with compiled steps while the loop over cycles is
not compiled, which takes the compiler another second; the calls of steps that they may take, half a second."""
_kept: ContextVar[dict[tuple[Any, ...], NDArray[Any]] | None] = ContextVar("kept", default=None)
_solved: Counter[RuleSignature] = Counter()
_by_steps: Counter[RuleSignature] = Counter()


class Cases(NamedTuple):
    """A rule at n loss event rates and round-trip times.

    ``packets`` from loss to loss and ``rtts`` in s have shape (n,), ``starts`` before a loss (n, fields);
    ``service`` is the time per packet in s, 0 without a capacity.
    """

    rule: Dynamics
    packets: Floats
    rtts: Floats
    service: float
    starts: Floats

    def some(self, chosen: NDArray[np.bool_]) -> Cases:
        """Return the chosen ones of them."""
        return self._replace(
            packets=self.packets[chosen], rtts=self.rtts[chosen], starts=self.starts[chosen]
        )


class Runner(NamedTuple):
    """What runs the steps and the loop over them, as machine code or not; MOST moves of each case."""

    compiled: bool
    loop: bool


PLAIN, STEPS, COMPILED = Runner(False, False), Runner(True, False), Runner(True, True)


class Limits(NamedTuple):
    """Of a search for cycles that repeat; see the constants of `responsefn.responses.loss_cycles.cycles`.

    ``acks`` goes ACK by ACK, otherwise in blocks of ACKs; ``same`` < 0 never finds that cycles repeat.
    """

    budget: float
    most: float
    acks: bool = False
    tolerance: float = 1e-11
    same: float = 1e-13


class Found(NamedTuple):
    """Columns of `kernel.cycles.write`, shape (n, CYCLE_COLUMNS), and states before a loss, (n, 2 + fields).

    The first two columns of ``ends`` are the time in s and the packets left.
    """

    columns: Floats
    ends: Floats


class UnfinishedError(Exception):
    """A loop in plain Python that has made too many steps."""


def runners(rule: Dynamics, packets: Floats) -> Iterator[Runner]:
    """Yield what may solve cycles of ``packets``, fastest answer first; the last one always does."""
    if _plain_python_will_do(rule, packets):
        yield PLAIN
    if _steps_will_do(rule, len(packets)):
        compare_compiled(rule, loop=False)
        yield STEPS
    compare_compiled(rule)
    yield COMPILED


def _plain_python_will_do(rule: Dynamics, packets: Floats) -> bool:
    """Return whether a few cycles are wanted of a rule that was hardly used, and whose machine code is not in the cache."""
    kind = kind_of(rule)
    if len(packets) > PLAIN_CASES or _solved[kind] > PLAIN_SOLUTIONS:
        return False
    if packets.max(initial=0.0) > PLAIN_ACKS:
        return False
    if _is_compiled(rule):
        return False
    _solved[kind] += len(packets)
    return True


def _is_compiled(rule: Dynamics) -> bool:
    """Return whether all that a solution of cycles runs is compiled: the loops, and the steps of a rule."""
    loops = ("cycles.run", "checks.run")
    return all(is_compiled_package(KERNEL, each) for each in loops) and all(
        is_compiled(each, rule) for each in (templates.alone, templates.loss)
    )


def _steps_will_do(rule: Dynamics, points: int) -> bool:
    """Return whether some cycles of a rule are wanted that is new on this machine, where the loop is not compiled."""
    kind = kind_of(rule)
    if points > STEPS_CASES or _by_steps[kind] > STEPS_SOLUTIONS:
        return False
    if is_compiled_package(KERNEL, "cycles.run"):
        return False
    if kind not in _by_steps and is_compiled(templates.alone, rule):
        return False
    _by_steps[kind] += points
    return True


def _counted(step: Any) -> Any:
    """Return a compiled step as a Python function that may be called so often."""
    calls, call = itertools.count(), as_function(step)

    def counted(run: Floats, *numbers: float) -> None:
        if next(calls) > STEPS_CALLS:
            raise UnfinishedError
        call(run, *numbers)

    return counted


@contextmanager
def steps_kept() -> Iterator[None]:
    """Compile each step of a rule, or find it in the cache, once within this context."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def _once(key: tuple[Any, ...], make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    kept = _kept.get()
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _step(rule: Dynamics, runner: Runner, acks: bool) -> NDArray[Any]:
    move = templates.ack if acks else templates.block
    counted = runner.compiled and not runner.loop

    def made() -> NDArray[Any]:
        step = compile_step(templates.alone, rule, move=move, compiled=runner.compiled)
        return addresses(_counted(step) if counted else step)

    return made() if counted else _once((rule, runner, acks), made)


def _loss(rule: Dynamics, runner: Runner) -> NDArray[Any]:
    return _once(
        (rule, runner), lambda: addresses(compile_step(templates.loss, rule, compiled=runner.loop))
    )


class _Call(NamedTuple):
    """Arguments that all loops take."""

    loss: NDArray[Any]
    one: Floats
    limits: Any
    wrong: Floats


def _call(cases: Cases, runner: Runner, limits: Limits) -> _Call:
    loss = _loss(cases.rule, runner)
    one, table = np.zeros(ROWS), np.zeros(1, LIMITS)
    parameters_in(one, cases.rule)
    steps = np.inf if runner.compiled else limits.budget
    table[0] = limits.tolerance, limits.same, limits.most, limits.budget, steps, limits.acks
    if not runner.loop:
        table = table.view(np.recarray)
    return _Call(loss, one, table, np.zeros(RECORD + cases.starts.shape[1]))


def run(cases: Cases, runner: Runner, limits: Limits) -> Found:
    """Return the cycle of each case; its period is -1 where a block of ACKs ends at a wrong window.

    Raises
    ------
    RuleError
        For a wrong window that a single ACK or a loss makes.
    UnfinishedError
        Where plain Python makes too many steps.
    """
    loss, one, table, wrong = _call(cases, runner, limits)
    step = _step(cases.rule, runner, limits.acks)
    count, fields = cases.starts.shape
    out, ends = np.zeros((count, CYCLE_COLUMNS)), np.zeros((count, 2 + fields))
    searches = np.zeros(count, SEARCH)
    if not runner.loop:
        searches = searches.view(np.recarray)
    repeat = engine(KERNEL, "cycles", compiled=runner.loop)
    try:
        with np.errstate(all="ignore"):
            room = one, searches, np.zeros(2 + fields), np.zeros(2 + fields)
            repeat(tuple(cases[1:]), (step, loss), table, room, (ends, out, wrong))
    except (ArithmeticError, ValueError):  # where hardware goes on with inf or NaN
        if runner.loop:
            raise
        raise UnfinishedError from None
    raise_wrong((cases.rule,), wrong)
    if not runner.compiled and not out[:, 6].all():
        raise UnfinishedError
    return Found(out, ends)


def check(cases: Cases, found: Found, runner: Runner, limits: Limits) -> Floats:
    """Return how far blocks of ACKs are from single ones in each case, shape (n, 3).

    The estimated relative error of the rate, the part of a cycle that was followed, and by how much the period
    differs much later, which says that it does not repeat. ``limits.most`` ACKs of a case are followed, fewer where
    segments of a long cycle agree.
    With ``limits.acks`` the cycles are ACK by ACK, and only the last column is filled.
    """
    rule = cases.rule
    loss, one, table, wrong = _call(cases, runner, limits._replace(acks=not limits.acks))
    steps = np.inf if runner.compiled else 20.0 * PLAIN_ACKS
    table["steps"][:] = steps
    acks = _step(rule, runner, True)
    blocks = acks if limits.acks else _step(rule, runner, False)
    out = np.zeros((len(cases.packets), 3))
    rows = np.zeros((CHECK_ROWS, found.ends.shape[1]))
    compare = engine(KERNEL, "checks", compiled=runner.loop)
    with np.errstate(all="ignore"):
        given = cases.packets, cases.rtts, cases.service, found.ends, found.columns
        functions = blocks, acks, loss
        compare(given, functions, table, runner.loop, (one, rows), (out, wrong))
    return np.where(np.isnan(out), np.inf, out)


def approach(
    cases: Cases,
    rates: Floats,
    limits: Limits,
    events: NDArray[np.int64],
    budgets: Floats | None = None,
) -> Floats:
    """Return after how many loss events each case is within ``limits.same`` of its rate, and its mean rates.

    Shape (n, 3): the first column is infinite where the limits do not suffice. The others are mean rates over the last
    complete interval between powers of two of means, and over the one before. ``events`` are the loss events of each over which its rate
    is averaged, ``budgets`` the steps of each, ``limits.budget`` otherwise.
    """
    loss, one, table, wrong = _call(cases, COMPILED, limits)
    out = np.empty((len(rates), 3))
    budgets = np.full(len(rates), float(limits.budget)) if budgets is None else budgets
    functions = _step(cases.rule, COMPILED, limits.acks), loss
    aims = rates, events, budgets
    engine(KERNEL, "approach")(tuple(cases[1:]), functions, table, aims, one, (out, wrong))
    return out


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
    rtts = np.full(len(states), RTT)
    cases = Cases(rule, np.ones(len(states)), rtts, 0.0, starts)
    out = run(cases, Runner(True, loop), Limits(1, 1)).columns
    if (out[:, 6] < 0.0).any():
        out = run(cases, Runner(True, loop), Limits(1, 1, acks=True)).columns  # raises its error
    for state, found in zip(states, out, strict=True):
        after = rule.on_loss(state, rule.params, Event(0.0, RTT))
        slow = after.cwnd < getattr(after, "ssthresh", 0.0)
        lag = float(templates.doubling(after.cwnd, RTT)) if slow else RTT  # type: ignore[no-untyped-call]
        new = rule.on_ack(after, rule.params, Event(lag / after.cwnd, RTT)).cwnd
        if not abs(found[3] - new) <= AGREE * abs(new):
            raise RuleError(
                f"{type(rule).__name__}: compiled, a loss and an ACK make cwnd = {found[3]!r} of "
                f"{state}, where plain Python makes {new!r}"
            )
