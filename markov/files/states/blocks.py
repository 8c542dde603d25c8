"""Numbers of states in which variables that change together have one digit: of the values that they may have together.

Variables of a block, one behind the other in the number, are followed alone: a transition may take place where its
condition holds for some values of the other variables. That gives the values that the block may have together, often few
of all combinations. Counted in ascending order, they are the digits of other numbers, in the same order as the given ones.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import leads_to
from markov.files.states.commands import Rows
from markov.files.states.tables import LARGEST, MAX_ROWS, Layout, Table, Tabulated

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UNCHANGED", "BlockArrays", "Blocks", "in_blocks"]

WIDEST = 1 << 16  # combinations of values of a block
_NONE = np.zeros(0, dtype=np.int64)


class _Change(NamedTuple):
    """By how much a table's rows change its digits: shape (digits, rows), 0 where a row cannot be taken."""

    values: NDArray[np.int64]
    changes: NDArray[np.int64]
    taken: NDArray[np.bool_]


class BlockArrays(NamedTuple):
    """Digits of blocks: value v of digit k stands for ``codes[first[k] + v]`` in the given numbers; without digits, numbers stay."""

    shifts: NDArray[np.int64]
    masks: NDArray[np.int64]
    first: NDArray[np.int64]
    codes: NDArray[np.int64]


UNCHANGED = BlockArrays(_NONE, _NONE, _NONE, _NONE)
"""Without digits."""


class Blocks(NamedTuple):
    """Digits of blocks.

    Attributes
    ----------
    given_layout, layout
        Of the given numbers, and of those with blocks as digits.
    ends
        Where each block begins among the given digits, and the last one ends.
    codes
        Of each block its part of the given numbers, ascending.
    """

    given_layout: Layout
    layout: Layout
    ends: list[int]
    codes: list[NDArray[np.int64]]

    def part(self, k: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the part of a block of given numbers."""
        given = self.given_layout
        bits = sum(given.masks[j] << given.shifts[j] for j in range(self.ends[k], self.ends[k + 1]))
        return numbers & bits

    def numbers(self, given: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers with blocks as digits."""
        found = np.zeros_like(given)
        for k, (codes, shift) in enumerate(zip(self.codes, self.layout.shifts, strict=True)):
            found += np.searchsorted(codes, self.part(k, given)) << shift
        return found

    @property
    def arrays(self) -> BlockArrays:
        """What `markov.files.states.search_kernels.given` reads."""
        return BlockArrays(
            np.array(self.layout.shifts, dtype=np.int64),
            np.array(self.layout.masks, dtype=np.int64),
            np.cumsum([0, *map(len, self.codes)])[:-1],
            np.concatenate(self.codes),
        )


def in_blocks(made: Tabulated, initial: NDArray[np.int64]) -> tuple[Tabulated, Blocks] | None:
    """Return tables over blocks of variables; None where these would be large.

    Parameters
    ----------
    made
        The tables.
    initial
        Numbers of the initial states.
    """
    changes = [_changes(table, made.layout) for table in made.tables]
    ends = _ends(made.tables, changes, made.layout)
    if any(math.prod(made.layout.counts[a:b]) > LARGEST for a, b in pairwise(ends)):
        return None
    pairs = list(zip(made.tables, changes, strict=True))
    codes = [_values(range(a, b), pairs, made.layout, initial) for a, b in pairwise(ends)]
    counts = tuple(map(len, codes))
    widths = [(count - 1).bit_length() for count in counts]
    layout = Layout(tuple(sum(widths[k + 1 :]) for k in range(len(widths))), counts)
    blocks = Blocks(made.layout, layout, ends, codes)
    tables: list[Table] = []
    for table, change in pairs:
        if (found := _recoded(table, change, blocks)) is None:
            return None
        tables.append(found)
        if sum(len(each.rows) for each in tables) > MAX_ROWS:
            return None
    return made._replace(layout=layout, tables=tables), blocks


def _changes(table: Table, layout: Layout) -> _Change:
    """Return the digits before the rows of a table, and their changes."""
    rows = table.rows
    taken = rows.rate != 0.0
    if rows.fault is not None:
        taken &= rows.fault == 0
    values = np.array([rows.source // stride for stride in table.strides]).reshape(-1, len(rows))
    for values_of, k in zip(values, table.digits, strict=True):
        values_of %= layout.counts[k]
    before = np.zeros(len(rows), dtype=np.int64)
    for values_of, k in zip(values, table.digits, strict=True):
        before += values_of << layout.shifts[k]
    after = before + np.where(taken, rows.change, 0)
    changes = [
        ((after >> layout.shifts[k]) & layout.masks[k]) - values_of
        for values_of, k in zip(values, table.digits, strict=True)
    ]
    return _Change(values, np.array(changes).reshape(values.shape), taken)


def _ends(tables: list[Table], changes: list[_Change], layout: Layout) -> list[int]:
    """Return where blocks begin and the last one ends: digits that a row changes together are in one, if that is not too wide."""
    count = len(layout.counts)
    joined = np.zeros(count + 1, dtype=bool)  # of each digit and the one before it
    for table, change in zip(tables, changes, strict=True):
        for pattern in np.unique(change.changes != 0, axis=1).T:
            if pattern.any():
                digits = np.array(table.digits)[pattern]
                joined[digits[0] + 1 : digits[-1] + 1] = True
    ends, combinations = [0], layout.counts[0]
    for k in range(1, count):
        combinations *= layout.counts[k]
        if not joined[k] or combinations > WIDEST:
            ends.append(k)
            combinations = layout.counts[k]
    return [*ends, count]


def _values(
    block: range, tables: list[tuple[Table, _Change]], layout: Layout, initial: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the parts of numbers that the digits of a block may have together, ascending."""
    counts = [layout.counts[k] for k in block]
    strides = {k: math.prod(counts[i + 1 :]) for i, k in enumerate(block)}
    size = math.prod(counts)
    combinations = np.arange(size)
    sources, targets = [], []
    for table, change in tables:
        own = [i for i, k in enumerate(table.digits) if k in strides]
        if not own:
            continue
        by = sum(change.changes[i] * strides[table.digits[i]] for i in own)
        moving = by != 0
        part, at, everywhere = 1, np.zeros(len(by), dtype=np.int64), np.zeros(size, dtype=np.int64)
        for i in own:
            k = table.digits[i]
            at = at * layout.counts[k] + change.values[i]
            everywhere = (
                everywhere * layout.counts[k] + combinations // strides[k] % layout.counts[k]
            )
            part *= layout.counts[k]
        at, by = np.unique(np.array([at[moving], by[moving]]), axis=1)
        number = np.bincount(at, minlength=part)
        begin = np.cumsum(number) - number
        times = number[everywhere]
        source = np.repeat(combinations, times)
        within = np.arange(len(source)) - np.repeat(np.cumsum(times) - times, times)
        sources.append(source)
        targets.append(source + by[np.repeat(begin[everywhere], times) + within])
    reached = np.zeros(size, dtype=bool)
    first = sum(
        ((initial >> layout.shifts[k]) & layout.masks[k]) * stride for k, stride in strides.items()
    )
    reached[first] = True
    if sources:
        pairs = np.concatenate(sources), np.concatenate(targets)
        graph = sp.csr_matrix((np.ones(len(pairs[0])), pairs), shape=(size, size))
        reached = leads_to(graph, reached)
    found = np.flatnonzero(reached)
    codes = np.zeros(len(found), dtype=np.int64)
    for k, stride in strides.items():
        codes += found // stride % layout.counts[k] << layout.shifts[k]
    return codes


def _recoded(table: Table, change: _Change, blocks: Blocks) -> Table | None:
    """Return a table over the blocks that have its digits; None where it would be large."""
    given, layout, ends = blocks.given_layout, blocks.layout, blocks.ends
    touched = [
        k for k in range(len(blocks.codes)) if any(ends[k] <= d < ends[k + 1] for d in table.digits)
    ]
    counts = [layout.counts[k] for k in touched]
    strides = [math.prod(counts[i + 1 :]) for i in range(len(counts))]
    size = math.prod(counts)
    if size > LARGEST:
        return None
    entries = np.arange(size)
    values = [entries // stride % count for stride, count in zip(strides, counts, strict=True)]
    whole = sum(
        (blocks.codes[k][value] for k, value in zip(touched, values, strict=True)),
        np.zeros(size, dtype=np.int64),
    )
    at = np.zeros(size, dtype=np.int64)
    for d, stride in zip(table.digits, table.strides, strict=True):
        at += ((whole >> given.shifts[d]) & given.masks[d]) * stride
    number = np.bincount(table.rows.source, minlength=table.size)
    begin = np.cumsum(number) - number
    times = number[at]
    source = np.repeat(entries, times)
    if len(source) > MAX_ROWS:
        return None
    within = np.arange(len(source)) - np.repeat(np.cumsum(times) - times, times)
    rows = np.repeat(begin[at], times) + within
    shifted = np.zeros(len(source), dtype=np.int64)
    by = np.zeros(len(table.rows), dtype=np.int64)
    for i, d in enumerate(table.digits):
        by += change.changes[i] << given.shifts[d]
    after = whole[source] + by[rows]
    for k, value in zip(touched, values, strict=True):
        digit = np.searchsorted(blocks.codes[k], blocks.part(k, after))
        shifted += (digit - value[source]) << layout.shifts[k]
    fault = table.rows.fault
    found = Rows(
        source,
        np.asarray(table.rows.rate)[rows],
        np.where(change.taken[rows], shifted, 0),
        None if fault is None else fault[rows],
    )
    return Table(touched, strides, size, found)
