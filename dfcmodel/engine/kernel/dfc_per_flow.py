"""Diffusion-type flow control with a queue per flow: feedback messages between nodes, and their rates."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from .law import diffusive_rate, proportional_share
from .quantum import quantize

__all__ = ["receive_feedback", "send_feedback"]


@inlined
def unconstrained_rate(queue: Any, intensity: float) -> float:
    """Return J-tilde (eq. 13), packets per step, of ``queue``, a row, as if alone on its link; ``intensity``: alpha."""
    rate = diffusive_rate(intensity, queue.reported_rate, queue.gain, queue.reported_backlog, queue.backlog)
    return max(0.0, rate)


@inlined
def store_message(queue: Any) -> None:
    """Copy the feedback message in flight to a queue into its report, as the message arrives."""
    queue.reported_rate = queue.message_rate
    queue.reported_backlog = queue.message_backlog


@inlined
def send_message(to: Any, rate: float, queue: Any) -> None:
    """Put ``rate``, the nominal rate of ``queue``, and its backlog in flight to the upstream queue ``to``."""
    to.message_rate = rate
    to.message_backlog = queue.backlog


@inlined
def receive_feedback(slot: Any, receiving: Any, queues: Any, quantum: float) -> None:
    """Deliver DFC messages due, rows of ``receiving`` by time ``slot``; set queues' rates, multiples of ``quantum``.

    If the unconstrained rates of a link's flows exceed its rate, they share it in proportion (eq. 13).
    """
    for n in range(slot.receive_one, slot.receive_two):
        queue = queues[receiving[n, 0]]
        store_message(queue)
        rate = unconstrained_rate(queue, queue.intensity)
        queue.service = quantize(min(rate, queue.link_rate), quantum)
    for n in range(slot.receive_two, slot.receive_more):
        queue, other = queues[receiving[n, 0]], queues[receiving[n, 1]]
        store_message(queue)
        rate = unconstrained_rate(queue, queue.intensity)
        store_message(other)
        other_rate = unconstrained_rate(other, queue.intensity)
        part = proportional_share(queue.link_rate, rate + other_rate)
        queue.service = quantize(part * rate, quantum)
        other.service = quantize(part * other_rate, quantum)
    for n in range(slot.receive_more, slot.receive_end):
        total = 0.0
        for c in range(receiving[n, 0], receiving[n, 1]):
            queue = queues[c]
            store_message(queue)
            queue.unconstrained_rate = unconstrained_rate(queue, queue.intensity)
            total += queue.unconstrained_rate
        part = proportional_share(queues[receiving[n, 0]].link_rate, total)
        for c in range(receiving[n, 0], receiving[n, 1]):
            queue = queues[c]
            queue.service = quantize(part * queue.unconstrained_rate, quantum)


@inlined
def send_feedback(slot: Any, sending: Any, queues: Any) -> None:
    """Send nominal rates (eq. 5) and backlogs due, rows of ``sending`` by time ``slot``, to the upstream queues."""
    for n in range(slot.send_one, slot.send_two):
        entry = sending[n]
        queue = queues[entry.first]
        rate = min(unconstrained_rate(queue, 1.0), queue.link_rate)
        send_message(queues[entry.to_first], rate, queue)
    for n in range(slot.send_two, slot.send_more):
        entry = sending[n]
        queue, other = queues[entry.first], queues[entry.last]
        rate = unconstrained_rate(queue, 1.0)
        other_rate = unconstrained_rate(other, 1.0)
        part = proportional_share(queue.link_rate, rate + other_rate)
        send_message(queues[entry.to_first], part * rate, queue)
        send_message(queues[entry.to_last], part * other_rate, other)
    for n in range(slot.send_more, slot.send_end):
        entry = sending[n]
        total = 0.0
        for c in range(entry.first, entry.last):
            queue = queues[c]
            queue.unconstrained_rate = unconstrained_rate(queue, 1.0)
            total += queue.unconstrained_rate
        part = proportional_share(queues[entry.first].link_rate, total)
        for c in range(entry.to_first, entry.to_last):
            queue = queues[c]
            send_message(queues[queue.origin], part * queue.unconstrained_rate, queue)
