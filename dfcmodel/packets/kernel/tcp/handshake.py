"""The handshake of a window sender in the standard convention (RFC 9293, 3.5): a separate SYN, or a SYN with data.

The SYN is packet 0, since it has its own sequence number (RFC 9293, 3.4). Until it is acknowledged the maximum window
is one packet, since the receiver announces its window with the SYN-ACK.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled

from ..layout import NATIVE
from .deliveries import discard_sent, report_deliveries
from .recovery import NEWLY_LOST, ON_ACK_IN_RECOVERY, UNREPAIRED, recover
from .tcp_constants import OLD_INITIAL_RTO
from .timers import back_off, set_timer

__all__ = ["open_connection", "resend_syn"]


@compiled
def open_connection(net: Any, senders: Any, f: int, e: int) -> None:
    """Process SYN-ACK e at sender f: it may send data from now on; the window does not grow.

    It does not grow the window (RFC 5681, 3.1).
    """
    s = senders.flow[f]
    s.connecting = 0
    s.most = s.announced
    s.not_ect = s.samples * (1 - s.accurate)
    if s.listed == NATIVE:
        s.not_ect = senders.native[s.native].not_ect
    if s.timeouts > 0:
        s.cwnd = 1.0  # RFC 5681, 3.1: the initial window after a lost SYN or SYN-ACK
        s.current = OLD_INITIAL_RTO  # RFC 6298, 5.7
        s.backoff = 1.0
        set_timer(net, senders, f)
    if s.samples == 1:
        report_deliveries(net, senders, f, net.sent_at[e], 0.0)
    if s.by_time == 1:
        senders.exchange[NEWLY_LOST] = 0.0
        senders.exchange[UNREPAIRED] = 0.0
        recover(net, senders, f, ON_ACK_IN_RECOVERY, 0.0, 0.0)


@compiled
def resend_syn(net: Any, senders: Any, f: int) -> None:
    """Prepare to send the SYN of flow f again, with a doubled timeout (RFC 6298, 5.4 to 5.6); no loss event."""
    s = senders.flow[f]
    s.timeouts += 1
    s.timing = 0  # Karn's algorithm (RFC 6298, 3)
    s.snd_nxt = 0
    if s.listed == 1:
        discard_sent(senders, f)
    back_off(senders, f)
    set_timer(net, senders, f)
