"""Links that serve their flows in order of arrival, in the JAX model.

Cumulative arrivals of the last steps say which packets wait where: those that leave are the oldest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.twin.links import over_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Order", "begin", "serve", "take_back"]


class Order(NamedTuple):
    """What arrived and left; R steps are remembered, in turn."""

    arrived: Any  # (R, C) cumulative arrivals after each step
    total: Any  # (R, L) the same of all flows of a link
    sent: Any  # (C,) cumulative departures


def begin(plan: TwinPlan, shape: Shape) -> Order:
    """Return the state of an empty network."""
    import jax.numpy as jnp

    C, L, R = len(plan.flow_of), len(plan.delay), shape.waiting
    return Order(jnp.zeros((R, C)), jnp.zeros((R, L)), jnp.zeros(C))


def serve(plan: TwinPlan, s: Order, arrivals: Any, service: Any, k: Any) -> tuple[Order, Any]:
    """Return the state and the departures of all queues, in order of arrival.

    Flows that arrived in the same step are served in proportion to their arrivals. Where the oldest packet
    arrived before the steps that are remembered, departures are NaN.

    Parameters
    ----------
    plan, s
        The network, and its state.
    arrivals
        In step k, (C,).
    service
        Packets that each link may send in step k, (L,).
    k
        The step.
    """
    import jax.numpy as jnp

    R, L = s.total.shape
    links, queues = np.arange(L), np.arange(len(arrivals))
    now = s.arrived[(k - 1) % R] + arrivals
    total_now = over_links(plan, now)
    s = s._replace(arrived=s.arrived.at[k % R].set(now), total=s.total.at[k % R].set(total_now))
    gone = over_links(plan, s.sent)
    all_ = gone + service >= total_now
    goal = jnp.where(all_, gone, gone + service)

    def row(n: Any) -> Any:
        """Return where the n-th of the remembered steps is, the oldest first."""
        return (k + 1 + n) % R

    low, high = jnp.zeros(L, dtype=int), jnp.full(L, R - 1)
    for _ in range(int(R - 1).bit_length()):  # the first step after which the goal had arrived
        middle = (low + high) // 2
        there = s.total[row(middle), links] >= goal
        low, high = jnp.where(there, low, middle + 1), jnp.where(there, middle, high)
    later, earlier = row(high), row(jnp.maximum(high - 1, 0))
    before, after = s.total[earlier, links], s.total[later, links]
    gap = jnp.where(after > before, after - before, 1.0)
    part = jnp.where(after > before, (goal - before) / gap, 0.0)
    forgotten = ~all_ & (high == 0) & (after > goal)
    part = jnp.where(forgotten, jnp.nan, part)
    at = plan.link_of
    first, next_ = s.arrived[earlier[at], queues], s.arrived[later[at], queues]
    sent = jnp.where(all_[at], now, first + part[at] * (next_ - first))
    return s._replace(sent=sent), sent - s.sent


def take_back(plan: TwinPlan, s: Order, dropped: Any, k: Any) -> Order:
    """Return the state where what was dropped in step k has not arrived."""
    row = k % len(s.total)
    left = s.arrived[row] - dropped
    return s._replace(arrived=s.arrived.at[row].set(left), total=s.total.at[row].set(over_links(plan, left)))
