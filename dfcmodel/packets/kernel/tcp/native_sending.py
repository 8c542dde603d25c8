"""Transmission by senders with native rules: window and pace are read again for each packet."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..layout import int64
from ..random_numbers import uniform
from .deliveries import next_lost
from .emission import output
from .selective import next_hole, skip_sacked
from .timers import JITTER, NOW, wake_at

__all__ = ["send_native", "send_one_by_one"]


@inlined
def has_room(senders: Any, f: int, by_pipe: bool) -> bool:
    """Return whether the window permits a packet, as `send_window` and, by the pipe, `send_by_pipe` determine it."""
    s = senders.flow[f]
    n = senders.native[s.native]
    window = int64(min(s.cwnd, s.most))
    if not by_pipe:
        window = min(window + int64(s.inflation), int64(s.most))
        return bool(s.snd_nxt < s.snd_una + window and s.snd_nxt < s.size)
    if s.recovering == 0 and (s.samples == 0 or s.by_time == 0):
        return bool(s.snd_nxt < s.snd_una + window)
    limit = s.pipe_limit
    if s.samples == 1 or limit < 0.0:
        limit = float(int64(s.cwnd))
    return bool((float(n.flight) if s.samples == 1 else s.pipe) < limit)


@inlined
def must_wait_native(net: Any, senders: Any, f: int, forced: bool) -> bool:
    """Delay the next packet until it is due, and unless ``forced`` by a random time; return False if it may be sent.

    A packet that is not the first of its quantum is due at once.
    """
    clock = senders.clock
    s = senders.flow[f]
    n = senders.native[s.native]
    due = clock[NOW]
    if s.paced == 1 and n.burst <= 0:
        due = max(due, max(s.pace_at, n.departs))
    wait = 0.0
    if clock[JITTER] > 0.0 and not forced:
        wait = clock[JITTER] * uniform(net.stream, len(net.port) - 1 + f)
    if due == clock[NOW] and (forced or clock[JITTER] == 0.0):
        return False
    s.held_until = due + wait
    wake_at(net, f, s.held_until, f)
    return True


@compiled
def pace_native(senders: Any, f: int) -> None:
    """Set the time of flow f's next packet by its rate; count down ``burst``, packets of a quantum without a wait."""
    s = senders.flow[f]
    n = senders.native[s.native]
    gap = 1.0 / senders.rule[s.rule].rule_state[0]
    s.pace_at = max(s.pace_at, senders.clock[NOW] - senders.clock[JITTER]) + gap
    n.burst = (n.burst if n.burst > 0 else max(int64(n.send_quantum / n.unit), 1)) - 1


@compiled
def next_packet(senders: Any, f: int) -> int:
    """Take flow f's next packet by the pipe, lost ones first, then the new one at snd_nxt; return it, -1: none."""
    s = senders.flow[f]
    number = int64(-1)
    if s.samples == 0 and s.by_time == 0:
        number = int64(next_hole(senders, f))
    elif s.recovering == 1:
        number = int64(next_lost(senders, f))
    if number == -1:
        window = int64(min(s.cwnd, s.most))
        by_flight = s.recovering == 1 or (s.samples == 1 and s.by_time == 1)
        reach = int64(s.most) if by_flight else window
        skip_sacked(senders, f)
        if s.snd_nxt >= s.snd_una + reach or s.snd_nxt >= s.size:
            return -1
        number = int64(s.snd_nxt)
        s.snd_nxt += 1
        return number
    if s.recover > 0 and number < s.snd_una + int64(s.most):
        s.hole = max(s.hole, number + 1)
        return number
    return -1


@inlined
def send_one_by_one(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send new packets of flow f as `send_native` does, which continues once they need more than room in the window."""
    s = senders.flow[f]
    n = senders.native[s.native]
    sent = 0
    while n.failed == 0 and has_room(senders, f, False):
        s.snd_nxt += 1
        output(net, senders, f, int64(s.snd_nxt - 1))
        if s.paced == 1:
            pace_native(senders, f)
            forced = False
        sent += 1
        if sent == burst:
            return
        if s.recovering + s.sacked + s.paced > 0 or s.snd_nxt >= s.size:
            send_native(net, senders, f, burst - sent if burst > 0 else 0, forced)
            return


@compiled
def send_native(net: Any, senders: Any, f: int, burst: int, forced: bool) -> None:
    """Send packets of flow f as `send` does; its rule may change window and pace at each."""
    s = senders.flow[f]
    n = senders.native[s.native]
    sent = 0
    while s.snd_una < s.size and n.failed == 0:
        by_pipe = s.recovering + s.sacked + s.paced > 0 or s.snd_nxt >= s.size
        if not has_room(senders, f, by_pipe):
            return
        if must_wait_native(net, senders, f, forced):
            return
        if by_pipe:
            number = next_packet(senders, f)
            if number == -1:
                return
        else:
            number = int64(s.snd_nxt)
            s.snd_nxt += 1
        paced = s.paced == 1
        output(net, senders, f, number)
        if by_pipe:
            s.snd_nxt = max(s.snd_nxt, number + 1)
            s.pipe += 1.0
            s.prr_out += 1.0
        if s.paced == 1:
            pace_native(senders, f)
        if paced or s.paced == 1:
            forced = False
        sent += 1
        if sent == burst:
            return
