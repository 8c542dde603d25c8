"""Compilation of loss recoveries: separate functions, which the compiled engine calls by address.

An event applies a function of a recovery to the record of a flow and writes back the fields that the function sets. It
takes the address of the record twice, as floats ``p`` and as 32-bit integers ``i``, and an array ``w`` with
the rest of the ACK, the actions and, if a field is out of its range, all fields of the sender (`kernel.tcp.recovery`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dfcmodel.packets.kernel.layout import FLOW, MAX_OWN
from dfcmodel.packets.kernel.tcp.recovery import FAILED, FIELDS, NEWLY_LOST, RESEND, UNREPAIRED
from dfcmodel.packets.recoveries.base import (
    ACTIONS,
    EVENTS,
    NOTHING,
    OPTIONAL,
    READ_ONLY,
    SENDER_FIELDS,
    LossRecovery,
    RecoveryEvent,
    check_recovery,
    check_sender,
    ranges_of,
    result_in_python,
    sample_states,
)
from hopflow.errors import RuleError
from hopflow.kernels import KernelError, build_callbacks
from hopflow.kernels.module import Module

__all__ = ["EXCHANGED", "recovery_events", "sender_of"]

MEASURED = ("deadline", "srtt", "min_rtt", "reordered", "next_loss")
"""Fields of a flow's record that are passed to a recovery in the event; the deadline as the remaining time."""
SIGNATURE = "void(CPointer(float64), CPointer(int32), CPointer(float64), float64, float64, float64, float64)"
EXCHANGED = FIELDS + len(SENDER_FIELDS) + len(ACTIONS) + MAX_OWN
"""Size of the array that the engine and the functions of recoveries exchange."""
_compiled: dict[type[Any], tuple[list[Module], dict[str, Any]]] = {}
"""Compiled events of recoveries, with the modules of which their text is made."""


def recovery_events(kinds: Iterable[type[LossRecovery]], *, compiled: bool = True) -> Any:
    """Return addresses (or functions) of recoveries' events, shape (recoveries, 5), as `EVENTS`; 0: without effect.

    0: a function without effect, which is not called.

    Raises
    ------
    RuleError
        When a function does not return a sender, in plain Python.
    KernelError
        Naming the function that cannot be compiled, or that returns different numbers when compiled.
    """
    recoveries = tuple(kinds)
    table = np.zeros((max(1, len(recoveries)), len(EVENTS)), dtype=np.uint64 if compiled else object)
    for row, kind in zip(table, recoveries, strict=False):
        if not compiled:
            check_recovery(kind)
        callbacks = _callbacks(kind) if compiled else {}
        for n, event in enumerate(_events_of(kind)):
            row[n] = callbacks[event].address if compiled else _on_record(kind, event)
    return table


def _events_of(kind: type[LossRecovery]) -> tuple[str, ...]:
    """Return the names of a recovery's functions that the engine calls: the first three or all of `EVENTS`."""
    return EVENTS if kind.by_time or kind.on_alarm is not LossRecovery.on_alarm else EVENTS[:3]


def sender_of(recovery: LossRecovery, exchanged: Any) -> Any:
    """Return the invalid sender that a recovery's function left in the exchanged array."""
    make = type(recovery).Sender
    return make(*exchanged[FIELDS : FIELDS + len(make._fields)].tolist())


@functools.cache
def _record_expressions(fields: tuple[str, ...]) -> dict[str, str]:
    """Return, by sender field, the source expression of that field in a flow's record, such as "p[3]"."""
    state_fields = fields[len(SENDER_FIELDS) + len(ACTIONS) :]
    expressions = {}
    for name in (*SENDER_FIELDS, "rtt", "timed", *MEASURED):
        kind, offset = FLOW.fields["top" if name == "highest_sacked" else name][:2]  # type: ignore[index]
        expressions[name] = f"i[{offset // 4}]" if kind == np.int32 else f"p[{offset // 8}]"
    first = FLOW.fields["own"][1] // 8  # type: ignore[index]
    return expressions | {name: f"p[{first + n}]" for n, name in enumerate(state_fields)}


def _callbacks(kind: type[LossRecovery]) -> dict[str, Any]:
    """Return the compiled functions of a recovery by event name; KernelError if they differ from plain Python."""
    cached = _compiled.get(kind)
    if cached is not None and all(module.is_current() for module in cached[0]):
        return cached[1]
    check_recovery(kind)
    fields = kind.Sender._fields
    types = {"State": fields, "Event": RecoveryEvent._fields}
    modules, adapters = [], {}
    events = _events_of(kind)
    for event in events:
        modules.append(Module(types, set(EVENTS), floats=True))
        modules[-1].add(event, getattr(kind, event), "State")
        adapters[event] = _adapter(event, fields, modules[-1].replaced)
    functions = {f"recovery_{event}": getattr(kind, event) for event in events}
    callbacks = build_callbacks(functions, types, adapters, SIGNATURE, floats=True)
    for event in events:
        _check(kind, event, callbacks[event])
    _compiled[kind] = modules, callbacks
    return callbacks


def _adapter(event: str, fields: tuple[str, ...], replaced: set[str]) -> str:
    """Return Python source that calls a recovery's function on a flow's record; it writes back fields ``replaced``."""
    expressions = _record_expressions(fields)
    actions = [_text(value) for value in ACTIONS.values()]
    values = [f"float({expressions[name]})" if name in expressions else "" for name in fields]
    values[len(SENDER_FIELDS) : len(SENDER_FIELDS) + len(ACTIONS)] = actions
    timed = f"{expressions['timing']} == 1 and {expressions['snd_una']} > {expressions['timed']}"
    record_fields = [name for name in fields if name in replaced and name not in ACTIONS]
    left, *others = [f"float({expressions[name]})" for name in MEASURED]
    measured = ", ".join([f"w[{UNREPAIRED}]", "ns2", f"{left} - time", *others])
    return "\n".join(
        [
            f"def {event}(p, i, w, time, ns2, acked, delivered):",
            f"    old = State({', '.join(values)})",
            f"    timed = 1.0 if acked > 0.0 and {timed} else 0.0",
            f"    seen = Event(time, {expressions['rtt']}, acked, delivered, w[{NEWLY_LOST}], timed, {measured})",
            f"    new = recovery_{event}(old, seen)",
            *(f"    w[{RESEND + n}] = new.{name}" for n, name in enumerate(ACTIONS)),
            f"    if not ({_condition(fields, replaced)}):",
            f"        w[{FAILED}] = 1.0",
            *(f"        w[{FIELDS + n}] = new.{name}" for n, name in enumerate(fields)),
            "        return",
            *(f"    {expressions[name]} = {_record_value(name, expressions[name])}" for name in record_fields),
        ]
    )


def _record_value(name: str, expression: str) -> str:
    """Return the source of a field's new value in the type of its record: ``int(...)`` for integers."""
    return f"int(new.{name})" if expression.startswith("i") else f"new.{name}"


def _condition(fields: tuple[str, ...], replaced: set[str]) -> str:
    """Return the source of a test: the fields ``replaced`` that a recovery's function sets are in their ranges."""
    tests = ["True"]
    for name, bounds in ranges_of(fields).items():
        low, high = (_text(bound) for bound in bounds)
        test = f"{low} <= new.{name} <= {high}"
        if name in OPTIONAL:
            test = f"(new.{name} == {NOTHING} or {test})"
        elif name in {"cwnd", "ssthresh"}:  # a wrong value before the call is an error of the window rule
            test = f"({test} or not old.{name} > 0.0)"
        if name in replaced:
            tests.append(test)
    return " and ".join(tests)


def _text(bound: float | tuple[str, float]) -> str:
    """Return the source of a bound: a number, or (field, offset) as a sum of the new sender's field."""
    if isinstance(bound, tuple):
        return f"(new.{bound[0]} + {bound[1]})"
    return repr(bound).replace("inf", "math.inf")


def _on_record(kind: type[LossRecovery], event: str) -> Callable[..., None]:
    """Return a function that runs a recovery's event on a flow's record in plain Python, as the compiled one does."""
    state_fields = kind.State._fields

    def value(flow: Any, name: str) -> float:
        field = "top" if name == "highest_sacked" else name
        if isinstance(flow, np.void):  # its attribute ``size`` is NumPy's
            return float(flow[field])
        return float(getattr(flow, field))

    def apply(flow: Any, w: Any, time: float, ns2: float, acked: float, delivered: float) -> None:
        fields = {name: value(flow, name) for name in SENDER_FIELDS}
        memory: dict[str, float] = dict(zip(state_fields, map(float, flow.own), strict=False))
        timed = float(acked > 0.0 and flow.timing == 1 and flow.snd_una > flow.timed)
        lost, unrepaired = float(w[NEWLY_LOST]), float(w[UNREPAIRED])
        left, *others = [float(getattr(flow, name)) for name in MEASURED]
        first = (time, float(flow.rtt), acked, delivered, lost, timed, unrepaired, ns2)
        e = RecoveryEvent(*first, left - time, *others)
        new = getattr(kind, event)(kind.Sender(**fields, **ACTIONS, **memory), e)
        w[RESEND : RESEND + len(ACTIONS)] = new[len(SENDER_FIELDS) :][: len(ACTIONS)]
        try:
            check_sender(kind(), new, "")
        except RuleError:
            w[FAILED] = 1.0
            w[FIELDS : FIELDS + len(new)] = new
            return
        for name in SENDER_FIELDS:
            if name not in READ_ONLY:
                setattr(flow, name, getattr(new, name))
        for n, name in enumerate(state_fields):
            flow.own[n] = getattr(new, name)

    return apply


def _check(kind: type[LossRecovery], event: str, callback: Any) -> None:
    """Raise KernelError if a compiled function returns other numbers than plain Python on the sample states."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_double] * 4)(callback.address)
    for before, e in sample_states(kind):
        expected = result_in_python(kind, event, before, e)
        if expected is None:
            continue
        flow, w = _record(before, e), np.zeros(EXCHANGED)
        w[NEWLY_LOST], w[UNREPAIRED] = e.newly_lost, e.unrepaired
        address = flow.ctypes.data
        call(address, address, w.ctypes.data, e.time, e.ns2, e.acked, e.delivered)
        result = sender_of(kind(), w) if w[FAILED] else _sender_in(kind, flow, w)
        if tuple(result) != tuple(map(float, expected)):
            msg = "compiled, it returns other numbers than in plain Python, for"
            raise KernelError(f"{kind.__name__}.{event}: {msg} {before}")


def _record(s: Any, e: RecoveryEvent) -> Any:
    """Return a record of a flow, shape (1,), with the fields of a sender and an event."""
    flow = np.zeros(1, FLOW)
    for name in SENDER_FIELDS:
        flow["top" if name == "highest_sacked" else name] = getattr(s, name)
    state = s[len(SENDER_FIELDS) + len(ACTIONS) :]
    flow["own"][0, : len(state)] = state
    flow["rtt"], flow["timed"] = e.rtt, s.snd_una - e.timed
    flow["deadline"] = e.time + e.rto_left
    for name in MEASURED[1:]:
        flow[name] = getattr(e, name)
    return flow


def _sender_in(kind: type[LossRecovery], flow: Any, w: Any) -> Any:
    """Return the sender that a flow's record ``flow`` and the exchanged array ``w`` (its actions) describe."""
    fields = [float(flow["top" if name == "highest_sacked" else name][0]) for name in SENDER_FIELDS]
    state = flow["own"][0, : len(kind.State._fields)].tolist()
    return kind.Sender(*fields, *w[RESEND : RESEND + len(ACTIONS)].tolist(), *state)
