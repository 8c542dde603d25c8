"""Completion time and bandwidth of a job of many transfers, beside its bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.demands.exchanges import refuse_bytes
from dfcmodel.network.demands.offered_rates import offers_all_at_once
from dfcmodel.results.completions.lower_bounds import CompletionBounds, bounds_around_failures, transfers
from dfcmodel.results.completions.upper_bounds import busy_time_bound
from dfcmodel.results.limits import limits_of_run, messages_by_topic
from dfcmodel.results.records import Records
from hopflow.checks import choice, count_of, instance, one_number
from hopflow.results import Result, figure
from hopflow.units import readable, readable_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["BUS_FACTORS", "JobCompletion", "job_completion"]


def _fraction_sent(hosts: int) -> float:
    """Return the fraction of an array, (N - 1) / N, that each of N hosts sends if all share the work."""
    return (hosts - 1) / hosts


BUS_FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda hosts: 2.0 * _fraction_sent(hosts),
    "reduce_scatter": _fraction_sent,
    "all_gather": _fraction_sent,
    "all_to_all": _fraction_sent,
    "broadcast": lambda _: 1.0,
    "reduce": lambda _: 1.0,
}
"""Bus bandwidth over algorithm bandwidth of n ranks: NVIDIA/nccl-tests, ``doc/PERFORMANCE.md``."""


@dataclass(frozen=True, repr=False, eq=False)
class JobCompletion(Result):
    """Instants, s, at which a run's transfers complete, and bounds on the last, as `job_completion` returns them.

    Attributes
    ----------
    scenario
        Name of the scenario.
    began
        Start of the first transfer, s.
    finished
        Completion time of each transfer, s from the start of the run, ascending, shape (N,); nan: not complete.
    bounds
        Lower bounds on completion times of any run.
    upper
        A time by which each run is complete whose links are not idle while packets wait for them, s from the start of
        the run; nan where this is not known of the run: packets were paused, lost or sent again, senders or links held
        them back, links repeat frames, or failures led flows over other paths (`job_completion`).
    duration
        Duration of the run, s; transfers that are incomplete at its end are missing.
    limits
        Known limits that apply to the run (`Trajectory.limits`).
    operation, hosts, size
        The collective operation, how many hosts take part, and the bytes of the array of each (NCCL's size);
        empty, 0 and nan where no operation was named.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Packets, Scenario, chain, job_completion, simulate
    >>> links = chain(2, rate=1e4, delay=1e-3, buffer=200)
    >>> flows = [Flow(f"{n}", (1, 2), CBR(1e4), size=n) for n in (10, 40)]
    >>> job = job_completion(simulate(Scenario("two", links, flows, duration=0.1), Packets(seed=1)))
    >>> round(job.time, 6), round(job.bound, 6), job.bounds.link
    (0.006, 0.006, '1->2')
    """

    scenario: str
    began: float
    finished: Floats
    bounds: CompletionBounds
    upper: float = np.nan
    duration: float = np.nan
    limits: tuple[str, ...] = ()
    operation: str = ""
    hosts: int = 0
    size: float = np.nan

    @property
    def unfinished(self) -> int:
        """Number of transfers that were incomplete at the end of the run."""
        return int(np.isnan(self.finished).sum())

    @property
    def time(self) -> float:
        """Time from the first start to the last completion, s; nan if a transfer is incomplete."""
        return float(self.finished[-1] - self.began)

    @property
    def bound(self) -> float:
        """Lower bound of ``time`` for the routes and transfers of the run, s."""
        return self.bounds.job - self.began

    @property
    def upper_bound(self) -> float:
        """Upper bound of ``time``, s; nan if it does not apply."""
        return self.upper - self.began

    @property
    def algorithm_bandwidth(self) -> float:
        """Bytes of the operation over ``time``, bytes/s; nan without an operation."""
        return self.size / self.time

    @property
    def bus_bandwidth(self) -> float:
        """Bytes that each host has to send over ``time``, bytes/s; nan without an operation."""
        factor = BUS_FACTORS[self.operation](self.hosts) if self.operation else np.nan
        return factor * self.algorithm_bandwidth

    def summary(self) -> dict[str, object]:
        """Return texts by name, the rows of the printed table: transfers, time, bounds, bandwidths and limits."""
        N = len(self.finished)
        rows: dict[str, object] = {
            "scenario": self.scenario,
            "transfers": f"{N - self.unfinished} of {N} complete",
        }
        if self.unfinished:
            is_too_short = self.bounds.job > self.duration
            rows["the job did not end"] = (
                f"{self.unfinished} of {N} transfers are missing at the end of the run, at "
                f"{readable_text(self.duration, 's')}{', which is before the lower bound' if is_too_short else ''}"
            )
        else:
            since = f" from the first transfer on, at {readable_text(self.began, 's')}" if self.began > 0.0 else ""
            rows["time"] = f"{readable_text(self.time, 's')}{since}"
        limit = self.bounds.link or "the delays of a chain of transfers"
        over = "" if self.unfinished else f"; the run took {self.time / self.bound:.3f} times as long"
        rows["lower bound"] = f"{readable_text(self.bound, 's')} for these routes and transfers ({limit}){over}"
        counts = {"sprayed transfer": self.bounds.sprayed, "rerouted transfer": self.bounds.rerouted}
        left_out = [count_of(count, name) for name, count in counts.items() if count]
        if left_out:
            rows["not in the bound"] = (
                f"links between the first and the last one of {' and '.join(left_out)}: if these are the bottleneck, "
                "the bound is too low"
            )
        if np.isfinite(self.upper):
            rows["upper bound"] = f"{readable_text(self.upper_bound, 's')}, of links that are never idle"
        if self.operation and not self.unfinished:
            rows["operation"] = f"{self.operation} of {self.hosts} hosts, {readable_text(self.size, 'bytes')}"
            rows["algorithm bandwidth"] = f"{readable_text(self.algorithm_bandwidth, 'bytes')}/s"
            rows["bus bandwidth"] = f"{readable_text(self.bus_bandwidth, 'bytes')}/s"
        rows |= {f"limit, {topic}": message for topic, message in messages_by_topic(self.limits).items()}
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the part of complete transfers over time, and the bounds; return the Axes."""
        axes = figure()[1] if ax is None else ax
        done = self.finished[np.isfinite(self.finished)]
        scale, unit = readable("s", float(done.max(initial=0.0)) or self.bounds.job)
        times = np.concatenate([[self.began], done]) / scale
        axes.step(times, np.arange(len(times)) / len(self.finished), where="post")
        axes.axvline(self.bounds.job / scale, color="black", linestyle=":", label="lower bound")
        if np.isfinite(self.upper):
            axes.axvline(self.upper / scale, color="black", linestyle="--", label="upper bound")
        axes.set(xlabel=f"time ({unit})", ylabel="complete transfers", ylim=(0, 1.05))
        axes.set_title(self.scenario)
        axes.legend()
        return axes


class _Transfers(NamedTuple):
    """M transfers between N hosts: source and target, numbered from 0, and packets, each of shape (M,)."""

    source: Integers
    target: Integers
    packets: Floats

    @property
    def groups(self) -> int:
        """Number of groups of hosts with transfers within, but not between, the groups."""
        label = np.arange(1 + int(max(self.source.max(), self.target.max())))
        before = np.full_like(label, -1)
        while (label != before).any():
            before, smaller = label.copy(), np.minimum(label[self.source], label[self.target])
            np.minimum.at(label, self.source, smaller)
            np.minimum.at(label, self.target, smaller)
            label = label[label]
        return len(np.unique(label))


def _packet_limits(operation: str, hosts: int, packets: float) -> tuple[float, float]:
    """Return the minimum and maximum number of packets that all hosts send for an operation on arrays of ``packets``.

    If parts are exchanged, each host receives its array without its own part once. For a sum all arrays but one are
    sent, and the sum to all hosts but one (by rings, trees and halving-doubling); the maximum is an exchange of all
    arrays. A broadcast sends the array to all hosts but one; scattering it first sends at most the same again. A
    reduction is a broadcast backwards.
    """
    others = hosts - 1
    if operation == "all_reduce":
        return 2.0 * others * packets, hosts * others * packets
    if operation in ("broadcast", "reduce"):
        return others * packets, 2.0 * others * packets
    return others * packets, others * packets


def _check_operation(operation: str, packets: float, moved: _Transfers, nodes: Sequence[Any]) -> None:
    """Raise ValueError if the transfers are not one operation on arrays of this size between all of the nodes.

    1. Transfers of an operation connect all of its hosts: separate groups have several operations.
    2. Sums of parts that are rounded up to packets are up to a packet for each transfer larger, and so are arrays.
    3. No all-reduce sends more from one host to another than a ring, 2 (N - 1) / N of an array, and no broadcast more
       than 3 / 2. Operations that follow each other do. Operations that exchange parts have one number of packets, for
       which the second condition is enough.
    """
    hosts, begin = len(nodes), f"packets = {packets:g}"
    if moved.groups > 1:
        several = f"the transfers connect these in {moved.groups} groups, each with operations of its own"
        raise ValueError(f"{begin}: must be one {operation} of all {hosts} hosts of the run, {several}")
    minimum, maximum = _packet_limits(operation, hosts, packets)
    total, rounded = moved.packets.sum(), len(moved.packets)
    if not minimum - minimum / packets <= total <= maximum + rounded:
        expected = f"{minimum:.4g}" if minimum == maximum else f"{minimum:.4g} to {maximum:.4g}"
        message = f"{operation} of {hosts} hosts with this number of packets each moves {expected} packets"
        raise ValueError(f"{begin}: {message}, the run {total:.4g}")
    pairs, pair = np.unique(moved.source * hosts + moved.target, return_inverse=True)
    between = np.bincount(pair.reshape(-1), moved.packets)
    lower_bounds = between - np.bincount(pair.reshape(-1))  # without rounding up to whole packets
    limit = 2.0 * _fraction_sent(hosts) * packets
    if minimum < maximum and (lower_bounds >= limit).any():
        n = int(np.argmax(lower_bounds))
        source, target = (nodes[k] for k in divmod(int(pairs[n]), hosts))
        sent = f"{source!r} sends {between[n]:.4g} packets to {target!r}"
        raise ValueError(f"{begin}: {sent}, and one {operation} at most {limit:.4g}: the run must have one operation")


def _is_never_idle(run: Records) -> bool:
    """Return whether certainly no link was idle, or repeated frames, while packets waited for it."""
    has_pauses = run.paused is None or len(run.paused)
    sizes = run.scenario.table.numbers("size").sum()
    repeats = run.emitted is None or run.emitted.sum() > sizes or run.lost_by_flow.any()
    by_rates = any(link.discipline.diffuses for link in run.scenario.link_table.kinds)
    has_delays = run.packet_jitter != 0.0 or run.repeats_frames
    has_others = run.rerouted is not None and run.rerouted.any()
    is_limited = has_pauses or repeats or by_rates or has_delays or has_others or run.scenario.all_elements
    return not is_limited and offers_all_at_once(run.scenario)


def job_completion(run: Records, operation: str | None = None, packets: float | None = None) -> JobCompletion:
    """Return the completion time of all transfers of a run, beside its lower bound for these routes and transfers.

    The bound belongs to the routes of the flows and to the algorithm whose transfers they are: with other routes, or
    another algorithm for the same operation, there is another bound.

    The upper bound holds if nothing was paused, lost or sent again, and all flows are transfers that begin together, by
    `responsefn.FixedRate` at the rate of their interfaces. Each link is then busy from the last arrival on, for at most
    the transmission time of all of its packets.

    Parameters
    ----------
    run
        A run at packet level with flows of finite size.
    operation
        A collective operation, with the bandwidths of NCCL's tests: algorithm bandwidth is the size of the array
        over the time, and bus bandwidth 2 (n - 1) / n of it for ``"all_reduce"``, (n - 1) / n for ``"reduce_scatter"``,
        ``"all_gather"`` and ``"all_to_all"``, all of it for ``"broadcast"`` and ``"reduce"``. None: no bandwidths. The
        n hosts are the sources and targets of the transfers, which must be one operation.
    packets
        The array of each host in packets, with ``operation``. For an all-to-all this is n times the packets of a
        host to each other host, as in NCCL's tests; for an all-gather it is the sum of all chunks.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values; for a run without transfers, or of the fluid; with
        ``operation`` for a run of several operations, one after the other or in groups of hosts.

    Notes
    -----
    NVIDIA/nccl-tests, ``doc/PERFORMANCE.md``.

    Examples
    --------
    >>> from dfcmodel import PFC, Fabric, Packets, all_reduce, job_completion, simulate
    >>> from dfcmodel.lossless import leaf_spine
    >>> from responsefn import FixedRate
    >>> fabric = Fabric(leaf_spine(2, 4, hosts=4), discipline=PFC(counts="switch"))
    >>> flows = all_reduce(fabric.hosts, 8000, source=FixedRate(), links=fabric.links, routes="even")
    >>> run = simulate(fabric.scenario("all-reduce", flows, duration=0.01), Packets(seed=1))
    >>> job = job_completion(run, "all_reduce", 8000)
    >>> 1.0 <= job.time / job.bound < 1.1, 0.9 < job.bus_bandwidth / 12.5e9 < 1.0
    (True, True)
    """
    scenario = instance("run", run, Records, "a run, as simulate returns it").scenario
    if run.step > 0.0:
        raise ValueError(f"run of {scenario.name!r}: must be at packet level, Packets()")
    chosen = transfers(scenario)
    if not chosen.any():
        raise ValueError(f"run of {scenario.name!r}: has no flow of finite size")
    finished = np.sort(run.finished[chosen])
    began = float(np.nanmin(run.started[chosen]))
    bounds = bounds_around_failures(scenario, run.rerouted)
    upper = began + busy_time_bound(scenario) if _is_never_idle(run) else np.nan
    completion = JobCompletion(scenario.name, began, finished, bounds, upper, float(run.time[-1]), limits_of_run(run))
    if operation is None:
        if packets is not None:
            raise ValueError(f"packets = {packets!r}: must be None without an operation")
        return completion
    choice("operation", operation, tuple(BUS_FACTORS))
    refuse_bytes(packets, scenario.packet_size)
    array_packets = one_number("packets", np.nan if packets is None else packets, at_least=1.0)
    paths = scenario.table.paths
    last = paths.places[paths.begin + paths.counts - 1]
    endpoints = np.stack([paths.first, last])[:, chosen]
    nodes, inverse = np.unique(endpoints, return_inverse=True)
    source, target = inverse.reshape(endpoints.shape)
    moved = _Transfers(source, target, scenario.table.numbers("size")[chosen])
    hosts = len(nodes)
    _check_operation(operation, array_packets, moved, [scenario.table.nodes[n] for n in nodes.tolist()])
    return replace(completion, operation=operation, hosts=hosts, size=array_packets * scenario.packet_size)
