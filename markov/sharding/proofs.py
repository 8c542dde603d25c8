"""A bound on the error of probabilities over devices, from hitting times on the same devices.

The argument is that of `markov.proofs.certificates.Certificate`. Before it a search finds whether there is
one recurrent class.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from markov.computing.progress import watched
from markov.computing.rounding import U
from markov.sharding.hitting_times import SHARP, HittingTimes
from markov.sharding.reachability import SeveralClassesError, place_of_largest, recurrent

if TYPE_CHECKING:
    from jax import Array

    from markov.sharding.chains import ShardedChain

__all__ = ["ShardedBound", "bound_on_shards"]


class ShardedBound(NamedTuple):
    """What was proved over devices.

    Attributes
    ----------
    distance
        Upper bound on the distance in total variation; inf: none was verified.
    c, cycles
        Of hitting times: (Q h)(s) <= -c in all recurrent states but one, after so many cycles of multigrid.
    bytes_per_device
        Of all arrays that a device holds for them between steps, besides the probabilities and rates.
    """

    distance: float
    c: float
    cycles: int
    bytes_per_device: int


def bound_on_shards(chain: ShardedChain, start: tuple[int, ...] | None, x: Array, name: str) -> ShardedBound:
    """Return an upper bound on the total-variation distance of probabilities to the stationary ones.

    Parameters
    ----------
    chain
        The chain.
    start
        The place of the state that it starts in; None: all states count.
    x
        Probabilities of all states of the box, spread, not negative, with a sum of about one.
    name
        Of the model.

    Raises
    ------
    ValueError
        For a chain with several recurrent classes.
    """
    import jax

    with jax.enable_x64(True):
        try:
            counted = recurrent(chain, start, x)
        except SeveralClassesError:
            msg = "several recurrent classes: the stationary distribution is not unique"
            raise ValueError(f"{name}: {msg}; use stationary_by_class(model)") from None
        reference = place_of_largest(chain, x * counted)
        if reference is None:
            return ShardedBound(math.inf, 0.0, 0, 0)
        hitting = HittingTimes(chain, x, counted, reference)
        with watched(1.0 - SHARP):
            c, cycles = hitting.solve()
        off, mass, elsewhere = hitting.misfit(x)
    distance = math.inf
    if c > 0.0 and math.isfinite(off / c):
        rounded_up = 1.0 + (math.prod(chain.shape) + 16) * U
        distance = min((off / c + elsewhere) * rounded_up + abs(mass) + 4.0 * U, 1.0)
    return ShardedBound(distance, c, cycles, hitting.bytes_per_device)
