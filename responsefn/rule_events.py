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
import inspect
import math
import numbers
import warnings
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.errors import RuleError
from hopflow.kernels import build_callbacks
from responsefn.dynamics import Event
from responsefn.kernel.flow import FAULT_STATE, MAX_WINDOW, MIN_WINDOW

if TYPE_CHECKING:
    from responsefn.dynamics import Dynamics

__all__ = [
    "EVENTS",
    "MAX_PARAMETERS",
    "MAX_STATE",
    "MAX_WINDOW",
    "MIN_WINDOW",
    "SIGNATURE",
    "RuleSignature",
    "array_elements",
    "check_dynamics",
    "check_form",
    "event_location",
    "event_of",
    "event_of_samples",
    "events_of",
    "invalid_window",
    "numbers_of",
    "on_record",
    "parameters_at",
    "raise_fault",
    "refuse_event",
    "refuse_fault",
    "sample_states",
    "signature_of",
    "signatures_of",
    "validate_signature",
]

EVENTS = ("on_ack", "on_loss", "on_timeout")
WINDOWS = (2.0, 3.7, 14.2, 40.3, 1024.0, 3e4)
MAX_WINDOW_RATIO = 1000.0
"""Ratio of the windows after and before one event above which they are taken for bytes, as of RFC 5681."""
RTT, LONGER, CAPACITY = 0.1, 0.12, 1000.0
"""Round-trip times without and with a queue in s, and packets/s, of the samples."""
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
SEVERAL_ACKS = "on_acks"
"""The event of several ACKs at once, compiled with the others, so that both levels share one unit of object code."""

CHANGES = ("on_ack", "on_loss", "on_timeout", "on_mark", "on_drop", "on_delivery")
"""Functions of window rules that return a state; a fault stores the index."""
FUNCTIONS = (*CHANGES, "on_feedback", "on_time", "on_telemetry")
"""Functions of window and rate rules."""
FAULT = ("event", "cwnd", "time", "rtt", "acks", "marks", "old_cwnd", "old_ssthresh")
"""Fields after the NaN in a record: index of the function, returned window, its event, previous state."""


@functools.lru_cache(maxsize=256)
def check_dynamics(rule: Dynamics) -> None:
    """Check the form of a rule, and run its functions on sample states in plain Python.

    Warns of windows in bytes: an event makes a small window that of a thousand times as many packets, a large one not.

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
    windows: dict[str, list[float]] = {event: [] for event in EVENTS}
    for state in sample_states(rule):
        for event in EVENTS:
            for rtt in (RTT, LONGER):
                windows[event].append(call(rule, event, state, Event(3.0, rtt)).cwnd)
    for event, after in windows.items():
        is_set = len(set(after[::2])) == 1  # one window after all others, at one round-trip time
        if after[0] > MAX_WINDOW_RATIO * WINDOWS[0] and after[-1] <= MAX_WINDOW_RATIO * WINDOWS[-1] and not is_set:
            message = f"makes a window of {WINDOWS[0]:g} packets one of {after[0]:.6g}"
            hint = "cwnd and ssthresh are in packets: divide bytes by the bytes of a packet"
            warnings.warn(f"{event_location(rule, event)} {message}: {hint}", stacklevel=3)
            return


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


def raise_fault(rule: Dynamics, record: Any) -> None:
    """Raise RuleError for an invalid window after a single ACK, a loss or a timeout in a kernel.

    If plain Python fails as well, its error is raised; otherwise the error states both windows.

    Parameters
    ----------
    rule
        The rule of the kernel.
    record
        Event (1 ACK, 2 loss, 3 timeout; 0 none), time in s, RTT in s, new window, and the state before.
    """
    if record[0]:
        event = EVENTS[int(record[0]) - 1]
        state = rule.State(*map(float, record[FAULT_STATE : FAULT_STATE + len(rule.State._fields)]))
        refuse_event(rule, event, state, Event(float(record[1]), float(record[2])), float(record[3]))


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
                "Event": Event._fields,
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
        *_call_lines(rule, event, f"Params({params}), Event(time, rtt, marks)", f"rule_{event}"),
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
