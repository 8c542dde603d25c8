"""Loss recoveries called by address: the data of an ACK for their functions, and the actions that they request.

The functions read and write the flow's record themselves (`dfcmodel.packets.recoveries.compilation`). All other data
are in ``exchange``, at the indices below.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.kernels.marks import call_on_record, inlined

from ..calendar_queue import FAULT, WRONG
from ..layout import NATIVE, ON_LOSS, ON_MARK, int64
from .emission import output
from .native_rules import report_native
from .ns2 import is_ns2, truncate_ssthresh
from .rules import call_rule
from .selective import skip_sacked
from .timers import NOW, schedule, set_timer

__all__ = [
    "BURST",
    "FAILED",
    "FAILED_AT",
    "FIELDS",
    "GROW",
    "NEWLY_LOST",
    "ON_ACK_IN_RECOVERY",
    "ON_ALARM",
    "ON_DUPLICATE",
    "ON_EXPIRY",
    "ON_REPORT",
    "RESEND",
    "UNREPAIRED",
    "cut_back",
    "recover",
]

ON_DUPLICATE, ON_ACK_IN_RECOVERY, ON_EXPIRY, ON_REPORT, ON_ALARM = 0, 1, 2, 3, 4
"""Columns of ``recoveries``; with ``by_time`` the second function is called outside of recovery as well."""
NEWLY_LOST, UNREPAIRED = 0, 1  # of the ACK
RESEND, BURST, REDUCE, GROW, RESTART, LIMITED, FRESH, ALARM = 2, 3, 4, 5, 6, 7, 8, 9  # the actions
FAILED, FAILED_AT = 10, 11  # 1: a field is out of its range; time of the error, s
FIELDS = 12  # first of the fields of the sender at the error


@inlined
def cut_back(senders: Any, f: int, event: int) -> None:
    """Call flow f's window rule for a loss or mark (ON_LOSS, ON_MARK), set ``recover`` and CWR, and count the event."""
    s = senders.flow[f]
    s.recover = s.snd_max - 1  # RFC 6582, 3.2, step 2: packets up to here belong to this reduction (RFC 3168, 6.1.2)
    s.reduced = 1  # CWR (RFC 3168, 6.1.2)
    s.cwnd = min(s.cwnd, s.most)
    call_rule(senders, f, event, s.rtt, 1.0, 1.0 if event == ON_MARK else 0.0)
    truncate_ssthresh(senders, f)
    s.loss_events += 1


@inlined
def recover(net: Any, senders: Any, f: int, event: int, acked: float, delivered: float) -> None:
    """Call ``event`` of flow f's recovery for ``acked``, ``delivered`` packets; do its actions but burst and grow."""
    s = senders.flow[f]
    w = senders.exchange
    if w[FAILED] != 0.0:  # the run ends with this window
        return
    now = senders.clock[NOW]
    ns2 = 1.0 if is_ns2(senders) else 0.0
    call_on_record(senders.recoveries[s.recovery, event], s, w, now, ns2, acked, delivered)
    if w[FAILED] != 0.0:
        w[FAILED_AT] = now
        net.counters[WRONG] = f + 1
        net.counters[FAULT] = 1
        return
    if w[REDUCE] != 0.0:
        cut_back(senders, f, ON_LOSS)
    if s.listed == NATIVE:
        senders.native[s.native].in_order = 0  # the recovery may have changed the window
        if w[RESEND] >= 0.0 or w[LIMITED] != 0.0 or w[FRESH] != 0.0:
            report_native(net, senders, f)  # before a packet is sent
    if w[RESTART] != 0.0:
        set_timer(net, senders, f)
    number = int64(w[RESEND])
    if number >= 0:
        if s.samples == 0:  # a rule of deliveries retransmits from its list of lost packets
            output(net, senders, f, number)
        s.hole = max(s.hole, number + 1)
    if w[LIMITED] != 0.0 and s.samples == 1 and s.by_time == 1:
        w[BURST] = math.inf  # packets that left the network make room
    elif w[LIMITED] != 0.0:  # RFC 3042
        ahead = min(s.most, s.cwnd + float(s.dupacks))
        if float(s.snd_nxt) <= float(s.snd_una - 1) + ahead and s.snd_nxt < s.size:
            output(net, senders, f, int64(s.snd_nxt))
            s.snd_nxt += 1
    if w[FRESH] != 0.0:
        skip_sacked(senders, f)
    if w[FRESH] != 0.0 and s.snd_nxt < s.size:
        output(net, senders, f, int64(s.snd_nxt))
        s.snd_nxt += 1
    if w[ALARM] >= 0.0:
        s.alarm = now + w[ALARM]
        schedule(net, senders, f, s.alarm, f)
