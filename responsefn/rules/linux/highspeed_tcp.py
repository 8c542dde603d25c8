"""HighSpeed TCP as in Linux's tcp_highspeed.c."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow import where
from responsefn.rules.base import grow, whole, whole_cut
from responsefn.rules.highspeed_tcp import DECREASES, table_row
from responsefn.rules.linux.versions import KERNEL, LinuxRule, linux_file

__all__ = ["LinuxHSTCP"]


def _window_after_loss(s: Any) -> Any:
    """Return the window after a loss, by the row of the window; in slow start by the previous row."""
    w = whole(s.cwnd)
    row = where(s.cwnd < s.ssthresh, s.row, 1.0 * table_row(w))
    return w - whole(w * DECREASES[int(row)] / 256.0)


class LinuxHSTCP(LinuxRule):
    r"""HighSpeed TCP as in Linux's tcp_highspeed.c: RFC 3649's table by its upper rows, per ACK.

    The row of a window is the first whose window is not below it: a(w) is the row's number, b(w) the row's decrease, in
    whole packets. Each ACK adds a(w) / w, independently of the packets that it acknowledges, so that delayed ACKs halve
    the growth above slow start (`counts_packets`). The row is updated above slow start only, so that the loss that ends
    the first slow start uses the first row and halves the window.

    Domain: p <= 0.02.

    Parameters
    ----------
    kernel
        Version of the file: ``"6.12"``.

    Examples
    --------
    >>> from responsefn.linux import LinuxHSTCP
    >>> round(float(LinuxHSTCP().rate(1e-3, 0.04)))
    1516
    """

    class State(NamedTuple):
        """Window and threshold in packets, row of the last window above slow start."""

        cwnd: float = 1.0
        ssthresh: float = math.inf
        row: float = 0.0

    class Params(NamedTuple):
        """Version."""

        kernel: str = KERNEL

    older: ClassVar[dict[str, type[Any]]] = {}
    assigned: ClassVar[tuple[str, ...]] = ("row",)
    counts_packets: ClassVar[bool] = False
    reference = linux_file("tcp_highspeed.c")
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the row's packets per window of ACKs."""
        w = whole(s.cwnd)
        row = where(s.cwnd < s.ssthresh, s.row, 1.0 * table_row(w))
        return grow(s._replace(row=row), (row + 1.0) / w)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease by the row's 256ths."""
        return whole_cut(s, _window_after_loss(s))

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the threshold is the window after a loss."""
        return s._replace(cwnd=1.0, ssthresh=max(2.0, _window_after_loss(s)))
