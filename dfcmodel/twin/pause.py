"""IEEE 802.3x pause in the JAX model: thresholds crossed within a step.

As in the engine the queue is linear within a step: it crosses a threshold at an instant of the step,
and its feeders are paused for a fraction of a step. The result is continuous in all parameters,
and its derivatives equal the derivatives of event times in continuous time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.twin.links import of_all_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Paused", "begin", "reductions", "update"]


class Paused(NamedTuple):
    """State of pauses: which links pause, their backlogs, and the signals of the last R steps."""

    on: Any  # (L,) whether a queue pauses its feeders
    backlog: Any  # (L,) packets in it after the last step
    signals: Any  # (R, L) for each step: x > 0, a pause in its last part x; x < 0, in its first part -x


def begin(plan: TwinPlan, shape: Shape) -> Paused:
    """Return the state of pauses in an empty network."""
    import jax.numpy as jnp

    L = len(plan.delay)
    return Paused(jnp.zeros(L, dtype=bool), jnp.zeros(L), jnp.zeros((shape.oldest, L)))


def reductions(plan: TwinPlan, p: Any, s: Paused, k: Any) -> tuple[Any, Any]:
    """Return the packets that pauses keep from being sent in step k by parameters p: of links, (L,), hosts, (F,)."""
    import jax
    import jax.numpy as jnp

    size, L = s.signals.shape
    F, delay_part = len(plan.first), plan.wait_part
    current = s.signals[(k - plan.wait - 1) % size, plan.pausing]  # signals whose last part falls into this step,
    following = s.signals[(k - plan.wait) % size, plan.pausing]  # and signals whose first part does
    part = jnp.where(current >= 0.0, jnp.minimum(current, delay_part), jnp.maximum(0.0, delay_part - 1.0 - current))
    begins = jnp.maximum(0.0, following - delay_part)
    part += jnp.where(following >= 0.0, begins, jnp.minimum(-following, 1.0 - delay_part))
    rate = of_all_links(plan, p.link_rate)
    full = jnp.concatenate([rate, rate[plan.link_of[plan.first]]])[plan.paused]
    paused_rate = of_all_links(plan, p.paused_rate)[plan.pausing]
    lost_service = part * jnp.where(paused_rate < full, full - paused_rate, 0.0) * plan.step
    reduction = jax.ops.segment_max(lost_service, plan.paused, num_segments=L + F)
    reduction = jnp.where(reduction > 0.0, reduction, 0.0)
    return reduction[:L], reduction[L:]


def update(p: Any, s: Paused, backlog: Any, k: Any) -> Paused:
    """Return the state of pauses after step k by parameters p; ``backlog`` are packets at each link, (L,)."""
    import jax.numpy as jnp

    rise = backlog - s.backlog
    slope = jnp.where(rise == 0.0, 1.0, rise)
    starts, stops = ~s.on & (backlog > p.high), s.on & (backlog <= p.low)
    # the part of the step after the queue exceeded `high`, or before it fell to `low`
    signals = jnp.where(starts, (backlog - p.high) / slope, jnp.where(s.on, 1.0, 0.0))
    signals = jnp.where(stops, -(p.low - s.backlog) / slope, signals)
    return Paused(
        on=(s.on | starts) & ~stops,
        backlog=backlog,
        signals=s.signals.at[k % len(s.signals)].set(signals),
    )
