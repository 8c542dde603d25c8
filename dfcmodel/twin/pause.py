"""IEEE 802.3x pause in the JAX twin: FIFO queues in order of arrival, and thresholds with a slope.

The engine compares a queue with its thresholds between steps, so that nothing it computes depends on
a threshold but in jumps. Here the queue is a straight line within a step: a threshold is met at an
instant in it, and the link before is paused for a part of a step. That is continuous in everything; to
its derivatives a threshold is what it is in continuous time, the instant of an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Paused", "begin", "note", "serve", "speak"]


class Paused(NamedTuple):
    """Who said what, and what came when; K steps in all, R of them since the oldest message."""

    on: Any  # (L,) whether a queue has asked for a pause
    waits: Any  # (L,) packets in it after the last step
    said: Any  # (R, L) part of each step in which it was asking
    came: Any  # (F, L, K + 1) packets that ever came, by step
    total: Any  # (L, K + 1) the same of all flows; infinite where not there yet
    sent: Any  # (F, L) packets that ever left


def begin(plan: TwinPlan, p: Any, shape: Shape) -> Paused:
    """Return the state of an empty network."""
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    steps = shape.samples * shape.every
    return Paused(
        on=jnp.zeros(L, dtype=bool),
        waits=jnp.zeros(L),
        said=jnp.zeros((shape.oldest, L)),
        came=jnp.zeros((F, L, steps + 1)),
        total=jnp.full((L, steps + 1), jnp.inf).at[:, 0].set(0.0),
        sent=jnp.zeros((F, L)),
    )


def speak(plan: TwinPlan, p: Any, s: Paused, queue: Any, k: Any) -> tuple[Paused, Any, Any]:
    """Return the state, and what links and hosts may send in step k, packets, (L,) and (F,)."""
    import jax.numpy as jnp

    size, L = s.said.shape
    heard = s.said[(k - plan.pause_delay) % size, np.arange(L)]
    heard = jnp.where(plan.pauses, heard, 0.0)
    paused = jnp.concatenate([heard[1:], jnp.zeros(1)])  # a queue pauses the link before it
    host_paused = s.said[(k - plan.host_delay) % size, plan.entry]
    less = jnp.where(p.paused_rate < p.link_rate, p.link_rate - p.paused_rate, 0.0)
    return (
        s,
        (p.link_rate - paused * less) * plan.step,
        (p.link_rate - host_paused * less) * plan.step,
    )


def serve(s: Paused, held: Any, came: Any, budget: Any, k: Any) -> tuple[Paused, Any]:
    """Return the state and what leaves of ``held``, first what came first.

    Flows are served in proportion to what came in the same step.
    """
    import jax
    import jax.numpy as jnp

    links = np.arange(held.shape[1])
    now = s.came[:, :, k] + came
    ever, total = s.came.at[:, :, k + 1].set(now), s.total.at[:, k + 1].set(now.sum(axis=0))
    goal = s.sent.sum(axis=0) + budget
    all_ = goal >= total[:, k + 1]
    goal = jnp.where(all_, 0.0, goal)
    n = jnp.maximum(jax.vmap(jnp.searchsorted)(total, goal), 1)  # the step in which the goal came
    before, after = total[links, n - 1], total[links, n]
    gap = jnp.where(all_, 1.0, after - before)
    part = jnp.where(all_, 0.0, goal - before) / gap
    low, high = ever[:, links, n - 1], ever[:, links, n]
    sent = jnp.where(all_, now, low + part * (high - low))
    return s._replace(came=ever, total=total, sent=sent), sent - s.sent


def note(plan: TwinPlan, p: Any, s: Paused, queue: Any, dropped: Any, k: Any) -> Paused:
    """Return the state after step k: what was dropped never came, thresholds may have been met."""
    import jax.numpy as jnp

    waits = queue.sum(axis=0)
    rise = waits - s.waits
    slope = jnp.where(rise == 0.0, 1.0, rise)
    asks, ends = ~s.on & (waits > p.high), s.on & (waits <= p.low)
    # the part of the step after `high` was met, or before `low` was
    asked = jnp.where(asks, (waits - p.high) / slope, jnp.where(s.on, 1.0, 0.0))
    asked = jnp.where(ends, (p.low - s.waits) / slope, asked)
    ever = s.came.at[:, :, k + 1].add(-dropped)
    return s._replace(
        on=(s.on | asks) & ~ends,
        waits=waits,
        said=s.said.at[k % len(s.said)].set(asked),
        came=ever,
        total=s.total.at[:, k + 1].set(ever[:, :, k + 1].sum(axis=0)),
    )
