"""HighSpeed TCP: increase and decrease by the window; by RFC 3649 and in Linux."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from hopflow.functions import maximum, minimum, where
from hopflow.parameters import param
from responsefn.closed_forms.printed import use_printed
from responsefn.response import rfc
from responsefn.rules.base import WindowRule, cut, grow, whole, whole_cut
from responsefn.rules.linux import KERNEL, LinuxRule, linux_file, timeout_after

if TYPE_CHECKING:
    from responsefn.closed_forms.symbolic import Formula

__all__ = ["HSTCP", "LinuxHSTCP"]

# RFC 3649, Sect. 5: Low_Window = 38; High_Window = 83000; RFC 3649, Sect. 7: High_Decrease = 0.1
LOW_WINDOW, HIGH_WINDOW, HIGH_DECREASE = 38.0, 83000.0, 0.1
"""RFC 3649, Sect. 5: the windows at p = 10^-3 and 10^-7 in packets, and b at the upper one."""

# RFC 3649, Appendix B: a(w) reaches 1, 2, 3 ... at these windows, where b(w) is these 256ths
# (also in validation/published, with the source; a test compares them)
WINDOWS = (
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399,
    3778, 4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358,
    12082, 12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230,
    24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707,
    44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517,
    84035, 89053,
)  # fmt: skip
DECREASES = (
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60,
    59, 58, 57, 56, 55, 54, 53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41,
    41, 40, 39, 39, 38, 38, 37, 36, 36, 35, 35, 34, 33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27,
    26, 26, 25, 24,
)  # fmt: skip


def hstcp_decrease(w: Any) -> Any:
    """Return b(w) of RFC 3649, 1/2 at 38 packets and 0.1 at 83000, linear in log w.

    Above the table's last window it is constant, since the line would become negative.
    """
    inside = minimum(maximum(w, LOW_WINDOW), WINDOWS[-1])
    share = math.log(inside / LOW_WINDOW) / math.log(HIGH_WINDOW / LOW_WINDOW)
    return 0.5 + (HIGH_DECREASE - 0.5) * share


def hstcp_increase(w: Any) -> Any:
    """Return a(w) of RFC 3649.

    With this increase and b(w), the window is w at the loss rate p(w) = 0.078/w^1.2.
    """
    b = hstcp_decrease(w)
    return maximum(1.0, where(w <= LOW_WINDOW, 1.0, 0.078 * w**0.8 * 2.0 * b / (2.0 - b)))


def table_row(w: Any) -> Any:
    """Return the row of RFC 3649's table that a window uses: the first that is not below it."""
    last = len(WINDOWS) - 1
    row = 0
    for step in (64, 32, 16, 8, 4, 2, 1):
        row += where(w > WINDOWS[min(row + step - 1, last)], step, 0)
    return min(row, last)


class HSTCP(WindowRule):
    r"""HighSpeed TCP (RFC 3649): Reno up to 38 packets, then less cautious the larger the window.

    Published response: w = 38 (p / 10^-3)^-0.835 for p < 10^-3, a straight line on logarithmic axes
    through (10^-3, 38) and (10^-7, 83000), printed as 0.12/p^0.835, and Reno's above. It is the
    design from which a(w) = w^2 p(w) 2 b(w)/(2 - b(w)) follows, but not the response of a
    cycle of constant p; ``form="cycle"`` is the numerical solution of that cycle, derived here.
    With ``table=1`` the dynamics use the integer table of Appendix B, whose a is up to
    one packet larger than the formula (twice it just above 38 packets), and the cycle is always
    numerical.

    Outside of 10^-7 <= p <= 1/6, where the RFC gives no line and Reno's cycle ends, `rate` is the
    numerical cycle.

    The recovery is SACK, as in Linux with its module tcp_highspeed.c (`WindowRule.recovery`).

    Domain: p from 10^-7 to 10^-3.

    Parameters
    ----------
    form
        ``"published"`` or ``"cycle"``.
    table
        1 for the integer table, 0 for the formulas.

    Examples
    --------
    >>> from responsefn import HSTCP
    >>> round(HSTCP().mean_window(1e-3), 3), round(HSTCP().mean_window(1e-7))
    (38.73, 83000)
    """

    class Params(NamedTuple):
        """Response function; whether a and b come from the integer table (1) or the formulas (0)."""

        form: str = param(
            "published",
            choices=("published", "cycle"),
            source="RFC 3649, Sect. 5: the response function that it prescribes",
        )
        table: int = param(
            0,
            choices=(0, 1),
            source="own choice: the formulas of RFC 3649, Sect. 7, and not the integer table of Appendix B",
        )

    recovery: ClassVar[str] = "sack"
    catalogue_rows = ({}, {"form": "cycle"}, {"table": 1})
    reference = rfc(
        3649,
        "S. Floyd, HighSpeed TCP for large congestion windows, 2003",
        "Sect. 5, table of Appendix B",
    )
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= a(W)"
        r",\ \text{loss: } W \leftarrow (1 - b(W))\, W"
    )
    domain = (1e-7, 1e-3)

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        """Slow start below the threshold, a(cwnd) / cwnd above."""
        a = where(q.table > 0, table_row(s.cwnd) + 1.0, hstcp_increase(s.cwnd))
        return grow(s, a / s.cwnd)

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Decrease the window by the fraction b(cwnd)."""
        b = where(q.table > 0, DECREASES[table_row(s.cwnd)] / 256.0, hstcp_decrease(s.cwnd))
        return cut(s, (1.0 - b) * s.cwnd)

    def formula(self) -> Formula | None:
        """Return the published response, None for the cycle or the table."""
        published = self.params.form == "published" and not self.params.table
        return _highspeed() if published else None


@use_printed(())
def _highspeed() -> Formula:
    import sympy as sp

    from responsefn.closed_forms.symbolic import Formula, R, p

    low_p, slope = (
        sp.Rational(1, 1000),
        sp.log(sp.Rational(83000, 38)) / sp.log(sp.Rational(1, 10000)),
    )
    fast = 38 * (p / low_p) ** sp.Float(slope.evalf(30), 30)
    reno = sp.sqrt(3 / (2 * p))
    # the two branches do not meet: 38 against 38.7 at p = 10^-3; the larger keeps it monotone
    window = sp.Piecewise((fast, fast > reno), (reno, True))
    return Formula(window / R, condition=sp.And(p >= 1e-7, p <= sp.Rational(1, 6)))


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
        """Decrease by the 256ths of the window's row, in slow start of the previous row."""
        w = whole(s.cwnd)
        row = where(s.cwnd < s.ssthresh, s.row, 1.0 * table_row(w))
        return whole_cut(s, w - whole(w * DECREASES[int(row)] / 256.0))

    on_timeout = timeout_after(on_loss)
