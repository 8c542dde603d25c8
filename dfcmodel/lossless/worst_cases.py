"""Worst-case arrivals at a receiver after its threshold is crossed, and frames that attain them.

When the threshold is crossed, one frame is being received: ``head`` bytes of it remain, and the
first of these opens a new cell. Further frames follow back to back, and the last one may start up
to the end of the window. docs/headroom-proof.md proves that no sequence of frame sizes exceeds
`largest_burst`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfcmodel.lossless.paused_links import GAP, OVERHEAD, SMALLEST_FRAME, PausedLink

__all__ = ["Burst", "largest_burst", "largest_drain"]

WIRE = OVERHEAD // 8
"""Bytes of preamble and gap per frame."""


@dataclass(frozen=True)
class Burst:
    """Arrivals above a threshold, as runs of equal frames in the order of transmission.

    Parameters
    ----------
    head
        Bytes of the frame that crosses the threshold, from the first cell above it; 0: none.
    head_cells
        Cells of these bytes.
    runs
        Pairs of a frame size in bytes and a number of frames.
    cells
        All cells, including ``head_cells``.
    """

    head: int
    head_cells: int
    runs: tuple[tuple[int, int], ...]
    cells: int

    @property
    def frames(self) -> int:
        """Number of frames after the one that crosses the threshold."""
        return sum(count for _, count in self.runs)

    @property
    def frame_bytes(self) -> int:
        """Bytes of frames, without preambles, gaps and unused bytes of cells."""
        return self.head + sum(size * count for size, count in self.runs)


def largest_burst(link: PausedLink) -> Burst:
    """Return the largest burst above the threshold within the window of a link.

    Parameters
    ----------
    link
        With ``small_packets`` 0 all frames have ``lossless_mtu`` bytes, with 1 any valid Ethernet
        size; in between, at most that fraction of the frames has one smaller size.

    >>> link = PausedLink(10**10, mtu=9216, lossless_mtu=2300, response=512 * 67)
    >>> largest_burst(link).cells  # bytes, because cell=1
    15784
    """
    budget = link.window // 8 - GAP // 8  # bytes from the head to the start of the last frame
    if link.small_packets == 0.0:
        return _equal_frames(link, budget)
    if link.small_packets == 1.0 and link.cell == 1:
        return _free_bytes(link, budget)
    return (_free_cells if link.small_packets == 1.0 else _mixed_frames)(link, budget)


def largest_drain(link: PausedLink, window: int) -> Burst:
    """Return the departures at line rate within a time window that free most cells.

    Parameters
    ----------
    link
        The link, for its frame and cell sizes; frames depart back to back.
    window
        Bit times from the end of a frame; a frame that has started counts in full.

    >>> link = PausedLink(10**10, mtu=9216, lossless_mtu=2300, response=512 * 67)
    >>> largest_drain(link, 100_000).runs  # 2320 B on the wire each
    ((2300, 6),)
    """
    budget = max(0, window - 1) // 8  # the last frame begins before the end of the window
    if link.small_packets == 0.0:
        frames = budget // (link.lossless_mtu + WIRE) + 1
        runs = ((link.lossless_mtu, frames),)
        return Burst(0, 0, runs, frames * link.cells_of(link.lossless_mtu))
    if link.small_packets == 1.0:
        free = _free_bytes if link.cell == 1 else _free_cells
        return free(link, budget, head=False)
    return _mixed_frames(link, budget, head=False)


def _equal_frames(link: PausedLink, budget: int) -> Burst:
    """Return the largest burst of frames of ``lossless_mtu`` bytes; the head fills the rest."""
    size, cells = link.lossless_mtu, link.cells_of(link.lossless_mtu)
    tail = size - (cells - 1) * link.cell  # bytes in the last cell
    between = max(0, (budget - tail) // (size + WIRE))
    spare = budget - between * (size + WIRE) - tail
    head_cells = min(cells, 1 + spare // link.cell)
    head = tail + (head_cells - 1) * link.cell
    return Burst(head, head_cells, ((size, between + 1),), head_cells + (between + 1) * cells)


def _free_bytes(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the largest burst of any frame sizes, counted in bytes: as few gaps as possible."""
    size = link.lossless_mtu
    most = max(0, -(-(budget - size * head) // (size + WIRE)))
    found = []
    for between in {most, max(0, most - 1)}:
        total = min(budget - WIRE * between, size * (between + head))
        if total >= SMALLEST_FRAME * between + head:
            found.append((total, between))
    total, between = max(found)
    lacking = size * (between + head) - total
    in_head = min(lacking, size - 1) if head else 0
    small, rest = divmod(lacking - in_head, size - SMALLEST_FRAME) if lacking > in_head else (0, 0)
    runs = [(SMALLEST_FRAME, small), (size - rest, int(rest > 0))]
    runs.append((size, between - small - (rest > 0) + 1))
    first = (size - in_head) * head
    return Burst(first, first, tuple(run for run in runs if run[1]), total + size)


def _free_cells(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the largest burst of any sizes in cells: mainly frames with most cells per byte."""
    size, cell, smallest = link.lossless_mtu, link.cell, SMALLEST_FRAME + WIRE
    dense = cell + 1 if cell < size and cell + 1 + WIRE < 2 * smallest else SMALLEST_FRAME
    value = link.cells_of(dense)
    least = _least_head(link) * head
    many, spare = divmod(max(0, budget - least), dense + WIRE)
    head_cells = int(head)
    runs = [(dense, many), (size, 1)]
    if value == 2 and spare >= cell and head:  # a second cell of the head
        head_cells = 2
    elif value == 2 and spare >= cell and many and 2 * cell < size:  # three cells instead of two
        runs = [(dense, many - 1), (2 * cell + 1, 1), (size, 1)]
    elif value == 2 and spare >= smallest:  # one more cell
        runs = [(dense, many), (SMALLEST_FRAME, 1), (size, 1)]
    total = head_cells + sum(link.cells_of(s) * n for s, n in runs)
    first = least + (head_cells - 1) * cell if head else 0
    return Burst(first, head_cells, tuple(run for run in runs if run[1]), total)


def _mixed_frames(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the largest burst if at most a fraction of the frames has one smaller size."""
    size, cells, share = link.lossless_mtu, link.cells_of(link.lossless_mtu), link.small_packets
    small = _densest(link, share)
    value, weight, heavy = link.cells_of(small), small + WIRE, size + WIRE
    gain = value * heavy / weight - cells  # cells lost per large frame beyond the fraction
    if gain <= 0.0:
        return _equal_frames(link, budget)
    least = _least_head(link) * head
    budget = max(0, budget - least)
    per_large = share / (1.0 - share)
    meet = int((budget - per_large * weight) / (heavy + per_large * weight))
    last = min(budget // heavy, meet + int(value / gain) + 2)
    large = np.arange(max(0, min(meet - 1, last)), last + 1)
    count = np.minimum(
        (budget - large * heavy) // weight, (per_large * (large + 1) + 1e-9).astype(int)
    )
    spare = budget - large * heavy - count * weight
    heads = np.minimum(cells, 1 + spare // link.cell) * head
    total = heads + value * count + cells * (large + 1)
    best = int(np.argmax(total))
    runs = ((small, int(count[best])), (size, int(large[best]) + 1))
    first = least + (int(heads[best]) - 1) * link.cell if head else 0
    found = Burst(first, int(heads[best]), tuple(run for run in runs if run[1]), int(total[best]))
    equal = _equal_frames(link, budget + least)
    return equal if head and equal.cells > found.cells else found


def _least_head(link: PausedLink) -> int:
    """Return the fewest bytes from the start of a new cell; a one-cell frame counts in full."""
    return 1 if link.cell < link.lossless_mtu else SMALLEST_FRAME


def _densest(link: PausedLink, share: float) -> int:
    """Return the smaller frame size that maximizes the cells per byte on the wire."""
    size, cells = link.lossless_mtu, link.cells_of(link.lossless_mtu)
    if link.cell == 1:
        return size
    each = np.arange(1, cells + 1)
    smaller = np.maximum(SMALLEST_FRAME, (each - 1) * link.cell + 1)
    wire = share * (smaller + WIRE) + (1.0 - share) * (size + WIRE)
    return int(smaller[np.argmax((share * each + (1.0 - share) * cells) / wire)])
