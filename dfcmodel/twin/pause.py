"""IEEE 802.3x pause in the JAX model: thresholds crossed within a step.

As in the engine the queue is linear within a step: it crosses a threshold at an instant of the step,
and those before it are paused for a fraction of a step. The result is continuous in all parameters,
and its derivatives are those of event times in continuous time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.twin.links import of_all_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Paused", "begin", "observe", "reductions"]


class Paused(NamedTuple):
    """Pause signals; R steps since the oldest one that may still count."""

    on: Any  # (L,) whether a queue is pausing those before it
    backlog: Any  # (L,) packets in it after the last step
    asked: Any  # (R, L) for each step: x > 0, a pause in its last part x; x < 0, in its first part -x


def begin(plan: TwinPlan, shape: Shape) -> Paused:
    """Return the state of an empty network."""
    import jax.numpy as jnp

    L = len(plan.delay)
    return Paused(jnp.zeros(L, dtype=bool), jnp.zeros(L), jnp.zeros((shape.oldest, L)))


def reductions(plan: TwinPlan, p: Any, s: Paused, k: Any) -> tuple[Any, Any]:
    """Return by how much pauses reduce the service of links (L,) and hosts (F,) in step k, packets."""
    import jax
    import jax.numpy as jnp

    size, L = s.asked.shape
    F, late = len(plan.first), plan.wait_part
    one = s.asked[(k - plan.wait - 1) % size, plan.pausing]  # its last part, and what is not the
    next_ = s.asked[(k - plan.wait) % size, plan.pausing]  # last part of the next step
    part = jnp.where(one >= 0.0, jnp.minimum(one, late), jnp.maximum(0.0, late - 1.0 - one))
    begins = jnp.maximum(0.0, next_ - late)
    part += jnp.where(next_ >= 0.0, begins, jnp.minimum(-next_, 1.0 - late))
    rate = of_all_links(plan, p.link_rate)
    full = jnp.concatenate([rate, rate[plan.link_of[plan.first]]])[plan.paused]
    left = of_all_links(plan, p.paused_rate)[plan.pausing]
    less = part * jnp.where(left < full, full - left, 0.0) * plan.step
    most = jax.ops.segment_max(less, plan.paused, num_segments=L + F)
    most = jnp.where(most > 0.0, most, 0.0)
    return most[:L], most[L:]


def observe(p: Any, s: Paused, backlog: Any, k: Any) -> Paused:
    """Return the state after step k, with ``backlog`` packets at each link, (L,)."""
    import jax.numpy as jnp

    rise = backlog - s.backlog
    slope = jnp.where(rise == 0.0, 1.0, rise)
    begins, ends = ~s.on & (backlog > p.high), s.on & (backlog <= p.low)
    # the part of the step after the queue exceeded `high`, or before it fell to `low`
    asked = jnp.where(begins, (backlog - p.high) / slope, jnp.where(s.on, 1.0, 0.0))
    asked = jnp.where(ends, -(p.low - s.backlog) / slope, asked)
    return Paused(
        on=(s.on | begins) & ~ends,
        backlog=backlog,
        asked=s.asked.at[k % len(s.asked)].set(asked),
    )
