"""ns-2's random numbers: MRG32k3a (L'Ecuyer 1999), and the order in which agents draw from it.

Every TCP agent draws the phase of its clock, a uniform time below a tick, when it is created and
again when the simulation starts; the second value is used. Nodes draw in the order in which Tcl
lists an array: by the buckets of its hash table, the most recent entry of a bucket first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["TICK", "Generator", "tcl_order", "tick_phases"]

TICK = 0.01
"""s: Agent/TCP's tcpTick_."""
M1, M2 = 4294967087, 4294944443
NO_SEED = 12345


class Generator:
    """MRG32k3a with all six state variables equal initially, as set by ns-2's ``seed``.

    P. L'Ecuyer, Good parameters and implementations for combined multiple recursive random number
    generators, Operations Research 47(1), 1999: MRG32k3a.

    Parameters
    ----------
    seed
        None is the seed of a script that sets none.
    """

    def __init__(self, seed: int | None = None) -> None:
        start = NO_SEED if seed is None else seed
        self.one, self.two = [start] * 3, [start] * 3

    def uniform(self) -> float:
        """Return the next number in (0, 1)."""
        first = (1403580 * self.one[1] - 810728 * self.one[0]) % M1
        self.one = [*self.one[1:], first]
        second = (527612 * self.two[2] - 1370589 * self.two[0]) % M2
        self.two = [*self.two[1:], second]
        difference = first - second if first > second else first - second + M1
        return difference * (1.0 / (M1 + 1.0))

    def next_substream(self) -> None:
        """Advance to the start of the next substream, 2^76 numbers after the start of this substream."""
        self.one = _advance_substream([[0, 1, 0], [0, 0, 1], [-810728, 1403580, 0]], self.one, M1)
        self.two = _advance_substream([[0, 1, 0], [0, 0, 1], [-1370589, 0, 527612]], self.two, M2)


def _advance_substream(step: list[list[int]], state: list[int], modulus: int) -> list[int]:
    """Return a component's state 2^76 steps later; ``step`` is the matrix of one step."""
    power = np.array(step, dtype=object)
    for _ in range(76):
        power = power.dot(power) % modulus
    return [int(x) for x in power.dot(np.array(state, dtype=object)) % modulus]


def tcl_order(keys: Sequence[str]) -> list[str]:
    """Return the keys of a Tcl array, here in the order of insertion, in the order of ``array names``.

    Tcl's hash tables start with 4 buckets, quadrupled whenever there are three keys per bucket.
    """
    buckets: list[list[str]] = [[] for _ in range(4)]
    for n, key in enumerate(keys, 1):
        buckets[_hash(key) % len(buckets)].insert(0, key)
        if n >= 3 * len(buckets):
            old = [k for bucket in buckets for k in bucket]
            buckets = [[] for _ in range(4 * len(buckets))]
            for k in old:
                buckets[_hash(k) % len(buckets)].insert(0, k)
    return [key for bucket in buckets for key in bucket]


def _hash(key: str) -> int:
    """Return Tcl's hash of a string, 32 bits."""
    value = 0
    for character in key.encode():
        value = (9 * value + character) % 2**32
    return value


@functools.lru_cache(maxsize=128)
def _order_of_nodes(count: int) -> tuple[int, ...]:
    """Return the rank of each node in the order of a Tcl array with the nodes' numbers as keys."""
    rank = {int(key): n for n, key in enumerate(tcl_order([str(n) for n in range(count)]))}
    return tuple(map(rank.__getitem__, range(count)))


def tick_phases(nodes: Sequence[int], count: int, seed: int | None, substream: int = 0) -> NDArray[np.float64]:
    """Return the clock phases, s, of TCP agents at ``nodes``, of ``count`` in all, in order of their creation, (F,).

    Parameters
    ----------
    nodes
        Number of the node to which each agent is attached, in the order of creation.
    count
        Number of nodes in the script, numbered from 0.
    seed
        Seed of ns-2's default generator.
    substream
        Number of substreams skipped.
    """
    generator = Generator(seed)
    for _ in range(substream):
        generator.next_substream()
    for _ in nodes:
        generator.uniform()
    order = _order_of_nodes(count)
    phases = np.zeros(len(nodes))
    for f in sorted(range(len(nodes)), key=lambda f: order[nodes[f]]):
        phases[f] = TICK * generator.uniform()
    return phases
