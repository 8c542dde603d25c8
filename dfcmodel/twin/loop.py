"""The time loop of the JAX model: sources, hosts, links and queues in the order of the engine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.twin import dfc, pause

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["TwinRun", "compiled"]


class TwinRun(NamedTuple):
    """Records of a run, one row per sample, as JAX arrays.

    ``efficiency`` (T, F); ``queued`` packets at the ends of the intervals (T, F, L); ``backlog`` at
    the hosts (T, F); ``lost`` per interval (T, F, L); ``delivered`` to the receivers, cumulative,
    (T, F).
    """

    efficiency: Any
    queued: Any
    backlog: Any
    lost: Any
    delivered: Any


class State(NamedTuple):
    """State of F flows on L links, in packets."""

    queue: Any  # (F, L)
    line: Any  # (F, L, M) packets in transit, by the slot in which they arrive
    transit: Any  # (F,) their sum
    control: Any
    access: Any  # (F, M)
    acks: Any  # (F, A)
    backlog: Any  # (F,)
    window: Any  # (F,)
    outstanding: Any  # (F,)
    delivered: Any  # (F,)


@functools.cache
def compiled() -> Callable[[Shape, TwinPlan, Any], TwinRun]:
    """Return the compiled loop, cached per process and shared by scenarios of equal `Shape`."""
    import jax

    return jax.jit(simulate, static_argnums=0)


def simulate(shape: Shape, plan: TwinPlan, p: Any) -> TwinRun:
    """Run the steps of all samples from an empty network."""
    import jax
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    p = jax.tree.map(lambda value: jnp.asarray(value, dtype=float), p)
    none, idle = jnp.zeros((F, L)), jnp.zeros(F)
    rule = pause if shape.pause else dfc
    state = State(
        queue=none,
        line=jnp.zeros((F, L, shape.slots)),
        transit=idle,
        control=rule.begin(plan, p, shape),
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
        state, dropped = step(shape, plan, p, state, k)
        return (state, transit + state.transit, lost + dropped), None

    def one_sample(state: State, s: Any, size: int = shape.every) -> tuple[State, TwinRun]:
        steps = s * shape.every + jnp.arange(size)
        (state, transit, lost), _ = jax.lax.scan(one_step, (state, idle, none), steps)
        efficiency = transit / size / capacity
        return state, TwinRun(efficiency, state.queue, state.backlog, lost, state.delivered)

    samples, rest = divmod(shape.steps, shape.every)
    state, run = jax.lax.scan(one_sample, state, jnp.arange(samples))
    if not rest:
        return run
    _, shorter = one_sample(state, samples, rest)
    whole: TwinRun = jax.tree.map(
        lambda rows, row: jnp.concatenate([rows, row[None]]), run, shorter
    )
    return whole


def step(shape: Shape, plan: TwinPlan, p: Any, s: State, k: Any) -> tuple[State, Any]:
    """Return the state after step k and the packets dropped in it, (F, L)."""
    import jax.numpy as jnp

    F, L = s.queue.shape
    own, links = np.arange(F), np.arange(L)
    on_path = (plan.entry[:, None] <= links) & (links <= plan.last[:, None])
    rule = pause if shape.pause else dfc
    control, service, host_service = rule.exchange_feedback(plan, p, s.control, s.queue, k)

    # receivers and sources
    slot = k % plan.periods
    due = s.line[:, links, slot]
    arrived = due[own, plan.last]
    at = k % plan.ack_delay
    acked = s.acks[own, at]
    window = _window(plan, p, s.window, acked)
    outstanding = s.outstanding - acked
    allowed = _smaller(window, p.max_window) - outstanding
    allowed = jnp.where(allowed > 0.0, allowed, 0.0)
    emitted = jnp.where(plan.constant, p.rate * plan.step, allowed)
    emitted = jnp.where(k >= plan.start, emitted, 0.0)
    backlog = s.backlog + emitted

    # hosts, then nodes
    entered = k % plan.periods[plan.entry]
    sent = jnp.where(plan.host == 2, backlog, _smaller(backlog, host_service))
    entering = jnp.where(plan.host == 2, sent, s.access[own, entered])
    arrivals = jnp.concatenate([jnp.zeros((F, 1)), due[:, :-1]], axis=1)
    arrivals = jnp.where(on_path, arrivals, 0.0)
    arrivals = jnp.where(links == plan.entry[:, None], entering[:, None], arrivals)
    held = s.queue + arrivals
    control, out = rule.serve(control, held, arrivals, service, k)
    queue = held - out
    dropped = _dropped(p.buffer, shape.smoothing, arrivals, queue)
    queue = queue - dropped
    out = jnp.where(on_path, out, 0.0)
    return (
        State(
            queue=queue,
            line=s.line.at[:, links, slot].set(out),
            transit=s.transit + (out - jnp.where(on_path, due, 0.0)).sum(axis=1),
            control=rule.observe(plan, p, control, queue, dropped, k),
            access=s.access.at[own, entered].set(sent),
            acks=s.acks.at[own, at].set(arrived),
            backlog=backlog - sent,
            window=window,
            outstanding=outstanding + emitted,
            delivered=s.delivered + arrived,
        ),
        dropped,
    )


def _smaller(x: Any, y: Any) -> Any:
    """Return the smaller value; at a tie the derivative is that of ``y``."""
    import jax.numpy as jnp

    return jnp.where(x < y, x, y)


def _window(plan: TwinPlan, p: Any, window: Any, acked: Any) -> Any:
    """Return the windows after ``acked`` packets: slow start up to the threshold, then AIMD's."""
    import jax.numpy as jnp

    room = _smaller(p.slow_start_threshold, p.max_window) - window
    slow = jnp.where(room > 0.0, _smaller(acked, room), 0.0)
    window = window + slow
    return window + plan.increase * (acked - slow) / window


def _dropped(buffer: Any, smoothing: float, arrivals: Any, queue: Any) -> Any:
    """Return the drops at full buffers, in proportion to the arrivals of the step, (F, L)."""
    import jax
    import jax.numpy as jnp

    excess = queue.sum(axis=0) - buffer
    if smoothing > 0.0:
        excess = smoothing * jax.nn.softplus(excess / smoothing)
    else:
        excess = jnp.where(excess > 0.0, excess, 0.0)
    total = arrivals.sum(axis=0)
    part = _smaller(excess / jnp.where(total > 0.0, total, 1.0), 1.0)
    return _smaller(arrivals * part, queue)
