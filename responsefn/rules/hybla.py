"""TCP Hybla as in Linux's tcp_hybla.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.rules.base import whole, whole_cut
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxHybla"]

MAX_EXPONENT = 16.0  # Linux 6.12, net/ipv4/tcp_hybla.c: min(ca->rho, 16)
"""Maximum exponent of slow start, in reference round trips."""
MAX_WINDOW = 65535.0  # Linux 6.12, net/ipv4/tcp_hybla.c: snd_cwnd_clamp = 65535
"""Packets."""


class LinuxHybla(LinuxRule):
    r"""TCP Hybla as in Linux's tcp_hybla.c: growth as over a path with a round trip of ``rtt0``.

    rho is RTT_min / rtt0 in eighths, at least 1. An ACK adds 2^rho - 1 packets in slow start, not beyond the threshold,
    and rho^2 / W above it, both in 128ths of a packet, and at least a packet per window of ACKs. 2^rho is 2^floor(rho)
    times a fraction in 128ths. A new connection begins with floor(rho) packets, whatever the initial window of the
    stack. A loss halves the window. Growth is per ACK, however many packets it acknowledges, so that delayed ACKs halve
    it (`counts_packets`). RTT_min is the minimum of the samples. The module has the minimum of the smoothed round-trip
    time.

    Domain: p <= 0.02.

    Parameters
    ----------
    rtt0
        Round-trip time of the reference connection in s.
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxHybla
    >>> round(float(LinuxHybla().rate(1e-3, 0.04))), round(float(LinuxHybla().rate(1e-3, 0.4)))
    (1376, 1541)
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, least RTT in s."""

    class Params(NamedTuple):
        """Reference in s, version."""

        rtt0: float = param(
            0.025,
            "time",
            above=0.0,
            below=5.0,
            source="Linux 6.12, net/ipv4/tcp_hybla.c: rtt0 = 25 ms",
        )
        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "optional"
    counts_packets: ClassVar[bool] = False
    counts_in_slow_start: ClassVar[bool] = False
    sets_initial_window: ClassVar[bool] = True
    reference = linux_file("tcp_hybla.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its growth is a whole number of 128ths of a packet per ACK, so that its rate jumps with p"

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a new connection: floor(rho) packets."""
        state = super().start(rtt, bandwidth)
        return state._replace(cwnd=float(math.floor(eighths(self.params, rtt) / 8.0)))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start by 2^rho - 1 packets per ACK, or rho^2 packets per window of ACKs."""
        base = minimum(s.base_rtt, e.rtt)
        rho = eighths(q, base)
        rounds = math.floor(rho / 8.0)
        part = math.floor(128.0 * 2.0 ** ((rho - 8.0 * rounds) / 8.0) + 1e-9)
        doubled = 2.0 ** minimum(rounds, MAX_EXPONENT) * part / 128.0 - 1.0
        w = whole(s.cwnd)
        above = math.floor(2.0 * rho * rho / w) / 128.0
        step = where(above > 0.0, above, 1.0 / w)
        slow = s.cwnd < s.ssthresh
        grown = where(slow, minimum(s.cwnd + doubled, s.ssthresh), s.cwnd + step)
        return s._replace(cwnd=minimum(grown, MAX_WINDOW), base_rtt=base)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, in whole packets."""
        return whole_cut(s, 0.5 * whole(s.cwnd))


def eighths(q: Any, rtt: Any) -> Any:
    """Return rho of a round-trip time in eighths, at least 8."""
    return maximum(8.0, 1.0 * math.floor(8.0 * rtt / q.rtt0 + 1e-9))
