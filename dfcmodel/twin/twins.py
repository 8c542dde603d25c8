"""The JAX model of the fluid engine: differentiable, for smooth sources.

It performs the steps of the engine in the same order (see `simulation.simulate`), for networks of
links with DFC, FIFO queues and pause, and for smooth sources: constant rates, and AIMD windows without
losses. Drops at a full buffer can be smoothed, and thresholds are crossed within steps. The result is
a continuous function of the parameters, with kinks where a branch of the law changes (listed in
`Twin`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.links import buffer_in_packets
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import DFC, Pause
from dfcmodel.twin.loop import QueueRecords, compile_loop
from dfcmodel.twin.plans import TwinPlan, check_scenario, plan_of, shape_of
from hopflow.checks import instance, integer, number, one_number, seed_number
from hopflow.deprecations import accept_old_names
from hopflow.fork_safety import cached_property
from hopflow.parameters import in_packets_of
from hopflow.units import WithUnit, quantities
from responsefn import WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


__all__ = ["Merits", "Parameters", "Twin", "TwinRun"]


class Parameters(NamedTuple):
    """Parameters by which a run can be differentiated; arrays under `jax.vmap`.

    ``link_rate`` (packets/s), ``buffer`` (packets), ``max_window`` and ``slow_start_threshold``
    (packets, (F,)), ``rate`` of constant-rate sources (packets/s, (F,)). For DFC: ``diffusion`` D and
    ``intensity`` alpha. For pause: the thresholds ``high`` and ``low`` (packets) and ``paused_rate``
    (packets/s). Parameters of links are one number if all links with the parameter agree, otherwise one per
    link, (L,); both forms are accepted. Parameters of disciplines that no link has are None.
    """

    link_rate: Any
    buffer: Any
    max_window: Any
    slow_start_threshold: Any
    rate: Any
    diffusion: Any = None
    intensity: Any = None
    high: Any = None
    low: Any = None
    paused_rate: Any = None


class Merits(NamedTuple):
    """Performance measures of a run, differentiable with respect to its `Parameters`.

    ``efficiency``, mean of each flow, (F,); ``queue``, mean number of packets queued in all nodes, ();
    ``loss``, packets lost by each flow, (F,); ``settling_time`` in s, (F,): total time during which
    the efficiency is away from its final value (the mean over the last tenth of the run) by more than
    the tolerance, smoothed over a tenth of it.
    """

    efficiency: Any
    queue: Any
    loss: Any
    settling_time: Any


class TwinRun(NamedTuple):
    """Records of a run by flow, or by flow and link for ``queued`` and ``lost``, one row per sample, as JAX arrays.

    ``efficiency`` (T, F); ``queued`` packets at the ends of the intervals (T, F, L); ``backlog`` at
    the hosts (T, F); ``lost`` per interval (T, F, L); ``delivered`` to the receivers, cumulative,
    (T, F).
    """

    efficiency: Any
    queued: Any
    backlog: Any
    lost: Any
    delivered: Any


@accept_old_names(rng="seed")
@quantities(duration="time", sample="time", smoothing="amount")
@dataclass(frozen=True)
class Twin:
    """A scenario as a differentiable function of its parameters.

    Construction switches JAX to 64 bits (``jax_enable_x64``) for the process.

    Parameters
    ----------
    scenario
        Any network of links with `DFC` per flow, `FIFO` or `Pause` without quanta and managers; parameters
        may differ from link to link. Sources without an end: windows (AIMD, Reno, NewReno, Tahoe) or
        constant rates.
    duration
        Simulated time in s; None is the scenario's.
    steps_per_delay
        Steps per shortest link delay. Delays of links with DFC, their feedback periods, are rounded to
        steps; of other delays the part of a step is kept. As in the engine with
        ``Fluid(store_and_forward=False)`` packets take no time to be transmitted.
    sample
        Interval of the records in s, rounded to whole steps.
    smoothing
        Width in packets of the transition to loss at a full buffer; 0 is the engine's hard limit.
    seed
        Seed of the feedback phases, if these are random.
    phases
        Phases of the nodes' clocks in steps, in the order of ``scenario.nodes``; None: as in the
        scenario.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values, and the discipline that the twin does not have.
    TypeError
        For a source that is not smooth.

    Notes
    -----
    Derivatives are one-sided at the following kinks, and exact elsewhere: a rate J clipped at 0 or at
    its share of the link (eqs. 1, 13), a queue that empties within a step, a host with nothing to
    send, a full buffer (smoothing 0), a window that reaches its limit or the slow-start threshold, a
    flow that starts between two steps; with pause, a threshold crossed exactly at the end of a step,
    and departures that end exactly with the arrivals of a step. A queue whose peak just reaches the
    threshold is a discontinuity: it pauses or it does not.

    Examples
    --------
    Derivatives by D, by all buffers, ... at once are ``jax.jacfwd(twin.merits)(twin.parameters)``:

    >>> from dfcmodel import takano2006
    >>> twin = Twin(takano2006("1", tcp="newreno"), duration=0.02)
    >>> twin.steps, float(twin.parameters.diffusion)
    (800, 0.1)
    """

    scenario: Scenario
    duration: WithUnit | None = None
    steps_per_delay: int = 4
    sample: WithUnit = 1e-3
    smoothing: WithUnit = 0.0
    seed: int = 0
    phases: ArrayLike | None = None

    def __post_init__(self) -> None:
        import jax

        object.__setattr__(self, "seed", seed_number("seed", self.seed))
        jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
        instance("scenario", self.scenario, Scenario)
        integer("steps_per_delay", self.steps_per_delay, 1, 10_000)
        one_number("sample", self.sample, at_least=self.step)
        smoothing = in_packets_of(self.smoothing, self.scenario.packet_size)
        object.__setattr__(self, "smoothing", one_number("smoothing", smoothing, at_least=0.0))
        if self.phases is not None:
            number("phases", self.phases, hint="in s")
        if self.duration is not None:
            one_number("duration", self.duration, above=0.0)
        check_scenario(self.scenario)

    @cached_property
    def step(self) -> float:
        """Time step in s: the shortest delay over ``steps_per_delay``."""
        return self.scenario.shortest_delay / self.steps_per_delay

    @cached_property
    def _plan(self) -> TwinPlan:
        """The `TwinPlan` of the scenario for the step: constants of its simulation."""
        return plan_of(self.scenario, self.step, self.seed, self.phases)

    @cached_property
    def parameters(self) -> Parameters:
        """The scenario's values of all parameters by which a run can be differentiated, as `Parameters`."""
        flows, size = self.scenario.flows, self.scenario.packet_size
        links = [replace(link, buffer=buffer_in_packets(link, size)) for link in self.scenario.links]
        thresholds = [
            min(flow.source.State().ssthresh, flow.max_window)
            if isinstance(flow.source, WindowRule)
            else flow.max_window
            for flow in flows
        ]

        def common(name: str, kind: type) -> Any:
            """Return a parameter of the links of a kind: one number, or one per link, 0 for others."""
            owners = [link if kind is object else link.discipline for link in links]
            values = [float(getattr(o, name)) if isinstance(o, kind) else None for o in owners]
            distinct = {value for value in values if value is not None}
            return distinct.pop() if len(distinct) == 1 else np.array([v or 0.0 for v in values]) if distinct else None

        return Parameters(
            link_rate=common("rate", object),
            buffer=common("buffer", object),
            max_window=np.array([float(flow.max_window) for flow in flows]),
            slow_start_threshold=np.array(thresholds, dtype=float),
            rate=np.array([flow.source.rate if isinstance(flow.source, CBR) else 0.0 for flow in flows]),
            **{name: common(name, DFC) for name in ("diffusion", "intensity")},
            **{name: common(name, Pause) for name in ("high", "low", "paused_rate")},
        )

    @cached_property
    def every(self) -> int:
        """Number of steps per sample."""
        return max(1, round(self.sample / self.step))

    @cached_property
    def last(self) -> NDArray[np.bool_]:
        """Flags of the samples in the last tenth of the run, shape (T,)."""
        count = len(self.time)
        return np.arange(count) >= count - max(1, count // 10)

    @cached_property
    def time(self) -> NDArray[np.float64]:
        """Ends of the sampling intervals in s, shape (T,)."""
        count = -(-self.steps // self.every)
        steps = np.minimum(self.every * np.arange(1.0, count + 1.0), self.steps)
        return np.asarray(self.step * steps, dtype=np.float64)

    @property
    def steps(self) -> int:
        """Number of steps of a run, the duration rounded to steps."""
        end = self.scenario.duration if self.duration is None else self.duration
        return max(1, round(end / self.step))

    def __call__(self, parameters: Parameters | None = None) -> TwinRun:
        """Simulate with parameters; None: the parameters of the scenario."""
        import jax.numpy as jnp

        plan, run = self._plan, self._run(parameters)
        nodes = len(self.scenario.flows), len(self.scenario.links)

        def by_link(values: Any) -> Any:
            dense = jnp.zeros((len(values), *nodes))
            return dense.at[:, plan.flow_of, plan.link_of].set(values)

        return TwinRun(**run._replace(queued=by_link(run.queued), lost=by_link(run.lost))._asdict())

    def _run(self, parameters: Parameters | None = None) -> QueueRecords:
        """Return the records, by queue, of a run with ``parameters``; None: the scenario's parameters."""
        plan = self._plan
        shape = shape_of(self.scenario, plan, self.steps, self.every, float(self.smoothing))
        at = self.parameters if parameters is None else parameters
        return compile_loop()(shape, plan, at)

    @quantities(since="time")
    def merits(self, parameters: Parameters, since: WithUnit = 0.0, tolerance: float = 0.01) -> Merits:
        """Return performance measures of a run with ``parameters``, a smooth function of them.

        Parameters
        ----------
        parameters
            Point of evaluation; differentiate by `jax.jacfwd` or `jax.grad`, vectorize by `jax.vmap`.
        since
            Start of the evaluation in s.
        tolerance
            Deviation from the final efficiency below which a flow counts as settled.
        """
        lengths = np.diff(self.time, prepend=0.0)
        measured = self.time > since
        run, flow_of = self._run(parameters), self._plan.flow_of
        merits: Merits = _measures()(run, flow_of, measured, self.last, tolerance, lengths)
        return merits


@cache
def _measures() -> Any:
    """Return a compiled function from a run's records to its `Merits`."""
    import jax

    def total(values: Any, weights: Any) -> Any:
        return (values * weights.reshape(-1, *[1] * (values.ndim - 1))).sum(axis=0)

    def measures(run: QueueRecords, flow_of: Any, measured: Any, last: Any, tolerance: Any, lengths: Any) -> Merits:
        measured_seconds, last_seconds = measured * lengths, last * lengths
        off = abs(run.efficiency - total(run.efficiency, last_seconds) / last_seconds.sum())
        outside = jax.nn.sigmoid(10.0 * (off / tolerance - 1.0))
        return Merits(
            efficiency=total(run.efficiency, measured_seconds) / measured_seconds.sum(),
            queue=total(run.queued, measured_seconds).sum() / measured_seconds.sum(),
            loss=jax.ops.segment_sum(total(run.lost, measured), flow_of, run.delivered.shape[1]),
            settling_time=total(outside, measured_seconds),
        )

    return jax.jit(measures)
