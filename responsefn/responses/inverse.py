"""The inverse of a response function: the loss event rate at which a rate is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hopflow.checks import number
from responsefn.responses.base import Response, plain, round_trip, same_shape
from responsefn.responses.cycle_inverse import cycle_root
from responsefn.responses.errors import AmbiguousRateError, UnreachableRateError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from responsefn.rules.base import WindowRule

__all__ = ["SMALLEST_P", "AmbiguousRateError", "UnreachableRateError", "invert"]

SMALLEST_P = 1e-12
"""Smallest loss event rate that `invert` returns."""
JUMP = 1e-12
"""Relative difference between the wanted rate and that at the p that was found, beyond which none is."""


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
    method on all entries at once, to a relative 1e-12 of the rate and of p.

    A numerical cycle is inverted over 1e-10..1, to a relative 1e-12 of the rate. Its rate need not
    fall with p: windows of a few packets may alternate (above p = 0.1), and at the capacity p leaves no
    trace in the rate. So the cycle is solved at 12 values of p per decade first, and only rates of
    the widest interval in which it falls have an inverse. There p is as sharp as the rate: to 1e-12
    over the elasticity.

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
        at that round-trip time, or those between which the response jumps.
    AmbiguousRateError
        A ValueError, for a rate near which that of a numerical cycle does not fall with p, with the
        interval in which it does.
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
        return plain(cycle_root(cast("WindowRule", rule), rate, rtt, bandwidth))
    lowest, highest = (np.asarray(rule.rate(p, rtt, unit_check=False)) for p in (1.0, SMALLEST_P))
    # a rate that was computed at an end is inside
    slack = 8 * np.finfo(np.float64).eps
    outside = (rate < lowest * (1 - slack)) | (rate > highest * (1 + slack))
    if np.any(outside):
        raise _unreachable(rule, rate, rtt, outside)
    closed_form = rule.closed_form().inverse
    if closed_form is not None:
        p = rule.value_of(closed_form, T=rate, R=rtt)
    else:
        p = _root(rule, rate, rtt)
    p = np.clip(p, SMALLEST_P, 1.0)
    jumped = np.abs(np.asarray(rule.rate(p, rtt, unit_check=False)) / rate - 1.0) > JUMP
    if np.any(jumped):
        raise _unreachable(rule, rate, rtt, jumped, " without what the closed form leaps over")
    return plain(p)


def _unreachable(
    rule: Response, rate: Any, rtt: Any, bad: Any, but: str = ""
) -> UnreachableRateError:
    at, rtt = rate[bad].flat[0], rtt[bad].flat[0]
    low, high = (float(rule.rate(p, rtt, unit_check=False)) for p in (1.0, SMALLEST_P))
    return UnreachableRateError(
        f"rate = {at:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
        f"at rtt = {rtt:g} s for p from 1 down to {SMALLEST_P:g}{but}",
        (low, high),
    )


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
