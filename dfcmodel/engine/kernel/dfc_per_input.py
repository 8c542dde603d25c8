"""Diffusion-type flow control with a queue per input: feedback goes to links instead of flows.

takano2006 (footnote to 2.1): DFC requires only per-input queues. Flows that arrive over the same link wait
in one FIFO queue for the next link, and are one flow to the law. Several inputs of a link share one feedback
message: with the reported rate r and backlog n', and n_g packets in queue g, the link sends at most
min(B, alpha r - D/d (n' - sum n_g)), divided in proportion to the unconstrained rates of the inputs (eq. 13).
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from .law import diffusive_rate, proportional_share
from .quantum import quantize

__all__ = ["receive_input_feedback", "send_input_feedback"]


@compiled
def input_share(link: Any, report: Any, intensity: float, queues: Any, bands: Any) -> float:
    """Set unconstrained rates of a link's inputs by ``report``, at ``intensity`` alpha; return the fraction to send.

    An input without a sending flow has rate 0.
    """
    gain = queues[link.first].gain
    total = 0.0
    waiting = 0.0
    for n in range(link.first_band, link.end_band):
        band = bands[n]
        backlog = band.arrivals - band.served
        sends = 0.0
        for c in range(band.first, band.end):
            sends += queues[c].reported_rate
        unconstrained = 0.0
        if sends > 0.0:
            unconstrained = max(0.0, diffusive_rate(intensity, report.rate, gain, report.backlog, backlog))
        queues[band.first].unconstrained_rate = unconstrained
        total += unconstrained
        waiting += backlog
    limit = diffusive_rate(intensity, report.rate, gain, report.backlog, waiting)
    return proportional_share(max(0.0, min(queues[link.first].link_rate, limit)), total)


@compiled
def receive_input_feedback(slot: Any, net: Any, bands: Any, feedback: Any, quantum: float) -> None:
    """Deliver messages due in a time slot to links with a queue per input; set their inputs' rates, in quanta."""
    for n in range(slot.receive_input, slot.receive_input_end):
        i = feedback.input_receiving[n]
        link, report = net.links[i], feedback.input_links[i]
        report.rate = report.next_rate
        report.backlog = report.next_backlog
        part = input_share(link, report, net.queues[link.first].intensity, net.queues, bands)
        for b in range(link.first_band, link.end_band):
            queue = net.queues[bands[b].first]
            queue.service = quantize(part * queue.unconstrained_rate, quantum)


@compiled
def input_message(entry: Any, net: Any, bands: Any, input_links: Any) -> Any:
    """Return (nominal rate, backlog, whether a flow sends) for an entry of `Feedback.input_sending`."""
    queues = net.queues
    if entry.band < 0:  # packets that leave the network, or go to a link that sends no feedback
        queue = queues[entry.queue]
        sends = queue.reported_rate > 0.0
        return queue.link_rate if sends else 0.0, 0.0, sends
    band = bands[entry.band]
    part = input_share(net.links[band.link], input_links[band.link], 1.0, queues, bands)
    sends = False
    for c in range(band.first, band.end):
        sends = sends or queues[c].reported_rate > 0.0
    return part * queues[band.first].unconstrained_rate, band.arrivals - band.served, sends


@compiled
def send_input_feedback(slot: Any, net: Any, bands: Any, feedback: Any) -> None:
    """Send the sums of nominal rates and of backlogs of a time slot's entries to their upstream links and hosts."""
    entries = feedback.input_sending
    n = slot.send_input
    while n < slot.send_input_end:
        to = entries[n].to
        rate = 0.0
        backlog = 0.0
        sends = False
        while n < slot.send_input_end and entries[n].to == to:
            message_rate, message_backlog, message_sends = input_message(entries[n], net, bands, feedback.input_links)
            rate += message_rate
            backlog += message_backlog
            sends = sends or message_sends
            n += 1
        if to < 0:
            queue = net.queues[-1 - to]
            queue.message_rate = min(rate, queue.link_rate)
            queue.message_backlog = backlog
        else:
            link_rate = net.queues[net.links[to].first].link_rate
            feedback.input_links[to].next_rate = min(rate, link_rate) if sends else link_rate
            feedback.input_links[to].next_backlog = backlog
