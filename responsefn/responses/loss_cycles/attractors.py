"""Other rates to which a rule comes, from small and from large windows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from responsefn.responses.loss_cycles.cycle_loops import Limits, approach
from responsefn.responses.loss_cycles.cycles import SLOW, cases_of, solve
from responsefn.responses.response_warnings import (
    SeveralAttractorsWarning,
    SlowApproachWarning,
    quiet,
    sink,
    warn,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from responsefn.responses.dynamics import Cycle, Dynamics

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

__all__ = ["SAME_RATE", "Remarks", "comment", "distinct", "rates_beside", "remarks_of"]

SAME_RATE = 0.03
"""Relative difference of rates that are one."""
SMALLEST, LARGEST = 2.0, 4.0
"""Windows from which other rates are looked for: packets, and times the peak."""
NEAR, EVENTS = 0.015, 256
"""How near a rate a run must come, and in how many loss events."""
BUDGET_SHARE, MIN_BUDGET, MAX_BUDGET = 0.6, 1000.0, 100_000.0
"""Steps of a run beside those of the solution, and their limits in blocks of ACKs: 0.02 s at most."""
MIN_MEANS = 3
"""Means of the rate without which a run says nothing."""
ACKS_PER_BLOCK = 3.0
"""ACKs that take as long as a block of them."""
STEADY = 0.003
"""Relative change of the mean rate, between intervals of which the second is twice as long, below which it stands for an attractor."""
SMALLEST_P = 1e-7
"""Loss event rate below which no other rates are looked for."""
MEAN = 64
"""Loss events over which the rate is averaged where cycles do not repeat."""


def rates_beside(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, known: Cycle
) -> tuple[Floats, Bools]:
    """Return the rates that are reached from a small and a large window, shape (n, 2); NaN for the known one.

    ``p`` and ``rtt`` have shape (n,), as what is ``known``. Also return for which of the n both searches were finished:
    each may take 0.6 times the steps of the solution. A run that stays away from the known rate, and comes to rest
    within them, is solved from its window.
    """
    # 1. Runs from both windows, until they come near the known rate or their budget is exhausted.
    # 2. A run that rests elsewhere shows another attractor, whose rate the solution from there says.
    # 3. A run that does neither, or whose solution would take too long, is a slow approach to the known rate, or to another one: which, is left open.
    n = len(p)
    means = np.where(known.period > 0, np.minimum(known.period, MEAN), MEAN).astype(np.int64)
    peaks = np.concatenate([np.full(n, SMALLEST), LARGEST * known.peak_window])
    twice = [np.concatenate([each, each]) for each in (p, rtt, known.rate, means, known.by_acks)]
    ps, rtts, rates, events, by_acks = twice
    steps = np.concatenate([known.steps, known.steps])
    per_event = np.where(by_acks, 1.0 / ps, steps / np.concatenate([known.cycles, known.cycles]))
    cases = cases_of(rule, ps, rtts, bandwidth, peaks)
    searched = ps >= SMALLEST_P
    away = np.full((2 * n, 3), np.nan)
    for acks in (False, True):
        if (some := searched & (by_acks == acks)).any():
            scale = ACKS_PER_BLOCK if acks else 1.0
            budgets = np.clip(BUDGET_SHARE * steps, scale * MIN_BUDGET, scale * MAX_BUDGET)
            some &= MIN_MEANS * events * per_event <= budgets
            limits = Limits(0, EVENTS * MEAN, acks, same=NEAR)
            away[some] = approach(
                cases.some(some), rates[some], limits, events[some], budgets[some]
            )
    open_ = searched & ~np.isfinite(away[:, 0])
    rests = abs(away[:, 1] / away[:, 2] - 1.0) < STEADY
    apart = abs(away[:, 1] / rates - 1.0) > SAME_RATE
    found = np.full(2 * n, np.nan)
    finished = searched & ~open_
    affordable = steps <= np.where(by_acks, ACKS_PER_BLOCK, 1.0) * MAX_BUDGET
    if (other := open_ & rests & apart & affordable).any():
        finished |= other
        with quiet(), suppress(ArithmeticError):  # it comes to none from there
            solved = solve(rule, ps[other], rtts[other], bandwidth, peaks[other]).rate
            new = abs(solved / rates[other] - 1.0) > SAME_RATE
            found[other] = np.where(new, solved, np.nan)
    return found.reshape(2, n).T.copy(), finished.reshape(2, n).all(axis=0)


def distinct(rates: Any) -> tuple[float, ...]:
    """Return rates in packets/s that differ, largest first; NaN is left out."""
    found: list[float] = []
    for rate in sorted((float(rate) for rate in rates if not np.isnan(rate)), reverse=True):
        if not found or rate < (1.0 - SAME_RATE) * found[-1]:
            found.append(rate)
    return tuple(found)


class Remarks(NamedTuple):
    """Loss event rates, other rates in packets/s (NaN: none), and loss events to reach the rate (NaN: few).

    ``searched`` says where the search for other rates was finished.
    """

    p: Floats
    beside: Floats
    searched: Bools
    loss_events: Floats


def comment(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, known: Cycle) -> None:
    """Warn where there are other rates than the ``known`` ones, or a connection needs long to reach them."""
    beside, searched = rates_beside(rule, p, rtt, bandwidth, known)
    remarks = sink()
    if remarks is not None:
        remarks.append(Remarks(p, beside, searched, known.loss_events))
        return
    slow = np.flatnonzero(~np.isnan(known.loss_events))
    if slow.size:
        n = slow[np.argmax(known.loss_events[slow])]
        events = float(known.loss_events[n])
        many = f"{events:.0f}" if np.isfinite(events) else f"more than {SLOW:,}"
        warn(
            SlowApproachWarning(
                f"{rule!r}: p = {p[n]:g}, rtt = {rtt[n]:g}: a connection needs {many} loss events to come within 1 % of "
                f"{known.rate[n]:.4g} packets/s{_of(slow, p)}",
                events,
            )
        )
    several = np.flatnonzero((~np.isnan(beside)).any(axis=1))
    if several.size:
        n = several[0]
        rates = distinct([known.rate[n], *beside[n]])
        listed = " and ".join(f"{rate:.4g}" for rate in rates)
        warn(
            SeveralAttractorsWarning(
                f"{rule!r}: p = {p[n]:g}, rtt = {rtt[n]:g}: comes to {listed} packets/s from different windows; the answer "
                f"{known.rate[n]:.4g} is reached from the peak that its closed form, or Reno's, has{_of(several, p)}",
                rates,
            )
        )


def _of(some: Any, p: Floats) -> str:
    return f" ({len(some)} of {len(p)} values of p)" if len(p) > 1 else ""


def remarks_of(
    p: Floats, rate: Floats, remarks: Sequence[list[Remarks]]
) -> tuple[Floats, Floats, Bools]:
    """Return attractors, shape (n, m, 3), loss events, and where all were searched, (n, m), of n rules at m loss rates."""
    attractors = np.full((*rate.shape, 3), np.nan)
    attractors[..., 0] = rate
    events = np.full(rate.shape, np.nan)
    searched = np.zeros(rate.shape, dtype=np.bool_)
    for n, several in enumerate(remarks):
        for said in several:
            place = {value: j for j, value in enumerate(said.p)}
            for m, value in enumerate(p):
                if (j := place.get(value)) is not None:
                    rates = distinct([rate[n, m], *said.beside[j]])
                    attractors[n, m, : len(rates)] = rates
                    events[n, m] = said.loss_events[j]
                    searched[n, m] = said.searched[j]
    return attractors, events, searched
