"""Queueing disciplines of links: scheduling, drop policy and hop-by-hop flow control.

Each discipline is a small immutable object, the ``discipline`` of a `Link`. A queue manager, which drops or marks
before the buffer is full, is the discipline of a FIFO queue, or the ``manager`` of another discipline.
"""

from __future__ import annotations

import dataclasses
import functools
from abc import abstractmethod
from dataclasses import dataclass, fields
from types import CodeType, FunctionType
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import choice, integer, one_number
from hopflow.class_attributes import warn_of_unused_attributes
from hopflow.parameters import refuse_hidden_attributes
from hopflow.results import Described
from hopflow.units import WithUnit, quantities

__all__ = [
    "BOTH_LEVELS",
    "DFC",
    "FIFO",
    "ONE_THRESHOLD",
    "PACKETS_ALONE",
    "Arrivals",
    "Discipline",
    "Fair",
    "Pause",
    "Priority",
    "QueueManager",
    "check_codel",
    "check_manager",
    "check_times",
    "dfc_of",
    "manager_of",
    "numeric_fields",
    "sets_mark",
]

MAX_TIME, MAX_INTERVAL = 5.0, 10.0
"""Times of queue managers in s must be below the first, intervals of CoDel at most the second.

Larger ones were probably meant in ms, as Mahimahi has them.
"""
IN_SECONDS = "in s: ms(5) is 0.005"
BOTH_LEVELS, PACKETS_ALONE = frozenset(("fluid", "packets")), frozenset(("packets",))
ONE_THRESHOLD = "for one threshold use StepMarking"
"""Hint in messages of managers that need two thresholds; switches may have equal ones."""


@dataclass(frozen=True)
class Discipline(Described):
    """Base class of the queueing disciplines; ``str`` omits parameters with default values.

    The class attributes declare the requirements on engines and neighbouring links, so that other code need not test
    the type.

    Attributes
    ----------
    levels
        Levels that run the discipline, ``"fluid"`` and ``"packets"``. A subclass is another discipline, which defines
        its ``levels`` or inherits ``subclasses_run_at``.
    subclasses_run_at
        Levels that run every subclass.
    diffuses
        Whether a link reports to its feeders the rate at which each of its queues may be filled.
    pauses
        Unit that it pauses on the links that feed it while its queues are long: ``"link"``, a ``"class"`` of traffic,
        or a ``"flow"``; empty: none.
    queue_per
        Unit with a separate queue: ``"link"``, ``"class"``, ``"flow"``, or ``"input"``, the link by which packets come.
    ranked
        Whether flows are served in the order of their priorities.

    Examples
    --------
    >>> from dfcmodel import DFC
    >>> str(DFC(diffusion=0.2)), str(DFC())
    ('DFC(diffusion=0.2)', 'DFC()')
    >>> DFC().diffuses, DFC().queue_per, DFC().pauses
    (True, 'flow', '')
    """

    levels: ClassVar[frozenset[str]] = frozenset()
    subclasses_run_at: ClassVar[frozenset[str]] = frozenset()
    diffuses = False
    pauses = ""
    queue_per = "link"
    ranked = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        refuse_hidden_attributes(cls, ("at", "queues"))
        warn_of_unused_attributes(cls)
        if "levels" not in vars(cls):
            cls.levels = cls.subclasses_run_at

    @property
    def pauses_links(self) -> bool:
        """Whether it pauses the links that feed it, completely or for one class of traffic."""
        return self.pauses in ("link", "class")

    @property
    def may_mark(self) -> bool:
        """Whether it may mark packets of senders that answer each mark: that of its queue manager, if it has one.

        >>> from dfcmodel import INT, RED, CoDel, DualPI2
        >>> [rule.may_mark for rule in (DualPI2(), RED(ecn=True), RED(), CoDel(), INT())]
        [True, True, False, False, False]
        """
        manager = manager_of(self)
        return manager is not None and manager.may_mark

    @property
    def thresholds(self) -> tuple[float, float]:
        """Packets above which its feeders are paused, and at or below which they resume; (0, 0) if it has none."""
        return 0.0, 0.0

    def __str__(self) -> str:
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if field.init and getattr(self, field.name) != _default(field)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _default(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a dataclass field; MISSING, which equals no value, without one."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


class Arrivals(NamedTuple):
    """Inputs of a queue manager for a step; at packet level a step ends with each arriving packet.

    Attributes
    ----------
    time, step
        Time and length of the step, s.
    backlog
        Packets that waited before the step.
    arrivals
        Packets that arrive in the step.
    capacity
        Rate of the link, packets/s; less while it is paused.
    delay
        Waiting time of the packet at the head of the queue, s. With a queue per flow or class, the minimum over the
        queues: `CoDel` begins again with each packet that leaves after less than its target.
    random
        A number drawn evenly from 0 to 1.
    """

    time: float
    step: float
    backlog: float
    arrivals: float
    capacity: float
    delay: float
    random: float


def numeric_fields(rule: Any) -> dict[str, float]:
    """Return the numeric fields of a dataclass by name, as floats; {"none": 0.0} if there are none."""
    values = {field.name: getattr(rule, field.name) for field in fields(rule)}
    return {k: float(v) for k, v in values.items() if isinstance(v, (int, float))} or {"none": 0.0}


@dataclass(frozen=True)
class QueueManager(Discipline):
    """Base of queue managers: subclass it, name the parameters, write `on_step`.

    A manager is a small immutable object whose numeric fields are its parameters, and one function that
    sees each step's arrivals. It is plain Python that also compiles, like a window rule. As the discipline of a
    link it manages a FIFO queue.

    Attributes
    ----------
    State
        NamedTuple of the state of the manager; ``drop`` and ``mark`` come first: the numbers of packets of the step
        that are dropped, and marked (dropped if the sender does not react to marks). Fractions of packets accumulate
        from step to step. Complete packets are taken from flows drawn in proportion to the arrivals, and from the next
        arrivals if a step has less than a packet. A number equal to the arrivals takes all of them.
    at
        ``"arrival"``: it acts on arriving packets. ``"departure"``: it acts on departing packets, sees the packets that
        wait behind, and only marks; `StepMarking` and `RampMarking` have it as a parameter.
    fractional
        Whether marks of departing packets are not rounded to complete packets: every flow gets its share of them.

    Examples
    --------
    A queue that drops every hundredth packet:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Hundredth(QueueManager):
    ...     part: float = 0.01
    ...     @staticmethod
    ...     def on_step(s, q, e): return s._replace(drop=q.part * e.arrivals)
    >>> Hundredth().numbers(1500.0)
    {'part': 0.01}
    """

    subclasses_run_at = BOTH_LEVELS
    at = "arrival"
    fractional = False

    class State(NamedTuple):
        """Dropped and marked packets of a step's arrivals."""

        drop: float = 0.0
        mark: float = 0.0

    @staticmethod
    @abstractmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a step: ``s`` the state, ``q`` the parameters, ``e`` `Arrivals`."""

    @property
    def may_mark(self) -> bool:
        """Whether `on_step` may set ``mark``, and ``ecn`` is set if there is such a parameter.

        Functions of users are assumed to set it.
        """
        return bool(getattr(self, "ecn", True)) and sets_mark(type(self).on_step)

    def expected(self) -> QueueManager | None:
        """Return a manager that marks the mean of these marks, for ``Fluid(marks="expected")``; None if undefined."""
        return None

    def numbers(self, packet_size: float) -> dict[str, float]:  # noqa: ARG002
        """Return the numeric parameters by name, as `on_step` has them; ``packet_size`` in bytes converts sizes."""
        return numeric_fields(self)


@functools.lru_cache(maxsize=1024)
def sets_mark(function: Any) -> bool:
    """Return whether a function of a discipline, or one that it calls, may set ``mark``; True for users' functions."""
    remaining, visited = [function], set[Any]()
    while remaining:
        function = remaining.pop()
        visited.add(function)
        code = getattr(function, "__code__", None)
        if code is None or not function.__module__.startswith("dfcmodel."):
            return True
        codes = [code, *(constant for constant in code.co_consts if isinstance(constant, CodeType))]
        # keywords of calls are tuples among the constants
        if any(
            constant == "mark" or (isinstance(constant, tuple) and "mark" in constant)
            for c in codes
            for constant in c.co_consts
        ):
            return True
        called = (function.__globals__.get(name) for c in codes for name in c.co_names)
        remaining += [callee for callee in called if isinstance(callee, FunctionType) and callee not in visited]
    return False


def manager_of(discipline: Discipline) -> QueueManager | None:
    """Return the queue manager of a discipline: the discipline itself or its ``manager``; None without one."""
    if isinstance(discipline, QueueManager):
        return discipline
    return getattr(discipline, "manager", None)


def dfc_of(discipline: Discipline) -> DFC | None:
    """Return a discipline if it is `DFC`, otherwise None."""
    return discipline if isinstance(discipline, DFC) else None


def check_times(rule: Discipline, *names: str) -> None:
    """Raise ValueError unless the named parameters of a rule are times above 0 s and below 5 s."""
    for name in names:
        one_number(name, getattr(rule, name), above=0.0, below=MAX_TIME, hint=IN_SECONDS)


def check_codel(target: WithUnit, interval: WithUnit) -> None:
    """Raise ValueError for invalid times of CoDel, in s."""
    one_number("interval", interval, above=0.0, at_most=MAX_INTERVAL, hint=IN_SECONDS)
    one_number("target", target, above=0.0, below=interval, hint=f"{IN_SECONDS}, < interval")


def check_manager(manager: object) -> None:
    """Raise ValueError unless ``manager`` is a queue manager or None."""
    if manager is not None and not isinstance(manager, QueueManager):
        msg = "must be a queue manager, such as RED() or RampMarking(), or None"
        raise ValueError(f"manager = {manager!r}: {msg}")


@dataclass(frozen=True)
class FIFO(Discipline):
    """One first-come-first-served queue for all flows, with tail drop.

    While the queue is full, flows lose packets in proportion to their arrival rates, as if every
    packet arrived at a separate instant.

    Examples
    --------
    >>> from dfcmodel import FIFO, Link
    >>> Link("a", "b", rate=1000.0, delay=0.01, buffer=50, discipline=FIFO()).discipline
    FIFO()
    """

    levels = BOTH_LEVELS


@dataclass(frozen=True)
class DFC(Discipline):
    r"""Diffusion-type flow control (takano2006, eqs. 1-5, 9-13).

    Each flow has a separate queue of n packets, served at J = max(0, min(L, alpha r - D/d (n' - n))).
    In it r and n' are the rate and the queue length that the next node reported one link delay ago,
    and L is the flow's share of the link by eq. (13): active flows share it in proportion to their
    unconstrained rates. Nodes report their nominal rate, not the rate they achieved. A receiver, or
    a next link without DFC, reports (link rate, 0).

    With ``per="input"`` (footnote to section 2.1) all flows that arrive over the same link share
    one FIFO queue and count as one flow in the law. The feedback of the next node then applies to
    all inputs of the link together: they send at most alpha r - D/d (n' - sum of their n), in
    proportion to the rate that each would have alone.

    Parameters
    ----------
    diffusion
        D > 0: packets sent per packet of queue difference in a feedback period, D_i = D / d in 1/s
        (eq. 3).
    intensity
        alpha >= 1, the flow intensity multiplier (eq. 2).
    phases
        ``"random"`` (drawn from the seed) or ``"synchronous"`` feedback clocks of the nodes. The
        feedback period is the delay of the link that carries the feedback.
    per
        ``"flow"`` or ``"input"``: one queue and one rate per flow, or per incoming link. It must be
        the same on all links with DFC.

    Examples
    --------
    >>> from dfcmodel import DFC, takano2006
    >>> from dfcmodel.theory import stability_limit
    >>> DFC(diffusion=0.2)
    DFC(diffusion=0.2, intensity=1.0, phases='random', per='flow')
    >>> stability_limit(takano2006("1"), "diffusion")  # on an endless chain
    1.0
    """

    levels = BOTH_LEVELS
    diffuses = True

    diffusion: float = 0.1
    intensity: float = 1.0
    phases: str = "random"
    per: str = "flow"

    def __post_init__(self) -> None:
        one_number("diffusion", self.diffusion, above=0.0)
        one_number("intensity", self.intensity, at_least=1.0)
        choice("phases", self.phases, ("random", "synchronous"))
        choice("per", self.per, ("flow", "input"))

    @property
    def stability_limit(self) -> float:
        """Largest ``diffusion`` with which an endless chain is stable at this intensity, by von Neumann's criterion.

        At this limit the roots of the cubic of the closed loop (r fed back by eq. 5) in `dfcmodel.theory.stability`
        reach the unit circle. A chain from a host to its bottleneck has another limit, which depends on its length:
        ``dfcmodel.theory.stability_limit(scenario, kind="finite")``.
        """
        alpha = self.intensity
        return max(0.0, (2.0 - alpha) / (alpha * (5.0 * alpha - 4.0)))

    @property
    def is_stable(self) -> bool:
        """Whether an endless chain is stable, r fed back; see `stability_limit` for other chains."""
        return self.diffusion <= self.stability_limit

    @property
    def queue_per(self) -> str:  # type: ignore[override]
        """Unit with a separate queue, ``per``: "flow" or "input"."""
        return self.per


@quantities(high="amount", low="amount", signalling="time", paused_rate="rate", storm="time")
@dataclass(frozen=True)
class Pause(Discipline):
    """A FIFO queue that pauses the links that feed it: IEEE 802.3x with two thresholds, packets.

    While the queue is above ``high`` packets, all links and access links over which its flows come are
    paused, for all traffic; the pause takes effect upstream after the delay of the paused link
    plus ``signalling``. In a fluid both happen at an instant within a step.

    IEEE 802.3 (Annex 31B) defines how a pause is requested and obeyed, but not when a switch requests it. In this model
    the queue of an output requests it, as in the models of the papers, and pauses all inputs, even inputs that send it
    little. Most switches count the waiting packets of each input, for all outputs, and pause this input:
    ``PFC((0,), xoff, xon, counts="switch")`` on all links of a node, with all flows in class 0, is 802.3x in this way.

    Parameters
    ----------
    high, low
        Pause above ``high`` packets, resume at ``low`` or below; 0 <= low <= high. ``high`` must be
        below the buffer of the link, or the sum of its flows' buffers if these are separate. The
        defaults are a half and a quarter of takano2006's 1800 packets.
    quanta
        None: ON and OFF messages. Otherwise each message pauses for this many quanta of 512 bit
        times (at most 65535) of the paused link, and is renewed while the queue is above ``low``. No message ends it
        earlier. Switches that end pauses with a frame of zero quanta are None.
    signalling
        Time to generate and act on a message, in s, in addition to the propagation delay.
    paused_rate
        Rate of a paused link, packets/s.
    manager
        Queue manager, which drops or marks on the same queue before the buffer is full: RoCE networks mark below the
        thresholds of the pauses, ``Pause(high=400, low=300, manager=RampMarking())``.
    storm
        Time in s from which a fault requests a pause for ever, whatever its queue (a pause storm);
        None: never. The status of the run is then ``storm``, and `Trajectory.storm` names the port.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, simulate
    >>> links = chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    >>> flows = [Flow("a", (1, 2, 3, 4), CBR(6e3)), Flow("b", (3, 4), CBR(6e3))]
    >>> run = simulate(Scenario("pause", links, flows, duration=0.2), level="fluid")
    >>> bool(run.peak_queue[0] > 0)  # node 2 is above its threshold and pauses node 1
    True
    """

    levels = BOTH_LEVELS
    pauses = "link"

    high: WithUnit = 900.0
    low: WithUnit = 450.0
    quanta: int | None = None
    signalling: WithUnit = 0.0
    paused_rate: WithUnit = 0.0
    manager: QueueManager | None = None
    storm: WithUnit | None = None

    def __post_init__(self) -> None:
        if self.storm is not None:
            one_number("storm", self.storm, at_least=0.0, hint="in s")
        check_manager(self.manager)
        one_number("high", self.high, above=0.0)
        one_number("low", self.low, at_least=0.0, at_most=self.high, hint="low <= high")
        if self.quanta is not None:
            integer("quanta", self.quanta, 1, 65535)
        one_number("signalling", self.signalling, at_least=0.0, at_most=10.0, hint="in s")
        one_number("paused_rate", self.paused_rate, at_least=0.0, hint="in packets/s")

    @property
    def thresholds(self) -> tuple[float, float]:
        """Packets above which its feeders are paused, and at or below which they resume."""
        return float(self.high), float(self.low)


@dataclass(frozen=True)
class Fair(Discipline):
    """Fair queueing: a queue per flow and max-min fair shares of the link (as SFQ and DRR approximate).

    A full buffer drops from the head of the longest queue, whichever packet arrives.

    Parameters
    ----------
    manager
        Queue manager, which drops or marks before the buffer is full: a single one for the total buffer, as in most
        switches, not per queue.

    Examples
    --------
    >>> from dfcmodel import CBR, Fair, Flow, Scenario, chain, simulate
    >>> links = chain(2, rate=900.0, delay=1e-3, buffer=50, discipline=Fair())
    >>> flows = [Flow("small", (1, 2), CBR(300.0)), Flow("large", (1, 2), CBR(3000.0))]
    >>> run = simulate(Scenario("fair", links, flows, duration=1.0), level="fluid")
    >>> run.lost.sum(axis=(1, 2)).round().tolist()[0]  # below its fair share of 450/s: no loss
    0.0
    """

    levels = BOTH_LEVELS
    queue_per = "flow"

    manager: QueueManager | None = None

    def __post_init__(self) -> None:
        check_manager(self.manager)


@dataclass(frozen=True)
class Priority(Discipline):
    """Strict priority: a queue per flow, served by the flows' ``priority``, the lowest number first.

    A full buffer drops from the lowest priority (the highest number) first, from the head of its longest queue,
    whichever packet arrives: packets of low priority make room for packets of high priority. Flows of equal priority
    have equal shares.

    Parameters
    ----------
    manager
        As for `Fair`.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Priority, Scenario, chain, simulate
    >>> links = chain(2, rate=900.0, delay=1e-3, buffer=50, discipline=Priority())
    >>> first = Flow("first", (1, 2), CBR(800.0), priority=0)
    >>> second = Flow("second", (1, 2), CBR(800.0), priority=1)
    >>> run = simulate(Scenario("priority", links, [first, second], duration=1.0), level="fluid")
    >>> lost = run.lost.sum(axis=(1, 2))
    >>> bool(lost[0] == 0 and lost[1] > 600)
    True
    """

    levels = BOTH_LEVELS
    queue_per = "flow"
    ranked = True

    manager: QueueManager | None = None

    def __post_init__(self) -> None:
        check_manager(self.manager)
