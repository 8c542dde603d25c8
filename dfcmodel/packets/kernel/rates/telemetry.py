"""In-band telemetry: records that switch programs write into packets, and that ACKs return to rate rules."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import ON_DELIVERY, int64
from ..tcp.rules import call_rule

__all__ = ["report_telemetry"]

LEFT = 0  # column of a record: departure time from the port, s; the data of the program follow


@compiled
def report_telemetry(net: Any, senders: Any, f: int, e: int) -> None:
    """Call flow f's rate rule with each port's record in ACK e and the previous one; skip overtaken records."""
    s = senders.flow[f]
    rule = senders.rule[s.rule]
    for k in range(int64(s.reports)):
        record = net.telemetry[e, k]
        last = senders.reported[f, k]
        interval = record[LEFT] - last[LEFT]
        if s.reported == 1 and interval <= 0.0:
            continue
        if s.reported == 1:
            for n in range(1, rule.fields):
                rule.sample[n - 1] = record[1 + n]
            for n in range(rule.fields):
                rule.sample[rule.fields - 1 + n] = last[1 + n]
            call_rule(senders, f, ON_DELIVERY, float(k), interval, record[1])
        for n in range(len(record)):
            last[n] = record[n]
    s.reported = 1
