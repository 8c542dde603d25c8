"""TCP Veno as in Linux's tcp_veno.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import minimum, where
from hopflow.parameters import extends, param
from responsefn.rules.base import grow, whole, whole_cut
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file, timeout_after

__all__ = ["LinuxVeno"]


class LinuxVeno(LinuxRule):
    r"""TCP Veno as in Linux's tcp_veno.c: Reno that treats losses without a queue as random.

    The queue is W - W RTT_min / RTT with the round-trip time of the last ACK, in half packets. While it is shorter
    than beta the window grows by a packet per W ACKs, and a loss leaves four fifths of it; otherwise by a packet
    per 2 (W + 1) ACKs, and a loss leaves half. Windows are whole packets at a loss.

    Domain: p <= 0.02.

    Parameters
    ----------
    beta
        Packets in the queue, > 0, from which a loss is one of congestion.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxVeno
    >>> round(float(LinuxVeno().rate(1e-3, 0.04))), round(float(LinuxVeno().rate(1e-3, 0.04, bandwidth=1000.0)))
    (1619, 875)
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, minimum RTT in s, packets in the queue at the last ACK."""

        waiting: float = 0.0

    class Params(NamedTuple):
        """Packets in the queue of a congested path, version."""

        beta: float = param(
            3.0,
            "amount",
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_veno.c: beta = 3 << V_PARAM_SHIFT",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "waiting")
    capacity: ClassVar[str] = "optional"
    reference = linux_file("tcp_veno.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its windows are whole packets at a loss, so that its rate jumps with p"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a packet per window of ACKs without a queue, per two windows with one."""
        base = minimum(s.base_rtt, e.rtt)
        w = whole(s.cwnd)
        waiting = w - 0.5 * math.floor(2.0 * w * base / e.rtt + 1e-9)
        step = where(waiting < q.beta, 1.0 / w, 0.5 / (w + 1.0))
        return grow(s._replace(base_rtt=base, waiting=waiting), step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Reduce the window to four fifths if few packets wait, otherwise to half."""
        return whole_cut(s, where(s.waiting < q.beta, 0.8, 0.5) * whole(s.cwnd))

    on_timeout = timeout_after(on_loss)
