"""The transitions of each box of cells, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.multigrid.grids.boxes import boxes_at, boxes_covering
from markov.multigrid.grids.moves import products

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.multigrid.grids.counts import Varying
    from markov.multigrid.grids.moves import Moves

    Numbers = NDArray[np.int64]

__all__ = ["Entries", "entries_of"]


class Entries(NamedTuple):
    """Transitions of the slots of boxes of cells, in the order of boxes, slots, steps and other slots.

    Attributes
    ----------
    row
        Number of the box times slots of a cell, plus the slot, ascending, shape (entries,).
    step
        From the cell to the other one, shape (entries, axes).
    other
        Slot of the other state.
    rate
        Sum of the rates of the moves that are this transition, without those that depend on counts.
    first
        Number of the first of these, in the order of the moves.
    varying
        Which of ``variants`` is the sum of those; -1: there are none.
    width
        Slots of a cell.
    variants
        Different sums of rates that depend on counts.
    """

    row: Numbers
    step: Numbers
    other: Numbers
    rate: NDArray[np.float64]
    first: Numbers
    varying: Numbers
    width: int
    variants: tuple[Varying, ...]

    @property
    def rates(self) -> list[float | Varying]:
        """The rate of each, a number or one that depends on counts."""
        pairs = zip(self.rate.tolist(), self.varying.tolist(), strict=True)
        return [self.variants[n] + rate if n >= 0 else rate for rate, n in pairs]

    def by_box(self, boxes: int) -> list[bytes]:
        """Return for each box what tells its transitions from those of others."""
        slot = self.row % self.width
        rate = self.rate.view(np.int64), self.varying
        table = np.column_stack([slot, self.other, self.step, *rate])
        bounds = np.searchsorted(self.row, np.arange(boxes + 1) * self.width) * 8 * table.shape[1]
        text = table.tobytes()
        return [text[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]

    def of_boxes(self, boxes: Numbers) -> Entries:
        """Return those of some boxes, with new numbers."""
        begin = np.searchsorted(self.row, boxes * self.width)
        end = np.searchsorted(self.row, (boxes + 1) * self.width)
        which, entries = products(begin[:, None], end[:, None], (1,))
        row = which * self.width + self.row[entries] % self.width
        return self._replace(
            row=row,
            step=self.step[entries],
            other=self.other[entries],
            rate=self.rate[entries],
            first=self.first[entries],
            varying=self.varying[entries],
        )


def entries_of(cuts: Sequence[Numbers], slot: Numbers, width: int, moves: Moves) -> Entries:
    """Return the transitions of boxes of cells.

    Parameters
    ----------
    cuts
        Where boxes begin along each axis; they are alike in the moves and in the slots of the cells that
        these lead to.
    slot
        Of each combination in the cells of each box, -1: none; shape (boxes, combinations).
    width
        Slots of a cell.
    moves
        Out of the cells, or into them seen from there.
    """
    which, box = boxes_covering(cuts, moves.low, moves.high)
    slots = slot[box, moves.source[which]]
    which, box, slots = (part[slots >= 0] for part in (which, box, slots))
    corner = np.unravel_index(box, [len(cut) for cut in cuts])
    cells = np.stack([cut[at] for cut, at in zip(cuts, corner, strict=True)], axis=1)
    target_boxes = boxes_at(cuts, cells + moves.step[which])
    other = slot[target_boxes, moves.target[which]]
    which, box, slots, other = (part[other >= 0] for part in (which, box, slots, other))
    steps, number = np.unique(moves.step, axis=0, return_inverse=True)
    key = ((box * width + slots) * len(steps) + number.ravel()[which]) * width + other
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rate = np.bincount(inverse.ravel(), moves.rate[which]).astype(np.float64)
    row, step = box[first] * width + slots[first], moves.step[which[first]]
    sums: dict[int, Varying] = {}
    for entry in np.flatnonzero(moves.varying[which] >= 0).tolist():
        n, rate_of_sum = int(inverse.ravel()[entry]), moves.variants[moves.varying[which[entry]]]
        sums[n] = sums[n] + rate_of_sum if n in sums else rate_of_sum
    numbers: dict[Varying, int] = {}
    varying = np.full(len(first), -1, dtype=np.int64)
    for n, rate_of_sum in sums.items():
        varying[n] = numbers.setdefault(rate_of_sum, len(numbers))
    return Entries(row, step, other[first], rate, first, varying, width, tuple(numbers))
