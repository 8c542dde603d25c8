"""A function of the state that uses NumPy, run once for all states that differ in whole numbers only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.models.functions.executed_code import Execution
from markov.models.functions.set_evaluation import MIN_RUNS, STATES_PER_RUN, Partial
from markov.models.means import Mean, as_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.state_tables import StateTable

__all__ = ["values_on_arrays"]


def values_on_arrays(
    call: Callable[[Any], Mapping[str, Any]], value: Callable[[Any], Any], table: StateTable
) -> Partial | None:
    """Return the values in all states by calls with arrays, or None where that does not do.

    States in which the function gives one number for all are left to plain Python: a comparison that
    NumPy does not spread over the states looks the same.
    """
    groups = table.equal_groups(max(MIN_RUNS, table.count // STATES_PER_RUN))
    if groups is None:
        return None
    partial = Partial(table.count)
    for places in groups:
        try:
            state = _state(table, places)
            with np.errstate(all="raise", under="ignore"), Execution() as execution:
                found = call(state)
            if not execution.arrays:
                return None
            row = {key: _mean(each, value, len(places)) for key, each in found.items()}
            if any(mean is None for mean in row.values()):
                partial.leave(places)
            else:
                partial.put(places, row)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001  # plain Python is to say
            return None
    return partial if partial.begun else None


def _state(table: StateTable, places: NDArray[np.int64]) -> Any:
    values: list[Any] = []
    for component, code in zip(table.space.components, table.codes, strict=True):
        part = code[places]
        part.flags.writeable = False
        whole = isinstance(component.values, range)
        values.append(part if whole else component.values[int(part[0])])
    return table.space.joined(values)


def _mean(given: Any, value: Callable[[Any], Any], count: int) -> Mean | None:
    """Return a measure over the states; None where a part of it is one number for all."""
    mean = given if isinstance(given, Mean) else Mean(given)
    depth = len(mean.dims)
    if any(np.ndim(part) != depth + 1 for part in mean.parts()):
        value(given)  # which says whether it is a number at all
        return None
    return as_mean(mean, count)
