"""Diffusion-type flow control in the JAX model: feedback between nodes, and sending rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dfcmodel.theory.law import Report, Sharing, rates
from dfcmodel.twin.links import of_links, over_links

if TYPE_CHECKING:
    from dfcmodel.twin.plans import TwinPlan

__all__ = ["Feedback", "begin", "exchange_feedback"]


class Feedback(NamedTuple):
    """State of DFC: feedback at the nodes and in transit, and sending rates, of queues, (C,), and hosts, (F,)."""

    rate: Any  # r
    queue: Any  # n'
    message_rate: Any  # in transit
    message_queue: Any
    sends: Any  # J, packets/s
    host_sends: Any
    host_message: Any


def begin(plan: TwinPlan, p: Any) -> Feedback:
    """Return the state before the first feedback by parameters ``p``: every node has (link rate, 0) as feedback.

    A host whose clock has not ticked before its flow starts sends at the link rate until then.
    """
    import jax.numpy as jnp

    full, none = of_links(plan, p.link_rate), jnp.zeros(len(plan.flow_of))
    entry = full[plan.first]
    hosts = jnp.where(plan.host_phase > plan.start, entry, 0.0)
    return Feedback(full, none, full, none, none, hosts, entry)


def exchange_feedback(plan: TwinPlan, p: Any, state: Feedback, queue: Any, k: Any) -> tuple[Feedback, Any]:
    """Return DFC's state after step k by parameters p and queues (C,), and the hosts' service, packets, (F,)."""
    import jax.numpy as jnp

    h = plan.step
    started = k > plan.start  # a flow is active from its first step
    active = started[plan.flow_of]
    full, period = of_links(plan, p.link_rate), plan.periods[plan.link_of]
    diffusion, intensity = of_links(plan, p.diffusion), of_links(plan, p.intensity)
    gain = diffusion / (period * h)
    has_feedback = jnp.where(plan.after >= 0, plan.diffuses[plan.link_of[plan.after]], False)

    def of_next(values: Any, last: Any) -> Any:
        """Return the values of the next node; ``last`` if it has no DFC, or is the receiver."""
        return jnp.where(has_feedback, values[plan.after], last)

    receives = (k % period == plan.feedback_phase[plan.link_of]) & active
    first = period[plan.first]
    host_receives = (k % first == plan.host_phase) & started
    target_rate = jnp.where(receives, state.message_rate, state.rate)
    next_queue = jnp.where(receives, state.message_queue, state.queue)
    host_sends = jnp.where(host_receives, state.host_message, state.host_sends)

    def of_law(alpha: Any) -> Any:
        report = Report(target_rate, next_queue)
        inputs = report, queue, active, Sharing(alpha, gain, full)
        return rates(*inputs, jnp, lambda weight: over_links(plan, weight)[plan.link_of])

    sends = jnp.where(receives, of_law(intensity), state.sends)
    nominal = of_law(1.0)
    entry = plan.first
    host_rate = intensity[entry] * nominal[entry]
    host_rate -= diffusion[entry] / (first * h) * queue[entry]
    host_rate = jnp.where(host_rate > 0.0, host_rate, 0.0)
    host_rate = jnp.where(host_rate < full[entry], host_rate, full[entry])
    after = Feedback(
        rate=target_rate,
        queue=next_queue,
        message_rate=jnp.where(receives, of_next(nominal, full), state.message_rate),
        message_queue=jnp.where(receives, of_next(queue, 0.0), state.message_queue),
        sends=sends,
        host_sends=host_sends,
        host_message=jnp.where(host_receives, host_rate, state.host_message),
    )
    return after, jnp.where(plan.host == 0, host_sends, full[entry]) * h
