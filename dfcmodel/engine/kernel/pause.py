"""Pauses by IEEE 802.3x, of a link or one class of its traffic: a link with a long queue stops its upstream links.

A queue is linear within a step, so that it crosses a threshold at an instant of the step. The request of a
step is one number x: a pause in the last part x of the step, or, if x < 0, in the first part -x
of it. It takes effect one delay later, for that part of a step.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import compiled

from .quantum import quantize
from .records import STORM

__all__ = ["backlog_of_other_outputs", "exchange_pauses"]


@compiled
def expires(pause: Any, length: float, k: int) -> bool:
    """Renew a timed pause while its queue of ``length`` packets is above ``low``; return whether it ends by step k."""
    while pause.until <= k:
        waits = pause.backlog + (pause.until - (k - 1)) * (length - pause.backlog)
        if waits <= pause.low:
            return True
        pause.until += pause.quanta
    return False


@compiled
def update_pause(pause: Any, length: float, k: int) -> float:
    """Return request x of step k - 1, to pause its last part x, or first part -x, by ``length``; update the pause."""
    request = float(pause.on)
    if pause.on == 0 and length > pause.high:
        pause.on = 1
        rise = length - pause.backlog
        request = (length - pause.high) / rise if pause.backlog < pause.high else 1.0
        pause.until = k - request + pause.quanta
    if pause.on == 1 and pause.quanta > 0.0:  # a pause that has just begun does not expire: the queue is long
        if expires(pause, length, k):
            pause.on = 0
            request = min(0.0, k - 1 - pause.until)
    elif pause.on == 1 and length <= pause.low:
        pause.on = 0
        request = -(pause.low - pause.backlog) / (length - pause.backlog)
    pause.backlog = length
    return request


@compiled
def record_switch(k: int, n: int, on: int, request: float, feedback: Any) -> None:
    """Record the instant in step k - 1, by ``request`` x, at which pause n began (``on`` 1) or ended (0), in steps."""
    switch = feedback.switches[feedback.switched[0]]
    switch.time = k - request if on == 1 else k - 1 - request
    switch.pause = n
    switch.on = on
    feedback.switched[0] += 1


@compiled
def part_paused(k: int, n: int, pause: Any, pausing: Any) -> float:
    """Return the part, 0 to 1, of step k for which row n of pauses stops a link, by requests in the ring ``pausing``.

    A delay of ``wait`` + ``part`` steps maps the step to the last ``part`` of one earlier step and the first
    1 - ``part`` of the next.
    """
    mask = pausing.shape[0] - 1
    part = pause.part
    first, second = pausing[(k - pause.wait - 1) & mask, n], pausing[(k - pause.wait) & mask, n]
    end = min(first, part) if first >= 0.0 else max(0.0, part - 1.0 - first)
    begin = max(0.0, second - part) if second >= 0.0 else min(-second, 1.0 - part)
    return end + begin


@compiled
def backlog_of_other_outputs(n: int, pauses: Any) -> float:
    """Return the packets at other output links of a switch that count together with row n."""
    waits = 0.0
    m = pauses[n].also
    while m != n:
        waits += pauses[m].waits
        m = pauses[m].also
    return waits


@compiled
def exchange_pauses(k: int, net: Any, bands: Any, feedback: Any, quantum: float) -> None:
    """Record the pause requests of step k - 1, and set the rates of step k by the requests of one delay ago."""
    pauses, pausing, host_pace = feedback.pauses, feedback.pausing, feedback.host_pace
    mask = pausing.shape[0] - 1
    for i in range(net.links.shape[0]):
        net.links[i].pace = net.links[i].rate
    for n in range(pauses.shape[0]):
        if pauses[n].paused < 0:
            f = -1 - pauses[n].paused
            net.queues[f].service = host_pace[f]
        if pauses[n].band >= 0:
            bands[pauses[n].band].stopped = 0.0
    for n in range(pauses.shape[0]):
        pause = pauses[n]
        before = pause.on
        if pause.held == STORM:
            pause.waits = k - pause.room  # above high = 0 from step room on
        elif pause.first == pause.end:
            pause.waits = net.links[pause.pausing].backlog
        request = update_pause(pause, pause.waits + backlog_of_other_outputs(n, pauses), k)
        if pause.on == 0 and pause.high < math.inf:
            pause.excess = 0.0
        if pause.on != before:
            record_switch(k, n, pause.on, request, feedback)
        pausing[(k - 1) & mask, n] = request
        stopped = part_paused(k, n, pause, pausing)
        if pause.band >= 0:
            bands[pause.band].stopped = max(bands[pause.band].stopped, stopped)
        elif stopped > 0.0 and pause.paused < 0:
            f = -1 - pause.paused
            open_rate = host_pace[f] - stopped * (host_pace[f] - pause.paused_rate)
            net.queues[f].service = min(net.queues[f].service, quantize(open_rate, quantum))
        elif stopped > 0.0:
            link = net.links[pause.paused]
            open_rate = link.rate - stopped * (link.rate - pause.paused_rate)
            link.pace = min(link.pace, quantize(open_rate, quantum))
