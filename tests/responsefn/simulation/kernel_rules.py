"""Window rules as modules of kernels are written: counters, rounds, timers, filters; and their ACKs one by one."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from responsefn import WindowRule
from responsefn.rules.base import Event

__all__ = [
    "RULES", "CountedReno", "CubicCount", "Halving", "PerRound", "ScalableCount", "TimedProbe", "Timer",
    "ack_by_ack",
]  # fmt: skip


class Halving(WindowRule):
    """Slow start, and half the window at a loss."""

    class State(NamedTuple):
        """Window, threshold, and what the rules below keep: a count, a time, a value, a second one."""

        cwnd: float = 10.0
        ssthresh: float = math.inf
        cnt: float = 0.0
        last: float = 0.0
        value: float = 0.0
        other: float = 0.0

    assigned = ("last", "value", "other")

    @staticmethod
    def on_ack(s: Any, q: Any, e: Any) -> Any:
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd))

    @staticmethod
    def on_loss(s: Any, q: Any, e: Any) -> Any:
        w = max(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w)


def slow(s: Any) -> Any:
    return s._replace(cwnd=s.cwnd + 1.0)


class CountedReno(Halving):
    """tcp_cong_avoid_ai: snd_cwnd_cnt, whole packets."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if s.cnt + 1.0 >= s.cwnd:
            return s._replace(cwnd=s.cwnd + 1.0, cnt=0.0)
        return s._replace(cnt=s.cnt + 1.0)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, math.floor(0.5 * s.cwnd))
        return s._replace(cwnd=w, ssthresh=w)


class AssignedCount(CountedReno):
    """The same with a count that is said to be set."""

    assigned = ("cnt",)


class DelayedCount(CountedReno):
    """Every second ACK counts twice, as delayed ACKs do."""

    @staticmethod
    def on_ack(s, q, e):
        if s.value < 1.0:
            return s._replace(value=1.0)
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 2.0, value=0.0)
        if s.cnt + 2.0 >= s.cwnd:
            return s._replace(cwnd=s.cwnd + 1.0, cnt=s.cnt + 2.0 - s.cwnd, value=0.0)
        return s._replace(cnt=s.cnt + 2.0, value=0.0)


class ScalableCount(CountedReno):
    """tcp_scalable: a packet per min(cwnd, 100) ACKs, an eighth less at a loss."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if s.cnt + 1.0 >= min(s.cwnd, 100.0):
            return s._replace(cwnd=s.cwnd + 1.0, cnt=0.0)
        return s._replace(cnt=s.cnt + 1.0)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, s.cwnd - math.floor(s.cwnd / 8.0))
        return s._replace(cwnd=w, ssthresh=w)


class EverySixtyFour(CountedReno):
    """A packet more every 64 ACKs."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if s.cnt >= 63.0:
            return s._replace(cwnd=s.cwnd + 1.0, cnt=0.0)
        return s._replace(cnt=s.cnt + 1.0)


class ByRounds(Halving):
    """Base of those that read the round-trip time."""

    capacity: ClassVar[str] = "optional"


class PerRound(ByRounds):
    """A hundredth and a packet more per round trip by the clock."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if e.time - s.last >= e.rtt:
            return s._replace(cwnd=1.01 * s.cwnd + 1.0, last=e.time)
        return s


class VegasRounds(ByRounds):
    """tcp_vegas: one packet more or less per round trip of ACKs (beg_snd_nxt), by the shortest round-trip time."""

    @staticmethod
    def on_ack(s, q, e):
        base = e.rtt if s.other <= 0.0 else min(s.other, e.rtt)
        s = s._replace(other=base)
        if s.cwnd < s.ssthresh:
            return slow(s)
        if s.cnt + 1.0 < s.value:
            return s._replace(cnt=s.cnt + 1.0)
        behind = s.cwnd * (e.rtt - base) / e.rtt
        w = max(2.0, s.cwnd + (1.0 if behind < 2.0 else (-1.0 if behind > 4.0 else 0.0)))
        return s._replace(cwnd=w, cnt=0.0, value=float(math.floor(w)))


class WestwoodRounds(ByRounds):
    """tcp_westwood: the rate of each round trip filtered twice; it times 0.7 round trips is what a loss leaves."""

    @staticmethod
    def on_ack(s, q, e):
        s = s._replace(cnt=s.cnt + 1.0)
        if e.time - s.last >= max(e.rtt, 0.05):
            rate = s.cnt / (e.time - s.last)
            filtered = (7.0 * s.other + rate) / 8.0
            s = s._replace(other=filtered, value=(7.0 * s.value + filtered) / 8.0, last=e.time, cnt=0.0)
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, min(0.9 * s.cwnd, 0.7 * s.value * e.rtt))
        return s._replace(cwnd=w, ssthresh=w)


class IllinoisRounds(ByRounds):
    """Rounds since the loss make the increase larger, up to 10 per round trip, after five rounds."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if e.time - s.last >= e.rtt:
            s = s._replace(last=e.time, value=s.value + 1.0)
        a = 1.0 if s.value < 5.0 else min(10.0, s.value - 3.0)
        return s._replace(cwnd=s.cwnd + a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, value=0.0)


class CdgRounds(ByRounds):
    """tcp_cdg: a decision per round trip; every eighth one cuts the window by 0.3."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if e.time - s.last >= e.rtt:
            if s.value >= 7.0:
                w = max(2.0, 0.7 * s.cwnd)
                return s._replace(cwnd=w, ssthresh=w, value=0.0, last=e.time)
            s = s._replace(value=s.value + 1.0, last=e.time)
        return s._replace(cwnd=s.cwnd + 4.0 / s.cwnd)


class Timer(Halving):
    """Ten packets more once a second.

    ACKs at a round-trip time of 1 ms come at whole fractions of a ms, and so 1 s after each other: in rational arithmetic
    every expiration at p = 0.01 is such a tie, and the rate 2100 packets/s. The rounding of time, which delays some of
    them by an ACK, makes it 2115 to 2124. So the interval is 1 ns shorter.
    """

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if e.time - s.last >= 0.999999999:
            return s._replace(cwnd=s.cwnd + 10.0, last=e.time)
        return s


class TimedProbe(Halving):
    """Reno that goes to 4 packets every ten seconds, as a probe of the shortest round trip does."""

    @staticmethod
    def on_ack(s, q, e):
        if e.time - s.last >= 10.0:
            return s._replace(cwnd=4.0, ssthresh=max(4.0, 0.5 * s.cwnd), last=e.time)
        return s._replace(cwnd=s.cwnd + (1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd))


class Filter(Halving):
    """The increase follows the window through a filter with gain 1/8 per ACK."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        value = s.value + 0.125 * (s.cwnd - s.value)
        return s._replace(cwnd=s.cwnd + (1.0 + 0.02 * value) / s.cwnd, value=value)


class Hysteresis(Halving):
    """Three packets per round trip until the window is 60, half a packet until a loss leaves less than 20."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        mode = 1.0 if s.cwnd > 60.0 else s.value
        return s._replace(cwnd=s.cwnd + (0.5 if mode > 0.0 else 3.0) / s.cwnd, value=mode)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, value=0.0 if w < 20.0 else s.value)


class Accumulator(CountedReno):
    """Parts of packets in a sum, of which whole ones are added to the window."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        total = s.value + 1.5 / s.cwnd
        whole = math.floor(total)
        return s._replace(cwnd=s.cwnd + whole, value=total - whole)


class Jiffies(Halving):
    """tcp_htcp: the increase is a floor of the time since the loss in jiffies of 4 ms, whole packets at losses."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0, last=e.time)
        late = math.floor((e.time - s.last) * 250.0) / 250.0 - 1.0
        a = 1.0 if late <= 0.0 else 1.0 + math.floor(10.0 * late + 0.25 * late * late)
        return s._replace(cwnd=s.cwnd + a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, math.floor(0.5 * s.cwnd))
        return s._replace(cwnd=w, ssthresh=w, last=e.time)


class CubicCount(Jiffies):
    """tcp_cubic: a target in jiffies, and so many ACKs for a packet."""

    capacity: ClassVar[str] = "optional"

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return s._replace(cwnd=s.cwnd + 1.0, last=e.time)
        k = (max(0.0, s.value - s.cwnd) / 0.4) ** (1.0 / 3.0) if s.cnt <= 0.0 else s.other
        t = math.floor((e.time + e.rtt - s.last) * 250.0) / 250.0 - k
        target = s.value + 0.4 * t * t * t
        need = s.cwnd / (target - s.cwnd) if target > s.cwnd else 100.0 * s.cwnd
        if s.cnt >= max(2.0, math.floor(need)):
            return s._replace(cwnd=s.cwnd + 1.0, cnt=1.0, other=k)
        return s._replace(cnt=s.cnt + 1.0, other=k)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, math.floor(0.7 * s.cwnd))
        return s._replace(cwnd=w, ssthresh=w, last=e.time, value=s.cwnd, cnt=0.0)


class Veno(Halving):
    """tcp_veno: a packet per window of ACKs, or per two windows where it is above 40 packets."""

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if s.cnt + 1.0 < s.cwnd:
            return s._replace(cnt=s.cnt + 1.0)
        if s.cwnd > 40.0 and s.value < 1.0:
            return s._replace(cnt=0.0, value=1.0)
        return s._replace(cwnd=s.cwnd + 1.0, cnt=0.0, value=0.0)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, math.floor(0.8 * s.cwnd))
        return s._replace(cwnd=w, ssthresh=w)


class Hybla(Halving):
    """tcp_hybla: rho squared packets per round trip in 128ths, rho of a round trip of 25 ms, at most 16."""

    capacity: ClassVar[str] = "optional"

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        rho = min(4.0, max(1.0, e.rtt / 0.025))
        parts = s.value + math.floor(128.0 * rho * rho / s.cwnd)
        whole = math.floor(parts / 128.0)
        return s._replace(cwnd=s.cwnd + whole, value=parts - 128.0 * whole)


class Inference(Halving):
    """tcp_lp: no increase for three round trips after a loss."""

    capacity: ClassVar[str] = "optional"

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < s.ssthresh:
            return slow(s)
        if e.time - s.last < 3.0 * e.rtt:
            return s
        return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, 0.5 * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, last=e.time)


class Alternating(Halving):
    """Keeps half the window at one loss and 0.8 at the next."""

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, (0.5 if s.value < 1.0 else 0.8) * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, value=1.0 - s.value)


class TenthLoss(Halving):
    """Every tenth loss leaves a tenth of the window, the others three quarters."""

    @staticmethod
    def on_loss(s, q, e):
        w = max(2.0, (0.1 if s.value >= 9.0 else 0.75) * s.cwnd)
        return s._replace(cwnd=w, ssthresh=w, value=0.0 if s.value >= 9.0 else s.value + 1.0)


RULES = (
    CountedReno(), AssignedCount(), DelayedCount(), ScalableCount(), EverySixtyFour(), PerRound(), VegasRounds(),
    WestwoodRounds(), IllinoisRounds(), CdgRounds(), Timer(), TimedProbe(), Filter(), Hysteresis(), Accumulator(),
    Jiffies(), CubicCount(), Veno(), Hybla(), Inference(), Alternating(), TenthLoss(),
)  # fmt: skip


def ack_by_ack(rule: WindowRule, p: float, rtt: float, cycles: int, window: float) -> float:
    """Return packets/s over the second half of some cycles, in plain Python; one packet in 1/p is lost."""
    s, q = rule.start(rtt)._replace(cwnd=window, ssthresh=2.0), rule.params
    now, began, sent = 0.0, 0.0, 0
    for n in range(cycles):
        if n == cycles // 2:
            began, sent = now, 0
        s = rule.on_loss(s, q, Event(now, rtt))
        for _ in range(round(1.0 / p)):
            lag = rtt
            if s.cwnd < s.ssthresh:  # the window doubles in a round trip
                lag = rtt * s.cwnd * math.log2(1.0 + 1.0 / s.cwnd)
            now += lag / s.cwnd
            s = rule.on_ack(s, q, Event(now, rtt))
            sent += 1
    return sent / (now - began)
