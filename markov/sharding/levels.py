"""What one device does with its part of the states, on every level of multigrid.

On level 0 the unknown is the distribution; a rate times a probability is a flow. Pairs of neighbouring
values of some components form the aggregates of the next level, where the unknown is the factor by which
each aggregate is to change, and the flows between aggregates take the place of the rates. The changes of
an aggregate's place are again a few fixed ones. Arrays are parts of boxes, the spread component first.
Where one device's slice ends, the flows over its ends are sent to its neighbours: one slice of the box
for each step over the end, in each direction, whatever the number of devices.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jax import Array

__all__ = [
    "AXIS",
    "Level",
    "aggregate",
    "ahead",
    "arrivals",
    "coarse_changes",
    "given",
    "pooled",
    "rated",
    "refine",
    "repeated",
    "total_out",
]

AXIS = "states"
"""Name of the axis of the mesh of devices."""

Change = tuple[int, ...]


class Level(NamedTuple):
    """The form of one level.

    Attributes
    ----------
    shape
        Of the box, over all devices.
    changes
        The different changes of a place.
    halved
        Of each component: whether the next level has pairs of its values.
    devices
        Over how many the first component is spread; 1: each device has the whole level.
    """

    shape: tuple[int, ...]
    changes: tuple[Change, ...]
    halved: tuple[bool, ...]
    devices: int


def coarse_changes(changes: Sequence[Change], halved: Sequence[bool]) -> tuple[Change, ...]:
    """Return the changes between aggregates: a pair's first value plus d is in pair d // 2 further."""
    found = {
        tuple((parity + d) // 2 if half else d for parity, d, half in zip(p, c, halved, strict=True))
        for c in changes
        for p in _parities(halved)
    }
    return tuple(sorted(change for change in found if any(change)))


def _parities(halved: Sequence[bool]) -> itertools.product[Any]:
    return itertools.product(*((0, 1) if half else (0,) for half in halved))


def rated(rates: Array, classes: Array, x: Array) -> list[Array]:
    """Return the flows out of each state by change, from the rates of its class."""
    import jax.numpy as jnp

    return [jnp.take(each, classes, axis=0) * x for each in rates]


def given(flows: Array, x: Array) -> list[Array]:
    """Return the flows out of each state by change, from those of x = 1."""
    return [flow * x for flow in flows]


def total_out(data: tuple[Array, ...]) -> Array:
    """Return the rate out of each state."""
    import jax.numpy as jnp

    if len(data) == 1:
        return data[0].sum(axis=0)
    rates, classes = data
    return jnp.take(rates.sum(axis=0), classes, axis=0)


def arrivals(flows: Sequence[Array], level: Level) -> Array:
    """Return the flow into each state of this device's part, given those out by change."""
    by_first: dict[int, Array] = {}
    for flow, (first, *others) in zip(flows, level.changes, strict=True):
        moved = _moved(flow, (0, *others))
        by_first[first] = by_first[first] + moved if first in by_first else moved
    parts = [_across(flow, first, level.devices) for first, flow in sorted(by_first.items())]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def ahead(x: Array, level: Level) -> list[Array]:
    """Return for each change the number of the state that it leads to; 0 where that is outside the box."""
    steps = {change[0] for change in level.changes}
    turned = {first: _across(x, -first, level.devices) for first in sorted(steps)}
    return [_moved(turned[first], (0, *(-d for d in others))) for first, *others in level.changes]


def _moved(flow: Array, by: Sequence[int]) -> Array:
    """Return a flow that has arrived; what would leave the box is zero, and falls off."""
    import jax.numpy as jnp
    from jax import lax

    if not any(by):
        return flow
    return lax.pad(flow, jnp.zeros((), flow.dtype), [(d, -d, 0) for d in by])


def _across(flow: Array, step: int, devices: int) -> Array:
    """Move along the spread component: what leaves at an end goes to the neighbour."""
    import jax.numpy as jnp
    from jax import lax

    if devices == 1 or step == 0:
        return _moved(flow, (step, *(0 for _ in flow.shape[1:])))
    if step > 0:
        pairs = [(n, n + 1) for n in range(devices - 1)]
        return jnp.concatenate([lax.ppermute(flow[-step:], AXIS, pairs), flow[:-step]])
    pairs = [(n + 1, n) for n in range(devices - 1)]
    return jnp.concatenate([flow[-step:], lax.ppermute(flow[:-step], AXIS, pairs)])


def aggregate(flows: Sequence[Array], level: Level, after: Level) -> Array:
    """Return the flows between aggregates by change, this device's part or, from there on, all."""
    import jax.numpy as jnp
    from jax import lax

    sums: dict[Change, Array] = {}
    for flow, change in zip(flows, level.changes, strict=True):
        even = [(0, n % 2 if half else 0) for n, half in zip(flow.shape, level.halved, strict=True)]
        flow = jnp.pad(flow, even)
        for parity in _parities(level.halved):
            pairs = zip(parity, change, level.halved, strict=True)
            coarse = tuple((p + d) // 2 if half else d for p, d, half in pairs)
            if any(coarse):
                some = tuple(
                    slice(p, None, 2) if half else slice(None) for p, half in zip(parity, level.halved, strict=True)
                )
                sums[coarse] = sums[coarse] + flow[some] if coarse in sums else flow[some]
    found = jnp.stack([sums[change] for change in after.changes])
    if level.devices > after.devices:
        return lax.all_gather(found, AXIS, axis=1, tiled=True)
    return found


def pooled(x: Array, level: Level, after: Level) -> Array:
    """Return the sums of the numbers of each aggregate, this device's part or, from there on, all."""
    import jax.numpy as jnp
    from jax import lax

    even = [(0, n % 2 if half else 0) for n, half in zip(x.shape, level.halved, strict=True)]
    x = jnp.pad(x, even)
    for axis, half in enumerate(level.halved):
        if half:
            x = x.reshape(*x.shape[:axis], -1, 2, *x.shape[axis + 1 :]).sum(axis=axis + 1)
    if level.devices > after.devices:
        return lax.all_gather(x, AXIS, axis=0, tiled=True)
    return x


def repeated(numbers: Array, shape: tuple[int, ...], level: Level, after: Level) -> Array:
    """Return the number of its aggregate for each state of this device's part, of that shape."""
    import jax.numpy as jnp
    from jax import lax

    if level.devices > after.devices:
        rows = numbers.shape[0] // level.devices
        numbers = lax.dynamic_slice_in_dim(numbers, lax.axis_index(AXIS) * rows, rows)
    for axis, half in enumerate(level.halved):
        if half:
            numbers = jnp.repeat(numbers, 2, axis=axis)
    return numbers[tuple(slice(n) for n in shape)]


def refine(x: Array, factors: Array, level: Level, after: Level) -> Array:
    """Return the unknown times the factors of the aggregates."""
    return x * repeated(factors, x.shape, level, after)
