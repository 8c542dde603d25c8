"""Queue managers as data: compiled apart, called by address from the engines of both levels.

An event applies a manager's function to the record of a link, ``w``: its state from w[0] on, its parameters
from w[16] on, and what it sees from w[32] on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.disciplines import Arrivals
from hopflow.kernels import build_callbacks
from responsefn.responses.rule_events import (
    MAX_PARAMETERS,
    MAX_STATE,
    checked_signature,
    places,
)

if TYPE_CHECKING:
    from dfcmodel.network.disciplines import QueueManager

__all__ = [
    "SEEN_AT",
    "ManagerSignature",
    "Places",
    "callback_of",
    "manager_events_of",
    "manager_signature_of",
]

SEEN_AT = MAX_STATE + MAX_PARAMETERS
"""Place in a record of what a function sees."""

ManagerSignature = tuple["type[QueueManager]", tuple[str, ...]]
"""A class of queue managers and the names of its parameters: what its event is made of."""


def manager_signature_of(manager: QueueManager) -> ManagerSignature:
    """Return a manager's class and the names of its parameters; errors as for `signature_of`."""
    signature: ManagerSignature = checked_signature(manager, tuple(manager.numbers(1500.0)))
    return signature


def manager_events_of(signatures: tuple[ManagerSignature, ...], *, compiled: bool = True) -> Any:
    """Return the events of queue managers, shape (managers,): addresses, or Python functions."""
    table = np.empty(max(1, len(signatures)), dtype=np.uint64 if compiled else object)
    table.fill(0)
    for n, (manager, names) in enumerate(signatures):
        callback = callback_of((manager, names), "on_step", Arrivals._fields, compiled=compiled)
        table[n] = callback.address if compiled else _on_link(callback)
    return table


class Places(NamedTuple):
    """Where a callback finds its state in a record, and puts what it returns.

    Attributes
    ----------
    state, first
        Name of the class of the state, which is in the record from w[first] on.
    answer
        Place of what the function returns; None: it returns the next state.
    """

    state: str = "State"
    first: int = 0
    answer: int | None = None


OF_STATE = Places()


def callback_of(
    signature: tuple[Any, tuple[str, ...]],
    event: str,
    seen: tuple[str, ...],
    *,
    compiled: bool = True,
    where: Places = OF_STATE,
    floats: bool = False,
) -> Any:
    """Return a function of a manager, a switch program, an agent or a law as a callback on a record, ``w``.

    Parameters
    ----------
    signature
        Its class, and the names of its parameters, which are in the record from w[16] on.
    event
        Name of the function.
    seen
        Names of what it sees, from w[32] on.
    compiled
        False returns a function in plain Python.
    where
        Where its state is, and what it returns.
    floats
        As of `build_callbacks`.
    """
    kind, names = signature
    fields = getattr(kind, where.state)._fields
    lines = [
        f"def {event}(w):",
        f"    old = State({places(where.first, len(fields))})",
        f"    seen = Seen({places(SEEN_AT, len(seen))})",
        f"    new = rule(old, Params({places(MAX_STATE, len(names))}), seen)",
    ]
    if where.answer is None:
        lines += [f"    w[{where.first + n}] = new.{name}" for n, name in enumerate(fields)]
    else:
        lines += [f"    w[{where.answer}] = new"]
    callbacks = build_callbacks(
        {"rule": getattr(kind, event)},
        {"State": fields, "Params": names, "Seen": seen},
        {event: "\n".join(lines)},
        "void(CPointer(float64))",
        compiled=compiled,
        floats=floats,
    )
    return callbacks[event]


def _on_link(event: Callable[..., None]) -> Callable[..., None]:
    """Return a manager's event in plain Python that takes a link's record."""

    def apply(link: Any) -> None:
        numbers = [link.drop, link.mark, *link.state, *link.parameters, *link.seen]
        event(numbers)
        link.drop, link.mark = numbers[:2]
        link.state[:] = numbers[2:MAX_STATE]

    return apply
