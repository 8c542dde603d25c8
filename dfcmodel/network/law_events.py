"""Laws between the ends of a link as data: compiled apart, called by address from the packet engine.

An event applies a law's function to the record of a link and class, ``w``: the state of the sender from w[0] on, that of
the receiver from w[8] on, the parameters from w[16] on, and what the law sees from w[32] on. What `LinkLaw.may_send` returns
is written to w[40].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.link_laws import MAX_PARAMETERS, MAX_STATE, LinkEvent
from hopflow.kernels import build_callbacks
from responsefn.responses.rule_events import places

if TYPE_CHECKING:
    from dfcmodel.network.link_laws import LinkLaw

__all__ = ["EVENTS", "LawSignature", "law_events_of", "law_signature_of"]

EVENTS = ("may_send", "on_send", "on_message", "on_arrival", "on_departure")
"""Functions of a law, in the order of the table of their addresses."""
AT_RECEIVER = ("on_arrival", "on_departure")
PARAMETERS_AT = 2 * MAX_STATE
SEEN_AT = PARAMETERS_AT + MAX_PARAMETERS
ANSWER = SEEN_AT + 8
"""Places in a record: what a law sees has room for 8 numbers, and its answer stands behind that."""

LawSignature = tuple["type[LinkLaw]", tuple[str, ...]]
"""A class of laws and the names of its parameters: what its events are made of."""


def law_signature_of(law: LinkLaw) -> LawSignature:
    """Return a law's class and the names of its parameters, if there is room for them."""
    names = tuple(law.numbers())
    if len(names) > MAX_PARAMETERS:
        name = type(law).__name__
        raise ValueError(f"parameters of {name} = {len(names)}: must be at most {MAX_PARAMETERS}")
    return type(law), names


def law_events_of(signatures: tuple[LawSignature, ...]) -> Any:
    """Return the addresses of the events of laws, shape (laws, 5)."""
    table = np.zeros((max(1, len(signatures)), len(EVENTS)), dtype=np.uint64)
    for row, signature in zip(table, signatures, strict=False):
        for k, event in enumerate(EVENTS):
            row[k] = _event_of(signature, event).address
    return table


def _event_of(signature: LawSignature, event: str) -> Any:
    """Return a function of a law as a callback on a record."""
    kind, names = signature
    at_receiver = event in AT_RECEIVER
    fields = (kind.Receiver if at_receiver else kind.Sender)._fields
    first = MAX_STATE if at_receiver else 0
    seen = places(SEEN_AT, len(LinkEvent._fields))
    lines = [
        f"def {event}(w):",
        f"    old = State({places(first, len(fields))})",
        f"    new = rule(old, Params({places(PARAMETERS_AT, len(names))}), Seen({seen}))",
    ]
    lines += [f"    w[{first + n}] = new.{name}" for n, name in enumerate(fields)]
    if event == "may_send":
        lines[3:] = [f"    w[{ANSWER}] = new"]
    return build_callbacks(
        {"rule": getattr(kind, event)},
        {"State": fields, "Params": names, "Seen": LinkEvent._fields},
        {event: "\n".join(lines)},
        "void(CPointer(float64))",
        floats=True,
    )[event]
