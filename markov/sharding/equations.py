"""Q h = -right on one device's part of a level, with a leak out of one state: sweeps and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markov.sharding.levels import AXIS, Level, ahead, pooled, repeated, total_out

if TYPE_CHECKING:
    from jax import Array

__all__ = ["Equations", "at", "descended", "left", "raised"]

TINY = 1e-300
DAMPING = 0.7
"""Share of a change that is made: of all at once they would swing in periodic chains."""

Place = tuple[int, ...]


class Equations:
    """The equations of one level on this device's part: Q h = -right, with a leak out of one state."""

    def __init__(self, level: Level, flows: Any, place: Place, leak: float, count: int, *arguments: Array) -> None:
        import jax.numpy as jnp

        self.level, self.data, self.others = level, arguments[:count], arguments[count:]
        one = jnp.ones((), self.data[0].dtype)
        self.flows = flows(*self.data, one)
        self.leak = jnp.where(at(place, level, self.flows[0].shape), leak, 0.0)

    def left(self, right: Array, x: Array) -> Array:
        """Return the residual."""
        total = right - self.leak * x
        for flow, there in zip(self.flows, ahead(x, self.level), strict=True):
            total = total + flow * (there - x)
        return total

    def smoothed(self, right: Array, x: Array, sweeps: Array) -> Array:
        """Return x after updates of all states at once."""
        import jax.numpy as jnp
        from jax import lax

        out = total_out(self.data) + self.leak
        scale = jnp.where(out > TINY, DAMPING / jnp.maximum(out, TINY), 0.0)
        return lax.fori_loop(0, sweeps, lambda _, x: x + scale * self.left(right, x), x)


def descended(here: Any, after: Level, *arguments: Array) -> tuple[Array, Array]:
    """Return the unknown after sweeps, and the residual of the aggregates."""
    equations = here(*arguments)
    right, weights, x, sweeps = equations.others
    x = equations.smoothed(right, x, sweeps)
    return x, pooled(weights * equations.left(right, x), equations.level, after)


def raised(here: Any, after: Level, *arguments: Array) -> Array:
    """Return the unknown with what was found for its aggregates, after sweeps."""
    equations = here(*arguments)
    right, x, found, sweeps = equations.others
    x = x + repeated(found, x.shape, equations.level, after)
    return equations.smoothed(right, x, sweeps)


def left(here: Any, *arguments: Array) -> Array:
    """Return the residual."""
    equations = here(*arguments)
    return equations.left(*equations.others)


def at(place: Place, level: Level, shape: Place) -> Array:
    """Return where this device's part has a place of the box."""
    import jax.numpy as jnp
    from jax import lax

    offset = lax.axis_index(AXIS) * shape[0] if level.devices > 1 else 0
    found = lax.broadcasted_iota(jnp.int32, shape, 0) + offset == place[0]
    for axis in range(1, len(shape)):
        found = found & (lax.broadcasted_iota(jnp.int32, shape, axis) == place[axis])
    return found
