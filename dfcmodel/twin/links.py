"""Expansion of values of links to their queues, and sums over the queues of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dfcmodel.twin.plans import TwinPlan

__all__ = ["of_all_links", "of_links", "over_links"]


def of_all_links(plan: TwinPlan, values: Any) -> Any:
    """Return a parameter as one value per link, (L,), from one number or one per link."""
    import jax.numpy as jnp

    return jnp.broadcast_to(jnp.asarray(values, dtype=float), plan.delay.shape)


def of_links(plan: TwinPlan, values: Any) -> Any:
    """Return a parameter of links, one number or one per link, for the link of each queue, (C,)."""
    return of_all_links(plan, values)[plan.link_of]


def over_links(plan: TwinPlan, values: Any) -> Any:
    """Return the sums of ``values``, one per queue, over the queues of each link, (L,)."""
    import jax

    return jax.ops.segment_sum(values, plan.link_of, num_segments=len(plan.delay))
