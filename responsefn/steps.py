"""Steps of a window rule under loss: templates, compiled with the functions of a rule and called by address.

In a template ``load()`` and ``store()`` read and write the state ``s`` and the parameters ``q``, ``step()`` is `ack` or
`block`, and ``advance()`` moves ``s`` by ``k`` ACKs; `on_ack`, `on_loss`, `change` (the increment of one ACK) and
`Event` are the rule's. `responsefn.kernel.flow` has the layout of the array that `loss` and `to_next_loss` take.

ACKs arrive at the rate cwnd/RTT; in slow start, where they acknowledge the smaller window of a round trip ago, at the
lower rate by which the window doubles in a round trip. The round-trip time is ``rtt``, or the time that the bottleneck
takes for a window at ``service`` seconds per packet if that is longer.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call, name-defined, has-type, used-before-def, misc"
# ruff: noqa: F821, F841

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import make_kernel
from responsefn.dynamics import Event
from responsefn.kernel.flow import (
    INVALID_WINDOW,
    LOSS_TIME,
    MAX_WINDOW,
    MIN_WINDOW,
    PACKETS,
    PARAMETERS,
    REMAINING,
    STATE,
    STEPS,
    TIME,
    WINDOW_PACKETS,
    WINDOW_TIME,
)
from responsefn.rule_events import SIGNATURE, check_dynamics, numbers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from responsefn.dynamics import Dynamics

__all__ = ["ack", "block", "compile_step", "doubling", "loss", "to_next_loss", "write_parameters"]

INVERSE_LN2 = 1.4426950408889634  # 1 / ln 2


def ack(s, q, now, rtt, service, remaining):
    """Template: one ACK. Return the state, the number of ACKs, and the window and round-trip time before them."""
    cwnd = s.cwnd
    r = max(rtt, cwnd * service)
    lag = r if cwnd >= s.ssthresh else doubling(cwnd, r)
    return on_ack(s, q, Event(now + lag / cwnd, r, 0.0)), 1.0, cwnd, lag


def block(s, q, now, rtt, service, remaining):
    """Template: as `ack`, for an eighth of a window by the midpoint rule, one ACK in slow start."""
    # How this differs from the textbook's midpoint rule:
    # 1. The first ACK of a block is a single one: an action that a rule takes once, such as the maximum of two windows,
    #    must not count for every ACK.
    # 2. ACKs 1 to size - 1 see the state of ACK size / 2 on average, so the midpoint is there.
    # 3. Where the window stops changing at the midpoint the block ends there. All remaining packets are one block for a
    #    state that no ACK changes, not even the last.
    start = s
    r = max(rtt, s.cwnd * service)
    if s.cwnd < s.ssthresh:
        lag = doubling(s.cwnd, r)
        s = on_ack(s, q, Event(now + lag / s.cwnd, r, 0.0))
        return s, 1.0, start.cwnd, lag
    size = min(max(1.0, s.cwnd / 8.0), remaining)
    event = Event(now + r / s.cwnd, r, 0.0)
    first = on_ack(s, q, event)
    if size <= 1.0:
        k = size
        new = first
        more = change(s, q, event)
        advance()
        return s, k, start.cwnd, r
    new = first
    s = first
    later = max(rtt, s.cwnd * service)
    later = Event(event.time + later / s.cwnd, later, 0.0)
    new = on_ack(s, q, later)
    more = change(s, q, later)
    k = max(0.0, 0.5 * size - 1.0)
    advance()
    r = max(rtt, s.cwnd * service)
    later = Event(now + (2.0 + k) * r / s.cwnd, r, 0.0)
    new = on_ack(s, q, later)
    if new == s:
        k += 1.0
        if s == start and on_ack(s, q, Event(now + remaining * r / s.cwnd, r, 0.0)) == s:
            k = remaining
        return s, k, start.cwnd, event.rtt
    more = change(s, q, later)
    mean_window = s.cwnd - 0.5 * more.cwnd  # before ACKs 0 to size - 1
    k = size - 1.0
    s = first
    advance()
    return s, size, mean_window, r


def doubling(cwnd, r):
    """Template: the round-trip time of one ACK of slow start at ``cwnd``.

    The window doubles in ``r``: from w to w + 1 in r log2(1 + 1/w).
    """
    return r * cwnd * math.log1p(1.0 / cwnd) * INVERSE_LN2


def loss(run, now, rtt, unused, also_unused):
    """Template: the loss event of a run."""
    load()
    s = on_loss(s, q, Event(now, rtt, 0.0))
    store()


def to_next_loss(run, rtt, service, limit, unused):
    """Template: steps of a run until its next loss, or until its window exceeds ``limit``.

    It ends before a step to an invalid window, with that window in the row INVALID_WINDOW.
    """
    load()
    start = run[LOSS_TIME]
    time = run[TIME]
    packets = run[PACKETS]
    window_time = run[WINDOW_TIME]
    window_packets = run[WINDOW_PACKETS]
    remaining = run[REMAINING]
    steps = run[STEPS]
    invalid = 0.0
    while True:
        old = s
        step()
        if not MIN_WINDOW <= s.cwnd <= MAX_WINDOW:
            invalid = s.cwnd
            s = old
            break
        time += k * lag / cwnd
        packets += k
        window_time += k * lag
        window_packets += k * cwnd
        remaining -= k
        steps += 1.0
        if remaining <= 0.0 or s.cwnd > limit:
            break
    run[TIME] = time
    run[PACKETS] = packets
    run[WINDOW_TIME] = window_time
    run[WINDOW_PACKETS] = window_packets
    run[REMAINING] = remaining
    run[STEPS] = steps
    run[INVALID_WINDOW] = invalid
    store()


def write_parameters(run: NDArray[np.float64], rule: Dynamics) -> None:
    """Write the parameters of a rule into the array of a flow."""
    numbers = tuple(numbers_of(rule).values())
    run[PARAMETERS : PARAMETERS + len(numbers)] = numbers


def compile_step(
    template: Callable[..., Any],
    rule: Dynamics,
    *,
    step: Callable[..., Any] = block,
    compiled: bool = True,
) -> NDArray[Any]:
    """Return the template `loss` or `to_next_loss` with the functions of a rule in it.

    The array of shape (1,) has its address, or without ``compiled`` a Python function. ``step`` is `ack` or `block`.

    Raises
    ------
    RuleError
        If the rule cannot be run (`rule_events.check_dynamics`).
    KernelError
        With the file and the line of a function that cannot be compiled.
    """
    check_dynamics(rule)
    fields, names = rule.State._fields, tuple(numbers_of(rule))
    state = [f"run[{STATE + n}]" for n in range(len(fields))]
    parameters = [f"run[{PARAMETERS + n}]" for n in range(len(names))]
    snippets = {
        "load": f"{_assignment('s', 'State', state)}\n{_assignment('q', 'Params', parameters)}",
        "store": "\n".join(f"{row} = s.{name}" for row, name in zip(state, fields, strict=True)),
    }
    parts: dict[str, Any] = {"functions": {"on_loss": rule.on_loss}}
    if template is not loss:
        advanced = (f"new.{name}" if name in rule.assigned else f"s.{name} + k * more.{name}" for name in fields)
        arguments = "s, q, start + time, rtt, service, remaining"
        snippets["step"] = f"s, k, cwnd, lag = {step.__name__}({arguments})"
        snippets["advance"] = _assignment("s", "State", advanced)
        parts = {
            "functions": {"on_ack": rule.on_ack},
            "changes": {"change": ("on_ack", rule.assigned)} if step is block else {},
            "helpers": (doubling, step),
        }
    function = make_kernel(
        template,
        signature=SIGNATURE,
        compiled=compiled,
        snippets=snippets,
        tuples={"State": fields, "Params": names, "Event": Event._fields},
        **parts,
    )
    if compiled:
        return np.array([function.address], dtype=np.uint64)
    functions = np.empty(1, dtype=object)
    functions[0] = function
    return functions


def _assignment(name: str, kind: str, values: Iterable[str]) -> str:
    return f"{name} = {kind}({', '.join(values)},)"
