"""Flows over one FIFO server, ACK by ACK.

The rings ``sent_at`` and ``back_at``, shape (F, a power of two), have a place for each packet between
a flow's tail and its next one; a packet that gets lost comes back at infinity. As the path is FIFO a
flow's ACKs come in the order of sending, and its next event is the first of them, or, where none will
come, the timer.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import math

from .jit import call_event, entry, inlined
from .records import ON_ACK, ON_LOSS, ON_TIMEOUT, RECORD, Network
from .tcp_constants import DUP_THRESH

__all__ = ["apply", "expire", "first_due", "hear", "measure", "record", "run", "schedule", "send"]


@inlined
def first_due(flow):
    """Return the number of the flow that acts next."""
    f = 0
    for g in range(1, len(flow)):
        if flow[g].due < flow[f].due:
            f = g
    return f


@inlined
def record(net, rows, backlog, row, at):
    """Copy the flows as they are at time ``at``, and the work before the server in s."""
    flow, back_at = net.flow, net.back_at
    mask = back_at.shape[1] - 1
    for g in range(len(flow)):
        rows[row, g] = flow[g]
        alive = 0  # counted in the ring: the balance is to prove something
        for k in range(flow[g].head, flow[g].sent):
            if back_at[g, k & mask] < math.inf:
                alive += 1
        rows[row, g].alive = alive
        rows[row, g].area += flow[g].cwnd * (at - flow[g].last)
    backlog[row] = max(0.0, net.path.free - at)


@inlined
def apply(net, event, f, now, rtt):
    """Apply an event of its window rule to a flow; return False, and what was wrong, for a wrong window."""
    s, wrong = net.flow[f], net.wrong
    wrong[RECORD] = s.cwnd
    if len(wrong) > RECORD + 1:
        wrong[RECORD + 1] = s.ssthresh
    for n in range(len(wrong) - RECORD - 2):
        wrong[RECORD + 2 + n] = s.rule_state[n]
    call_event(net.events[s.rule, event], s, now, rtt, 1.0, 0.0)
    if net.path.least <= s.cwnd <= net.path.largest:
        return True
    wrong[0] = event + 1.0
    wrong[1] = f
    wrong[2] = now
    wrong[3] = rtt
    wrong[4] = s.cwnd
    return False


@inlined
def measure(s, rtt, path):
    """Update the retransmission timer (RFC 6298, section 2)."""
    if s.srtt == 0.0:
        s.srtt = rtt
        s.variance = 0.5 * rtt
    else:
        s.variance += 0.25 * (abs(rtt - s.srtt) - s.variance)
        s.srtt += 0.125 * (rtt - s.srtt)
    s.timer = max(path.least_timer, s.srtt + 4.0 * s.variance)


@inlined
def hear(net, f, now):
    """Take a flow's next ACK, and the losses that it tells of; return False for a wrong window."""
    s, back_at = net.flow[f], net.back_at
    mask = back_at.shape[1] - 1
    k = s.head
    rtt = now - net.sent_at[f, k & mask]
    s.head = k + 1
    s.acked += 1
    s.alive -= 1
    s.flight -= 1
    s.after += 1
    measure(s, rtt, net.path)
    n = s.tail
    while n <= k:
        if back_at[f, n & mask] < math.inf:
            s.after -= 1
        elif s.after < DUP_THRESH:
            break
        else:
            s.flight -= 1
            if n >= s.recover:
                s.recover = s.sent
                s.loss_events += 1
                s.peaks += s.cwnd
                if not apply(net, ON_LOSS, f, now, rtt):
                    return False
        n += 1
    s.tail = n
    if n > k >= s.recover:
        if not apply(net, ON_ACK, f, now, rtt):
            return False
        s.cwnd = min(s.cwnd, net.path.most)
    return True


@inlined
def expire(net, f, now):
    """Take the timer's expiry: all that is on its way is lost; return False for a wrong window."""
    s = net.flow[f]
    rtt = max(s.base_rtt, s.srtt)
    s.loss_events += 1
    s.timeouts += 1
    s.peaks += s.cwnd
    s.timer = min(60.0, 2.0 * s.timer)
    s.flight = 0
    s.after = 0
    s.tail = s.sent
    s.recover = s.sent
    return apply(net, ON_TIMEOUT, f, now, rtt)


@inlined
def send(net, f, now):
    """Send what the window allows: through the queue, the server and the delay, or into loss."""
    s, path, sent_at, back_at = net.flow[f], net.path, net.sent_at, net.back_at
    mask = sent_at.shape[1] - 1
    allowed = min(path.most, max(1.0, s.cwnd))
    while s.flight + 1.0 <= allowed:
        n = s.sent & mask
        s.sent += 1
        s.flight += 1
        sent_at[f, n] = now
        back_at[f, n] = math.inf
        if path.free - now > (path.buffer + 1e-6) * path.service:  # one that just leaves has left
            s.refused += 1
            continue
        begin = max(now, path.free)
        path.free = begin + path.service
        s.waited += begin - now
        path.taken += 1
        if path.taken == net.lost_at[path.losses]:
            path.losses += 1
            s.lost += 1
            continue
        path.seed = 48271 * path.seed % 2147483647  # Park and Miller's generator
        back = begin + s.base_rtt + path.processing * (path.seed / 2147483647.0)
        s.latest = max(s.latest, back)
        back_at[f, n] = s.latest
        s.alive += 1


@inlined
def schedule(net, f, now):
    """Set when a flow acts next: at its next ACK, or when its timer expires."""
    s, back_at = net.flow[f], net.back_at
    mask = back_at.shape[1] - 1
    n = s.head
    while n < s.sent and back_at[f, n & mask] == math.inf:
        n += 1
    s.head = n
    s.due = back_at[f, n & mask] if s.alive > 0 else now + s.timer


@entry
def run(times, flows, path, rings, found):
    """Run the flows over a path; at each of ``times`` their records are copied.

    Groups are plain tuples, because Numba takes about 10 us longer per call to find the types of NamedTuples:
    ``flows`` the events of their rules and their records, ``path`` its record and the packets that get lost.
    """
    events, flow = flows
    paths, lost_at = path
    sent_at, back_at = rings
    rows, backlog, wrong = found
    net = Network(events, flow, paths[0], lost_at, sent_at, back_at, wrong)
    row = 0
    while True:
        f = first_due(flow)
        s = flow[f]
        now = s.due
        while times[row] <= now:
            record(net, rows, backlog, row, times[row])
            row += 1
            if row == len(times):
                return
        s.area += s.cwnd * (now - s.last)
        s.last = now
        right = True
        if s.alive > 0:
            right = hear(net, f, now)
        elif s.flight > 0:
            right = expire(net, f, now)
        if not right:
            return
        send(net, f, now)
        schedule(net, f, now)
