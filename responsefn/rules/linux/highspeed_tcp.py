"""HighSpeed TCP as in Linux's tcp_highspeed.c."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from responsefn.responses import references
from responsefn.rules.base import grow
from responsefn.rules.highspeed_tcp import DECREASES, table_row
from responsefn.rules.linux.versions import CURRENT, LinuxRule, whole, whole_cut

__all__ = ["LinuxHSTCP"]


class LinuxHSTCP(LinuxRule):
    r"""HighSpeed TCP as in Linux's tcp_highspeed.c: RFC 3649's table by its upper rows, per ACK.

    The row of a window is the first whose window is not below it: a(w) = row, b(w) that row's, cut in whole packets.
    a(w) / w is added per ACK, however many packets it acknowledges, so that delayed ACKs halve its growth above slow
    start (`counts_packets`).

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

    class Params(NamedTuple):
        """Version."""

        kernel: str = CURRENT

    older: ClassVar[dict[str, str]] = {}
    counts_packets: ClassVar[bool] = False
    reference = references.TCP_HIGHSPEED_6_12
    domain = (0.0, 0.02)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start, or the row's packets per window of ACKs."""
        w = whole(s.cwnd)
        return grow(s, (table_row(w) + 1.0) / w)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Lose the row's 256ths."""
        w = whole(s.cwnd)
        return whole_cut(s, w - whole(w * DECREASES[table_row(w)] / 256.0))

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet; the threshold is that of a loss."""
        w = whole(s.cwnd)
        kept = w - whole(w * DECREASES[table_row(w)] / 256.0)
        return s._replace(cwnd=1.0, ssthresh=max(2.0, kept))
