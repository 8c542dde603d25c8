"""Q h and x Q on one device's part, in float64 with every rounding error bounded.

A sum of m terms has at most m U of the sum of their sizes as its error, in whatever order a compiler adds
them up, fused or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markov.computing.rounding import U
from markov.sharding.equations import at
from markov.sharding.levels import AXIS, Level, ahead, arrivals, rated, total_out

if TYPE_CHECKING:
    from jax import Array

__all__ = ["BITS", "drift", "misfit"]

LOST = 1e-280  # more than what is lost where numbers too small for float64 are taken for zero
BITS = 60
"""Of probabilities that are summed as whole numbers."""

Place = tuple[int, ...]


def drift(level: Level, reference: Place, *arguments: Array) -> Array:
    """Return the largest (Q h)(s) of a recurrent state but the reference, rounded up."""
    import jax.numpy as jnp
    from jax import lax

    rates, classes, recurrent, h = arguments
    total, size = jnp.zeros_like(h), jnp.zeros_like(h)
    for rate, there in zip(rated(rates, classes, jnp.ones(())), ahead(h, level), strict=True):
        term = (there - h) * rate
        total, size = total + term, size + jnp.abs(term)
    upper = total + 1.1 * (len(level.changes) + 4.0) * U * size + LOST
    judged = (recurrent > 0) & ~at(reference, level, h.shape)
    return lax.pmax(jnp.where(judged, upper, -jnp.inf).max(), AXIS)


def misfit(level: Level, reference: Place, *arguments: Array) -> tuple[Array, ...]:
    """Return sums of (x Q)+ and of (x Q)- times h - h(reference), and sums of x.

    The first two are rounded up except for the summation.

    The sum of x over recurrent states is that of whole numbers, in units of 2^-60, and of what is left.
    """
    import jax.numpy as jnp
    from jax import lax

    rates, classes, recurrent, h, x = arguments
    counted = recurrent > 0
    inside = jnp.where(counted, x, 0.0)
    least = lax.psum(jnp.where(at(reference, level, h.shape), h, 0.0).sum(), AXIS)
    into = arrivals(rated(rates, classes, inside), level)
    out = total_out((rates, classes)) * inside
    error = 1.1 * (2.0 * len(level.changes) + 6.0) * U * (into + out) + LOST
    height = jnp.where(counted, jnp.maximum(h - least, 0.0), 0.0)
    gained = jnp.maximum(into - out + error, 0.0) * height
    lost = jnp.maximum(out - into + error, 0.0) * height
    scaled = inside * 2.0**BITS
    units = jnp.floor(scaled)
    parts = units.astype(jnp.int64), scaled - units, x - inside
    return tuple(lax.psum(each.sum(), AXIS) for each in (gained, lost, *parts))
