"""Elements of paths: effects of links on packets besides queueing.

A `Scenario` has a tuple of elements. Each belongs to a link. It acts on packets of data before they enter the queue of
the link or as they leave it, or on the acknowledgements that return over it, for all flows or for named flows. Elements
of one link act in their order. Each element is one class, which both the packet level and scenario files take up from
this folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dfcmodel.network.drop_causes import CAUSES
from dfcmodel.network.queueing.disciplines import numeric_fields
from hopflow.checks import ascending, choice, flag, format_value, is_endless, number, one_number
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.parameters import refuse_hidden_attributes
from hopflow.results import Described

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_CAUSES",
    "MAX_COPIES",
    "MAX_HOLD",
    "PassingPacket",
    "PathElement",
    "check_elements",
    "validate_steps",
]

MAX_HOLD = 10.0
"""Longest time for which an element holds a packet, s, as the delay of a link: more was probably meant in ms."""
MAX_COPIES = 8
"""Maximum number of copies of a packet that an element makes."""
MAX_CAUSES, MAX_DRAWS, MAX_STATE = 4, 2, 16
"""Maximum numbers of causes of drops, of random numbers for a packet, and of fields of State of an element."""


class PassingPacket(NamedTuple):
    """Inputs of `PathElement.on_packet` and `on_leaving`: a packet or an ACK that an element sees at a link.

    Attributes
    ----------
    time
        Time of the run, s.
    flow
        Index of the packet's flow.
    number
        Index of the packet in its flow; of an ACK that of the last packet that it acknowledges.
    priority
        Priority of the packet's flow.
    is_ack
        1.0 for an ACK, otherwise 0.0.
    ect
        1.0 if it can be marked (RFC 3168), otherwise 0.0.
    marked
        1.0 if it is marked; of an ACK, if it echoes a mark.
    size
        Size of the packet, bytes.
    packets
        Size of the packet in packets of data: 1 for data.
    backlog
        Packets that wait in the queue; a packet that leaves it does not count.
    random, random_2
        Numbers drawn evenly from 0 to 1, as many as ``draws`` says; the others are 0.0.
    waited
        Time that the packet has waited in the queue, s; in `on_packet` 0.0.

    Examples
    --------
    >>> from dfcmodel import PassingPacket, PeriodicLoss
    >>> packet = PassingPacket(**dict.fromkeys(PassingPacket._fields, 0.0))
    >>> loss = PeriodicLoss("1->2", every=2)
    >>> state = loss.on_packet(loss.start(), loss, packet)
    >>> state.drop, loss.on_packet(state, loss, packet).drop
    (0.0, 1.0)
    """

    time: float
    flow: float
    number: float
    priority: float
    is_ack: float
    ect: float
    marked: float
    size: float
    packets: float
    backlog: float
    random: float
    random_2: float
    waited: float


@dataclass(frozen=True)
class PathElement(Described):
    """Base of the elements of a path: subclass it, name the parameters, write `on_packet`, or `on_leaving`, or both.

    `on_packet` sees each packet before the queue of its link, and `on_leaving` as it leaves the queue to be sent. They
    are plain Python that also compiles, as a window rule is, and return the state, updated with ``s._replace(...)``. At
    packet level; the fluid refuses them.

    Parameters
    ----------
    link
        Name of the link in front of whose queue it stands, ``"a->b"``.
    flows
        Names of the flows on whose packets it acts; None: all.
    acks
        False: it acts on packets of data. True: on the acknowledgements of packets that cross the link, where they
        enter the queue of the opposite direction.

    Attributes
    ----------
    State
        NamedTuple of at most 16 numbers: a class adds its fields by ``@extends(PathElement.State)``. ``drop`` and
        ``mark`` come first: 1.0 drops the packet for the first cause of ``causes``, 2.0 for the second, and 1.0 marks
        it if it can be marked. They are 0.0 at each call, as are fields with these names: ``until``, the time before
        which the packet does not go on, s, and ``copies``, the number of copies that follow it, at most 8. The element
        stores the other fields.
    causes
        Causes of its drops, at most 4: name in tables and words in summaries. A name of `dfcmodel.network.drop_causes`
        is the cause there. A packet that `on_leaving` drops takes no time of the link: the next one follows at once.
    counts
        Names of the last fields of State, which `Trajectory.element_counts` shows at the end of a run.
    draws
        Random numbers for each packet, 0 to 2, drawn for `on_packet` and again for `on_leaving`.
    in_order
        Whether packets go on in the order of their arrival, although their times ``until`` differ.

    An element with neither ``until`` nor ``copies`` can stand at a link with flow control, such as `PFC`. Others are
    refused there: they change the number of packets on the link. So is `on_leaving` with `DFC`, `BFC` and a `LinkLaw`,
    which count what leaves a queue. Copies are packets of their flow, which the sender
    does not count as sent. A receiver that repairs losses discards them; sources without feedback deliver them.

    Raises
    ------
    TypeError
        For a State, ``causes``, ``counts`` or ``draws`` that violates these rules, for `on_leaving` with a State that
        has ``until`` or ``copies``, and for a parameter that has the name of an attribute or a function of this class.

    Examples
    --------
    Loss of each third packet, with a cause of its own:

    >>> from dataclasses import dataclass
    >>> from typing import NamedTuple
    >>> from hopflow.parameters import extends
    >>> from dfcmodel import CBR, Flow, Link, Packets, PathElement, Scenario, simulate
    >>> @dataclass(frozen=True)
    ... class Third(PathElement):
    ...     @extends(PathElement.State)
    ...     class State(NamedTuple):
    ...         seen: float = 0.0
    ...     causes = {"third": "as each third packet"}
    ...     @staticmethod
    ...     def on_packet(s, q, e):
    ...         return s._replace(seen=s.seen + 1.0, drop=1.0 if s.seen % 3.0 == 2.0 else 0.0)
    >>> link, flow = Link("a", "b", 1e3, 1e-3, 10), Flow("f", ("a", "b"), CBR(100.0), size=30)
    >>> run = simulate(Scenario("thirds", [link], [flow], duration=1.0, elements=[Third("a->b")]), Packets())
    >>> run.summary()["lost at"]
    'a: 10 (as each third packet)'
    """

    class State(NamedTuple):
        """Decision on a packet, to drop or to mark it; a subclass adds its fields."""

        drop: float = 0.0
        mark: float = 0.0

    causes: ClassVar[Mapping[str, str]] = {"random": CAUSES["random"]}
    counts: ClassVar[tuple[str, ...]] = ()
    draws: ClassVar[int] = 0
    in_order = False

    link: str
    flows: tuple[str, ...] | None = field(default=None, kw_only=True)
    acks: bool = field(default=False, kw_only=True)

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError for a subclass whose State, parameters, counts, causes or draws are invalid."""
        super().__init_subclass__(**options)
        refuse_hidden_attributes(cls, ("in_order",))
        warn_of_unused_attributes(cls)
        kind, names = cls.__name__, tuple(str(name) for name in cls.State._fields)
        if names[:2] != ("drop", "mark") or len(names) > MAX_STATE:
            msg = f"has the fields {', '.join(names)}, must begin with drop, mark and have at most {MAX_STATE}"
            raise TypeError(f"State of {kind} {msg}")
        counts: Any = cls.counts
        stored = [name for name in names[2:] if name not in ("until", "copies")]
        if not isinstance(counts, tuple) or names[len(names) - len(counts) :] != counts or {*counts} - {*stored}:
            msg = f"must be a tuple of the last fields of State ({', '.join(stored)})"
            raise TypeError(f"counts of {kind} = {counts!r}: {msg}")
        causes: Any = cls.causes
        texts = (*causes, *causes.values()) if isinstance(causes, Mapping) else ("",)
        if not all(isinstance(text, str) and text for text in texts) or not 1 <= len(causes) <= MAX_CAUSES:
            raise TypeError(f"causes of {kind} = {causes!r}: must be 1 to {MAX_CAUSES} names with their words")
        draws: Any = cls.draws
        if not isinstance(draws, property) and draws not in range(MAX_DRAWS + 1):
            raise TypeError(f"draws of {kind} = {draws!r}: must be 0, 1 or 2")
        if cls.acts_on_leaving() and not {"until", "copies"}.isdisjoint(names):
            msg = "must not be there with on_leaving: packets are held and copied before the queue alone"
            raise TypeError(f"until, copies of State of {kind}: {msg}")

    def __post_init__(self) -> None:
        kind = type(self).__name__
        if type(self) is PathElement:
            raise TypeError("PathElement is a base: use a subclass, such as Jitter or Policer")
        if not isinstance(self.link, str):
            raise ValueError(f"link of {kind} = {format_value(self.link)}: must be a name, 'a->b'")  # noqa: TRY004
        object.__setattr__(self, "acks", flag(f"acks of {kind}", self.acks))
        if self.flows is not None:
            flows: Any = self.flows
            try:
                selected = (flows,) if isinstance(flows, str) else tuple(flows)
            except TypeError:
                selected = ()
            if not selected or not all(isinstance(name, str) for name in selected):
                msg = "must be names of flows, at least one, or None for all"
                raise ValueError(f"flows of {kind} = {format_value(self.flows)}: {msg}")
            object.__setattr__(self, "flows", selected)

    @staticmethod
    def on_packet(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet: ``s`` the state, ``q`` the parameters, ``e`` `PassingPacket`."""
        return s

    @staticmethod
    def on_leaving(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a packet that leaves the queue, as `on_packet` does; it may drop or mark it."""
        return s

    @classmethod
    def acts_on_leaving(cls) -> bool:
        """Return whether the class has `on_leaving`."""
        return cls.on_leaving is not PathElement.on_leaving

    def start(self) -> Any:
        """Return the state at the start of a run."""
        return self.State()

    def numbers(self) -> dict[str, float]:
        """Return the numeric parameters, by name, as `on_packet` has them."""
        return numeric_fields(self)

    def read_counts(self, state: Sequence[float]) -> list[float]:
        """Return the numbers of ``counts``, the last fields of `State`, from a state at the end of a run."""
        end = len(self.State._fields)
        return [float(number) for number in state[end - len(self.counts) : end]]

    @property
    def largest_hold(self) -> float:
        """Longest time for which the element holds a packet, s."""
        return MAX_HOLD if "until" in self.State._fields else 0.0

    @property
    def may_reorder(self) -> bool:
        """Whether packets may leave the element in another order than they arrive."""
        return not self.in_order and self.largest_hold > 0.0

    @property
    def changes_flow(self) -> bool:
        """Whether the element passes packets on later than they arrive, or more than once."""
        return not {"until", "copies"}.isdisjoint(self.State._fields)

    def _check_at(self, link: Any, others: Sequence[PathElement]) -> None:
        """Raise ValueError if the element cannot be at ``link`` behind ``others``, the link's other elements."""


def check_elements(scenario: Any) -> None:
    """Raise ValueError for elements at unknown links, of flows on other paths, or at links that cannot have them.

    Elements at links that packets of data do not cross are named in `Trajectory.limits`.
    """
    names, flows = scenario.link_table.names, {flow.name: flow for flow in scenario.flows}
    at_link: dict[str, list[PathElement]] = {}
    for element in scenario.all_elements:
        kind = type(element).__name__
        choice(f"elements: link of {kind}", element.link, names)
        link = scenario.links[names.index(element.link)]
        for name in element.flows or ():
            choice(f"elements: flows of {kind} at {link.name}", name, list(flows))
            if (link.source, link.target) not in flows[name].hops:
                msg = f"its path {flows[name].path!r} does not lead over {link.name}"
                raise ValueError(f"elements: flows of {kind} = {name!r}: {msg}")
        others = at_link.setdefault(element.link, [])
        element._check_at(link, others)
        others.append(element)


def validate_steps(element: Any, name: str, highest: float, minimum: float = 0.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return an element's ``times``, s, and attribute ``name``, from minimum to highest, as arrays, (N,) each."""
    times = ascending("times", element.times)
    values = number(name, getattr(element, name), at_least=minimum, at_most=highest)
    if times.ndim != 1 or values.shape != times.shape:
        msg = f"must be lists of one length, are of shapes {times.shape} and {values.shape}"
        raise ValueError(f"times and {name}: {msg}")
    if times[0] != 0.0 or not np.all(np.diff(times) > 0.0):
        raise ValueError(f"times[0] = {times[0]:g}: must be 0, and times must increase")
    if not is_endless(element.period):
        hint = "in s, above the last of the times; inf: the last value stays"
        one_number("period", element.period, above=float(times[-1]), hint=hint)
    return times, values
