"""The transitions of a chain over devices, and steps that are compiled for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.sharding.levels import AXIS, Level
from markov.sharding.plans import plan_levels

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    from markov.sharding.stencils import Stencil

__all__ = ["ShardedChain"]


class ShardedChain:
    """A chain on a mesh of devices.

    Parameters
    ----------
    stencil
        Its transitions.
    devices
        JAX devices, along which the first component is spread.

    Attributes
    ----------
    levels
        Of multigrid, the finest first.
    data
        Rates, which all devices have, and the class of each value of the first component, spread.
    """

    def __init__(self, stencil: Stencil, devices: Sequence[Any]) -> None:
        from jax.sharding import Mesh
        from jax.sharding import PartitionSpec as P

        self.stencil = stencil
        self.levels = plan_levels(stencil, len(devices))
        self.mesh = Mesh(np.array(devices), (AXIS,))
        self.spread, self.everywhere = P(AXIS), P()
        rows, known = self.shape[0], len(stencil.classes)
        classes = np.full(rows, stencil.rates.shape[1] - 1, dtype=np.int32)
        classes[:known] = stencil.classes
        rates = self.put(stencil.rates.shape, self.everywhere, lambda place: stencil.rates[place])
        self.data = rates, self.put(classes.shape, self.spread, lambda place: classes[place])

    @property
    def of_data(self) -> tuple[Any, Any]:
        """How ``data`` are spread."""
        return self.everywhere, self.spread

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the box, its first component filled up to a multiple of the devices."""
        return self.levels[0].shape

    def put(self, shape: tuple[int, ...], spec: Any, part: Callable[[Any], NDArray[Any]]) -> Array:
        """Return an array of which each device has the part that a function of its place gives."""
        import jax
        from jax.sharding import NamedSharding

        return jax.make_array_from_callback(shape, NamedSharding(self.mesh, spec), part)

    def indicator(self, place: tuple[int, ...] | None) -> Array:
        """Return 1 in one state, or with None in all of the box, 0 elsewhere."""
        shape, known = self.shape, len(self.stencil.classes)
        return self.put(shape, self.spread, lambda part: _indicator(shape, known, place, part[0]))

    def compiled(self, function: Callable[..., Any], into: Sequence[Any], out: Any) -> Any:
        """Return a function of the devices' parts as one of arrays over them, which waits for its result.

        XLA has room for 32 programs under way on each device of a processor. When one device is behind, its room can
        be full of programs that wait for others, while those wait in a collective for it to begin, for ever.
        """
        import jax

        mapped = jax.shard_map(function, mesh=self.mesh, in_specs=tuple(into), out_specs=out, check_vma=False)
        program = jax.jit(mapped)
        return lambda *arguments: jax.block_until_ready(program(*arguments))

    def of(self, level: Level, leading: bool = False) -> Any:
        """Return how an array of a level is spread; ``leading``: behind the changes."""
        from jax.sharding import PartitionSpec as P

        if level.devices == 1:
            return self.everywhere
        return P(None, AXIS) if leading else self.spread


def _indicator(shape: tuple[int, ...], known: int, place: tuple[int, ...] | None, rows: slice) -> NDArray[np.uint8]:
    """Return 1 in one state, or without one in the whole box, 0 elsewhere, for some rows."""
    first, last, _ = rows.indices(shape[0])
    found = np.zeros((last - first, *shape[1:]), dtype=np.uint8)
    if place is None:
        found[: max(0, known - first)] = 1
    elif first <= place[0] < last:
        found[(place[0] - first, *place[1:])] = 1
    return found
