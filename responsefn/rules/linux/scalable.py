"""Scalable TCP as in Linux's tcp_scalable.c."""

from __future__ import annotations

from typing import Any, NamedTuple

from hopflow.functions import maximum, minimum
from hopflow.parameters import param
from responsefn.rules.base import WindowRule, cut, grow, whole, whole_cut
from responsefn.rules.linux.versions import KERNEL, OLD, LinuxRule, linux_file, of_kernel

__all__ = ["LinuxScalable"]


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

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the threshold is the window after a loss."""
        w = whole(s.cwnd)
        return s._replace(cwnd=1.0, ssthresh=maximum(2.0, w - whole(q.b * w)))


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

    on_timeout = staticmethod(WindowRule.on_timeout)
