"""Laws between the ends of a link as data: compiled apart, called by address from the packet engine.

An event applies a law's function to the record of a link and class, ``w``: the state of the sender from w[0] on, that of
the receiver from w[8] on, the parameters from w[16] on, and what the law sees from w[32] on. What `LinkLaw.may_send` returns
is written to w[40].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.link_laws import MAX_PARAMETERS, MAX_STATE, LinkEvent
from dfcmodel.network.manager_events import SEEN_AT, Places, callback_of

if TYPE_CHECKING:
    from dfcmodel.network.link_laws import LinkLaw

__all__ = ["EVENTS", "LawSignature", "law_events_of", "law_signature_of"]

EVENTS = ("may_send", "on_send", "on_message", "on_arrival", "on_departure")
"""Functions of a law, in the order of the table of their addresses."""
AT_RECEIVER = ("on_arrival", "on_departure")
ANSWER = SEEN_AT + 8
"""Place in a record of an answer, behind the 8 numbers for which there is room, of what a law sees."""

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
    end, first = ("Receiver", MAX_STATE) if event in AT_RECEIVER else ("Sender", 0)
    answer = ANSWER if event == "may_send" else None
    where = Places(end, first, answer)
    return callback_of(signature, event, LinkEvent._fields, where=where, floats=True)
