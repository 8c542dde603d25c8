"""Behaviour of senders and receivers with ``convention="ns2"``: agents of ns-2.35 where they differ from the RFCs.

Size and number of the opening packet are fields of a flow (`layout.FLOW`, ``opening``). For loss recoveries see
`dfcmodel.packets.recoveries.ns2`.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

from ..layout import CLOCK

__all__ = [
    "MIN_TICK_TIMEOUT",
    "is_ns2",
    "measure_ticks",
    "open_window",
    "restart_estimate",
    "truncate_ssthresh",
]

NS2 = CLOCK.index("is_ns2")
TICK = 0.01  # tcpTick_, s
MIN_TICK_TIMEOUT = 2.0 * TICK


@inlined
def is_ns2(senders: Any) -> bool:
    """Return whether the run has ``convention="ns2"``."""
    return bool(senders.clock[NS2] == 1.0)


@inlined
def measure_ticks(senders: Any, f: int, now: float, rtt: float) -> None:
    """Update flow f's RTT estimate from ``rtt``, s, in whole clock ticks as ns-2 does (TcpAgent::rtt_update)."""
    s = senders.flow[f]
    off = (now - rtt + s.phase) % TICK
    ticks = max(1, int((rtt + off) / TICK))
    srtt = int(s.srtt)
    variance = int(s.variance)
    if srtt != 0:
        delta = ticks - (srtt >> 3)
        srtt = max(1, srtt + delta)
        variance = max(1, variance + abs(delta) - (variance >> 2))
    else:
        srtt = ticks << 3
        variance = ticks << 1
    s.srtt = float(srtt)
    s.variance = float(variance)
    s.current = float((variance * 8 + srtt) >> 3) * TICK


@inlined
def restart_estimate(senders: Any, f: int) -> None:
    """Reset flow f's smoothed RTT, in the ns-2 convention, if its backoff exceeds 8 (TcpAgent::rtt_backoff)."""
    s = senders.flow[f]
    if senders.clock[NS2] == 1.0 and s.backoff > 8.0:
        s.variance += float(int(s.srtt) >> 3)
        s.srtt = 0.0


@inlined
def truncate_ssthresh(senders: Any, f: int) -> None:
    """Round flow f's ssthresh down to whole packets in the ns-2 convention (``ssthresh_`` is an integer)."""
    s = senders.flow[f]
    if senders.clock[NS2] == 1.0:
        s.ssthresh = float(int(s.ssthresh))


@inlined
def open_window(senders: Any, f: int) -> None:
    """Set flow f's initial window at the ACK of its opening packet, in the ns-2 convention (``windowInit_``)."""
    s = senders.flow[f]
    if s.snd_una == 1 and is_ns2(senders):
        s.cwnd = s.first_window
