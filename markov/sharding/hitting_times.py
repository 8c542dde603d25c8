"""Mean costs on the way to one state, over devices: multigrid on Q h = -w, and what it proves.

The argument is that of `markov.proofs.certificates.Certificate`, and the levels are those of the
solution: the equations of an aggregate are those of its states, weighted by their probabilities, and what
is found for it is added to each. Sweeps update all states at once.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.progress import report
from markov.sharding.combinations import best_combination
from markov.sharding.elimination import dense, inverse_of
from markov.sharding.equations import Equations, descended, left, raised
from markov.sharding.levels import AXIS, Level, aggregate, given, rated
from markov.sharding.plans import N_FORMER_ITERATES, proof_bytes
from markov.sharding.verification import BITS, drift, misfit

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    from markov.sharding.chains import ShardedChain

__all__ = ["HittingTimes"]

TAIL = -0.1  # costs grow as this power of the probability
MIN_WEIGHT = 1e-250  # of the largest probability: what weighs less in equations is not told apart
TINY = 1e-300
SHARP = 0.5  # of c: an h that proves more is not looked for
FIRST_CHECK = 3  # cycles before c is looked at
SWEEPS = (2,) * 6 + (4,) * 6 + (8,) * 6 + (16,) * 12  # before and after a correction, by cycle
VISITS = 2

Place = tuple[int, ...]


class HittingTimes:
    """Mean costs h until a state is reached, in recurrent states.

    Parameters
    ----------
    chain
        The chain.
    x
        Its probabilities, spread.
    recurrent
        1 for recurrent states, 0 for others, spread.
    reference
        The place of the state with the largest probability.
    """

    def __init__(self, chain: ShardedChain, x: Array, recurrent: Array, reference: Place) -> None:
        self.chain, self.levels, self.recurrent = chain, chain.levels, recurrent
        stencil, places = chain.stencil, [reference]
        for level in self.levels[:-1]:
            pairs = zip(places[-1], level.halved, strict=True)
            places.append(tuple(n // 2 if half else n for n, half in pairs))
        own = stencil.rates[(slice(None), stencil.classes[reference[0]], *reference[1:])]
        leak, spread = float(own.sum()), chain.spread
        prepare = chain.compiled(_weights, (spread, spread), (spread, spread, chain.everywhere))
        self.weights, self.costs, largest = prepare(x, recurrent)
        leaks = [leak, *[leak * float(largest)] * (len(self.levels) - 1)]
        self.steps = [self._compiled(n, place, leak) for n, (place, leak) in enumerate(zip(places, leaks, strict=True))]
        self.flows = self._flows()
        self.inverse = self._inverse(places[-1], leaks[-1])
        self.x = self.costs * 0.0
        self._judge = self._judges(reference)

    @property
    def bytes_per_device(self) -> int:
        """Of all arrays that a device holds between steps, besides the probabilities and rates."""
        return proof_bytes(self.levels)

    # ------------------------------------------------------------------ the levels

    def _flows(self) -> list[Array]:
        """Return the flows between the aggregates of each level below the finest."""
        found: list[Array] = []
        for n, (level, after) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            data = self.chain.of_data if n == 0 else (self.chain.of(level, leading=True),)
            step = self.chain.compiled(
                functools.partial(_summed, level, after, rated if n == 0 else given),
                (*data, self.chain.of(level)),
                self.chain.of(after, leading=True),
            )
            ones = self.weights if n == 0 else self._ones(level)
            found.append(step(*(self.chain.data if n == 0 else (found[-1],)), ones))
        return found

    def _ones(self, level: Level) -> Array:
        def part(place: Any) -> NDArray[np.float64]:
            sizes = zip(place, level.shape, strict=True)
            return np.ones([len(range(*some.indices(n))) for some, n in sizes])

        return self.chain.put(level.shape, self.chain.of(level), part)

    def _compiled(self, n: int, place: Place, leak: float) -> dict[str, Any]:
        """Return the compiled steps of a level, which is not the last."""
        if n + 1 == len(self.levels):
            return {}
        level, after, flows = self.levels[n], self.levels[n + 1], rated if n == 0 else given
        x, below = self.chain.of(level), self.chain.of(after)
        data = self.chain.of_data if n == 0 else (self.chain.of(level, leading=True),)
        here = functools.partial(Equations, level, flows, place, leak, len(data))
        everywhere = self.chain.everywhere
        return {
            "down": self.chain.compiled(
                functools.partial(descended, here, after), (*data, x, x, x, everywhere), (x, below)
            ),
            "up": self.chain.compiled(functools.partial(raised, here, after), (*data, x, x, below, everywhere), x),
            "left": self.chain.compiled(functools.partial(left, here), (*data, x, x), x),
        }

    def _inverse(self, place: Place, leak: float) -> Array:
        """Return the inverse of the last level's equations, on all devices."""
        flows, level = np.asarray(self.flows[-1]), self.levels[-1]
        found = inverse_of(dense(flows, level), int(np.ravel_multi_index(place, level.shape)), leak)
        return self.chain.put(found.shape, self.chain.everywhere, lambda part: found[part])

    # ------------------------------------------------------------------ cycles

    def _improved(self, n: int, right: Array, weights: Array, x: Array, sweeps: int) -> Array:
        """Return the unknown of a level after a cycle from there down."""
        import jax.numpy as jnp

        if n + 1 == len(self.levels):
            return (self.inverse @ right.ravel()).reshape(right.shape)
        steps, data = self.steps[n], self.chain.data if n == 0 else (self.flows[n - 1],)
        x, below = steps["down"](*data, right, weights, x, sweeps)
        found, ones = jnp.zeros_like(below), jnp.ones_like(below)
        for _ in range(VISITS if n + 2 < len(self.levels) else 1):
            found = self._improved(n + 1, below, ones, found, sweeps)
        return steps["up"](*data, right, x, found, sweeps)

    def solve(self) -> tuple[float, int]:
        """Cycle until h proves enough; return c, which is not positive where it proves nothing, and cycles."""
        spread = self.chain.spread
        kept: list[tuple[Array, Array]] = []
        combine = self.chain.compiled(_combined, [spread] * (2 * N_FORMER_ITERATES + 3), spread)
        data, rest_of = self.chain.data, self.steps[0]["left"]
        c, number = 0.0, 0
        for number, sweeps in enumerate(SWEEPS, 1):
            x = self._improved(0, self.costs, self.weights, self.x, sweeps)
            rest = rest_of(*data, self.costs, x)
            if kept:
                filled = [*kept, *[kept[0]] * (N_FORMER_ITERATES - len(kept))]
                x = combine(self.costs, x, rest, *[each for pair in filled for each in pair])
                rest = rest_of(*data, self.costs, x)
            self.x, kept = x, [(x, rest), *kept][:N_FORMER_ITERATES]
            if number >= FIRST_CHECK:
                c = -float(self._judge["drift"](*data, self.recurrent, x))
                report(number, max(1.0 - c, 0.0))
            if c > SHARP or math.isnan(c):
                break
        return c, number

    # ------------------------------------------------------------------ what is proved

    def _judges(self, reference: Place) -> dict[str, Any]:
        first, spread, everywhere = self.levels[0], self.chain.spread, self.chain.everywhere
        into = (*self.chain.of_data, spread, spread)
        return {
            "drift": self.chain.compiled(functools.partial(drift, first, reference), into, everywhere),
            "misfit": self.chain.compiled(
                functools.partial(misfit, first, reference), (*into, spread), (everywhere,) * 5
            ),
        }

    def misfit(self, x: Array) -> tuple[float, float, float]:
        """Return the larger one-sided sum of x Q times h, over recurrent states.

        Their probability less one and the probability of other states come second and third.
        """
        judged = self._judge["misfit"](*self.chain.data, self.recurrent, self.x, x)
        gained, lost, units, rest, elsewhere = (each.item() for each in judged)
        return max(gained, lost), math.ldexp(units - 2**BITS + rest, -BITS), elsewhere


def _summed(level: Level, after: Level, flows: Any, *arguments: Array) -> Array:
    return aggregate(flows(*arguments), level, after)


def _weights(x: Array, recurrent: Array) -> tuple[Array, Array, Array]:
    """Return weights of equations, costs per second, and the largest probability."""
    import jax.numpy as jnp
    from jax import lax

    x = jnp.where(recurrent > 0, x, 0.0)
    largest = lax.pmax(x.max(), AXIS)
    shares = jnp.maximum(x / largest, MIN_WEIGHT)
    weights = jnp.where(recurrent > 0, shares * largest, 0.0)
    return weights, jnp.where(recurrent > 0, shares**TAIL, 0.0), largest


def _combined(costs: Array, x: Array, rest: Array, *olds: Array) -> Array:
    """Return the combination of iterates with the least sum of squares of what is left, over costs."""
    import jax.numpy as jnp

    weight = jnp.where(costs > 0.0, 1.0 / jnp.maximum(costs, TINY) ** 2, 0.0)
    return best_combination(x, rest, weight, olds)
