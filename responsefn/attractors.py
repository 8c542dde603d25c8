"""Other rates to which a rule converges, from small and from large windows."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from responsefn.cycles import SLOW_LOSS_EVENTS, Limits, build_cases, follow_approach, solve
from responsefn.diagnostics import (
    SeveralAttractorsWarning,
    SlowApproachWarning,
    collector,
    quiet,
    warn,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.dynamics import Cycle, Dynamics

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = [
    "SAME_RATE",
    "Remarks",
    "distinct",
    "emit_remarks",
    "search_other_rates",
]

SAME_RATE = 0.03
"""Relative difference of rates that are one attractor."""
SMALL_WINDOW, LARGE_WINDOW = 2.0, 4.0
"""Windows from which the search starts: packets, and multiples of the peak."""
NEAR_RATE, MAX_MEANS = 0.015, 256
"""Relative distance from the rate that a run must reach, and in how many means."""
BUDGET_SHARE, MIN_BUDGET, MAX_BUDGET = 0.6, 1000.0, 100_000.0
"""Steps of a run relative to the solution's, and their limits in blocks of ACKs: 0.02 s at most."""
MIN_MEANS = 3
"""Mean rates without which a run is inconclusive."""
ACKS_PER_BLOCK = 3.0
"""ACKs that take as long as a block of them."""
STEADY_CHANGE = 0.003
"""Relative change of the mean rate from an interval to one twice as long, below which the run is at an attractor."""
SMALLEST_P = 1e-7
"""Loss event rate below which there is no search."""
MEAN_EVENTS = 64
"""Loss events over which the rate is averaged where cycles do not repeat."""


def search_other_rates(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, cycle: Cycle
) -> tuple[Floats, Bools]:
    """Return the rates that are reached from a small and from a large window, and where both searches finished.

    ``p``, ``rtt`` and the ``cycle`` have shape (n,), the results (n, 2) and (n,). NaN is the rate of the cycle. Each
    search may take 0.6 times the steps of the solution.
    """
    # 1. Runs from both windows, until they come near the rate or their budget is exhausted.
    # 2. A run that is steady elsewhere shows another attractor; its rate is that of the solution from there.
    # 3. A run that is neither, or whose solution would take too long, approaches one of the rates slowly: not decided.
    n = len(p)
    means = np.where(cycle.period > 0, np.minimum(cycle.period, MEAN_EVENTS), MEAN_EVENTS)
    peaks = np.concatenate([np.full(n, SMALL_WINDOW), LARGE_WINDOW * cycle.peak_window])
    ps, rtts, rates, steps, by_acks = (
        np.concatenate([array, array]) for array in (p, rtt, cycle.rate, cycle.steps, cycle.by_acks)
    )
    events = np.concatenate([means, means]).astype(np.int64)
    steps_per_event = np.where(by_acks, 1.0 / ps, steps / np.concatenate([cycle.cycles, cycle.cycles]))
    cases = build_cases(rule, ps, rtts, bandwidth, peaks)
    in_range = ps >= SMALLEST_P
    approach = np.full((2 * n, 3), np.nan)
    for acks in (False, True):
        if (selected := in_range & (by_acks == acks)).any():
            scale = ACKS_PER_BLOCK if acks else 1.0
            budgets = np.clip(BUDGET_SHARE * steps, scale * MIN_BUDGET, scale * MAX_BUDGET)
            selected &= MIN_MEANS * events * steps_per_event <= budgets
            limits = Limits(0, MAX_MEANS * MEAN_EVENTS, acks, same=NEAR_RATE)
            approach[selected] = follow_approach(
                cases.select(selected), rates[selected], limits, events[selected], budgets[selected]
            )
    away = in_range & ~np.isfinite(approach[:, 0])
    steady = abs(approach[:, 1] / approach[:, 2] - 1.0) < STEADY_CHANGE
    elsewhere = abs(approach[:, 1] / rates - 1.0) > SAME_RATE
    affordable = steps <= np.where(by_acks, ACKS_PER_BLOCK, 1.0) * MAX_BUDGET
    other_rates = np.full(2 * n, np.nan)
    finished = in_range & ~away
    if (other := away & steady & elsewhere & affordable).any():
        finished |= other
        with quiet(), suppress(ArithmeticError):  # a solution from there may drift
            solved = solve(rule, ps[other], rtts[other], bandwidth, peaks[other]).rate
            differs = abs(solved / rates[other] - 1.0) > SAME_RATE
            other_rates[other] = np.where(differs, solved, np.nan)
    return other_rates.reshape(2, n).T.copy(), finished.reshape(2, n).all(axis=0)


def distinct(rates: Any) -> tuple[float, ...]:
    """Return rates in packets/s that differ, largest first, without NaN."""
    result: list[float] = []
    for rate in sorted((float(rate) for rate in rates if not np.isnan(rate)), reverse=True):
        if not result or rate < (1.0 - SAME_RATE) * result[-1]:
            result.append(rate)
    return tuple(result)


class Remarks(NamedTuple):
    """Loss event rates, other rates in packets/s (NaN: none), and loss events to reach the rate (NaN: few).

    ``searched`` is where the search for other rates finished.
    """

    p: Floats
    other_rates: Floats
    searched: Bools
    loss_events: Floats


def emit_remarks(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, cycle: Cycle) -> None:
    """Warn about other rates than the cycle's, and about rates that a connection needs long to reach."""
    other_rates, searched = search_other_rates(rule, p, rtt, bandwidth, cycle)
    remarks = collector()
    if remarks is not None:
        remarks.append(Remarks(p, other_rates, searched, cycle.loss_events))
        return
    slow = np.flatnonzero(~np.isnan(cycle.loss_events))
    if slow.size:
        n = slow[np.argmax(cycle.loss_events[slow])]
        events = float(cycle.loss_events[n])
        count = f"{events:.0f}" if np.isfinite(events) else f"more than {SLOW_LOSS_EVENTS:,}"
        warn(
            SlowApproachWarning(
                f"{rule!r}: p = {p[n]:g}, rtt = {rtt[n]:g}: a connection needs {count} loss events to come within "
                f"1 % of {cycle.rate[n]:.4g} packets/s{_share(slow, p)}",
                events,
            )
        )
    several = np.flatnonzero((~np.isnan(other_rates)).any(axis=1))
    if several.size:
        n = several[0]
        rates = distinct([cycle.rate[n], *other_rates[n]])
        listed = " and ".join(f"{rate:.4g}" for rate in rates)
        warn(
            SeveralAttractorsWarning(
                f"{rule!r}: p = {p[n]:g}, rtt = {rtt[n]:g}: comes to {listed} packets/s from different windows; "
                f"the answer {cycle.rate[n]:.4g} is reached from the peak that its closed form, or Reno's, has"
                f"{_share(several, p)}",
                rates,
            )
        )


def _share(indices: Any, p: Floats) -> str:
    return f" ({len(indices)} of {len(p)} values of p)" if len(p) > 1 else ""
