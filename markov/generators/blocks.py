"""The matrix of a model by copying the rows of its regions, block by block."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import shape_of
from markov.computing.compilation import compiled
from markov.computing.matrices import MAX_INT32
from markov.generators.enumeration import Rows
from markov.generators.regions import Region, steps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["copied"]

WIDE = 64  # states that the components beyond one have, at most
BLOCK = 512  # states that are copied at a time
DENSER = 4  # times the states that make up the kinds of blocks: fewer states are not worth them


def copied(found: list[Region], space: Space) -> sp.csr_matrix | None:
    """Return the generator of regions that fill a space; None where they do not make long blocks."""
    shape, first = space.shape, np.array(space.low)
    low = np.array([region.low for region in found]) - first
    high = np.array([region.high for region in found]) - first + 1
    rows = [_row(region, space) for region in found]
    entries = sum(region.size * len(row) for region, row in zip(found, rows, strict=True))
    split = next(n for n in range(1, len(shape) + 1) if math.prod(shape[n:]) <= WIDE)
    wide = math.prod(shape[split:])
    cuts = [np.unique(low[:, n]) for n in range(split)] + [np.arange(n) for n in shape[split:]]
    whole = BLOCK // wide
    if DENSER * whole * math.prod(map(len, cuts)) > space.size:
        return None
    table = np.empty(tuple(map(len, cuts)), dtype=np.int64)
    corners = [
        np.column_stack([np.searchsorted(cut, side[:, n]) for n, cut in enumerate(cuts)]).tolist()
        for side in (low, high)
    ]
    for number, box in enumerate(zip(*corners, strict=True)):
        table[tuple(map(slice, *box))] = number
    starts = np.union1d(cuts[split - 1], np.arange(0, shape[split - 1], whole))
    kinds = np.zeros(1, dtype=np.int64)
    for cut, values in zip(
        cuts[:split], [*map(np.arange, shape[: split - 1]), starts], strict=True
    ):
        kinds = np.add.outer(kinds * len(cut), np.searchsorted(cut, values, "right") - 1).ravel()
    sizes = np.tile(wide * np.diff(starts, append=shape[split - 1]), len(kinds) // len(starts))
    blocks = np.tile(table.reshape(-1, wide), whole)
    return _copied(rows, blocks, kinds, sizes, entries)


def _row(region: Region, space: Space) -> dict[int, float]:
    """Return the entries of the rows of a region, by their distances from the diagonal."""
    row: dict[int, float] = {}
    for step, rate in steps_of(region, space):
        if step != 0:
            row[step] = row.get(step, 0.0) + rate
    return dict(sorted([*row.items(), (0, -sum(row.values()))])) if row else row


def _copied(
    rows: list[dict[int, float]],
    table: NDArray[np.int64],
    kinds: NDArray[np.int64],
    sizes: NDArray[np.int64],
    entries: int,
) -> sp.csr_matrix:
    """Return the matrix of blocks: each the first rows, so many, of its kind's line of the table."""
    counts, width, number = np.array(list(map(len, rows))), table.shape[1], table.ravel()
    count, n = counts[number], int(sizes.sum())
    ends = np.append(0, np.cumsum(count))
    begins = np.cumsum(counts) - counts
    place = np.arange(ends[-1]) + np.repeat(begins[number] - ends[:-1], count)
    kind: Any = np.int32 if max(entries, n) < MAX_INT32 else np.int64
    steps = np.array([step for row in rows for step in row], dtype=kind)[place]
    steps += np.repeat(np.tile(np.arange(width, dtype=kind), len(table)), count)
    rates = np.array([rate for row in rows for rate in row.values()])[place]
    indptr, indices = np.zeros(n + 1, dtype=kind), np.empty(entries, dtype=kind)
    made = Rows(indptr, indices, np.empty(entries))
    arguments = kinds, sizes, width, Rows(ends, steps, rates), made
    compiled(copy_rows, shape_of(arguments))(*arguments)
    matrix = sp.csr_matrix((made.rates, indices, indptr), shape=(n, n))
    matrix.has_canonical_format = True
    return matrix


def copy_rows(kinds, sizes, width, known, made):  # type: ignore[no-untyped-def]
    """Copy rows block by block, each moved to its place (the template).

    Row r of kind c has the entries from ``known.indptr[c * width + r]`` on, ``known.targets`` are relative to the block.
    """
    ends, steps, rates = known.indptr, known.targets, known.rates
    indptr, indices, data = made.indptr, made.targets, made.rates
    x = 0
    k = 0
    for block in range(len(kinds)):
        row, size = kinds[block] * width, sizes[block]
        first, last = ends[row], ends[row + size]
        end = k + last - first
        columns, values, after = indices[k:end], data[k:end], indptr[x + 1 : x + 1 + size]
        given, entries, until = steps[first:last], rates[first:last], ends[row + 1 : row + 1 + size]
        for m in range(len(columns)):
            columns[m] = given[m] + x
        for m in range(len(values)):
            values[m] = entries[m]
        for m in range(len(after)):
            after[m] = until[m] + (k - first)
        x += size
        k = end
