"""Diffusion-type flow control in the JAX twin: what nodes were told, and the rates that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.theory.law import rates

if TYPE_CHECKING:
    from dfcmodel.twin.plans import Shape, TwinPlan

__all__ = ["Told", "begin", "note", "serve", "speak"]


class Told(NamedTuple):
    """What every node was told, is being told, and does about it; (F, L), hosts (F,)."""

    rate: Any
    queue: Any
    coming_rate: Any
    coming_queue: Any
    sends: Any  # J, packets/s
    host_sends: Any
    host_coming: Any


def begin(plan: TwinPlan, p: Any, shape: Shape) -> Told:
    """Return the state before the first message: (link rate, 0) everywhere.

    A host whose clock has not ticked before its flow starts sends at the link rate until it does.
    """
    import jax.numpy as jnp

    F, L = len(plan.entry), len(plan.periods)
    full, none = jnp.broadcast_to(p.link_rate, (F, L)), jnp.zeros((F, L))
    hosts = jnp.where(plan.host_hears > plan.start, p.link_rate, 0.0)
    return Told(full, none, full, none, none, hosts, full[:, 0])


def speak(plan: TwinPlan, p: Any, told: Told, queue: Any, k: Any) -> tuple[Told, Any, Any]:
    """Let what is due arrive, rates follow and new messages leave (eqs. 1-5, 9, 13).

    Returns the state, and what nodes and hosts may send in step k, packets, (F, L) and (F,).
    """
    import jax.numpy as jnp

    F, L = queue.shape
    own, links, h = np.arange(F), np.arange(L), plan.step
    on_path = (plan.entry[:, None] <= links) & (links <= plan.last[:, None])
    active = on_path & (k > plan.start)[:, None]  # a flow counts from its first step on
    gain = p.diffusion / (plan.periods * h)

    def of_next(values: Any, last: Any) -> Any:
        """Values of the next node; the receiver's for the last."""
        moved = jnp.concatenate([values[:, 1:], values[:, :1]], axis=1)
        return jnp.where(links == plan.last[:, None], last, moved)

    hears = (k % plan.periods == plan.hears) & active
    first = plan.periods[plan.entry]
    host_hears = (k % first == plan.host_hears) & (k > plan.start)
    told_rate = jnp.where(hears, told.coming_rate, told.rate)
    told_queue = jnp.where(hears, told.coming_queue, told.queue)
    host_sends = jnp.where(host_hears, told.host_coming, told.host_sends)

    heard = told_rate, told_queue, queue, active
    sends = jnp.where(hears, rates(*heard, p.intensity, gain, p.link_rate, jnp), told.sends)
    nominal = rates(*heard, 1.0, gain, p.link_rate, jnp)
    wanted = p.intensity * nominal[own, plan.entry]
    wanted -= p.diffusion / (first * h) * queue[own, plan.entry]
    wanted = jnp.where(wanted > 0.0, wanted, 0.0)
    wanted = jnp.where(wanted < p.link_rate, wanted, p.link_rate)
    after = Told(
        rate=told_rate,
        queue=told_queue,
        coming_rate=jnp.where(hears, of_next(nominal, p.link_rate), told.coming_rate),
        coming_queue=jnp.where(hears, of_next(queue, 0.0), told.coming_queue),
        sends=sends,
        host_sends=host_sends,
        host_coming=jnp.where(host_hears, wanted, told.host_coming),
    )
    pace = jnp.where(plan.host == 0, host_sends, p.link_rate)
    return after, sends * h, pace * h


def serve(told: Told, held: Any, came: Any, budget: Any, k: Any) -> tuple[Told, Any]:
    """Return the state and what leaves of ``held``: every flow has a queue of its own."""
    import jax.numpy as jnp

    return told, jnp.where(held < budget, held, budget)


def note(plan: TwinPlan, p: Any, told: Told, queue: Any, dropped: Any, k: Any) -> Told:
    """Return the state: between messages nothing depends on the queues."""
    return told
