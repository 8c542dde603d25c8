"""NSCC: the window of Ultra Ethernet's senders, controlled by queueing delay and marks."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.checks import is_endless, one_number
from hopflow.parameters import param
from hopflow.units import PacketUnits, readable_text
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import FULL_PATH, MAX_WINDOW_RATIO, DeliveryRule

__all__ = ["NSCC"]

REFERENCE_RTT = 12e-6  # uet-htsim, htsim/sim/uec.cpp: _reference_network_rtt = 12 us
"""Base round-trip time of the network for which the increases are defined, s."""
CLEAR_DELAY = 1e-6  # uet-htsim, htsim/sim/uec.cpp, fast_increase: delay < 1 us
"""Queueing delay below which a path is empty, s."""
UNMARKED_DELAY = 0.25  # uet-htsim, htsim/sim/uec.cpp, update_delay: _base_rtt * 0.25
"""Sample of the average delay for an unmarked packet beyond the target, in base round-trip times."""


class NSCC(DeliveryRule):
    r"""NSCC, the network-signalled congestion control of Ultra Ethernet Transport: a window by delay and ECN.

    The queueing delay is the round-trip time less the base round-trip time. It and the mark of a packet give four
    cases:

    - no mark, delay below the target: the window W grows in proportion to the distance from the target (proportional
      increase), or by a fixed fraction of the acknowledged packets after a whole window on an empty path (fast
      increase)
    - no mark, delay from the target on: W grows by the same amount for all flows (fair increase)
    - a mark, delay below the target: W stays (another path may be free)
    - a mark, delay from the target on: W falls, at most once per base round trip, by the average delay (multiplicative
      decrease)

    With a = bdp / base_bdp, b = t / 12 us, the target t, the delay d and its average d', per round trip:

    .. math::

        \Delta W = \alpha a b (1 - d / t),\quad \Delta W = f_i a,\quad
        W \gets W \max\Bigl(m, 1 - \gamma \frac{d' - t}{d'}\Bigr).

    Increases are collected and added every ``adjust_bytes`` packets or ``adjust_period``, the latter with ``eta``.
    Quick adapt ends each period of a base round trip and a target: after a loss, or a delay of more than
    ``qa_threshold`` targets, W becomes the packets delivered in the period, if these are few. A lost packet is treated
    as trimmed by a switch: it reduces W by a packet and triggers quick adapt. A flow begins with the largest window.

    Penalties of receivers, the choice of paths by marks, and faster recovery (SLEEK) are not implemented. Selective
    ACKs detect losses on one path. Packets of sprayed flows overtake each other: use
    ``dfcmodel.recoveries.RackRecovery(reordering=4, reordering_seen=1)``, which declares a packet lost when it is four
    round trips late. The consortium's simulator waits for its timer.

    Parameters
    ----------
    base_rtt
        Longest round-trip time of the network without queues, s; a shorter measured time replaces it.
    bdp
        Packets of a base round trip at the rate of the sender's interface. The default is for 100 Gb/s: ``base_bdp``
        times ``base_rtt`` over 12 us.
    base_bdp
        Packets of 12 us at 100 Gb/s, for which the increases are defined: 150,000 bytes.
    target_qdelay
        Target of the queueing delay, s. The default is ``base_rtt``; with trimming switches use 3/4 of it.
    alpha, fi, eta
        Packets per round trip of proportional increase without delay (times b), of fair increase (f_i), and per
        ``adjust_period`` always; times a.
    fi_scale
        Fast increase: packets per packet acknowledged, times a.
    gamma, max_md_jump
        Gain of the decrease; m, its minimum factor.
    max_wnd
        Largest and initial window over the bandwidth-delay product.
    qa_gate, qa_threshold
        Quick adapt acts below 1 / 2^qa_gate of the largest window, inf: never; delay that triggers it, targets, inf:
        none.
    adjust_bytes, adjust_period
        Packets and base round-trip times after which increases are added.
    delay_alpha
        Weight of an ACK in the average delay.

    The text of the specification was not available. The algorithm and ``delay_alpha`` follow the consortium's
    simulator. Names and defaults of its Sect. 3.6.13.3 and Table 3-82 follow the quotations in another simulator. Both
    agree.

    Examples
    --------
    >>> from responsefn import NSCC
    >>> rule = NSCC(base_rtt=8e-6)
    >>> round(rule.bdp, 3), rule.target_qdelay, round(rule.start(8e-6).cwnd, 3)
    (24.414, 8e-06, 36.621)
    >>> rule.rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: NSCC(base_rtt=8e-06, ...): has no response function of a loss rate: its window follows delay ...
    """

    class State(NamedTuple):
        """Window in packets; times in s; packets.

        - ``min_rtt``: base round-trip time
        - ``delay``: average queueing delay
        - ``increase``: pending increase times the window
        - ``received``: packets since increases were added
        - ``achieved``: packets in this period of quick adapt
        - ``clear``: packets on an empty path in a row
        - ``fast``: 1 in fast increase
        - ``lossy``: 1 after a loss without quick adapt
        - ``period``: end of this period of quick adapt
        - ``adapted``: 1 if quick adapt processed this ACK
        - ``unheeded``: packets whose marks quick adapt ignores
        - ``ignored``: received packets since then
        - ``adjusted``, ``decreased``: times of the last adjustment and the last decrease
        """

        cwnd: float = 1.0
        ssthresh: float = math.inf
        min_rtt: float = math.inf
        delay: float = 0.0
        increase: float = 0.0
        received: float = 0.0
        achieved: float = 0.0
        clear: float = 0.0
        fast: float = 0.0
        lossy: float = 0.0
        period: float = 0.0
        adapted: float = 0.0
        unheeded: float = 0.0
        ignored: float = 0.0
        adjusted: float = -math.inf
        decreased: float = -math.inf

    class Params(NamedTuple):
        """Times in s; packets; parts."""

        base_rtt: float = param(
            12e-6,
            "time",
            above=0.0,
            below=5.0,
            source="uet-htsim, htsim/sim/uec.cpp: _reference_network_rtt = 12 us",
        )
        bdp: float = param(
            PacketUnits(150e3 / 4096, 4096.0, 150e3),
            "amount",
            above=0.0,
            source="own choice: 100 Gb/s, 12 us, packets of 4096 bytes",
        )
        base_bdp: float = param(
            PacketUnits(150e3 / 4096, 4096.0, 150e3),
            "amount",
            above=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _reference_network_linkspeed = 100 Gb/s times 12 us; packets of 4096 "
            "bytes",
        )
        target_qdelay: float = param(
            12e-6,
            "time",
            above=0.0,
            below=5.0,
            source="uet-htsim, htsim/sim/uec.cpp: _target_Qdelay is the network's round-trip time without trimming",
        )
        alpha: float = param(
            4.0,
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _alpha = 4.0 * _mss * a * b / _target_Qdelay",
        )
        fi: float = param(
            5.0,
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _fi = 5 * _mss * a",
        )
        eta: float = param(
            0.15,
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _eta = 0.15 * _mss * a",
        )
        fi_scale: float = param(
            0.25,
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _fi_scale = .25 * a",
        )
        gamma: float = param(
            0.8,
            at_least=0.0,
            at_most=1.0,
            source="uet-htsim, htsim/sim/uec.cpp: _gamma = 0.8",
        )
        max_md_jump: float = param(
            0.5,
            above=0.0,
            at_most=1.0,
            source="uet-htsim, htsim/sim/uec.cpp, multiplicative_decrease: at least 0.5",
        )
        max_wnd: float = param(
            1.5,
            above=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: setMaxWnd(1.5 * _bdp)",
        )
        qa_gate: float = param(3.0, source="uet-htsim, htsim/sim/uec.cpp: _qa_gate = 3")
        qa_threshold: float = param(
            4.0,
            source="uet-htsim, htsim/sim/uec.cpp: _qa_threshold = 4 * _target_Qdelay",
        )
        adjust_bytes: float = param(
            8.0,
            "amount",
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _adjust_bytes_threshold = 8 * _mtu",
        )
        adjust_period: float = param(
            1.0,
            at_least=0.0,
            source="uet-htsim, htsim/sim/uec.cpp: _adjust_period_threshold = _network_rtt",
        )
        delay_alpha: float = param(
            0.0125,
            at_least=0.0,
            at_most=1.0,
            source="uet-htsim, htsim/sim/uec.cpp: _delay_alpha = 0.0125",
        )

    reference = Reference(
        "Ultra Ethernet Consortium, htsim model of UET (ultraethernet/uet-htsim, htsim/sim/uec.cpp, commit 40ccb05); "
        "Ultra Ethernet specification 1.0.3, Sect. 3.6.13.3 and Table 3-82, as quoted in Radonux/asteria-ns3 "
        "(src/point-to-point/model/rdma-hw.cc and nscc-window.cc, commit 368ce73)"
    )
    signal: ClassVar[str] = "mark"
    why_no_rate: ClassVar[str] = "its window follows delay and marks"
    dynamics: ClassVar[str] = (
        r"W \mathrel{+}= \alpha a b (1 - d / t),\ \text{late: } W \mathrel{+}= f_i a,\ "
        r"\text{late, mark: } W \gets W (1 - \gamma (d' - t) / d')"
    )

    def replace(self, **changes: Any) -> NSCC:
        """Return a copy with other parameters.

        Parameters that follow from ``base_rtt`` and were not given are derived again.
        """
        parameters = {name: getattr(self, name) for name in self._given} | changes
        return NSCC(**parameters)

    def check(self) -> None:
        """Check the ranges of the parameters, and derive parameters that were not given."""
        q = self.params
        following = {"bdp": q.base_bdp * q.base_rtt / REFERENCE_RTT, "target_qdelay": q.base_rtt}
        derived = {name: value for name, value in following.items() if name not in self._given}
        q = q._replace(**derived)
        object.__setattr__(self, "params", q)
        for name in derived:
            self.declared[name].check(name, getattr(q, name))
        for name in ("qa_gate", "qa_threshold"):
            limit: Any = getattr(q, name)
            if not is_endless(limit):
                one_number(name, limit, at_least=0.0, hint="or inf")

    def path_mismatch(self, line_rate: float, rtt: float) -> str:
        """Name a base round-trip time below that of the path, and a window that cannot fill it, or is far too large."""
        q = self.params
        without_queues = readable_text(rtt, "s")
        if rtt - q.base_rtt >= q.target_qdelay:
            return (
                f"base_rtt = {readable_text(q.base_rtt, 's')} is below the round-trip time without queues, "
                f"{without_queues}, by the target of the queueing delay or more: empty queues seem to be long"
            )
        in_flight = line_rate * rtt
        window = q.max_wnd * float(q.bdp)
        if window < FULL_PATH * in_flight:
            return (
                f"windows have at most {window:.4g} packets, max_wnd times bdp, and hold rates below "
                f"{window / in_flight:.0%} of the slowest link: a round trip of {without_queues} takes {in_flight:.4g}"
            )
        if window > MAX_WINDOW_RATIO * in_flight:
            return (
                f"flows begin with {window:.4g} packets, max_wnd times bdp, of which a round trip of {without_queues} "
                f"takes {in_flight:.4g}: base_rtt is that of the network, and bdp a number of packets, or a string "
                "such as '150kB'"
            )
        return ""

    def start(self, rtt: float, bandwidth: float | None = None) -> Any:
        """Return the state of a new connection, with the largest window."""
        q = self.params
        state = super().start(rtt, bandwidth)._replace(min_rtt=q.base_rtt)
        return state._replace(cwnd=max(1.0, q.max_wnd * float(q.bdp)))

    @staticmethod
    def on_mark(s: Any, q: Any, e: Any) -> Any:
        """Return the state unchanged: deliveries report marks."""
        return s

    @staticmethod
    def on_drop(s: Any, q: Any, e: Any) -> Any:
        """Return the state unchanged: deliveries report losses."""
        return s

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Process losses, then the ACK."""
        s = s._replace(adapted=0.0)
        if e.acked > 0.0:
            s = count_acked(s, q, e)
        if e.lost > 0.0:
            s = answer_losses(s, q, e)
        if e.acked == 0.0 or s.adapted > 0.0:
            return s
        delay = max(0.0, e.rtt - s.min_rtt)
        s = quick_adapt(s, q, e, delay > q.qa_threshold * q.target_qdelay, e.marks > 0.0)
        if s.adapted > 0.0:
            return s
        s = clip_window(answer_signals(s, q, e, delay), q)
        since = e.time - s.adjusted
        if s.received > q.adjust_bytes or since > q.adjust_period * q.base_rtt:
            s = add_increases(s, q, e)
        return clip_window(s, q)


def count_acked(s: Any, q: Any, e: Any) -> Any:
    """Return the state with the packets acknowledged, the base round-trip time and the average delay."""
    min_rtt = min(s.min_rtt, e.rtt)
    delay = e.rtt - min_rtt
    averaged_delay = delay
    if e.marks == 0.0 and delay > q.target_qdelay:
        averaged_delay = UNMARKED_DELAY * min_rtt
    return s._replace(
        min_rtt=min_rtt,
        delay=s.delay + q.delay_alpha * (averaged_delay - s.delay),
        received=s.received + e.acked,
        achieved=s.achieved + e.acked,
        ignored=s.ignored + e.acked,
    )


def answer_losses(s: Any, q: Any, e: Any) -> Any:
    """Process lost packets: each is a sample of a base round trip in the average delay, and triggers quick adapt."""
    delay = q.base_rtt + (s.delay - q.base_rtt) * (1.0 - q.delay_alpha) ** e.lost
    s = quick_adapt(s._replace(delay=delay, ignored=s.ignored + e.lost, lossy=1.0), q, e, True, True)
    if s.adapted > 0.0:
        return s
    return clip_window(s._replace(cwnd=s.cwnd - e.lost), q)


def quick_adapt(s: Any, q: Any, e: Any, triggered: Any, marked: Any) -> Any:
    """Apply quick adapt; set ``adapted`` if it set the window, or if the mark is of a packet sent before it did."""
    if s.ignored < s.unheeded and marked:
        return s._replace(adapted=1.0, increase=0.0, received=0.0)
    if e.time <= s.period:
        return s
    little = s.achieved < largest(s, q) / 2.0**q.qa_gate
    if s.period > 0.0 and little and (triggered or s.lossy > 0.0):
        s = s._replace(
            cwnd=max(1.0, s.achieved),
            unheeded=e.in_flight,
            ignored=0.0,
            lossy=0.0,
            adapted=1.0,
            increase=0.0,
            received=0.0,
        )
    return s._replace(achieved=0.0, period=e.time + s.min_rtt + q.target_qdelay)


def answer_signals(s: Any, q: Any, e: Any, delay: Any) -> Any:
    """Apply one of the four cases."""
    scale = q.bdp / q.base_bdp
    if e.marks > 0.0:
        return s if delay < q.target_qdelay else decrease(s, q, e)
    if delay >= q.target_qdelay:
        return s._replace(increase=s.increase + q.fi * scale * e.acked)
    clear = 0.0
    if delay < CLEAR_DELAY:
        clear = s.clear + e.acked
        if clear > s.cwnd or s.fast > 0.0:
            return s._replace(clear=clear, fast=1.0, cwnd=s.cwnd + q.fi_scale * scale * e.acked)
    step = q.alpha * scale * (q.target_qdelay / REFERENCE_RTT) * (1.0 - delay / q.target_qdelay)
    return s._replace(clear=clear, fast=0.0, increase=s.increase + step * e.acked)


def decrease(s: Any, q: Any, e: Any) -> Any:
    """Return the state after a multiplicative decrease, at most once per base round trip."""
    s = s._replace(fast=0.0, clear=0.0)
    if s.delay <= q.target_qdelay or e.time - s.decreased <= s.min_rtt:
        return s
    factor = max(1.0 - q.gamma * (s.delay - q.target_qdelay) / s.delay, q.max_md_jump)
    return s._replace(cwnd=factor * s.cwnd, decreased=e.time)


def add_increases(s: Any, q: Any, e: Any) -> Any:
    """Add the pending increases to the window."""
    cwnd, adjusted = s.cwnd + s.increase / s.cwnd, s.adjusted
    if e.time - s.adjusted >= q.adjust_period * q.base_rtt:
        cwnd += q.eta * q.bdp / q.base_bdp
        adjusted = e.time
    return s._replace(cwnd=cwnd, adjusted=adjusted, increase=0.0, received=0.0)


def largest(s: Any, q: Any) -> Any:
    """Return the largest window in packets for the flow's base round-trip time."""
    return max(1.0, q.max_wnd * q.bdp * s.min_rtt / q.base_rtt)


def clip_window(s: Any, q: Any) -> Any:
    """Clip the window to between one packet and the largest window."""
    return s._replace(cwnd=min(max(1.0, s.cwnd), largest(s, q)))
