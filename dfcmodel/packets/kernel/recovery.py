"""Loss recoveries called by address: a flow's numbers for one of its functions, and what the function asks for.

The places of numbers are those of `dfcmodel.packets.recoveries.base`: the fields of a sender, the actions, the rest of
the event, and the recovery's own state.
"""

from __future__ import annotations

import math
from typing import Any

from .calendar_queue import FAULT, WRONG
from .emission import output
from .jit import call_event, call_on_array, compiled, inlined
from .layout import MAX_OWN, ON_LOSS, int64
from .timers import NOW, NS2, set_timer

__all__ = [
    "BURST",
    "GROW",
    "ON_ACK_IN_RECOVERY",
    "ON_DUPLICATE",
    "ON_EXPIRY",
    "cut_back",
    "recover",
]

ON_DUPLICATE, ON_ACK_IN_RECOVERY, ON_EXPIRY = 0, 1, 2  # columns of ``recoveries``
CWND, SSTHRESH, SND_UNA, SND_NXT, SND_MAX, RECOVER, DUPACKS, RECOVERING = 0, 1, 2, 3, 4, 5, 6, 7
INFLATION, PIPE, PIPE_LIMIT, PRR_OUT, TIMING, BACKOFF, SACKED, TOP = 8, 9, 10, 11, 12, 13, 14, 15
RESEND, BURST, REDUCE, GROW, RESTART, LIMITED = 16, 17, 18, 19, 20, 21
NEWLY_LOST, TIMED, UNREPAIRED, IN_NS2 = 22, 23, 24, 25
OWN = 26
FAILED_AT = OWN + MAX_OWN  # time at which a recovery returned what cannot be, s
LARGEST = 2.0**31 - 1.0  # packets: the range of sequence numbers


@inlined
def cut_back(senders: Any, f: int, event: int) -> None:
    """Apply a loss or a congestion mark, once per window, to the window rule."""
    s = senders.flow[f]
    s.recover = s.snd_max - 1
    s.reduced = 1
    s.cwnd = min(s.cwnd, s.most)
    call_event(senders.events[s.kind, event], s, senders.clock[NOW], s.rtt, 1.0, 0.0)
    if senders.clock[NS2] == 1.0:
        s.ssthresh = float(int(s.ssthresh))
    s.loss_events += 1


@inlined
def is_possible(s: Any, w: Any) -> bool:
    """Return whether what a recovery returned can be; no comparison holds for what is no number."""
    for n in range(MAX_OWN):
        if math.isnan(w[OWN + n]):
            return False
    return (
        (w[CWND] > 0.0 or not s.cwnd > 0.0)  # where it was wrong before, the rule is
        and (w[SSTHRESH] > 0.0 or not s.ssthresh > 0.0)
        and float(s.snd_una) <= w[SND_NXT] <= float(s.snd_max)
        and -2.0 <= w[RECOVER] <= float(s.snd_max - 1)
        and 0.0 <= w[DUPACKS] <= LARGEST
        and 0.0 <= w[INFLATION] <= LARGEST
        and -LARGEST <= w[PIPE] <= LARGEST
        and -1.0 <= w[PIPE_LIMIT] <= LARGEST
        and -LARGEST <= w[PRR_OUT] <= LARGEST
        and w[BACKOFF] >= 1.0
        and w[BURST] >= 0.0
        and 0.0 <= w[RECOVERING] <= 1.0
        and 0.0 <= w[TIMING] <= 1.0
        and (w[RESEND] == -1.0 or float(s.snd_una) <= w[RESEND] <= float(s.snd_max - 1))
    )


@inlined
def load(senders: Any, f: int, acked: float) -> None:
    """Write the numbers of a sender for a function of its recovery, with no action."""
    s = senders.flow[f]
    w = senders.exchange
    w[CWND] = s.cwnd
    w[SSTHRESH] = s.ssthresh
    w[SND_UNA] = s.snd_una
    w[SND_NXT] = s.snd_nxt
    w[SND_MAX] = s.snd_max
    w[RECOVER] = s.recover
    w[DUPACKS] = s.dupacks
    w[RECOVERING] = s.recovering
    w[INFLATION] = s.inflation
    w[PIPE] = s.pipe
    w[PIPE_LIMIT] = s.pipe_limit
    w[PRR_OUT] = s.prr_out
    w[TIMING] = s.timing
    w[BACKOFF] = s.backoff
    w[SACKED] = s.sacked
    w[TOP] = s.top
    w[RESEND] = -1.0
    w[BURST] = math.inf
    for n in range(REDUCE, LIMITED + 1):
        w[n] = 0.0
    w[TIMED] = 1.0 if acked > 0.0 and s.timing == 1 and s.snd_una > s.timed else 0.0
    w[IN_NS2] = senders.clock[NS2]
    for n in range(MAX_OWN):
        w[OWN + n] = s.own[n]


@inlined
def store(senders: Any, f: int) -> None:
    """Read the fields that a recovery may set."""
    s = senders.flow[f]
    w = senders.exchange
    s.cwnd = w[CWND]
    s.ssthresh = w[SSTHRESH]
    s.snd_nxt = int(w[SND_NXT])
    s.recover = int(w[RECOVER])
    s.dupacks = int(w[DUPACKS])
    s.recovering = 1 if w[RECOVERING] != 0.0 else 0
    s.inflation = w[INFLATION]
    s.pipe = w[PIPE]
    s.pipe_limit = w[PIPE_LIMIT]
    s.prr_out = w[PRR_OUT]
    s.timing = 1 if w[TIMING] != 0.0 else 0
    s.backoff = w[BACKOFF]
    for n in range(MAX_OWN):
        s.own[n] = w[OWN + n]


@compiled
def recover(net: Any, senders: Any, f: int, event: int, acked: float, delivered: float) -> None:
    """Call a function of a flow's recovery and take its actions; `receive` takes those that are left in ``exchange``.

    ``exchange`` has the rest of the event already: what is newly lost, and whether losses beyond the ACK wait.
    """
    s = senders.flow[f]
    w = senders.exchange
    if net.counters[WRONG] != 0:  # the run ends with this window; ``exchange`` says why
        return
    load(senders, f, acked)
    call_on_array(
        senders.recoveries[s.recovery, event], w, senders.clock[NOW], s.rtt, acked, delivered
    )
    if not is_possible(s, w):
        net.counters[WRONG] = f + 1
        net.counters[FAULT] = 1
        w[FAILED_AT] = senders.clock[NOW]
        return
    store(senders, f)
    if w[REDUCE] != 0.0:
        cut_back(senders, f, ON_LOSS)
    if w[RESTART] != 0.0:
        set_timer(net, senders, f)
    number = int64(w[RESEND])
    if number >= 0:
        if s.samples == 0:  # a rule of deliveries sends again from its list of lost packets
            output(net, senders, f, number)
        s.hole = max(s.hole, number + 1)
    if w[LIMITED] != 0.0:
        ahead = min(s.most, s.cwnd + float(s.dupacks))
        if float(s.snd_nxt) <= float(s.snd_una - 1) + ahead and s.snd_nxt < s.size:
            output(net, senders, f, int64(s.snd_nxt))
            s.snd_nxt += 1
