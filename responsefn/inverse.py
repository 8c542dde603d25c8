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
    method on all entries at once; for a numerical cycle, whose peaks are found to 1e-10, by Brent's
    method on one entry after the other.

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
        raise TypeError(f"{rule!r} has no inverse: its rate does not fall with p everywhere")
    rate, rtt = number("rate", rate, above=0.0), round_trip(rtt, unit_check)
    same_shape(rate=rate, rtt=rtt)
    rule.check_inverse(rtt)
    rate, rtt = np.broadcast_arrays(rate, rtt)
    closed = rule.uses_closed_form(bandwidth)
    smallest = SMALLEST_P if closed else SMALLEST_CYCLE_P

    def of(p: float) -> NDArray[np.float64]:
        return np.asarray(rule.rate(p, rtt, bandwidth, unit_check=unit_check))

    lowest, highest = of(1.0), of(smallest)
    # a rate that was computed at an end is inside
    slack = 8 * np.finfo(np.float64).eps if closed else 1e-9
    outside = (rate < lowest * (1 - slack)) | (rate > highest * (1 + slack))
    if np.any(outside):
        bad, low, high, at = (float(x[outside].flat[0]) for x in (rate, lowest, highest, rtt))
        raise UnreachableRateError(
            f"rate = {bad:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
            f"at rtt = {at:g} s for p from 1 down to {smallest:g}",
            (low, high),
        )
    if not closed:
        return plain(_cycle_root(rule, rate, rtt, bandwidth, unit_check))
    closed_form = rule.closed_form().inverse
    if closed_form is not None:
        p = rule.value_of(closed_form, T=rate, R=rtt)
    else:
        p = _root(rule, rate, rtt)
    return plain(np.clip(p, SMALLEST_P, 1.0))


def _cycle_root(
    rule: Response, rate: Any, rtt: Any, bandwidth: float | None, unit_check: bool
) -> NDArray[np.float64]:
    """Return p for a rule whose rate is a numerical cycle."""
    from scipy.optimize import brentq

    found = np.empty(rate.shape)
    for at in np.ndindex(rate.shape):

        def excess(log_p: float, at: tuple[int, ...] = at) -> float:
            p = min(1.0, max(SMALLEST_CYCLE_P, float(np.exp(log_p))))
            here = rule.rate(p, float(rtt[at]), bandwidth, unit_check=unit_check)
            return float(np.log(here / rate[at]))

        low, high = float(np.log(SMALLEST_CYCLE_P)), 0.0
        if excess(low) <= 0.0:
            found[at] = SMALLEST_CYCLE_P
        elif excess(high) >= 0.0:
            found[at] = 1.0
        else:
            found[at] = np.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    return found


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
