"""One delivery of each rule that sees deliveries, as its source states it: against it the rules are tested.

Functions change ``s``, a copy of the state with lists in place of numbered fields. Numbers are those of the sources.
BBR has its drafts in `draft_bbr` and `draft_bbr_v1`, SEARCH its bins in `test_pcc`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from responsefn import Delivery

__all__ = ["DELIVERIES", "LISTS"]
Step = Callable[[Any, Delivery], None]
LISTS = {
    "Allegro": {"start": (0, 4), "end": (0, 4), "u": (0, 3), "high": (0, 2)},
    "LinuxCDG": {"low": (1, 8), "high": (1, 8)},
    "Copa": {"now": (1, 4), "base": (1, 10), "low": (1, 5), "high": (1, 4)},
    "LEDBAT": {"last_before": (2, 3), "base_before": (2, 9)},
    "LEDBATpp": {"last_before": (2, 3), "base_before": (2, 9)},
    "Vivace": {"u": (0, 3)},
}
"""Numbered fields by the names of rules: the number of the first one, and how many there are."""


def smooth(mean: float, rtt: float) -> float:
    """RFC 6298: alpha = 1/8."""
    return mean + (rtt - mean) / 8.0 if mean else rtt


def nscc(s: Any, e: Delivery) -> None:
    """uec.cpp of the consortium's model for a base round trip of 10 us, a target of 8 us and twice its packets.

    Then a = 2 and b = 2/3.
    """
    base, target, a, b = 10e-6, 8e-6, 2.0, 2.0 / 3.0

    def clip() -> None:
        s.cwnd = min(max(s.cwnd, 1.0), top)

    def quick_adapt(triggered: bool, marked: bool) -> None:
        if marked and s.ignored < s.unheeded:
            s.adapted, s.increase, s.received = 1.0, 0.0, 0.0
        elif e.time > s.period:
            if s.period and s.achieved < top / 8.0 and (triggered or s.lossy):
                s.cwnd, s.unheeded, s.adapted = max(s.achieved, 1.0), e.in_flight, 1.0
                s.ignored = s.lossy = s.increase = s.received = 0.0
            s.achieved, s.period = 0.0, e.time + s.min_rtt + target

    s.adapted = 0.0
    if e.acked:
        s.min_rtt = min(s.min_rtt, e.rtt)
        delay = e.rtt - s.min_rtt
        sample = s.min_rtt / 4.0 if delay > target and not e.marks else delay
        s.delay = 0.9875 * s.delay + 0.0125 * sample
        s.received, s.achieved, s.ignored = s.received + e.acked, s.achieved + e.acked, s.ignored + e.acked
    top = max(1.5 * 60.0 * s.min_rtt / base, 1.0)
    if e.lost:
        for _ in range(int(e.lost)):
            s.delay = 0.9875 * s.delay + 0.0125 * base
        s.ignored, s.lossy = s.ignored + e.lost, 1.0
        quick_adapt(True, True)
        if not s.adapted:
            s.cwnd -= e.lost
            clip()
    if not e.acked or s.adapted:
        return
    delay = max(e.rtt - s.min_rtt, 0.0)
    quick_adapt(delay > 4.0 * target, e.marks > 0.0)
    if s.adapted:
        return
    if e.marks and delay >= target:
        s.fast = s.clear = 0.0
        if s.delay > target and e.time - s.decreased > s.min_rtt:
            s.cwnd *= max(0.5, 1.0 - 0.8 * (s.delay - target) / s.delay)
            s.decreased = e.time
    elif delay >= target:
        s.increase += 5.0 * a * e.acked
    elif not e.marks:
        s.clear = s.clear + e.acked if delay < 1e-6 else 0.0
        if delay < 1e-6 and (s.clear > s.cwnd or s.fast):
            s.cwnd, s.fast = s.cwnd + 0.25 * a * e.acked, 1.0
        else:
            s.fast, s.increase = 0.0, s.increase + 4.0 * a * b * (1.0 - delay / target) * e.acked
    clip()
    if s.received > 8.0 or e.time - s.adjusted > base:
        s.cwnd += s.increase / s.cwnd
        if e.time - s.adjusted >= base:
            s.cwnd, s.adjusted = s.cwnd + 0.15 * a, e.time
        s.increase = s.received = 0.0
    clip()


def copa(s: Any, e: Delivery, competitive: bool = True, voted: bool = False) -> None:
    """Arun and Balakrishnan 2018, Sect. 2.1 and 2.2, delta = 1/2; ``voted``: markoviancc.cc."""
    if not e.acked:
        s.lossy = 1.0
        return
    s.srtt = smooth(s.srtt, e.rtt)
    if e.time >= s.quarter + s.srtt / 8.0:
        s.now, s.quarter = [e.rtt, *s.now[:3]], e.time
    if e.time >= s.second + 1.0:
        s.base, s.second = [e.rtt, *s.base[:9]], e.time
    for values in (s.now, s.base, s.low):
        values[0] = min(values[0], e.rtt)
    s.high[0] = max(s.high[0], e.rtt)
    standing, least = min(s.now), min(s.base)
    if e.time >= s.begun + s.srtt:
        nearly_empty = min(s.low) - least <= (max(s.high) - least) / 10.0
        compete = competitive and s.high[3] > 0.0 and not nearly_empty
        s.packets = max(2.0, s.packets / 2.0 if s.lossy else s.packets + 1.0) if compete else 2.0
        direction = 1.0 if s.cwnd > s.begun_cwnd else -1.0
        s.same = s.same + 1.0 if direction == s.direction else 0.0
        doubles = s.same >= 3.0 and not s.slow
        if voted:
            last = s.direction or 1.0
            doubles = last * s.votes > 0.0
            direction = last if doubles else -last
        s.direction, s.velocity = direction, 2.0 * s.velocity if doubles else 1.0
        s.votes, s.begun, s.begun_cwnd, s.lossy = 0.0, e.time, s.cwnd, 0.0
        s.low, s.high = [math.inf, *s.low[:4]], [0.0, *s.high[:3]]
    s.velocity = min(s.velocity, max(1.0, s.cwnd / s.packets))
    s.lossy = 1.0 if s.lossy or e.lost else 0.0
    step = e.acked * min(1.0, s.velocity * s.packets / s.cwnd)
    if s.cwnd * (standing - least) <= s.packets * standing:
        s.votes += 0.0 if s.slow else 1.0
        s.cwnd += e.acked if s.slow else step
    else:
        s.cwnd, s.votes, s.slow = max(2.0, s.cwnd - step), s.votes - 1.0, 0.0
    s.pacing_rate = 2.0 * s.cwnd / standing


def ledbat_filters(s: Any, e: Delivery) -> tuple[float, float]:
    """RFC 6817, Sect. 2.4.2: minima of minutes; of the last four samples. Returns the base and the delay."""
    minima, lasts = [s.base, *s.base_before], [s.last, *s.last_before]
    if e.time >= s.minute + 60.0:
        minima, s.minute = [e.rtt, *minima[:9]], e.time
    minima[0] = min(minima[0], e.rtt)
    lasts = [e.rtt, *lasts[:3]]
    (s.base, *s.base_before), (s.last, *s.last_before) = minima, lasts
    return min(minima), min(lasts) - min(minima)


def ledbat(s: Any, e: Delivery) -> None:
    """RFC 6817, Sect. 2.4.2: TARGET = 100 ms, GAIN = 1, ALLOWED_INCREASE = 1, MIN_CWND = 2."""
    _, delay = ledbat_filters(s, e)
    s.cwnd += (0.1 - delay) / 0.1 * e.acked / s.cwnd
    s.cwnd = max(min(s.cwnd, e.in_flight + e.acked + e.lost + 1.0), 2.0)


def ledbatpp(s: Any, e: Delivery) -> None:
    """draft-irtf-iccrg-ledbat-plus-plus-01, Sect. 4.1 to 4.5: TARGET = 60 ms.

    Phases: 0 the first slow start, 1 avoidance, 2 two packets, 3 slow start to the former window.
    """
    base, delay = ledbat_filters(s, e)
    gain = 1.0 / min(16, math.ceil(2.0 * 0.06 / base))
    if s.phase == 2.0 and e.time >= s.until:
        s.phase = 3.0
    if s.phase == 2.0 or e.recovering:
        return
    if s.phase == 1.0 and e.time >= s.until:
        s.ssthresh, s.cwnd, s.phase, s.until, s.began = s.cwnd, 2.0, 2.0, e.time + 2.0 * e.rtt, e.time
        return
    if s.phase == 0.0:
        if delay <= 0.75 * 0.06:
            s.cwnd += gain * e.acked
            return
        s.phase, s.until = 1.0, e.time + 2.0 * e.rtt
    if s.phase == 3.0:
        s.cwnd = min(s.cwnd + gain * e.acked, s.ssthresh)
        if s.cwnd < s.ssthresh:
            return
        s.phase, s.until = 1.0, e.time + 9.0 * (e.time - s.began)
        return
    step = max(gain - s.cwnd * (delay / 0.06 - 1.0), -s.cwnd / 2.0) if delay > 0.06 else gain
    grown = max(s.cwnd + step * e.acked / s.cwnd, 2.0)
    s.cwnd = min(grown, max(s.cwnd, e.in_flight + e.acked + e.lost + 1.0))


def prague(s: Any, e: Delivery) -> None:
    """draft-briscoe-iccrg-prague-congestion-control-04, Sect. 2.3 and 2.4: g = 1/16, virtual round trips of 25 ms."""
    s.srtt = smooth(s.srtt, e.rtt)
    virtual = max(s.srtt, 0.025)
    s.marks, s.packets = s.marks + e.marks, s.packets + e.acked
    was_marked, s.marked = s.marked, 1.0 if e.marks else s.marked
    if e.time >= s.next:
        if was_marked and s.packets:
            s.alpha = s.alpha * 15.0 / 16.0 + s.marks / s.packets / 16.0
        s.marks, s.packets, s.next = 0.0, 0.0, e.time + virtual
    if e.marks and e.time >= s.until:
        s.cwnd = s.ssthresh = max(2.0, s.cwnd * (1.0 - s.alpha / 2.0))
        s.until = e.time + virtual
    if not e.recovering:
        unmarked = max(0.0, e.acked - e.marks)
        s.cwnd += unmarked if s.cwnd < s.ssthresh else unmarked * (s.srtt / virtual) ** 2 / s.cwnd
    s.pacing_rate = (2.0 if s.cwnd < s.ssthresh / 2.0 else 1.0) * s.cwnd / s.srtt


def swift(s: Any, e: Delivery) -> None:
    """Kumar et al. 2020, Algorithm 1, with the constants of htsim: targets of 50 us and up to 100 us more."""
    if not e.acked:
        return
    s.rtt, s.timeouts = e.rtt, 0.0
    slope = 100e-6 / (0.1**-0.5 - 100.0**-0.5)
    target = 50e-6 + max(0.0, min(100e-6, slope * (s.window**-0.5 - 100.0**-0.5)))
    if e.rtt < target:
        s.window += e.acked / max(s.window, 1.0)
    elif e.time - s.fell >= e.rtt:
        s.window *= max(1.0 - 0.8 * (e.rtt - target) / e.rtt, 0.5)
        s.fell = e.time
    else:
        return
    s.window = max(s.window, 0.001)
    s.cwnd, s.pacing_rate = max(s.window, 1.0), s.window / e.rtt if s.window < 1.0 else 1e12


def cdg(s: Any, e: Delivery) -> None:
    """tcp_cdg_cong_avoid and tcp_cdg_acked of Linux 6.12: window = 8, backoff_beta = 724/1024, backoff_factor = 42."""

    def begin_round() -> None:
        s.last_min_rtt, s.last_max_rtt, s.min_rtt, s.max_rtt = s.min_rtt, s.max_rtt, math.inf, 0.0
        s.left, s.round_start, s.samples = float(int(s.cwnd + 1e-9)), -1.0, 0.0

    if not e.acked:
        return
    s.min_rtt, s.max_rtt, s.left = min(s.min_rtt, e.rtt), max(s.max_rtt, e.rtt), s.left - e.acked
    s.shadow = s.shadow or s.cwnd
    if e.recovering:
        return
    if s.reduced == 1.0 and s.left > 0.0:
        s.cwnd = max(s.ssthresh, s.cwnd - 300.0 / 1024.0 * e.acked)
        return
    if s.reduced:
        s.cwnd, s.reduced = s.ssthresh, 0.0
        begin_round()
        return
    if s.cwnd < s.ssthresh:  # tcp_cdg_hystart_update
        s.base_rtt = min(s.base_rtt, s.min_rtt)
        exits = False
        if s.round_start < 0.0:
            s.round_start = s.last_ack = e.time
        elif e.time < s.last_ack + 3e-3:
            s.last_ack, exits = e.time, e.time > s.round_start + max(s.base_rtt / 2.0, 125e-6)
        if not exits and s.samples < 8.0:
            s.samples += 1.0
        elif not exits:
            exits = s.min_rtt > max(s.base_rtt * 1.125, 125e-6)
        if exits:
            s.ssthresh = float(int(s.cwnd + 1e-9))
    if s.left <= 0.0:  # tcp_cdg_grad, tcp_cdg_backoff
        gradient = 0.0
        if s.last_max_rtt:
            s.low = [s.min_rtt - s.last_min_rtt, *s.low[:7]]
            s.high = [s.max_rtt - s.last_max_rtt, *s.high[:7]]
            s.gradients = min(s.gradients + 1.0, 8.0)
            gradient = (sum(s.low) if sum(s.low) > 0.0 else sum(s.high)) * 8.0 / s.gradients
            if min(sum(s.low), sum(s.high)) <= -32e-6:
                s.cuts = 0.0
        begin_round()
        if gradient > 0.0 and e.random > math.exp(-42.0 * gradient):
            s.cuts += 1.0
            if s.cuts <= 5.0:
                s.shadow, s.reduced = max(s.shadow, s.cwnd), 1.0
                s.ssthresh = max(2.0, float(int(s.cwnd + 1e-9) * 724 // 1024))
                return
    if e.limited:
        s.shadow = min(s.shadow, s.cwnd)
        return
    step = e.acked if s.cwnd < s.ssthresh else e.acked / int(s.cwnd + 1e-9)
    s.cwnd, s.shadow = s.cwnd + step, s.shadow + step


def allegro(s: Any, e: Delivery) -> None:
    """tcp_pcc.c of PCC-Kernel: 40 packets of an interval, 5 at its ends, steps of 1 % to 5 %; modes 0, 1, 2."""
    least_rate = 1024 / 1500

    def sign(number: int) -> float:
        return 1.0 if (number % 2 == 0) == (s.high[number // 2] > 0.0) else -1.0

    def rate(number: int) -> float:
        return s.target * (1.0 + 0.01 * s.steps * sign(number)) if s.mode == 1.0 else s.target

    def begin(number: int) -> None:
        s.sending, s.pacing_rate, s.start[number] = float(number), max(least_rate, rate(number)), max(1.0, sent)

    def restart() -> None:
        bits = int(4.0 * e.random)
        s.high, s.start, s.end = [float(bits & 1), float(bits >> 1)], [0.0] * 4, [0.0] * 4
        s.judging = s.waiting = s.lost = s.got = 0.0
        begin(0)

    def move(factor: float) -> float:
        return max(least_rate, factor)

    def decide(utilities: list[float]) -> None:
        sides = [sign(n) if utilities[n] > utilities[n + 1] else -sign(n) for n in (0, 2)]
        decision = sides[0] if sides[0] == sides[1] else 0.0
        steps = min(s.steps + 1.0, 5.0) if decision == s.decision else 1.0
        if decision:
            s.before = move(s.target * (1.0 + 0.01 * decision * s.steps))
            s.target, s.mode = move(s.before * (1.0 + 0.01 * decision * steps)), 2.0
        s.decision, s.steps = decision, steps

    def evaluate() -> None:
        number, total = int(s.judging), s.lost + s.got
        lost, x = s.lost / max(total, 1.0), rate(int(s.judging))
        utility = x * (1.0 - lost) / (1.0 + math.exp(100.0 * (lost - 0.05))) - x * lost if total else -math.inf
        if s.mode == 1.0 and number < 3:
            s.u[number], s.judging, s.lost, s.got = utility, s.judging + 1.0, 0.0, 0.0
            return
        if s.mode == 1.0:
            decide([*s.u, utility])
        elif utility <= s.u[0]:
            s.u[0], s.mode, s.target, s.steps = utility, 1.0, s.before, 1.0
        elif s.mode == 0.0:
            s.u[0], s.before, s.target = utility, s.target, 2.0 * s.target
        else:
            s.u[0], s.steps = utility, min(s.steps + 1.0, 5.0)
            s.before, s.target = s.target, move(s.target * (1.0 + 0.01 * s.decision * s.steps))
        restart()

    counted = s.counted
    s.srtt = smooth(s.srtt, e.rtt) if e.acked else s.srtt
    s.losses += e.lost
    s.counted = e.delivered + s.losses
    sent = s.counted + e.in_flight
    if s.sending < 0.0:
        restart()
    elif not s.waiting:
        number = int(s.sending)
        if sent - s.start[number] >= (40.0 if s.mode == 1.0 else 35.0) and counted > s.start[number]:
            s.end[number] = sent
            if s.mode == 1.0 and number < 3:
                begin(number + 1)
            else:
                s.waiting, s.pacing_rate = 1.0, move(s.target)
    number = int(s.judging)
    if s.start[number] and counted > s.start[number] + 5.0:
        s.lost, s.got = s.lost + e.lost, s.got + e.acked
    if s.end[number] and s.counted > s.end[number] - 5.0:
        evaluate()
    s.cwnd = min(s.cwnd + e.acked, max(4.0, 2.0 * s.pacing_rate * s.srtt))


FIELDS = ("begin", "end", "rate", "count", "total", "moment", "sent", "first", "came", "lost", "probe")


def vivace(s: Any, e: Delivery, smoothed: bool = False) -> None:
    """pcc_vivace_rc.cpp and pcc_vivace_ucalc.cpp of PCC-Uspace; ``smoothed``: tcp_pcc.c of PCC-Kernel; modes 0, 1, 2."""
    unit = 2**20 / 12000
    parts = {
        name: SimpleNamespace(**{field: getattr(s, f"{name}_{field}") for field in FIELDS})
        for name in ("now", "last", "old")
    }
    parts["last"].open, parts["old"].open = s.last_open, s.old_open
    signs = (1.0, -1.0, -1.0, 1.0) if s.high > 0.0 else (-1.0, 1.0, 1.0, -1.0)

    def archive() -> None:
        parts["old"] = copy.copy(parts["last"])
        parts["last"].open = 0.0

    def slope(part: Any) -> float:
        duration, arrivals, n = part.sent - part.begin, part.came - part.first, part.count
        if smoothed:
            change = part.moment - part.total
            if duration <= 0.0 or abs(change) < 2.0 * arrivals / max(n, 1.0):
                return 0.0
            steep = change / duration
            return 0.0 if abs(steep) < 0.02 or (steep < 0.0 and s.mode == 0.0) else steep
        fit, received = 0.0, 0.0
        if n >= 2.0 and duration > 0.0:  # least squares over the numbers of packets
            fit = 12.0 * (part.moment - (n - 1.0) / 2.0 * part.total) / (n**2 - 1.0) / duration
        if arrivals > 0.0:
            received = 1.0 - duration / arrivals
        smaller = received if abs(received) < abs(fit) else fit
        return smaller if smaller >= 0.02 else 0.0

    def probe() -> None:
        s.mode, s.probe, s.high = 1.0, 0.0, 1.0 if e.random < 0.5 else 0.0

    def step() -> None:
        change = 0.1 * unit * unit * s.amplifier * s.gradient
        part = abs(change) / s.target
        part, s.bound = (s.bound, s.bound + 0.05) if part > s.bound else (part, 0.1)
        s.target = max(10.0, s.target * (1.0 + max(part, 0.01) * (1.0 if change >= 0.0 else -1.0)))
        s.amplifier += 1.0

    def decide(utilities: list[float]) -> None:
        slopes = [signs[n] * (utilities[n] - utilities[n + 1]) / (0.04 * s.target) for n in (0, 2)]
        if (slopes[0] > 0.0) != (slopes[1] > 0.0):
            probe()
            return
        better = signs[0] if utilities[0] > utilities[1] else -signs[0]
        s.rate, s.target = s.target * (1.0 + 0.02 * signs[3]), s.target * (1.0 + 0.02 * better)
        s.utility, s.gradient, s.up = utilities[3], slopes[1], 1.0 if slopes[0] > 0.0 else 0.0
        s.mode, s.amplifier, s.bound = 2.0, 10.0, 0.1

    def evaluate() -> None:
        part = parts["old"]
        part.open = 0.0
        x, lost = part.rate / unit, part.lost / max(part.lost + part.count, 1.0)
        utility = x**0.9 - 900.0 * x * slope(part) - 11.35 * x * lost
        if s.mode == 0.0:
            if s.rate > 0.0 and utility < s.utility and s.rate < part.rate:
                s.target = s.rate
                probe()
            else:
                s.rate, s.utility = part.rate, utility
        elif s.mode == 1.0:
            if part.probe == 3.0:
                decide([*s.u, utility])
            elif part.probe in (0.0, 1.0, 2.0):
                s.u[int(part.probe)] = utility
        else:
            s.gradient = (utility - s.utility) / (part.rate - s.rate) if part.rate != s.rate else 0.0
            if (s.up > 0.0) == (s.gradient >= 0.0):
                s.rate, s.utility = part.rate, utility
            else:
                s.target = s.rate
                step()
                probe()

    s.srtt = smooth(s.srtt, e.rtt)
    sent = e.time - e.rtt
    if parts["old"].open and sent >= parts["old"].end:
        evaluate()
    if not parts["old"].open and parts["last"].open and sent >= parts["last"].end:
        archive()
        evaluate()
    part = next((parts[name] for name in ("old", "last") if parts[name].open and sent < parts[name].end), parts["now"])
    part.lost += e.lost
    if e.acked and (part is not parts["now"] or sent >= part.begin):
        part.first = part.first if part.count else e.time
        if smoothed:
            part.total, part.moment = part.total if part.count else s.srtt, s.srtt
        else:
            part.total, part.moment = part.total + e.acked * e.rtt, part.moment + part.count * e.acked * e.rtt
        part.count, part.sent, part.came = part.count + e.acked, sent, e.time
    now = parts["now"]
    if e.time >= now.end and not (parts["old"].open and parts["last"].open):
        if parts["last"].open:
            archive()
        if now.end > 0.0:
            parts["last"] = SimpleNamespace(**{**vars(now), "end": e.time, "open": 1.0})
        s.target = s.target if s.target > 0.0 else 5.0 * unit
        number, rate = -1.0, s.target
        if s.mode == 0.0 and s.rate > 0.0:
            rate = s.target = 2.0 * s.target
        elif s.mode == 1.0:
            signs = (1.0, -1.0, -1.0, 1.0) if s.high > 0.0 else (-1.0, 1.0, 1.0, -1.0)
            number, s.probe = s.probe, s.probe + 1.0
            rate *= 1.0 + 0.02 * signs[int(number)] if number < 4.0 else 1.0
        elif s.mode == 2.0:
            step()
            rate = s.target
        s.pacing_rate, now.begin, now.end = rate, e.time, e.time + max(e.rtt, 20.0 / rate)
        now.rate, now.probe = rate, number
        now.count = now.total = now.moment = now.lost = 0.0
    for name, interval in parts.items():
        for field, value in vars(interval).items():
            setattr(s, f"{name}_{field}", value)


DELIVERIES: dict[str, Step] = {
    "NSCC(base_rtt=1e-05, bdp=60.0, base_bdp=30.0, target_qdelay=8e-06)": nscc,
    "Copa()": copa,
    "Copa(competitive=0)": lambda s, e: copa(s, e, competitive=False),
    "Copa(voted=1)": lambda s, e: copa(s, e, voted=True),
    "LEDBAT()": ledbat,
    "LEDBATpp()": ledbatpp,
    "Prague()": prague,
    "Swift()": swift,
    "LinuxCDG()": cdg,
    "Allegro()": allegro,
    "Vivace()": vivace,
    "Vivace(smoothed=1)": lambda s, e: vivace(s, e, smoothed=True),
}
