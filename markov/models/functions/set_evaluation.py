"""A function of the state run once for a set of states, split where Python would decide differently.

Whole numbers are columns (`markov.computing.columns`); all other values are the objects themselves, and
states that differ in them are in different sets.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.columns import Column, UnsupportedError
from markov.computing.selections import Selection
from markov.models.functions.executed_code import Execution
from markov.models.means import Mean, as_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = ["Partial", "values_on_sets"]

CHUNK = 1 << 17  # states whose columns stay in the cache
STATES_PER_RUN = 40  # that plain Python does in the time of a run on columns
MIN_RUNS = 64  # that are allowed for few states
LEFT_OUT = 0.3  # of the states: more are not left to plain Python


class Partial:
    """The values of a function in many states, except some that are left to plain Python.

    Attributes
    ----------
    count
        Number of states.
    values
        By name, each a `Mean` of arrays of shape (..., count).
    begun
        Whether some state has values, if only none by any name.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.values: dict[str, Mean] = {}
        self.begun = False
        self._left: list[NDArray[np.int64]] = []

    @property
    def left(self) -> NDArray[np.int64]:
        """The places of the states without values."""
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *self._left]))

    def leave(self, places: NDArray[np.int64]) -> None:
        """Leave some states to plain Python."""
        self._left.append(places)

    def put(self, places: NDArray[np.int64], row: Mapping[str, Mean]) -> None:
        """Keep the values in some states.

        Raises
        ------
        TypeError
            Where their names or shapes are not those of others.
        """
        if not self.begun:
            self.begun = True
            self.values = {key: self._room(mean) for key, mean in row.items()}
        if row.keys() != self.values.keys():
            raise TypeError("other names in other states")
        for key, mean in row.items():
            known = self.values[key]
            if (known.over is None) != (mean.over is None) or known.dims != mean.dims:
                raise TypeError("a ratio in some states only")
            for into, part in zip(known.parts(), mean.parts(), strict=True):
                if into.shape[:-1] != part.shape[:-1]:
                    raise TypeError("another shape in other states")
                into[..., places] = part

    def fill(self, row: Mapping[str, Mean]) -> None:
        """Put the values of plain Python into the states that were left to it."""
        self.put(self.left, row)
        self._left = []

    def _room(self, mean: Mean) -> Mean:
        of, *over = (np.empty((*part.shape[:-1], self.count)) for part in mean.parts())
        return mean._replace(of=of, over=over[0] if over else None)


def values_on_sets(
    call: Callable[[Any], Mapping[str, Any]], value: Callable[[Any], Any], table: StateTable
) -> tuple[Partial | None, bool]:
    """Return the values in all states, or None, and whether the function wants NumPy's arrays.

    None where sets would be small, where too many states are left to plain Python, or where the code
    that runs compares numbers by ``is`` or asks for their type.
    """
    partial = Partial(table.count)
    left_out = 0
    for first in range(0, table.count, CHUNK):
        part = table.part(slice(first, first + CHUNK))
        most = max(MIN_RUNS, part.count // STATES_PER_RUN)
        groups = part.equal_groups(most)
        if groups is None:
            return None, False
        heap = [(-len(places), number, places) for number, places in enumerate(groups)]
        heapq.heapify(heap)
        number = runs = 0
        while heap:
            places = heapq.heappop(heap)[2]
            run = _Run(part, places)
            try:
                row = run.values(call, value)
            except UnsupportedError:
                return None, True
            for others in run.selection.left:
                number += 1
                heapq.heappush(heap, (-len(others), len(groups) + number, places[others]))
            here = first + places[run.selection.states]
            runs += 1
            if row is None or not _kept(partial, here, row):
                partial.leave(here)
                left_out += len(here)
            too_small = runs > most and bool(heap)
            if not run.sound or too_small or left_out > max(LEFT_OUT * table.count, MIN_RUNS):
                return None, False
    return (partial if partial.begun else None), False


def _kept(partial: Partial, places: NDArray[np.int64], row: Mapping[str, Mean]) -> bool:
    try:
        partial.put(places, row)
    except TypeError:
        return False
    return True


class _Run:
    """One run of a function on the states at some places of a table."""

    def __init__(self, table: StateTable, places: NDArray[np.int64]) -> None:
        self.selection, self.sound = Selection(len(places), arrays=False), True
        codes = table.codes[:, places]
        space = table.space
        values = [
            Column(self.selection, code, int(code.min()), int(code.max()))
            if isinstance(component.values, range)
            else component.values[int(code[0])]
            for component, code in zip(space.components, codes, strict=True)
        ]
        self.state = space.joined(values)

    def values(self, call: Callable[[Any], Mapping[str, Any]], value: Callable[[Any], Any]) -> dict[str, Mean] | None:
        """Return the values in the states that stay in the end; None: plain Python is to say."""
        try:
            with Execution() as execution:
                found = call(self.state)
            self.sound = execution.columns
            return {key: self._mean(each, value) for key, each in found.items()}
        except Exception:  # noqa: BLE001  # plain Python is to say
            return None
        finally:
            self.selection.closed = True

    def _mean(self, given: Any, value: Callable[[Any], Any]) -> Mean:
        count = len(self.selection.states)
        if type(given) is Column:
            return Mean(self._numbers(given))
        if isinstance(given, Mean):
            parts = [self._spread(part, len(given.dims)) for part in given.parts()]
            return given._replace(of=parts[0], over=parts[1] if len(parts) > 1 else None)
        return as_mean(value(given), count)

    def _spread(self, part: Any, depth: int) -> NDArray[np.float64]:
        """Return numbers of shape (..., states), from nested lists of columns and numbers."""
        if type(part) is Column and depth == 0:
            return self._numbers(part)
        if isinstance(part, (tuple, list)) and depth:
            return np.array([self._spread(each, depth - 1) for each in part])
        dims = tuple(map(str, range(depth)))
        found: NDArray[np.float64] = as_mean(Mean(part, dims=dims), len(self.selection.states)).of
        return found

    @staticmethod
    def _numbers(column: Column) -> NDArray[np.float64]:
        values = column.values()
        if values.dtype.kind == "O":
            return np.array([float(each) for each in values])
        return values.astype(np.float64)
