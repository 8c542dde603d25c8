"""Tables of transitions as arrays, for the compiled kernels of searches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from markov.files.states.tables import Table, TransitionTables

__all__ = ["Tables", "table_arrays"]

MAX_CHOICES = 1 << 20  # values of a digit times groups that are chosen by it


class Tables(NamedTuple):
    """Transitions by groups of tables that move together.

    Attributes
    ----------
    shift, mask
        Position of the digit of a state's number that selects groups.
    starts, chosen
        For a value v of this digit, the groups ``chosen[starts[v]:starts[v + 1]]`` may have transitions.
    terms
        Group g combines the rows of the terms ``terms[g] .. terms[g + 1] - 1``.
    keys, first, indptr
        A term has a key, which depends on the state. For a value e of the key, the rows are
        ``indptr[first[term] + e]`` .. ``indptr[first[term] + e + 1] - 1``.
    rates, changes
        Rates of the rows in 1/s, NaN if the command fails, and changes of the state's number. Behind the rows is a
        workspace for the maximum number of transitions of a state, combined from rows.
    rewarded
        Index of each group's action among the actions with rewards; -1 without a reward.
    reads, shifts, masks, strides
        The value of key k is the sum of digits times strides over ``reads[k]`` .. ``reads[k + 1] - 1``.
    values
        Workspace for the values of the keys in one state.
    most
        Maximum number of transitions out of a state.
    """

    shift: int
    mask: int
    starts: NDArray[np.int64]
    chosen: NDArray[np.int64]
    terms: NDArray[np.int64]
    keys: NDArray[np.int64]
    first: NDArray[np.int64]
    indptr: NDArray[np.int64]
    rates: NDArray[np.float64]
    changes: NDArray[np.int64]
    rewarded: NDArray[np.int64]
    reads: NDArray[np.int64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]
    strides: NDArray[np.int64]
    values: NDArray[np.int64]
    max_transitions: int


def table_arrays(transitions: TransitionTables) -> Tables:
    """Return tables as arrays.

    Groups are in the order of their changes, so that the targets of a state are nearly ascending, and its row sorted.
    """
    means = [_mean_change(table) for table in transitions.tables]
    order = sorted(range(len(transitions.groups)), key=lambda g: sum(means[t] for t in transitions.groups[g]))
    groups = [transitions.groups[g] for g in order]
    digit, starts, chosen = _choices(transitions, groups)
    rows = [table.rows for table in transitions.tables]
    before = np.cumsum([0, *map(len, rows)])
    indptr = [
        np.append(0, np.cumsum(np.bincount(table.rows.source, minlength=table.size))) + start
        for table, start in zip(transitions.tables, before, strict=False)
    ]
    first = _offsets(indptr)
    rates = [part.rate if part.fault is None else np.where(part.fault != 0, np.nan, part.rate) for part in rows]
    keys: dict[tuple[int, ...], int] = {}
    for table in transitions.tables:
        keys.setdefault(tuple(table.digits), len(keys))
    reads = [k for digits in keys for k in digits]
    strides = {tuple(table.digits): table.strides for table in transitions.tables}
    layout, none, workspace = transitions.layout, np.zeros(0, dtype=np.int64), np.zeros(transitions.max_transitions)
    terms = [t for group in groups for t in group]
    return Tables(
        layout.shifts[digit] if layout.counts else 0,
        layout.masks[digit] if layout.counts else 0,
        starts,
        chosen,
        _offsets(groups),
        np.array([keys[tuple(transitions.tables[t].digits)] for t in terms], dtype=np.int64),
        np.array([first[t] for t in terms], dtype=np.int64),
        np.concatenate([*indptr, none]),
        np.concatenate([*rates, workspace]),
        np.concatenate([*(part.change for part in rows), workspace.astype(np.int64)]),
        np.array([transitions.rewarded[g] for g in order], dtype=np.int64),
        _offsets(list(keys)),
        np.array([layout.shifts[k] for k in reads], dtype=np.int64),
        np.array([layout.masks[k] for k in reads], dtype=np.int64),
        np.array([stride for digits in keys for stride in strides[digits]], dtype=np.int64),
        np.zeros(len(keys), dtype=np.int64),
        transitions.max_transitions,
    )


def _choices(
    transitions: TransitionTables, groups: list[tuple[int, ...]]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the digit that leaves fewest groups on average, the start of each value's groups, and the groups."""
    choice = 0, np.array([0, len(groups)]), np.arange(len(groups))
    best_mean = math.inf
    for k, count in enumerate(transitions.layout.counts):
        if count * len(groups) > MAX_CHOICES:
            continue
        rows_by_table = {
            t: _values_with_rows(table, k, count) for t, table in enumerate(transitions.tables) if k in table.digits
        }
        possible = np.ones((count, len(groups)), dtype=bool)
        for g, group in enumerate(groups):
            for t in rows_by_table.keys() & set(group):
                possible[:, g] &= rows_by_table[t]
        if possible.mean() < best_mean:
            best_mean = float(possible.mean())
            per_value = possible.sum(axis=1)
            choice = k, np.append(0, np.cumsum(per_value)), np.nonzero(possible)[1]
    return choice


def _values_with_rows(table: Table, digit: int, count: int) -> NDArray[np.bool_]:
    """Return whether a table has rows for each value of a digit."""
    stride = table.strides[table.digits.index(digit)]
    has_rows = np.zeros(count, dtype=bool)
    has_rows[table.rows.source // stride % count] = True
    return has_rows


def _mean_change(table: Table) -> float:
    """Return the mean change of the state's number in a table."""
    count = len(table.rows)
    return float(table.rows.change.sum(dtype=np.float64)) / count if count else 0.0


def _offsets(parts: Collection[Collection[object]]) -> NDArray[np.int64]:
    """Return the start of each part in the concatenation, and its end."""
    return np.cumsum([0, *map(len, parts)])
