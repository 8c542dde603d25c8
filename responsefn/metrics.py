"""Metrics of senders (zheng2002, RFC 5166): friendliness, smoothness, responsiveness and the others.

Those that speak of a rule's reaction run its own functions, one round trip after the other, as
plain Python at a fixed round-trip time.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, number, one_number, whole
from responsefn.inverse import invert
from responsefn.laws import TFRC, Law
from responsefn.responses import Response, round_trip
from responsefn.rules import WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "aggressiveness",
    "convergence_time",
    "friendliness",
    "jain_index",
    "match",
    "responsiveness",
    "smoothness",
]

PARTS = 8  # blocks of ACKs per round trip


class _Event:
    """What `WindowRule` functions get: time and round-trip time in s."""

    def __init__(self, time: float, rtt: float) -> None:
        self.time = time
        self.rtt = rtt


def _round(rule: WindowRule, s: Any, now: float, rtt: float) -> Any:
    """Return the state after a round trip without loss, in blocks of an eighth of a window."""
    for part in range(PARTS):
        k = max(1.0, s.cwnd / PARTS)
        new = rule.on_ack(s, rule.params, _Event(now + part * rtt / PARTS, rtt))
        changes = {
            name: getattr(new, name)
            if name in rule.assigned
            else getattr(s, name) + k * (getattr(new, name) - getattr(s, name))
            for name in s._fields
            if getattr(new, name) != getattr(s, name)
        }
        s = s._replace(**changes)
    return s


def _steady(rule: WindowRule, window: float, rtt: float, bandwidth: float | None) -> Any:
    """Return the state with this window, in congestion avoidance."""
    s = rule.start(rtt, bandwidth)
    known = {"cwnd": window, "ssthresh": 1.0, "peak": window, "reno": window, "estimate": 0.0}
    if "estimate" in s._fields:
        known["estimate"] = window / rtt
    for name in ("loss_window", "base_window"):
        known[name] = window
    return s._replace(**{name: value for name, value in known.items() if name in s._fields})


def friendliness(
    rule: Response,
    p: ArrayLike,
    rtt: ArrayLike,
    to: Response | None = None,
    bandwidth: float | None = None,
) -> float | NDArray[np.float64]:
    """Return the rate of a rule over that of a reference at the same p and rtt; 1 is friendly.

    Parameters
    ----------
    rule
        Rule or law.
    p, rtt
        Loss event rate and round-trip time in s, shapes that broadcast.
    to
        The reference; None is ``Reno()``.
    bandwidth
        Capacity in packets/s, for rules that see the queue.
    """
    from responsefn.classic import Reno

    reference = Reno() if to is None else to
    ratio = np.asarray(rule.rate(p, rtt, bandwidth)) / reference.rate(p, rtt, bandwidth)
    return ratio if ratio.ndim else float(ratio)


def smoothness(amounts: ArrayLike, bin_time: float, time_scale: float) -> float:
    """Return the coefficient of variation of a throughput over a time scale; 0 is smooth.

    Parameters
    ----------
    amounts
        Packets (or bits) delivered per bin, shape (n,).
    bin_time
        Length of a bin in s.
    time_scale
        Over which throughput is averaged first, in s, rounded to whole bins; what does not fill a
        last window is left out.
    """
    series = number("amounts", amounts, at_least=0.0)
    if series.ndim != 1:
        raise ValueError(f"amounts has shape {series.shape}: must be a list of amounts")
    bin_time = one_number("bin_time", bin_time, above=0.0)
    width = max(1, round(one_number("time_scale", time_scale, at_least=bin_time) / bin_time))
    count = len(series) // width
    if count < 2:
        raise ValueError(f"time_scale = {time_scale:g}: must leave two windows of the series")
    windows = series[: count * width].reshape(count, width).sum(axis=1)
    mean = float(windows.mean())
    if mean == 0.0:
        raise ValueError("amounts: must not all be zero")
    return float(windows.std(ddof=1)) / mean


def jain_index(rates: ArrayLike) -> float:
    """Return Jain's fairness index (sum x)^2 / (n sum x^2): 1 for equal rates, 1/n for one alone.

    >>> jain_index([3.0, 3.0, 3.0]), jain_index([1.0, 0.0, 0.0, 0.0])
    (1.0, 0.25)
    """
    x = number("rates", rates, at_least=0.0).ravel()
    if x.size == 0 or not x.any():
        raise ValueError("rates: must hold at least one positive rate")
    scaled = x / x.max()
    return float(scaled.sum() ** 2 / (x.size * (scaled**2).sum()))


def responsiveness(
    rule: Response, rtt: float = 0.1, window: float = 100.0, bandwidth: float | None = None
) -> int:
    """Return after how many round trips of persistent congestion the rate has halved.

    Persistent congestion is one loss event per round trip. For AIMD this is log(1/2)/log(1-b)
    rounded up; for `TFRC` the loss history of RFC 5348 in a steady state gets one interval of a
    round trip's packets after the other.

    Parameters
    ----------
    rule
        A window rule or ``TFRC()``.
    rtt
        Round-trip time in s.
    window
        In packets, before congestion sets in.
    bandwidth
        Capacity in packets/s for rules that see the queue; the queue is empty here.
    """
    rtt = float(round_trip(one_number("rtt", rtt)))
    window = one_number("window", window, above=1.0)
    rounds = 0
    if isinstance(rule, WindowRule):
        s = _steady(rule, window, rtt, bandwidth)
        while s.cwnd > 0.5 * window * (1 + 1e-12):
            s = rule.on_loss(s, rule.params, _Event(rounds * rtt, rtt))
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


def aggressiveness(
    rule: Response, rtt: float = 0.1, window: float = 100.0, bandwidth: float | None = None
) -> float:
    """Return the largest increase of the window in one round trip without loss, in packets.

    Over 40 round trips after a loss. For AIMD this is a; for `TFRC` the window is rate times
    ``rtt``, the history discounts, every interval was equal before, and the loss-free time is that
    of eight intervals (the rate does not rise at all before the first has passed).

    Parameters
    ----------
    rule, rtt, window, bandwidth
        As for `responsiveness`; the window before the loss.
    """
    rtt = float(round_trip(one_number("rtt", rtt)))
    window = one_number("window", window, above=1.0)
    largest = 0.0
    if isinstance(rule, WindowRule):
        s = rule.on_loss(_steady(rule, window, rtt, bandwidth), rule.params, _Event(0.0, rtt))
        for n in range(40):
            before = s.cwnd
            s = _round(rule, s, n * rtt, rtt)
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
    from responsefn.intervals import LossHistory

    interval = 1.0 / float(invert(law, rate, rtt))
    history = LossHistory()
    for _ in range(len(history.weights)):
        history.close(interval)
    return history, rate


def convergence_time(
    rule: WindowRule,
    rtt: float,
    bandwidth: float,
    *,
    fair: float = 0.1,
    share: float = 0.9,
    rounds: int = 100_000,
) -> float:
    """Return how long two flows of one rule take to share a link, in s.

    They see every loss together, whenever the sum of their windows exceeds ``bandwidth * rtt`` (a
    queue without room), and start with ``share`` and the rest of it.

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
        Of the first flow at the beginning, 0.5 < share < 1.
    rounds
        Round trips after which the answer is infinite: a rule such as Scalable, whose windows keep
        their ratio for ever, does not converge.
    """
    rtt = float(round_trip(one_number("rtt", rtt)))
    capacity = one_number("bandwidth", bandwidth, above=0.0) * rtt
    fair = one_number("fair", fair, above=0.0, below=1.0)
    share = one_number("share", share, above=0.5, below=1.0)
    flows = [
        _steady(rule, max(2.0, part * capacity), rtt, bandwidth) for part in (share, 1 - share)
    ]
    for n in range(whole("rounds", rounds, 1, 10_000_000)):
        x, y = (s.cwnd for s in flows)
        if abs(x - y) <= fair * (x + y):
            return n * rtt
        now = n * rtt
        if x + y >= capacity:
            flows = [rule.on_loss(s, rule.params, _Event(now, rtt)) for s in flows]
        flows = [_round(rule, s, now, rtt) for s in flows]
    return math.inf


def match(
    rule: WindowRule,
    to: Response,
    at: float,
    rtt: float = 0.1,
    by: str = "a",
    bandwidth: float | None = None,
) -> WindowRule:
    """Return the rule with one parameter chosen such that its rate is that of another.

    For AIMD(a, b) and Reno this is a = 3b/(2-b) at every p.

    Parameters
    ----------
    rule
        The rule to change.
    to
        The rule or law whose rate is wanted.
    at
        Loss event rate p.
    rtt
        Round-trip time in s.
    by
        The parameter to change, a positive number on which the rate depends monotonically.
    bandwidth
        Capacity in packets/s for rules that see the queue.

    Examples
    --------
    >>> from responsefn import AIMD, Reno
    >>> round(match(AIMD(b=0.25), to=Reno(), at=0.01).a, 6)
    0.428571
    """
    from scipy.optimize import brentq

    choice("by", by, [n for n, v in rule.params._asdict().items() if not isinstance(v, str)])
    wanted = float(to.rate(at, rtt, bandwidth))
    centre = math.log(one_number(by, rule.params._asdict()[by], above=0.0))

    def excess(log_value: float) -> float:
        try:
            changed = rule.replace(**{by: math.exp(log_value)})
        except ValueError:
            return math.nan
        return math.log(float(changed.rate(at, rtt, bandwidth)) / wanted)

    for reach in (1.0, 2.0, 4.0, 8.0, 16.0):
        ends = centre - reach, centre + reach
        low, high = map(excess, ends)
        if low * high <= 0.0:
            found = brentq(excess, *ends, xtol=1e-14, rtol=1e-14)
            return rule.replace(**{by: math.exp(found)})
    raise ValueError(f"{by}: no value gives {rule!r} the rate {wanted:g} packets/s at p = {at:g}")
