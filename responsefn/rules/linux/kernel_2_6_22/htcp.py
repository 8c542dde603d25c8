"""H-TCP as in Linux 2.6.22's tcp_htcp.c."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hopflow.functions import maximum, minimum, where
from responsefn.rules.base import cut
from responsefn.rules.linux.htcp import LinuxHTCP, judged, measured
from responsefn.rules.linux.versions import KERNEL, OLD, LinuxRule, linux_file, of_kernel

__all__ = ["LinuxHTCP2622"]


@of_kernel(OLD)
class LinuxHTCP2622(LinuxHTCP):
    r"""H-TCP as in Linux 2.6.22's tcp_htcp.c: with RTT scaling, in whole numbers.

    alpha = 2 (1 - beta) f, where f = 1 + 10 (t-1) + ((t-1)/2)^2 for t > 1 s and 1 before, times
    10 RTT_min (in s, that factor within 0.1 and 2), in whole numbers and at least 1. beta is
    RTT_min/RTT_max within 0.5 and 0.8, but 0.5 unless the highest throughput of each of the last two
    cycles was within 20 % of that of the cycle before: so mostly under random losses, not under
    deterministic ones. Throughput is averaged with a gain of 1/4 per round trip. RTT_max is that of the last
    cycle, where the file lets it fade by 5 % of the delay per loss. Sees the queue where ``bandwidth`` is given.

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn.linux import LinuxHTCP
    >>> round(float(LinuxHTCP(kernel="2.6.22").rate(1e-3, 0.04)))
    1061
    """

    class Params(NamedTuple):
        """Version."""

        kernel: str = KERNEL

    reference = linux_file("tcp_htcp.c", OLD)

    def check(self) -> None:
        """Check the version."""
        LinuxRule.check(self)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or alpha / cwnd."""
        slow = s.cwnd < s.ssthresh
        since = where(slow, e.time, s.since)
        base = minimum(s.base_rtt, e.rtt)
        late = maximum(0.0, e.time - since - 1.0)
        factor = 1.0 + math.floor(10.0 * late + 0.25 * late * late)
        scale = minimum(10.0, maximum(0.5, 0.1 / base))
        a = 2.0 * (1.0 - s.kept) * maximum(1.0, math.floor(factor / scale))
        s = measured(s, e, since, 3.0)
        return s._replace(cwnd=s.cwnd + where(slow, 1.0, a / s.cwnd))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep RTT_min/RTT_max of the window, within 0.5 and 0.8, or half of it."""
        top = maximum(s.top_rtt, e.rtt)
        kept = minimum(0.8, maximum(0.5, minimum(s.base_rtt, e.rtt) / top))
        s = judged(s, kept)
        s = cut(s, s.kept * s.cwnd)
        return s._replace(since=e.time, top_rtt=e.rtt)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), top_rtt=0.0)
