"""In-band telemetry: records that switches write into packets, and that ACKs bring back to rate rules."""

from __future__ import annotations

from typing import Any

from .jit import compiled
from .layout import ON_DELIVERY, int64
from .rules import call_rule

__all__ = ["report_telemetry", "write_record"]

TIME, SENT, WAITS, CAPACITY = 0, 1, 2, 3  # columns of a record: s, bytes, bytes, bytes/s


@compiled
def write_record(net: Any, senders: Any, p: int, e: int, time: float) -> None:
    """Write the record of a port into a packet whose transmission starts, and count its bytes."""
    w = net.program[p]
    it = net.packet[e]
    if it.hop < senders.flow[it.flow].turn:
        k = net.own[it.hop].place
        net.telemetry[e, k, TIME] = time
        net.telemetry[e, k, SENT] = w.sent
        net.telemetry[e, k, WAITS] = net.port[p].bytes
        net.telemetry[e, k, CAPACITY] = w.capacity
    w.sent += net.sizes[it.size]


@compiled
def report_telemetry(net: Any, senders: Any, f: int, e: int, now: float) -> None:
    """Let a rate rule see what an ACK brings of each port since the last one; nothing where packets overtook others."""
    s = senders.flow[f]
    for k in range(int64(s.reports)):
        interval = net.telemetry[e, k, TIME] - senders.reported[f, k, TIME]
        if s.reported == 1 and interval <= 0.0:
            continue
        if s.reported == 1:
            sent = net.telemetry[e, k, SENT] - senders.reported[f, k, SENT]
            sample = senders.rule[s.rule].sample
            sample[0] = min(net.telemetry[e, k, WAITS], senders.reported[f, k, WAITS])
            sample[1] = net.telemetry[e, k, CAPACITY]
            call_rule(senders, f, ON_DELIVERY, now, float(k), interval, sent)
        for n in range(4):
            senders.reported[f, k, n] = net.telemetry[e, k, n]
    s.reported = 1
