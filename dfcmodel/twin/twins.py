"""The JAX twin of the fluid engine, for smooth sources: ensembles, gradients, accelerators.

It takes the engine's steps in the engine's order (see `simulation.simulate`), for chains whose links
all have DFC or all pause, and for sources that are smooth: constant rates, and windows of AIMD kind
that lose nothing. What a full buffer drops is smoothed, and thresholds are met within steps. The result
is a continuous function of the parameters, with kinks where a branch of the law changes (listed in
`Twin`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.flows import CBR
from dfcmodel.theory.law import law_of
from dfcmodel.twin.loop import TwinRun, compiled
from dfcmodel.twin.plans import Shape, TwinPlan, alike, plan_of
from hopflow.checks import one_number, whole
from responsefn import AIMD, NewReno, Reno, Tahoe, WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.network.networks import Scenario

__all__ = ["Merits", "Parameters", "Twin", "TwinRun"]


class Parameters(NamedTuple):
    """What a twin can be differentiated by; numbers, or arrays under `jax.vmap`.

    ``link_rate`` (packets/s), ``buffer`` (packets), ``max_window`` and ``slow_start_threshold``
    (packets, (F,)), ``rate`` of constant-rate sources (packets/s, (F,)). Of links with DFC:
    ``diffusion`` D and ``intensity`` alpha. Of links that pause: the thresholds ``high`` and ``low``
    (packets) and ``paused_rate`` (packets/s). None is what the links do not have.
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
    """Figures of merit of a run, differentiable by every one of its `Parameters`.

    ``efficiency`` of each flow, mean, (F,); ``queue``, packets waiting in all nodes, mean, ();
    ``loss``, packets lost by each flow, (F,); ``settling_time`` in s, (F,): for how long the
    efficiency is off its final value, the mean of the last tenth of the run, smoothed over a tenth of
    the tolerance.
    """

    efficiency: Any
    queue: Any
    loss: Any
    settling_time: Any


@dataclass(frozen=True)
class Twin:
    """A scenario as a differentiable function of its parameters.

    It switches JAX to 64 bits (``jax_enable_x64``) for the process.

    Parameters
    ----------
    scenario
        Flows along one chain whose links all have the same DFC, or the same pause without quanta,
        and one rate and buffer; their delays may differ. Sources: windows (AIMD, Reno, NewReno,
        Tahoe) or constant rates.
    duration
        Simulated time in s; None is the scenario's.
    steps_per_delay
        Steps per shortest link delay; the other delays are rounded to steps.
    sample
        Interval of the records in s, rounded to whole steps.
    smoothing
        Packets over which the loss at a full buffer sets in; 0 is the engine's hard limit.
    rng
        Seed of the feedback phases, where they are random.
    phases
        Of the nodes' clocks in steps, the receiver's last, shape (L + 1,); None: by the scenario.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    TypeError
        For a source that is not smooth.

    Notes
    -----
    Kinks, where derivatives are one-sided: a rate J that is clipped at 0 or at its share of the link
    (eqs. 1, 13), a queue that runs empty within a step, a host that has nothing to send, a full
    buffer (smoothing 0), a window that meets its limit or the slow-start threshold, a flow that
    starts between two steps; with pause, a threshold that is met exactly between two steps, and what
    leaves a queue exactly up to what came in one. Between them derivatives are exact. A queue whose
    peak just touches the threshold is a jump: it asks for a pause or it does not.

    With pause the engine looks at queues between steps, the twin within: they differ by up to one step
    in when a pause begins and ends.

    Examples
    --------
    >>> import jax
    >>> from dfcmodel import takano2006
    >>> twin = Twin(takano2006("1", tcp="newreno"), duration=0.02)
    >>> slopes = jax.jacfwd(twin.merits)(twin.parameters)
    >>> slopes.queue.diffusion.shape
    ()
    """

    scenario: Scenario
    duration: float | None = None
    steps_per_delay: int = 4
    sample: float = 1e-3
    smoothing: float = 0.0
    rng: int = 0
    phases: ArrayLike | None = None

    def __post_init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
        whole("steps_per_delay", self.steps_per_delay, 1, 10_000)
        one_number("sample", self.sample, at_least=self.step)
        one_number("smoothing", self.smoothing, at_least=0.0)
        if self.duration is not None:
            one_number("duration", self.duration, above=0.0)
        alike(self.scenario)
        for flow in self.scenario.flows:
            if not isinstance(flow.source, (CBR, AIMD, Reno, NewReno, Tahoe)):
                kinds = "CBR, AIMD, Reno, NewReno or Tahoe"
                raise TypeError(f"source of flow {flow.name!r} = {flow.source!r}: must be {kinds}")

    @cached_property
    def step(self) -> float:
        """Time step in s: the shortest delay over ``steps_per_delay``."""
        return min(link.delay for link in self.scenario.links) / self.steps_per_delay

    @cached_property
    def _plan(self) -> TwinPlan:
        return plan_of(self.scenario, self.step, self.rng, self.phases)

    @cached_property
    def parameters(self) -> Parameters:
        """The scenario's own."""
        flows, link = self.scenario.flows, self.scenario.links[0]
        rule = alike(self.scenario)
        thresholds = [
            min(flow.source.State().ssthresh, flow.max_window)
            if isinstance(flow.source, WindowRule)
            else flow.max_window
            for flow in flows
        ]
        parameters = Parameters(
            link_rate=float(link.rate),
            buffer=float(link.buffer),
            max_window=np.array([float(flow.max_window) for flow in flows]),
            slow_start_threshold=np.array(thresholds, dtype=float),
            rate=np.array(
                [flow.source.rate if isinstance(flow.source, CBR) else 0.0 for flow in flows]
            ),
        )
        if rule is None:
            law = law_of(self.scenario)
            return parameters._replace(diffusion=law.diffusion, intensity=law.intensity)
        levels = {name: float(getattr(rule, name)) for name in ("high", "low", "paused_rate")}
        return parameters._replace(**levels)

    @cached_property
    def every(self) -> int:
        """Steps per sample."""
        return max(1, round(self.sample / self.step))

    @cached_property
    def time(self) -> NDArray[np.float64]:
        """Ends of the sampling intervals in s, shape (T,)."""
        end = self.scenario.duration if self.duration is None else self.duration
        count = int(np.ceil(round(end / self.step) / self.every))
        return self.every * self.step * np.arange(1.0, count + 1.0)

    def __call__(self, parameters: Parameters | None = None) -> TwinRun:
        """Simulate; ``None`` is the scenario's own parameters."""
        plan = self._plan
        shape = Shape(
            pause=alike(self.scenario) is not None,
            oldest=int(max(plan.pause_delay.max(), plan.host_delay.max())) + 1,
            slots=int(plan.periods.max()),
            acks=int(plan.ack_delay.max()),
            samples=len(self.time),
            every=self.every,
            smoothing=float(self.smoothing),
        )
        at = self.parameters if parameters is None else parameters
        run: TwinRun = compiled()(shape, plan, at)
        return run

    def merits(self, parameters: Parameters, since: float = 0.0, tolerance: float = 0.01) -> Merits:
        """Return the figures of merit after ``since`` (s), one smooth function of the parameters.

        Parameters
        ----------
        parameters
            Where; differentiate by `jax.jacfwd` or `jax.grad`, vectorize by `jax.vmap`.
        since
            What came before is left out, in s.
        tolerance
            By how much an efficiency may be off when it counts as settled.
        """
        import jax

        run = self(parameters)
        late = self.time > since
        final = run.efficiency[-max(1, len(self.time) // 10) :].mean(axis=0)
        off = abs(run.efficiency - final)[late]
        outside = jax.nn.sigmoid(10.0 * (off / tolerance - 1.0))
        return Merits(
            efficiency=run.efficiency[late].mean(axis=0),
            queue=run.queued[late].sum(axis=(1, 2)).mean(),
            loss=run.lost[late].sum(axis=(0, 2)),
            settling_time=outside.sum(axis=0) * self.every * self.step,
        )
