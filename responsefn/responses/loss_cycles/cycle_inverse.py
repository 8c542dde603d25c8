"""The inverse of a numerical cycle, whose rate need not fall with p, nor be continuous."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hopflow.fork_safety import cached_property
from responsefn.responses.errors import AmbiguousRateError, UnreachableRateError
from responsefn.responses.loss_cycles.cycles import repeating_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Dynamics

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SMALLEST_CYCLE_P", "SMALLEST_P", "Scan", "cycle_root", "forget", "scan"]

SMALLEST_P = 1e-12
"""Smallest loss event rate that `invert` returns."""
SMALLEST_CYCLE_P = 1e-10
"""Smallest loss event rate at which numerical cycles are inverted."""
PER_DECADE, OF_FEW_PACKETS = 12, 8
"""Values of p at which a response is looked at before it is inverted; how many times more above 0.1,
where cycles of a few packets may alternate."""
WIDE = 2.0
"""Ratio of the rates at both ends from which an interval without a rate that is met twice counts: in
narrower ones lie too few of the values of p that were looked at."""
SLACK = 1e-9
"""Relative difference from the rate at an end of the range that still counts as the end."""
CLOSE = 1e-13
"""Relative difference from the wanted rate at which p is found."""
JUMP = 1e-12
"""The same from which on no p is: the rate jumps."""
NEAR, FLAT = 1e-3, 1e-12
"""Over this relative change of p to both sides a rate must fall by more than ten times its round-off."""
FALSE_POSITIONS = 60


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
        """Logarithms of the ends of all intervals of rates that are met once and fall with p, (k, 2).

        Between two samples the rate is taken to fall if it has fallen and the period is the same.
        Of intervals over less than a factor of 2 only the widest counts, if there is no other.
        """
        low, high = self.log_rate[:-1], self.log_rate[1:]
        wrong = (
            (high - low <= FLAT) | (self.period[:-1] != self.period[1:]) | (self.period[1:] == 0)
        )
        starts = np.append(np.minimum(low, high)[wrong], self.log_rate.max())
        stops = np.maximum(low, high)[wrong]
        order = np.argsort(starts)
        edges = np.append(self.log_rate.min(), stops[order[:-1]])
        below = np.maximum.accumulate(edges)
        width = starts[order] - below
        some = width >= min(math.log(WIDE), width.max())
        return np.stack([below[some], starts[order][some]], axis=1)

    def is_unique(self, log_rate: Floats) -> NDArray[np.bool_]:
        """Return which rates are in one of the intervals of `unique`."""
        low, high = self.unique.T
        at = log_rate[..., None]
        return np.asarray(((at >= low - FLAT) & (at <= high + FLAT)).any(axis=-1))

    def without(self, log_p: float, log_rate: float) -> Scan:
        """Return the scan with a further sample, around which no rate is unique."""
        at = len(self.log_p) - np.searchsorted(self.log_p[::-1], log_p)
        more = ((self.log_p, log_p), (self.log_rate, log_rate), (self.period, 0.0))
        return Scan(*(np.insert(part, at, value) for part, value in more))

    def cell(self, log_rate: Floats) -> Ints:
        """Return before which sample rates are passed."""
        highest = np.maximum.accumulate(self.log_rate)
        return np.maximum(np.searchsorted(highest, log_rate), 1)


def scan(rule: Dynamics, rtt: float, bandwidth: float | None, up_to: float) -> Scan:
    """Return the cycles of a rule at a round-trip time in s, a decade of p after the other.

    They end at the capacity, and with the first decade in which all rates are above ``up_to``, else at
    1e-12 where the closed form holds there, and at 1e-10 where it does not, or before the first decade with a cycle
    that is too long to be solved.
    """
    last = SMALLEST_P if _closed_at_the_end(rule, rtt, bandwidth) else SMALLEST_CYCLE_P
    parts: list[Floats] = []
    for decade in range(round(-math.log10(last))):
        try:
            parts.append(_decade(rule, rtt, bandwidth, decade))
        except ArithmeticError:
            if not parts:
                raise
            break
        least = float(parts[-1][1].min())
        if least > up_to or (bandwidth and least >= bandwidth * (1.0 - FLAT)):
            break
    p, rate, period = np.concatenate(parts, axis=1)
    return Scan(np.log(p), np.log(rate), period)


def _closed_at_the_end(rule: Dynamics, rtt: float, bandwidth: float | None) -> bool:
    """Return whether the closed form holds where p is smallest."""
    if not rule.uses_closed_form(bandwidth):
        return False
    return bool(rule.closed_form_holds(np.array([SMALLEST_P, SMALLEST_CYCLE_P]), rtt).all())


@lru_cache(maxsize=1024)
def _decade(rule: Dynamics, rtt: float, bandwidth: float | None, decade: int) -> Floats:
    """Return p, rates and periods, shape (3, n); computed once for equal rules."""
    count = PER_DECADE * (1 if decade else OF_FEW_PACKETS)
    p = 10.0 ** (-decade - np.arange(decade > 0, count + 1) / count)
    return np.stack([p, *_rates(rule, p, np.full(p.shape, rtt), bandwidth)])


def _rates(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None
) -> tuple[Floats, Floats]:
    """Return rates, and the periods of their cycles, 1 for a closed form; shapes (n,).

    Where the period is 0 the rate is a rough one.
    """
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


def forget() -> None:
    """Forget all responses that were looked at, for timings."""
    _decade.cache_clear()


def cycle_root(
    rule: Dynamics, rate: Floats, rtt: Floats, bandwidth: float | None
) -> NDArray[np.float64]:
    """Return p for a rule whose rate is a numerical cycle, all entries at once.

    False position with Anderson and Bjorck's weights in log p, on which log rate is nearly linear,
    between samples of a `Scan`.

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

    def excess(log_p: Floats, at: Ints) -> tuple[Floats, Floats]:
        p = np.clip(np.exp(log_p), SMALLEST_P, 1.0)
        found, period = _rates(rule, p, rtt[at], bandwidth)
        return np.asarray(np.log(found / rate[at])), period

    everywhere, scans = np.arange(rate.size), {}
    ends = np.empty((6, rate.size))  # both ends of a bracket: x, f(x) and the period, and again
    for each in map(float, np.unique(rtt)):
        at = everywhere[rtt == each]
        scans[each] = scan(rule, each, bandwidth, (1.0 + SLACK) * float(rate[at].max()))
        ends[:, at] = _bracket(rule, each, bandwidth, scans[each], np.log(rate[at]))
    nearer = np.abs(ends[1]) <= np.abs(ends[4])
    x, f, period, other, g, _ = np.where(nearer, ends, np.roll(ends, 3, axis=0))
    _false_position((x, f, period), (other, g), excess)
    border = _at_border(rule, x, other, rtt, bandwidth)
    jumped = np.flatnonzero(np.abs(f) > JUMP)
    beyond, of_other = excess(other[jumped], jumped) if jumped.size else (f[jumped], f[jumped])
    for ends_at, off, periods, at in (
        (x, f, period, everywhere),
        (other[jumped], beyond, of_other, jumped),
    ):
        for n in np.flatnonzero(periods == 0)[:1]:
            where, log_rate = float(rtt[at[n]]), float(np.log(rate[at[n]]))
            sample = float(ends_at[n]), log_rate + float(off[n])
            raise _ambiguous(rule, where, bandwidth, scans[where], log_rate, sample)
    if jumped.size:
        n = int(jumped[0])
        low, high = sorted(map(float, rate[n] * np.exp([f[n], beyond[0]])))
        raise UnreachableRateError(
            f"rate = {rate[n]:g}: must not be in {low:.9g}..{high:.9g} packets/s, over which the rate of "
            f"{rule!r} jumps at p = {np.exp(x[n]):.6g} and rtt = {rtt[n]:g} s",
            scans[float(rtt[n])].reachable,
            (low, high),
        )
    # the ends of the range have one side only
    up, down = (np.clip(x + near, np.log(SMALLEST_P), 0.0) for near in (NEAR, -NEAR))
    below, above = np.split(excess(np.append(down, up), np.tile(everywhere, 2))[0], 2)
    rises = (below - f <= FLAT) & (x - down > 0.5 * NEAR)
    rises |= (f - above <= FLAT) & (up - x > 0.5 * NEAR)
    if np.any(rises := rises & ~border & ~_at_border(rule, up, down, rtt, bandwidth)):
        n = int(np.argmax(rises))
        where, log_rate = float(rtt[n]), float(np.log(rate[n]))
        raise _ambiguous(rule, where, bandwidth, scans[where], log_rate)
    return np.asarray(np.exp(x).reshape(shape))


def _at_border(
    rule: Dynamics, x: Floats, other: Floats, rtt: Floats, bandwidth: float | None
) -> NDArray[np.bool_]:
    """Return where the closed form holds at one of two log p and not at the other."""
    if not rule.uses_closed_form(bandwidth):
        return np.zeros(x.shape, dtype=bool)
    one, two = (
        rule.closed_form_holds(np.clip(np.exp(each), SMALLEST_P, 1.0), rtt) for each in (x, other)
    )
    return np.asarray(one != two)


def _bracket(
    rule: Dynamics, rtt: float, bandwidth: float | None, seen: Scan, wanted: Floats
) -> tuple[Floats, ...]:
    """Return both ends of the bracket of each log rate: x, log rate minus its target, and the period."""
    low, high = seen.log_rate.min(), seen.log_rate.max()
    # a rate that was computed at an end is inside
    wanted = np.where(
        np.abs(np.clip(wanted, low, high) - wanted) < SLACK, np.clip(wanted, low, high), wanted
    )
    if np.any(outside := (wanted < low) | (wanted > high)):
        seen = scan(rule, rtt, bandwidth, math.inf)
        rate, (least, most) = float(np.exp(wanted[outside][0])), seen.reachable
        raise UnreachableRateError(
            f"rate = {rate:g}: must be in {least:g}..{most:g} packets/s, the rates of {rule!r} "
            f"at rtt = {rtt:g} s for p from 1 down to {np.exp(seen.log_p[-1]):.3g}",
            (least, most),
        )
    if not np.all(once := seen.is_unique(wanted)):
        raise _ambiguous(rule, rtt, bandwidth, seen, wanted[~once][0])
    at = seen.cell(wanted)
    return tuple(
        part[each] - base
        for each in (at, at - 1)
        for part, base in ((seen.log_p, 0.0), (seen.log_rate, wanted), (seen.period, 0.0))
    )


def _ambiguous(
    rule: Dynamics,
    rtt: float,
    bandwidth: float | None,
    seen: Scan,
    log_rate: float,
    not_repeating: tuple[float, float] | None = None,
) -> AmbiguousRateError:
    """Return the error for a rate, with the interval next to it in which rates have an inverse.

    Of the decades that were looked at; of all where they cost nothing. ``not_repeating`` are log p and log rate
    of a cycle that does not repeat.
    """
    if _closed_at_the_end(rule, rtt, bandwidth):
        seen = scan(rule, rtt, bandwidth, math.inf)
    if not_repeating is not None:
        seen = seen.without(*not_repeating)
    intervals = seen.unique
    away = np.maximum(intervals[:, 0] - log_rate, log_rate - intervals[:, 1])
    low, high = map(float, np.exp(intervals[np.argmin(away)]))
    return AmbiguousRateError(
        f"rate = {np.exp(log_rate):g}: must be > {low:.9g} and < {high:.9g} packets/s, between which the "
        f"rate of {rule!r} at rtt = {rtt:g} s falls with p; several p, or none, may give another",
        (low, high),
    )


def _false_position(
    newer: tuple[Floats, Floats, Floats],
    older: tuple[Floats, Floats],
    excess: Callable[[Floats, Ints], tuple[Floats, Floats]],
) -> None:
    """Narrow brackets in place: x, f and the period of the newer end; x and f of the other, whose f has the other sign."""
    (x, f, period), (other, g) = newer, older
    for _ in range(FALSE_POSITIONS):
        going = np.flatnonzero((np.abs(f) > CLOSE) & (f * g < 0) & (np.abs(x - other) > 1e-14))
        if not going.size:
            break
        a, fa, b, fb = (array[going] for array in (x, f, other, g))
        new = b - fb * (a - b) / (fa - fb)
        value, period[going] = excess(new, going)
        crossed = value * fa < 0
        weight = 1.0 - value / fa
        weight = np.where(weight > 0.0, weight, 0.5)
        x[going], f[going] = new, value
        other[going] = np.where(crossed, a, b)
        g[going] = np.where(crossed, fa, fb * weight)
