"""Window rules that share one bottleneck: rates, windows and queue of independent packet-level runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.elements.base import PathElement
from dfcmodel.network.flows import first_state
from dfcmodel.packets.engine import PacketRun, with_room
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.simulation import plan_scenario, trajectory
from dfcmodel.sharing.bottlenecks import (
    ACCESS_RATE_RATIO,
    MAX_RTT,
    Bottleneck,
    PathOptions,
    bottleneck_of,
    buffer_packets,
    recoveries_among,
    validate_rules,
)
from dfcmodel.sharing.coexistence_results import SAMPLES, Coexistence, RunRecord
from hopflow.checks import instances, integer, number, one_number, random_generator
from hopflow.deprecations import takes_options
from hopflow.intervals import spawn_seeds
from hopflow.parameters import Options, in_packets_of, param, refuse_unused, validate_parameters
from hopflow.results import OnFailure, deliver, worst
from hopflow.units import WithUnit, WithUnits, bandwidth_delay_products, declares, in_units, quantities
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.packets.plan import PacketPlan

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SenderOptions", "coexist"]

ACK_BYTES = 40.0
DEFAULT_DURATION = 100.0
"""Simulated time in s."""
EVENTS = "loss_events", "timeouts"
"""Counts of a flow that are also read at the beginning of the measurement."""


@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class SenderOptions(Options):
    """Options of `coexist`: starts, s, and other settings of its senders, and elements of their path.

    Parameters
    ----------
    starts
        When each flow starts, in s, one number or one per flow, at most ``warm_up``; None: at random within the first
        round trip (and the warm-up), again in each run.
    processing
        Largest random time that a packet waits at its sender, drawn uniformly for each, in s; None is the transmission
        time of a packet. Without it (0) deterministic flows fall into step with the queue: whose packets find it full
        depends on the ratio of round trip to transmission time, and a flow may be shut out for good. These phase
        effects are no property of the rules; a random delay of one transmission time takes most of them away (Floyd and
        Jacobson 1992), not all between two flows of almost equal round trips. A packet is stamped after the wait:
        measured round-trip times exclude it. They include the delays of `Jitter` in ``elements``.
    ssthresh
        Window at the end of the first slow start, packets; None: at the first loss.
    max_window
        Largest window in packets (the receiver's); None: four times the packets that path and queue hold.
    min_rto
        Smallest retransmission timer, s; the timer is RFC 6298's, 1 s at first.
    elements
        Elements of the path besides its queue, as for `Scenario`; the bottleneck is the link ``"in->out"``.

    Examples
    --------
    >>> from dfcmodel import SenderOptions
    >>> SenderOptions(starts=["0s", "100ms"], max_window="64pkt")
    SenderOptions(starts=(0.0, 0.1), max_window=64.0)
    """

    starts: WithUnit | WithUnits | None = param(None, "time", at_least=0.0)
    processing: WithUnit | None = param(None, "time", at_least=0.0)
    ssthresh: WithUnit | None = param(None, "amount")
    max_window: WithUnit | None = param(None, "amount")
    min_rto: WithUnit = param(0.2, "time", above=0.0, at_most=100.0, hint="in s")
    elements: Iterable[PathElement] = ()

    def __post_init__(self) -> None:
        if self.starts is not None:
            starts = np.asarray(self.starts)
            object.__setattr__(self, "starts", tuple(starts.tolist()) if starts.ndim else starts.item())
        object.__setattr__(self, "elements", instances("elements", self.elements, PathElement))


@takes_options(PathOptions, p="loss", rng="seed", seconds="duration")
@takes_options(SenderOptions, "senders")
@declares(buffer="amount")
@quantities(rtt="time", bandwidth="rate")
def coexist(
    rules: WindowRule | Iterable[WindowRule],
    rtt: ArrayLike,
    bandwidth: WithUnit,
    buffer: int | str,
    *,
    runs: int = 5,
    on_failure: OnFailure = "raise",
    options: PathOptions | None = None,
    senders: SenderOptions | None = None,
) -> Coexistence:
    """Simulate flows at one drop-tail bottleneck packet by packet, in independent runs; return `Coexistence`.

    The path is that of `compare`: an access link per flow, ten times as fast as the bottleneck, and senders that send
    an endless stream. Each run has its own random numbers and starts. Measured quantities are means over the runs, with
    the 95 % interval of the mean over other seeds and starts at the same duration, and the interval of one further run.
    Neither includes the error of the model. The result has windows and queue of the first run over time. The state of a
    rule begins with the round-trip time of its path, if it has a field for it (`WindowRule.start`).

    Parameters
    ----------
    rules
        One rule per flow, also one's own; the same rule may come several times, and one alone may
        stand without brackets.
    rtt
        Round-trip time without queue, the transmission of a packet and of its ACK on both links included, in s: one
        number or one per flow, above ``1.13 / bandwidth`` (packets of 1500 bytes) and below 5 s.
    bandwidth
        Rate of the bottleneck, packets/s.
    buffer
        Packets that wait in its queue, besides the packet in transmission; an integer >= 1. Also a multiple of
        bandwidth times round-trip time, such as ``"0.5BDP"``, if all flows have the same.
    runs
        Independent runs, at least 1. One run has no intervals, two have wide ones.
    on_failure
        Whether a result without shares raises or is returned with its ``status``.
    options
        Loss, duration, recovery, packet size and seed, see `PathOptions`; None: the defaults, 100 s. The seed is that
        of the first run, or a generator draws it; the seeds of the others are spawned from it. The first runs do not
        depend on ``runs``. A ``discipline`` and ``pacing`` are refused.
    senders
        Starts, windows, timers and waits of the senders, see `SenderOptions`.

    Raises
    ------
    TypeError, ValueError
        Naming the parameter, its value and the allowed values.
    ArithmeticError
        If a rule makes its window infinite or NaN.
    hopflow.NotSolvedError
        If nothing arrived in the measured time of a run, so that there are no shares.

    Examples
    --------
    >>> from dfcmodel import coexist
    >>> from responsefn import CUBIC, Reno
    >>> run = coexist([Reno(), CUBIC()], rtt=0.04, bandwidth=2000.0, buffer=80)
    >>> bool(run.share[0] < run.share[1]), round(run.utilisation, 2)
    (True, 1.0)
    """
    chosen = PathOptions.of(options)
    refuse_unused(chosen, discipline="the queue is drop-tail", pacing="no sender is paced")
    sender = SenderOptions.of(senders, "senders")
    runs = integer("runs", runs, 1, 10_000)
    listed = (rules,) if isinstance(rules, WindowRule) else rules
    flows = instances("rules", listed, WindowRule, "a window rule, such as Reno()")  # type: ignore[type-abstract]
    if not flows:
        raise ValueError("rules = (): must hold at least one")
    validate_rules(tuple(dict.fromkeys(flows)))
    packet_size = chosen.packet_size
    bandwidth = one_number("bandwidth", in_packets_of(bandwidth, packet_size), above=0.0)
    sending = (1.0 + 1.0 / ACCESS_RATE_RATIO) * (1.0 + ACK_BYTES / packet_size) / bandwidth
    rtts = _per_flow("rtt", number("rtt", rtt, above=0.0), len(flows))
    number("rtt", rtts, below=MAX_RTT, hint="in seconds: ms(48) is 0.048")
    hint = f"the time to send a packet and its ACK at bandwidth = {bandwidth:g} packets/s"
    number("rtt", rtts, above=sending, hint=hint)
    if (products := bandwidth_delay_products("buffer", buffer)) is not None and (rtts != rtts[0]).any():
        raise ValueError(f"buffer = {buffer!r}: the flows' round-trip times differ; give packets or a size")
    if products is None:
        packets: Any = in_units("buffer", buffer, "amount")
    else:
        packets = buffer_packets(products, bandwidth, rtts[0])
    path = bottleneck_of(
        bandwidth, float(rtts.max() - sending), packets, chosen, duration=DEFAULT_DURATION,
        elements=tuple(sender.elements),
    )  # fmt: skip
    duration, warm_up = path.duration, path.warm_up
    starts = None
    if sender.starts is not None:
        starts = _per_flow("starts", np.asarray(sender.starts, dtype=np.float64), len(flows))
        number("starts", starts, at_most=warm_up, hint="warm_up, so that all are measured alike")
    windows: dict[str, Any] = {
        name: one_number(name, in_packets_of(getattr(sender, name), packet_size), at_least=1.0)
        for name in ("max_window", "ssthresh")
        if getattr(sender, name) is not None
    }
    wait = 1.0 / bandwidth if sender.processing is None else sender.processing
    step = (duration - warm_up) / SAMPLES
    early_samples = math.ceil(warm_up / step * (1.0 - 1e-12))
    before = max(0.0, early_samples * step - warm_up)  # the measurement has to begin with a sample
    shown: list[RunRecord] = []
    measured, statuses = [], []
    for packet_seed, begins in _draws(chosen.seed, runs, np.minimum(rtts, warm_up), starts):
        scenario = path.scenario(flows, (rtts - sending).tolist(), (begins + before).tolist())
        with_windows = tuple(replace(flow, **windows) for flow in scenario.flows)
        scenario = replace(scenario, flows=with_windows, min_rto=sender.min_rto)
        recovery = recoveries_among(scenario.flows, path.recovery)
        method = Packets(seed=packet_seed, recovery=recovery, loss=_at_senders(path, len(flows)))
        plan = plan_scenario(scenario, method, duration=before + duration, sample=step, packet_jitter=wait)
        record = _run_plan(plan, rtts, early_samples, before)
        shown = shown or [record]  # the trajectories of the others are large
        measured.append(record.measures(bandwidth))
        statuses.append(record.status)
    result = Coexistence(
        rules=flows, rtt=rtts, bandwidth=bandwidth, buffer=path.buffer, p=path.loss, warm_up=warm_up,
        time=shown[0].time, window=shown[0].window, sent=shown[0].sent, acked=shown[0].acked,
        refused=shown[0].refused, lost=shown[0].lost, queue=shown[0].queue, carried=shown[0].carried,
        by_run={name: np.stack([run[name] for run in measured]) for name in measured[0]}, run_status=worst(statuses),
        limits=shown[0].limits,
    )  # fmt: skip
    return deliver(result, on_failure)


def _draws(
    seed: int | np.random.Generator, runs: int, latest: Floats, starts: Floats | None
) -> Iterator[tuple[int, Floats]]:
    """Yield the seed of each run and the starts of its flows, s, (F,); ``starts`` None: uniform up to ``latest``, s.

    The first run draws from the generator of the seed itself, so that it equals the run of ``runs=1``.
    """
    generator_of_first = random_generator("seed", seed)
    for run in range(runs):
        if run == 1:
            seeds = spawn_seeds(generator_of_first, runs - 1)
        generator = np.random.default_rng(seeds[run - 1]) if run else generator_of_first
        begins = latest * generator.random(len(latest)) if starts is None else starts
        yield int(generator.integers(1, 2**31 - 1)), begins


def _at_senders(path: Bottleneck, flows: int) -> dict[str, float] | None:
    """Return the probability of random loss by name of each access link; None for a path without random loss."""
    return {f"s{n}->in": path.loss for n in range(flows)} if path.loss else None


def _run_plan(plan: PacketPlan, rtts: Floats, samples_before: int, before: float) -> RunRecord:
    """Run a plan, return its record; the measurement begins at time 0, ``before`` s after the start of the run."""

    def run_to_end(run: PacketRun, _: int) -> tuple[PacketRun, list[Ints]] | None:
        if not run.advance(samples_before):
            return None
        counts = [run.arrays["flow"][name].astype(np.int64) for name in EVENTS]
        return (run, counts) if run.advance(plan.samples) else None

    run, counts = with_room(plan, run_to_end)
    records = run.finish()
    run_trajectory = trajectory(plan, records, 0.0)
    queue_index = list(plan.scenario.senders).index("in")
    started, hops = np.cumsum(records.starts(), axis=0, dtype=np.int64), plan.hops
    of_access = hops.row[hops.begins & ~hops.is_ack]
    of_queue = of_access + 1
    dropped = np.cumsum(np.asarray(run_trajectory.lost), axis=2).astype(np.int64)
    refused = dropped[:, queue_index]
    lost = dropped.sum(axis=1) - refused
    events = [getattr(run_trajectory, name) - count for name, count in zip(EVENTS, counts, strict=True)]
    first = [
        min(first_state(flow, float(rtt)).cwnd, flow.max_window)
        for flow, rtt in zip(plan.scenario.flows, rtts, strict=True)
    ]
    return RunRecord(
        time=np.append(0.0, run_trajectory.time - before),
        window=np.column_stack([first, run_trajectory.window]),
        sent=_from_zero(started[:, of_access].T + lost),
        acked=_from_zero(np.rint(run_trajectory.delivered).astype(np.int64)),
        refused=_from_zero(refused),
        lost=_from_zero(lost),
        loss_events=events[0],
        timeouts=events[1],
        queue=np.append(0.0, run_trajectory.queued[queue_index]),
        carried=np.append(0, started[:, of_queue].sum(axis=1)),
        status=run_trajectory.status,
        limits=run_trajectory.limits,
    )


def _from_zero(counts: Ints) -> Ints:
    """Return cumulative counts, (F, S), with zeros at time 0 in front, (F, 1 + S)."""
    return np.pad(counts, ((0, 0), (1, 0)))


def _per_flow(name: str, values: Floats, flows: int) -> Floats:
    """Return one number per flow, (F,), from a number or one value per flow; ValueError for another shape."""
    if values.ndim and values.shape != (flows,):
        raise ValueError(f"{name} has shape {values.shape}: must be one number or {flows}")
    return np.broadcast_to(values, (flows,)).astype(np.float64)
