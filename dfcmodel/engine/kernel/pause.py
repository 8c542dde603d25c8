"""Pauses by IEEE 802.3x: links whose queues are long stop those that feed them."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .quantum import quantize

__all__ = ["exchange_pauses"]


@compiled
def update_pause(pause: Any, backlog: float, k: int) -> None:
    """Turn a pause on above the high threshold, off at the low one; renew one that has quanta."""
    if pause.on == 0 and backlog > pause.high:
        pause.on = 1
        pause.until = k + pause.quanta
    elif pause.on == 1 and k >= pause.until:
        if backlog <= pause.low:
            pause.on = 0
        else:
            pause.until += pause.quanta


@compiled
def note_switch(k: int, n: int, on: int, feedback: Any) -> None:
    """Note that pause n was turned on or off in step k."""
    switch = feedback.switches[feedback.switched[0]]
    switch.step = k
    switch.pause = n
    switch.on = on
    feedback.switched[0] += 1


@compiled
def heard(k: int, n: int, pause: Any, pausing: Any) -> float:
    """Return for which part of step k the message sent one delay ago stops a link."""
    mask = pausing.shape[0] - 1
    now, before = pausing[(k - pause.wait) & mask, n], pausing[(k - pause.wait - 1) & mask, n]
    return now + pause.part * (before - now)


@compiled
def exchange_pauses(k: int, net: Any, feedback: Any, host_pace: Any, quantum: float) -> None:
    """Let links send what they ask for in step k, and obey what was sent one delay ago."""
    pauses, pausing = feedback.pauses, feedback.pausing
    mask = pausing.shape[0] - 1
    for i in range(net.links.shape[0]):
        net.links[i].pace = net.links[i].rate
    for n in range(pauses.shape[0]):
        if pauses[n].paused < 0:
            f = -1 - pauses[n].paused
            net.queues[f].service = host_pace[f]
    for n in range(pauses.shape[0]):
        pause = pauses[n]
        before = pause.on
        update_pause(pause, net.links[pause.pausing].backlog, k)
        if pause.on != before:
            note_switch(k, n, pause.on, feedback)
        pausing[k & mask, n] = pause.on
        stopped = heard(k, n, pause, pausing)
        if stopped > 0.0 and pause.paused < 0:
            f = -1 - pause.paused
            open_rate = host_pace[f] - stopped * (host_pace[f] - pause.paused_rate)
            net.queues[f].service = min(net.queues[f].service, quantize(open_rate, quantum))
        elif stopped > 0.0:
            link = net.links[pause.paused]
            open_rate = link.rate - stopped * (link.rate - pause.paused_rate)
            link.pace = min(link.pace, quantize(open_rate, quantum))
