"""Prague: DCTCP's response to marks for the Internet, with less dependence on the round-trip time."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param
from hopflow.tcp_constants import INITIAL_WINDOW
from responsefn.response import Reference
from responsefn.rules.base import after
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["Prague"]


class Prague(DeliveryRule):
    r"""Prague (draft-briscoe-iccrg-prague-congestion-control-04): a Scalable sender for L4S.

    alpha averages the fraction of marked packets once per virtual round trip, the maximum of the round-trip time and
    ``virtual_rtt``. At a mark, at most once in that time, the window falls by alpha/2 of itself. It grows by
    (R / R_virt)^2 packets per round trip, so that flows with short round trips grow as with R_virt. A loss
    halves it. It is paced at a window per round trip, in slow start at two. Its packets carry ECT(1).

    The transition to the virtual round trip after 500 round trips (here from the start), and the fall-back for queues
    that mark as in RFC 3168, are omitted.

    Parameters
    ----------
    g
        Gain of alpha, 0 < g <= 1.
    virtual_rtt
        Minimum virtual round-trip time, s; 0: none.

    Examples
    --------
    >>> from responsefn import Prague
    >>> Prague().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Prague(): has no response function of a loss rate: it answers marks, as DCTCP does; ...
    """

    class State(NamedTuple):
        """Window in packets, pacing in packets/s; alpha; marks and packets of this virtual round trip.

        marked: whether there was a mark yet; srtt: smoothed round-trip time; next: time of the next average;
        until: time from which the window may fall again, s.
        """

        cwnd: float = INITIAL_WINDOW
        ssthresh: float = math.inf
        pacing_rate: float = 2.0 * INITIAL_WINDOW / 1e-3
        alpha: float = 1.0
        marks: float = 0.0
        packets: float = 0.0
        marked: float = 0.0
        srtt: float = 0.0
        next: float = 0.0
        until: float = 0.0

    class Params(NamedTuple):
        """Gain of alpha; minimum virtual round-trip time, s."""

        g: float = param(
            1 / 16,
            above=0.0,
            at_most=1.0,
            source="draft-briscoe-iccrg-prague-congestion-control-04, Sect. 2.3.2: g = 1/16",
        )
        virtual_rtt: float = param(
            0.025,
            "time",
            at_least=0.0,
            below=5.0,
            source="draft-briscoe-iccrg-prague-congestion-control-04, Sect. 2.3.4: 25 ms",
        )

    reference = Reference(
        "L4STeam/linux, net/ipv4/tcp_prague.c, version 0.6, and L4STeam/udp_prague, prague_cc.cpp (the authors' "
        "own); described in K. De Schepper et al., draft-briscoe-iccrg-prague-congestion-control-04, 2024",
        "primary",
    )
    signal: ClassVar[str] = "mark"
    why_no_rate: ClassVar[str] = "it answers marks, as DCTCP does"
    dynamics: ClassVar[str] = r"W \mathrel{+}= (R / R_v)^2 / W,\ \text{mark: } W \gets (1 - \tfrac{\alpha}{2}) W"

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Return the state unchanged: deliveries count marks."""
        return s

    @staticmethod
    def on_drop(s: Any, q: Any, e: Any) -> Any:
        """Halve the window, as Reno."""
        window = max(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window)

    on_loss = on_drop

    @staticmethod
    @after(on_loss)
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Slow start from one packet to half the window."""
        return s._replace(cwnd=1.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Average marks, update the window and the pacing rate."""
        srtt = e.rtt if s.srtt == 0.0 else s.srtt + 0.125 * (e.rtt - s.srtt)
        virtual = max(srtt, q.virtual_rtt)
        alpha, following = s.alpha, s.next
        marks, packets = s.marks + e.marks, s.packets + e.acked
        marked = 1.0 if e.marks > 0.0 else s.marked
        if e.time >= s.next:
            if marked > 0.0 and s.marked > 0.0 and packets > 0.0:
                alpha += q.g * (marks / packets - alpha)
            marks, packets, following = 0.0, 0.0, e.time + virtual
        cwnd, ssthresh, until = s.cwnd, s.ssthresh, s.until
        if e.marks > 0.0 and e.time >= until:
            cwnd = max(2.0, (1.0 - 0.5 * alpha) * cwnd)
            ssthresh = cwnd
            until = e.time + virtual
        grown = max(0.0, e.acked - e.marks)
        if e.recovering == 0.0:
            ratio = srtt / virtual
            cwnd += grown if cwnd < ssthresh else grown * ratio * ratio / cwnd
        gain = 2.0 if cwnd < 0.5 * ssthresh else 1.0
        return s._replace(
            cwnd=cwnd,
            ssthresh=ssthresh,
            pacing_rate=gain * cwnd / srtt,
            alpha=alpha,
            marks=marks,
            packets=packets,
            marked=marked,
            srtt=srtt,
            next=following,
            until=until,
        )
