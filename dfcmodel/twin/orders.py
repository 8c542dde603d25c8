"""Links that serve their flows in order of arrival, in the JAX model.

Cumulative arrivals of the last steps determine the order of the waiting packets: the oldest leave first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.twin.links import over_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Order", "begin", "remove_dropped", "serve"]


class Order(NamedTuple):
    """State of service in order of arrival: cumulative arrivals in a ring of the last R steps, and departures."""

    arrived: Any  # (R, C) cumulative arrivals after each step
    total: Any  # (R, L) cumulative arrivals of all flows of a link
    sent: Any  # (C,) cumulative departures


def begin(plan: TwinPlan, shape: Shape) -> Order:
    """Return the state of service in an empty network."""
    import jax.numpy as jnp

    C, L, R = len(plan.flow_of), len(plan.delay), shape.waiting
    return Order(jnp.zeros((R, C)), jnp.zeros((R, L)), jnp.zeros(C))


def serve(plan: TwinPlan, s: Order, arrivals: Any, service: Any, k: Any) -> tuple[Order, Any]:
    """Return the state after step k, and departures, (C,), at ``service`` packets per link; NaN beyond R steps.

    Flows that arrived in the same step are served in proportion to their arrivals. If the oldest packet
    arrived before the recorded steps, departures are NaN.

    Parameters
    ----------
    plan, s
        The network, and its state.
    arrivals
        Arrivals in step k, packets, (C,).
    service
        Packets that each link may send in step k, (L,).
    k
        Number of the step.
    """
    import jax.numpy as jnp

    R, L = s.total.shape
    links, queues = np.arange(L), np.arange(len(arrivals))
    now = s.arrived[(k - 1) % R] + arrivals
    total_now = over_links(plan, now)
    s = s._replace(arrived=s.arrived.at[k % R].set(now), total=s.total.at[k % R].set(total_now))
    departed = over_links(plan, s.sent)
    empties = departed + service >= total_now
    goal = jnp.where(empties, departed, departed + service)

    def row(n: Any) -> Any:
        """Return the row of the n-th recorded step, from the oldest on."""
        return (k + 1 + n) % R

    low, high = jnp.zeros(L, dtype=int), jnp.full(L, R - 1)
    for _ in range(int(R - 1).bit_length()):  # the first step after which the goal had arrived
        middle = (low + high) // 2
        has_arrived = s.total[row(middle), links] >= goal
        low, high = jnp.where(has_arrived, low, middle + 1), jnp.where(has_arrived, middle, high)
    later, earlier = row(high), row(jnp.maximum(high - 1, 0))
    before, after = s.total[earlier, links], s.total[later, links]
    gap = jnp.where(after > before, after - before, 1.0)
    part = jnp.where(after > before, (goal - before) / gap, 0.0)
    is_beyond_record = ~empties & (high == 0) & (after > goal)
    part = jnp.where(is_beyond_record, jnp.nan, part)
    at = plan.link_of
    first, next_ = s.arrived[earlier[at], queues], s.arrived[later[at], queues]
    sent = jnp.where(empties[at], now, first + part[at] * (next_ - first))
    return s._replace(sent=sent), sent - s.sent


def remove_dropped(plan: TwinPlan, s: Order, dropped: Any, k: Any) -> Order:
    """Return the state without the packets ``dropped``, (C,), of the arrivals of step k."""
    row = k % len(s.total)
    arrived = s.arrived[row] - dropped
    return s._replace(arrived=s.arrived.at[row].set(arrived), total=s.total.at[row].set(over_links(plan, arrived)))
