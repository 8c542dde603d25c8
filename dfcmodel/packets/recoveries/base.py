"""Base class of loss recoveries of senders: its fields, events and actions, and the checks of its functions."""

from __future__ import annotations

import itertools
import math
import numbers
from collections import namedtuple
from collections.abc import Iterator
from inspect import Parameter, Signature, getattr_static, signature
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.errors import RuleError, location_of, rule_error

__all__ = [
    "ACTIONS",
    "EVENTS",
    "MAX_OWN_FIELDS",
    "MIN_ALARM",
    "NOTHING",
    "OPTIONAL",
    "READ_ONLY",
    "SENDER_FIELDS",
    "LossRecovery",
    "RecoveryEvent",
    "check_recovery",
    "check_sender",
    "grow_window",
    "limited_transmit",
    "ranges_of",
    "reduce_window",
    "restart_timer",
    "result_in_python",
    "retransmit",
    "sample_states",
    "send_new",
    "set_alarm",
]

EVENTS = ("on_duplicate_ack", "on_ack", "on_timeout", "on_report", "on_alarm")
SENDER_FIELDS = (
    "cwnd", "ssthresh", "snd_una", "snd_nxt", "snd_max", "recover", "dupacks", "recovering",
    "inflation", "pipe", "pipe_limit", "prr_out", "timing", "backoff", "sacked", "highest_sacked",
    "size", "reorder_window",
)  # fmt: skip
"""Fields of a sender that are passed to a recovery, in the order of the compiled engine."""
READ_ONLY = ("snd_una", "snd_max", "sacked", "highest_sacked", "size")
"""Fields that only the engine sets."""
ACTIONS = {
    "resend": -1.0, "burst": math.inf, "reduce": 0.0, "grow": 0.0, "restart": 0.0, "limited": 0.0,
    "fresh": 0.0, "alarm": -1.0,
}  # fmt: skip
"""Fields that request an action of the engine, with their values before each event."""


class RecoveryEvent(NamedTuple):
    """An ACK, a timeout or an alarm, as a recovery's functions get it (``e``): packets, times in s, flags 0 or 1."""

    time: float
    rtt: float
    acked: float
    delivered: float
    newly_lost: float
    timed: float
    unrepaired: float
    ns2: float
    rto_left: float = math.inf
    srtt: float = 0.0
    min_rtt: float = math.inf
    reordered: float = 0.0
    next_loss: float = math.inf


MAX_OWN_FIELDS = 8
"""Maximum number of fields of the ``State`` of a recovery: the room for them in the record of a flow."""


def _sender_type(state_fields: tuple[str, ...]) -> Any:
    """Return the NamedTuple type of a recovery's senders: common fields, actions, then ``state_fields``."""
    return namedtuple("Sender", (*SENDER_FIELDS, *ACTIONS, *state_fields))  # noqa: PYI024


def _signature_of(state: Any) -> Signature:
    """Return the constructor's signature for a recovery: a keyword with default per field of its ``State``."""
    return Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=float)
            for name, default in state._field_defaults.items()
        ]
    )


class LossRecovery:
    """Base class of loss recoveries: a subclass declares its ``State`` and the responses to ACKs and timeouts.

    The engine of the packet level does what all senders have in common: sequence numbers, the round-trip time and the
    retransmission timer (RFC 6298), the window rule, the scoreboard of selective ACKs, and the sending of packets. It
    calls a recovery for duplicate ACKs, for every ACK while the sender is in recovery, and for timeouts. An ACK below
    ``snd_una``, which another ACK has overtaken, is not a duplicate (RFC 5681, 2): without ``selective`` no function is
    called for it. A recovery with ``by_time`` is called for every ACK, and the engine detects losses by time
    (RFC 8985, 6.2).

    The functions take the sender ``s`` and the event ``e`` and return the sender, ``s._replace(...)``. They are
    plain Python that is compiled, with the same restrictions as the functions of `responsefn.WindowRule`; numbers are
    floats. The constructor takes first values of the fields of ``State``.

    ===================  ==========================================================================================
    field of ``s``       meaning (packets, unless stated)
    ===================  ==========================================================================================
    ``cwnd``             congestion window of the window rule
    ``ssthresh``         slow-start threshold
    ``snd_una``          first unacknowledged packet (RFC 9293); read only
    ``snd_nxt``          next packet to send; set it to ``snd_una`` to send everything again
    ``snd_max``          one past the highest packet sent; read only
    ``recover``          highest packet sent before the last reduction of the window (RFC 6582)
    ``dupacks``          duplicate ACKs; 0 after an ACK of new data outside recovery, and after recovery
    ``recovering``       1: in recovery, `on_ack` is called; 0: an ACK of new data grows the window
    ``inflation``        packets added to the window (RFC 5681, 3.2, steps 3 and 4)
    ``pipe``             of a selective recovery: packets taken to be in flight (RFC 6675); each packet sent adds 1
    ``pipe_limit``       up to which ``pipe`` packets are sent in recovery; -1: the window
    ``prr_out``          packets sent in recovery (RFC 6937)
    ``timing``           1: a round trip is being measured; set it to 0 after a retransmission (Karn's algorithm)
    ``backoff``          factor on the retransmission timeout (RFC 6298, 5.5)
    ``sacked``           packets above ``snd_una`` that are selectively acknowledged; read only
    ``highest_sacked``   the highest of them, -1: none; read only
    ``size``             number of packets to send; read only
    ``reorder_window``   of a recovery with ``by_time``: permitted lateness of a packet, s (RFC 8985, RACK.reo_wnd)
    ``burst``            maximum number of packets sent at this ACK; infinite before each event
    ===================  ==========================================================================================

    The fields of ``State`` follow. Further fields are set by the actions `retransmit`, `reduce_window`, `grow_window`,
    `restart_timer`, `limited_transmit`, `send_new` and `set_alarm`.

    ===================  ==========================================================================================
    field of ``e``       meaning
    ===================  ==========================================================================================
    ``time``, ``rtt``    time and round-trip time of this ACK, s
    ``acked``            packets that the ACK acknowledges cumulatively
    ``delivered``        packets that it reports as received, selectively or cumulatively (RFC 6937, DeliveredData)
    ``newly_lost``       holes below ``highest_sacked`` that it shows for the first time; with ``by_time`` transmissions
                         that are declared lost now
    ``timed``            1: it acknowledges the packet whose round trip is measured
    ``unrepaired``       1: lost packets beyond it are not retransmitted yet (``by_time``, rules of deliveries)
    ``ns2``              1: the conventions of ns-2
    ``rto_left``         time to the expiry of the retransmission timer, s; inf: it does not run
    ``srtt``             smoothed round-trip time, s (RFC 6298); 0: none yet
    ``min_rtt``          minimum round-trip time, s, of the connection; with ``by_time``
    ``reordered``        1: it reports a packet that was sent before one reported earlier; with ``by_time``
    ``next_loss``        time at which the next packet is declared lost unless reported, s; inf: none; ``by_time``
    ===================  ==========================================================================================

    When a recovery sets ``recovering`` to 0 at an ACK, the engine treats that ACK as the first one after recovery: it
    measures the round trip if the ACK is timed, restarts or stops the timer, and clears ``dupacks`` and the scoreboard.
    After `on_timeout` the engine backs off and restarts the timer, applies the timeout to the window rule, sets
    ``recover``, and sends again from ``snd_una`` on.

    Attributes
    ----------
    State
        NamedTuple of at most 8 further numbers of state, with defaults.
    Sender
        NamedTuple that the functions take: the fields of every sender, of the actions, and of ``State``.
    selective
        Whether the receiver reports selective ACKs (RFC 2018). In recovery the engine then sends while ``pipe`` is
        below ``pipe_limit``: the lowest hole below ``highest_sacked`` that was not sent again, otherwise new data (RFC
        6675, NextSeg rules 1 and 2).
    by_time
        Whether losses are detected by time (RFC 8985, 6.2, step 5): a packet is lost if a packet sent after it is
        reported, and if it has been in flight for longer than the round trip of that packet plus ``reorder_window``.
        Needs ``selective``. The scoreboard is then kept after a recovery; in recovery the engine retransmits lost
        packets in the order of their detection.
    own
        Initial values of the fields of ``State``.

    Raises
    ------
    ValueError
        For a field of ``State`` that is not a number or has the name of a field above; for a wrong first value.

    Examples
    --------
    Go-back-N: the third duplicate ACK reduces the window and sends everything again.

    >>> from dfcmodel import Packets, simulate, takano2006
    >>> from dfcmodel.recoveries import LossRecovery, reduce_window
    >>> class GoBackN(LossRecovery):
    ...     @staticmethod
    ...     def on_duplicate_ack(s, e):
    ...         if s.dupacks == 3.0 and s.snd_una > s.recover:
    ...             s = reduce_window(s)
    ...             return s._replace(timing=0.0, snd_nxt=s.snd_una)
    ...         return s
    >>> method = Packets(seed=1, recovery=GoBackN())
    >>> run = simulate(takano2006("1", dfc=False, tcp="newreno"), method, duration=0.5)
    >>> bool(run.delivered[0, -1] > 0), run.recoveries[0]
    (True, 'GoBackN()')
    """

    State: ClassVar[Any] = NamedTuple("State", [])
    Sender: ClassVar[Any] = _sender_type(())
    selective: ClassVar[bool] = False
    by_time: ClassVar[bool] = False
    __signature__: ClassVar[Signature] = Signature()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        warn_of_unused_attributes(cls)
        names = getattr(cls.State, "_fields", None)
        if names is None:
            raise ValueError(f"{cls.__name__}.State = {cls.State!r}: must be a NamedTuple")
        if len(names) > MAX_OWN_FIELDS:
            msg = f"must be at most {MAX_OWN_FIELDS}"
            raise ValueError(f"fields of State of {cls.__name__} = {len(names)}: {msg}")
        for name in names:
            if name in SENDER_FIELDS or name in ACTIONS:
                msg = "is a field of every sender; choose another name"
                raise ValueError(f"{cls.__name__}.State.{name}: {msg}")
            if name not in cls.State._field_defaults:
                raise ValueError(f"{cls.__name__}.State.{name}: must have a default")
        for event in EVENTS:
            function = getattr_static(cls, event)
            if not isinstance(function, staticmethod) or len(signature(function.__func__).parameters) != 2:
                msg = "must be a @staticmethod of the sender and the event, (s, e)"
                raise ValueError(f"{cls.__name__}.{event}: {msg}")

        if cls.by_time and not cls.selective:
            msg = "must be False without selective acknowledgements (selective = True)"
            raise ValueError(f"{cls.__name__}.by_time = True: {msg}")
        cls.Sender = _sender_type(names)
        cls.__signature__ = _signature_of(cls.State)

    def __init__(self, **first: float) -> None:
        for name, value in first.items():
            if name not in self.State._fields:
                valid_names = ", ".join(self.State._fields) or "no fields"
                raise ValueError(f"{name} = {value!r}: State of {type(self).__name__} has {valid_names}")
        values: dict[str, Any] = {**self.State._field_defaults, **first}
        class_name = type(self).__name__
        self.own: tuple[float, ...] = tuple(one_number(f"{name} of {class_name}", x) for name, x in values.items())

    def __repr__(self) -> str:
        fields: tuple[str, ...] = self.State._fields
        defaults = self.State._field_defaults
        pairs = zip(fields, self.own, strict=True)
        changed = (f"{name}={value:g}" for name, value in pairs if value != defaults[name])
        return f"{type(self).__name__}({', '.join(changed)})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.own == self.own

    def __hash__(self) -> int:
        return hash((type(self), self.own))

    @staticmethod
    def on_duplicate_ack(s: Any, e: Any) -> Any:
        """Return the sender, here unchanged, after a duplicate ACK, which ``dupacks`` includes already.

        With ``selective`` an ACK is a duplicate if its blocks change the scoreboard. In recovery the function is
        called for every ACK that does not acknowledge new data.
        """
        return s

    @staticmethod
    def on_ack(s: Any, e: Any) -> Any:
        """Return the sender after an ACK of new data in recovery: it ends here; ``snd_una`` is already advanced."""
        return s._replace(recovering=0.0)

    @staticmethod
    def on_timeout(s: Any, e: Any) -> Any:
        """Return the sender, out of recovery, at a timeout; the engine then goes back, backs off, sets the window."""
        return s._replace(recovering=0.0, inflation=0.0, dupacks=0.0)

    @staticmethod
    def on_report(s: Any, e: Any) -> Any:
        """Return the sender, here unchanged, at an ACK with reports, before losses are detected (``by_time`` only).

        Set ``reorder_window`` here; `on_ack` or `on_duplicate_ack` follows, with the losses.
        """
        return s

    @staticmethod
    def on_alarm(s: Any, e: Any) -> Any:
        """Return the sender, here unchanged, when `set_alarm` is due; with ``by_time`` losses are detected before."""
        return s


def retransmit(s: Any, number: float) -> Any:
    """Return the sender with an action: retransmit packet ``number`` at once, regardless of the window.

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, retransmit
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> retransmit(s, 7.0).resend
    7.0
    """
    return s._replace(resend=number)


def reduce_window(s: Any) -> Any:
    """Return the sender with an action: call the window rule for a loss, and set ``recover`` to the last packet sent.

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, reduce_window
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> reduce_window(s).reduce
    1.0
    """
    return s._replace(reduce=1.0)


def grow_window(s: Any) -> Any:
    """Return the sender with an action: call the window rule for this ACK.

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, grow_window
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> grow_window(s).grow
    1.0
    """
    return s._replace(grow=1.0)


def restart_timer(s: Any) -> Any:
    """Return the sender with an action: restart the retransmission timer (RFC 6298, 5.3).

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, restart_timer
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> restart_timer(s).restart
    1.0
    """
    return s._replace(restart=1.0)


def limited_transmit(s: Any) -> Any:
    """Return the sender with an action: send a new packet beyond the window for a duplicate ACK (RFC 3042).

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, limited_transmit
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> limited_transmit(s).limited
    1.0
    """
    return s._replace(limited=1.0)


def send_new(s: Any) -> Any:
    """Return the sender with an action: send a new packet, if any, regardless of the window (RFC 8985, 7.3).

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, send_new
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> send_new(s).fresh
    1.0
    """
    return s._replace(fresh=1.0)


def set_alarm(s: Any, after: float) -> Any:
    """Return the sender with an action: call `LossRecovery.on_alarm` after a time, s, at least 1 ns; inf: never.

    A sender has one alarm; a new one replaces it.

    Examples
    --------
    >>> from dfcmodel.recoveries import LossRecovery, set_alarm
    >>> s = LossRecovery.Sender(*len(LossRecovery.Sender._fields) * [0.0])
    >>> set_alarm(s, 0.2).alarm
    0.2
    """
    return s._replace(alarm=after)


# Checks of the functions of a recovery on sample states, and of the fields that they set in a run.

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
    """Yield (sender, event) pairs for tests, in and out of recovery; ``State`` has its defaults, or 2 in all fields."""
    state_defaults = kind.State._field_defaults
    for first in (state_defaults, dict.fromkeys(state_defaults, 2.0)):
        for values in itertools.product(*VARIED.values()):
            varied = dict(zip(VARIED, values, strict=True))
            s = kind.Sender(**SAMPLE, **varied, **first)
            yield s, RecoveryEvent(3.0, 0.1, 2.0, 3.0, 1.0, 1.0, 0.0, 0.0, 0.4, 0.1, 0.05, 1.0, 3.1)


def check_recovery(kind: type[LossRecovery]) -> None:
    """Run a recovery's functions on sample states in plain Python; RuleError if one is invalid; once per class.

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
    """Return the sender that function ``event`` returns; None after an ArithmeticError; RuleError for an invalid one.

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
    """Raise `RuleError`, at ``location``, if a field that a recovery has set is out of its range.

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
    """Return (minimum, maximum) of each field that a recovery may set; any number for fields of its ``State``."""
    state_ranges = dict.fromkeys(fields[len(SENDER_FIELDS) + len(ACTIONS) :], (-math.inf, math.inf))
    return {**RANGES, **state_ranges}


def _bound_value(bound: Bound, s: Any) -> float:
    """Return the value of a bound, a number or (field, offset), for a sender."""
    return float(getattr(s, bound[0])) + bound[1] if isinstance(bound, tuple) else bound
