"""The inverse of a response: the loss event rate at which a rate is reached, for closed forms and numerical cycles."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.units import in_units, quantities
from responsefn.cycles import repeating_only
from responsefn.diagnostics import AmbiguousRateError, UnreachableRateError, quiet
from responsefn.inputs import keeps_labels, packet_rate, plain, round_trip, same_shape, spread
from responsefn.response import Response

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from responsefn.dynamics import Dynamics

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

__all__ = [
    "SMALLEST_P",
    "Scan",
    "clear_scans",
    "cycle_root",
    "invert",
    "invert_closed_form",
    "scan",
]

SMALLEST_P, SMALLEST_CYCLE_P = 1e-12, 1e-10
"""Smallest loss event rate that `invert` returns, and at which numerical cycles are inverted."""
RATE_TOLERANCE = 1e-12
"""Relative difference from the wanted rate beyond which p is no solution: the rate jumps."""
ROUND_OFF = 4e-15
"""Relative distance of p from the border of the closed form that is round-off."""
JUMP_OF_RATE = 1e-9
"""Relative difference from the wanted rate, where p is bracketed to round-off, that is a jump of the rate."""
END_SLACK = 1e-9
"""Relative difference from the rate at an end of the range that still counts as the end."""

MAX_TABLES, NODES = 16, 257
"""Number of round-trip times for which a table gives the first guess, and its nodes over log p."""
SECANT_STEPS, SECANT_TOLERANCE = 16, 1e-14
"""Maximum steps of the secant method, and the change of log p at which it ends."""
MIN_SECANT = 1e-6
"""Change of log p below which round-off would dominate a secant, and the last slope is used."""

SAMPLES_PER_DECADE, FEW_PACKETS_FACTOR = 12, 8
"""Values of p per decade at which a cycle is solved before its inversion, and their factor above 0.1.

Above 0.1, cycles of a few packets may alternate."""
MIN_RATIO_OF_RATES, MIN_RATIO_OF_P = 2.0, 9.99
"""Minimum ratios of the rates, or of the p, at both ends of an interval of unique rates.

An interval that is narrower in both has too few samples. Near a capacity rates differ little over decades of p."""
ROOT_TOLERANCE = 1e-13
"""Relative difference from the target rate at which p is a root."""
SLOPE_STEP, FLAT = 1e-3, 1e-12
"""Over this relative change of p to both sides a rate must fall by more than ten times its round-off."""
FALSE_POSITIONS = 60
"""Maximum number of steps of false position."""


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
    that are met once, in an interval in which the rate falls with p, over a factor of 2 of the rate or
    a decade of p, have an inverse. There p is as sharp as the rate: to 1e-12 over the elasticity. A cycle
    that is solved ACK by ACK and does not repeat has no inverse: its mean rate is no smooth function of p.

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
            return plain(_rate_root(rule, rate, rtt, bandwidth))
        return plain(cycle_root(rule, rate, rtt, bandwidth))
    p = _move_into_domain(rule, np.clip(invert_closed_form(rule, rate, rtt), SMALLEST_P, 1.0), rtt)
    with np.errstate(invalid="ignore"):
        error = np.abs(rule.value_of(rule._code("rate"), p=p, R=rtt) / rate - 1.0)
    unsolved = ~((error <= RATE_TOLERANCE) & rule.closed_form_holds(p, rtt))
    if unsolved.any():
        if rule.closed_form().everywhere:
            raise _unreachable(rule, rate, rtt, unsolved)
        p[unsolved] = cycle_root(rule, rate[unsolved], rtt[unsolved], bandwidth)
    return plain(p)


def _move_into_domain(rule: Response, p: Any, rtt: Any) -> NDArray[np.float64]:
    """Return p, moved by round-off to where the closed form holds if it does not at p itself."""
    p = np.array(p, dtype=np.float64)
    for factor in (1.0 + ROUND_OFF, 1.0 - ROUND_OFF):
        if (outside := ~rule.closed_form_holds(p, rtt)).any():
            moved = np.where(outside, np.clip(p * factor, SMALLEST_P, 1.0), p)
            p = np.where(rule.closed_form_holds(moved, rtt), moved, p)
    return np.asarray(p)


def _unreachable(rule: Response, rate: Any, rtt: Any, mask: Any) -> UnreachableRateError:
    """Return the error for the first rate in a mask."""
    rate, rtt = rate[mask].flat[0], rtt[mask].flat[0]
    low, high = (float(rule.rate(p, rtt, unit_check=False)) for p in (1.0, SMALLEST_P))
    exception = " without what the closed form leaps over" if low <= rate <= high else ""
    return UnreachableRateError(
        f"rate = {rate:g}: must be in {low:g}..{high:g} packets/s, the rates of {rule!r} "
        f"at rtt = {rtt:g} s for p from 1 down to {SMALLEST_P:g}{exception}",
        (low, high),
    )


# Closed forms


def invert_closed_form(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    """Return the p of the closed form, by its inverse or by a root; NaN where there is none.

    Parameters
    ----------
    rule
        Rule or law with a closed form; whether it holds at p is not checked.
    rate, rtt
        Packets/s and s, of one shape.
    """
    inverse = rule.closed_form().code("inverse")
    if inverse is not None:
        return rule.value_of(inverse, T=rate, R=rtt)
    bracket = (rule.value_of(rule._code("rate"), p=p, R=rtt) for p in (1.0, SMALLEST_P))
    lowest, highest = (np.broadcast_to(end, rate.shape) for end in bracket)
    # a rate that was computed at an end is inside
    slack = 8 * np.finfo(np.float64).eps
    inside = (rate >= lowest * (1 - slack)) & (rate <= highest * (1 + slack))
    p = np.full(rate.shape, np.nan)
    if inside.any():
        is_number = not any(rtt.strides)  # that was broadcast
        rtts = np.asarray(rtt.flat[0] if is_number else rtt[inside])
        p[inside] = _secant_root(rule, rate[inside], rtts)
    return p


def _secant_root(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    """Return p by the secant method in log p from a table; by bracketing where that does not converge.

    ``rate`` has shape (n,), ``rtt`` this shape or none.
    """
    log_p, slope = _first_guess(rule, rate, rtt)
    active = np.arange(rate.size)
    previous = step = np.zeros(rate.shape)
    for _ in range(SECANT_STEPS):
        p = np.exp(np.clip(log_p[active], np.log(SMALLEST_P), 0.0))
        rtts = rtt[active] if rtt.ndim else rtt
        with np.errstate(all="ignore"):
            excess = np.log(rule.value_of(rule._code("rate"), p=p, R=rtts) / rate[active])
            secant = -step / (excess - previous)
            slope = np.where((np.abs(step) > MIN_SECANT) & np.isfinite(secant), secant, slope)
            step = np.clip(excess * slope, -1.0, 1.0)
        step, previous = np.where(np.isfinite(step), step, 0.0), excess
        log_p[active] -= step
        moves = ~(np.abs(step) <= SECANT_TOLERANCE)
        active, slope, step, previous = active[moves], slope[moves], step[moves], previous[moves]
        if not active.size:
            return np.asarray(np.exp(np.minimum(log_p, 0.0)))
    log_p[active] = np.log(_bracketing_root(rule, rate[active], rtt[active] if rtt.ndim else rtt))
    return np.asarray(np.exp(np.minimum(log_p, 0.0)))


def _first_guess(rule: Response, rate: Any, rtt: Any) -> tuple[Any, Any]:
    """Return log p and its change per log rate, shapes (n,): from a cubic spline for few RTTs."""
    from scipy.interpolate import CubicHermiteSpline

    rtts = np.unique(rtt)
    if rtts.size > MAX_TABLES:
        x = np.clip(2.0 * np.log(1.2 / (rate * rtt)), np.log(SMALLEST_P), 0.0)
        return x, 1.0 / spread(rule.value_of(rule._code("log_slope"), p=np.exp(x), R=rtt), x.shape)
    nodes = np.linspace(np.log(SMALLEST_P), 0.0, NODES)
    x, slope = np.empty(rate.shape), np.empty(rate.shape)
    for one_rtt in rtts:
        mask = rtt == one_rtt if rtt.ndim else slice(None)
        symbols = {"p": np.exp(nodes), "R": float(one_rtt)}
        log_rates = np.log(rule.value_of(rule._code("rate"), **symbols))
        change = 1.0 / spread(rule.value_of(rule._code("log_slope"), **symbols), nodes.shape)
        spline = CubicHermiteSpline(-log_rates, nodes, -change)
        targets = -np.log(rate[mask])
        x[mask], slope[mask] = spline(targets), -spline(targets, 1)
    return x, slope


def _bracketing_root(rule: Response, rate: Any, rtt: Any) -> NDArray[np.float64]:
    """Return p by Chandrupatla's method between both ends of the range."""
    from scipy.optimize.elementwise import find_root

    code = rule._code("rate")
    margin = 1e-9  # of log p, beyond both ends, so that the ends themselves are bracketed

    def excess(log_p: Any, rate: Any, rtt: Any) -> Any:
        p = np.minimum(np.exp(log_p), 1.0)
        beyond = np.maximum(log_p, 0.0)
        return np.log(rule.value_of(code, p=p, R=rtt) / rate) - beyond

    bracket = (np.log(SMALLEST_P) - margin, margin)
    with np.errstate(invalid="ignore"):  # SciPy's interpolation test may see sqrt(-epsilon)
        root = find_root(excess, bracket, args=(rate, rtt))
    if not np.all(root.success):
        raise ArithmeticError(f"no root of the response of {rule!r} was found")
    return np.asarray(np.exp(root.x))


def _rate_root(rule: Response, rate: Any, rtt: Any, bandwidth: float | None) -> NDArray[np.float64]:
    """Return p for a response that is neither a closed form nor a cycle, by Chandrupatla's method."""
    from scipy.optimize.elementwise import find_root

    def excess(log_p: Any, rate: Any, rtt: Any) -> Any:
        p = np.exp(np.clip(log_p, np.log(SMALLEST_P), 0.0))
        return np.log(np.asarray(rule.rate(p, rtt, bandwidth, unit_check=False)) / rate)

    bracket = (np.full(rate.shape, np.log(SMALLEST_P)), np.zeros(rate.shape))
    outside = (excess(bracket[0], rate, rtt) < 0.0) | (excess(bracket[1], rate, rtt) > 0.0)
    if outside.any():
        raise _unreachable(rule, rate, rtt, outside)
    root = find_root(excess, bracket, args=(rate, rtt), tolerances={"fatol": RATE_TOLERANCE})
    if np.any(jumps := ~(np.abs(root.f_x) <= JUMP_OF_RATE)):
        first_rate, first_rtt = float(rate[jumps].flat[0]), float(rtt[jumps].flat[0])
        low, high = (first_rate * float(end[jumps].flat[0]) for end in np.sort(np.exp(root.f_bracket), axis=0))
        lowest, highest = (float(rule.rate(p, first_rtt, bandwidth, unit_check=False)) for p in (1.0, SMALLEST_P))
        raise UnreachableRateError(
            f"rate = {first_rate:g}: must not be in {low:.9g}..{high:.9g} packets/s, over which the rate "
            f"of {rule!r} jumps at p = {np.exp(root.x[jumps].flat[0]):.6g} and rtt = {first_rtt:g} s",
            (lowest, highest),
            (low, high),
        )
    return np.asarray(np.exp(np.minimum(root.x, 0.0)))


# Numerical cycles


@dataclass(frozen=True, eq=False)
class Scan:
    """Cycles of a rule over falling p at one round-trip time.

    Attributes
    ----------
    log_p, log_rate
        From p = 1 down, shape (n,).
    period
        `Cycle.period`, shape (n,).
    """

    log_p: Floats
    log_rate: Floats
    period: Floats

    @property
    def reachable(self) -> tuple[float, float]:
        """Lowest and highest rate in packets/s."""
        return float(np.exp(self.log_rate.min())), float(np.exp(self.log_rate.max()))

    @cached_property
    def unique(self) -> Floats:
        """Logarithms of the ends of all intervals of rates with one p that fall with p, (k, 2).

        Between two samples the rate is taken to fall if it has fallen and the period is the same. An interval over less
        than a factor of 2 of the rate and less than a decade of p counts only if it is the widest one.
        """
        low, high = self.log_rate[:-1], self.log_rate[1:]
        excluded = (high - low <= FLAT) | (self.period[:-1] != self.period[1:]) | (self.period[1:] == 0)
        starts = np.append(np.minimum(low, high)[excluded], self.log_rate.max())
        stops = np.maximum(low, high)[excluded]
        order = np.argsort(starts)
        edges = np.append(self.log_rate.min(), stops[order[:-1]])
        below = np.maximum.accumulate(edges)
        width = starts[order] - below
        wide = width >= min(math.log(MIN_RATIO_OF_RATES), width.max())
        intervals = np.stack([below, starts[order]], axis=1)
        spans = np.array([self._decades_of(*interval) for interval in intervals])
        return np.asarray(intervals[wide | (spans >= math.log10(MIN_RATIO_OF_P))])

    def _decades_of(self, low: float, high: float) -> float:
        """Return the decades of p over which the samples have log rates in an interval; 0 for less than two samples."""
        log_p = self.log_p[(self.log_rate >= low - FLAT) & (self.log_rate <= high + FLAT)]
        return float(np.ptp(log_p)) / math.log(10.0) if log_p.size > 1 else 0.0

    def is_unique(self, log_rate: Floats) -> Bools:
        """Return whether rates are in one of the intervals of `unique`."""
        low, high = self.unique.T
        rate = log_rate[..., None]
        return np.asarray(((rate >= low - FLAT) & (rate <= high + FLAT)).any(axis=-1))

    def without(self, log_p: float, log_rate: float) -> Scan:
        """Return the scan with a further sample, around which no rate is unique."""
        index = len(self.log_p) - np.searchsorted(self.log_p[::-1], log_p)
        arrays = ((self.log_p, log_p), (self.log_rate, log_rate), (self.period, 0.0))
        return Scan(*(np.insert(array, index, sample) for array, sample in arrays))

    def cell(self, log_rate: Floats) -> Ints:
        """Return the index of the first sample at or above each rate."""
        highest = np.maximum.accumulate(self.log_rate)
        return np.maximum(np.searchsorted(highest, log_rate), 1)


def scan(rule: Dynamics, rtt: float, bandwidth: float | None, up_to: float) -> Scan:
    """Return the cycles of a rule at a round-trip time in s, decade by decade of falling p.

    The last decade is the first with all rates above ``up_to`` or at the capacity, otherwise the decade that ends at
    1e-12, or at 1e-10 where the closed form does not hold, or the last one before a cycle that is too long to be
    solved.
    """
    smallest = SMALLEST_P if _has_closed_end(rule, rtt, bandwidth) else SMALLEST_CYCLE_P
    parts: list[Floats] = []
    for decade in range(round(-math.log10(smallest))):
        try:
            parts.append(_scan_decade(rule, rtt, bandwidth, decade))
        except ArithmeticError:
            if not parts:
                raise
            break
        minimum = float(parts[-1][1].min())
        if minimum > up_to or (bandwidth and minimum >= bandwidth * (1.0 - FLAT)):
            break
    p, rate, period = np.concatenate(parts, axis=1)
    return Scan(np.log(p), np.log(rate), period)


def _has_closed_end(rule: Dynamics, rtt: float, bandwidth: float | None) -> bool:
    """Return whether the closed form holds at the smallest p."""
    if not rule.uses_closed_form(bandwidth):
        return False
    return bool(rule.closed_form_holds(np.array([SMALLEST_P, SMALLEST_CYCLE_P]), rtt).all())


@lru_cache(maxsize=1024)
def _scan_decade(rule: Dynamics, rtt: float, bandwidth: float | None, decade: int) -> Floats:
    """Return p, rates and periods, shape (3, n); computed once for equal rules."""
    count = SAMPLES_PER_DECADE * (1 if decade else FEW_PACKETS_FACTOR)
    p = 10.0 ** (-decade - np.arange(decade > 0, count + 1) / count)
    return np.stack([p, *_rates(rule, p, np.full(p.shape, rtt), bandwidth)])


def _rates(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None) -> tuple[Floats, Floats]:
    """Return rates and the periods of their cycles, 1 for a closed form, 0 for a rough rate; shapes (n,)."""
    rate, period = np.empty(p.shape), np.ones(p.shape)
    closed = np.zeros(p.shape, dtype=bool)
    if rule.uses_closed_form(bandwidth):
        closed = rule.closed_form_holds(p, rtt)
        rate[closed] = rule.rate(p[closed], rtt[closed], bandwidth, unit_check=False)
    if not closed.all():
        with repeating_only():
            cycle = rule.cycle(p[~closed], rtt[~closed], bandwidth, unit_check=False)
        rate[~closed], period[~closed] = cycle.rate, cycle.period
    return rate, period


def clear_scans() -> None:
    """Remove all scans from the cache, for timings."""
    _scan_decade.cache_clear()


def cycle_root(rule: Dynamics, rate: Floats, rtt: Floats, bandwidth: float | None) -> Floats:
    """Return p for a rule whose rate is a numerical cycle, all entries at once.

    False position with Anderson and Bjorck's weights in log p, on which log rate is nearly linear, between samples of a
    `Scan`.

    Parameters
    ----------
    rule
        Window rule.
    rate, rtt
        Packets/s and s, of one shape.
    bandwidth
        Capacity in packets/s, or None.

    Raises
    ------
    UnreachableRateError
        For a rate below or above all rates of the rule, or in a jump.
    AmbiguousRateError
        For a rate outside of the interval in which rates fall with p.
    """
    shape = rate.shape
    rate, rtt = rate.ravel(), rtt.ravel()
    if not rate.size:
        return np.empty(shape)

    def excess(log_p: Floats, indices: Ints) -> tuple[Floats, Floats]:
        p = np.clip(np.exp(log_p), SMALLEST_P, 1.0)
        response, period = _rates(rule, p, rtt[indices], bandwidth)
        return np.asarray(np.log(response / rate[indices])), period

    # 1. A bracket of each rate, between samples of the cycles at its round-trip time.
    everywhere, scans = np.arange(rate.size), {}
    brackets = np.empty((6, rate.size))  # of both ends: x, f(x) and the period
    for one_rtt in map(float, np.unique(rtt)):
        indices = everywhere[rtt == one_rtt]
        highest = (1.0 + END_SLACK) * float(rate[indices].max())
        scans[one_rtt] = scan(rule, one_rtt, bandwidth, highest)
        log_rates = np.log(rate[indices])
        brackets[:, indices] = _bracket(rule, one_rtt, bandwidth, scans[one_rtt], log_rates)
    nearer = np.abs(brackets[1]) <= np.abs(brackets[4])
    x, f, period, other, g, _ = np.where(nearer, brackets, np.roll(brackets, 3, axis=0))
    # 2. False position within the brackets.
    _run_false_position((x, f, period), (other, g), excess)
    border = _is_border(rule, x, other, rtt, bandwidth)
    # 3. Refusals: cycles that do not repeat, rates within a jump, rates that do not fall with p.
    jumps = np.flatnonzero(np.abs(f) > RATE_TOLERANCE)
    other_f, other_period = excess(other[jumps], jumps) if jumps.size else (f[jumps], f[jumps])
    for log_p, excesses, periods, indices in (
        (x, f, period, everywhere),
        (other[jumps], other_f, other_period, jumps),
    ):
        for n in np.flatnonzero(periods == 0)[:1]:
            one_rtt, log_rate = float(rtt[indices[n]]), float(np.log(rate[indices[n]]))
            sample = float(log_p[n]), log_rate + float(excesses[n])
            raise _ambiguous(rule, one_rtt, bandwidth, scans[one_rtt], log_rate, sample)
    if jumps.size:
        n = int(jumps[0])
        low, high = sorted(map(float, rate[n] * np.exp([f[n], other_f[0]])))
        raise UnreachableRateError(
            f"rate = {rate[n]:g}: must not be in {low:.9g}..{high:.9g} packets/s, over which the rate of "
            f"{rule!r} jumps at p = {np.exp(x[n]):.6g} and rtt = {rtt[n]:g} s",
            scans[float(rtt[n])].reachable,
            (low, high),
        )
    # the ends of the range have one side only
    up, down = (np.clip(x + step, np.log(SMALLEST_P), 0.0) for step in (SLOPE_STEP, -SLOPE_STEP))
    below, above = np.split(excess(np.append(down, up), np.tile(everywhere, 2))[0], 2)
    rises = (below - f <= FLAT) & (x - down > 0.5 * SLOPE_STEP)
    rises |= (f - above <= FLAT) & (up - x > 0.5 * SLOPE_STEP)
    if np.any(rises := rises & ~border & ~_is_border(rule, up, down, rtt, bandwidth)):
        n = int(np.argmax(rises))
        one_rtt, log_rate = float(rtt[n]), float(np.log(rate[n]))
        raise _ambiguous(rule, one_rtt, bandwidth, scans[one_rtt], log_rate)
    return np.asarray(np.exp(x).reshape(shape))


def _is_border(rule: Dynamics, x: Floats, other: Floats, rtt: Floats, bandwidth: float | None) -> Bools:
    """Return where the closed form holds at one of two log p and not at the other."""
    if not rule.uses_closed_form(bandwidth):
        return np.zeros(x.shape, dtype=bool)
    first, second = (rule.closed_form_holds(np.clip(np.exp(log_p), SMALLEST_P, 1.0), rtt) for log_p in (x, other))
    return np.asarray(first != second)


def _bracket(
    rule: Dynamics, rtt: float, bandwidth: float | None, samples: Scan, log_rates: Floats
) -> tuple[Floats, ...]:
    """Return both ends of the bracket of each log rate: x, log rate minus its target, and the period."""
    low, high = samples.log_rate.min(), samples.log_rate.max()
    # a rate that was computed at an end is inside
    clipped = np.clip(log_rates, low, high)
    log_rates = np.where(np.abs(clipped - log_rates) < END_SLACK, clipped, log_rates)
    if np.any(outside := (log_rates < low) | (log_rates > high)):
        samples = scan(rule, rtt, bandwidth, math.inf)
        rate, (minimum, maximum) = float(np.exp(log_rates[outside][0])), samples.reachable
        raise UnreachableRateError(
            f"rate = {rate:g}: must be in {minimum:g}..{maximum:g} packets/s, the rates of {rule!r} "
            f"at rtt = {rtt:g} s for p from 1 down to {np.exp(samples.log_p[-1]):.3g}",
            (minimum, maximum),
        )
    if not np.all(unique := samples.is_unique(log_rates)):
        raise _ambiguous(rule, rtt, bandwidth, samples, log_rates[~unique][0])
    cells = samples.cell(log_rates)
    return tuple(
        array[indices] - target
        for indices in (cells, cells - 1)
        for array, target in (
            (samples.log_p, 0.0),
            (samples.log_rate, log_rates),
            (samples.period, 0.0),
        )
    )


def _ambiguous(
    rule: Dynamics,
    rtt: float,
    bandwidth: float | None,
    samples: Scan,
    log_rate: float,
    aperiodic: tuple[float, float] | None = None,
) -> AmbiguousRateError:
    """Return the error for a rate, with the next interval in which rates have an inverse.

    The interval is that of the scanned decades, or of all where they cost nothing. ``aperiodic`` is log p and log rate
    of a cycle that does not repeat.
    """
    if _has_closed_end(rule, rtt, bandwidth):
        samples = scan(rule, rtt, bandwidth, math.inf)
    if aperiodic is not None:
        samples = samples.without(*aperiodic)
    intervals = samples.unique
    distance = np.maximum(intervals[:, 0] - log_rate, log_rate - intervals[:, 1])
    low, high = map(float, np.exp(intervals[np.argmin(distance)]))
    return AmbiguousRateError(
        f"rate = {np.exp(log_rate):g}: must be > {low:.9g} and < {high:.9g} packets/s, between which the "
        f"rate of {rule!r} at rtt = {rtt:g} s falls with p; several p, or none, may give another",
        (low, high),
    )


def _run_false_position(
    newer: tuple[Floats, Floats, Floats],
    older: tuple[Floats, Floats],
    excess: Callable[[Floats, Ints], tuple[Floats, Floats]],
) -> None:
    """Narrow brackets in place, with Anderson and Bjorck's weights.

    ``newer`` are x, f and the period of the last iterate, ``older`` x and f of the end where f has the other sign.
    """
    (x, f, period), (other, g) = newer, older
    for _ in range(FALSE_POSITIONS):
        active = np.flatnonzero((np.abs(f) > ROOT_TOLERANCE) & (f * g < 0) & (np.abs(x - other) > 1e-14))
        if not active.size:
            break
        a, fa, b, fb = (array[active] for array in (x, f, other, g))
        new = b - fb * (a - b) / (fa - fb)
        f_new, period[active] = excess(new, active)
        changes_sign = f_new * fa < 0
        weight = 1.0 - f_new / fa
        weight = np.where(weight > 0.0, weight, 0.5)
        x[active], f[active] = new, f_new
        other[active] = np.where(changes_sign, a, b)
        g[active] = np.where(changes_sign, fa, fb * weight)
