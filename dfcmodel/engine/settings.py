"""The fluid in discrete time: settings, time step, refused scenarios, expected marks, and the step for an accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.elements.delays import DelayTrace
from dfcmodel.network.elements.rates import RateTrace
from dfcmodel.network.endpoints.arrivals import ArrivalProcess, Replay
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.sources import CBR, OnOff
from dfcmodel.network.flows import SYN_WITH_DATA
from dfcmodel.network.level_options import options_without, refuse_discipline, refuse_flow_options
from dfcmodel.network.links import buffer_in_packets
from dfcmodel.network.queueing.coupled import PI2
from dfcmodel.network.queueing.disciplines import FIFO, manager_of
from hopflow.checks import check_limit, choice, flag, format_value, integer, one_number, refuse_options
from hopflow.results import Described
from hopflow.units import WithUnit, quantities
from responsefn import DeliveryRule, RateRule, WindowRule
from responsefn.rules.deliveries.delivery_rule import answers_marks
from responsefn.rules.rates.rate_rule import sees_telemetry, window_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from dfcmodel.network.flows import Flow
    from dfcmodel.network.links import Link
    from dfcmodel.network.networks import Scenario
    from dfcmodel.network.queueing.disciplines import Discipline

    Floats = NDArray[np.float64]

__all__ = [
    "RECOVERIES",
    "ROUNDING",
    "Doubling",
    "Fluid",
    "check_disciplines",
    "check_recovery",
    "delay_for_step",
    "double_steps",
    "integer_and_fraction",
    "nearest_steps",
    "round_down",
    "with_expected_marks",
]

MARKS = ("drawn", "expected")
PIPES = ("rfc6675", "fall1996")
RECOVERIES = ("tahoe", "reno", "newreno", "sack")
ROUNDING = 1e-6
"""Part of a step: times that are this near to whole steps are rounded."""
LARGEST_ROUNDING = 0.01
"""Part of a feedback period by which it may be rounded."""

CONTRACTED_DELAY = "contracted delay"
"""Its key among the derived values of a scenario."""
DELAYS_PER_ROUND_TRIP = 64
"""A round trip has at least this number of delays: 256 steps, with four steps per delay.

`python -m benchmarks.time_steps` has the shares and losses of TCP with this step, and with the step of access links of
0.1 ms.
"""
FOR_PACKETS = options_without("fluid")
"""Options of flows that the fluid does not have."""


@quantities(max_cpu_time="time")
@refuse_options(
    jitter="is a parameter of simulate, sweep and ensemble: simulate(scenario, Fluid(...), jitter='10ms')",
    backend="was removed; the fluid runs on the compiled engine",
    whole_packets="was removed; use method=Packets(), which is nearer to packet simulators and costs less",
)
@dataclass(frozen=True)
class Fluid(Described):
    """The fluid in discrete time; each refinement beyond windows, queues and delays can be switched off.

    Confidence intervals of an `ensemble` contain chance alone. Intervals of goodput shares with the error of the
    fluid, measured beside ns-2, are computed by `dfcmodel.share_intervals`.

    Parameters
    ----------
    steps_per_delay
        m: the step is h = delay / m, where the delay is that of the shortest link, or longer where ``contracted``
        says so. First-loss times and peak queues converge as h.
    contracted
        Whether links at the ends of paths are ignored when the delay is chosen (`delay_for_step`): access links
        of 10 us then do not set the step of a path of 40 ms. Links with a discipline other than FIFO, and the links
        that feed them, always count.
    store_and_forward
        A packet takes its transmission time on each link, half of it in each direction: links are
        longer by half a packet time. Links with DFC keep the delays of the law.
    timeouts
        Whether retransmission timers expire; a sender without them may wait for ever.
    whole_losses
        Where packets are sent at random times (``packet_jitter`` of `simulate`) a full FIFO queue drops
        whole packets, each of a flow drawn in proportion to the arrivals of the step. Otherwise every flow
        loses its fraction of each overflow, so that flows lose together more often.
    accuracy
        Largest error that the step may cause in the goodput of a flow, as a fraction of the rate of its path's
        slowest link; None: ``steps_per_delay`` sets the step. Otherwise that is the coarsest of at
        least three steps, each half of the previous step. The estimate is twice the larger of the last two
        changes; a run has it as ``step_error``. Of 60 networks of TCP set aside it covered the change with
        a quarter of the step in 54. Of the 20 networks that met 0.02 at 32 steps per delay, 18 changed by at most
        0.02. Runs of TCP are often chaotic, and with a finer step other packets are lost.
    most_steps_per_delay
        Largest number of steps per delay for ``accuracy``. If the error is still larger, `simulate` raises
        `markov.errors.ConvergenceError`, whose ``result`` is the finest run.
    recovery
        Loss recovery of all senders, ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``; None: the recovery of
        their window rules.
    pipe
        Packets that a sender with SACK counts as in flight during a recovery: ``"rfc6675"``, without lost packets that
        it knows of, or ``"fall1996"``, with them, as in Fall and Floyd (1996), Sect. 4,
        in ns-2's ``Sack1`` and at the packet level. With many losses the second waits longer.
    marks
        ``"drawn"``: links mark whole packets, and rate rules see each mark, as at the packet level. ``"expected"``:
        links mark their mean, and rate rules have their mean response (`responsefn.RateRule.expected`). That is
        the fluid model of a paper, with its fixed point and without the noise of packets. With ten senders of DCQCN
        ``"drawn"`` is nearer to packets (docs/models.md).
    max_cpu_time
        Largest predicted CPU time of a run of `simulate` or `ensemble` in s; ``math.inf``: no limit. None: a run with a
        prediction of more than a minute warns before it starts, and of more than three hours is refused.

    Raises
    ------
    ValueError
        For a number of steps or an accuracy outside its range, and an unknown recovery, pipe or kind of marks.

    Examples
    --------
    >>> Fluid(steps_per_delay=8).steps_per_delay
    8
    """

    steps_per_delay: int = 4
    store_and_forward: bool = True
    timeouts: bool = True
    whole_losses: bool = True
    accuracy: float | None = None
    most_steps_per_delay: int = 64
    recovery: str | None = None
    pipe: str = "rfc6675"
    contracted: bool = True
    marks: str = "drawn"
    max_cpu_time: WithUnit | None = None

    def __post_init__(self) -> None:
        for name in ("steps_per_delay", "most_steps_per_delay"):  # plain integers instead of those of NumPy
            object.__setattr__(self, name, integer(name, getattr(self, name), 1, 10_000))
        flag("store_and_forward", self.store_and_forward)
        flag("timeouts", self.timeouts)
        flag("whole_losses", self.whole_losses)
        flag("contracted", self.contracted)
        if self.accuracy is not None:
            one_number("accuracy", self.accuracy, above=0.0, below=1.0)
            if self.most_steps_per_delay < 4 * self.steps_per_delay:
                msg = f"must be at least {4 * self.steps_per_delay}: accuracy takes three runs"
                raise ValueError(f"most_steps_per_delay = {self.most_steps_per_delay}: {msg}")
        choice("pipe", self.pipe, PIPES)
        choice("marks", self.marks, MARKS)
        if self.recovery is not None:
            check_recovery("recovery", self.recovery)
        check_limit("max_cpu_time", self.max_cpu_time, "in s, or inf")

    def step_of(self, scenario: Scenario) -> float:
        """Return the time step for a scenario, s.

        Examples
        --------
        >>> from dfcmodel import takano2006
        >>> Fluid().step_of(takano2006("1"))
        2.5e-05
        """
        if self.contracted:
            return delay_for_step(scenario) / self.steps_per_delay
        return scenario.shortest_delay / self.steps_per_delay


def delay_for_step(scenario: Scenario) -> float:
    """Return the delay, s, that is divided by ``steps_per_delay`` for the fluid's time step.

    It is the shortest delay of the links, or, if longer, the shortest of these times: delays of links that are not at
    the ends of paths, of links with a discipline other than FIFO, and of links that feed these; round trips divided by
    `DELAYS_PER_ROUND_TRIP`; the times in which full buffers of the flows' slowest links empty.

    Examples
    --------
    An access link of 10 us does not set the step of a dumbbell:

    >>> from dfcmodel import Flow, Scenario, dumbbell
    >>> from responsefn import NewReno
    >>> ends = {"access_rate": 1e5, "access_delay": 1e-5, "buffer": 100}
    >>> links = dumbbell(2, rate=1e4, delay=0.02, **ends)
    >>> flows = [Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), NewReno()) for n in (1, 2)]
    >>> round(delay_for_step(Scenario("two", links, flows)), 6)
    0.000626
    """
    if CONTRACTED_DELAY not in scenario.derived:
        scenario.derived[CONTRACTED_DELAY] = max(scenario.shortest_delay, min(_shortest_times(scenario)))
    delay: float = scenario.derived[CONTRACTED_DELAY]
    return delay


def _shortest_times(scenario: Scenario) -> Iterator[float]:
    """Yield the times, s, that a step must resolve; `delay_for_step` takes the shortest."""
    for n, link in enumerate(scenario.links):
        if type(link.discipline) is not FIFO:
            yield from (scenario.links[u].delay for u in (n, *scenario.feeders(n)) if u >= 0)
    routes, size = scenario.routes, scenario.packet_size
    slowest = routes.link_of_minimum(scenario.link_table.rates)
    emptied = scenario.by_link(lambda link: buffer_in_packets(link, size) / link.rate)
    yield float(emptied[slowest].min())
    yield float(scenario.base_rtts().min()) / DELAYS_PER_ROUND_TRIP
    inner = np.ones(len(routes.places), dtype=np.bool_)
    inner[routes.begin] = inner[routes.begin + routes.counts - 1] = False
    if inner.any():
        yield float(scenario.link_table.delays[routes.places[inner]].min())


def nearest_steps(name: str, time: float, step: float) -> int:
    """Return a feedback period, s, as a whole number of steps, at least one; ValueError if more than 1 % off.

    Raises
    ------
    ValueError
        Naming it, where it is more than 1 % away from a multiple of the step.

    Examples
    --------
    >>> nearest_steps("delay", 0.01003, 0.001)
    10
    """
    steps = max(1, round(time / step))
    if abs(steps * step / time - 1.0) > LARGEST_ROUNDING:
        msg = f"must be a multiple of the step {step:g} s to 1 %, is {time / step:.4g} steps"
        raise ValueError(f"{name} = {time:g} s: {msg}; increase steps_per_delay")
    return steps


def integer_and_fraction(steps: Any) -> tuple[Any, Any]:
    """Return whole numbers and fractions (near 1: the next whole number) of steps, as arrays.

    Examples
    --------
    >>> [part.tolist() for part in integer_and_fraction([2.9999999, 3.25])]
    [[3, 3], [0.0, 0.25]]
    """
    integer_part = np.floor(np.asarray(steps) + ROUNDING).astype(np.int64)
    fraction = steps - integer_part
    return integer_part, np.where(fraction < ROUNDING, 0.0, fraction)


def round_down(amounts: Any, quantum: float) -> Any:
    """Return amounts of packets, a number or an array, rounded down to multiples of ``quantum``.

    Examples
    --------
    >>> round_down([0.3, 1.0], 0.25).tolist()
    [0.25, 1.0]
    """
    return np.floor(np.asarray(amounts) / quantum) * quantum


def check_disciplines(scenario: Scenario) -> None:
    """Raise ValueError for disciplines, sources, options of flows and elements that the fluid does not run."""
    _check_elements(scenario)
    for link in scenario.link_table.kinds:
        if "fluid" not in link.discipline.levels:
            refuse_discipline(link, "fluid")
    has_for_packets = not scenario.table.unusual.isdisjoint(FOR_PACKETS)
    for flow in scenario.flows:
        feature = "pacing" if flow.pacing else ""
        if isinstance(flow.source, DeliveryRule):
            feature = "a native rule" if isinstance(flow.source, NativeRule) else "a rule of deliveries"
        elif isinstance(flow.source, (ArrivalProcess, Replay)):
            feature = "an arrival process"
        elif isinstance(flow.source, RateRule):
            if sees_telemetry(type(flow.source)):
                feature = "a rule that follows telemetry"
            elif window_place(type(flow.source)):
                feature = "a rate rule that bounds its packets in flight"
        if feature:
            msg = f"{feature} is for packets; use method=Packets()"
            raise ValueError(f"source of flow {flow.name!r} = {flow.source!r}: {msg}")
        if has_for_packets:
            refuse_flow_options(flow, "fluid")
        if flow.handshake == SYN_WITH_DATA:
            msg = "data in the SYN are for packets; use True, or method=Packets()"
            raise ValueError(f"handshake of flow {flow.name!r} = {flow.handshake!r}: {msg}")
        if math.isfinite(flow.stop) and not isinstance(flow.source, (CBR, OnOff)):
            msg = "only CBR and OnOff stop in the fluid; use method=Packets()"
            raise ValueError(f"stop of flow {flow.name!r} = {flow.stop:g}: {msg}")
        if not (isinstance(flow.source, WindowRule) and answers_marks(type(flow.source))):
            continue
        for link in scenario.path(flow):
            if isinstance(manager_of(link.discipline), PI2):
                msg = f"for {flow.source!r}, which answers each mark, use method=Packets()"
                raise ValueError(f"discipline of link {link.name} = {link.discipline!r}: {msg}")  # noqa: TRY004


def _check_elements(scenario: Scenario) -> None:
    """Raise ValueError for elements of paths that the fluid lacks, and for RateTrace where feedback needs one rate."""
    for element in scenario.all_elements:
        kind, table = type(element).__name__, scenario.link_table
        if isinstance(element, DelayTrace):
            if element.acks or not element.in_order:
                action = "delays ACKs" if element.acks else "lets packets overtake"
                raise ValueError(f"elements: {kind} at {element.link}: {action}; use method=Packets()")
            continue
        if not isinstance(element, RateTrace):
            msg = "acts on single packets; use method=Packets()"
            raise ValueError(f"elements: {kind} at {element.link}: {msg}")  # noqa: TRY004
        rule = scenario.links[table.names.index(element.link)].discipline
        if rule.diffuses or rule.pauses:
            msg = f"is constant under {type(rule).__name__}; use another discipline"
            raise ValueError(f"elements: RateTrace of {element.link}: its rate {msg}")


def check_recovery(name: str, recovery: object) -> None:
    """Raise ValueError for a loss recovery that the fluid does not have; the packet level may have it."""
    if not isinstance(recovery, str) or recovery not in RECOVERIES:
        listed = ", ".join(map(repr, RECOVERIES))
        msg = f"must be one of {listed} in the fluid; others run with method=Packets(recovery=...)"
        raise ValueError(f"{name} = {format_value(recovery)}: {msg}")


# Expected marks.

DRAWN_MARKS_HINT = 'use marks="drawn"'


def with_expected_marks(scenario: Scenario) -> Scenario:
    """Return a scenario with managers and senders for mean numbers of marks; ValueError for one without such a form.

    Raises
    ------
    ValueError
        For a manager or a sender without an expected form.
    """
    links = [replace(link, discipline=_with_mean_marks(link)) for link in scenario.links]
    flows = [replace(flow, source=_source(flow)) for flow in scenario.flows]
    return replace(scenario, links=tuple(links), flows=tuple(flows))


def _with_mean_marks(link: Link) -> Discipline:
    """Return a link's discipline with marks of mean numbers; ValueError for a manager without such a form."""
    rule: Any = link.discipline
    manager = manager_of(rule)
    if manager is None:
        return link.discipline
    mean = manager.expected()
    if mean is None:
        msg = "has no expected marks with marks = 'expected': RampMarking() and StepMarking() at departure have;"
        msg += f" {DRAWN_MARKS_HINT}"
        raise ValueError(f"discipline of link {link.name} = {manager!r}: {msg}")
    discipline: Discipline = mean if manager is rule else replace(rule, manager=mean)
    return discipline


def _source(flow: Flow) -> Any:
    """Return a flow's source with its mean response to marks; ValueError for a rule without one."""
    source = flow.source
    mean = source.expected() if isinstance(source, RateRule) else None
    if mean is None and isinstance(source, (RateRule, WindowRule)):
        msg = f"states no expected response to marks, as DCQCN() does, for marks = 'expected'; {DRAWN_MARKS_HINT}"
        raise ValueError(f"source of flow {flow.name!r} = {source!r}: {msg}")
    return source if mean is None else mean


# The step from an accuracy.

ERROR_PER_CHANGE = 2.0
"""Estimated error over the larger of the last two changes. Chosen on 20 random networks (meshes with TCP, in which
changes do not become smaller, as the losses of senders occur at other times): it covers 19 of them."""


@dataclass(frozen=True)
class Doubling:
    """Result of `double_steps`: the last run, its steps per delay, and its estimated error."""

    run: Any
    steps_per_delay: int
    error: float


def double_steps(
    run: Callable[[int], Any],
    measure: Callable[[Any], Floats],
    accuracy: float,
    first: int,
    limit: int,
) -> Doubling:
    """Double the steps per delay until the error is at most ``accuracy`` or ``limit`` is reached; return the last run.

    The estimated error of a run is the larger change of ``measure`` in the last two doublings, times
    `ERROR_PER_CHANGE`. With first-order convergence the last change is the error.

    Parameters
    ----------
    run
        Returns the run with a number of steps per delay.
    measure
        Array of numbers that follow from a run.
    accuracy
        Largest error of these numbers.
    first, limit
        Steps per delay of the first run, and the largest number of them; there are at least three runs.

    Examples
    --------
    A number with an error of 1/m:

    >>> result = double_steps(lambda m: m, lambda m: np.array([1.0 / m]), 0.1, first=4, limit=128)
    >>> result.steps_per_delay, result.error
    (64, 0.0625)
    >>> double_steps(lambda m: m, lambda m: np.array([1.0 / m]), 1e-3, first=4, limit=128).error
    0.03125
    """
    m = first
    previous, changes = measure(run(m)), list[float]()
    while True:
        m *= 2
        finer = run(m)
        values = measure(finer)
        changes.append(float(np.abs(values - previous).max(initial=0.0)))
        previous = values
        error = ERROR_PER_CHANGE * max(changes[-2:])
        if len(changes) > 1 and (error <= accuracy or 2 * m > limit):
            return Doubling(finer, m, error)
