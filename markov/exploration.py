"""The states that a model's start leads to, found without building the product space."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import whole
from markov.chains import MarkovChain
from markov.matrices import doubled
from markov.memory import TooLargeError, check_room
from markov.rules import MOST_INT32, ChainModel, check_space, refuse
from markov.splicing import spliced

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reachable", "explore"]

DONE, FULL, FAILED = 0, 1, 2
FIRST_ROOM = 1 << 12
DIRECT = 1 << 26  # states of a space that a table has a place for each of


class Reachable(NamedTuple):
    """What `explore` found.

    Attributes
    ----------
    states
        The reachable states as a NamedTuple of int arrays, each of shape (n,), the start first, in
        the order of their discovery.
    chain
        The `MarkovChain` on them, numbered in that order.
    """

    states: Any
    chain: MarkovChain


def explore(model: ChainModel, *, most: int = 50_000_000, compiled: bool = True) -> Reachable:
    """Return the states that a model's start leads to, and the chain on them.

    Breadth first, with the rules compiled; a state is one 64-bit number, looked up in a table with a
    place for each state of the space, or, for more than 67 million, an open hash table at most half
    full. Memory: 24 bytes per state, 12 per transition, and as much again while arrays grow.

    Parameters
    ----------
    model
        Its ``start()`` must be a state; its space may have up to 2^63 states.
    most
        Give up beyond so many states.
    compiled
        False, or no Numba, runs the same text as plain Python.

    Raises
    ------
    ValueError
        Without a start; with a space that is too large to number; when a rule leaves the space or
        gives a bad rate, with the state.
    TooLargeError
        A MemoryError: when there are more than ``most`` states, with the bytes that so many take; or
        when more would not fit into memory, before it is taken.
    """
    check_space(model)
    whole("most", most, 1, 2**31)
    name, low, size = type(model).__name__, _lowest(model), model.shape
    start = model.start()
    if start is None:
        raise ValueError(f"{name}.start() is None: exploring needs a state to start in")
    total = 1
    for values in size:
        total *= values
    if total >= 2**63:
        raise ValueError(f"{name}: a space of {total:.2g} states cannot be numbered in 63 bits")
    q = tuple(model.symbols())
    run = spliced(reach, model, q, compiled=compiled and find_spec("numba") is not None)
    first = 0
    for value, lowest, values in zip(start, low, size, strict=True):
        first = first * values + int(value) - lowest
    found, indptr = np.empty(FIRST_ROOM, dtype=np.int64), np.zeros(FIRST_ROOM + 1, dtype=np.int64)
    indices, rates = np.empty(4 * FIRST_ROOM, dtype=np.int32), np.empty(4 * FIRST_ROOM)
    found[0], count, done, known, outcome = first, 1, 0, 0, FULL
    place, table = _table(total, len(found))
    while outcome == FULL:
        count, done, outcome = run(
            q, low, size, found, place, table, known, count, done, indptr, indices, rates
        )
        known = count
        if outcome == FAILED:
            refuse(model, (part[0] for part in _unpacked(model, found[done : done + 1])))
        if count > most:
            room = 24.0 * count + 12.0 * int(indptr[done])
            raise TooLargeError(
                f"{name}: more than {most} reachable states (most={most})", room, room
            )
        if outcome == FULL:
            many = count == len(found)
            grown = (32.0 if many else 0.0) * len(found) + (0.0 if many else 24.0) * len(indices)
            check_room(f"{name}: more than {count} reachable states", grown)
            if many:
                found, indptr = doubled(found), doubled(indptr)
                if place[0] > 1:
                    (place, table), known = _table(total, len(found)), 0
            else:
                indices, rates = doubled(indices), doubled(rates)
    edges = int(indptr[count])
    kind: Any = np.int32 if edges < MOST_INT32 else np.int64
    rows: Any = (
        rates[:edges],
        indices[:edges].astype(kind, copy=False),
        indptr[: count + 1].astype(kind),
    )
    matrix = sp.csr_matrix(rows, shape=(count, count))
    states = _unpacked(model, found[:count])
    return Reachable(states, MarkovChain.of_rows(matrix, states._asdict()))


def _table(space: int, room: int) -> tuple[tuple[int, int], NDArray[np.int32]]:
    """Return an empty table of the numbers of states, and the factor and the shift of its slots.

    A factor of one: the slot of a state is its place in the space.
    """
    if space <= DIRECT:
        return (1, 0), np.zeros(1 << max(4, (space - 1).bit_length()), dtype=np.int32)
    return (0x9E3779B1, 15), np.zeros(1 << (2 * room - 1).bit_length(), dtype=np.int32)


def _lowest(model: ChainModel) -> tuple[int, ...]:
    return tuple(values.start for values in model.space().values())


def _unpacked(model: ChainModel, packed: NDArray[np.int64]) -> Any:
    """Return numbers of the product space as a NamedTuple of arrays."""
    parts, rest = [], packed.copy()
    for lowest, values in zip(reversed(_lowest(model)), reversed(model.shape), strict=True):
        parts.append(lowest + rest % values)
        rest //= values
    return model.State(*reversed(parts))


def reach(  # type: ignore[no-untyped-def]
    parameters, low, size, found, place, table, known, count, done, indptr, indices, rates
):
    """Go on from the state number ``done`` until all are done or an array is full (the template).

    The table has the first ``known`` states. Neighbours of the space are neighbours in the table.
    Returns how many are found and done, and 0 (all done), 1 (full) or 2 (a rule failed).
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    mask = len(table) - 1
    factor, shift = place
    for number in range(known, count):
        y = int(found[number])
        slot = ((y >> 4) * factor >> shift << 4 | y & 15) & mask
        while table[slot] > 0:
            slot = (slot + 1) & mask
        table[slot] = number + 1
    k = int(indptr[done])
    while done < count:
        x = int(found[done])
        own = done  # noqa: F841
        decode()  # type: ignore[name-defined]  # noqa: F821
        begin()  # type: ignore[name-defined]  # noqa: F821
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not inside:  # type: ignore[name-defined]  # noqa: F821
                return count, done, 2
            if rate > 0.0:
                if step != 0:  # type: ignore[name-defined]  # noqa: F821
                    if k >= len(indices) or count >= len(found):
                        return count, done, 1
                    y = x + step  # type: ignore[name-defined]  # noqa: F821
                    slot = ((y >> 4) * factor >> shift << 4 | y & 15) & mask
                    column = int(table[slot]) - 1
                    while column >= 0 and found[column] != y:
                        slot = (slot + 1) & mask
                        column = int(table[slot]) - 1
                    if column < 0:
                        column = count
                        found[count] = y
                        count += 1
                        table[slot] = count
                    record()  # type: ignore[name-defined]  # noqa: F821
            elif rate != 0.0:
                return count, done, 2
        if not total < math.inf:  # type: ignore[name-defined]  # noqa: F821
            return count, done, 2
        if k >= len(indices):
            return count, done, 1
        end()  # type: ignore[name-defined]  # noqa: F821
        done += 1
        indptr[done] = k
    return count, done, 0
