"""BIC as in Linux 2.6.22's tcp_bic.c."""

from __future__ import annotations

import math
from typing import Any

from hopflow.functions import maximum, minimum, where
from hopflow.units import quantities
from responsefn.rules.base import grow
from responsefn.rules.linux.bic import LinuxBIC
from responsefn.rules.linux.versions import OLD, linux_file, of_kernel

__all__ = ["LinuxBIC2622"]


@quantities(largest="amount", low_window="amount")
@of_kernel(OLD)
class LinuxBIC2622(LinuxBIC):
    r"""BIC as in Linux 2.6.22's tcp_bic.c: a quarter of the way to the last peak, smoothed near it.

    Against `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it;
    one packet in ``smooth`` / 4 round trips where that is one packet or none; a cut by 0.2; an increase
    of at most 16 packets; each packet more takes a whole number of ACKs and one, here half a one more. The module divides it
    by its estimate of packets per ACK, which begins at 2 in sixteenths; d <- d - floor(d/16) + 1 takes 32 to
    31, where it stays although every packet is acknowledged: above Reno's region it grows 31/16 times as fast.

    Domain: p <= 0.02. Parameters as of `LinuxBIC`.

    Examples
    --------
    >>> from responsefn.linux import LinuxBIC
    >>> round(float(LinuxBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    1177
    """

    reference = linux_file("tcp_bic.c", OLD)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        below = math.floor(0.25 * (s.peak - s.cwnd))  # whole packets: 1 is a distance below 8
        beyond = s.cwnd - s.peak
        slowly = 4.0 / q.smooth
        towards = where(below > 1.0, minimum(q.largest, below), slowly)
        away = where(beyond < 4.0, slowly, where(beyond < 3.0 * q.largest, beyond / 3.0, q.largest))
        acks = s.cwnd / where(s.cwnd < s.peak, towards, away)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        acks = maximum(1.0, acks / q.per_ack)
        return grow(s, 1.0 / where(s.cwnd <= q.low_window, s.cwnd + 1.0, acks + 0.5))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b (half in Reno's region); remember less of a peak below the last one."""
        kept = where(s.cwnd <= q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        peak = where(s.cwnd < s.peak, q.remembered, 1.0) * s.cwnd
        return s._replace(cwnd=maximum(1.0, kept), ssthresh=maximum(2.0, kept), peak=peak)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, (1.0 - q.b) * s.cwnd), peak=0.0)
