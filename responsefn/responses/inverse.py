"""The inverse of a response function: the loss event rate at which a rate is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.units import in_units, quantities
from responsefn.responses.base import Response
from responsefn.responses.errors import AmbiguousRateError, UnreachableRateError
from responsefn.responses.input_checks import packet_rate, plain, round_trip, same_shape, spread
from responsefn.responses.labels import keeps_labels
from responsefn.responses.loss_cycles.cycle_inverse import SMALLEST_P, cycle_root
from responsefn.responses.response_warnings import quiet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SMALLEST_P", "AmbiguousRateError", "UnreachableRateError", "invert"]

JUMP = 1e-12
"""Relative difference between the wanted rate and that at the p that was found, beyond which none is."""
ROUND_OFF = 4e-15
"""Relative distance of p from where the closed form begins to hold that is round-off."""
CONTINUOUS = 1e-9
"""The same where p is bracketed to round-off: a continuous rate changes by far less over that."""

TABLES, NODES = 16, 257
"""Round-trip times for which a table gives the first guess; its nodes over log p."""
STEPS, SETTLED = 16, 1e-14
"""Steps of the secant method; the change of log p at which it is there."""
NEAR = 1e-6
"""Change of log p below which round-off would spoil a secant, and the last one is taken again."""


@quantities(rate="rate", rtt="time", bandwidth="rate")
@quiet()
@keeps_labels
def invert(
    rule: Response,
    rate: ArrayLike,
    rtt: ArrayLike,
    bandwidth: float | str | None = None,
    *,
    unit_check: bool = True,
) -> float | NDArray[np.float64]:
    """Return the loss event rate p with ``rule.rate(p, rtt) == rate``.

    In closed form where the rule states one, else by the secant method in ``log p`` (and
    Chandrupatla's where that does not settle) on all entries at once, to a relative 1e-12 of the rate
    and of p. Where the closed form does not hold the rate is that of the numerical cycle. At the
    border between both the rate may have a step, of up to some percent: rates within it are refused,
    as within any jump of a response. Where the closed form holds at the p that it gives, this p is
    returned, though a numerical cycle may have the same rate at another (BIC from p = 0.0053 to 0.014).

    A numerical cycle is inverted over 1e-10..1, to a relative 1e-12 of the rate. Its rate need not
    fall with p: windows of a few packets may alternate (above p = 0.1), and at the capacity p leaves no
    trace in the rate. So the cycle is solved at 12 values of p per decade first, and only rates
    that are met once, in an interval of a factor of 2 or more in which the rate falls with p, have an
    inverse. There p is as sharp as the rate: to 1e-12 over the elasticity. A cycle that is solved ACK by
    ACK and does not repeat has no inverse: its mean rate is no smooth function of p.

    Parameters
    ----------
    rule
        A window rule or law whose rate falls as p grows.
    rate
        Rate in packets/s, any shape, or a text such as ``"1Mbps"`` (in packets of 1500 bytes).
    rtt
        Round-trip time in s, any shape that broadcasts with ``rate``, or a text such as ``"40ms"``.
    bandwidth
        Capacity in packets/s or as a text, for rules that see the queue.
    unit_check
        Whether to refuse an ``rtt`` of 5 s or more, and rates above 1e7 packets/s.

    Returns
    -------
    p in 1e-12..1: a float for two numbers, else an array of the broadcast shape.

    Raises
    ------
    TypeError
        When ``rule`` is no rule or law, or its rate does not fall with p.
    UnreachableRateError
        A ValueError, for a rate that no p in that range gives, with the rates that can be reached
        at that round-trip time, or those between which the response jumps.
    AmbiguousRateError
        A ValueError, for a rate near which that of a numerical cycle does not fall with p, with the
        interval in which it does.
    ValueError
        For a rate, round-trip time or bandwidth that is not positive.

    Examples
    --------
    >>> from responsefn import TFRC, invert
    >>> p = invert(TFRC(), rate=1000.0, rtt=0.1)
    >>> round(TFRC().rate(p, rtt=0.1), 6)
    1000.0
    """
    if not isinstance(rule, Response):
        raise TypeError(f"rule = {rule!r}: must be a rule or law, such as Reno() or TFRC()")
    if not rule.monotone:
        raise TypeError(f"{rule!r} has no inverse: {rule.why_no_inverse}")
    rate, rtt = packet_rate("rate", rate, unit_check), round_trip(rtt, unit_check)
    bandwidth = in_units("bandwidth", bandwidth, "rate")
    same_shape(rate=rate, rtt=rtt)
    rule.check_inverse(rtt)
    rate, rtt = np.broadcast_arrays(rate, rtt)
    if not rule.uses_closed_form(bandwidth):
        if not hasattr(rule, "cycle"):
            return plain(_by_rates(rule, rate, rtt, bandwidth))
        return plain(cycle_root(rule, rate, rtt, bandwidth))
    p = _within_border(rule, np.clip(closed_root(rule, rate, rtt), SMALLEST_P, 1.0), rtt)
    with np.errstate(invalid="ignore"):
        off = np.abs(rule.value_of(rule._code("rate"), p=p, R=rtt) / rate - 1.0)
    found = (off <= JUMP) & rule.closed_form_holds(p, rtt)
    if found.all():
        return plain(p)
    if not rule.closed_form().everywhere:
        other = ~found
        p[other] = cycle_root(rule, rate[other], rtt[other], bandwidth)
        return plain(p)
    raise _unreachable(rule, rate, rtt, ~found)


def _within_border(rule: Response, p: Any, rtt: Any) -> NDArray[np.float64]:
    """Return p, moved by round-off to where the closed form holds if it does not at p itself."""
    p = np.array(p, dtype=np.float64)
    for factor in (1.0 + ROUND_OFF, 1.0 - ROUND_OFF):
        if (outside := ~rule.closed_form_holds(p, rtt)).any():
            moved = np.where(outside, np.clip(p * factor, SMALLEST_P, 1.0), p)
            p = np.where(rule.closed_form_holds(moved, rtt), moved, p)
    return np.asarray(p)


def _by_rates(rule: Response, rate: Any, rtt: Any, bandwidth: float | None) -> NDArray[np.float64]:
    """Return p for a response that is neither a closed form nor a cycle, by Chandrupatla's method."""
    from scipy.optimize.elementwise import find_root

    def excess(log_p: Any, rate: Any, rtt: Any) -> Any:
        p = np.exp(np.clip(log_p, np.log(SMALLEST_P), 0.0))
        return np.log(np.asarray(rule.rate(p, rtt, bandwidth, unit_check=False)) / rate)

    ends = (np.full(rate.shape, np.log(SMALLEST_P)), np.zeros(rate.shape))
    outside = (excess(ends[0], rate, rtt) < 0.0) | (excess(ends[1], rate, rtt) > 0.0)
    if outside.any():
        raise _unreachable(rule, rate, rtt, outside)
    found = find_root(excess, ends, args=(rate, rtt), tolerances={"fatol": JUMP})
    if np.any(jumped := ~(np.abs(found.f_x) <= CONTINUOUS)):
        low, high = (float(end[jumped].flat[0]) for end in np.sort(np.exp(found.f_bracket), axis=0))
        at, where = float(rate[jumped].flat[0]), float(rtt[jumped].flat[0])
        ends_of = (
            float(rule.rate(p, where, bandwidth, unit_check=False)) for p in (1.0, SMALLEST_P)
        )
        raise UnreachableRateError(
            f"rate = {at:g}: must not be in {at * low:.9g}..{at * high:.9g} packets/s, over which the rate "
            f"of {rule!r} jumps at p = {np.exp(found.x[jumped].flat[0]):.6g} and rtt = {where:g} s",
            (next(ends_of), next(ends_of)),
            (at * low, at * high),
        )
    return np.asarray(np.exp(np.minimum(found.x, 0.0)))


def _unreachable(rule: Response, rate: Any, rtt: Any, bad: Any) -> UnreachableRateError:
    at, rtt = rate[bad].flat[0], rtt[bad].flat[0]
    low, high = (float(rule.rate(p, rtt, unit_check=False)) for p in (1.0, SMALLEST_P))
    but = " without what the closed form leaps over" if low <= at <= high else ""
    return UnreachableRateError(
        f"rate = {at:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
        f"at rtt = {rtt:g} s for p from 1 down to {SMALLEST_P:g}{but}",
        (low, high),
    )


def closed_root(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    """Return the p of the closed form, by its inverse or by a root; NaN where there is none.

    Parameters
    ----------
    rule
        Rule or law with a closed form; whether this holds is not looked at.
    rate, rtt
        Packets/s and s, of one shape.
    """
    inverse = rule.closed_form().code("inverse")
    if inverse is not None:
        return rule.value_of(inverse, T=rate, R=rtt)
    ends = (rule.value_of(rule._code("rate"), p=p, R=rtt) for p in (1.0, SMALLEST_P))
    lowest, highest = (np.broadcast_to(end, rate.shape) for end in ends)
    # a rate that was computed at an end is inside
    slack = 8 * np.finfo(np.float64).eps
    inside = (rate >= lowest * (1 - slack)) & (rate <= highest * (1 + slack))
    p = np.full(rate.shape, np.nan)
    if inside.any():
        one = rtt.flat[0] if not any(rtt.strides) else rtt[inside]  # a number that was broadcast
        p[inside] = _root(rule, rate[inside], np.asarray(one))
    return p


def _root(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    """Return p by the secant method in log p from a table; by bracketing where that does not settle.

    ``rate`` has shape (n,), ``rtt`` this shape or none.
    """
    x, slope = _first_guess(rule, rate, rtt)
    going = np.arange(rate.size)
    last = step = np.zeros(rate.shape)
    for _ in range(STEPS):
        p = np.exp(np.clip(x[going], np.log(SMALLEST_P), 0.0))
        each = rtt[going] if rtt.ndim else rtt
        with np.errstate(all="ignore"):
            excess = np.log(rule.value_of(rule._code("rate"), p=p, R=each) / rate[going])
            secant = -step / (excess - last)
            slope = np.where((np.abs(step) > NEAR) & np.isfinite(secant), secant, slope)
            step = np.clip(excess * slope, -1.0, 1.0)
        step, last = np.where(np.isfinite(step), step, 0.0), excess
        x[going] -= step
        left = ~(np.abs(step) <= SETTLED)
        going, slope, step, last = going[left], slope[left], step[left], last[left]
        if not going.size:
            return np.asarray(np.exp(np.minimum(x, 0.0)))
    x[going] = np.log(_bracketed(rule, rate[going], rtt[going] if rtt.ndim else rtt))
    return np.asarray(np.exp(np.minimum(x, 0.0)))


def _first_guess(rule: Response, rate: Any, rtt: Any) -> tuple[Any, Any]:
    """Return log p and its change per log rate, shapes (n,): from a cubic spline for few RTTs."""
    from scipy.interpolate import CubicHermiteSpline

    several = np.unique(rtt)
    if several.size > TABLES:
        x = np.clip(2.0 * np.log(1.2 / (rate * rtt)), np.log(SMALLEST_P), 0.0)
        return x, 1.0 / spread(rule.value_of(rule._code("log_slope"), p=np.exp(x), R=rtt), x.shape)
    nodes = np.linspace(np.log(SMALLEST_P), 0.0, NODES)
    x, slope = np.empty(rate.shape), np.empty(rate.shape)
    for each in several:
        at = rtt == each if rtt.ndim else slice(None)
        values = {"p": np.exp(nodes), "R": float(each)}
        rates = np.log(rule.value_of(rule._code("rate"), **values))
        change = 1.0 / spread(rule.value_of(rule._code("log_slope"), **values), nodes.shape)
        spline = CubicHermiteSpline(-rates, nodes, -change)
        wanted = -np.log(rate[at])
        x[at], slope[at] = spline(wanted), -spline(wanted, 1)
    return x, slope


def _bracketed(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    from scipy.optimize.elementwise import find_root

    code = rule._code("rate")
    margin = 1e-9  # of log p, beyond both ends, so that the ends themselves are bracketed

    def excess(log_p: Any, rate: Any, rtt: Any) -> Any:
        p = np.minimum(np.exp(log_p), 1.0)
        beyond = np.maximum(log_p, 0.0)
        return np.log(rule.value_of(code, p=p, R=rtt) / rate) - beyond

    ends = (np.log(SMALLEST_P) - margin, margin)
    with np.errstate(invalid="ignore"):  # SciPy's interpolation test may see sqrt(-epsilon)
        found = find_root(excess, ends, args=(rate, rtt))
    if not np.all(found.success):
        raise ArithmeticError(f"no root of the response of {rule!r} was found")
    return np.asarray(np.exp(found.x))
