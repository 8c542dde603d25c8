"""Window rules of QUIC: NewReno of RFC 9002, and CUBIC as in Chromium's QUIC library."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hopflow.functions import maximum
from hopflow.parameters import extends, param
from hopflow.tcp_constants import INITIAL_WINDOW
from hopflow.units import quantities
from responsefn.response import Reference, rfc
from responsefn.rules.base import WindowRule
from responsefn.rules.classic import Reno
from responsefn.rules.cubic import HyStartCUBICState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ChromiumCUBIC", "QUICNewReno"]

# RFC 9002, Sect. 7.2: kMinimumWindow, two packets; quiche, tcp_cubic_sender_bytes.cc:
# kDefaultMinimumCongestionWindow
MIN_WINDOW = 2.0
"""Packets: kMinimumWindow of RFC 9002, kDefaultMinimumCongestionWindow of Chromium."""
NEWTON_STEPS = 20  # numerical
"""Newton steps for the period of the curve."""
# quiche, hybrid_slow_start.cc: kHybridStartLowWindow = 16; kHybridStartMinSamples = 8
LOW_WINDOW, SAMPLES = 16.0, 8.0
"""HyStart: packets from which it acts, and RTT samples of a round."""
# quiche, hybrid_slow_start.cc: kHybridStartDelayMinThresholdUs = 4000;
# kHybridStartDelayMaxThresholdUs = 16000; kHybridStartDelayFactorExp = 3, 2^3
MIN_DELAY_INCREASE, MAX_DELAY_INCREASE, DIVISOR = 4e-3, 16e-3, 8.0
"""HyStart: bounds in s of the delay increase that ends slow start, and a divisor.

Between the bounds, the increase is the minimum RTT over the divisor."""


class QUICNewReno(Reno):
    """NewReno of QUIC (RFC 9002, Sect. 7 and Appendix B): Reno's window, at least two packets, ten at the beginning.

    Other than in TCP, a probe timeout does not reduce the window. Persistent congestion reduces it to two packets
    (Sect. 7.6). Here it is a timeout, which in packet runs is RFC 6298's. Selective ACKs detect losses, and all losses
    of a window are one event (Sect. 7.3.2).

    Response functions, parameter ``form`` and domain are `Reno`'s.

    Examples
    --------
    >>> from responsefn import QUICNewReno, Reno
    >>> QUICNewReno().rate(0.01, 0.1) == Reno().rate(0.01, 0.1), QUICNewReno().State().cwnd
    (True, 10.0)
    """

    class State(NamedTuple):
        """Window and threshold in packets."""

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf

    recovery: ClassVar[str] = "sack"
    sets_initial_window: ClassVar[bool] = True
    reference = rfc(
        9002,
        "J. Iyengar, I. Swett, QUIC loss detection and congestion control, 2021",
        "Sect. 7 and Appendix B",
    )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, to at least two packets."""
        window = maximum(MIN_WINDOW, 0.5 * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from two packets to half the window."""
        return s._replace(cwnd=MIN_WINDOW, ssthresh=maximum(MIN_WINDOW, 0.5 * s.cwnd))


class ChromiumCUBIC(WindowRule):
    r"""CUBIC as in Chromium's QUIC library (``cubic_bytes.cc``), which emulates several connections, two by default.

    With N connections a loss leaves (N - 1 + beta) / N of the window, and the Reno-friendly window grows by 3 N^2
    (1 - B) / (1 + B) packets per window of ACKs, where B is that fraction. If the window is more than a packet below
    the last peak, the stored peak is (N - 1 + 0.85) / N of the window (fast convergence). The curve begins at the first
    ACK after recovery. At each ACK the window moves to the curve's value one minimum round trip ahead, by at most half
    a packet per acknowledged packet. CUBIC's part therefore responds to losses as one connection with a larger beta.
    Only the decrease and the Reno-friendly window depend on N. Linux's module counts ACKs between whole packets
    (`LinuxCUBIC`). Here windows are bytes, without rounding.

    Slow start ends by delay: from 16 packets on, when the minimum of the first eight round-trip times of a round
    exceeds the minimum of the connection by an eighth of it, within 4 and 16 ms. ACK trains are not detected. A
    connection begins with 10 packets, and a timeout leaves two. It paces at 2 windows per round trip in slow start and
    1.25 above it: ``pacing`` of `dfcmodel.Flow`.

    Domain: p <= 0.02.

    Parameters
    ----------
    connections
        N, a whole number >= 1.
    C
        Packets/s^3 (``kCubeCongestionWindowScale`` 410 of 1024).
    beta
        Decrease factor of one connection at a loss.
    remembered
        Factor for the stored peak of one connection, for a window below the last peak.
    hystart
        1 or 0; 0: slow start ends by a loss.

    Examples
    --------
    >>> from responsefn import ChromiumCUBIC
    >>> round(float(ChromiumCUBIC().rate(1e-3, 0.04))), round(float(ChromiumCUBIC(connections=1).rate(1e-3, 0.04)))
    (1937, 970)
    """

    @extends(HyStartCUBICState)
    class State(NamedTuple):
        """Window, threshold, last peak, the curve's origin and Reno's window in packets; times in s.

        ``since`` is negative until the curve begins. HyStart has the packets left in the round, its minimum RTT and
        samples.
        """

        cwnd: float = INITIAL_WINDOW

    class Params(NamedTuple):
        """Connections, packets/s^3, factors of the window and of the stored peak, slow start."""

        connections: int = param(
            2,
            at_least=1.0,
            source="quiche, quic/core/quic_constants.h: kDefaultNumConnections = 2",
        )
        C: float = param(
            410 / 1024,
            above=0.0,
            source="quiche, cubic_bytes.cc: kCubeCongestionWindowScale = 410, in 1024ths",
        )
        beta: float = param(
            0.7,
            above=0.0,
            below=1.0,
            source="quiche, cubic_bytes.cc: kDefaultCubicBackoffFactor = 0.7",
        )
        remembered: float = param(
            0.85,
            above=0.0,
            at_most=1.0,
            source="quiche, cubic_bytes.cc: kBetaLastMax = 0.85",
        )
        hystart: int = param(
            1,
            choices=(0, 1),
            source="quiche, tcp_cubic_sender_bytes.cc: hybrid slow start is always asked",
        )

    capacity: ClassVar[str] = "ignored"
    assigned: ClassVar[tuple[str, ...]] = (
        "peak",
        "origin",
        "plateau",
        "since",
        "base_rtt",
        "left",
        "round_min_rtt",
        "samples",
    )
    recovery: ClassVar[str] = "sack"
    sets_initial_window: ClassVar[bool] = True
    reference = Reference(
        "quiche, quic/core/congestion_control/cubic_bytes.cc, tcp_cubic_sender_bytes.cc and hybrid_slow_start.cc, "
        "github.com/google/quiche, commit bac04054",
        "primary",
    )
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its cycles come to rest slowly, so that its rate is no smooth function of p"

    @quantities(p="share", rtt="time")
    def expected_peak(self, p: ArrayLike, rtt: ArrayLike) -> NDArray[np.float64]:
        """Return the peak to which a cycle returns, in packets: of the curve, or of Reno's window where that is larger.

        The curve is one round trip R ahead, so that a cycle of the curve lasts K - R and has
        C/R (K^3 (K - R)/(1 - B) - (K - R)^4/4) = 1/p packets, from which K follows by Newton's method.

        Parameters
        ----------
        p
            Loss event rate, any shape.
        rtt
            Round-trip time in s, any shape that broadcasts with ``p``.
        """
        q, p, rtt = self.params, np.asarray(p, dtype=float), np.asarray(rtt, dtype=float)
        lost = 1.0 - share(q.connections, q.beta)
        gain = 3.0 * q.connections**2 * lost / (2.0 - lost)
        line = np.sqrt(2.0 * gain / (lost * (2.0 - lost) * p))
        period = rtt + (rtt / (p * q.C * (1.0 / lost - 0.25))) ** 0.25
        for _ in range(NEWTON_STEPS):
            left = period - rtt
            packets = q.C / rtt * (period**3 * left / lost - left**4 / 4.0)
            slope = q.C / rtt * ((3.0 * period**2 * left + period**3) / lost - left**3)
            period = np.maximum(rtt, period - (packets - 1.0 / p) / slope)
        peaks: NDArray[np.float64] = np.maximum(line, q.C * period**3 / lost)
        return peaks

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the larger of the curve and Reno's window."""
        base = min(s.base_rtt, e.rtt)
        s = s._replace(base_rtt=base)
        if s.cwnd < s.ssthresh:
            if q.hystart > 0:
                s = detect_delay(s, e)
            if s.cwnd < s.ssthresh:
                return s._replace(cwnd=s.cwnd + 1.0)
            return s
        if s.since < 0.0:
            below = max(0.0, s.peak - s.cwnd)
            s = s._replace(
                since=e.time,
                origin=max(s.peak, s.cwnd),
                plateau=(below / q.C) ** (1.0 / 3.0),
                reno=s.cwnd,
            )
        factor = share(q.connections, q.beta)
        ahead = e.time + base - s.since - s.plateau
        curve = min(s.origin + q.C * ahead * ahead * ahead, s.cwnd + 0.5)
        gain = 3.0 * q.connections * q.connections * (1.0 - factor) / (1.0 + factor)
        reno = s.reno + gain / s.reno
        return s._replace(cwnd=max(curve, reno), reno=reno)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the factor of the connections; store less of a window below the last peak."""
        lower = s.cwnd + 1.0 < s.peak
        peak = share(q.connections, q.remembered) * s.cwnd if lower else s.cwnd
        window = max(MIN_WINDOW, share(q.connections, q.beta) * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window, peak=peak, since=-1.0)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from two packets to half the window; reset the peak."""
        half = max(MIN_WINDOW, 0.5 * s.cwnd)
        return s._replace(cwnd=MIN_WINDOW, ssthresh=half, peak=0.0, since=-1.0, left=0.0)


def share(connections: Any, part: Any) -> Any:
    """Return the factor of the common window of several connections if one of them applies ``part`` to its own."""
    return (connections - 1.0 + part) / connections


def detect_delay(s: Any, e: Any) -> Any:
    """Update HyStart after an ACK, and end slow start if the delay has grown."""
    left = s.left - 1.0
    round_min_rtt = s.round_min_rtt
    samples = s.samples
    if left <= 0.0:
        left = s.cwnd
        round_min_rtt = math.inf
        samples = 0.0
    samples = samples + 1.0
    if samples <= SAMPLES:
        round_min_rtt = min(round_min_rtt, e.rtt)
    ssthresh = s.ssthresh
    allowed = min(MAX_DELAY_INCREASE, max(MIN_DELAY_INCREASE, s.base_rtt / DIVISOR))
    if samples >= SAMPLES and s.cwnd >= LOW_WINDOW and round_min_rtt > s.base_rtt + allowed:
        ssthresh = s.cwnd
    return s._replace(left=left, round_min_rtt=round_min_rtt, samples=samples, ssthresh=ssthresh)
