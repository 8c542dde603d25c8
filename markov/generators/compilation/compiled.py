"""The rules compiled: the rows of a matrix over a whole space, and the states that a start leads to."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.kernels import KernelError
from markov.computing.memory import StateLimitError, check_room
from markov.generators.compilation.guards import uncompilable
from markov.generators.compilation.splicing import is_cached, spliced
from markov.generators.enumeration import Rows
from markov.models.spaces import NO_END

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["Failed", "compilable", "reached", "rows_of_space", "seconds_to_compile"]

FIRST_ROOM = 1 << 12
PER_ROW = 8  # entries that there is room for at first
DIRECT = 1 << 26  # states of a space that a table has a place for each of
DONE, FULL, FAILED = 0, 1, 2
RAISED = ArithmeticError, LookupError, ValueError, AssertionError
COLD, WARM = 0.25, 0.5  # seconds per transition and component; seconds to load a kernel


class Failed(Exception):
    """The compiled rules failed in a state; plain Python then produces the error message.

    Attributes
    ----------
    state
        The codes of the state.
    error
        The exception that they raised there, which may be more careful than Python; None: a
        transition that is not allowed.
    """

    def __init__(self, state: NDArray[np.int64], error: Exception | None = None) -> None:
        self.state, self.error = state, error
        super().__init__(state)


def compilable(calls: Calls, space: Space) -> bool:
    """Whether compiled rules can be expected to do as Python does."""
    kinds = space.plain and space.size < 2**63 and hasattr(calls.q, "_fields")
    if not kinds or find_spec("numba") is None:
        return False
    ends = [end for low, n in zip(space.low, space.shape, strict=True) for end in (low, low + n)]
    if not (max(map(abs, ends)) <= NO_END and all(map(_is_exact, calls.q))):
        return False
    try:
        return uncompilable(calls.model.rules) is None
    except KernelError:  # without a text
        return False


def _is_exact(value: Any) -> bool:
    """Whether compiled arithmetic with a parameter is that of Python: whole numbers below 2^52, 64-bit floats."""
    if isinstance(value, tuple):
        return all(map(_is_exact, value))
    if isinstance(value, np.ndarray):
        kind = value.dtype
        return kind == np.float64 or (kind == np.int64 and bool(np.all(abs(value) < NO_END)))
    if isinstance(value, np.generic):
        return type(value) is np.float64
    return not isinstance(value, int) or abs(value) < NO_END


def seconds_to_compile(calls: Calls, space: Space, template: Callable[..., Any]) -> float:
    """Return about how many seconds it takes until compiled rules run."""
    try:
        if is_cached(template, calls.model):
            return WARM
        yields = _count_yields(calls.model.rules)
    except KernelError:
        return math.inf
    return WARM + COLD * yields * len(space.components)


def _count_yields(rules: Callable[..., Any]) -> int:
    from hopflow.kernels.source import parse

    return sum(isinstance(node, ast.Yield) for node in ast.walk(parse(rules)))


class _States(NamedTuple):
    """States in the order of their discovery, and the table that finds them (`_table`)."""

    found: NDArray[np.int64]
    place: tuple[int, int]
    table: NDArray[np.int32]


def rows_of_space(calls: Calls, space: Space) -> Rows:
    """Return the rates out of all states of a space.

    Raises
    ------
    KernelError
        When the rules cannot be compiled.
    Failed
        With the state where compiled rules leave the space, give a rate that is none, or divide by
        zero.
    """
    q, states = tuple(calls.q), space.size
    room, done, full = PER_ROW * states, 0, True
    indptr = _unwritten(states + 1)
    targets, rates = np.empty(room, dtype=np.int64), np.empty(room)
    run = spliced(fill, calls.model)
    while full:
        try:
            done, full = run(q, space.low, space.shape, done, Rows(indptr, targets, rates))
        except RAISED as error:
            raise Failed(space.unnumbered(_written(indptr))[:, 0], error) from None
        if full:
            check_room(f"{calls.name}: a matrix on {states} states", 32.0 * len(rates))
            targets, rates = doubled(targets), doubled(rates)
    if done < states:
        raise Failed(space.unnumbered(np.array([done]))[:, 0])
    count = int(indptr[-1])
    return Rows(indptr, targets[:count], rates[:count])


def reached(
    calls: Calls, space: Space, start: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], Rows]:
    """Return the states that a start leads to, by their numbers, and the rates out of them.

    Breadth first. A state is one 64-bit number, looked up in a table with a place for each state of
    the space, or, for more than 67 million, in an open hash table at most half full.

    Raises
    ------
    KernelError, Failed
        As for `rows_of_space`.
    TooLargeError
        When there are more than ``most`` states, or more would not fit into memory.
    """
    name, q = calls.name, tuple(calls.q)
    run = spliced(reach, calls.model)
    found, indptr = np.empty(FIRST_ROOM, dtype=np.int64), _unwritten(FIRST_ROOM + 1)
    targets: NDArray[Any] = np.empty(4 * FIRST_ROOM, dtype=np.int32)
    rates = np.empty(4 * FIRST_ROOM)
    found[0], count, done, known, outcome = space.numbers(start[:, None])[0], 1, 0, 0, FULL
    place, table = _table(space.size, len(found))
    while outcome == FULL:
        states, rows = _States(found, place, table), Rows(indptr, targets, rates)
        try:
            count, done, outcome = run(
                q, space.low, space.shape, states, Progress(known, count, done), rows
            )
        except RAISED as error:
            raise Failed(space.unnumbered(found[_written(indptr)])[:, 0], error) from None
        known = count
        if outcome == FAILED:
            raise Failed(space.unnumbered(found[done : done + 1])[:, 0])
        if count > most:
            raise StateLimitError(name, most)
        if outcome == FULL:
            many = count == len(found)
            grown = (32.0 if many else 0.0) * len(found) + (0.0 if many else 24.0) * len(targets)
            check_room(f"{name}: more than {count} reachable states", grown)
            if many:
                found = doubled(found)
                indptr = np.append(indptr, _unwritten(len(found) + 1 - len(indptr)))
                if place[0] > 1:
                    (place, table), known = _table(space.size, len(found)), 0
            else:
                targets, rates = doubled(targets), doubled(rates)
    edges = int(indptr[count])
    return found[:count], Rows(indptr[: count + 1], targets[:edges].astype(np.int64), rates[:edges])


def _unwritten(count: int) -> NDArray[np.int64]:
    """Return the beginnings of rows, of which the first one is known."""
    found = np.full(count, -1, dtype=np.int64)
    found[0] = 0
    return found


def _written(indptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of rows of which the end is known, shape (1,)."""
    return np.array([int(np.argmax(indptr < 0)) - 1])


def _table(space: int, room: int) -> tuple[tuple[int, int], NDArray[np.int32]]:
    """Return an empty table of the numbers of states, and the factor and the shift of its slots.

    A factor of one: the slot of a state is its place in the space.
    """
    if space <= DIRECT:
        return (1, 0), np.zeros(1 << max(4, (space - 1).bit_length()), dtype=np.int32)
    return (0x9E3779B1, 15), np.zeros(1 << (2 * room - 1).bit_length(), dtype=np.int32)


def doubled(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of twice the length that begins with this one."""
    longer = np.empty(2 * len(array), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def fill(parameters, low, size, done, rows):  # type: ignore[no-untyped-def]
    """Write the rates out of the states from number ``done`` on (the template).

    Returns the first state without a row, and whether that is for lack of room; else it has a
    transition that is not allowed, or is one more than the last.
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    indptr, targets, rates = rows.indptr, rows.targets, rows.rates
    x = done
    k = int(indptr[x])
    decode()  # type: ignore[name-defined]  # noqa: F821
    while x < len(indptr) - 1:
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            if rate > 0.0:
                encode()  # type: ignore[name-defined]  # noqa: F821
                if not inside or not rate < math.inf:  # type: ignore[name-defined]  # noqa: F821
                    return x, False
                if k >= len(targets):
                    return x, True
                targets[k] = x + step  # type: ignore[name-defined]  # noqa: F821
                rates[k] = rate
                k += 1
            elif rate != 0.0:
                return x, False
        indptr[x + 1] = k
        x += 1
        advance()  # type: ignore[name-defined]  # noqa: F821
    return x, False


class Progress(NamedTuple):
    """How many states the table has, how many are found, and of how many the transitions are known."""

    known: int
    found: int
    done: int


def reach(parameters, low, size, states, progress, rows):  # type: ignore[no-untyped-def]
    """Go on from the state number ``done`` until all are done or an array is full (the template).

    The table has the first ``known`` states. Neighbours of the space are neighbours in the table.
    Returns how many are found and done, and 0 (all done), 1 (full) or 2 (a rule failed).
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    known, count, done = progress
    indptr, targets, rates = rows.indptr, rows.targets, rows.rates
    found, table = states.found, states.table
    mask = len(table) - 1
    factor, shift = states.place
    for number in range(known, count):
        y = int(found[number])
        slot = ((y >> 4) * factor >> shift << 4 | y & 15) & mask
        while table[slot] > 0:
            slot = (slot + 1) & mask
        table[slot] = number + 1
    k = int(indptr[done])
    while done < count:
        x = int(found[done])
        decode()  # type: ignore[name-defined]  # noqa: F821
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            if rate > 0.0:
                encode()  # type: ignore[name-defined]  # noqa: F821
                if not inside or not rate < math.inf:  # type: ignore[name-defined]  # noqa: F821
                    return count, done, 2
                if k >= len(targets) or count >= len(found):
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
                targets[k] = column
                rates[k] = rate
                k += 1
            elif rate != 0.0:
                return count, done, 2
        done += 1
        indptr[done] = k
    return count, done, 0
