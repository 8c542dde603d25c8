"""SEARCH: slow start that ends when deliveries fall behind the packets sent."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.functions import maximum
from hopflow.parameters import param, series
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.base import after
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["SEARCH"]

BINS = 10.0  # draft-chung-ccwg-search-09: W 10
"""Bins of a window."""
EXTRA_BINS = 15.0  # draft-chung-ccwg-search-09: EXTRA_BINS 15
"""Maximum round-trip time in bins."""


class SEARCH(DeliveryRule):
    r"""NewReno with the slow start of SEARCH (draft-chung-ccwg-search-09).

    Time is divided into bins of 0.35 of the first round-trip time (``factor`` of it in ten). At the end of each bin it
    compares the packets delivered in the last ten bins with the packets sent in ten bins one round trip earlier,
    interpolated between bins. In slow start these are equal. Once the path is full, fewer are delivered. If they are
    fewer by ``threshold`` of the packets sent, slow start ends and the window is the threshold. After more than ten
    bins without an ACK it restarts.

    Above slow start and at losses it is NewReno with selective ACKs. Details that the draft leaves to implementations,
    such as shifting of large numbers, are omitted.

    Parameters
    ----------
    factor
        Length of ten bins in first round-trip times, > 0.
    threshold
        Missing fraction of the packets sent that ends slow start, 0 < threshold < 1.

    Examples
    --------
    >>> from responsefn import SEARCH
    >>> SEARCH().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: SEARCH(): has no response function of a loss rate: it follows deliveries; ...
    """

    @series(range(26), sent=0.0)
    @series(range(11), acked=0.0)
    class State(NamedTuple):
        """Window and threshold in packets, packets lost, and bins.

        The width of a bin and the end of this one are in s. The number of bins so far is 0 before the first. Then the
        totals of packets delivered and sent at the end of each of the last bins, newest first.
        """

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf
        lost: float = 0.0
        width: float = 0.0
        bin_end: float = 0.0
        bins: float = 0.0

    class Params(NamedTuple):
        """Length of a window in first round-trip times, missing fraction."""

        factor: float = param(
            3.5,
            above=0.0,
            source="draft-chung-ccwg-search-09: WINDOW_SIZE_FACTOR 3.5",
        )
        threshold: float = param(
            0.26,
            above=0.0,
            below=1.0,
            source="draft-chung-ccwg-search-09: THRESH 0.26",
        )

    sets_initial_window: ClassVar[bool] = True
    reference = Reference(
        "J. Chung et al., SEARCH, draft-chung-ccwg-search-09, as in neqo-transport/src/cc/search.rs, "
        "github.com/mozilla/neqo",
        "primary",
    )
    dynamics: ClassVar[str] = r"W \mathrel{+}= 1,\ \text{loss: } W \gets W / 2"

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, to at least two packets."""
        window = maximum(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window)

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Slow start until deliveries fall behind, then growth by a packet per window."""
        s = s._replace(lost=s.lost + e.lost)
        if e.recovering > 0.0 or e.acked == 0.0:
            return s
        if s.ssthresh == math.inf:
            s = compare_deliveries(s, q, e)
        step = e.acked if s.cwnd < s.ssthresh else e.acked / s.cwnd
        return s._replace(cwnd=s.cwnd + step)


def compare_deliveries(s: Any, q: Any, e: Any) -> Any:
    """Update SEARCH after an ACK, and end slow start if deliveries fall behind."""
    sent = e.delivered + e.in_flight + s.lost
    if s.bins == 0.0:
        width = e.rtt * q.factor / BINS
        bin_end = e.time + width
        return s._replace(width=width, bin_end=bin_end, bins=1.0, acked_0=e.delivered, sent_0=sent)
    if e.time <= s.bin_end:
        return s
    passed = math.floor((e.time - s.bin_end) / s.width) + 1.0
    if passed > BINS:
        return s._replace(bins=0.0)
    for _ in range(int(passed)):
        s = shift_bins(s)
    bins = s.bins + passed
    bin_end = s.bin_end + passed * s.width
    s = s._replace(bins=bins, bin_end=bin_end, acked_0=e.delivered, sent_0=sent)
    back = e.rtt / s.width
    bins_back = math.floor(back)
    if s.bins - 1.0 - bins_back <= BINS or bins_back >= EXTRA_BINS:
        return s
    totals = (
        s.sent_0,
        s.sent_1,
        s.sent_2,
        s.sent_3,
        s.sent_4,
        s.sent_5,
        s.sent_6,
        s.sent_7,
        s.sent_8,
        s.sent_9,
        s.sent_10,
        s.sent_11,
        s.sent_12,
        s.sent_13,
        s.sent_14,
        s.sent_15,
        s.sent_16,
        s.sent_17,
        s.sent_18,
        s.sent_19,
        s.sent_20,
        s.sent_21,
        s.sent_22,
        s.sent_23,
        s.sent_24,
        s.sent_25,
    )
    first = int(bins_back)
    last = first + int(BINS)
    base = totals[first] - totals[last]
    earlier = totals[first + 1] - totals[last + 1]
    before = earlier * (back - bins_back) + base * (1.0 - (back - bins_back))
    now = s.acked_0 - s.acked_10
    if before > 0.0 and (before - now) / before >= q.threshold:
        return s._replace(ssthresh=s.cwnd)
    return s


def shift_bins(s: Any) -> Any:
    """Shift all totals by one bin, and repeat the newest."""
    s = s._replace(
        acked_1=s.acked_0,
        acked_2=s.acked_1,
        acked_3=s.acked_2,
        acked_4=s.acked_3,
        acked_5=s.acked_4,
        acked_6=s.acked_5,
        acked_7=s.acked_6,
        acked_8=s.acked_7,
        acked_9=s.acked_8,
        acked_10=s.acked_9,
    )
    old = s
    s = s._replace(
        sent_14=s.sent_13,
        sent_15=s.sent_14,
        sent_16=s.sent_15,
        sent_17=s.sent_16,
        sent_18=s.sent_17,
        sent_19=s.sent_18,
        sent_20=s.sent_19,
        sent_21=s.sent_20,
        sent_22=s.sent_21,
        sent_23=s.sent_22,
        sent_24=s.sent_23,
        sent_25=s.sent_24,
    )
    return s._replace(
        sent_1=old.sent_0,
        sent_2=old.sent_1,
        sent_3=old.sent_2,
        sent_4=old.sent_3,
        sent_5=old.sent_4,
        sent_6=old.sent_5,
        sent_7=old.sent_6,
        sent_8=old.sent_7,
        sent_9=old.sent_8,
        sent_10=old.sent_9,
        sent_11=old.sent_10,
        sent_12=old.sent_11,
        sent_13=old.sent_12,
    )
