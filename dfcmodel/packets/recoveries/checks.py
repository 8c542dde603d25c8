"""Checks of loss recoveries: their functions on sample states, and ranges of the fields that they set in a run."""

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

Bound = float | tuple[str, float]
"""A bound of a range: a number, or a field of the sender plus a number."""
MAX_SEQUENCE_NUMBER = 2.0**31 - 1.0
"""Maximum sequence number, packets."""
POSITIVE = math.ulp(0.0)
MIN_ALARM = 1e-9
"""Minimum time of an alarm, s: shorter ones could repeat without an advance of time."""
OPTIONAL = ("resend", "alarm")
"""Actions that are not requested if the field is `NOTHING`."""
INTEGER_FIELDS = ("snd_nxt", "recover", "dupacks", "recovering", "timing", "resend")
"""Fields that are integers in the record of a flow."""
NOTHING = ACTIONS["resend"]
LAST_SENT = ("snd_max", -1.0)
RANGES: dict[str, tuple[Bound, Bound]] = {
    "cwnd": (POSITIVE, math.inf),
    "ssthresh": (POSITIVE, math.inf),
    "snd_nxt": (("snd_una", 0.0), ("snd_max", 0.0)),
    "recover": (-2.0, LAST_SENT),
    "dupacks": (0.0, MAX_SEQUENCE_NUMBER),
    "recovering": (0.0, 1.0),
    "inflation": (0.0, MAX_SEQUENCE_NUMBER),
    "pipe": (-MAX_SEQUENCE_NUMBER, MAX_SEQUENCE_NUMBER),
    "pipe_limit": (-1.0, MAX_SEQUENCE_NUMBER),
    "prr_out": (-MAX_SEQUENCE_NUMBER, MAX_SEQUENCE_NUMBER),
    "timing": (0.0, 1.0),
    "backoff": (1.0, math.inf),
    "resend": (("snd_una", 0.0), LAST_SENT),
    "burst": (0.0, math.inf),
    "reorder_window": (0.0, MAX_SEQUENCE_NUMBER),
    "alarm": (MIN_ALARM, math.inf),
}
"""Ranges of the fields that a recovery sets, for compiled functions as well."""
SAMPLE = {
    "cwnd": 12.5, "ssthresh": 20.0, "snd_nxt": 60.0, "snd_max": 60.0, "inflation": 1.0, "pipe": 9.0,
    "pipe_limit": -1.0, "prr_out": 2.0, "timing": 1.0, "backoff": 2.0, "sacked": 4.0,
    "highest_sacked": 50.0, "size": 1000.0, "reorder_window": 0.0, **ACTIONS,
}  # fmt: skip
"""Fields with one value in all sample states."""
VARIED = {
    "snd_una": (1.0, 40.0),
    "recover": (-2.0, 0.0, 39.0, 55.0),
    "dupacks": (1.0, 3.0, 7.0),
    "recovering": (0.0, 1.0),
}
REMEDY = "a function takes a sender and an event, and returns s._replace(...)"
_checked: set[type[LossRecovery]] = set()


def sample_states(kind: type[LossRecovery]) -> Iterator[tuple[Any, RecoveryEvent]]:
    """Yield senders and events in and outside of recovery, with the default ``State`` and with another one."""
    state_defaults = kind.State._field_defaults
    for first in (state_defaults, dict.fromkeys(state_defaults, 2.0)):
        for values in itertools.product(*VARIED.values()):
            varied = dict(zip(VARIED, values, strict=True))
            s = kind.Sender(**SAMPLE, **varied, **first)
            yield s, RecoveryEvent(3.0, 0.1, 2.0, 3.0, 1.0, 1.0, 0.0, 0.0, 0.4, 0.1, 0.05, 1.0, 3.1)


def check_recovery(kind: type[LossRecovery]) -> None:
    """Run the functions of a recovery on sample states in plain Python, once per class.

    Raises
    ------
    RuleError
        Naming the function with its line, and the state.
    """
    if kind in _checked:
        return
    for event in EVENTS:
        for before, e in sample_states(kind):
            result_in_python(kind, event, before, e)
    _checked.add(kind)


def result_in_python(kind: type[LossRecovery], event: str, before: Any, e: RecoveryEvent) -> Any:
    """Return the sender after a function of a recovery; None if its arithmetic fails in this state.

    Raises
    ------
    RuleError
        When the function raises another exception, or returns no sender of numbers.
    """
    function = getattr(kind, event)
    function_name = f"{kind.__name__}.{event}"
    state = ", ".join(f"{name} = {getattr(before, name):g}" for name in VARIED)
    try:
        new = function(before, e)
    except ArithmeticError:  # a run may never reach this state
        return None
    except Exception as error:
        raise rule_error(error, function, f"{function_name} at {state}", REMEDY) from error
    location = location_of(function)
    if getattr(new, "_fields", None) != kind.Sender._fields:
        raise RuleError.at(location, f"{function_name} returns {new!r} at {state}", REMEDY)
    for name, value in zip(new._fields, new, strict=True):
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise RuleError.at(location, f"{function_name} returns {name} = {value!r} at {state}: must be a number")
        if name in INTEGER_FIELDS and value % 1.0 != 0.0:
            raise RuleError.at(
                location, f"{function_name} returns {name} = {value!r} at {state}: must be a whole number"
            )
        if name in READ_ONLY and value != getattr(before, name):
            raise RuleError.at(location, f"{function_name} sets {name}, which is read only")
    return new


def check_sender(recovery: LossRecovery | str, s: Any, location: str) -> None:
    """Raise `RuleError` if a field that a recovery has set is out of its range.

    Parameters
    ----------
    recovery
        The recovery whose function returned ``s``.
    s
        The sender.
    location
        Scenario, flow and time, for the message.

    Raises
    ------
    RuleError
        Naming the field, its value and the allowed range.
    """
    ranges = {
        name: tuple(_bound_value(bound, s) for bound in bounds)
        for name, bounds in ranges_of(s._fields).items()
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
            raise RuleError(f"{location}: {recovery!r} returns {name} = {value:g}: must be {allowed}")


def ranges_of(fields: tuple[str, ...]) -> dict[str, tuple[Bound, Bound]]:
    """Return the ranges of the fields that a recovery may set; fields of its ``State`` may be any number."""
    state_ranges = dict.fromkeys(fields[len(SENDER_FIELDS) + len(ACTIONS) :], (-math.inf, math.inf))
    return {**RANGES, **state_ranges}


def _bound_value(bound: Bound, s: Any) -> float:
    """Return the value of a bound for a sender."""
    return float(getattr(s, bound[0])) + bound[1] if isinstance(bound, tuple) else bound
