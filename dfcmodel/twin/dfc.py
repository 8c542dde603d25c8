"""Diffusion-type flow control in the JAX model: feedback between nodes, and sending rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.theory.law import rates

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Feedback", "begin", "exchange_feedback", "observe", "serve"]


class Feedback(NamedTuple):
    """Feedback received and in transit, and sending rates; nodes (F, L), hosts (F,)."""

    rate: Any  # r
    queue: Any  # n'
    message_rate: Any  # in transit
    message_queue: Any
    sends: Any  # J, packets/s
    host_sends: Any
    host_message: Any


def begin(plan: TwinPlan, p: Any, shape: Shape) -> Feedback:
    """Return the state before the first feedback: (link rate, 0) everywhere.

    A host whose clock has not ticked before its flow starts sends at the link rate until then.
    """
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    full, none = jnp.broadcast_to(p.link_rate, (F, L)), jnp.zeros((F, L))
    hosts = jnp.where(plan.host_phase > plan.start, p.link_rate, 0.0)
    return Feedback(full, none, full, none, none, hosts, full[:, 0])


def exchange_feedback(
    plan: TwinPlan, p: Any, state: Feedback, queue: Any, k: Any
) -> tuple[Feedback, Any, Any]:
    """Receive the feedback that is due, update rates, send new feedback (eqs. 1-5, 9, 13).

    Returns the state, and the service of nodes and hosts in step k, packets, (F, L) and (F,).
    """
    import jax.numpy as jnp

    F, L = queue.shape
    own, links, h = np.arange(F), np.arange(L), plan.step
    on_path = (plan.entry[:, None] <= links) & (links <= plan.last[:, None])
    active = on_path & (k > plan.start)[:, None]  # a flow is active from its first step
    gain = p.diffusion / (plan.periods * h)

    def of_next(values: Any, last: Any) -> Any:
        """Return the values of the next node; ``last``, the receiver's, for the last one."""
        moved = jnp.concatenate([values[:, 1:], values[:, :1]], axis=1)
        return jnp.where(links == plan.last[:, None], last, moved)

    receives = (k % plan.periods == plan.feedback_phase) & active
    first = plan.periods[plan.entry]
    host_receives = (k % first == plan.host_phase) & (k > plan.start)
    target_rate = jnp.where(receives, state.message_rate, state.rate)
    next_queue = jnp.where(receives, state.message_queue, state.queue)
    host_sends = jnp.where(host_receives, state.host_message, state.host_sends)

    inputs = target_rate, next_queue, queue, active
    sends = jnp.where(receives, rates(*inputs, p.intensity, gain, p.link_rate, jnp), state.sends)
    nominal = rates(*inputs, 1.0, gain, p.link_rate, jnp)
    host_rate = p.intensity * nominal[own, plan.entry]
    host_rate -= p.diffusion / (first * h) * queue[own, plan.entry]
    host_rate = jnp.where(host_rate > 0.0, host_rate, 0.0)
    host_rate = jnp.where(host_rate < p.link_rate, host_rate, p.link_rate)
    after = Feedback(
        rate=target_rate,
        queue=next_queue,
        message_rate=jnp.where(receives, of_next(nominal, p.link_rate), state.message_rate),
        message_queue=jnp.where(receives, of_next(queue, 0.0), state.message_queue),
        sends=sends,
        host_sends=host_sends,
        host_message=jnp.where(host_receives, host_rate, state.host_message),
    )
    pace = jnp.where(plan.host == 0, host_sends, p.link_rate)
    return after, sends * h, pace * h


def serve(state: Feedback, held: Any, arrivals: Any, service: Any, k: Any) -> tuple[Feedback, Any]:
    """Return the state and the departures from ``held``: every flow has its own queue."""
    import jax.numpy as jnp

    return state, jnp.where(held < service, held, service)


def observe(plan: TwinPlan, p: Any, state: Feedback, queue: Any, dropped: Any, k: Any) -> Feedback:
    """Return the state unchanged: DFC depends on the queues only at feedback times."""
    return state
