"""Which states others lead to, searched for where they are."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.sharding.levels import AXIS, Level, ahead, arrivals, rated

if TYPE_CHECKING:
    from jax import Array

    from markov.models.rules import ChainModel
    from markov.models.spaces import Space
    from markov.sharding.chains import ShardedChain
    from markov.sharding.stencils import Stencil

__all__ = ["SeveralClassesError", "place_of_largest", "reached", "recurrent", "start_of"]

PASSES = 8
"""Steps of a search between two looks at the end."""


class SeveralClassesError(ValueError):
    """The chain has several recurrent classes."""


def start_of(model: ChainModel, space: Space, stencil: Stencil) -> tuple[int, ...] | None:
    """Return the place of the start, the spread component first; None where there is none."""
    start = model.start()
    if start is None:
        return None
    codes = space.codes([start])[:, 0] - np.array(space.low)
    return tuple(codes[list(stencil.order)].tolist())


def reached(chain: ShardedChain, start: tuple[int, ...] | None, backward: bool = False) -> Array:
    """Return 1 for the states that a state leads to, itself among them, 0 for others.

    ``backward``: for those that lead to it. None: all states of the box.
    """
    first = chain.indicator(start)
    if start is None:
        return first
    into = (*chain.of_data, chain.spread)
    search = chain.compiled(functools.partial(_searched, chain.levels[0], backward), into, chain.spread)
    return search(*chain.data, first)


def recurrent(chain: ShardedChain, start: tuple[int, ...] | None, x: Array) -> Array:
    """Return 1 for the states of the recurrent class, 0 for others.

    Parameters
    ----------
    start
        The place of the state that the chain starts in; None: all states count.
    x
        Probabilities: the search begins in the state with the largest, which probably is recurrent.

    Raises
    ------
    SeveralClassesError
        For several recurrent classes.
    """
    import jax

    differ = jax.jit(lambda a, b: a * (1 - b))
    counted = reached(chain, start)
    here = place_of_largest(chain, x * counted) or place_of_largest(chain, counted)
    while here is not None:  # on to a state that does not lead back, until all do
        after, before = reached(chain, here), reached(chain, here, backward=True)
        here = place_of_largest(chain, differ(after, before))
    if place_of_largest(chain, differ(counted, before)) is not None:
        raise SeveralClassesError
    return after


def place_of_largest(chain: ShardedChain, values: Array) -> tuple[int, ...] | None:
    """Return the place of the largest of some numbers; None where none is positive."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding

    everywhere = NamedSharding(chain.mesh, chain.everywhere)
    found = jax.jit(lambda x: (jnp.argmax(x), x.max()), out_shardings=everywhere)
    index, largest = found(values)
    if not float(largest) > 0.0:
        return None
    return tuple(int(n) for n in np.unravel_index(int(index), chain.shape))


def _searched(level: Level, backward: bool, rates: Array, classes: Array, start: Array) -> Array:
    """Spread a mark along the transitions, or against them, until nothing changes."""
    import jax.numpy as jnp
    from jax import lax

    possible = (rates > 0.0).astype(jnp.uint8)

    def spread(found: Array) -> Array:
        if not backward:
            return arrivals(rated(possible, classes, found), level)
        exits = rated(possible, classes, jnp.ones((), jnp.uint8))
        there = ahead(found, level)
        return functools.reduce(jnp.maximum, [a * b for a, b in zip(exits, there, strict=True)])

    def step(_: Any, found: Array) -> Array:
        return ((found + spread(found)) > 0).astype(jnp.uint8)

    def grown(known: tuple[Array, Array]) -> tuple[Array, Array]:
        found = lax.fori_loop(0, PASSES, step, known[0])
        return found, lax.psum((found != known[0]).sum(), AXIS)

    found, _ = lax.while_loop(lambda known: known[1] > 0, grown, (start, jnp.ones((), int)))
    return found
