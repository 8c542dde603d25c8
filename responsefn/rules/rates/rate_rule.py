"""Rate rules: senders that set a rate instead of a window."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import namedtuple
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.units import WithUnit, quantities
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


MOST_TELEMETRY = 4  # numerical
"""Numbers that a rule may see of each link."""


class Feedback(NamedTuple):
    """What the acknowledgements that come at a time tell a rate rule, or `WindowRule.on_mark`.

    Attributes
    ----------
    time, rtt
        In s.
    acks, marks
        Packets acknowledged, and how many of them carry a congestion mark (ECN). A fluid has parts of
        packets; marks of one packet add up to one.

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
        The end of the step and its length, s.
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
    """A number that a network gave to a rule: another network gives it another one."""


class RateRule(Response, ABC):
    """Base of rules for a sending rate: subclass it, name the parameters, write the updates.

    The functions are plain Python that also compiles, like those of a `WindowRule`: they use the state
    ``s``, the parameters ``q``, the event ``e``, functions of `math`, numbers, and branches, and return the
    new state. Packets are sent evenly at the rate. What is lost is sent again at packet level (``dfcmodel.Packets``,
    ``recovery``), in the fluid it is not.

    Attributes
    ----------
    State
        NamedTuple of the state; ``rate``, in packets/s, comes first. A field ``line_rate`` starts at the
        rate of the path's first link, in packets/s, as ``rate`` does. A field ``window`` bounds the packets in flight, at
        packet level: a new packet is sent only while fewer are sent beyond the last one acknowledged. A field ``notifications``
        counts the congestion notifications that the sender has got; results have it.
    Params
        NamedTuple of the parameters, those with a default last. Those that are given in bits or bytes, such as ``"40Mbps"``,
        are converted to the packets of the network. A parameter ``base_rtt`` that is None is the longest round-trip time
        without queues in the network, s, among the flows with such rules.
    telemetry
        Names of the numbers, at most 4, which `on_telemetry` sees of each link: the first ones of
        ``dfcmodel.SwitchProgram.telemetry`` there.
    dynamics
        What the rule does, in LaTeX.

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
    telemetry: ClassVar[tuple[str, ...]] = ()
    is_constant: ClassVar[bool] = False
    """Whether the rate never changes, so that nothing has to be told of ACKs and time."""
    is_idle_until_marked: ClassVar[bool] = False
    """Whether nothing changes before the first mark: neither `on_time` nor `on_feedback` without marks changes the state that
    `start` returns, and the first mark leaves the same state whatever was sent before. Large fabrics then call neither until
    that mark. A class that has one of the three functions, but not this attribute, has False."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Check that a rule names the telemetry that it follows."""
        super().__init_subclass__(**given)
        if {"on_time", "on_feedback", "start"} & vars(cls).keys():
            cls.is_idle_until_marked = bool(vars(cls).get("is_idle_until_marked", False))
        names: Any = cls.telemetry
        is_named = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
        if not is_named or not int(sees_telemetry(cls)) <= len(names) <= MOST_TELEMETRY:
            msg = f"must be the names of the numbers that on_telemetry sees, 1 to {MOST_TELEMETRY}"
            raise TypeError(f"telemetry of {cls.__name__} = {names!r}: {msg}")

    @staticmethod
    @abstractmethod
    def on_feedback(s: Any, q: Any, e: Any) -> Any:
        """Return the state after acknowledgements have come; ``e`` is `Feedback`."""

    @staticmethod
    def on_time(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a step of time, whether anything came in it; ``e`` is `Elapsed`.

        Timers and counters of what was sent are here. Unless a rule says otherwise nothing happens.
        """
        return s

    @staticmethod
    def on_telemetry(s: Any, q: Any, e: Any) -> Any:
        """Return the state after the telemetry of a link in an acknowledgement; ``e`` is of the class that `telemetry_event` returns.

        It is called for each link of the path that writes telemetry into packets, in their order, before
        `on_feedback` sees the acknowledgement. At packet level, with a switch program that has ``telemetry``.
        The first packet of a flow is not seen, and none that left the link before one that was.
        """
        return s

    @classmethod
    def telemetry_event(cls) -> Any:
        """Return the class of what an acknowledgement tells the rule of one link, from the records of two packets of its flow.

        It is a named tuple with these fields: ``time``, when the acknowledgement comes, s; ``hop``, which of the links that
        write telemetry it is, 0.0 the first on the path; ``interval``, between the times at which the two packets left the
        link, s, > 0; the names in ``telemetry``, what the link wrote into the packet; and these with ``last_`` before them,
        what it wrote into the packet before.

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
        """Return whether parameters are equal, in packets of any size: what is given in bits or bytes is no number of packets."""
        return super().__eq__(other) and _sizes(self) == _sizes(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def _has_default(self, name: str) -> bool:
        """Return whether a parameter has its default, or was given by a network."""
        return isinstance(getattr(self.params, name), FromNetwork) or super()._has_default(name)

    def start(self, line_rate: float) -> Any:
        """Return the state of a new sender: it sends at ``line_rate``, in packets/s."""
        state = self.State()
        known = {"rate": line_rate, "line_rate": line_rate}
        return state._replace(**{k: v for k, v in known.items() if k in self.State._fields})

    def expected(self) -> RateRule | None:
        """Return the rule that changes as this one does on average, for marks of parts of packets; None: not stated.

        It is what `dfcmodel.Fluid` runs with ``marks="expected"``. Its `on_feedback` gets packets and marks as
        parts of packets, whose ratio is the probability of a mark.

        >>> from responsefn import DCQCN, TIMELY
        >>> DCQCN().expected() is not None, TIMELY().expected()
        (True, None)
        """
        return None

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return whether there is a closed form of the rate: only where a rule states one."""
        return self.formula() is not None


def _sizes(rule: Any) -> list[float]:
    """Return the bytes of the packets for which each parameter holds; 0 for any."""
    return [getattr(value, "packet_size", 0.0) for value in rule.params]


def needs_base_rtt(rule: object) -> bool:
    """Return whether the network gives a source its ``base_rtt``.

    >>> from responsefn import HPCC
    >>> needs_base_rtt(HPCC()), needs_base_rtt(HPCC(base_rtt=1e-5))
    (True, False)
    """
    given = getattr(rule.params, "base_rtt", 0.0) if isinstance(rule, RateRule) else 0.0
    return given is None or isinstance(given, FromNetwork)


def with_base_rtt(rule: RateRule, rtt: float) -> RateRule:
    """Return a rule with the round-trip time of a network in s, if it needs one; the next network gives another one."""
    if not needs_base_rtt(rule) or rule.params.base_rtt == rtt:
        return rule
    return _as_given(rule, {"base_rtt": FromNetwork(rtt)})


def _as_given(rule: RateRule, changes: dict[str, float]) -> RateRule:
    """Return a rule with other parameters, which do not count as given: of none, the rule itself."""
    if not changes:
        return rule
    given, found = rule._given, rule.replace(**changes)
    object.__setattr__(found, "_given", given)
    return found


def window_place(rule: type) -> int:
    """Return the place of the field of State that bounds packets in flight; 0: there is none."""
    return _place(rule, "window")


def notifications_place(rule: type) -> int:
    """Return the place of the field of State that counts congestion notifications; 0: a source without such a field.

    >>> from responsefn import DCQCN, HPCC
    >>> DCQCN.State._fields[notifications_place(DCQCN)], notifications_place(HPCC)
    ('notifications', 0)
    """
    return _place(rule, "notifications") if issubclass(rule, RateRule) else 0


def _place(rule: type, field: str) -> int:
    fields: tuple[str, ...] = rule.State._fields  # type: ignore[attr-defined]
    return fields.index(field) if field in fields else 0


def sees_telemetry(rule: type) -> bool:
    """Return whether sources of a class follow the telemetry of links: rate rules that have `RateRule.on_telemetry`."""
    return issubclass(rule, RateRule) and rule.on_telemetry is not RateRule.on_telemetry


class NoLossRate(RateRule):
    """Base of rate rules without a response function of a loss rate, since they follow something else."""

    capacity: ClassVar[str] = "needed"
    solved_by: ClassVar[str] = "none"
    monotone = False
    why_no_inverse = "it has no response function of a loss rate"
    follows: ClassVar[str]
    """What the rule follows, for messages."""

    @quantities(rtt="time", bandwidth="rate", p="share")
    def rate(
        self,
        p: ArrayLike,  # noqa: ARG002
        rtt: ArrayLike = 1.0,  # noqa: ARG002
        bandwidth: WithUnit | None = None,  # noqa: ARG002
        *,
        unit_check: bool = True,  # noqa: ARG002
    ) -> float | NDArray[Any]:
        """Refuse: the rule does not follow losses."""
        why = f"has no response function of a loss rate: it follows {self.follows}"
        raise ValueError(f"{self!r}: {why}; simulate it, dfcmodel.simulate")
