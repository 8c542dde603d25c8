"""IEEE 802.3x pause in the JAX model: FIFO queues, and thresholds crossed within a step.

As in the engine the queue is linear within a step: it crosses a threshold at an instant of the step,
and the previous link is paused for a fraction of a step. The result is continuous in all parameters,
and its derivatives are those of event times in continuous time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Paused", "begin", "exchange_feedback", "observe", "serve"]


class Paused(NamedTuple):
    """Pause signals and cumulative arrivals; K steps in all, R of them since the oldest signal."""

    on: Any  # (L,) whether a queue is pausing the previous link
    backlog: Any  # (L,) packets in it after the last step
    requested: Any  # (R, L) fraction of each step for which it requested a pause
    arrived: Any  # (F, L, K + 1) cumulative arrivals, by step
    total: Any  # (L, K + 1) the same of all flows; infinite for steps to come
    sent: Any  # (F, L) cumulative departures


def begin(plan: TwinPlan, p: Any, shape: Shape) -> Paused:
    """Return the state of an empty network."""
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    steps = shape.steps
    return Paused(
        on=jnp.zeros(L, dtype=bool),
        backlog=jnp.zeros(L),
        requested=jnp.zeros((shape.oldest, L)),
        arrived=jnp.zeros((F, L, steps + 1)),
        total=jnp.full((L, steps + 1), jnp.inf).at[:, 0].set(0.0),
        sent=jnp.zeros((F, L)),
    )


def exchange_feedback(
    plan: TwinPlan, p: Any, s: Paused, queue: Any, k: Any
) -> tuple[Paused, Any, Any]:
    """Return the state, and the service of links and hosts in step k, packets, (L,) and (F,)."""
    import jax.numpy as jnp

    size, L = s.requested.shape
    received = s.requested[(k - plan.pause_delay) % size, np.arange(L)]
    received = jnp.where(plan.pauses, received, 0.0)
    paused = jnp.concatenate([received[1:], jnp.zeros(1)])  # a queue pauses the previous link
    host_paused = s.requested[(k - plan.host_delay) % size, plan.entry]
    reduction = jnp.where(p.paused_rate < p.link_rate, p.link_rate - p.paused_rate, 0.0)
    return (
        s,
        (p.link_rate - paused * reduction) * plan.step,
        (p.link_rate - host_paused * reduction) * plan.step,
    )


def serve(s: Paused, held: Any, arrivals: Any, service: Any, k: Any) -> tuple[Paused, Any]:
    """Return the state and the departures from ``held``, in order of arrival.

    Flows that arrived in the same step are served in proportion to their arrivals.
    """
    import jax
    import jax.numpy as jnp

    links = np.arange(held.shape[1])
    now = s.arrived[:, :, k] + arrivals
    ever, total = s.arrived.at[:, :, k + 1].set(now), s.total.at[:, k + 1].set(now.sum(axis=0))
    goal = s.sent.sum(axis=0) + service
    all_ = goal >= total[:, k + 1]
    goal = jnp.where(all_, 0.0, goal)
    n = jnp.maximum(jax.vmap(jnp.searchsorted)(total, goal), 1)  # step in which that packet arrived
    before, after = total[links, n - 1], total[links, n]
    gap = jnp.where(all_, 1.0, after - before)
    part = jnp.where(all_, 0.0, goal - before) / gap
    low, high = ever[:, links, n - 1], ever[:, links, n]
    sent = jnp.where(all_, now, low + part * (high - low))
    return s._replace(arrived=ever, total=total, sent=sent), sent - s.sent


def observe(plan: TwinPlan, p: Any, s: Paused, queue: Any, dropped: Any, k: Any) -> Paused:
    """Return the state after step k: drops leave the cumulative arrivals, thresholds are checked."""
    import jax.numpy as jnp

    backlog = queue.sum(axis=0)
    rise = backlog - s.backlog
    slope = jnp.where(rise == 0.0, 1.0, rise)
    begins, ends = ~s.on & (backlog > p.high), s.on & (backlog <= p.low)
    # the fraction of the step after the queue exceeded `high`, or before it fell to `low`
    requested = jnp.where(begins, (backlog - p.high) / slope, jnp.where(s.on, 1.0, 0.0))
    requested = jnp.where(ends, (p.low - s.backlog) / slope, requested)
    ever = s.arrived.at[:, :, k + 1].add(-dropped)
    return s._replace(
        on=(s.on | begins) & ~ends,
        backlog=backlog,
        requested=s.requested.at[k % len(s.requested)].set(requested),
        arrived=ever,
        total=s.total.at[:, k + 1].set(ever[:, :, k + 1].sum(axis=0)),
    )
