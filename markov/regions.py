"""The matrix of a model by the regions of its space in which the rules are alike.

The rules run as plain Python on objects in place of the state (`markov.tracing`), which keep for each
component the values with the same answers to all that the rules asked: in that box of states the
transitions are the same, from each state by the same step. Boxes fill the space; where they are few,
rows are copied instead of computed.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.kernels import shape_of
from markov.memory import check_room
from markov.methods import compiled
from markov.rules import MOST_INT32, refuse
from markov.tracing import Span, Traced, shift

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.rules import ChainModel

__all__ = ["Region", "by_regions", "regions"]

STATES_PER_RUN = 1_000  # rows that compiled rules make while plain ones run once
WIDE = 64  # states that the components beyond one have, at most
BLOCK = 512  # states that are copied at a time
DENSER = 4  # times the states that make up the kinds of blocks: fewer states are not worth them


class Region(NamedTuple):
    """A box of states, ``low`` to ``high`` in each component, with the same ``(changes, rate)``."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    moves: list[tuple[tuple[int, ...], float]]


def regions(model: ChainModel, most: int) -> list[Region] | None:
    """Return boxes that fill the model's space, in each of which its rules are alike.

    None where more than ``most`` boxes are needed, or where the rules do with a component what its
    stand-in cannot.

    Raises
    ------
    ValueError
        When a rule leaves the space or gives a rate that is not allowed, with the state.
    """
    found: list[Region] = []
    space, q = tuple(model.space().values()), model.symbols()
    left = [(-model.size, tuple((values[0], values[-1]) for values in space))]
    while left:
        _, bounds = heappop(left)  # the largest: where values are read, it shows soon
        spans = [Span(low, low, high) for low, high in bounds]
        try:
            moves = _moves(model, space, q, spans)
        except (TypeError, AttributeError):
            return None
        read = [high - low + 1 for (low, high), s in zip(bounds, spans, strict=True) if s.read]
        if len(found) + math.prod(read) > most:
            return None
        found.append(Region(tuple(s.low for s in spans), tuple(s.high for s in spans), moves))
        for n, (span, (_, high)) in enumerate(zip(spans, bounds, strict=True)):
            if span.high < high:
                inside = tuple((s.low, s.high) for s in spans[:n])
                rest = (*inside, (span.high + 1, high), *bounds[n + 1 :])
                heappush(left, (-math.prod(b - a + 1 for a, b in rest), rest))
    return found


def _moves(
    model: ChainModel, space: tuple[range, ...], q: Any, spans: list[Span]
) -> list[tuple[tuple[int, ...], float]]:
    """Return the transitions out of the lowest state of some spans, and narrow these."""
    moves, total = [], 0.0
    for target, rate in model.rules(model.State(*map(Traced, spans)), q):
        changes = tuple(map(shift, target, spans))
        whole = all(type(to) is Traced or to == int(to) for to in target)
        total += rate if whole and rate >= 0 else math.nan
        moves.append((changes, float(rate)))
    if not total < math.inf:
        refuse(model, (span.value for span in spans))
    for changes, _ in moves:
        for n, (change, span, values) in enumerate(zip(changes, spans, space, strict=True)):
            worst = span.low if change < 0 else span.high
            if change and worst + change not in values:
                refuse(model, (worst if k == n else s.value for k, s in enumerate(spans)))
    return moves


def by_regions(model: ChainModel, what: str) -> sp.csr_matrix | None:
    """Return what `markov.matrices.generator` does; None where the regions are too many to pay.

    Raises
    ------
    TooLargeError
        When the matrix, called ``what``, would not fit into memory, before it is built.
    """
    shape, size = model.shape, model.size
    found = regions(model, size // STATES_PER_RUN)
    if found is None:
        return None
    first = [values.start for values in model.space().values()]
    low = np.array([region.low for region in found]) - first
    high = np.array([region.high for region in found]) - first + 1
    weights = [math.prod(shape[n + 1 :]) for n in range(len(shape))]
    rows = [_row(region, weights) for region in found]
    volumes = map(math.prod, (high - low).tolist())
    entries = sum(volume * len(row) for volume, row in zip(volumes, rows, strict=True))
    check_room(what, 12.0 * entries + 8.0 * size)
    split = next(n for n in range(1, len(shape) + 1) if math.prod(shape[n:]) <= WIDE)
    wide = math.prod(shape[split:])
    cuts = [np.unique(low[:, n]) for n in range(split)] + [np.arange(n) for n in shape[split:]]
    whole = BLOCK // wide
    if DENSER * whole * math.prod(map(len, cuts)) > size:
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


def _row(region: Region, weights: list[int]) -> dict[int, float]:
    """Return the entries of the rows of a region, by their distances from the diagonal."""
    row: dict[int, float] = {}
    total = 0.0
    for changes, rate in region.moves:
        step = sum(by * weight for by, weight in zip(changes, weights, strict=True))
        if step != 0 and rate > 0.0:
            row[step] = row.get(step, 0.0) + rate
            total += rate
    return dict(sorted([*row.items(), (0, -total)])) if row else row


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
    kind: Any = np.int32 if max(entries, n) < MOST_INT32 else np.int64
    steps = np.array([step for row in rows for step in row], dtype=kind)[place]
    steps += np.repeat(np.tile(np.arange(width, dtype=kind), len(table)), count)
    rates = np.array([rate for row in rows for rate in row.values()])[place]
    indptr, indices = np.zeros(n + 1, dtype=kind), np.empty(entries, dtype=kind)
    arguments = kinds, sizes, width, ends, steps, rates, indptr, indices, np.empty(entries)
    compiled(copy_rows, shape_of(arguments))(*arguments)
    return sp.csr_matrix((arguments[-1], indices, indptr), shape=(n, n))


def copy_rows(kinds, sizes, width, ends, steps, rates, indptr, indices, data):  # type: ignore[no-untyped-def]
    """Copy rows block by block, each moved to its place (the template).

    Row r of kind c has the entries from ``ends[c * width + r]`` on.
    """
    x = 0
    k = 0
    for block in range(len(kinds)):
        row, size = kinds[block] * width, sizes[block]
        first, last = ends[row], ends[row + size]
        end = k + last - first
        columns, values, after = indices[k:end], data[k:end], indptr[x + 1 : x + 1 + size]
        given, known, until = steps[first:last], rates[first:last], ends[row + 1 : row + 1 + size]
        for m in range(len(columns)):
            columns[m] = given[m] + x
        for m in range(len(values)):
            values[m] = known[m]
        for m in range(len(after)):
            after[m] = until[m] + (k - first)
        x += size
        k = end
