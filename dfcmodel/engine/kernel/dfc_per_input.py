"""Diffusion-type flow control with a queue per input: what a node asks of links instead of flows.

takano2006 (footnote to 2.1): DFC requires only per-input queues. Here flows that came over one link wait
in one FIFO queue for the next, and are one flow to the law. Where several inputs share a link, what
they were told is for all of them: with r and n' told, and n_g waiting in queue g, the link sends
min(B, alpha r - D/d (n' - sum n_g)) at most, in proportion to what each would send alone (eq. 13).
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from .law import diffusive_rate, proportional_share
from .quantum import quantize

__all__ = ["receive_input_feedback", "send_input_feedback"]


@compiled
def input_share(link: Any, told: Any, intensity: float, queues: Any, bands: Any) -> float:
    """Set the unconstrained rate of each input of a link; return the part of it that it may send.

    An input none of whose flows sends takes no share.
    """
    gain = queues[link.first].gain
    total = 0.0
    waiting = 0.0
    for n in range(link.first_band, link.end_band):
        band = bands[n]
        backlog = band.arrivals - band.served
        sends = 0.0
        for c in range(band.first, band.end):
            sends += queues[c].told_rate
        alone = 0.0
        if sends > 0.0:
            alone = max(0.0, diffusive_rate(intensity, told.rate, gain, told.backlog, backlog))
        queues[band.first].unconstrained_rate = alone
        total += alone
        waiting += backlog
    most = diffusive_rate(intensity, told.rate, gain, told.backlog, waiting)
    return proportional_share(max(0.0, min(queues[link.first].link_rate, most)), total)


@compiled
def receive_input_feedback(slot: Any, net: Any, bands: Any, feedback: Any, quantum: float) -> None:
    """Let links receive what is due, and set the rates of their inputs."""
    for n in range(slot.hear_input, slot.hear_input_end):
        i = feedback.input_hearing[n]
        link, told = net.links[i], feedback.input_links[i]
        told.rate = told.next_rate
        told.backlog = told.next_backlog
        part = input_share(link, told, net.queues[link.first].intensity, net.queues, bands)
        for b in range(link.first_band, link.end_band):
            queue = net.queues[bands[b].first]
            queue.service = quantize(part * queue.unconstrained_rate, quantum)


@compiled
def input_message(entry: Any, net: Any, bands: Any, input_links: Any) -> Any:
    """Return rate, backlog and whether it sends, of what an entry of `Feedback.input_sending` tells."""
    queues = net.queues
    if entry.band < 0:  # packets that leave the network, or go where nobody tells
        queue = queues[entry.queue]
        sends = queue.told_rate > 0.0
        return queue.link_rate if sends else 0.0, 0.0, sends
    band = bands[entry.band]
    part = input_share(net.links[band.link], input_links[band.link], 1.0, queues, bands)
    sends = False
    for c in range(band.first, band.end):
        sends = sends or queues[c].told_rate > 0.0
    return part * queues[band.first].unconstrained_rate, band.arrivals - band.served, sends


@compiled
def send_input_feedback(slot: Any, net: Any, bands: Any, feedback: Any) -> None:
    """Let links tell those before them the sums of their nominal rates and backlogs."""
    entries = feedback.input_sending
    n = slot.send_input
    while n < slot.send_input_end:
        to = entries[n].to
        rate = 0.0
        backlog = 0.0
        sends = False
        while n < slot.send_input_end and entries[n].to == to:
            own_rate, own_backlog, own_sends = input_message(entries[n], net, bands, feedback.input_links)
            rate += own_rate
            backlog += own_backlog
            sends = sends or own_sends
            n += 1
        if to < 0:
            queue = net.queues[-1 - to]
            queue.message_rate = min(rate, queue.link_rate)
            queue.message_backlog = backlog
        else:
            most = net.queues[net.links[to].first].link_rate
            feedback.input_links[to].next_rate = min(rate, most) if sends else most
            feedback.input_links[to].next_backlog = backlog
