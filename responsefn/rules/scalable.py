"""Scalable TCP: a constant increase per ACK; by its paper and in Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import minimum, where
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import Reference
from responsefn.rules.base import WindowRule, cut, grow, whole, whole_cut
from responsefn.rules.linux import KERNEL, OLD, LinuxRule, linux_file, of_kernel, timeout_after

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["LinuxScalable", "Scalable"]


class Scalable(WindowRule):
    r"""Scalable TCP (Kelly 2003): an increase by a packets per ACK at any window, and a decrease by b.

    Below the legacy window of 16 packets it is Reno. In a cycle of 1/p ACKs the window grows by
    a/p, so that the peak is W = a/(bp), the 0.08/p that is printed as *the* response for a = 0.01
    and b = 1/8. The time average, derived here, is smaller, as growth is exponential in time::

        T = a / (p ln(1/(1-b)) R) = 0.0749/(pR):  0.08/p is 6.8 % above it.

    The rate of ``form="published"`` is a/(bpR).

    Both forms hold while the window stays above the legacy window L, and while an ACK adds less
    than 2 % of it: p <= min(a/max(L, 2), 1/50) (1-b)/b, 0.0044 by default. Above, `rate` is the
    numerical cycle.

    The recovery is SACK, as in Linux with its module tcp_scalable.c (`WindowRule.recovery`).

    Domain: p <= 0.02.

    Parameters
    ----------
    a
        Increase per ACK in packets, > 0.
    b
        Fraction of the window lost at a loss, 0 < b <= 1. With b = 1 every cycle begins with Reno
        below the legacy window, and the response is the numerical cycle.
    form
        ``"cycle"`` or ``"published"``.

    Examples
    --------
    >>> from responsefn import Scalable
    >>> round(Scalable().rate(1e-3, rtt=0.1), 1), round(Scalable().rate(0.02, rtt=0.1), 1)
    (748.9, 86.5)
    """

    class Params(NamedTuple):
        """Increase per ACK in packets, decrease as a fraction, response function, legacy window."""

        a: float = param(0.01, above=0.0, source="Kelly 2003, Sect. 3.1: cwnd + 0.01 per ACK")
        b: float = param(0.125, above=0.0, at_most=1.0, source="Kelly 2003, Sect. 3.1: 0.125 cwnd")
        form: str = param(
            "cycle",
            choices=("cycle", "published"),
            source="own choice: the time average of the cycle",
        )
        legacy: float = param(
            16.0,
            "amount",
            at_least=1.0,
            source="Kelly 2003, Sect. 3.2: lwnd = 16",
        )

    recovery: ClassVar[str] = "sack"
    catalogue_rows = ({}, {"form": "published"})
    reference = Reference("T. Kelly, Scalable TCP, CCR 33(2), 2003", doi="10.1145/956981.956989")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, Reno below the legacy window, a above."""
        step = where(s.cwnd < q.legacy, 1.0 / s.cwnd, q.a)
        return grow(s, step)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by 1 - b, or by half below the legacy window."""
        window = where(s.cwnd < q.legacy, 0.5, 1.0 - q.b) * s.cwnd
        return cut(s, window)

    def formula(self) -> Formula | None:
        """Return rate, peak window and inverse, in p, R, a, b; None for the cycle with b = 1."""
        published = self.params.form == "published"
        return None if self.params.b == 1.0 and not published else _scalable(published)


@use_printed((False,), (True,))
def _scalable(published: bool) -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, PowerGrowth, R, T, a, b, p

    growth = PowerGrowth(sp.Integer(1), a, 1 - b)
    per_p = a / b if published else a / sp.log(1 / (1 - b))
    low = sp.Symbol("legacy", positive=True)
    steps = (p <= a * (1 - b) / (b * min_window) for min_window in (low, sp.Integer(2), 50 * a))
    return Formula(per_p / (p * R), a / (b * p), per_p / (T * R), growth, sp.And(*steps))


class LinuxScalable(LinuxRule):
    r"""Scalable TCP as in Linux's tcp_scalable.c: one packet per min(W, 100) ACKs, a decrease by 1/8.

    Below 100 packets it grows as Reno; there is no legacy window at which the cut changes. Windows are whole
    packets at a loss.

    Domain: p <= 0.02.

    Parameters
    ----------
    acks
        ACKs per packet of growth above a window of that many packets.
    b
        Fraction of the window lost at a loss.
    kernel
        Version of the file: ``"6.12"``, or ``"2.6.22"``, with 50 ACKs and one.

    Examples
    --------
    >>> from responsefn.linux import LinuxScalable
    >>> round(float(LinuxScalable().rate(1e-3, 0.04))), round(float(LinuxScalable(kernel="2.6.22").rate(1e-3, 0.04)))
    (2100, 3671)
    """

    class Params(NamedTuple):
        """ACKs per packet, decrease, version."""

        acks: float = param(
            100.0,
            above=0.0,
            source="Linux 6.12, net/ipv4/tcp_scalable.c: TCP_SCALABLE_AI_CNT 100",
        )
        b: float = param(
            0.125,
            above=0.0,
            below=1.0,
            source="Linux 6.12, net/ipv4/tcp_scalable.c: TCP_SCALABLE_MD_SCALE 3",
        )
        kernel: str = KERNEL

    reference = linux_file("tcp_scalable.c")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet after min(cwnd, acks) ACKs."""
        return grow(s, 1.0 / minimum(whole(s.cwnd), q.acks))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the fraction b, in whole packets."""
        w = whole(s.cwnd)
        return whole_cut(s, w - whole(q.b * w))

    on_timeout = timeout_after(on_loss)


@of_kernel(OLD)
class LinuxScalable2622(LinuxScalable):
    r"""Scalable TCP as in Linux 2.6.22's tcp_scalable.c: one packet per min(W, 50) ACKs and one, a cut by 1/8.

    Below 50 packets it grows nearly as Reno; there is no legacy window at which the cut changes.

    Domain: p <= 0.02.

    Parameters
    ----------
    acks
        ACKs but one per packet of growth above that window.
    b
        Fraction of the window lost at a loss.

    Examples
    --------
    >>> from responsefn.linux import LinuxScalable
    >>> round(float(LinuxScalable(kernel="2.6.22").rate(1e-3, 0.04)))
    3671
    """

    class Params(NamedTuple):
        """ACKs per packet, decrease."""

        acks: float = param(50.0, above=0.0, source="Linux 2.6.22, net/ipv4/tcp_scalable.c: TCP_SCALABLE_AI_CNT 50U")
        b: float = param(
            0.125,
            above=0.0,
            below=1.0,
            source="Linux 2.6.22, net/ipv4/tcp_scalable.c: TCP_SCALABLE_MD_SCALE 3",
        )
        kernel: str = KERNEL

    reference = linux_file("tcp_scalable.c", OLD)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or one packet when more than min(cwnd, acks) ACKs are counted."""
        return grow(s, 1.0 / (1.0 + minimum(s.cwnd, q.acks)))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Multiply the window by 1 - b."""
        return cut(s, (1.0 - q.b) * s.cwnd)

    on_timeout = timeout_after(on_loss)
