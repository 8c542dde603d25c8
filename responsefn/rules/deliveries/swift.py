"""Swift: a window for data centres, from the delay and a target that depends on the window."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.parameters import param
from hopflow.tcp_constants import INITIAL_WINDOW
from hopflow.units import readable_text
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["Swift"]

UNPACED = 1e12  # numerical
"""Packets/s: no pacing."""


class Swift(DeliveryRule):
    r"""Swift (Kumar et al. 2020): AIMD on the delay, with windows of less than a packet.

    Per round trip the window W grows by ``ai`` packets while the round-trip time is below the target. Above it W falls
    by beta (RTT - target) / RTT of itself, at most by ``max_mdf``, and at most once per round trip, also at losses.
    With a window of less than a packet, a packet is sent every RTT / W. The target grows as windows shrink, so that
    many flows do not share a short queue:

    .. math::

        \mathrm{target} = t_0 + \max\Bigl(0, \min\Bigl(r, \frac{a}{\sqrt W} - \frac{a}{\sqrt{W_{max}}}\Bigr)\Bigr),\quad
        a = \frac{r}{1/\sqrt{W_{min}} - 1/\sqrt{W_{max}}}.

    The delay is the network's (the fabric delay); there is no host delay. The paper's scaling of the target by the path
    length must be part of ``base_target``. Selective ACKs detect losses.

    Parameters
    ----------
    base_target
        t_0, s: the round trip without queue, the allowance for its hops, and the queue that a flow may keep.
    ai
        Packets per round trip, > 0.
    beta
        Multiplicative decrease, 0 < beta <= 1.
    max_mdf
        Maximum decrease as a fraction of the window, 0 < max_mdf < 1.
    fs_range
        r: maximum increase of the target for small windows, s; 0: none.
    fs_min_cwnd, fs_max_cwnd
        W_min, W_max: windows with the maximum increase and without any, packets.
    min_cwnd
        Minimum window in packets, > 0.

    The defaults are htsim's, for round trips of about 20 us; htsim calls ``ai``, ``beta``, ``max_mdf`` and the times
    guesses. The paper was not available.

    Examples
    --------
    >>> from responsefn import Swift
    >>> Swift().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Swift(): has no response function of a loss rate: its window follows the delay; ...
    """

    class State(NamedTuple):
        """Window of at least a packet, pacing in packets/s, and Swift's window.

        The time of the last decrease and the RTT are in s. The last field counts timeouts.
        """

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf
        pacing_rate: float = UNPACED
        window: float = INITIAL_WINDOW
        fell: float = -math.inf
        rtt: float = 0.0
        timeouts: float = 0.0

    class Params(NamedTuple):
        """Times in s; packets; fractions of the window."""

        base_target: float = param(
            50e-6,
            "time",
            above=0.0,
            below=5.0,
            source="own choice: twice a round trip of 20 us (htsim's _base_delay) and hops",
        )
        ai: float = param(1.0, "amount", above=0.0, source="htsim, sim/swift.cpp: _ai = 1.0")
        beta: float = param(0.8, above=0.0, at_most=1.0, source="htsim, sim/swift.cpp: _beta = 0.8")
        max_mdf: float = param(
            0.5,
            above=0.0,
            below=1.0,
            source="htsim, sim/swift.cpp: _max_mdf = 0.5",
        )
        fs_range: float = param(
            100e-6,
            "time",
            at_least=0.0,
            below=5.0,
            source="htsim, sim/swift.cpp: _fs_range = 5 * _base_delay, which is 20 us",
        )
        fs_min_cwnd: float = param(
            0.1,
            "amount",
            above=0.0,
            source="htsim, sim/swift.cpp: _fs_min_cwnd = 0.1",
        )
        fs_max_cwnd: float = param(
            100.0,
            "amount",
            source="htsim, sim/swift.cpp: _fs_max_cwnd = 100",
        )
        min_cwnd: float = param(
            0.001,
            "amount",
            above=0.0,
            source="own choice: a packet in a thousand round trips; htsim has 10 bytes",
        )

    reference = Reference(
        "G. Kumar et al., Swift: delay is simple and effective for congestion control in the datacenter, SIGCOMM 2020, "
        "Algorithm 1, as htsim (swift.cpp) and others have it",
        doi="10.1145/3387514.3406591",
    )
    why_no_rate: ClassVar[str] = "its window follows the delay"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= a_i / W,\ \text{late: } W \gets W (1 - \beta (\mathrm{RTT} - t) / \mathrm{RTT})"
    )

    def check(self) -> None:
        """Check the ranges of the parameters."""
        q = self.params
        one_number("fs_max_cwnd", q.fs_max_cwnd, above=q.fs_min_cwnd, hint="in packets, above fs_min_cwnd")

    def path_mismatch(self, line_rate: float, rtt: float) -> str:
        """Name a target that a window which fills the path exceeds without a queue."""
        window = line_rate * rtt
        target = float(target_of(self.params, window))
        if target > rtt:
            return ""
        return (
            f"the target for a window of {window:.4g} packets, which fills the path, is {readable_text(target, 's')}, "
            f"not above the round-trip time without queues, {readable_text(rtt, 's')}: windows fall below it; increase "
            "base_target"
        )

    def target(self, window: float) -> float:
        """Return the round-trip time in s up to which a window of so many packets grows.

        >>> round(Swift().target(100.0) * 1e6), round(Swift().target(0.1) * 1e6)
        (50, 150)
        """
        one_number("window", window, above=0.0, hint="in packets")
        return float(target_of(self.params, window))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the maximum, if the window has not fallen within a round trip."""
        if e.time < s.fell + e.rtt:
            return s
        return set_window(s._replace(fell=e.time), q, (1.0 - q.max_mdf) * s.window)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the maximum; after three timeouts in a row to the minimum window."""
        window = q.min_cwnd if s.timeouts >= 2.0 else (1.0 - q.max_mdf) * s.window
        return set_window(s._replace(fell=e.time, timeouts=s.timeouts + 1.0), q, window)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Increase the window below the target, otherwise decrease it, at most once per round trip."""
        if e.acked == 0.0:
            return s
        s = s._replace(rtt=e.rtt, timeouts=0.0)
        target = target_of(q, s.window)
        if e.rtt < target:
            return set_window(s, q, s.window + q.ai * e.acked / max(1.0, s.window))
        if e.time < s.fell + e.rtt:
            return s
        factor = max(1.0 - q.beta * (e.rtt - target) / e.rtt, 1.0 - q.max_mdf)
        return set_window(s._replace(fell=e.time), q, factor * s.window)


def target_of(q: Any, window: Any) -> Any:
    """Return the target delay for a window, s."""
    offset = 1.0 / math.sqrt(q.fs_max_cwnd)
    slope = q.fs_range / (1.0 / math.sqrt(q.fs_min_cwnd) - offset)
    return q.base_target + max(0.0, min(q.fs_range, slope * (1.0 / math.sqrt(window) - offset)))


def set_window(s: Any, q: Any, window: Any) -> Any:
    """Set the window; a window of less than a packet becomes one paced packet."""
    window = max(q.min_cwnd, window)
    pacing = UNPACED
    if window < 1.0 and s.rtt > 0.0:
        pacing = window / s.rtt
    return s._replace(cwnd=max(1.0, window), pacing_rate=pacing, window=window)
