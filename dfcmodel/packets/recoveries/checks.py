"""Checks of loss recoveries: their functions on sample states, and ranges of what they return in a run."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterator
from typing import Any

from dfcmodel.packets.recoveries.base import (
    ACTIONS,
    EVENTS,
    READ_ONLY,
    SENDER_FIELDS,
    LossRecovery,
    RecoveryEvent,
)
from hopflow.errors import RuleError, location_of, rule_error

__all__ = [
    "NOTHING",
    "OPTIONAL",
    "check_recovery",
    "check_sender",
    "ranges_of",
    "result_in_python",
    "sample_states",
]

End = float | tuple[str, float]
"""An end of a range: a number, or a field and what is added to it."""
LARGEST = 2.0**31 - 1.0
"""Packets: the range of sequence numbers."""
POSITIVE = math.ulp(0.0)
SHORTEST_ALARM = 1e-9
"""In s: shorter ones could come again and again at one time."""
OPTIONAL = ("resend", "alarm")
"""Actions that `NOTHING` leaves out."""
WHOLE = ("snd_nxt", "recover", "dupacks", "recovering", "timing", "resend")
"""Fields that are whole numbers in the record of a flow."""
NOTHING = ACTIONS["resend"]
LAST_SENT = ("snd_max", -1.0)
RANGES: dict[str, tuple[End, End]] = {
    "cwnd": (POSITIVE, math.inf),
    "ssthresh": (POSITIVE, math.inf),
    "snd_nxt": (("snd_una", 0.0), ("snd_max", 0.0)),
    "recover": (-2.0, LAST_SENT),
    "dupacks": (0.0, LARGEST),
    "recovering": (0.0, 1.0),
    "inflation": (0.0, LARGEST),
    "pipe": (-LARGEST, LARGEST),
    "pipe_limit": (-1.0, LARGEST),
    "prr_out": (-LARGEST, LARGEST),
    "timing": (0.0, 1.0),
    "backoff": (1.0, math.inf),
    "resend": (("snd_una", 0.0), LAST_SENT),
    "burst": (0.0, math.inf),
    "reorder_window": (0.0, LARGEST),
    "alarm": (SHORTEST_ALARM, math.inf),
}
"""Ranges of what a recovery may set; compiled functions are checked by them too."""
SAMPLE = {
    "cwnd": 12.5, "ssthresh": 20.0, "snd_nxt": 60.0, "snd_max": 60.0, "inflation": 1.0, "pipe": 9.0,
    "pipe_limit": -1.0, "prr_out": 2.0, "timing": 1.0, "backoff": 2.0, "sacked": 4.0,
    "highest_sacked": 50.0, "size": 1000.0, "reorder_window": 0.0, **ACTIONS,
}  # fmt: skip
"""What all sample states have in common."""
VARIED = {
    "snd_una": (1.0, 40.0),
    "recover": (-2.0, 0.0, 39.0, 55.0),
    "dupacks": (1.0, 3.0, 7.0),
    "recovering": (0.0, 1.0),
}
REMEDY = "a function takes a sender and an event, and returns s._replace(...)"
_checked: set[type[LossRecovery]] = set()


def sample_states(kind: type[LossRecovery]) -> Iterator[tuple[Any, RecoveryEvent]]:
    """Yield senders and events, in and outside of recovery, with the recovery's first state and another one."""
    own = kind.State._field_defaults
    for first in (own, dict.fromkeys(own, 2.0)):
        for values in itertools.product(*VARIED.values()):
            varied = dict(zip(VARIED, values, strict=True))
            s = kind.Sender(**SAMPLE, **varied, **first)
            yield s, RecoveryEvent(3.0, 0.1, 2.0, 3.0, 1.0, 1.0, 0.0, 0.0, 0.4, 0.1, 0.05, 1.0, 3.1)


def check_recovery(kind: type[LossRecovery]) -> None:
    """Run the functions of a recovery on sample states in plain Python, once.

    Raises
    ------
    RuleError
        Naming the function with its line, and the state.
    """
    if kind in _checked:
        return
    for event in EVENTS:
        for before, seen in sample_states(kind):
            result_in_python(kind, event, before, seen)
    _checked.add(kind)


def result_in_python(kind: type[LossRecovery], event: str, before: Any, seen: RecoveryEvent) -> Any:
    """Return the sender after a function of a recovery; None where the state makes its arithmetic fail.

    Raises
    ------
    RuleError
        When the function raises another exception, or returns no sender of numbers.
    """
    function = getattr(kind, event)
    said = f"{kind.__name__}.{event}"
    state = ", ".join(f"{name} = {getattr(before, name):g}" for name in VARIED)
    try:
        new = function(before, seen)
    except ArithmeticError:  # a run need not come to this state
        return None
    except Exception as error:
        raise rule_error(error, function, f"{said} at {state}", REMEDY) from error
    place = location_of(function)
    if getattr(new, "_fields", None) != kind.Sender._fields:
        raise RuleError.at(place, f"{said} returns {new!r} at {state}", REMEDY)
    for name, value in zip(new._fields, new, strict=True):
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise RuleError.at(place, f"{said} returns {name} = {value!r} at {state}: must be a number")
        if name in WHOLE and value % 1.0 != 0.0:
            raise RuleError.at(place, f"{said} returns {name} = {value!r} at {state}: must be a whole number")
        if name in READ_ONLY and value != getattr(before, name):
            raise RuleError.at(place, f"{said} sets {name}, which is read only")
    return new


def check_sender(recovery: LossRecovery | str, s: Any, place: str) -> None:
    """Raise RuleError where a field that a recovery has set is out of its range.

    Parameters
    ----------
    recovery
        Whose function has returned ``s``.
    s
        The sender.
    place
        Scenario, flow and time, for the message.

    Raises
    ------
    RuleError
        Naming the field, its value and what is allowed.
    """
    ranges = {
        name: tuple(_value(end, s) for end in ends)
        for name, ends in ranges_of(s._fields).items()
        if name not in OPTIONAL or getattr(s, name) != NOTHING
    }
    for name, (low, high) in ranges.items():
        value = getattr(s, name)
        if not low <= value <= high:
            allowed = f"from {low:g} to {high:g}" if high < math.inf else f"at least {low:g}"
            if low == POSITIVE:
                allowed = "above 0"
            elif low == -math.inf:
                allowed = "a number"
            raise RuleError(f"{place}: {recovery!r} returns {name} = {value:g}: must be {allowed}")


def ranges_of(fields: tuple[str, ...]) -> dict[str, tuple[End, End]]:
    """Return the ranges of the fields that a recovery may set, its own among them, which must be numbers."""
    own = dict.fromkeys(fields[len(SENDER_FIELDS) + len(ACTIONS) :], (-math.inf, math.inf))
    return {**RANGES, **own}


def _value(end: End, s: Any) -> float:
    """Return the end of a range."""
    return float(getattr(s, end[0])) + end[1] if isinstance(end, tuple) else end
