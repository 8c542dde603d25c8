"""Window rules as data: compiled apart, called by address from the engines of both levels.

An event applies a rule's function to the window in a flow's record, ``w``: its state from w[0] on, its
parameters from w[16] on. It also takes the time and the round-trip time in s, and how many ACKs came and
how many of them are marked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.kernels import build_callbacks

if TYPE_CHECKING:
    from responsefn.responses.dynamics import Dynamics

__all__ = [
    "MAX_PARAMETERS",
    "MAX_STATE",
    "SIGNATURE",
    "RuleSignature",
    "checked_signature",
    "event_of",
    "events_of",
    "kind_of",
    "numbers_of",
    "on_record",
    "parameters_at",
    "places",
    "sampled_event_of",
    "signature_of",
    "signatures_of",
]

MAX_STATE, MAX_PARAMETERS = 16, 16
"""Numbers that a window rule or a queue manager may have; the records of both engines have room for
as many."""

MOST_NUMBERS = 64
"""State and parameters together of a rule of deliveries; its samples come after them."""
RuleSignature = tuple[type[Any], tuple[str, ...]]
"""A class of window rules and the names of its numeric parameters: what its events are made of."""
SIGNATURE = "void(CPointer(float64), float64, float64, float64, float64)"
"""Of what is called by address: an array (the rows of runs, see `rule_kernels`; a flow's window, see
`rule_events`) and four numbers."""
EVENTS = ("on_ack", "on_loss", "on_timeout")
SEVERAL_ACKS = "on_acks"
"""The event of several ACKs at once. It is compiled with the others: both levels then have one unit of object code."""


def numbers_of(rule: Dynamics) -> dict[str, float]:
    """Return the parameters that a rule's dynamics can use: the numbers among them."""
    numbers = {
        name: float(value)
        for name, value in rule.params._asdict().items()
        if isinstance(value, (int, float))
    }
    return numbers or {"unused": 0.0}


def kind_of(rule: Dynamics) -> RuleSignature:
    """Return the class and the names of the numeric parameters of a rule, however many there are."""
    return type(rule), tuple(numbers_of(rule))


def signature_of(rule: Dynamics) -> RuleSignature:
    """Return a rule's class and the names of the parameters that its dynamics can use.

    Raises
    ------
    ValueError
        For more numbers than a flow's record holds.
    """
    signature: RuleSignature = checked_signature(rule, kind_of(rule)[1])
    return signature


def signatures_of(rules: Iterable[Dynamics]) -> tuple[RuleSignature, ...]:
    """Return the signatures of window rules, each once."""
    return tuple(dict.fromkeys(map(signature_of, rules)))


def checked_signature(owner: Any, names: tuple[str, ...]) -> Any:
    """Return the class of a rule or queue manager and the names of its parameters, if there is room."""
    fields = len(owner.State._fields)
    room = MOST_NUMBERS - len(names) if hasattr(owner, "on_delivery") else MAX_STATE
    for what, n, most in (
        ("fields of State", fields, room),
        ("parameters", len(names), MAX_PARAMETERS),
    ):
        if n > most:
            raise ValueError(f"{what} of {type(owner).__name__} = {n}: must be at most {most}")
    return type(owner), names


def events_of(
    signatures: tuple[RuleSignature, ...], *, several: bool = True, compiled: bool = True
) -> Any:
    """Return the events of window rules, shape (rules, 3): addresses, or Python functions.

    With ``several`` an event is that of a number of ACKs, which moves the state by that multiple of what one
    does; without, each ACK is an event of its own, and the state is what the rule returns, to the
    last bit.
    """
    table = np.empty(
        (max(1, len(signatures)), len(EVENTS)), dtype=np.uint64 if compiled else object
    )
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


def event_of(
    signature: RuleSignature, function: Callable[..., Any], fields: tuple[str, ...], compiled: bool
) -> Any:
    """Return the event of another function of a rule, which sees as many of four numbers as ``fields`` has names."""
    rule, names = signature
    state, params = rule.State._fields, places(parameters_at(rule), len(names))
    seen = ", ".join(("time", "second", "third", "fourth")[: len(fields)])
    lines = [
        "def event(w, time, second, third, fourth):",
        f"    new = rule(State({places(0, len(state))}), Params({params}), Event({seen}))",
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
    """Return the place of the first parameter: behind the state, or room for one of 16 numbers."""
    return max(MAX_STATE, len(rule.State._fields))


def sampled_event_of(signature: RuleSignature, name: str, fields: tuple[str, ...]) -> Any:
    """Return the address of an event of more than four numbers: the rest of its sample stands behind state and parameters."""
    rule, names = signature
    state, params = rule.State._fields, places(parameters_at(rule), len(names))
    rest = places(MOST_NUMBERS, len(fields) - 4)
    lines = [
        "def event(w, time, second, third, fourth):",
        f"    seen = Sample(time, second, third, fourth, {rest})",
        f"    new = rule(State({places(0, len(state))}), Params({params}), seen)",
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
    """Return the text of an event: a rule's function between arrays of numbers and NamedTuples.

    Several ACKs move the state by that multiple of what one ACK does, except for fields that the
    rule sets outright; a field that an ACK does not change stays, also where it is infinite.
    """
    rule, names = signature
    state, params = places(0, len(rule.State._fields)), places(parameters_at(rule), len(names))
    event = "on_ack" if name == SEVERAL_ACKS else name
    lines = [
        f"def {name}(w, time, rtt, acks, marks):",
        f"    old = State({state})",
        f"    new = rule_{event}(old, Params({params}), Event(time, rtt))",
    ]
    for n, field in enumerate(rule.State._fields):
        value = f"new.{field}"
        if name == SEVERAL_ACKS and field not in rule.assigned:
            change = f"old.{field} + acks * (new.{field} - old.{field})"
            value = f"{change} if new.{field} != old.{field} else old.{field}"
        lines.append(f"    w[{n}] = {value}")
    return "\n".join(lines)


def on_record(event: Callable[..., None]) -> Callable[..., None]:
    """Return an event in plain Python that takes a flow's record instead of its address."""

    def apply(flow: Any, *numbers: float) -> None:
        window = [flow.cwnd, flow.ssthresh, *flow.rule_state, *flow.parameters]
        event(window, *map(float, numbers))
        flow.cwnd, flow.ssthresh = window[:2]
        flow.rule_state[:] = window[2:MAX_STATE]

    return apply


def places(first: int, n: int) -> str:
    """Return ``n`` numbers of an event's array as text."""
    return "".join(f"w[{first + i}]," for i in range(n))
