"""Metrics of rates (zheng2002, RFC 5166): friendliness, matching, smoothness and fairness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import choice, instance, number, one_number
from hopflow.units import WithUnit, quantities
from responsefn.diagnostics import quiet
from responsefn.inputs import keeps_labels, plain
from responsefn.response import Response
from responsefn.rules.base import WindowRule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["friendliness", "jain_index", "match", "smoothness"]


A_RULE = "a rule or law, such as Reno() or TFRC()"


@quantities(rtt="time", bandwidth="rate", p="share")
@quiet()
@keeps_labels
def friendliness(
    rule: Response,
    p: ArrayLike,
    rtt: ArrayLike,
    to: Response | None = None,
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> float | NDArray[np.float64]:
    """Return the ratio of a rule's rate to a reference's at the same p and rtt; 1 is friendly.

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
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Examples
    --------
    >>> from responsefn import AIMD, CUBIC, friendliness
    >>> round(friendliness(AIMD(3 / 7, 0.25), 0.01, 0.1), 9), round(friendliness(CUBIC(), 1e-6, 0.1), 1)
    (1.0, 4.8)
    """
    from responsefn.rules.classic import Reno

    reference = Reno() if to is None else instance("to", to, Response, A_RULE)
    instance("rule", rule, Response, A_RULE)
    rate, reference_rate = (
        np.asarray(response.rate(p, rtt, bandwidth, unit_check=unit_check)) for response in (rule, reference)
    )
    return plain(np.asarray(rate / reference_rate))


@quantities(bin_time="time", time_scale="time")
def smoothness(amounts: ArrayLike, bin_time: WithUnit, time_scale: WithUnit) -> float:
    """Return the coefficient of variation of a throughput over a time scale; 0 is smooth.

    Parameters
    ----------
    amounts
        Packets (or bits) delivered per bin, shape (n,).
    bin_time
        Length of a bin in s.
    time_scale
        Averaging time of the throughput in s, rounded to whole bins; an incomplete last window is
        omitted.

    Examples
    --------
    >>> from responsefn import smoothness
    >>> smoothness([1.0, 3.0, 1.0, 3.0], 0.1, 0.2), round(smoothness([1.0, 3.0, 1.0, 3.0], 0.1, 0.1), 3)
    (0.0, 0.577)
    """
    series = number("amounts", amounts, at_least=0.0)
    if series.ndim != 1:
        raise ValueError(f"amounts has shape {series.shape}: must be a list of amounts")
    bin_time = one_number("bin_time", bin_time, above=0.0)
    time_scale = one_number("time_scale", time_scale, at_least=bin_time, hint="bin_time")
    width = max(1, round(time_scale / bin_time))
    count = len(series) // width
    if count < 2:
        raise ValueError(
            f"time_scale = {time_scale:g}, bin_time = {bin_time:g}: windows of {width:.3g} bins; must fit "
            f"twice into the {len(series)} amounts"
        )
    windows = series[: count * width].reshape(count, width).sum(axis=1)
    mean = float(windows.mean())
    if mean == 0.0:
        raise ValueError("amounts: must not all be zero")
    return float(windows.std(ddof=1)) / mean


def jain_index(rates: ArrayLike) -> float:
    """Return Jain's fairness index (sum x)^2 / (n sum x^2): 1 for equal rates, 1/n for a single nonzero rate.

    >>> jain_index([3.0, 3.0, 3.0]), jain_index([1.0, 0.0, 0.0, 0.0])
    (1.0, 0.25)
    """
    x = number("rates", rates, at_least=0.0).ravel()
    if x.size == 0 or not x.any():
        raise ValueError("rates: must hold at least one positive rate")
    scaled = x / x.max()
    return float(scaled.sum() ** 2 / (x.size * (scaled**2).sum()))


@quantities(rtt="time", bandwidth="rate")
@quiet()
def match(
    rule: WindowRule,
    to: Response,
    at: float,
    rtt: WithUnit = 0.1,
    by: str = "a",
    bandwidth: WithUnit | None = None,
    *,
    unit_check: bool = True,
) -> WindowRule:
    """Return the rule with one parameter adjusted to the rate of another rule or law.

    For AIMD(a, b) and Reno this is a = 3b/(2-b) at every p.

    Parameters
    ----------
    rule
        The rule to change.
    to
        The rule or law whose rate is matched.
    at
        Loss event rate p.
    rtt
        Round-trip time in s.
    by
        The parameter to change, a positive number on which the rate depends monotonically.
    bandwidth
        Capacity in packets/s for rules that see the queue.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more.

    Examples
    --------
    >>> from responsefn import AIMD, Reno
    >>> round(match(AIMD(b=0.25), to=Reno(), at=0.01).a, 6)
    0.428571
    """
    from scipy.optimize import brentq

    instance("rule", rule, WindowRule, "a window rule, such as Reno()")
    instance("to", to, Response, A_RULE)
    at = one_number("at", at, above=0.0, at_most=1.0)
    choice("by", by, [n for n, v in rule.params._asdict().items() if not isinstance(v, str)])
    rtt = one_number("rtt", rtt, above=0.0)
    target_rate = float(to.rate(at, rtt, bandwidth, unit_check=unit_check))
    centre = math.log(one_number(by, rule.params._asdict()[by], above=0.0))

    def excess(log_value: float) -> float:
        try:
            changed = rule.replace(**{by: math.exp(log_value)})
        except ValueError:
            return math.nan
        rate = float(changed.rate(at, rtt, bandwidth, unit_check=unit_check))
        return math.log(rate / target_rate)

    for reach in (1.0, 2.0, 4.0, 8.0, 16.0):
        bracket = centre - reach, centre + reach
        low, high = map(excess, bracket)
        if low * high <= 0.0:
            root = brentq(excess, *bracket, xtol=1e-14, rtol=1e-14)
            return rule.replace(**{by: math.exp(root)})
    raise ValueError(f"{by}: no value gives {rule!r} the rate {target_rate:g} packets/s at p = {at:g}")
