"""The generator matrix of a model, out of its rules: compiled, by regions, or as plain Python."""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.memory import check_room
from markov.regions import by_regions
from markov.rules import MOST_INT32, NO_END, ChainModel, check_space, refuse
from markov.splicing import spliced

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["doubled", "generator", "with_diagonal"]

FIRST_ROOM = 8  # entries per row of a generator
LARGE = 250_000  # states from which on regions are looked for
SAMPLED = 100  # states by which the memory of a matrix is predicted


def generator(model: ChainModel, *, compiled: bool = True) -> sp.csr_matrix:
    """Return the generator matrix Q of a model over its whole product space.

    From 250,000 states on, the rules are first run as plain Python on whole regions of the space (see
    `markov.regions`); where they are alike on few regions only, these make the matrix. Else the rules
    are compiled and run state by state; those that yield targets in ascending order are the fastest.

    Parameters
    ----------
    model
        The chain's rules and parameters.
    compiled
        False runs the rules as plain Python, state by state: slow, the reference of the tests. So does
        True where Numba is not installed.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (states, states)
        Off-diagonal rates in 1/s, and the diagonal that makes every row sum to zero. Each row in the
        order of its columns, none of them twice.

    Raises
    ------
    ValueError
        When a rule leaves the space or gives a rate that is negative or not finite, with the state;
        when the space is not one of ranges with step 1 over the fields of ``State``.
    KernelError
        When a rule cannot be compiled; with the file and line.
    TooLargeError
        When the matrix would not fit into memory, before it is built.
    """
    check_space(model)
    compiled = compiled and find_spec("numba") is not None
    if (size := model.size) >= LARGE:
        what = f"{type(model).__name__}: a matrix on {size} states"
        if compiled and size < NO_END and (found := by_regions(model, what)) is not None:
            return found
        check_room(what, _predicted(model))
    return _spliced(model) if compiled else _interpreted(model)


def _spliced(model: ChainModel) -> sp.csr_matrix:
    """Return what `generator` does, with the rules compiled."""
    space = model.space().values()
    low, size = tuple(values.start for values in space), tuple(map(len, space))
    q, states = tuple(model.symbols()), math.prod(size)
    room, done, full = FIRST_ROOM * states, 0, True
    kind: Any = np.int32 if room < MOST_INT32 else np.int64
    indptr = np.zeros(states + 1, dtype=kind)
    indices, rates = np.empty(room, dtype=kind), np.empty(room)
    while full:
        done, full = spliced(fill, model, q, indptr)(q, low, size, done, indptr, indices, rates)
        if full:
            indices, rates = doubled(indices), doubled(rates)
            if len(indices) > MOST_INT32:
                indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    if done < states:
        refuse(model, np.add(low, np.unravel_index(done, size)))
    entries = int(indptr[-1])
    found: Any = rates[:entries], indices[:entries], indptr
    return sp.csr_matrix(found, shape=(states, states))


def _predicted(model: ChainModel) -> float:
    """Return the bytes of a model's matrix, by the rows of a few states."""
    rng = np.random.default_rng(0)
    low, size = zip(
        *((values.start, len(values)) for values in model.space().values()), strict=True
    )
    states = (low + rng.integers(size, size=(SAMPLED, len(size)))).tolist()
    rows = [1 + len(model.transitions(state)) for state in states]
    return model.size * (4.0 + 12.0 * float(np.mean(rows)))


def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of twice the length that begins with this one."""
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def with_diagonal(rates: sp.csr_matrix) -> sp.csr_matrix:
    """Return the generator of off-diagonal rates, shape (n, n): every row sums to zero."""
    exit_rates = np.asarray(rates.sum(axis=1)).ravel()
    return sp.csr_matrix(rates - sp.diags(exit_rates, format="csr"))


def fill(parameters, low, size, done, indptr, indices, rates):  # type: ignore[no-untyped-def]
    """Write the rows of the generator from the state number ``done`` on (the template).

    Each in the order of its columns, the diagonal included unless it is zero. Returns the first state
    without a row, and whether that is for lack of room; else it has a transition that is not allowed,
    or is one more than the last.
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    x = done
    k = int(indptr[x])
    decode()  # type: ignore[name-defined]  # noqa: F821
    while x < len(indptr) - 1:
        own = x  # noqa: F841
        begin()  # type: ignore[name-defined]  # noqa: F821
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not inside:  # type: ignore[name-defined]  # noqa: F821
                return x, False
            if rate > 0.0:
                if step != 0:  # type: ignore[name-defined]  # noqa: F821
                    if k >= len(indices):
                        return x, True
                    column = x + step  # type: ignore[name-defined]  # noqa: F821, F841
                    record()  # type: ignore[name-defined]  # noqa: F821
            elif rate != 0.0:
                return x, False
        if not total < math.inf:  # type: ignore[name-defined]  # noqa: F821
            return x, False
        if k >= len(indices):
            return x, True
        end()  # type: ignore[name-defined]  # noqa: F821
        indptr[x + 1] = k
        x += 1
        advance()  # type: ignore[name-defined]  # noqa: F821
    return x, False


def _interpreted(model: ChainModel) -> sp.csr_matrix:
    """Return what `generator` does, with the rules run as plain Python."""
    q, size = model.symbols(), model.shape
    low = tuple(values.start for values in model.space().values())
    rows, columns, rates = [], [], []
    for x, state in enumerate(zip(*model.states(), strict=True)):
        s = model.State(*map(int, state))
        for target, rate in model.rules(s, q):
            place = [t - first for t, first in zip(target, low, strict=True)]
            inside = all(0 <= t < n and t == int(t) for t, n in zip(place, size, strict=True))
            if not inside or not (np.isfinite(rate) and rate >= 0):
                refuse(model, s)
            if not math.isfinite(sum(map(float, (r for _, r in model.rules(s, q))))):
                refuse(model, s)
            if target != s and rate > 0:
                rows.append(x)
                columns.append(int(np.ravel_multi_index([*map(int, place)], size)))
                rates.append(float(rate))
    entries = np.array(rates), (np.array(rows, dtype=int), np.array(columns, dtype=int))
    return with_diagonal(sp.csr_matrix(entries, shape=(model.size, model.size)))
