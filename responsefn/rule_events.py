"""Window rules as callbacks: compiled separately, called by address from the engines of both levels.

An event applies a rule's function to the window in a flow's record, ``w``: the state begins at w[0], the
parameters at w[16]. Further arguments are the time and the round-trip time in s, the number of ACKs, and
the number of marked ACKs.

An event of a window rule that returns an invalid window or threshold does not change the rest of the state. It replaces
the first parameter by NaN and the following ones by the arguments of the call (`FAULT`). Later events of this flow do
nothing. `refuse_fault`, which the engines call between the parts of a run, raises the rule's error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.errors import RuleError
from hopflow.kernels import build_callbacks
from responsefn.rule_checks import (
    MAX_WINDOW,
    MIN_WINDOW,
    check_dynamics,
    check_form,
    event_location,
    invalid_window,
    refuse_event,
)

if TYPE_CHECKING:
    from responsefn.dynamics import Dynamics

__all__ = [
    "MAX_PARAMETERS",
    "MAX_STATE",
    "SIGNATURE",
    "RuleSignature",
    "array_elements",
    "event_of",
    "event_of_samples",
    "events_of",
    "numbers_of",
    "on_record",
    "parameters_at",
    "refuse_fault",
    "signature_of",
    "signatures_of",
    "validate_signature",
]

MAX_STATE, MAX_PARAMETERS = 16, 16
"""Maximum numbers of state fields and parameters of a window rule or queue manager.

The records of both engines have this size."""

MAX_DELIVERY_NUMBERS = 64
"""Maximum number of state fields plus parameters of a delivery rule; its samples follow them."""
RuleSignature = tuple[type[Any], tuple[str, ...]]
"""A class of window rules and the names of its numeric parameters, which determine its events."""
SIGNATURE = "void(CPointer(float64), float64, float64, float64, float64)"
"""Signature of the callbacks: an array (rows of runs, see `rule_kernels`; a flow's window, see
`rule_events`) and four numbers."""
NUMBERS = ("time", "rtt", "acks", "marks")
"""Arguments of an event besides the record."""
EVENTS = ("on_ack", "on_loss", "on_timeout")
SEVERAL_ACKS = "on_acks"
"""The event of several ACKs at once, compiled with the others, so that both levels share one unit of object code."""

CHANGES = ("on_ack", "on_loss", "on_timeout", "on_mark", "on_drop", "on_delivery")
"""Functions of window rules that return a state; a fault stores the index."""
FUNCTIONS = (*CHANGES, "on_feedback", "on_time", "on_telemetry")
"""Functions of window and rate rules."""
FAULT = ("event", "cwnd", "time", "rtt", "acks", "marks", "old_cwnd", "old_ssthresh")
"""Fields after the NaN in a record: index of the function, returned window, its event, previous state."""


def numbers_of(rule: Dynamics) -> dict[str, float]:
    """Return the numeric parameters of a rule, which its dynamics can use."""
    numbers = {name: float(value) for name, value in rule.params._asdict().items() if isinstance(value, (int, float))}
    return numbers or {"unused": 0.0}


def signature_of(rule: Dynamics) -> RuleSignature:
    """Return a rule's class and the names of its numeric parameters.

    Raises
    ------
    ValueError
        For more numbers than a flow's record holds.
    """
    signature: RuleSignature = validate_signature(rule, tuple(numbers_of(rule)))
    return signature


def signatures_of(rules: Iterable[Dynamics]) -> tuple[RuleSignature, ...]:
    """Return the signatures of rules, each once; equal rules are checked once.

    Raises
    ------
    RuleError
        For functions of another form, such as one without ``@staticmethod``, and for window rules that fail in plain
        Python or return a window below one packet.
    ValueError
        For more numbers than a flow's record holds.
    """
    distinct = dict.fromkeys(rules)
    for rule in distinct:
        if hasattr(rule, "on_ack") and not hasattr(rule, "on_delivery"):
            check_dynamics(rule)
        for name in FUNCTIONS:
            if getattr(rule, name, None) is not None:
                check_form(rule, name)
    return tuple(dict.fromkeys(map(signature_of, distinct)))


def validate_signature(owner: Any, names: tuple[str, ...]) -> Any:
    """Return the class of a rule or queue manager and the names of its parameters.

    Raises
    ------
    ValueError
        For more state fields or parameters than a record holds.
    """
    fields = len(owner.State._fields)
    max_fields = MAX_DELIVERY_NUMBERS - len(names) if hasattr(owner, "on_delivery") else MAX_STATE
    for quantity, n, maximum in (
        ("fields of State", fields, max_fields),
        ("parameters", len(names), MAX_PARAMETERS),
    ):
        if n > maximum:
            raise ValueError(f"{quantity} of {type(owner).__name__} = {n}: must be at most {maximum}")
    return type(owner), names


def events_of(signatures: tuple[RuleSignature, ...], *, several: bool = True, compiled: bool = True) -> Any:
    """Return the events of window rules, shape (rules, 3): addresses, or Python functions.

    With ``several``, one event is a number of ACKs, which multiplies the change of the state by one ACK.
    Otherwise each ACK is an event, and the state equals the returned one to the last bit.
    """
    table = np.empty((max(1, len(signatures)), len(EVENTS)), dtype=np.uint64 if compiled else object)
    table.fill(0)
    for row, (rule, names) in zip(table, signatures, strict=False):
        callbacks = build_callbacks(
            {f"rule_{event}": getattr(rule, event) for event in EVENTS},
            {
                "State": rule.State._fields,
                "Params": names,
                "Event": ("time", "rtt"),
            },
            {name: _adapter((rule, names), name) for name in (*EVENTS, SEVERAL_ACKS)},
            SIGNATURE,
            compiled=compiled,
        )
        for n, event in enumerate((SEVERAL_ACKS if several else "on_ack", *EVENTS[1:])):
            callback = callbacks[event]
            row[n] = callback.address if compiled else on_record(callback)
    return table


def event_of(signature: RuleSignature, function: Callable[..., Any], fields: tuple[str, ...], compiled: bool) -> Any:
    """Return the event of another function of a rule; ``fields`` are the names of the first of the four numbers."""
    rule, names = signature
    state, params = rule.State._fields, array_elements(parameters_at(rule), len(names))
    event_arguments = ", ".join(NUMBERS[: len(fields)])
    lines = [
        f"def event(w, {', '.join(NUMBERS)}):",
        *_call_lines(rule, function.__name__, f"Params({params}), Event({event_arguments})", "rule"),
        *(f"    w[{n}] = new.{name}" for n, name in enumerate(state)),
    ]
    callback = build_callbacks(
        {"rule": function},
        {"State": state, "Params": names, "Event": fields},
        {"event": "\n".join(lines)},
        SIGNATURE,
        compiled=compiled,
    )["event"]
    return callback.address if compiled else on_record(callback)


def parameters_at(rule: type[Any]) -> int:
    """Return the index of the first parameter in a record: after the state, or after 16 numbers."""
    return max(MAX_STATE, len(rule.State._fields))


def event_of_samples(signature: RuleSignature, name: str, fields: tuple[str, ...]) -> Any:
    """Return the address of an event of more than four numbers; its sample continues after state and parameters."""
    rule, names = signature
    state, params = rule.State._fields, array_elements(parameters_at(rule), len(names))
    remaining = array_elements(MAX_DELIVERY_NUMBERS, len(fields) - 4)
    lines = [
        f"def event(w, {', '.join(NUMBERS)}):",
        *_call_lines(rule, name, f"Params({params}), Sample({', '.join(NUMBERS)}, {remaining})", "rule"),
        *(f"    w[{n}] = new.{name}" for n, name in enumerate(state)),
    ]
    callbacks = build_callbacks(
        {"rule": getattr(rule, name)},
        {"State": state, "Params": names, "Sample": fields},
        {"event": "\n".join(lines)},
        SIGNATURE,
    )
    return callbacks["event"].address


@functools.cache
def _adapter(signature: RuleSignature, name: str) -> str:
    """Return the source of an event that converts between arrays of numbers and a rule's NamedTuples.

    Several ACKs multiply the change of the state by one ACK, except for the fields in ``assigned``. An
    unchanged field keeps its value, also an infinite one.
    """
    rule, names = signature
    params = array_elements(parameters_at(rule), len(names))
    event = "on_ack" if name == SEVERAL_ACKS else name
    lines = [
        f"def {name}(w, {', '.join(NUMBERS)}):",
        *_call_lines(rule, event, f"Params({params}), Event(time, rtt)", f"rule_{event}"),
    ]
    for n, field in enumerate(rule.State._fields):
        value = f"new.{field}"
        if name == SEVERAL_ACKS and field not in rule.assigned:
            change = f"old.{field} + acks * (new.{field} - old.{field})"
            value = f"{change} if new.{field} != old.{field} else old.{field}"
        lines.append(f"    w[{n}] = {value}")
    return "\n".join(lines)


def on_record(event: Callable[..., None]) -> Callable[..., None]:
    """Return an event in plain Python that takes a flow's record instead of an address."""

    def apply(flow: Any, *numbers: float) -> None:
        window = [flow.cwnd, flow.ssthresh, *flow.rule_state, *flow.parameters]
        event(window, *map(float, numbers))
        flow.cwnd, flow.ssthresh = window[:2]
        flow.rule_state[:] = window[2:MAX_STATE]
        flow.parameters[:] = window[MAX_STATE:]

    return apply


def _call_lines(rule: type[Any], event: str, arguments: str, callee: str) -> list[str]:
    """Return the lines that call a function of a rule, and end the event after an invalid result of a window rule.

    A window below one packet, or not positive for rules that pace, is a fault only if it is below the previous window,
    since engines may have set a smaller one.
    """
    fields = rule.State._fields
    call = [
        f"    old = State({array_elements(0, len(fields))})",
        f"    new = {callee}(old, {arguments})",
    ]
    if event not in CHANGES or fields[0] != "cwnd":
        return call
    first = parameters_at(rule)
    low = "new.cwnd <= 0.0" if "pacing_rate" in fields else f"new.cwnd < {MIN_WINDOW!r}"
    wrong = [f"not new.cwnd <= {MAX_WINDOW!r}", f"{low} and new.cwnd < old.cwnd"]
    wrong += [f"new.{name} != new.{name}" for name in ("ssthresh", "pacing_rate") if name in fields]
    values = [CHANGES.index(event), "new.cwnd", *NUMBERS, "old.cwnd"]
    values += ["old.ssthresh"] if fields[1:2] == ("ssthresh",) else []
    return [
        f"    if w[{first}] != w[{first}]:",
        "        return",
        *call,
        f"    if {' or '.join(wrong)}:",
        *(f"        w[{first + 1 + n}] = {value}" for n, value in enumerate(values)),
        f"        w[{first}] = 1e308 * 10.0 - 1e308 * 10.0",
        "        w[0] = new.cwnd",
        "        return",
    ]


def refuse_fault(rule: Dynamics, numbers: Any, where: str) -> None:
    """Raise the error of a window rule whose event has returned an invalid state.

    Parameters
    ----------
    rule
        The rule of a flow.
    numbers
        The flow's record from the window on.
    where
        The scenario and the flow, for the message.

    Raises
    ------
    RuleError
        With file and line of the function, the returned window, the previous state, and the time.
    """
    first = parameters_at(type(rule))
    if not math.isnan(numbers[first]):
        return
    name, value = next(iter(numbers_of(rule).items()))
    if math.isnan(value):
        raise RuleError(f"{name} = nan of {rule!r}: must be a number")
    fault = SimpleNamespace(**dict(zip(FAULT, map(float, numbers[first + 1 : first + 1 + len(FAULT)]), strict=True)))
    event, fields = CHANGES[int(fault.event)], rule.State._fields
    moment = f"{where}, t = {fault.time:g} s"
    if event == "on_delivery":  # the record does not hold its sample
        returned = "returns a number that is NaN" if fault.cwnd > 0.0 else invalid_window(fault.cwnd)
        raise RuleError(f"{event_location(rule, event)} {returned}; {moment}")
    state = [fault.old_cwnd, fault.old_ssthresh, *map(float, numbers[2 : len(fields)])]
    try:
        refuse_event(rule, event, rule.State(*state[: len(fields)]), fault, fault.cwnd)
    except RuleError as error:
        raise RuleError(f"{error}; {moment}") from None


def array_elements(first: int, n: int) -> str:
    """Return the source of ``n`` elements of an event's array, each followed by a comma."""
    return "".join(f"w[{first + i}]," for i in range(n))
