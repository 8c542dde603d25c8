"""Flows that share one bottleneck, simulated on the packet engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.elements.base import PathElement
from dfcmodel.network.endpoints.native_rules import NativeRule
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.flows import Flow, random_starts
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import FIFO, Discipline
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario, trajectory
from hopflow.checks import flag, instance, integer, one_number, plain_number, seconds
from hopflow.intervals import half_width
from hopflow.parameters import Options, in_packets_of, param, validate_parameters
from hopflow.units import PACKET_SIZE, PacketUnits, WithUnit, WithUnits, bandwidth_delay_products, in_units
from responsefn import WindowRule, jain_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Bottleneck",
    "PathOptions",
    "Shared",
    "bottleneck_of",
    "mean_of",
    "recoveries_among",
    "validate_rules",
    "within_limits",
]

ACCESS_RATE_RATIO = 10.0
"""Rate of the access links over that of the bottleneck."""
BOTTLENECK_DELAY_PART = 0.1
"""Part of the shortest round trip's propagation on the bottleneck link."""
DEFAULT_DURATION = 60.0
"""Simulated time of `compare` and `coexist_sweep`, s."""
SAMPLES = 500
MAX_RTT = 5.0
MIN_ROUND_TRIPS = 4.0
"""Smallest measured time in round trips: starts are spread over one, or over two if one flow's path is twice as long,
and the first packet takes half a trip."""


@dataclass(frozen=True)
class Shared:
    """Results of F flows at one bottleneck over the measured time: rates, packets/s, loss ratios, delay, s, ....

    Attributes
    ----------
    rate
        Packets/s delivered in order, shape (F,).
    half_rates
        Rates in the first and in the second half of the measured time, shape (2, F).
    loss
        Packets lost over packets delivered and lost, shape (F,).
    delay
        Mean queueing delay at the bottleneck in s.
    utilisation
        Sum of the rates over the bandwidth.
    timeouts
        Timeouts of each flow over the run, shape (F,).
    finished
        Completion time of each flow of finite size, s; NaN for the others, shape (F,).
    """

    rate: NDArray[np.float64]
    half_rates: NDArray[np.float64]
    loss: NDArray[np.float64]
    delay: float
    utilisation: float
    timeouts: NDArray[np.int64]
    finished: NDArray[np.float64]

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of each flow in the sum of the rates, shape (F,); NaN if nothing was delivered."""
        total = float(self.rate.sum())
        return self.rate / total if total else np.full(self.rate.shape, np.nan)

    @property
    def jain(self) -> float:
        """Jain's fairness index of the rates; NaN if nothing was delivered."""
        return jain_index(self.rate) if self.rate.any() else float("nan")


@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class PathOptions(Options):
    """Options of `compare`, `coexist` and `coexist_sweep`: the path besides rate, round-trip time and buffer.

    Parameters
    ----------
    loss
        Probability that a packet is lost at random before the queue, independently, 0 <= loss < 1. `coexist_sweep`
        takes several.
    duration, warm_up
        Simulated time and the part before the measurement (None: a fifth) in s; at least four round trips are measured.
        Without a duration `coexist` simulates 100 s and `coexist_sweep` 60 s. `compare` simulates 60 s then, and 120 s
        and 240 s if the shares of the two halves of the measured time differ by more than chance, as while a flow still
        gains on another.
    recovery
        Loss recovery of all senders, as for `Packets`; None: that of each rule. A native rule has the one that its
        library declares.
    discipline
        Discipline of the queue, such as ``RED()``, ``CoDel()`` or ``PIE()``; None: drop-tail. Rules that answer marks,
        such as DCTCP and Prague, need one that marks: ``StepMarking(20)``, ``PI2()`` or ``DualPI2()``. `coexist` has
        drop-tail alone.
    pacing
        Whether window senders without a pacing rate of their own are paced (`Flow.pacing`); not in `coexist`.
    packet_size
        Bytes of a packet, or a string such as ``"1 kB"``: of rates in bits and buffers in bytes.
    seed
        Seed from which the seeds of the runs are spawned, or a `numpy.random.Generator` that draws it. Calls with
        different seeds have no run in common.

    Examples
    --------
    >>> from dfcmodel import PathOptions
    >>> PathOptions(loss="0.1%", duration="20s", seed=1)
    PathOptions(loss=0.001, duration=20.0, seed=1)
    """

    loss: WithUnit | WithUnits = param(0.0, "share", at_least=0.0, below=1.0)
    duration: WithUnit | None = param(None, "time", above=0.0, hint="in s")
    warm_up: WithUnit | None = param(None, "time", at_least=0.0, hint="in s")
    recovery: str | None = "sack"
    discipline: Discipline | None = None
    pacing: bool = param(False)
    packet_size: WithUnit = param(PACKET_SIZE, "size", at_least=1.0, hint="in bytes")
    seed: int | np.random.Generator = param(0)

    def __post_init__(self) -> None:
        loss = np.asarray(self.loss)
        object.__setattr__(self, "loss", tuple(loss.tolist()) if loss.ndim else loss.item())  # which have a hash
        if self.recovery is not None:
            instance("recovery", self.recovery, str, "the name of a recovery, or None")
        if self.discipline is not None:
            instance("discipline", self.discipline, Discipline, "a discipline, such as CoDel() or DualPI2()")


@dataclass(frozen=True)
class Bottleneck:
    """A bottleneck, packets/s, s and packets, behind access links of ten times its rate, with all settings of runs.

    Parameters
    ----------
    bandwidth
        Rate of the link, packets/s.
    rtt
        Propagation there and back in s.
    buffer
        Packets that wait, besides the packet in transmission.
    loss
        Probability that a packet is lost at random before the queue.
    duration, warm_up
        Simulated time, and the part before the measurement, in s.
    recovery
        Loss recovery of all senders; None: that of each rule.
    discipline
        Discipline of the queue: ``FIFO()``, a queue manager such as ``RED()``, ``CoDel()`` or ``PIE()``, or another
        that the packet level has, such as ``DualPI2()``.
    pacing
        Whether window senders without a pacing rate of their own are paced (`Flow.pacing`).
    elements
        Elements of the path in front of the queue; the bottleneck's link is ``"in->out"``.
    packet_size
        Bytes of a packet.

    Examples
    --------
    >>> from responsefn import NewReno
    >>> path = Bottleneck(1000.0, 0.04, 40, duration=20.0, warm_up=4.0)
    >>> bool(path.run([NewReno()], seed=1).utilisation > 0.9)
    True
    """

    bandwidth: float
    rtt: float
    buffer: int
    loss: float = 0.0
    duration: float = 60.0
    warm_up: float = 12.0
    recovery: str | None = "sack"
    discipline: Discipline = field(default_factory=FIFO)
    pacing: bool = False
    elements: tuple[PathElement, ...] = ()
    packet_size: float = PACKET_SIZE

    def __post_init__(self) -> None:
        size = one_number("packet_size", self.packet_size, at_least=1.0, hint="in bytes")
        numbers: dict[str, float] = {
            "bandwidth": one_number(
                "bandwidth",
                in_packets_of(self.bandwidth, size),
                above=0.0,
                at_most=1e7,
                hint="in packets/s: mbps(100)",
            ),
            "rtt": one_number("rtt", self.rtt, above=0.0, below=MAX_RTT, hint="in s: ms(48) is 0.048"),
        }
        buffer: Any = in_packets_of(self.buffer, size)
        if (products := bandwidth_delay_products("buffer", buffer)) is not None:
            buffer = buffer_packets(products, numbers["bandwidth"], numbers["rtt"])
        elif isinstance(buffer, PacketUnits):
            buffer = int(one_number("buffer", buffer, at_least=1.0, hint=f"in packets, each of {size:g} bytes"))
        numbers["buffer"] = integer("buffer", buffer, 1, 10_000_000)
        for name, value in numbers.items():
            object.__setattr__(self, name, value)  # numbers of JAX, for example, are not hashable
        one_number("loss", self.loss, at_least=0.0, below=1.0)
        seconds("duration", self.duration)
        one_number("warm_up", self.warm_up, at_least=0.0, below=float(self.duration), hint="in s")
        for name in ("duration", "warm_up"):
            object.__setattr__(self, name, plain_number(getattr(self, name)))
        shortest = MIN_ROUND_TRIPS * (self.rtt + 1.0 / self.bandwidth)
        if self.duration - self.warm_up < shortest:
            path = f"warm_up = {self.warm_up:g}, rtt = {self.rtt:g} and bandwidth = {self.bandwidth:g}"
            requirement = f"with {path} must be at least {self.warm_up + shortest:.4g} s, to deliver a packet"
            raise ValueError(f"duration = {self.duration:g}: {requirement}")
        flag("pacing", self.pacing)

    def scenario(
        self,
        sources: Sequence[WindowRule | CBR],
        rtts: Sequence[float] | None = None,
        starts: Sequence[float] | None = None,
        sizes: Sequence[float] | None = None,
    ) -> Scenario:
        """Return the scenario with a flow per source; defaults: the path's RTT, starts at 0 s, sizes in packets inf."""
        trips = [self.rtt] * len(sources) if rtts is None else list(rtts)
        begins = [0.0] * len(sources) if starts is None else list(starts)
        amounts = [float("inf")] * len(sources) if sizes is None else list(sizes)
        bottleneck_delay = 0.5 * BOTTLENECK_DELAY_PART * min(trips)
        window = min(4.0 * (self.bandwidth * max(trips) + self.buffer + 1.0), 2.0**22)
        links = [Link("in", "out", self.bandwidth, bottleneck_delay, self.buffer, self.discipline)]
        flows = []
        for n, source in enumerate(sources):
            delay, rate = 0.5 * trips[n] - bottleneck_delay, ACCESS_RATE_RATIO * self.bandwidth
            links.append(Link(f"s{n}", "in", rate, delay, max(10_000, int(4.0 * window))))
            flows.append(
                Flow(f"{n + 1}", (f"s{n}", "in", "out"), source, max_window=window,
                     start=begins[n], size=amounts[n],
                     pacing=self.pacing and isinstance(source, WindowRule))
            )  # fmt: skip
        return Scenario(
            "bottleneck", tuple(links), tuple(flows), duration=self.duration, elements=self.elements,
            packet_size=self.packet_size,
        )  # fmt: skip

    def run(
        self,
        sources: Sequence[WindowRule | CBR],
        *,
        seed: int,
        rtts: Sequence[float] | None = None,
        starts: Sequence[float] | None = None,
        sizes: Sequence[float] | None = None,
    ) -> Shared:
        """Simulate flows of these sources, each delayed at random by up to a round trip; return their `Shared`.

        Parameters
        ----------
        sources
            Sources of the flows, one per flow.
        seed
            Seed of starts, of the delay of up to one transmission time of each packet at its sender (which keeps
            deterministic flows out of step), and of the random losses.
        rtts, starts, sizes
            Propagation in s, start in s and packets to transfer of each flow.
        """
        scenario = self.scenario(sources, rtts, starts, sizes)
        loss = {"in->out": self.loss} if self.loss else None
        method = Packets(seed=seed, recovery=recoveries_among(scenario.flows, self.recovery), loss=loss)
        step = self.duration / SAMPLES
        starts_at = random_starts(scenario.table, max(rtts or [self.rtt]), np.random.default_rng(seed))
        plan = plan_scenario(
            scenario, method, duration=self.duration, sample=step, starts=starts_at, packet_jitter=1.0 / self.bandwidth,
        )  # fmt: skip
        run = trajectory(plan, run_engine(plan), 0.0)
        begin = round(self.warm_up / step)
        delivered, lost, span = run.counts(run.time[begin - 1] if begin else 0.0)
        second_half, _, second_span = run.counts(run.time[(begin + len(run.time)) // 2 - 1])
        queued = run.queued[list(scenario.senders).index("in")][begin:]
        return Shared(
            rate=delivered / span,
            half_rates=np.array([(delivered - second_half) / (span - second_span), second_half / second_span]),
            loss=lost / np.maximum(lost + delivered, 1.0),
            delay=float(queued.mean()) / self.bandwidth,
            utilisation=float(delivered.sum()) / (span * self.bandwidth),
            timeouts=run.timeouts,
            finished=run.finished - np.array([flow.start for flow in scenario.flows]),
        )


def recoveries_among(flows: Iterable[Flow], recovery: str | None) -> Any:
    """Return ``recovery``, or if native rules have their own, the recovery of each flow by the flow's name."""
    native = {flow.name: flow.source.recovery for flow in flows if isinstance(flow.source, NativeRule)}
    if recovery is None or not native:
        return recovery
    return {flow.name: native.get(flow.name, recovery) for flow in flows}


def buffer_packets(products: float, bandwidth: float, rtt: float) -> int:
    """Return a buffer of so many bandwidth-delay products, packets, rounded down; ValueError if it is below 1."""
    hint = f"in packets: {products:g} BDP at {bandwidth:.6g} packets/s and {rtt:.6g} s"
    return int(one_number("buffer", products * bandwidth * rtt, at_least=1.0, hint=hint) + 1e-9)


def bottleneck_of(
    bandwidth: Any,
    rtt: Any,
    buffer: Any,
    options: PathOptions | None = None,
    *,
    duration: float = DEFAULT_DURATION,
    elements: tuple[PathElement, ...] = (),
) -> Bottleneck:
    """Return the bottleneck for parameters of `compare` or `coexist`, numbers or strings with units.

    Parameters
    ----------
    duration
        Simulated time in s for options without one.
    elements
        Elements of the path in front of the queue.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and the allowed values.
    """
    chosen = PathOptions.of(options)
    rate = in_packets_of(in_units("bandwidth", bandwidth, "rate"), chosen.packet_size)
    is_relative = bandwidth_delay_products("buffer", buffer) is not None
    end = duration if chosen.duration is None else chosen.duration
    return Bottleneck(
        one_number("bandwidth", rate, above=0.0),
        in_units("rtt", rtt, "time"),
        buffer if is_relative else in_units("buffer", buffer, "amount"),
        loss=one_number("loss", chosen.loss),
        duration=end,
        warm_up=0.2 * end if chosen.warm_up is None else chosen.warm_up,
        recovery=chosen.recovery,
        discipline=FIFO() if chosen.discipline is None else chosen.discipline,
        pacing=chosen.pacing,
        elements=elements,
        packet_size=chosen.packet_size,
    )


def validate_rules(rules: Sequence[WindowRule], discipline: Discipline | None = None) -> tuple[WindowRule, ...]:
    """Return window rules as a tuple; an error for other or equal rules, or one for marks where none are set.

    Rules that answer marks need a discipline that marks; None is a drop-tail queue.
    """
    chosen = tuple(rules)
    for rule in chosen:
        if not isinstance(rule, WindowRule):
            raise TypeError(f"rules: {rule!r} must be a window rule, such as Reno()")
        if rule.signal != "loss" and not (discipline is not None and discipline.may_mark):
            raise ValueError(f"rules: {rule!r} answers congestion marks, and this queue drops packets")
    if len(set(chosen)) < len(chosen):
        raise ValueError("rules: must differ from each other")
    return chosen


def within_limits(mean: Any, half_width: Any, low: Any, high: Any) -> NDArray[np.float64]:
    """Return mean -/+ half width, shape (2, ...), clipped to [low, high] with the mean; NaN for a half width of NaN.

    The true value is in the range, so that the clipped interval contains it as often.

    >>> within_limits(0.64, 0.84, 0.0, 1.0)
    array([0., 1.])
    """
    interval = np.array([mean - np.asarray(half_width), mean + np.asarray(half_width)])
    return np.asarray(np.clip(interval, np.minimum(low, mean), np.maximum(high, mean)))


def mean_of(runs: Sequence[float]) -> tuple[float, float]:
    """Return the mean over runs and the half width of its 95 % interval by Student's t, NaN for one run."""
    return float(np.mean(runs)), float(half_width(runs))
