"""Queueing disciplines of links: scheduling, drop policy and hop-by-hop flow control.

Each discipline is a small immutable object, the ``discipline`` of a `Link`. A queue manager, which drops or marks before
the buffer is full, is the discipline of a FIFO queue, or the ``manager`` of another discipline.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import choice, integer, one_number
from hopflow.results import Described
from hopflow.units import WithUnit, quantities

__all__ = [
    "BOTH_LEVELS",
    "DFC",
    "FIFO",
    "PACKETS_ALONE",
    "Arrivals",
    "Discipline",
    "Fair",
    "Pause",
    "Priority",
    "QueueManager",
    "check_manager",
    "dfc_of",
    "manager_of",
    "numeric_fields",
]

BOTH_LEVELS, PACKETS_ALONE = frozenset(("fluid", "packets")), frozenset(("packets",))


@dataclass(frozen=True)
class Discipline(Described):
    """Base class of the queueing disciplines; ``str`` leaves out the parameters that have their defaults.

    What a discipline needs of the engines and of the links around it is said by its class, so that nothing else has to ask
    for its type.

    Attributes
    ----------
    levels
        Levels that run the discipline, ``"fluid"`` and ``"packets"``. A subclass is another discipline, which has ``levels``
        of its own, or those of ``subclasses_run_at``.
    subclasses_run_at
        Levels that run every subclass.
    diffuses
        Whether it tells the links that feed it at which rate each of its queues may be filled.
    pauses
        What it stops of the links that feed it while its queues are long: ``"link"``, a ``"class"`` of traffic, or a
        ``"flow"``; empty: nothing.
    queue_per
        What has a queue of its own: ``"link"``, ``"class"``, ``"flow"``, or ``"input"``, the link by which packets come.
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
        if "levels" not in vars(cls):
            cls.levels = cls.subclasses_run_at

    @property
    def pauses_links(self) -> bool:
        """Whether it pauses the links that feed it, as a whole or one class of traffic."""
        return self.pauses in ("link", "class")

    @property
    def thresholds(self) -> tuple[float, float]:
        """Packets above which what feeds it is paused, and at which or below it goes on; (0, 0) where they are not parameters."""
        return 0.0, 0.0

    def __str__(self) -> str:
        shown = [
            f"{each.name}={getattr(self, each.name)!r}"
            for each in dataclasses.fields(self)
            if each.init and getattr(self, each.name) != _default(each)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _default(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; MISSING, which equals no value, where it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


class Arrivals(NamedTuple):
    """What a manager sees of a step: at packet level of each arriving packet, since the one before.

    Attributes
    ----------
    time, step
        In s.
    backlog
        Packets that waited before the step.
    arrivals
        Packets that come in it.
    capacity
        Of the link, packets/s; less while it is paused.
    delay
        For how long the packet at the head of the queue has waited, s. Where flows or classes have queues of
        their own, at that of the queue where it is shortest: `CoDel` begins again with each packet that leaves
        after less than its target.
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
    """Return the parameters of a dataclass that its compiled functions can use; one without meaning where it has none."""
    found = {each.name: getattr(rule, each.name) for each in fields(rule)}
    return {k: float(v) for k, v in found.items() if isinstance(v, (int, float))} or {"none": 0.0}


@dataclass(frozen=True)
class QueueManager(Discipline):
    """Base of queue managers: subclass it, name the parameters, write `on_step`.

    A manager is a small immutable object whose numeric fields are its parameters, and one function that
    sees each step's arrivals. It is plain Python that also compiles, like a window rule. As the discipline of a
    link it manages a FIFO queue.

    Attributes
    ----------
    State
        NamedTuple of what it remembers; ``drop`` and ``mark`` come first: how many of the packets
        that come in the step are dropped, and marked (dropped where the sender does not react to
        marks). Parts of packets add up from step to step; whole ones are taken from flows drawn in
        proportion to the arrivals, and from the next arrivals where a step has less than a packet. Just
        as much as came takes all of it.
    at
        ``"arrival"``: it decides on what comes. ``"departure"``: on what leaves, of which it sees what waits behind
        that, and it marks alone; `StepMarking` and `RampMarking` have it as a parameter.
    fractional
        Whether its marks, of what leaves, are not made to whole packets: every flow gets its part of them.

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
        """What is dropped and marked of a step's arrivals, packets."""

        drop: float = 0.0
        mark: float = 0.0

    @staticmethod
    @abstractmethod
    def on_step(s: Any, q: Any, e: Any) -> Any:
        """Return the state after a step: ``s`` the state, ``q`` the parameters, ``e`` `Arrivals`."""

    def expected(self) -> QueueManager | None:
        """Return the manager that marks the mean of what this one marks, for ``Fluid(marks="expected")``; None: not stated."""
        return None

    def numbers(self, packet_size: float) -> dict[str, float]:  # noqa: ARG002
        """Return the parameters that `on_step` can use, ``packet_size`` in bytes."""
        return numeric_fields(self)


def manager_of(discipline: Discipline) -> QueueManager | None:
    """Return the queue manager of a link with a discipline: itself, or that which it has; None: none."""
    if isinstance(discipline, QueueManager):
        return discipline
    return getattr(discipline, "manager", None)


def dfc_of(discipline: Discipline) -> DFC | None:
    """Return a discipline that is diffusion-type flow control, with its parameters; None for others."""
    return discipline if isinstance(discipline, DFC) else None


def check_manager(manager: object) -> None:
    """Raise ValueError for what is no queue manager and not None."""
    if manager is not None and not isinstance(manager, QueueManager):
        msg = "must be a queue manager, such as RED() or RampMarking(), or None"
        raise ValueError(f"manager = {manager!r}: {msg}")


@dataclass(frozen=True)
class FIFO(Discipline):
    """One first-come-first-served queue for all flows, with tail drop.

    While the queue is full, flows lose packets in proportion to their arrival rates, as if every
    packet arrived at its own instant.

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

    Each flow has its own queue of n packets, served at J = max(0, min(L, alpha r - D/d (n' - n))).
    Here r and n' are the rate and the queue length that the next node reported one link delay ago,
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

        There the roots of the cubic of the closed loop (r fed back by eq. 5) in `dfcmodel.theory.stability` reach the
        unit circle. A chain from a host to its bottleneck has another limit, which depends on its length:
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
        """What has a queue of its own."""
        return self.per


@quantities(high="amount", low="amount", signalling="time", paused_rate="rate", storm="time")
@dataclass(frozen=True)
class Pause(Discipline):
    """A FIFO queue that pauses the links that feed it: IEEE 802.3x with two thresholds.

    While the queue is above ``high`` packets, all links and access links over which its flows come are
    paused, with all that they carry; the pause takes effect upstream after the delay of the paused link
    plus ``signalling``. In a fluid both happen at an instant within a step.

    IEEE 802.3 (Annex 31B) says how a pause is asked for and obeyed, and leaves open when a switch asks. Here the queue
    of an output does, as in the models of the papers, and pauses all inputs, also those that send it little. Switches
    mostly count what waits of each input, for all outputs, and pause that one: ``PFC((0,), xoff, xon,
    counts="switch")`` on all links of a node, with all flows in class 0, is 802.3x in this way.

    Parameters
    ----------
    high, low
        Pause above ``high`` packets, resume at ``low`` or below; 0 <= low <= high. ``high`` must be
        below the buffer of the link, or the sum of its flows' buffers where each has its own. The
        defaults are a half and a quarter of takano2006's 1800 packets.
    quanta
        None: ON and OFF messages. Otherwise each message pauses for this many quanta of 512 bit
        times (at most 65535) of the paused link, and is renewed while the queue is above ``low``.
    signalling
        Time to generate and act on a message, in s, in addition to the propagation delay.
    paused_rate
        Rate of a paused link, packets/s.
    manager
        What drops or marks before the buffer is full, on the same queue: RoCE networks mark below the
        thresholds of the pauses, ``Pause(high=400, low=300, manager=RampMarking())``.
    storm
        Time in s from which a fault makes it ask for a pause for ever, whatever its queue (a pause storm);
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
        """Packets above which what feeds it is paused, and at which or below it goes on."""
        return float(self.high), float(self.low)


@dataclass(frozen=True)
class Fair(Discipline):
    """Fair queueing: a queue per flow and max-min fair shares of the link (as SFQ and DRR approximate).

    A full buffer drops from the head of the longest queue, whosever packet comes.

    Parameters
    ----------
    manager
        What drops or marks before the buffer is full: one for the whole buffer, as most switches have it, not one
        per queue.

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

    A full buffer drops from the lowest priority (the highest number) first, from the head of the longest queue
    there, whosever packet comes: what waits makes room for what is served before it. Flows of equal priority have
    equal shares.

    Parameters
    ----------
    manager
        As of `Fair`.

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
