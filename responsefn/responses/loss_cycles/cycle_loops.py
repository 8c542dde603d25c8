"""The compiled loops over the cycles of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import engine
from responsefn.responses import rule_kernels as templates
from responsefn.responses.dynamics import Event
from responsefn.responses.errors import RuleError
from responsefn.responses.kernel.rows import CHECK_ROWS, CYCLE_COLUMNS, LIMITS, RECORD, ROWS, SEARCH
from responsefn.responses.rule_checks import raise_wrong, sample_states
from responsefn.responses.rule_compilation import compile_step, parameters_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]

__all__ = [
    "KERNEL",
    "Cases",
    "Found",
    "Limits",
    "approach",
    "check",
    "compare_compiled",
    "run",
    "steps_kept",
]

KERNEL = "responsefn.responses.kernel"
RTT, AGREE = 0.1, 1e-9
"""Round-trip time in s of the states that are compared, and the relative difference of windows that are the same."""
_kept: ContextVar[dict[tuple[Any, ...], NDArray[Any]] | None] = ContextVar("kept", default=None)


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


def _step(rule: Dynamics, compiled: bool, acks: bool) -> NDArray[Any]:
    move = templates.ack if acks else templates.block
    return _once(
        (rule, compiled, acks),
        lambda: compile_step(templates.to_next_loss, rule, move=move, compiled=compiled),
    )


def _loss(rule: Dynamics, compiled: bool) -> NDArray[Any]:
    return _once((rule, compiled), lambda: compile_step(templates.loss, rule, compiled=compiled))


class _Call(NamedTuple):
    """Arguments that all loops take."""

    loss: NDArray[Any]
    one: Floats
    limits: Any
    wrong: Floats


def _call(cases: Cases, limits: Limits, compiled: bool = True) -> _Call:
    one, table = np.zeros(ROWS), np.zeros(1, LIMITS)
    parameters_in(one, cases.rule)
    table[0] = limits.tolerance, limits.same, limits.most, limits.budget, limits.acks
    if not compiled:
        table = table.view(np.recarray)
    wrong = np.zeros(RECORD + cases.starts.shape[1])
    return _Call(_loss(cases.rule, compiled), one, table, wrong)


def run(cases: Cases, limits: Limits, *, compiled: bool = True) -> Found:
    """Return the cycle of each case; its period is -1 where a block of ACKs ends at a wrong window.

    Without ``compiled`` the same code runs as plain Python: slow, for tests and debugging.

    Raises
    ------
    RuleError
        For a wrong window that a single ACK or a loss makes.
    """
    loss, one, table, wrong = _call(cases, limits, compiled)
    step = _step(cases.rule, compiled, limits.acks)
    count, fields = cases.starts.shape
    out, ends = np.zeros((count, CYCLE_COLUMNS)), np.zeros((count, 2 + fields))
    searches = np.zeros(count, SEARCH)
    if not compiled:
        searches = searches.view(np.recarray)
    repeat = engine(KERNEL, "cycles", compiled=compiled)
    room = one, searches, np.zeros(2 + fields), np.zeros(2 + fields)
    repeat(tuple(cases[1:]), (step, loss), table, room, (ends, out, wrong))
    raise_wrong((cases.rule,), wrong)
    return Found(out, ends)


def check(cases: Cases, found: Found, limits: Limits) -> Floats:
    """Return how far blocks of ACKs are from single ones in each case, shape (n, 3).

    The estimated relative error of the rate, the part of a cycle that was followed, and by how much the period
    differs much later, which says that it does not repeat. ``limits.most`` ACKs of a case are followed, fewer where
    segments of a long cycle agree.
    With ``limits.acks`` the cycles are ACK by ACK, and only the last column is filled.
    """
    rule = cases.rule
    loss, one, table, wrong = _call(cases, limits._replace(acks=not limits.acks))
    acks = _step(rule, True, True)
    blocks = acks if limits.acks else _step(rule, True, False)
    out = np.zeros((len(cases.packets), 3))
    rows = np.zeros((CHECK_ROWS, found.ends.shape[1]))
    solved = cases.packets, cases.rtts, cases.service, found.ends, found.columns
    functions = blocks, acks, loss
    engine(KERNEL, "checks")(solved, functions, table, (one, rows), (out, wrong))
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
    loss, one, table, wrong = _call(cases, limits)
    out = np.empty((len(rates), 3))
    budgets = np.full(len(rates), float(limits.budget)) if budgets is None else budgets
    functions = _step(cases.rule, True, limits.acks), loss
    aims = rates, events, budgets
    engine(KERNEL, "approach")(tuple(cases[1:]), functions, table, aims, one, (out, wrong))
    return out


@lru_cache(maxsize=256)
def compare_compiled(rule: Dynamics) -> None:
    """Compare a compiled rule with plain Python: a loss and an ACK from each of some states.

    Raises
    ------
    RuleError
        Naming the state for which they differ.
    """
    states = sample_states(rule)
    starts = np.array(states, dtype=np.float64)
    rtts = np.full(len(states), RTT)
    cases = Cases(rule, np.ones(len(states)), rtts, 0.0, starts)
    out = run(cases, Limits(1, 1)).columns
    if (out[:, 6] < 0.0).any():
        out = run(cases, Limits(1, 1, acks=True)).columns  # raises its error
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
