"""Checks of window rules: signatures of their functions, and the returned states."""

from __future__ import annotations

import inspect
import math
import numbers
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from responsefn.diagnostics import RuleError
from responsefn.dynamics import Event
from responsefn.kernel.flow import MAX_WINDOW, MIN_WINDOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from responsefn.dynamics import Dynamics

__all__ = [
    "EVENTS",
    "MAX_WINDOW",
    "MIN_WINDOW",
    "check_dynamics",
    "check_form",
    "event_location",
    "invalid_window",
    "raise_fault",
    "refuse_event",
    "sample_states",
]

EVENTS = ("on_ack", "on_loss", "on_timeout")
WINDOWS = (2.0, 3.7, 14.2, 40.3, 1024.0, 3e4)
RTT, LONGER, CAPACITY = 0.1, 0.12, 1000.0
"""Round-trip times without and with a queue in s, and packets/s, of the samples."""


@lru_cache(maxsize=256)
def check_dynamics(rule: Dynamics) -> None:
    """Check the form of a rule, and run its functions on sample states in plain Python.

    Raises
    ------
    RuleError
        Naming the rule, the function with its line, and the state.
    """
    name = type(rule).__name__
    if hasattr(rule, "on_delivery"):
        raise RuleError(f"{name} follows deliveries, packet by packet: simulate it, dfcmodel.compare")
    fields = rule.State._fields
    if not fields or fields[0] != "cwnd":
        raise RuleError(f"{name}.State has the fields {', '.join(fields)}: cwnd, in packets, must come first")
    for event in EVENTS:
        check_form(rule, event)
    for state in sample_states(rule):
        for event in EVENTS:
            for rtt in (RTT, LONGER):
                call(rule, event, state, Event(3.0, rtt))


def sample_states(rule: Dynamics) -> list[Any]:
    """Return states of a rule with windows of 2 to 30,000 packets in congestion avoidance."""
    states = []
    for window in WINDOWS:
        state = rule.start(RTT, CAPACITY)._replace(cwnd=window)
        if "ssthresh" in state._fields:
            state = state._replace(ssthresh=2.0)
        states.append(state)
    return states


def call(rule: Dynamics, event: str, state: Any, at: Event) -> Any:
    """Call a function of a rule and validate the returned state.

    Raises
    ------
    RuleError
        If it raises an error, returns no state, or an invalid window.
    """
    function = getattr(rule, event)
    location = event_location(rule, event)
    try:
        new = function(state, rule.params, at)
    except Exception as error:
        line = _line_in(function, error)
        raise RuleError(
            f"{line or location}: {type(rule).__name__}.{event} raises {type(error).__name__}: {error}, "
            f"for {state}{_hint(error)}"
        ) from error
    if new is None:
        raise RuleError(f"{location} returns None for {state}: is a return missing?")
    if getattr(new, "_fields", None) != state._fields:
        raise RuleError(f"{location} returns {new!r}: must be the new state, such as s._replace(cwnd=...)")
    for field, value in zip(new._fields, new, strict=True):
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise RuleError(f"{location} returns {field} = {value!r} for {state}: must be a number")
    if not MIN_WINDOW <= new.cwnd <= MAX_WINDOW:
        raise RuleError(f"{location} {invalid_window(new.cwnd)} for {state}")
    return new


def invalid_window(cwnd: float) -> str:
    """Return the message for an invalid window."""
    cure = "; write maximum(1.0, ...)" if cwnd < MIN_WINDOW else ""
    return f"returns cwnd = {cwnd:g}: must be 1 to {MAX_WINDOW:g} packets{cure}"


def raise_fault(rules: Sequence[Dynamics], record: Any) -> None:
    """Raise RuleError for an invalid window after a single ACK, a loss or a timeout in a kernel.

    If plain Python fails as well, its error is raised; otherwise the error states both windows.

    Parameters
    ----------
    rules
        The rules of the kernel.
    record
        Event (1 ACK, 2 loss, 3 timeout; 0 none), index of the rule, time in s, RTT in s, new window, and
        the state before.
    """
    if not record[0]:
        return
    rule = rules[int(record[1])]
    event = EVENTS[int(record[0]) - 1]
    state = rule.State(*map(float, record[5 : 5 + len(rule.State._fields)]))
    at = Event(float(record[2]), float(record[3]))
    refuse_event(rule, event, state, at, float(record[4]))


def refuse_event(rule: Dynamics, event: str, state: Any, at: Any, cwnd: float) -> None:
    """Raise RuleError for a compiled function of a rule that has returned this window or another invalid number."""
    new = call(rule, event, state, at)  # raises the rule's own error
    raise RuleError(
        f"{_location(getattr(rule, event))}: compiled, {type(rule).__name__}.{event} makes cwnd = "
        f"{cwnd:g} of {state}, where plain Python makes {new.cwnd:g}"
    )


def event_location(rule: Dynamics, event: str) -> str:
    """Return file, line and name of a function of a rule, for messages."""
    return f"{_location(getattr(rule, event))}: {type(rule).__name__}.{event}"


def check_form(rule: Dynamics, event: str) -> None:
    """Raise RuleError for a function that is not static, takes other arguments, or reads a string parameter."""
    static = inspect.getattr_static(type(rule), event)
    function = getattr(static, "__func__", static)
    location = event_location(rule, event)
    of_bases = [getattr(vars(base).get(event), "__func__", None) for base in type(rule).__mro__[1:]]
    if not isinstance(static, staticmethod) and function not in of_bases:  # on_mark = Base.on_mark is static
        raise RuleError(f"{location}: write @staticmethod above it, and the arguments s, q, e: no self")
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        raise RuleError(
            f"{location}{inspect.signature(function)}: must take the state s, the parameters q and the event e"
        ) from None
    texts = {name for name, value in rule.params._asdict().items() if isinstance(value, str)}
    read = texts & set(inspect.unwrap(function).__code__.co_names)
    if read:
        raise RuleError(
            f"{location} reads q.{min(read)}, which is text: rules compute with numbers, so write a flag, 0.0 or 1.0"
        )


def _location(function: Any) -> str:
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else repr(function)


def _line_in(function: Any, error: BaseException) -> str | None:
    """Return file and line of a function at which an error was raised."""
    code, trace = getattr(inspect.unwrap(function), "__code__", None), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code and code is not None:
            return f"{code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return None


def _hint(error: Exception) -> str:
    if isinstance(error, AttributeError) and "set" in str(error):
        return ": a state cannot be changed, return s._replace(cwnd=...)"
    return ""
