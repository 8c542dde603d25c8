"""Other rates to which a rule comes, from small and from large windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from responsefn.responses.cycle_loops import Cases, Limits, approach
from responsefn.responses.cycle_starts import begin_at_peak
from responsefn.responses.cycles import cases_of, solve
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

__all__ = ["SAME_RATE", "Remarks", "comment", "distinct", "rates_beside", "remarks_of"]

SAME_RATE = 0.03
"""Relative difference of rates that are one."""
SMALLEST, LARGEST = 2.0, 4.0
"""Windows from which other rates are looked for: packets, and times the peak."""
NEAR, EVENTS, BUDGET = 0.015, 256, 50_000
"""How near a rate a run must come, in how many loss events and steps; otherwise the cycle is solved from there."""
SMALLEST_P = 1e-7
"""Loss event rate below which no other rates are looked for."""
MEAN = 64
"""Loss events over which the rate is averaged where cycles do not repeat."""


def rates_beside(
    rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, known: Cycle
) -> Floats:
    """Return the rates that are reached from a small and a large window, shape (n, 2); NaN for the known one.

    ``p`` and ``rtt`` have shape (n,), as what is ``known``.
    """
    found = np.full((len(p), 2), np.nan)
    means = np.where(known.period > 0, np.minimum(known.period, MEAN), MEAN).astype(np.int64)
    for n, peaks in enumerate((np.full(len(p), SMALLEST), LARGEST * known.peak_window)):
        cases = cases_of(rule, p, rtt, bandwidth)
        cases = cases._replace(starts=begin_at_peak(rule, p, rtt, bandwidth, peaks))
        searched = p >= SMALLEST_P
        other = searched.copy()
        for acks in (False, True):
            some = searched & (known.by_acks == acks)
            if some.any():
                other[some] = _stays_away(cases.some(some), known.rate[some], means[some], acks)
        if other.any():
            try:
                with quiet():
                    rates = solve(rule, p[other], rtt[other], bandwidth, peaks[other]).rate
            except ArithmeticError:  # it comes to none from there
                continue
            apart = abs(rates / known.rate[other] - 1.0) > SAME_RATE
            found[other, n] = np.where(apart, rates, np.nan)
    return found


def _stays_away(cases: Cases, rates: Floats, means: NDArray[np.int64], acks: bool) -> Any:
    limits = Limits(BUDGET * (20 if acks else 1), EVENTS, acks, same=NEAR)
    return ~np.isfinite(approach(cases, rates, limits, means))


def distinct(rates: Any) -> tuple[float, ...]:
    """Return rates in packets/s that differ, largest first; NaN is left out."""
    found: list[float] = []
    for rate in sorted((float(rate) for rate in rates if not np.isnan(rate)), reverse=True):
        if not found or rate < (1.0 - SAME_RATE) * found[-1]:
            found.append(rate)
    return tuple(found)


class Remarks(NamedTuple):
    """Loss event rates, other rates in packets/s (NaN: none), and loss events to reach the rate (NaN: few)."""

    p: Floats
    beside: Floats
    loss_events: Floats


def comment(rule: Dynamics, p: Floats, rtt: Floats, bandwidth: float | None, known: Cycle) -> None:
    """Warn where there are other rates than the ``known`` ones, or a connection needs long to reach them."""
    beside = rates_beside(rule, p, rtt, bandwidth, known)
    remarks = sink()
    if remarks is not None:
        remarks.append(Remarks(p, beside, known.loss_events))
        return
    slow = np.flatnonzero(~np.isnan(known.loss_events))
    if slow.size:
        n = slow[np.argmax(known.loss_events[slow])]
        events = float(known.loss_events[n])
        many = f"{events:.0f}" if np.isfinite(events) else "more than 4 million"
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


def remarks_of(p: Floats, rate: Floats, remarks: Sequence[list[Remarks]]) -> tuple[Floats, Floats]:
    """Return attractors, shape (n, m, 3), and loss events, (n, m), of n rules at m loss event rates."""
    attractors = np.full((*rate.shape, 3), np.nan)
    attractors[..., 0] = rate
    events = np.full(rate.shape, np.nan)
    for n, several in enumerate(remarks):
        for said in several:
            place = {value: j for j, value in enumerate(said.p)}
            for m, value in enumerate(p):
                if (j := place.get(value)) is not None:
                    rates = distinct([rate[n, m], *said.beside[j]])
                    attractors[n, m, : len(rates)] = rates
                    events[n, m] = said.loss_events[j]
    return attractors, events
