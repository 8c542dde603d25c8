"""BIC: a binary search for the window of the last loss; by its paper and in Linux."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.checks import one_number
from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from hopflow.units import quantities
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, after, grow, whole
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["BIC", "LinuxBIC"]


class BIC(WindowRule):
    r"""BIC TCP (Xu, Harfoush and Rhee 2004): binary search for the window of the last loss.

    Per round trip the window takes half the distance to the last peak, at most ``largest`` and at
    least ``smallest`` packets. Above the peak the distance doubles, within the same bounds.
    Below ``low_window`` packets it is Reno. With fast convergence a peak below the previous peak is
    stored as (2 - b)/2 of it.

    Response: the fixed point of its cycle map, derived here, with S and s for ``largest`` and
    ``smallest``. The window returns to the last peak W by a line, an exponential and a line::

        1/p = b(2-b)/(2S) W^2 + 2 log(S/s) W - 2S + 2s    in  b W/S + 2 log(S/s)   round trips,
        1/p = 2 W (log(b W/(2s)) + 1 - b) + 2s            in  2 log(b W/(2s)) + 2  round trips

    where b W <= 2S (Lambert's W gives the peak), and Reno's where that is larger. These hold for a smooth
    window. A window that grows at whole ACKs takes log(i/(s(1-b)))/2 packets fewer, where i = min(S, b W/2) is
    the increase after the loss, and log(i/(s(1-2i/W)))/(2W) round trips fewer. Both
    terms are included: they are 1 % of the rate at W = 20 packets. The published form, AIMD with a = ``largest``, holds
    only while the search is a small part of the cycle. Fast convergence does not act at the fixed point, but the cycle
    approaches it from below, and is set back whenever it passes. Simulated cycles are below the closed form by 0.4 % at
    p = 1e-7, 1.3 % at 1e-6 and 4 to 6 % from 1e-5 to 1e-3. Without fast convergence a cycle ACK by ACK is within 0.01 %
    of the closed form, and within 0.2 % at windows of 4 packets (``low_window=0``, p = 0.03).

    The closed form holds while the whole cycle is above ``low_window`` packets or below it,
    p <= 0.0053 or p >= 0.014 by default. Between, only some cycles leave Reno's region, and `rate` is
    the numerical cycle.

    The recovery is SACK, as in Linux, whose default rule it was from 2005 on (RFC 9438, Sect. 1; tcp_bic.c).

    Domain: p <= 0.02.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss, 0 < b <= 1.
    largest, smallest
        Bounds of the increase per round trip in packets.
    low_window
        Packets below which it is Reno.
    fast_convergence
        1 or 0.

    Examples
    --------
    >>> from responsefn import BIC
    >>> round(BIC().rate(1e-4, rtt=0.1), 1)
    5464.8
    """

    class State(NamedTuple):
        """Window, threshold and remembered peak in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 1e9

    class Params(NamedTuple):
        """Decrease, bounds of the increase in packets, Reno's region in packets, a flag."""

        b: float = param(
            0.125,
            above=0.0,
            at_most=1.0,
            source="Xu, Harfoush and Rhee 2004, Sect. IV: beta = 0.125",
        )
        largest: float = param(
            32.0,
            "amount",
            source="Xu, Harfoush and Rhee 2004, Sect. IV: S_max = 32",
        )
        smallest: float = param(
            0.01,
            "amount",
            at_least=1e-09,
            source="Xu, Harfoush and Rhee 2004, Sect. IV: S_min = 0.01",
        )
        low_window: float = param(
            14.0,
            "amount",
            at_least=0.0,
            source="Xu, Harfoush and Rhee 2004, Sect. III: low_window = 14; tcp_bic.c, low_window",
        )
        fast_convergence: int = param(
            1,
            choices=(0, 1),
            source="Xu, Harfoush and Rhee 2004, Sect. III; tcp_bic.c, fast_convergence = 1",
        )

    recovery: ClassVar[str] = "sack"
    reference = Reference(
        "L. Xu, K. Harfoush, I. Rhee, Binary increase congestion control, INFOCOM 2004",
        doi="10.1109/INFCOM.2004.1354672",
    )
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= \min(S_{\max}, \max(S_{\min}, \tfrac12 (W_{\max} - W)))"
        r",\ \text{loss: } W \leftarrow (1 - b)\, W"
    )
    domain = (0.0, 0.02)

    def check(self) -> None:
        """Check the ranges of the parameters."""
        hint = "smallest <= largest"
        one_number("largest", self.params.largest, at_least=self.params.smallest, hint=hint)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        distance = where(s.cwnd < s.peak, 0.5 * (s.peak - s.cwnd), s.cwnd - s.peak)
        search = minimum(q.largest, maximum(q.smallest, distance))
        step = where(s.cwnd < q.low_window, 1.0, search) / s.cwnd
        return grow(s, step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Store the peak, and multiply the window by 1 - b (half in Reno's region)."""
        lower = where(s.cwnd < s.peak, q.fast_convergence, 0.0)
        window = where(s.cwnd < q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        return s._replace(
            cwnd=maximum(1.0, window),
            ssthresh=maximum(2.0, window),
            peak=s.cwnd * (1.0 - 0.5 * q.b * lower),
        )

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, 0.5 * s.cwnd), peak=s.cwnd)

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return b, S_max, S_min and W_low."""
        q = self.params
        return {"b": q.b, "S_max": q.largest, "S_min": q.smallest, "W_low": q.low_window}

    def formula(self) -> Formula | None:
        """Return rate and peak window in p, R, b, S_max, S_min, W_low.

        None if a loss leaves nothing, or if for large p the cycle has no search.
        """
        b, s = self.params.b, self.params.smallest
        return None if b == 1.0 or 2.0 * s * (2.0 - b) > b else _search(self.params.low_window > 0)


@use_printed((False,), (True,))
def _search(reno: bool) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, b, p
    from responsefn.rules.classic import Reno

    S, s, low = sp.symbols("S_max S_min W_low", positive=True)
    d, W = sp.symbols("d W", positive=True)  # distance from the last peak, and that peak

    def climb(step: sp.Expr, start: sp.Expr, end: sp.Expr) -> sp.Matrix:
        """Return packets and round trips between two distances."""
        amounts = sp.Matrix([W - d, 1])
        return amounts.applyfunc(lambda x: sp.integrate(sp.expand(x / step), (d, end, start)))

    near = climb(d / 2, b * W, 2 * s) + climb(s, 2 * s, sp.Integer(0))
    far = climb(S, b * W, 2 * S) + climb(d / 2, 2 * S, 2 * s) + climb(s, 2 * s, sp.Integer(0))
    # A smooth window takes longer than one that grows at whole ACKs. Where an ACK adds f(w), n ACKs are the integral of
    # 1/f + f'/(2f) (Euler and Maclaurin): log(f(end) / f(start)) / 2 fewer packets. The sum of 1/w over them is the
    # integral of (1/f + f'/(2f))/w, and half of 1/w at the start less half of that at the end: in the search, where
    # w f is d/2, log(d(start) (1 - d(end)/W) / (d(end) (1 - d(start)/W))) / (2W) fewer round trips.
    # 1 - 2s/W is taken for 1.
    saved_far = sp.log(S / (s * (1 - b))) / 2
    linear, square = 2 * sp.log(S / s), b * (2 - b) / (2 * S)
    packets = 1 / p + saved_far + 2 * (S - s)
    high = 2 * packets / (linear + sp.sqrt(linear**2 + 4 * square * packets))
    # log(b W/(2s)) + 1 - b is Lambert's W of this much of half of the packets
    scale = b * sp.exp(1 - b) / (2 * s)
    first = (1 / p + saved_far) / 2 - s
    # in the search it depends on W as log(W)/2: one step, from its value where both branches meet
    saved = (sp.LambertW(scale * first) - 1 + b - sp.log(1 - b)) / 2
    half = (1 / p + saved) / 2 - s
    lambert = sp.LambertW(scale * half)
    lambert_peak = half / lambert
    rounds = b * high / S + linear, 2 * lambert + 2 * b
    residuals = [
        *(far.subs(W, high) - sp.Matrix([1 / p + saved_far, rounds[0]])),
        *(near.subs(W, lambert_peak) - sp.Matrix([1 / p + saved, rounds[1]])),
    ]
    if any(abs(x.subs({p: 1e-4, b: 0.2, S: 30, s: 0.02}).evalf(30)) > 1e-9 for x in residuals):
        raise ArithmeticError("the closed forms are not those of the cycle")
    # squared, so that the unused branch is a number as well
    saved_rounds = (linear - sp.log((1 - 2 * S / high) ** 2)) / (4 * high), saved / lambert_peak
    straight = p <= 1 / (near[0].subs(W, 2 * S / b) - saved_far)
    peaks = [(high, straight), (lambert_peak, sp.Not(straight))]
    windows = [
        (1 / (p * (all_ - fewer)), if_) for all_, fewer, (_, if_) in zip(rounds, saved_rounds, peaks, strict=True)
    ]
    condition = (1 - b) * sp.Piecewise(*peaks) >= 2
    if reno:
        reno_window, top = sp.sqrt(3 / (2 * p)), Reno().closed_form().peak_window
        met = [sp.And(if_, w > reno_window, x > low) for (w, if_), (x, _) in zip(windows, peaks, strict=True)]
        windows = [
            *((w, if_) for (w, _), if_ in zip(windows, met, strict=True)),
            (reno_window, True),
        ]
        after_loss = (1 - b) * sp.Piecewise(*peaks)
        searching, reno_only = sp.Or(*met), sp.And(top <= low, p <= sp.Rational(1, 6))
        condition = sp.Or(
            sp.And(searching, after_loss >= low, after_loss >= 2),
            sp.And(sp.Not(searching), reno_only),
        )
        peaks = [*((x, if_) for (x, _), if_ in zip(peaks, met, strict=True)), (top, True)]
    return Formula(sp.Piecewise(*windows) / R, sp.Piecewise(*peaks), condition=condition)


class LinuxBIC(LinuxRule):
    r"""BIC as in Linux's tcp_bic.c: the window moves a quarter of the distance to the last peak, smoothed near it.

    Differences from `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it;
    one packet in ``smooth`` / 4 round trips if that is at most one packet; a decrease by 0.2; an increase
    of at most 16 packets; a whole number of ACKs per packet of growth. The module divides that number by its
    estimate of packets per ACK, which begins at 2 and stays at 31/16 although every packet is acknowledged: above
    Reno's region it grows 31/16 times as fast. Windows are whole packets at a loss.

    Domain: p <= 0.02.

    Parameters
    ----------
    b
        Fraction of the window lost at a loss (205/1024).
    largest
        Maximum increase in packets per round trip.
    smooth
        ``smooth_part``: round trips times 4 per packet near the last peak; 20, in ns-3 5.
    low_window
        Packets up to which it is Reno.
    per_ack
        Estimate of the packets that an ACK acknowledges; 31/16 in Linux, 1 in ns-3.
    remembered
        Factor for the stored peak if the window is below the last peak; 1843/2048, in ns-3 0.8.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, where a packet takes one more ACK and windows at a loss keep
        their fraction.

    Examples
    --------
    >>> from responsefn.linux import LinuxBIC
    >>> round(float(LinuxBIC().rate(1e-3, 0.04))), round(float(LinuxBIC(kernel="2.6.22").rate(1e-3, 0.04)))
    (1218, 1177)
    """

    class State(NamedTuple):
        """Window, threshold and remembered peak in packets."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        peak: float = 0.0

    class Params(NamedTuple):
        """Decrease, largest increase, smooth_part, Reno's region in packets, packets per ACK, memory, version."""

        b: float = param(
            205 / 1024,
            above=0.0,
            below=1.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: beta = 819, BICTCP_BETA_SCALE 1024",
        )
        largest: float = param(
            16.0,
            "amount",
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: max_increment = 16",
        )
        smooth: float = param(
            20.0,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: smooth_part = 20",
        )
        low_window: float = param(
            14.0,
            "amount",
            at_least=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: low_window = 14",
        )
        per_ack: float = param(
            31 / 16,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: delayed_ack, 2 << ACK_RATIO_SHIFT less 1, at rest with an ACK per "
            "packet",
        )
        remembered: float = param(
            1843 / 2048,
            above=0.0,
            at_most=1.0,
            source="Linux 6.12, net/ipv4/tcp_bic.c: (BICTCP_BETA_SCALE + beta) / (2 BICTCP_BETA_SCALE)",
        )
        kernel: str = KERNEL

    reference = linux_file("tcp_bic.c")
    domain = (0.0, 0.02)
    monotone = False
    why_no_inverse = "its cycles alternate over wide ranges of p, where its rate jumps"

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno's region, or the search."""
        w = whole(s.cwnd)
        distance = math.floor(0.25 * (s.peak - w))  # whole packets: 1 is a distance below 8
        beyond = w - s.peak
        slowly = math.floor(0.25 * w * q.smooth)
        steadily = math.floor(w / q.largest)
        searching = where(
            distance > q.largest,
            steadily,
            where(distance <= 1.0, slowly, math.floor(w / maximum(1.0, distance))),
        )
        probing = where(
            beyond < 4.0,
            slowly,
            where(beyond < 3.0 * q.largest, math.floor(3.0 * w / maximum(1.0, beyond)), steadily),
        )
        acks = where(w < s.peak, searching, probing)
        acks = where(s.peak == 0.0, minimum(acks, 20.0), acks)
        acks = where(w <= q.low_window, w, maximum(1.0, math.floor(acks / q.per_ack)))
        return s._replace(cwnd=s.cwnd + where(s.cwnd < s.ssthresh, 1.0, 1.0 / acks))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Keep 1 - b (half in Reno's region); remember less of a peak below the last one."""
        w = whole(s.cwnd)
        window = maximum(2.0, whole(where(w <= q.low_window, 0.5, 1.0 - q.b) * w))
        peak = where(w < s.peak, whole(q.remembered * w), w)
        return s._replace(cwnd=window, ssthresh=window, peak=peak)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; reset the peak."""
        return s._replace(cwnd=1.0, peak=0.0)


@quantities(largest="amount", low_window="amount")
@of_kernel(OLD)
class LinuxBIC2622(LinuxBIC):
    r"""BIC as in Linux 2.6.22's tcp_bic.c: a quarter of the way to the last peak, smoothed near it.

    Against `BIC`: a quarter of the distance per round trip, in whole packets, instead of half of it; one packet in
    ``smooth`` / 4 round trips where that is one packet or none; a cut by 0.2; an increase of at most 16 packets; each
    packet more takes a whole number of ACKs and one, here half a one more. The module divides it by its estimate of
    packets per ACK, which begins at 2 in sixteenths; d <- d - floor(d/16) + 1 reduces 32 to 31, where it stays although
    every packet is acknowledged: above Reno's region it grows 31/16 times as fast.

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
        window = where(s.cwnd <= q.low_window, 0.5, 1.0 - q.b) * s.cwnd
        peak = where(s.cwnd < s.peak, q.remembered, 1.0) * s.cwnd
        return s._replace(cwnd=maximum(1.0, window), ssthresh=maximum(2.0, window), peak=peak)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the peak is forgotten."""
        return s._replace(cwnd=1.0, peak=0.0)
