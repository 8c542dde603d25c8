"""The JAX twin of the fluid engine for DFC and smooth sources: ensembles, gradients, accelerators.

It takes the engine's steps in the engine's order (see `simulation.simulate`), for chains whose links
all have DFC, and for sources that are smooth: constant rates, and windows of AIMD kind that lose
nothing. What a full buffer drops is smoothed. The result is a continuous function of the parameters,
with kinks where a branch of the law changes (listed in `Twin`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.flows import CBR
from dfcmodel.law import law_of, rates
from hopflow.checks import number, one_number, whole
from responsefn import AIMD, NewReno, Reno, Tahoe, WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from dfcmodel.networks import Scenario

__all__ = ["Merits", "Parameters", "Twin", "TwinRun"]


class Parameters(NamedTuple):
    """What a twin can be differentiated by; numbers, or arrays under `jax.vmap`.

    ``diffusion`` D, ``intensity`` alpha, ``link_rate`` (packets/s), ``buffer`` (packets),
    ``max_window`` and ``slow_start_threshold`` (packets, (F,)), ``rate`` of constant-rate sources
    (packets/s, (F,)).
    """

    diffusion: Any
    intensity: Any
    link_rate: Any
    buffer: Any
    max_window: Any
    slow_start_threshold: Any
    rate: Any


class TwinRun(NamedTuple):
    """What a twin records, one row per sample; arrays of JAX.

    ``efficiency`` (T, F); ``queued`` packets at the ends of the intervals (T, F, L); ``backlog`` at
    the hosts (T, F); ``lost`` per interval (T, F, L); ``delivered`` to the receivers, cumulative,
    (T, F).
    """

    efficiency: Any
    queued: Any
    backlog: Any
    lost: Any
    delivered: Any


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


class _State(NamedTuple):
    queue: Any  # (F, L)
    line: Any  # (F, L, M) packets on the links, by the slot in which they arrive
    transit: Any  # (F,) their sum
    told_rate: Any  # (F, L)
    told_queue: Any
    message_rate: Any
    message_queue: Any
    rate: Any  # (F, L) J
    host_rate: Any  # (F,)
    host_message: Any
    access: Any  # (F, M)
    acks: Any  # (F, A)
    backlog: Any  # (F,)
    window: Any  # (F,)
    outstanding: Any  # (F,)
    delivered: Any  # (F,)


class _Shape(NamedTuple):
    """What the compiled loop depends on beside the shapes of its arguments."""

    slots: int  # steps of the longest link
    acks: int  # steps of the longest way back
    samples: int
    every: int
    smoothing: float


class _Plan(NamedTuple):
    """What is fixed: the step, whole numbers of steps, and which flow is where."""

    step: float
    periods: NDArray[np.int64]  # (L,) steps per link delay
    phases: NDArray[np.int64]  # (L + 1,) of each node's clock, the receiver's last
    entry: NDArray[np.int64]  # (F,)
    last: NDArray[np.int64]  # (F,)
    start: NDArray[np.int64]  # (F,)
    ack_delay: NDArray[np.int64]  # (F,)
    host: NDArray[np.int64]  # (F,) 0 shaped, 1 unshaped, 2 direct
    constant: NDArray[np.bool_]  # (F,) constant-rate sources
    increase: NDArray[np.float64]  # (F,) packets per round trip, of the windows


@dataclass(frozen=True)
class Twin:
    """A scenario as a differentiable function of its parameters.

    It switches JAX to 64 bits (``jax_enable_x64``) for the process.

    Parameters
    ----------
    scenario
        Flows along one chain whose links all have DFC and one rate, buffer, D and alpha; their
        delays may differ. Sources: windows (AIMD, Reno, NewReno, Tahoe) or constant rates.
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
    buffer (smoothing 0), a window that meets its limit or the slow-start threshold, and a flow that
    starts between two steps. Between them derivatives are exact.

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
        for flow in self.scenario.flows:
            law_of(self.scenario, self.scenario.flows.index(flow))
            if not isinstance(flow.source, (CBR, AIMD, Reno, NewReno, Tahoe)):
                kinds = "CBR, AIMD, Reno, NewReno or Tahoe"
                raise TypeError(f"source of flow {flow.name!r} = {flow.source!r}: must be {kinds}")

    @cached_property
    def step(self) -> float:
        """Time step in s: the shortest delay over ``steps_per_delay``."""
        return min(link.delay for link in self.scenario.links) / self.steps_per_delay

    @cached_property
    def _plan(self) -> _Plan:
        links, flows = self.scenario.links, self.scenario.flows
        for one, next_ in itertools.pairwise(links):
            if one.target != next_.source:
                raise ValueError(f"links: must be one chain, but {one.name} leads to {next_.name}")
        periods = np.array([round(link.delay / self.step) for link in links])
        paths = [self.scenario.path_index(flow) for flow in flows]
        nodes = np.append(
            periods[:1], periods
        )  # a clock's period of a node is its upstream link's delay
        nodes = np.append(nodes, periods[-1])[: len(periods) + 1]
        if self.phases is not None:
            phases = number("phases", self.phases, at_least=0.0).astype(int)
            if phases.shape != nodes.shape or (phases >= nodes).any():
                raise ValueError(f"phases = {self.phases!r}: must be below {nodes.tolist()}")
        elif law_of(self.scenario).synchronous:
            phases = np.zeros_like(nodes)
        else:
            phases = np.random.default_rng(self.rng).integers(0, nodes)
            phases[-1] = phases[-2] % nodes[-1]  # the engine's receivers have no clock of their own
        path_steps = [sum(periods[list(path)]) for path in paths]
        access = [
            0 if flow.host == "direct" else periods[path[0]]
            for flow, path in zip(flows, paths, strict=True)
        ]
        return _Plan(
            step=self.step,
            periods=periods,
            phases=phases,
            entry=np.array([path[0] for path in paths]),
            last=np.array([path[-1] for path in paths]),
            start=np.array([round(flow.start / self.step) for flow in flows]),
            ack_delay=np.array(path_steps) + np.array(access),
            host=np.array([("shaped", "unshaped", "direct").index(flow.host) for flow in flows]),
            constant=np.array([isinstance(flow.source, CBR) for flow in flows]),
            increase=np.array(
                [float(getattr(getattr(flow.source, "params", None), "a", 1.0)) for flow in flows]
            ),
        )

    @cached_property
    def parameters(self) -> Parameters:
        """The scenario's own."""
        law, flows = law_of(self.scenario), self.scenario.flows
        thresholds = [
            min(flow.source.State().ssthresh, flow.max_window)
            if isinstance(flow.source, WindowRule)
            else flow.max_window
            for flow in flows
        ]
        return Parameters(
            diffusion=law.diffusion,
            intensity=law.intensity,
            link_rate=law.link_rate,
            buffer=law.buffer,
            max_window=np.array([float(flow.max_window) for flow in flows]),
            slow_start_threshold=np.array(thresholds, dtype=float),
            rate=np.array(
                [flow.source.rate if isinstance(flow.source, CBR) else 0.0 for flow in flows]
            ),
        )

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
        shape = _Shape(
            slots=int(self._plan.periods.max()),
            acks=int(self._plan.ack_delay.max()),
            samples=len(self.time),
            every=self.every,
            smoothing=float(self.smoothing),
        )
        run: TwinRun = _compiled()(
            shape, self._plan, self.parameters if parameters is None else parameters
        )
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


def _smaller(x: Any, y: Any) -> Any:
    """Return the smaller; at a tie the derivative is that of ``y``."""
    import jax.numpy as jnp

    return jnp.where(x < y, x, y)


@functools.cache
def _compiled() -> Callable[[_Shape, _Plan, Parameters], TwinRun]:
    """One for the process: scenarios of one shape share its code."""
    import jax

    return jax.jit(_simulate, static_argnums=0)


def _simulate(shape: _Shape, plan: _Plan, p: Parameters) -> TwinRun:
    """Run the steps of all samples."""
    import jax
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    p = jax.tree.map(lambda value: jnp.asarray(value, dtype=float), p)
    full = jnp.broadcast_to(p.link_rate, (F, L))
    none = jnp.zeros((F, L))
    idle = jnp.zeros(F)
    state = _State(
        queue=none,
        line=jnp.zeros((F, L, shape.slots)),
        transit=idle,
        told_rate=full,
        told_queue=none,
        message_rate=full,
        message_queue=none,
        rate=none,
        host_rate=idle,
        host_message=full[:, 0],
        access=jnp.zeros((F, shape.slots)),
        acks=jnp.zeros((F, shape.acks)),
        backlog=idle,
        window=jnp.ones(F),
        outstanding=idle,
        delivered=idle,
    )
    on_path = (plan.entry[:, None] <= np.arange(L)) & (np.arange(L) <= plan.last[:, None])
    capacity = p.link_rate * plan.step * (on_path * plan.periods).sum(axis=1)

    def one_step(carry: Any, k: Any) -> tuple[Any, None]:
        state, transit, lost = carry
        state, dropped = _step(plan, shape.smoothing, p, state, k)
        return (state, transit + state.transit, lost + dropped), None

    def one_sample(state: _State, s: Any) -> tuple[_State, TwinRun]:
        steps = s * shape.every + jnp.arange(shape.every)
        (state, transit, lost), _ = jax.lax.scan(one_step, (state, idle, none), steps)
        efficiency = transit / shape.every / capacity
        return state, TwinRun(efficiency, state.queue, state.backlog, lost, state.delivered)

    _, run = jax.lax.scan(one_sample, state, jnp.arange(shape.samples))
    return run


def _step(plan: _Plan, smoothing: float, p: Parameters, s: _State, k: Any) -> tuple[_State, Any]:
    """Return the state after step k and the packets dropped in it, (F, L)."""
    import jax
    import jax.numpy as jnp

    F, L = s.queue.shape
    own, links, h = np.arange(F), np.arange(L), plan.step
    on_path = (plan.entry[:, None] <= links) & (links <= plan.last[:, None])
    started = k >= plan.start
    active = on_path & (k > plan.start)[:, None]  # a flow counts from its first step on
    gain = p.diffusion / (plan.periods * h)

    def shift(values: Any, last: Any) -> Any:
        """Values of the next node; the receiver's for the last."""
        moved = jnp.concatenate([values[:, 1:], values[:, :1]], axis=1)
        return jnp.where(links == plan.last[:, None], last, moved)

    # feedback: what is due arrives, rates follow, new messages leave (eqs. 1-5, 9, 13)
    hears = k % plan.periods == plan.phases[1:]
    first = plan.periods[plan.entry]
    host_hears = k % first == plan.phases[plan.entry] % first
    told_rate = jnp.where(hears & active, s.message_rate, s.told_rate)
    told_queue = jnp.where(hears & active, s.message_queue, s.told_queue)
    host_rate = jnp.where(host_hears & (k > plan.start), s.host_message, s.host_rate)

    told = told_rate, told_queue, s.queue, active
    rate = jnp.where(hears & active, rates(*told, p.intensity, gain, p.link_rate, jnp), s.rate)
    nominal = rates(*told, 1.0, gain, p.link_rate, jnp)
    tells = hears & active
    message_rate = jnp.where(tells, shift(nominal, p.link_rate), s.message_rate)
    message_queue = jnp.where(tells, shift(s.queue, 0.0), s.message_queue)
    wanted = (
        p.intensity * nominal[own, plan.entry]
        - p.diffusion / (first * h) * s.queue[own, plan.entry]
    )
    wanted = _smaller(jnp.where(wanted > 0.0, wanted, 0.0), p.link_rate)
    host_message = jnp.where(host_hears & (k > plan.start), wanted, s.host_message)

    # receivers and sources
    slot = k % plan.periods
    due = s.line[:, links, slot]
    arrived = due[own, plan.last]
    at = k % plan.ack_delay
    acked = s.acks[own, at]
    threshold = _smaller(p.slow_start_threshold, p.max_window)
    room = threshold - s.window
    slow = jnp.where(room > 0.0, _smaller(acked, room), 0.0)
    window = s.window + slow
    window = window + plan.increase * (acked - slow) / window
    outstanding = s.outstanding - acked
    allowed = _smaller(window, p.max_window) - outstanding
    allowed = jnp.where(allowed > 0.0, allowed, 0.0)
    emitted = jnp.where(started, jnp.where(plan.constant, p.rate * h, allowed), 0.0)
    backlog = s.backlog + emitted

    # nodes
    entered = k % first
    pace = jnp.where(plan.host == 0, host_rate, p.link_rate) * h
    sent = jnp.where(plan.host == 2, backlog, _smaller(backlog, pace))
    enters = jnp.where(plan.host == 2, sent, s.access[own, entered])
    came = jnp.concatenate([jnp.zeros((F, 1)), due[:, :-1]], axis=1)
    came = jnp.where(links == plan.entry[:, None], enters[:, None], jnp.where(on_path, came, 0.0))
    held = s.queue + came
    out = _smaller(held, rate * h)
    queue = held - out
    total = queue.sum(axis=0)
    excess = total - p.buffer
    excess = (
        smoothing * jax.nn.softplus(excess / smoothing)
        if smoothing > 0.0
        else jnp.where(excess > 0.0, excess, 0.0)
    )
    fresh = came.sum(axis=0)
    part = _smaller(excess / jnp.where(fresh > 0.0, fresh, 1.0), 1.0)
    dropped = _smaller(came * part, queue)
    out = jnp.where(on_path, out, 0.0)
    return (
        _State(
            queue=queue - dropped,
            line=s.line.at[:, links, slot].set(out),
            transit=s.transit + (out - jnp.where(on_path, due, 0.0)).sum(axis=1),
            told_rate=told_rate,
            told_queue=told_queue,
            message_rate=message_rate,
            message_queue=message_queue,
            rate=rate,
            host_rate=host_rate,
            host_message=host_message,
            access=s.access.at[own, entered].set(sent),
            acks=s.acks.at[own, at].set(arrived),
            backlog=backlog - sent,
            window=window,
            outstanding=outstanding + emitted,
            delivered=s.delivered + arrived,
        ),
        dropped,
    )
