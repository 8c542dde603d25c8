"""The states that a model's start leads to, found without building the product space."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import whole
from markov.chains import MarkovChain
from markov.rules import ChainModel, check_space, refuse, spliced, with_diagonal

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reachable", "explore"]

DONE, FULL, FAILED = 0, 1, 2
FIRST_ROOM = 1 << 12


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

    Breadth first, with the rules compiled; a state is one 64-bit number, looked up in an open hash
    table of at most half its capacity. Memory: 24 bytes per state, 16 per transition, and as much
    again while arrays grow.

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
    MemoryError
        When there are more than ``most`` states, with the bytes that so many take.
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
    found, indptr = np.zeros(FIRST_ROOM, dtype=np.int64), np.zeros(FIRST_ROOM + 1, dtype=np.int64)
    indices, rates = np.zeros(4 * FIRST_ROOM, dtype=np.int64), np.zeros(4 * FIRST_ROOM)
    found[0], count, done, outcome = first, 1, 0, FULL
    while outcome == FULL:
        table = np.full(4 * len(found), -1, dtype=np.int64)
        count, done, outcome = run(
            q, low, size, found, table, count, done, indptr, indices, rates, len(found)
        )
        if outcome == FAILED:
            refuse(model, _unpacked(model, found[done : done + 1]))
        if count > most:
            size_in_bytes = 24 * count + 16 * int(indptr[done])
            msg = f"{name}: more than {most} reachable states, {size_in_bytes:.2g} bytes so far"
            raise MemoryError(f"{msg}; allow more with explore(model, most=...)")
        if count == len(found):
            found, indptr = _doubled(found), _doubled(indptr)
        if outcome == FULL:
            indices, rates = _doubled(indices), _doubled(rates)
    edges = int(indptr[count])
    matrix = sp.csr_matrix(
        (rates[:edges], indices[:edges], indptr[: count + 1]), shape=(count, count)
    )
    matrix.sum_duplicates()
    return Reachable(_unpacked(model, found[:count]), MarkovChain(with_diagonal(matrix)))


def _lowest(model: ChainModel) -> tuple[int, ...]:
    return tuple(values.start for values in model.space().values())


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([array, np.zeros(len(array), dtype=array.dtype)])


def _unpacked(model: ChainModel, packed: NDArray[np.int64]) -> Any:
    """Return numbers of the product space as a NamedTuple of arrays."""
    parts, rest = [], packed.copy()
    for lowest, values in zip(reversed(_lowest(model)), reversed(model.shape), strict=True):
        parts.append(lowest + rest % values)
        rest //= values
    return model.State(*reversed(parts))


def reach(  # type: ignore[no-untyped-def]
    parameters, low, size, found, table, count, done, indptr, indices, rates, room
):
    """Go on from the state number ``done`` until all are done or an array is full (the template).

    Returns how many are found and done, and 0 (all done), 1 (full) or 2 (a rule failed).
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    mask = len(table) - 1
    for number in range(count):
        slot = ((int(found[number]) * 0x9E3779B1) >> 15) & mask
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number
    while done < count:
        x = int(found[done])
        k = indptr[done]
        decode()  # type: ignore[name-defined]  # noqa: F821
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not inside or not 0.0 <= rate < math.inf:  # type: ignore[name-defined]  # noqa: F821
                return count, done, 2
            if y != x and rate > 0.0:  # type: ignore[name-defined]  # noqa: F821
                if k >= len(indices) or count >= room:
                    return count, done, 1
                slot = ((y * 0x9E3779B1) >> 15) & mask  # type: ignore[name-defined]  # noqa: F821
                while table[slot] >= 0 and found[table[slot]] != y:  # type: ignore[name-defined]  # noqa: F821
                    slot = (slot + 1) & mask
                if table[slot] < 0:
                    table[slot] = count
                    found[count] = y  # type: ignore[name-defined]  # noqa: F821
                    count += 1
                indices[k] = table[slot]
                rates[k] = rate
                k += 1
        done += 1
        indptr[done] = k
    return count, done, 0
