"""Loss recoveries as data: compiled apart, called by address from the compiled engine.

An event applies a function of a recovery to an array of numbers, ``w``: the fields of the sender, the actions, the rest
of the event, and the recovery's own state. Time, round-trip time, ``acked`` and ``delivered`` are its other arguments.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.packets.recoveries.base import (
    ACTIONS,
    EVENTS,
    SENDER_FIELDS,
    RecoveryEvent,
)
from dfcmodel.packets.recoveries.checks import check_recovery, result_in_python, sample_states
from hopflow.kernels import build_callbacks
from hopflow.kernels.source import KernelError
from responsefn.responses.rule_compilation import SIGNATURE
from responsefn.responses.rule_events import places

if TYPE_CHECKING:
    from dfcmodel.packets.recoveries.base import LossRecovery

__all__ = ["FIRST_OWN", "recovery_events", "sender_of"]

WRITTEN = len(SENDER_FIELDS) + len(ACTIONS)
"""Numbers of a sender before its own state."""
FIRST_OWN = WRITTEN + len(RecoveryEvent._fields) - 4
"""Place of the first number of a recovery's own state."""
_checked: dict[tuple[type[Any], str], Any] = {}
"""Compiled functions that were compared with plain Python."""


def recovery_events(kinds: Iterable[type[LossRecovery]], *, compiled: bool = True) -> Any:
    """Return the events of loss recoveries, shape (recoveries, 3), in the order of `EVENTS`: addresses, or functions.

    Raises
    ------
    RuleError
        When a function does not return a sender, in plain Python.
    KernelError
        Naming the function that cannot be compiled, or that gives other numbers when it is compiled.
    """
    given = tuple(kinds)
    for kind in given:
        check_recovery(kind)
    table = np.zeros((max(1, len(given)), len(EVENTS)), dtype=np.uint64 if compiled else object)
    for row, kind in zip(table, given, strict=False):
        callbacks = _callbacks(kind, compiled)
        for n, event in enumerate(EVENTS):
            if compiled:
                _check(kind, event, callbacks[event])
            row[n] = callbacks[event].address if compiled else callbacks[event]
    return table


def sender_of(recovery: LossRecovery, numbers: Any) -> Any:
    """Return the sender whose numbers an event has written."""
    own = numbers[FIRST_OWN : FIRST_OWN + len(recovery.own)]
    return recovery.Sender(*numbers[:WRITTEN].tolist(), *own.tolist())


def _callbacks(kind: type[LossRecovery], compiled: bool) -> dict[str, Any]:
    """Return the events of a recovery by name."""
    own = len(kind.State._fields)
    sender = places(0, WRITTEN) + places(FIRST_OWN, own)
    seen = f"time, rtt, acked, delivered, {places(WRITTEN, len(RecoveryEvent._fields) - 4)}"
    targets = [*range(WRITTEN), *range(FIRST_OWN, FIRST_OWN + own)]
    fields = kind.Sender._fields
    adapters = {
        event: "\n".join(
            [
                f"def {event}(w, time, rtt, acked, delivered):",
                f"    new = recovery_{event}(State({sender}), Event({seen}))",
                *(f"    w[{n}] = new.{name}" for n, name in zip(targets, fields, strict=True)),
            ]
        )
        for event in EVENTS
    }
    return build_callbacks(
        {f"recovery_{event}": getattr(kind, event) for event in EVENTS},
        {"State": fields, "Event": RecoveryEvent._fields},
        adapters,
        SIGNATURE,
        compiled=compiled,
        floats=True,
    )


def _check(kind: type[LossRecovery], event: str, callback: Any) -> None:
    """Compare a compiled function with plain Python on the sample states, once per compilation."""
    key = kind, event
    if _checked.get(key) is callback:
        return
    own = slice(FIRST_OWN, FIRST_OWN + len(kind.State._fields))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_double] * 4)(callback.address)
    for before, seen in sample_states(kind):
        expected = result_in_python(kind, event, before, seen)
        if expected is None:
            continue
        numbers = np.array([*before[:WRITTEN], *seen[4:], *before[WRITTEN:]], dtype=float)
        call(numbers.ctypes.data, *seen[:4])
        found = np.append(numbers[:WRITTEN], numbers[own])
        if not np.array_equal(found, np.array(expected, dtype=float)):
            msg = "compiled, it returns other numbers than in plain Python, for"
            raise KernelError(f"{kind.__name__}.{event}: {msg} {before}")
    _checked[key] = callback
