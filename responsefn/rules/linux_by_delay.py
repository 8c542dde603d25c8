"""Linux's congestion control modules that measure a delay or a rate, as ns-2's TCP/Linux agent runs them.

They bear the names of published rules, but constants, integer arithmetic and filters of their own
make other windows. The sources are the files ``net/ipv4/tcp_*.c`` of Linux 2.6.22, which ns-2 has
taken over. None has a closed form: their responses are those of the numerical cycle.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow import maximum, minimum, where
from hopflow.checks import choice, one_number
from responsefn.responses import references
from responsefn.rules.base import FULL, WindowRule, cut
from responsefn.rules.delay_based import QueueRule, queued

__all__ = ["LinuxIllinois", "LinuxVegas", "WestwoodPlus"]


class LinuxIllinois(WindowRule):
    r"""Illinois as in Linux's tcp_illinois.c: by the mean delay of each round trip, with theta.

    alpha and beta are those of `Illinois`, set once per round trip by its mean delay; after a delay
    above 1/100 of the largest, alpha comes back to 10 only after ``theta`` round trips below. A packet more
    takes a whole number of ACKs, the next above cwnd/alpha. The mean is over time; the file's is over ACKs.

    At a loss 2.6.22's file keeps beta of the window instead of losing it, an eighth while nothing waits; later
    versions lose it. That mistake is ``keeps_beta=1``, with a response of a fifth to two thirds.

    Domain: p <= 0.02.

    Parameters
    ----------
    theta
        Round trips of low delay before alpha is the largest again.
    keeps_beta
        1 for 2.6.22's cut (as ns-2 runs it), 0 for that of later versions.

    Examples
    --------
    >>> round(float(LinuxIllinois().rate(1e-3, 0.04)))
    6846
    """

    class State(NamedTuple):
        """Window, threshold; RTTs in s; sums and times of the round trip; alpha, beta, low rounds.

        ``above`` is the file's rtt_above, 1 after a round trip of delay, and ``low`` its rtt_low,
        how many without delay came since then.
        """

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        top_rtt: float = 0.0
        began: float = 0.0
        seen: float = 0.0
        waited: float = 0.0
        a: float = 10.0
        b: float = 0.5
        above: float = 0.0
        low: float = 0.0

    class Params(NamedTuple):
        """Round trips of low delay before the largest increase; a flag."""

        theta: float = 5.0
        keeps_beta: int = 0

    assigned: ClassVar[tuple[str, ...]] = (
        "base_rtt", "top_rtt", "began", "seen", "waited", "a", "b", "above", "low",
    )  # fmt: skip
    capacity: ClassVar[str] = "optional"
    reference = references.TCP_ILLINOIS_C
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the range of theta and the flag."""
        one_number("theta", self.params.theta, at_least=0.0)
        choice("keeps_beta", self.params.keeps_beta, (0, 1))

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd with the a of the last round trip."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        waited = s.waited + (e.time - s.seen) * (e.rtt - base)
        passed = e.time - s.began
        ended = passed >= e.rtt
        most = top - base
        mean = where(ended, waited / maximum(1e-9, passed), 0.0)
        quiet = mean <= 0.01 * most
        share = 0.99 * most
        falling = 10.0 * share / maximum(1e-300, share + (mean - 0.01 * most) * 9.7 / 0.3)
        waits = (s.above > 0.0) & (s.low + 1.0 < q.theta)
        risen = where(quiet, where(waits, s.a, 10.0), falling)
        a = where(ended, where(s.cwnd < 15.0, 1.0, risen), s.a)
        judged = ended & (s.cwnd >= 15.0)
        above = where(quiet, where(waits, 1.0, 0.0), 1.0)
        low = where(quiet & (s.above > 0.0), where(waits, s.low + 1.0, 0.0), s.low)
        part = mean / maximum(1e-300, most)
        wide = minimum(0.5, maximum(0.125, 0.125 + 0.375 * (part - 0.1) / 0.7))
        b = where(ended, where(s.cwnd < 15.0, 0.5, wide), s.b)
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / math.ceil(s.cwnd / a)),
            base_rtt=base,
            top_rtt=top,
            began=where(ended, e.time, s.began),
            seen=e.time,
            waited=where(ended, 0.0, waited),
            a=a,
            b=b,
            above=where(judged, above, s.above),
            low=where(judged, low, s.low),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b, by mistake b."""
        return cut(s, where(q.keeps_beta > 0, s.b, 1.0 - s.b) * s.cwnd)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the base values of a and b."""
        return s._replace(
            cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), a=1.0, b=0.5, above=0.0, low=0.0
        )


class LinuxVegas(QueueRule):
    r"""Vegas as in Linux's tcp_vegas.c of 2.6.22: one packet in two round trips.

    It compares the expected rate with the window of a round trip earlier, and so moves in every
    second one. Halves at a loss. Needs ``bandwidth``.

    Domain: p <= 0.02.

    Parameters
    ----------
    alpha, beta
        Packets in the queue, 0 < alpha <= beta.

    Examples
    --------
    >>> round(float(LinuxVegas().rate(1e-3, 0.04, bandwidth=8333.0)))
    685
    """

    class Params(NamedTuple):
        """Packets in the queue below which the window grows and above which it shrinks."""

        alpha: float = 2.0
        beta: float = 4.0

    reference = references.TCP_VEGAS_C

    def check(self) -> None:
        """Check the ranges of alpha and beta."""
        one_number("alpha", self.params.alpha, above=0.0)
        one_number("beta", self.params.beta, at_least=self.params.alpha, hint="alpha <= beta")

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or half a packet per round trip up, down or not at all."""
        base = minimum(s.base_rtt, e.rtt)
        waiting = queued(s.cwnd, base, e.rtt)
        step = where(waiting < q.alpha, 0.5, where(waiting > q.beta, -0.5, 0.0)) / s.cwnd
        grown = s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step)
        return s._replace(cwnd=maximum(1.0, grown), base_rtt=base)


class WestwoodPlus(WindowRule):
    r"""Westwood+ as in Linux's tcp_westwood.c: two filters in series, no sample below 50 ms.

    Reno's growth; at a loss the window becomes the estimated rate times RTT_min. The rate of each
    sample of max(RTT, 50 ms) goes through two filters of gain 1/8, here spread over the ACKs of the
    sample. Needs ``bandwidth``; there is no inverse (see `Westwood`).

    Domain: p <= 0.02.

    Parameters
    ----------
    gain
        Of each filter, per sample.
    shortest
        Sample in s.

    Examples
    --------
    >>> round(float(WestwoodPlus().rate(1e-3, 0.04, bandwidth=8333.0)))
    8333
    """

    class State(NamedTuple):
        """Window and threshold in packets, shortest RTT in s, both filters in packets/s."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        base_rtt: float = math.inf
        sampled: float = 0.0
        estimate: float = 0.0

    class Params(NamedTuple):
        """Gain of each filter per sample, shortest sample in s."""

        gain: float = 0.125
        shortest: float = 0.05

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt",)
    capacity: ClassVar[str] = "needed"
    reference = references.TCP_WESTWOOD_C
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = FULL

    def check(self) -> None:
        """Check the ranges of the parameters."""
        one_number("gain", self.params.gain, above=0.0, at_most=1.0)
        one_number("shortest", self.params.shortest, at_least=0.0)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Reno's growth; the estimate follows the rate."""
        gain = q.gain * e.rtt / (maximum(e.rtt, q.shortest) * s.cwnd)
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / s.cwnd),
            base_rtt=minimum(s.base_rtt, e.rtt),
            sampled=s.sampled + gain * (s.cwnd / e.rtt - s.sampled),
            estimate=s.estimate + gain * (s.sampled - s.estimate),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Set the window to the bandwidth-delay product at the estimated rate."""
        held = maximum(2.0, s.estimate * minimum(s.base_rtt, e.rtt))
        return s._replace(cwnd=held, ssthresh=held)

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to the bandwidth-delay product."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, s.estimate * s.base_rtt))
