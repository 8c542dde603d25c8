"""The inverse of a response function: the loss event rate at which a rate is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import number, seconds
from responsefn.responses import Response, formula_of, plain, same_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["SMALLEST_P", "invert"]

SMALLEST_P = 1e-12
"""Smallest loss event rate that `invert` returns."""


def invert(rule: Response, rate: ArrayLike, rtt: ArrayLike) -> float | NDArray[np.float64]:
    """Return the loss event rate p with ``rule.rate(p, rtt) == rate``.

    In closed form where the rule states one, else by bracketing ``log p`` and Chandrupatla's
    method on all entries at once.

    Parameters
    ----------
    rule
        A window rule or law whose rate falls as p grows.
    rate
        Rate in packets/s, any shape.
    rtt
        Round-trip time in s, any shape that broadcasts with ``rate``.

    Returns
    -------
    p in 1e-12..1: a float for two numbers, else an array of the broadcast shape.

    Raises
    ------
    TypeError
        When ``rule`` is no rule or law.
    ValueError
        Naming the parameter, its value and what is allowed; for a rate that no p in that range
        gives, with the rates that can be reached at that round-trip time.

    Examples
    --------
    >>> from responsefn import TFRC, invert
    >>> p = invert(TFRC(), rate=1000.0, rtt=0.1)
    >>> round(TFRC().rate(p, rtt=0.1), 6)
    1000.0
    """
    if not isinstance(rule, Response):
        raise TypeError(f"rule = {rule!r}: must be a rule or law, such as Reno() or TFRC()")
    rate, rtt = number("rate", rate, above=0.0), seconds("rtt", rtt)
    same_shape(rate=rate, rtt=rtt)
    rule.check_inverse(rtt)
    rate, rtt = np.broadcast_arrays(rate, rtt)
    lowest, highest = np.asarray(rule.rate(1.0, rtt)), np.asarray(rule.rate(SMALLEST_P, rtt))
    slack = 8 * np.finfo(np.float64).eps  # a rate that was computed at an end is inside
    outside = (rate < lowest * (1 - slack)) | (rate > highest * (1 + slack))
    if np.any(outside):
        bad, low, high, at = (float(x[outside].flat[0]) for x in (rate, lowest, highest, rtt))
        raise ValueError(
            f"rate = {bad:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
            f"at rtt = {at:g} s for p from 1 down to {SMALLEST_P:g}"
        )
    closed_form = formula_of(rule).inverse
    if closed_form is not None:
        p = rule.value_of(closed_form, T=rate, R=rtt)
    else:
        p = _root(rule, rate, rtt)
    return plain(np.clip(p, SMALLEST_P, 1.0))


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
