"""Random early detection as implemented in ns-2 (Floyd and Jacobson 1993)."""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import compiled, inlined

from ..random_numbers import uniform

__all__ = ["admit_early", "chance_of"]


@inlined
def chance_of(early: Any, p: int, size: float) -> float:
    """Return RED's probability at port p for a packet of ``size`` bytes; it rises with packets since the last drop."""
    rule = early[p]
    if rule.average >= rule.high:
        chance = (1.0 - rule.max_p) / rule.high * rule.average + 2.0 * rule.max_p - 1.0
    else:
        chance = (rule.average - rule.low) / (rule.high - rule.low) * rule.max_p
    passed = float(rule.since) * chance
    chance = chance / (2.0 - passed) if passed < 2.0 else 1.0
    if passed < 1.0:  # the next one comes 1/p to 2/p packets after the last one, uniformly
        chance = 0.0
    if rule.mean > 0.0 and chance < 1.0:
        chance *= size / rule.mean
    return min(chance, 1.0)


@compiled
def admit_early(net: Any, p: int, queued: int, occupancy: float, idle: float, size: float) -> int:
    """Update RED's average at port p by ``occupancy`` and ``idle`` s (-1: busy); return 1: accept, 2: mark, 0: drop.

    ``queued`` packets wait; ``occupancy`` is their number, or their bytes where the buffer counts bytes. ``idle`` is
    the time since the end of the last transmission, s; negative while the port is busy.
    """
    rule = net.early[p]
    missed = 0
    if idle >= 0.0:
        missed = int(rule.pace * idle)
    for _ in range(missed):
        rule.average *= 1.0 - rule.weight
    rule.average = rule.average * (1.0 - rule.weight) + rule.weight * (occupancy * rule.part)
    rule.since += 1
    if not (rule.average >= rule.low and queued > 1):
        rule.above = 0
    elif rule.average >= rule.most:
        return 0
    elif rule.above == 0:
        rule.since = 1
        rule.above = 1
    elif uniform(net.stream, p) <= chance_of(net.early, p, size):
        rule.since = 0
        return 2 if rule.ecn == 1 else 0
    return 1
