"""Transient behaviour of rules: responsiveness, aggressiveness, convergence time (zheng2002, RFC 5166).

The functions run a rule in plain Python, round trip by round trip, at a fixed round-trip time.
"""

from __future__ import annotations

import math
from typing import Any

from hopflow.checks import instance, integer, one_number
from hopflow.units import WithUnit, quantities
from responsefn.inputs import capacity, round_trip
from responsefn.inverse import invert
from responsefn.laws import TFRC, Law
from responsefn.response import Response
from responsefn.rules.base import Event, WindowRule

__all__ = ["aggressiveness", "convergence_time", "responsiveness"]

PARTS = 8  # blocks of ACKs per round trip


def _round(rule: WindowRule, s: Any, now: float, rtt: float) -> Any:
    """Return the state after a round trip without loss, in blocks of an eighth of a window.

    Counters and estimates are extrapolated from the second ACK on: the first after a loss resets them.
    """
    for part in range(PARTS):
        event = Event(now + part * rtt / PARTS, rtt)
        k = max(1.0, s.cwnd / PARTS)
        first = part == 0
        if first:
            s = rule.on_ack(s, rule.params, event)._replace(cwnd=s.cwnd)
        new = rule.on_ack(s, rule.params, event)
        changes = {
            name: getattr(new, name)
            if name in rule.assigned
            else getattr(s, name) + (k - (first and name != "cwnd")) * (getattr(new, name) - getattr(s, name))
            for name in s._fields
            if getattr(new, name) != getattr(s, name)
        }
        s = s._replace(**changes)
    return s


def _steady(rule: WindowRule, window: float, rtt: float, bandwidth: float | None) -> Any:
    """Return a state in congestion avoidance with this window."""
    s = rule.start(rtt, bandwidth)
    steady_fields = {
        "cwnd": window,
        "ssthresh": 1.0,
        "peak": window,
        "reno": window,
        "estimate": 0.0,
    }
    if "estimate" in s._fields:
        steady_fields["estimate"] = window / rtt
    for name in ("loss_window", "base_window"):
        steady_fields[name] = window
    return s._replace(**{name: value for name, value in steady_fields.items() if name in s._fields})


@quantities(rtt="time", window="amount", bandwidth="rate")
def responsiveness(
    rule: Response,
    rtt: WithUnit = 0.1,
    window: WithUnit = 100.0,
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> int:
    """Return the number of round trips of persistent congestion until the rate has halved.

    Persistent congestion is one loss event per round trip. For AIMD this is log(1/2)/log(1-b)
    rounded up. For `TFRC` intervals of one round trip's packets are added to the steady loss history of
    RFC 5348.

    Parameters
    ----------
    rule
        A window rule or ``TFRC()``.
    rtt
        Round-trip time in s.
    window
        Window before the congestion in packets.
    bandwidth
        Capacity in packets/s for rules that see the queue; the queue is empty here.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and a ``bandwidth`` above 1e7 packets/s.

    Examples
    --------
    >>> from responsefn import AIMD, responsiveness
    >>> responsiveness(AIMD(0.2, 0.125))
    6
    """
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    bandwidth = bandwidth if bandwidth is None else capacity(bandwidth, unit_check)
    window = one_number("window", window, above=1.0)
    rounds = 0
    if isinstance(rule, WindowRule):
        s = _steady(rule, window, rtt, bandwidth)
        while s.cwnd > 0.5 * window * (1 + 1e-12):
            s = rule.on_loss(s, rule.params, Event(rounds * rtt, rtt))
            rounds += 1
            if rounds > 1000:
                raise ArithmeticError(f"{rule!r} does not halve its window under a loss per RTT")
        return rounds
    history, rate = _steady_history(_tfrc(rule), window / rtt, rtt)
    while rate * rtt > 0.5 * window:
        history.close(max(1.0, rate * rtt))
        rate = float(rule.rate(min(1.0, history.rate()), rtt))
        rounds += 1
    return rounds


@quantities(rtt="time", window="amount", bandwidth="rate")
def aggressiveness(
    rule: Response,
    rtt: WithUnit = 0.1,
    window: WithUnit = 100.0,
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> float:
    """Return the largest increase of the window in one round trip without loss, in packets.

    The maximum is over 40 round trips after a loss. For AIMD this is a. For `TFRC` the window is rate times
    ``rtt``, the history discounts, all earlier intervals are equal, and the loss-free time is that of eight
    intervals; the rate does not rise before the first of them has passed.

    Parameters
    ----------
    rule, rtt, window, bandwidth, unit_check
        As for `responsiveness`; the window before the loss.

    Examples
    --------
    >>> from responsefn import AIMD, aggressiveness
    >>> round(aggressiveness(AIMD(0.5, 0.25)), 2)
    0.5
    """
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    bandwidth = bandwidth if bandwidth is None else capacity(bandwidth, unit_check)
    window = one_number("window", window, above=1.0)
    largest = 0.0
    if isinstance(rule, WindowRule):
        fluid: WindowRule = rule.in_fluid()
        s = fluid.on_loss(_steady(fluid, window, rtt, bandwidth), fluid.params, Event(0.0, rtt))
        for n in range(40):
            before = s.cwnd
            s = _round(fluid, s, n * rtt, rtt)
            largest = max(largest, s.cwnd - before)
        return float(largest)
    history, rate = _steady_history(_tfrc(rule), window / rtt, rtt)
    since, interval = 0.0, 1.0 / history.rate()
    while since < 8 * interval:
        since += rate * rtt
        now = float(rule.rate(history.rate(since), rtt))
        largest = max(largest, (now - rate) * rtt)
        rate = now
    return largest


def _tfrc(rule: Response) -> Law:
    if not isinstance(rule, TFRC):
        raise TypeError(f"rule = {rule!r}: must be a window rule or TFRC()")
    return rule


def _steady_history(law: Law, rate: float, rtt: float) -> Any:
    """Return a history of equal intervals that give this rate, and the rate."""
    from responsefn.metrics.tfrc_loss_intervals import LossHistory

    interval = 1.0 / float(invert(law, rate, rtt))
    history = LossHistory()
    for _ in range(len(history.weights)):
        history.close(interval)
    return history, rate


@quantities(rtt="time", bandwidth="rate", share="share", fair="share")
def convergence_time(
    rule: WindowRule,
    rtt: WithUnit,
    bandwidth: WithUnit,
    *,
    fair: WithUnit = 0.1,
    share: WithUnit = 0.9,
    rounds: int = 100_000,
    unit_check: bool = True,
) -> float:
    """Return the time in s until two flows of one rule share a link fairly.

    Both flows have a loss whenever the sum of their windows exceeds ``bandwidth * rtt`` (no buffer). They start
    with ``share`` and 1 - ``share`` of it.

    Parameters
    ----------
    rule
        Window rule.
    rtt
        Round-trip time in s.
    bandwidth
        Capacity in packets/s.
    fair
        Relative difference |x - y|/(x + y) that counts as fair.
    share
        Initial share of the first flow, 0.5 < share < 1.
    rounds
        Round trips after which the result is infinite: rules such as Scalable, whose windows keep
        their ratio, do not converge.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and a ``bandwidth`` above 1e7 packets/s.

    Examples
    --------
    >>> from responsefn import Reno, convergence_time
    >>> round(convergence_time(Reno(), rtt=0.1, bandwidth=1000.0), 1)
    7.5
    """
    instance("rule", rule, WindowRule, "a window rule, such as Reno()")
    rule = rule.in_fluid()
    rtt = one_number("rtt", round_trip(rtt, unit_check))
    bandwidth = capacity(bandwidth, unit_check)
    pipe = bandwidth * rtt
    fair = one_number("fair", fair, above=0.0, below=1.0)
    share = one_number("share", share, above=0.5, below=1.0)
    flows = [_steady(rule, max(2.0, part * pipe), rtt, bandwidth) for part in (share, 1 - share)]
    for n in range(integer("rounds", rounds, 1, 10_000_000)):
        x, y = (s.cwnd for s in flows)
        if abs(x - y) <= fair * (x + y):
            return n * rtt
        now = n * rtt
        if x + y >= pipe:
            flows = [rule.on_loss(s, rule.params, Event(now, rtt)) for s in flows]
        flows = [_round(rule, s, now, rtt) for s in flows]
    return math.inf
