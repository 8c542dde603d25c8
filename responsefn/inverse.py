"""The inverse of a response function: the loss event rate at which a rate is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import number
from responsefn.responses import Response, plain, round_trip, same_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SMALLEST_P", "UnreachableRateError", "invert"]

SMALLEST_P = 1e-12
"""Smallest loss event rate that `invert` returns."""
SMALLEST_CYCLE_P = 1e-10
"""The same for a rule whose response is a numerical cycle."""
CYCLE_SLACK = 1e-9
"""Relative noise of a numerical cycle's rate at the ends of the range."""
CYCLE_ROUND_TRIP = 1e-13
"""Relative difference from the wanted rate at which the inverse of a numerical cycle is found."""
STRIDE, FALSE_POSITIONS = 3.0, 60
"""Steps in log p in search of a bracket, and how often it is narrowed at most."""


class UnreachableRateError(ValueError):
    """No loss event rate gives this rate; ``.reachable`` is the interval of those that can be.

    Attributes
    ----------
    reachable
        Lowest and highest rate in packets/s at the round-trip time of the first offending entry.
    """

    def __init__(self, message: str, reachable: tuple[float, float]) -> None:
        super().__init__(message)
        self.reachable = reachable


def invert(
    rule: Response,
    rate: ArrayLike,
    rtt: ArrayLike,
    bandwidth: float | None = None,
    *,
    unit_check: bool = True,
) -> float | NDArray[np.float64]:
    """Return the loss event rate p with ``rule.rate(p, rtt) == rate``.

    In closed form where the rule states one, else by bracketing ``log p`` and Chandrupatla's
    method on all entries at once, to a relative 1e-12 of the rate and of p. A numerical cycle is
    inverted in the same way over 1e-10..1, until its rate is met to the last digits or jumps over it:
    also to 1e-12 where the cycle settles, and where p moves the rate at all (at the capacity it does
    not). Two rules come back less well: CTCP with a bandwidth, whose two windows cannot be added up
    without loss of digits (1e-9 below p = 1e-5), and those whose cycle never settles (`Cycle.cycles`
    is a power of two), BIC and CUBIC with fast convergence: their rate is an average over thousands
    of cycles, smooth to 1e-12 at p = 1e-6 and to 5e-9 at 1e-10; above p = 0.003 these are chaotic,
    and the average jumps by up to 1 %.

    Parameters
    ----------
    rule
        A window rule or law whose rate falls as p grows.
    rate
        Rate in packets/s, any shape.
    rtt
        Round-trip time in s, any shape that broadcasts with ``rate``.
    bandwidth
        Capacity in packets/s, for rules that see the queue.
    unit_check
        Whether to refuse an ``rtt`` of 30 s or more.

    Returns
    -------
    p in 1e-12..1: a float for two numbers, else an array of the broadcast shape.

    Raises
    ------
    TypeError
        When ``rule`` is no rule or law, or its rate does not fall with p.
    UnreachableRateError
        A ValueError, for a rate that no p in that range gives, with the rates that can be reached
        at that round-trip time.
    ValueError
        Naming the parameter, its value and what is allowed.

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
    rate, rtt = number("rate", rate, above=0.0), round_trip(rtt, unit_check)
    same_shape(rate=rate, rtt=rtt)
    rule.check_inverse(rtt)
    rate, rtt = np.broadcast_arrays(rate, rtt)
    if not rule.uses_closed_form(bandwidth):
        return plain(_cycle_root(rule, rate, rtt, bandwidth))
    lowest, highest = (np.asarray(rule.rate(p, rtt, unit_check=False)) for p in (1.0, SMALLEST_P))
    # a rate that was computed at an end is inside
    slack = 8 * np.finfo(np.float64).eps
    outside = (rate < lowest * (1 - slack)) | (rate > highest * (1 + slack))
    if np.any(outside):
        raise _unreachable(rule, rate[outside].flat[0], rtt[outside].flat[0], None, SMALLEST_P)
    closed_form = rule.closed_form().inverse
    if closed_form is not None:
        p = rule.value_of(closed_form, T=rate, R=rtt)
    else:
        p = _root(rule, rate, rtt)
    return plain(np.clip(p, SMALLEST_P, 1.0))


def _unreachable(
    rule: Response, rate: float, rtt: float, bandwidth: float | None, smallest: float
) -> UnreachableRateError:
    low, high = (float(rule.rate(p, rtt, bandwidth, unit_check=False)) for p in (1.0, smallest))
    return UnreachableRateError(
        f"rate = {rate:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
        f"at rtt = {rtt:g} s for p from 1 down to {smallest:g}",
        (low, high),
    )


def _cycle_root(
    rule: Response, rate: Any, rtt: Any, bandwidth: float | None
) -> NDArray[np.float64]:
    """Return p for a rule whose rate is a numerical cycle, all entries at once.

    False position with Anderson and Bjorck's weights in log p, on which log rate is nearly linear.
    """
    shape, smallest = rate.shape, np.log(SMALLEST_CYCLE_P)
    rate, rtt = rate.ravel(), rtt.ravel()

    def excess(log_p: Any, at: Any) -> Any:
        p = np.clip(np.exp(log_p), SMALLEST_CYCLE_P, 1.0)
        return np.log(rule.rate(p, rtt[at], bandwidth, unit_check=False) / rate[at])

    # Reno's p is a fair guess; from there to the other side of the root
    x = np.clip(np.log(1.5 / (rate * rtt) ** 2), smallest, 0.0)
    f = excess(x, slice(None)) if x.size else x
    other, g = x.copy(), f.copy()
    for _ in range(int(-smallest / STRIDE) + 1):
        same = np.flatnonzero((f * g > 0) & (other != np.where(f > 0, 0.0, smallest)))
        if not same.size:
            break
        x[same], f[same] = other[same], g[same]
        other[same] = np.clip(x[same] + np.copysign(STRIDE, f[same]), smallest, 0.0)
        g[same] = excess(other[same], same)
    bad = (f * g > 0) & (np.abs(g) > CYCLE_SLACK)
    if np.any(bad):
        at = int(np.argmax(bad))
        raise _unreachable(rule, float(rate[at]), float(rtt[at]), bandwidth, SMALLEST_CYCLE_P)
    # x is the newer end of the bracket and `other` the one with the other sign
    x, f, other, g = other, g, x, f
    for _ in range(FALSE_POSITIONS):
        going = np.flatnonzero(
            (np.abs(f) > CYCLE_ROUND_TRIP) & (f * g < 0) & (np.abs(x - other) > 1e-14)
        )
        if not going.size:
            break
        a, fa, b, fb = (array[going] for array in (x, f, other, g))
        new = b - fb * (a - b) / (fa - fb)
        value = excess(new, going)
        crossed = value * fa < 0
        weight = 1.0 - value / fa
        weight = np.where(weight > 0.0, weight, 0.5)
        x[going], f[going] = new, value
        other[going] = np.where(crossed, a, b)
        g[going] = np.where(crossed, fa, fb * weight)
    return np.asarray(np.exp(x).reshape(shape))


def _root(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    from scipy.optimize.elementwise import find_root

    expression = rule.expression
    margin = 1e-9  # of log p, beyond both ends, so that the ends themselves are bracketed

    def excess(log_p: Any, rate: Any, rtt: Any) -> Any:
        p = np.minimum(np.exp(log_p), 1.0)
        beyond = np.maximum(log_p, 0.0)
        return np.log(rule.value_of(expression, p=p, R=rtt) / rate) - beyond

    ends = (np.log(SMALLEST_P) - margin, margin)
    with np.errstate(invalid="ignore"):  # SciPy's interpolation test may see sqrt(-epsilon)
        found = find_root(excess, ends, args=(rate, rtt))
    if not np.all(found.success):
        raise ArithmeticError(f"no root of the response of {rule!r} was found")
    return np.asarray(np.exp(found.x))
