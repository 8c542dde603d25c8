"""PCC Allegro: a rate that follows the gradient of a utility of losses, measured in intervals of a round trip."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

from hopflow.parameters import param, series
from responsefn.response import Reference
from responsefn.rules.deliveries.delivery_rule import DeliveryRule

__all__ = ["Allegro"]

STARTING, DECIDING, MOVING = 0.0, 1.0, 2.0  # numbers of states
"""Modes: doubling the rate; comparing rates around it; moving in one direction."""
LAST_TRIAL = 3.0  # PCC-Kernel, branch master, tcp_pcc.c: pcc_intervals = 4, from 0 on
"""Number of the last of four trials: two pairs of a higher and a lower rate."""
# PCC-Kernel, branch master, tcp_pcc.c: pcc_interval_min_segs = 40; pcc_ignore_packets = 5
PACKETS, IGNORED = 40.0, 5.0
"""Minimum packets of an interval; packets at its begin and end that count for no interval."""
MAX_STEPS = 5.0  # PCC-Kernel, branch master, tcp_pcc.c: pcc_epsilon_max = 5
"""Largest step between rates, in units of the smallest one."""
# PCC-Kernel, branch master, tcp_pcc.c: pcc_rate_minimum * 512 bytes/s; pcc_rate_minimum = 1024
# bytes/s
FIRST_RATE, MIN_RATE = 2**19 / 1500, 2**10 / 1500
"""Packets/s of 1500 bytes: initial and minimum rate (512 and 1 KiB/s)."""
MIN_WINDOW = 4.0  # PCC-Kernel, branch master, tcp_pcc.c: max(4ULL, cwnd)
"""Minimum window in packets."""
GAIN = 0.125  # RFC 6298, Sect. 2: alpha = 1/8
"""Gain of the smoothed round-trip time (RFC 6298)."""


class Allegro(DeliveryRule):
    r"""PCC Allegro (Dong et al. 2015): the rate x moves where x (1 - L) / (1 + exp(100 (L - 0.05))) - x L increases.

    L is the fraction of an interval's packets that was lost. An interval takes a round trip and at least 40 packets, of
    which the first and the last five are not counted. Its utility is known once its packets are acknowledged or lost.

    The rate doubles from interval to interval until the utility falls. Then four intervals test rates a step above and
    below it, in two pairs, each in random order. If both pairs prefer the same side, the rate moves there, one interval
    at a time by one, two, up to five per cent, until the utility falls. It then returns to the previous rate and tests
    again. A trial without a decision increases the step, from 1 % up to 5 %.

    Delays do not matter. Losses up to ``threshold`` have little effect, so that one flow fills a link that loses 2 % at
    random. Of two flows, a flow with random losses gets the smaller rate: if a full buffer drops a few per cent more,
    its losses reach the threshold first (Arun et al. 2022, Sect. 5.4).

    Trials, steps and intervals follow the authors' module for Linux, which calls itself a draft. Its start ends after
    two intervals, because it continues only while the utility per rate increases (``doubling=0``). The paper's start
    doubles. The window is twice the rate times the round trip. After a timeout it begins with four packets and grows by
    the acknowledged packets (our own).

    Parameters
    ----------
    steepness
        Of the sigmoid in the utility, per unit of L, > 0.
    threshold
        Losses L at which the sigmoid is one half, above 0 and below 1.
    step
        Minimum step of a trial as a fraction of the rate, above 0 and below 0.2; the maximum is five times as large.
    doubling
        1: it begins by doubling its rate; 0: it begins with trials.

    Examples
    --------
    >>> from responsefn import Allegro
    >>> Allegro().rate(0.01, 0.1)
    Traceback (most recent call last):
      ...
    ValueError: Allegro(): has no response function of a loss rate: its rate follows measured utilities; ...
    """

    @series(range(2), high=0.0)
    @series(range(4), start=0.0, end=0.0)
    @series(range(3), u=0.0)
    class State(NamedTuple):
        """Window in packets, pacing in packets/s; mode, rates in packets/s; intervals, as counts of packets.

        - ``target``: the rate
        - ``before``: the rate to return to
        - ``steps``: size of the step
        - ``decision``: 1 up, -1 down, 0 none
        - ``sending``, ``judging``: numbers of the intervals being sent and being judged (sending < 0: none yet)
        - ``waiting``: 1 after the last of these intervals
        - ``high_0``, ``high_1``: 1 where the first rate of a pair is the higher one
        - ``start``, ``end``: packets sent when each interval began and ended
        - ``u``: utilities of the intervals
        - ``lost``, ``got``: packets lost and delivered of the interval being judged
        - ``counted``: packets delivered or lost
        - ``losses``: packets lost
        """

        cwnd: float = 10.0
        ssthresh: float = math.inf
        pacing_rate: float = FIRST_RATE
        mode: float = STARTING
        target: float = FIRST_RATE
        before: float = FIRST_RATE
        steps: float = 1.0
        decision: float = 1.0
        sending: float = -1.0
        judging: float = 0.0
        waiting: float = 0.0
        u_0: float = -math.inf
        lost: float = 0.0
        got: float = 0.0
        counted: float = 0.0
        losses: float = 0.0
        srtt: float = 0.0

    class Params(NamedTuple):
        """Steepness and threshold of the sigmoid, smallest part of the rate of a trial, a choice."""

        steepness: float = param(
            100.0,
            above=0.0,
            source="PCC-Kernel, branch master, tcp_pcc.c: pcc_alpha = 100",
        )
        threshold: float = param(
            0.05,
            above=0.0,
            below=1.0,
            source="PCC-Kernel, branch master, tcp_pcc.c: pcc_loss_margin = 5, in per cent",
        )
        step: float = param(
            0.01,
            above=0.0,
            below=1.0 / MAX_STEPS,
            source="PCC-Kernel, branch master, tcp_pcc.c: pcc_epsilon_min = 1, pcc_epsilon_part = 100",
        )
        doubling: int = param(
            1,
            choices=(0, 1),
            source="Dong et al. 2015: the rate doubles at the start",
        )

    reference = Reference(
        "M. Dong, Q. Li, D. Zarchy, P. B. Godfrey, M. Schapira, PCC: re-architecting congestion control for "
        "consistent high performance, NSDI 2015 (its start), and PCCproject/PCC-Kernel, branch master, tcp_pcc.c (the "
        "authors' own)",
        "secondary",
    )
    why_no_rate: ClassVar[str] = "its rate follows measured utilities"
    dynamics: ClassVar[str] = r"x \mathrel{\times}= 1 \pm \varepsilon,\ u = x (1 - L) / (1 + e^{100 (L - 0.05)}) - x L"

    @staticmethod
    def on_timeout(s: Any, q: Any, e: Any) -> Any:
        """Set the window to four packets, and restart trials at the same rate; drop the current intervals."""
        return s._replace(cwnd=MIN_WINDOW, mode=DECIDING, sending=-1.0)

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Count packets, end sent intervals, and evaluate intervals with known packets."""
        counted = s.counted
        srtt = s.srtt
        if e.acked > 0.0:
            srtt = e.rtt if srtt == 0.0 else srtt + GAIN * (e.rtt - srtt)
        losses = s.losses + e.lost
        s = s._replace(srtt=srtt, losses=losses, counted=e.delivered + losses)
        sent = s.counted + e.in_flight
        if s.sending < 0.0:
            if q.doubling == 0:
                s = s._replace(mode=DECIDING)
            s = start_trials(s, q, sent, e.random)
        elif s.waiting == 0.0:
            s = end_interval(s, q, sent, counted)
        start = select_by_number(s.judging, s.start_0, s.start_1, s.start_2, s.start_3)
        if start > 0.0 and counted > start + IGNORED:
            s = s._replace(lost=s.lost + e.lost, got=s.got + e.acked)
        end = select_by_number(s.judging, s.end_0, s.end_1, s.end_2, s.end_3)
        if end > 0.0 and s.counted > end - IGNORED:
            s = evaluate_interval(s, q, sent, e.random)
        max_window = max(MIN_WINDOW, 2.0 * s.pacing_rate * s.srtt)
        return s._replace(cwnd=min(s.cwnd + e.acked, max_window))


def select_by_number(number: Any, first: Any, second: Any, third: Any, fourth: Any) -> Any:
    """Return one of four numbers by its index."""
    if number < 2.0:
        return first if number == 0.0 else second
    return third if number == 2.0 else fourth


def sign_of(s: Any, number: Any) -> Any:
    """Return 1 for a trial with the higher rate, -1 with the lower rate."""
    high = s.high_0 if number < 2.0 else s.high_1
    return 1.0 if (number % 2.0 == 0.0) == (high > 0.0) else -1.0


def rate_of(s: Any, q: Any, number: Any) -> Any:
    """Return the rate of an interval, packets/s."""
    if s.mode != DECIDING:
        return s.target
    return s.target * (1.0 + sign_of(s, number) * q.step * s.steps)


def start_trials(s: Any, q: Any, sent: Any, random: Any) -> Any:
    """Return the state at the begin of one interval, or of four trials in random order."""
    bits = math.floor(4.0 * random)
    s = s._replace(
        judging=0.0,
        waiting=0.0,
        high_0=bits % 2.0,
        high_1=1.0 if bits >= 2.0 else 0.0,
        lost=0.0,
        got=0.0,
        start_1=0.0,
        start_2=0.0,
        start_3=0.0,
        end_1=0.0,
        end_2=0.0,
        end_3=0.0,
    )
    return begin_interval(s, q, 0.0, sent)


def begin_interval(s: Any, q: Any, number: Any, sent: Any) -> Any:
    """Return the state at the begin of an interval."""
    s = s._replace(sending=number, pacing_rate=max(MIN_RATE, rate_of(s, q, number)))
    start = max(1.0, sent)
    if number == 0.0:
        return s._replace(start_0=start, end_0=0.0)
    if number == 1.0:
        return s._replace(start_1=start)
    if number == 2.0:
        return s._replace(start_2=start)
    return s._replace(start_3=start)


def end_interval(s: Any, q: Any, sent: Any, counted: Any) -> Any:
    """End the current interval if it has its packets and a round trip."""
    start = select_by_number(s.sending, s.start_0, s.start_1, s.start_2, s.start_3)
    min_packets = PACKETS if s.mode == DECIDING else PACKETS - IGNORED
    if sent - start < min_packets or counted <= start:
        return s
    number = s.sending
    if number == 0.0:
        s = s._replace(end_0=sent)
    elif number == 1.0:
        s = s._replace(end_1=sent)
    elif number == 2.0:
        s = s._replace(end_2=sent)
    else:
        s = s._replace(end_3=sent)
    if s.mode != DECIDING or number == LAST_TRIAL:
        return s._replace(waiting=1.0, pacing_rate=max(MIN_RATE, s.target))
    return begin_interval(s, q, number + 1.0, sent)


def utility_of(s: Any, q: Any) -> Any:
    """Return the utility of the interval being judged, packets/s."""
    total = s.lost + s.got
    if total == 0.0:
        return -math.inf
    rate, lost = rate_of(s, q, s.judging), s.lost / total
    exponent = min(q.steepness * (lost - q.threshold), 700.0)
    return rate * (1.0 - lost) / (1.0 + math.exp(exponent)) - rate * lost


def evaluate_interval(s: Any, q: Any, sent: Any, random: Any) -> Any:
    """Evaluate an interval whose packets are known."""
    utility, last = utility_of(s, q), s.u_0
    if s.mode == DECIDING:
        if s.judging == 0.0:
            s = s._replace(u_0=utility)
        elif s.judging == 1.0:
            s = s._replace(u_1=utility)
        elif s.judging == 2.0:
            s = s._replace(u_2=utility)
        else:
            return start_trials(decide(s, q, utility), q, sent, random)
        return s._replace(judging=s.judging + 1.0, lost=0.0, got=0.0)
    s = s._replace(u_0=utility)
    if utility <= last:
        s = s._replace(mode=DECIDING, target=s.before, steps=1.0)
    elif s.mode == STARTING:
        s = s._replace(before=s.target, target=2.0 * s.target)
    else:
        steps = min(s.steps + 1.0, MAX_STEPS)
        target = max(MIN_RATE, s.target * (1.0 + s.decision * q.step * steps))
        s = s._replace(before=s.target, target=target, steps=steps)
    return start_trials(s, q, sent, random)


def decide(s: Any, q: Any, u_3: Any) -> Any:
    """Return the state after four trials: moving to the side that both pairs prefer, or with a larger step."""
    first = sign_of(s, 0.0) if s.u_0 > s.u_1 else -sign_of(s, 0.0)
    second = sign_of(s, 2.0) if s.u_2 > u_3 else -sign_of(s, 2.0)
    decision = first if first == second else 0.0
    steps = min(s.steps + 1.0, MAX_STEPS) if decision == s.decision else 1.0
    if decision == 0.0:
        return s._replace(decision=decision, steps=steps)
    before = max(MIN_RATE, s.target * (1.0 + decision * q.step * s.steps))
    target = max(MIN_RATE, before * (1.0 + decision * q.step * steps))
    return s._replace(mode=MOVING, decision=decision, steps=steps, before=before, target=target)
