"""Rate rules: senders that set a rate instead of a window."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.units import WithUnit, quantities
from responsefn.closed_forms.printed import formula_of
from responsefn.response import Response

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Elapsed",
    "Feedback",
    "FromNetwork",
    "NoLossRate",
    "RateRule",
    "needs_base_rtt",
    "notifications_place",
    "sees_telemetry",
    "window_place",
    "with_base_rtt",
]


MAX_TELEMETRY = 4  # numerical
"""Maximum number of telemetry values of each link."""


class Feedback(NamedTuple):
    """Acknowledgements at one time, the event of a rate rule's `on_feedback` and of `WindowRule.on_mark`.

    Attributes
    ----------
    time, rtt
        Time and round-trip time in s.
    acks, marks
        Acknowledged packets, and the number of them with a congestion mark (ECN). A fluid has fractions of
        packets; marks of one packet sum to one.

    Examples
    --------
    >>> from responsefn import Feedback
    >>> Feedback(time=1.5, rtt=0.1, acks=2.0, marks=1.0).marks
    1.0
    """

    time: float
    rtt: float
    acks: float
    marks: float


class Elapsed(NamedTuple):
    """A step of a rate rule's clocks.

    Attributes
    ----------
    time, step
        End and length of the step in s.
    sent
        Packets sent in it.

    Examples
    --------
    >>> from responsefn import Elapsed
    >>> Elapsed(time=1.5, step=1e-6, sent=0.8).sent
    0.8
    """

    time: float
    step: float
    sent: float


class FromNetwork(float):
    """A parameter that a network set; another network replaces it."""


class RateRule(Response, ABC):
    """Base of rules for a sending rate: subclass it, name the parameters, write the updates.

    The functions are plain Python that also compiles, as in a `WindowRule`. They use the state
    ``s``, the parameters ``q``, the event ``e``, functions of `math`, numbers, and branches, and return the
    new state. Packets are sent evenly at the rate. Lost packets are sent again at packet level (``dfcmodel.Packets``,
    ``recovery``), but not in the fluid.

    Attributes
    ----------
    State
        NamedTuple of the state; ``rate``, in packets/s, comes first. A field ``line_rate`` starts at the rate of the
        path's first link, in packets/s, as ``rate`` does. A field ``window`` limits the packets in flight at packet
        level: a new packet is sent only while fewer are unacknowledged. A field ``notifications`` counts the congestion
        notifications that the sender has received; results contain it.
    Params
        NamedTuple of the parameters; parameters with a default come last. Values in bits or bytes, such as
        ``"40Mbps"``, are converted to the packets of the network. A parameter ``base_rtt`` that is None becomes the
        longest round-trip time without queues in the network, s, among the flows with such rules.
    telemetry
        Names of at most 4 numbers that `on_telemetry` receives from each link, a prefix of the link's
        ``dfcmodel.SwitchProgram.telemetry``.
    dynamics
        Updates of the rate in LaTeX.

    Examples
    --------
    A sender that loses a tenth of its rate with each marked packet, and gains 1000 packets/s each second:

    >>> from typing import NamedTuple
    >>> from responsefn import Feedback, RateRule
    >>> class Simple(RateRule):
    ...     class Params(NamedTuple):
    ...         gain: float = 1000.0
    ...     @staticmethod
    ...     def on_feedback(s, q, e): return s._replace(rate=s.rate * 0.9**e.marks)
    ...     @staticmethod
    ...     def on_time(s, q, e): return s._replace(rate=s.rate + q.gain * e.step)
    >>> rule = Simple()
    >>> state = rule.start(line_rate=1e4)
    >>> rule.on_feedback(state, rule.params, Feedback(0.1, 1e-3, acks=3.0, marks=1.0)).rate
    9000.0
    """

    class State(NamedTuple):
        """Sending rate in packets/s."""

        rate: float = math.inf

    catalogue_kind: ClassVar[str] = "rate rule"
    solved_by: ClassVar[str] = "fixed point"
    stated_functions: ClassVar[tuple[str, ...]] = ("on_feedback", "on_time", "on_telemetry")
    telemetry: ClassVar[tuple[str, ...]] = ()
    is_constant: ClassVar[bool] = False
    """Whether the rate never changes, so that engines skip ACKs and time steps.

    A class that defines `on_time`, `on_feedback` or `start`, but not this attribute, has False."""
    is_idle_until_marked: ClassVar[bool] = False
    """Whether the state does not change before the first mark.

    Neither `on_time` nor `on_feedback` without marks changes the state that `start` returns. The state after the first
    mark does not depend on earlier packets. Large fabrics then call neither until that mark. A class that
    defines one of the three functions, but not this attribute, has False."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Check that a rule names its telemetry."""
        super().__init_subclass__(**keywords)
        warn_of_unused_attributes(cls)
        if {"on_time", "on_feedback", "start"} & vars(cls).keys():
            cls.is_idle_until_marked = bool(vars(cls).get("is_idle_until_marked", False))
            cls.is_constant = bool(vars(cls).get("is_constant", False))
        names: Any = cls.telemetry
        is_named = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
        if not is_named or not int(sees_telemetry(cls)) <= len(names) <= MAX_TELEMETRY:
            msg = f"must be the names of the numbers that on_telemetry sees, 1 to {MAX_TELEMETRY}"
            raise TypeError(f"telemetry of {cls.__name__} = {names!r}: {msg}")

    @staticmethod
    @abstractmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Return the state after acknowledgements; ``e`` is `Feedback`."""

    @staticmethod
    def on_time(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a step of time, with or without acknowledgements; ``e`` is `Elapsed`.

        It is for timers and for counters of sent packets. The default returns the state unchanged.
        """
        return s

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the telemetry of a link in an acknowledgement.

        The class of ``e`` is `telemetry_event`'s. The function is called for each link of the path that writes
        telemetry into packets, in path order, before `on_feedback`. It needs the packet level and a switch program with
        ``telemetry``. The first packet of a flow is skipped, and a packet that left the link before an earlier record.
        """
        return s

    def path_mismatch(self, line_rate: float, rtt: float) -> str:  # noqa: ARG002
        """Return a clause on a parameter that does not suit a path, which `Trajectory.limits` reports; empty: none.

        Parameters
        ----------
        line_rate
            Rate of the path's first link, packets/s.
        rtt
            Round-trip time of a packet without queues, s.

        Examples
        --------
        >>> from responsefn import HPCC
        >>> HPCC(base_rtt=13e-6).path_mismatch(line_rate=12.5e6, rtt=8e-6)
        ''
        """
        return ""

    @classmethod
    def telemetry_event(cls) -> Any:
        """Return the class of the telemetry of one link in an acknowledgement.

        The telemetry comes from the records of two packets of the flow. The class is a named tuple with these
        fields:

        - ``time`` of the acknowledgement, s
        - ``hop``, the index of the link among the links with telemetry, 0.0 for the first on the path
        - ``interval`` between the departures of both packets from the link, s, > 0
        - the names in ``telemetry``, the link's values in this packet
        - the same names with the prefix ``last_``, its values in the previous packet

        Examples
        --------
        >>> from responsefn import HPCC
        >>> HPCC.telemetry_event()._fields[:5]
        ('time', 'hop', 'interval', 'sent', 'queue')
        >>> HPCC.telemetry_event()._fields[5:]
        ('capacity', 'last_sent', 'last_queue', 'last_capacity')
        """
        last = [f"last_{name}" for name in cls.telemetry]
        return namedtuple("Telemetry", ["time", "hop", "interval", *cls.telemetry, *last])  # noqa: PYI024

    def __eq__(self, other: object) -> bool:
        """Return whether parameters and their packet sizes are equal.

        Values in bits or bytes are no numbers of packets.
        """
        return super().__eq__(other) and _sizes(self) == _sizes(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def _has_default(self, name: str) -> bool:
        """Return whether a parameter has its default, or a network set it."""
        return isinstance(getattr(self.params, name), FromNetwork) or super()._has_default(name)

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender at ``line_rate`` in packets/s."""
        state = self.State()
        rates = {"rate": line_rate, "line_rate": line_rate}
        return state._replace(**{k: v for k, v in rates.items() if k in self.State._fields})

    def expected(self) -> RateRule | None:
        """Return the rule for the expected change of this rule, with fractional marks; None if there is none.

        `dfcmodel.Fluid` runs it with ``marks="expected"``. Its `on_feedback` gets fractions of packets and marks,
        whose ratio is the probability of a mark.

        >>> from responsefn import DCQCN, TIMELY
        >>> DCQCN().expected() is not None, TIMELY().expected()
        (True, None)
        """
        return None

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return whether the rule has a closed form."""
        return formula_of(self) is not None


def _sizes(rule: Any) -> list[float]:
    """Return the packet size in bytes for which each parameter holds; 0 for any."""
    return [getattr(value, "packet_size", 0.0) for value in rule.params]


def needs_base_rtt(rule: object) -> bool:
    """Return whether the network sets the ``base_rtt`` of a source.

    >>> from responsefn import HPCC
    >>> needs_base_rtt(HPCC()), needs_base_rtt(HPCC(base_rtt=1e-5))
    (True, False)
    """
    base_rtt = getattr(rule.params, "base_rtt", 0.0) if isinstance(rule, RateRule) else 0.0
    return base_rtt is None or isinstance(base_rtt, FromNetwork)


def with_base_rtt(rule: RateRule, rtt: float) -> RateRule:
    """Return a rule with the round-trip time of a network in s, if it needs one; another network replaces it."""
    if not needs_base_rtt(rule) or rule.params.base_rtt == rtt:
        return rule
    return _with_derived_parameters(rule, {"base_rtt": FromNetwork(rtt)})


def _with_derived_parameters(rule: RateRule, changes: dict[str, float]) -> RateRule:
    """Return a rule with other parameters that do not count as given; without changes, the rule itself."""
    if not changes:
        return rule
    stated, changed = rule._given, rule.replace(**changes)
    object.__setattr__(changed, "_given", stated)
    return changed


def window_place(rule: type) -> int:
    """Return the index of the State field that limits packets in flight; 0 without one."""
    return _field_index(rule, "window")


def notifications_place(rule: type) -> int:
    """Return the index of the State field that counts congestion notifications; 0 without one.

    >>> from responsefn import DCQCN, HPCC
    >>> DCQCN.State._fields[notifications_place(DCQCN)], notifications_place(HPCC)
    ('notifications', 0)
    """
    return _field_index(rule, "notifications") if issubclass(rule, RateRule) else 0


def _field_index(rule: type, field: str) -> int:
    fields: tuple[str, ...] = rule.State._fields  # type: ignore[attr-defined]
    return fields.index(field) if field in fields else 0


def sees_telemetry(rule: type) -> bool:
    """Return whether a class is a rate rule with its own `RateRule.on_telemetry`."""
    return issubclass(rule, RateRule) and rule.on_telemetry is not RateRule.on_telemetry


class NoLossRate(RateRule):
    """Base of rate rules without a response function of a loss rate."""

    capacity: ClassVar[str] = "needed"
    solved_by: ClassVar[str] = "none"
    monotone = False
    why_no_inverse = "it has no response function of a loss rate"
    follows: ClassVar[str]
    """Signal that determines the rate, for messages."""

    @quantities(rtt="time", bandwidth="rate", p="share")
    def rate(
        self,
        p: ArrayLike,  # noqa: ARG002
        rtt: ArrayLike = 1.0,  # noqa: ARG002
        bandwidth: WithUnit | None = None,  # noqa: ARG002
        *,
        unit_check: bool = True,  # noqa: ARG002
    ) -> float | NDArray[Any]:
        """Raise ValueError: the rate does not depend on losses."""
        why = f"has no response function of a loss rate: it follows {self.follows}"
        raise ValueError(f"{self!r}: {why}; simulate it, dfcmodel.simulate")
