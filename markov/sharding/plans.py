"""The levels of a chain over devices, and what a device holds of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from markov.sharding.levels import Level, coarse_changes

if TYPE_CHECKING:
    from markov.sharding.stencils import Stencil

__all__ = ["N_FORMER_ITERATES", "held_bytes", "plan_levels", "proof_bytes"]

LAST = 160
"""States of the level that is eliminated, at most, as far as pairs can be formed."""
STRONG_COUPLING = 0.25
"""Components whose changes per second are at least this fraction of the fastest one's are coarsened."""
MIN_STATES_PER_DEVICE = 256
"""States for each device below which a level is on all of them."""
FLOAT64_BYTES = 8
N_FORMER_ITERATES = 3
"""Former iterates that the best combination is made of."""


def plan_levels(stencil: Stencil, devices: int) -> list[Level]:
    """Return the levels: pairs along the fastest components, sharded while every device has states.

    Which components are paired depends on the chain alone, so that all numbers of devices do the same.
    """
    busy = stencil.rates[:, :-1].mean(axis=tuple(range(1, stencil.rates.ndim)))
    speed = [float(busy @ np.abs([c[n] for c in stencil.changes])) for n in range(len(stencil.shape))]
    sizes = list(stencil.shape)
    halvings: list[tuple[bool, ...]] = []
    single = min(2, max(sizes) - 1)  # a component with so many values has no pairs
    while any(n > single for n in sizes) and (math.prod(sizes) > LAST or not halvings):
        most = max(v for v, n in zip(speed, sizes, strict=True) if n > single)
        halved = tuple(v >= STRONG_COUPLING * most and n > single for v, n in zip(speed, sizes, strict=True))
        halvings.append(halved)
        sizes = [-(-n // 2) if half else n for n, half in zip(sizes, halved, strict=True)]
        speed = [0.5 * v if half else v for v, half in zip(speed, halved, strict=True)]
    rows = -(-stencil.shape[0] // devices)
    longest = max(abs(change[0]) for change in stencil.changes)
    if devices > 1 and rows < max(2, longest):
        said = f"{devices} are too many for {stencil.shape[0]} values with changes up to {longest}"
        raise ValueError(f"devices: {said}")
    times = sum(halved[0] for halved in halvings)  # each device has whole pairs as often as it can
    unit = 2 ** min(times, max(1, int(math.log2(max(rows / 16.0, 1.0))))) if devices > 1 else 1
    rows = -(-rows // unit) * unit
    shape, changes, spread = (rows * devices, *stencil.shape[1:]), stencil.changes, devices
    levels = []
    for n, halved in enumerate(halvings):
        levels.append(Level(shape, changes, halved, spread))
        changes = coarse_changes(changes, halved)
        rows = rows // 2 if halved[0] else rows
        shape = tuple(-(-size // 2) if half else size for size, half in zip(shape, halved, strict=True))
        last = n + 1 == len(halvings)
        reach = max((abs(change[0]) for change in changes), default=1)
        split = not last and halvings[n + 1][0] and rows % 2 == 1
        if last or split or rows < reach or math.prod(shape) < MIN_STATES_PER_DEVICE * devices:
            spread = 1
    return [*levels, Level(shape, changes, tuple(False for _ in shape), 1)]


def held_bytes(levels: Sequence[Level], stencil: Stencil) -> int:
    """Return the bytes of a device: iterates and residuals, flows and unknowns of levels, rates."""
    first, *others = levels
    held = (2 * N_FORMER_ITERATES + 3) * math.prod(first.shape) // first.devices
    for level in others:
        held += (len(level.changes) + 2) * math.prod(level.shape) // level.devices
    return FLOAT64_BYTES * (held + stencil.rates.size)


def proof_bytes(levels: Sequence[Level]) -> int:
    """Return the bytes of a device for the bound, besides the probabilities and rates.

    Hitting times and their residuals, former ones, weights, costs and marks; flows between
    aggregates; the inverse of the last level.
    """
    first, *others = levels
    states = math.prod(first.shape) // first.devices
    flows = sum(len(each.changes) * math.prod(each.shape) // each.devices for each in others)
    return FLOAT64_BYTES * ((2 * N_FORMER_ITERATES + 4) * states + flows + math.prod(levels[-1].shape) ** 2) + states
