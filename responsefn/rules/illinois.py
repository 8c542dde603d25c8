"""TCP-Illinois: increase and decrease follow the queueing delay; by its paper and in Linux."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import extends, param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, after, cut, whole, whole_cut
from responsefn.rules.delay_based import QueueRule
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["Illinois", "LinuxIllinois"]

RENO_BELOW = 15.0  # Linux 2.6.22, net/ipv4/tcp_illinois.c: win_thresh = 15
"""Packets below which the window follows Reno."""


class Illinois(WindowRule):
    r"""TCP-Illinois (Liu, Basar and Srikant 2008): AIMD whose a and b follow the queueing delay.

    With the delay d and its maximum D, a = 10 for d <= D/100, falling as 1/(k + d) to 0.3 at D, and
    b = 1/8 for d <= D/10, rising linearly to 1/2 at 0.8 D. Below 15 packets it is Reno.

    Response at a fixed round-trip time: AIMD(10, 1/8)'s. With ``bandwidth`` the numerical
    cycle, derived here. It jumps where the peak equals the capacity of the path: any queue, however short,
    is the largest delay D while none was longer, and the decrease is 1/2 with a queue and 1/8 without. There
    cycles alternate, and over a range of p on both sides there is no inverse.

    The closed form holds while the window stays above Reno's region, p <= 0.29. From
    p = 8/(3 15^2) = 0.012 on, a flow that starts in that region never leaves it, since Reno's
    cycle lies within it. There are two responses, and `attractors` returns both.

    The recovery is SACK, as in Linux with its module tcp_illinois.c (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Examples
    --------
    >>> from responsefn import Illinois
    >>> [round(rate) for rate in Illinois().attractors(0.02, 0.1)]
    [612, 87]
    """

    @extends(QueueRule.State)
    class State(NamedTuple):
        """Window and threshold in packets, shortest and longest RTT in s."""

        top_rtt: float = 0.0

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rtt")
    capacity: ClassVar[str] = "optional"
    recovery: ClassVar[str] = "sack"
    reference = Reference(
        "S. Liu, T. Basar, R. Srikant, TCP-Illinois, Performance Evaluation 65, 2008; curves and constants as in "
        "Linux's tcp_illinois.c, whose authors are S. Hemminger and S. Liu",
        "primary",
        "10.1016/j.peva.2007.12.007",
    )
    domain = (0.0, 0.02)
    single_below: ClassVar[float] = 8.0 / (3.0 * 15.0**2)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd, where a follows the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        delay, max_delay = e.rtt - base, top - base
        share = 0.99 * max_delay * 0.3 / (10.0 - 0.3)
        falling = share * 10.0 / maximum(1e-300, share - 0.01 * max_delay + delay)
        above = where(delay <= 0.01 * max_delay, 10.0, falling)
        a = where(s.cwnd < RENO_BELOW, 1.0, above)
        step = where(s.cwnd < s.ssthresh, 1.0, a / s.cwnd)
        return s._replace(cwnd=s.cwnd + step, base_rtt=base, top_rtt=top)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease the window by the fraction b, which follows the delay."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        part = (e.rtt - base) / maximum(1e-300, top - base)
        b = minimum(0.5, maximum(0.125, 0.125 + 0.375 * (part - 0.1) / 0.7))
        window = (1.0 - where(s.cwnd < RENO_BELOW, 0.5, b)) * s.cwnd
        return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window), base_rtt=base, top_rtt=top)

    def formula(self) -> Formula:
        """Return the response of AIMD(10, 1/8)."""
        return _illinois()


@use_printed(())
def _illinois() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import a, b, p
    from responsefn.rules.classic import AIMD

    fast = AIMD().closed_form().subs({a: sp.Integer(10), b: sp.Rational(1, 8)})
    low = sp.Rational(7, 8) * fast.peak_window  # a multiple of 1/sqrt(p)
    return replace(fast, condition=p <= sp.simplify(low**2 * p) / RENO_BELOW**2)


WIN_THRESH = 15.0  # Linux 6.12, net/ipv4/tcp_illinois.c: win_thresh = 15
"""``win_thresh``: packets from which alpha and beta follow the delay."""
MICROSECONDS = 1e6  # the unit of rtt_us in Linux 6.12
"""Microseconds per second: a mean delay is a whole number of microseconds."""
# Linux 6.12, net/ipv4/tcp_illinois.c: ALPHA_MAX 10; ALPHA_MIN 3*ALPHA_SCALE/10
A_MAX, A_MIN = 10.0, 38 / 128
"""Packets per round trip without and with the largest delay; 0.3 in 128ths."""


class LinuxIllinois(LinuxRule):
    r"""Illinois as in Linux's tcp_illinois.c: by the mean delay of each round trip, with theta.

    alpha and beta are `Illinois`', set once per round trip by the mean delay of its ACKs, in 128ths and 64ths;
    after a delay above 1/100 of the largest, alpha comes back to 10 only after ``theta`` round trips below. A packet
    more takes ceil(cwnd / alpha) ACKs. Windows are whole packets at a loss.

    Domain: p <= 0.02.

    Parameters
    ----------
    theta
        Round trips of low delay before alpha is the largest again.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, whose parameters are ``theta`` and ``keeps_beta``: 1 for the
        mistake of that version, which keeps beta of the window instead of losing it.

    Examples
    --------
    >>> from responsefn.linux import LinuxIllinois
    >>> round(float(LinuxIllinois().rate(1e-3, 0.04))), round(float(LinuxIllinois(kernel="2.6.22").rate(1e-3, 0.04)))
    (6755, 6784)
    """

    @extends(Illinois.State)
    class State(NamedTuple):
        """Window, threshold; RTTs in s; ACKs left in the round, its samples and their sum; alpha, beta, low rounds.

        ``above`` is the file's rtt_above, 1 after a round trip of delay, and ``low`` its rtt_low,
        how many without delay came since then.
        """

        left: float = 0.0
        samples: float = 0.0
        total: float = 0.0
        a: float = A_MAX
        b: float = 0.5
        above: float = 0.0
        low: float = 0.0

    class Params(NamedTuple):
        """Round trips of low delay before the largest increase; version."""

        theta: float = param(
            5.0,
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_illinois.c: theta = 5",
        )
        kernel: str = KERNEL

    assigned: ClassVar[tuple[str, ...]] = ("base_rtt", "top_rtt", "left", "samples", "total", "a", "b", "above", "low")
    capacity: ClassVar[str] = "optional"
    reference = linux_file("tcp_illinois.c")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd with the a of the last round trip."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        samples, total, left = s.samples + 1.0, s.total + e.rtt, s.left - 1.0
        w = whole(s.cwnd)
        ended = left <= 0.0
        small = w < WIN_THRESH
        max_delay = top - base
        mean = math.floor(maximum(0.0, total / samples - base) * MICROSECONDS + 0.5) / MICROSECONDS
        quiet = mean <= 0.01 * max_delay
        share = 0.99 * max_delay
        part = share + (mean - 0.01 * max_delay) * (A_MAX - A_MIN) / A_MIN
        falling = math.floor(128.0 * A_MAX * share / maximum(1e-300, part) + 1e-9) / 128.0
        waits = (s.above > 0.0) & (s.low + 1.0 < q.theta)
        risen = where(quiet, where(waits, s.a, A_MAX), falling)
        part = mean / maximum(1e-300, max_delay)
        wide = math.floor(64.0 * (0.125 + 0.375 * (part - 0.1) / 0.7) + 1e-9) / 64.0
        wide = minimum(0.5, maximum(0.125, wide))
        a = where(ended, where(small, 1.0, risen), s.a)
        judged = ended & (w >= WIN_THRESH)
        above = where(quiet, where(waits, 1.0, 0.0), 1.0)
        low = where(quiet & (s.above > 0.0), where(waits, s.low + 1.0, 0.0), s.low)
        step = 1.0 / math.ceil(w / maximum(1.0 / 128.0, a))
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, step),
            base_rtt=base,
            top_rtt=top,
            left=where(ended, w, left),
            samples=where(ended, 0.0, samples),
            total=where(ended, 0.0, total),
            a=a,
            b=where(ended, where(small, 0.5, wide), s.b),
            above=where(judged, above, s.above),
            low=where(judged, low, s.low),
        )

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the fraction b, in whole packets."""
        w = whole(s.cwnd)
        return whole_cut(s, w - whole(s.b * w))

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the base values of a and b."""
        return s._replace(cwnd=1.0, left=0.0, samples=0.0, total=0.0, a=1.0, b=0.5, above=0.0, low=0.0)


@of_kernel(OLD)
class LinuxIllinois2622(LinuxIllinois):
    r"""Illinois as in Linux 2.6.22's tcp_illinois.c: by the mean delay of each round trip, with theta.

    alpha and beta are `Illinois`', set once per round trip by its mean delay; after a delay
    above 1/100 of the largest, alpha comes back to 10 only after ``theta`` round trips below. A packet more
    takes a whole number of ACKs, here half of one more than cwnd/alpha. The mean is over time; the file's is over ACKs.

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
    >>> from responsefn.linux import LinuxIllinois
    >>> round(float(LinuxIllinois(kernel="2.6.22").rate(1e-3, 0.04)))
    6784
    """

    @extends(Illinois.State)
    class State(NamedTuple):
        """Window, threshold; RTTs in s; sums and times of the round trip; alpha, beta, low rounds.

        ``above`` is the file's rtt_above, 1 after a round trip of delay, and ``low`` its rtt_low,
        how many without delay came since then.
        """

        began: float = 0.0
        last_time: float = 0.0
        waited: float = 0.0
        a: float = 10.0
        b: float = 0.5
        above: float = 0.0
        low: float = 0.0

    class Params(NamedTuple):
        """Round trips of low delay before the largest increase; a flag."""

        theta: float = param(
            5.0,
            "round trips",
            at_least=0.0,
            source="Linux 2.6.22, net/ipv4/tcp_illinois.c: theta = 5",
        )
        keeps_beta: int = param(
            0,
            choices=(0, 1),
            source="own choice: the cut of later versions; 2.6.22 keeps beta by mistake",
        )
        kernel: str = KERNEL

    assigned: ClassVar[tuple[str, ...]] = (
        "base_rtt",
        "top_rtt",
        "began",
        "last_time",
        "waited",
        "a",
        "b",
        "above",
        "low",
    )
    reference = linux_file("tcp_illinois.c", OLD)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or a / cwnd with the a of the last round trip."""
        base, top = minimum(s.base_rtt, e.rtt), maximum(s.top_rtt, e.rtt)
        waited = s.waited + (e.time - s.last_time) * (e.rtt - base)
        passed = e.time - s.began
        ended = passed >= e.rtt
        max_delay = top - base
        mean = where(ended, waited / maximum(1e-9, passed), 0.0)
        quiet = mean <= 0.01 * max_delay
        share = 0.99 * max_delay
        falling = 10.0 * share / maximum(1e-300, share + (mean - 0.01 * max_delay) * 9.7 / 0.3)
        waits = (s.above > 0.0) & (s.low + 1.0 < q.theta)
        risen = where(quiet, where(waits, s.a, 10.0), falling)
        a = where(ended, where(s.cwnd < 15.0, 1.0, risen), s.a)
        judged = ended & (s.cwnd >= 15.0)
        above = where(quiet, where(waits, 1.0, 0.0), 1.0)
        low = where(quiet & (s.above > 0.0), where(waits, s.low + 1.0, 0.0), s.low)
        part = mean / maximum(1e-300, max_delay)
        wide = minimum(0.5, maximum(0.125, 0.125 + 0.375 * (part - 0.1) / 0.7))
        b = where(ended, where(s.cwnd < 15.0, 0.5, wide), s.b)
        return s._replace(
            cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / (s.cwnd / a + 0.5)),
            base_rtt=base,
            top_rtt=top,
            began=where(ended, e.time, s.began),
            last_time=e.time,
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
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the base values of a and b."""
        return s._replace(cwnd=1.0, a=1.0, b=0.5, above=0.0, low=0.0)
