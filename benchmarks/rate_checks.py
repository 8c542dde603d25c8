"""What the checks of `rate` cost: the numerical cycle alone, and with the check ACK by ACK and the search for other attractors.

The first is the solution that `rate` returns: by blocks of ACKs, and ACK by ACK where the check asks for that. The
second may take twice as long, and 0.1 s more per value. Rules with a closed form are not solved by `rate`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.timing import Row, compare
from responsefn import BIC, CUBIC, HTCP, Illinois, Scalable, Westwood, cycles
from responsefn.diagnostics import quiet
from responsefn.linux import LinuxBIC, LinuxCUBIC, LinuxHTCP, LinuxIllinois

LOSSES = (1e-2, 1e-4, 1e-6)
RTTS = (0.01, 0.1)
CAPACITY = 8333.0
RULES = (
    HTCP(), LinuxHTCP(kernel="2.6.22"), LinuxCUBIC(kernel="2.6.22"), LinuxBIC(kernel="2.6.22"), LinuxIllinois(kernel="2.6.22"), Westwood(), BIC(), CUBIC(), Scalable(), Illinois(),
)  # fmt: skip
ROUNDS, MAX_SECONDS = 15, 2.0
"""Repetitions, and the time of all of them from which on there are fewer."""


def rows() -> list[Row]:
    """Return the times of the solution and of `rate`, for each rule, loss event rate and round-trip time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.array([rule.rate([1e-2, 1e-3], 0.1, CAPACITY) for rule in RULES])  # compile
        return [row for rule in RULES for p in LOSSES for rtt in RTTS for row in _rows(rule, p, rtt)]


def _rows(rule: Any, p: float, rtt: float) -> list[Row]:
    bandwidth = CAPACITY if rule.capacity == "needed" else None
    if rule.uses_closed_form(bandwidth) and rule.closed_form_holds(p, rtt).all():
        return []
    begun = time.perf_counter()
    cycle = rule.cycle(p, rtt, bandwidth)
    rule.rate(p, rtt, bandwidth)
    seconds = time.perf_counter() - begun

    def alone() -> None:
        with _unchecked(bool(cycle.by_acks)):
            rule.cycle(p, rtt, bandwidth)

    found = compare(
        f"{rule!r}, p = {p:g}, rtt = {rtt:g} s",
        {"numerical cycle": alone, "rate": lambda: rule.rate(p, rtt, bandwidth)},
        rounds=max(2, min(ROUNDS, int(MAX_SECONDS / seconds))),
    )
    first, last = found
    part = last.fastest / first.fastest
    more = last.fastest - first.fastest
    way = "ACK by ACK" if cycle.by_acks else "by blocks"
    note = f"{part:.2f} times at best, {1e3 * more:.1f} ms more; {way}"
    return [
        first,
        Row(last.task, last.name, last.seconds, last.fastest, last.slowest, last.ratio, note),
    ]


@contextmanager
def _unchecked(by_acks: bool) -> Iterator[None]:
    """Let the solution be the one that the check chose, without the check."""
    differs = cycles._compare_with_acks

    def chosen(cases: Any, *_: Any) -> Any:
        count = len(cases.packets)
        return np.full(count, by_acks), np.ones(count)

    setattr(cycles, "_compare_with_acks", chosen)  # noqa: B010  # mypy refuses the assignment
    try:
        with quiet():
            yield
    finally:
        cycles._compare_with_acks = differs
