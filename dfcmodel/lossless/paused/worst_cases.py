"""Worst-case arrivals at a receiver after its threshold is crossed, and frames that attain them.

When the threshold is crossed, one frame is being received: ``head`` bytes of it remain, and the
first of these opens a new cell. Further frames follow back to back, and the last one may start up
to the end of the window. docs/headroom-proof.md proves that no sequence of frame sizes exceeds
`largest_burst`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfcmodel.lossless.paused.paused_links import PausedLink
from dfcmodel.lossless.paused.random_bursts import frame_counts
from dfcmodel.lossless.quantities import GAP, OVERHEAD

__all__ = ["Burst", "largest_burst", "largest_drain"]

WIRE = OVERHEAD // 8
"""Bytes of preamble and gap per frame."""


@dataclass(frozen=True)
class Burst:
    """Frames that arrive above a threshold: part of the crossing frame, then runs of equal frames.

    Parameters
    ----------
    head
        Bytes of the frame that crosses the threshold, from the first cell above it; 0: none.
    head_cells
        Cells of the bytes of the head.
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
        """Number of frames after the frame that crosses the threshold."""
        return sum(count for _, count in self.runs)

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frames and of the head, the crossing frame's part above the threshold; no overheads."""
        return self.head + sum(size * count for size, count in self.runs)


def largest_burst(link: PausedLink) -> Burst:
    """Return the largest burst above the threshold within the window of a link.

    Parameters
    ----------
    link
        With ``small_packets`` 0 all frames have ``lossless_mtu`` bytes, with 1 any size of at least
        ``smallest``. In between, at most this fraction of the frames in every window is smaller, of any sizes, or, with
        ``exceeded`` above 0, this fraction of the traffic has one smaller size, the worst one.

    >>> link = PausedLink(10**10, mtu=9216, lossless_mtu=2300, response=512 * 67)
    >>> largest_burst(link).cells  # bytes, because cell=1
    15784
    """
    budget = link.window // 8 - GAP // 8  # bytes from the head to the start of the last frame
    if link.has_equal_frames:
        return _equal_frames(link, budget)
    if link.exceeded > 0.0:
        return _random_frames(link, budget)
    if link.small_packets == 1.0 and link.cell == 1:
        return _free_bytes(link, budget)
    return (_free_cells if link.small_packets == 1.0 else _mix_frames)(link, budget)


def largest_drain(link: PausedLink, window: int) -> Burst:
    """Return the departures at line rate within ``window`` bit times that free the maximum number of cells.

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
    if link.has_equal_frames:
        return _equal_frames(link, budget, head=False)
    if link.exceeded > 0.0:
        return _random_frames(link, budget, head=False)
    if link.small_packets == 1.0:
        free = _free_bytes if link.cell == 1 else _free_cells
        return free(link, budget, head=False)
    return _mix_frames(link, budget, head=False)


def _equal_frames(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the largest burst of full frames in ``budget`` bytes on the wire; ``head``: after part of a frame."""
    size, cells = link.lossless_mtu, link.cells_of(link.lossless_mtu)
    if not head:
        frames = budget // (size + link.overhead) + 1
        return Burst(0, 0, ((size, frames),), frames * cells)
    tail = size - (cells - 1) * link.cell  # bytes in the last cell
    between = max(0, (budget - tail) // (size + link.overhead))
    spare = budget - between * (size + link.overhead) - tail
    head_cells = min(cells, 1 + spare // link.cell)
    first = tail + (head_cells - 1) * link.cell
    return Burst(first, head_cells, ((size, between + 1),), head_cells + (between + 1) * cells)


def _free_bytes(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the burst with most bytes, of any frames in ``budget`` bytes on the wire; ``head``: after part of one."""
    size = link.lossless_mtu
    max_between = max(0, -(-(budget - size * head) // (size + link.overhead)))
    candidates = []
    for between in {max_between, max(0, max_between - 1)}:
        total = min(budget - link.overhead * between, size * (between + head))
        if total >= link.smallest * between + head:
            candidates.append((total, between))
    total, between = max(candidates)
    missing = size * (between + head) - total
    in_head = min(missing, size - 1) if head else 0
    small_count, remainder = divmod(missing - in_head, size - link.smallest) if missing > in_head else (0, 0)
    runs = [(link.smallest, small_count), (size - remainder, int(remainder > 0))]
    runs.append((size, between - small_count - (remainder > 0) + 1))
    first = (size - in_head) * head
    return Burst(first, first, tuple(run for run in runs if run[1]), total + size)


def _free_cells(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the burst with most cells, of any frames in ``budget`` bytes on the wire; ``head``: after part of one.

    The smallest frames have ``v`` cells. Growing a frame to ``v + 1`` cells costs at most ``cell`` bytes, and
    every further cell of a frame or of the head costs ``cell`` bytes. For a fixed number of frames the
    cheapest cells are therefore taken first. The number of cells is then the integer part of a function
    that is linear on both sides of the number of frames at which all have grown, so that the maximum is
    at this number or at the largest number of frames.
    """
    grown = link.cells_of(link.smallest) * link.cell + 1
    minimum = _minimum_head(link) * head
    spare = max(0, budget - minimum)
    max_count = spare // (link.smallest + link.overhead)
    turn = min(max_count, spare // (grown + link.overhead)) if grown <= link.lossless_mtu else max_count
    bursts = (_grow_frames(link, spare, n, head=head) for n in {turn, min(turn + 1, max_count), max_count})
    best = max(bursts, key=lambda burst: burst.cells)
    first = minimum + (best.head_cells - 1) * link.cell if head else 0
    return Burst(first, best.head_cells, best.runs, best.cells)


def _grow_frames(link: PausedLink, spare: int, count: int, *, head: bool) -> Burst:
    """Return ``count`` frames that grow within ``spare`` bytes on the wire to most cells, then a full one; head 0 B."""
    size, cell, smallest = link.lossless_mtu, link.cell, link.smallest
    min_cells, max_cells = link.cells_of(smallest), link.cells_of(size)
    grown = min_cells * cell + 1
    remaining = spare - count * (smallest + link.overhead)
    longer = min(count, remaining // (grown - smallest)) if min_cells < max_cells else 0
    extra_cells = (remaining - longer * (grown - smallest)) // cell
    in_head = min(extra_cells, max_cells - 1) * head
    further = max_cells - min_cells - 1
    in_frames = min(extra_cells - in_head, longer * further) if longer == count else 0
    full, remainder = divmod(in_frames, further) if in_frames else (0, 0)
    runs = (
        (smallest, count - longer), (grown, longer - full - (remainder > 0)),
        (grown + further * cell, full), (grown + remainder * cell, int(remainder > 0)), (size, 1),
    )  # fmt: skip
    cells = head + in_head + min_cells * count + longer + in_frames + max_cells
    return Burst(0, head + in_head, tuple(run for run in runs if run[1]), cells)


def _mix_frames(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the largest burst in ``budget`` bytes on the wire, of frames of which at most a fraction is not full.

    For each number of large frames the number of cells is, as in `_free_cells`, the integer part of a concave function
    of the number of small frames, linear between the points at which the growth of these frames is exhausted, at which
    all have grown by a cell, and at which the fraction or the budget ends.
    """
    size, cells, share = link.lossless_mtu, link.cells_of(link.lossless_mtu), link.small_packets
    minimum = _minimum_head(link) * head
    total = max(0, budget - minimum)
    min_cells, heavy = link.cells_of(link.smallest), size + link.overhead
    grown, longest = min_cells * link.cell + 1, (cells - 1) * link.cell + 1
    large = np.arange(total // heavy + 1)
    spare = total - large * heavy
    limit = np.minimum(
        spare // (link.smallest + link.overhead), (share / (1.0 - share) * (large + 1) + 1e-9).astype(np.int64)
    )
    full = np.maximum(0, spare - (cells - 1) * link.cell * head) // (longest + link.overhead)
    all_grown = spare // (grown + link.overhead)
    best = (-1, 0, 0)
    for count in (full, full + 1, all_grown, all_grown + 1, limit):
        count = np.minimum(count, limit)
        remaining = spare - count * (link.smallest + link.overhead)
        longer = np.minimum(count, remaining // (grown - link.smallest)) if min_cells < cells else 0 * count
        extra = (remaining - longer * (grown - link.smallest)) // link.cell
        in_head = np.minimum(extra, cells - 1) * head
        room = np.where(longer == count, longer * max(0, cells - min_cells - 1), 0)
        total_cells = in_head + min_cells * count + longer + np.minimum(extra - in_head, room) + cells * large
        n = int(np.argmax(total_cells))
        best = max(best, (int(total_cells[n]), int(large[n]), int(count[n])))
    _, large_count, small_count = best
    burst = _grow_frames(link, total - large_count * heavy, small_count, head=head)
    runs = (*burst.runs[:-1], (size, large_count + 1))
    first = minimum + (burst.head_cells - 1) * link.cell if head else 0
    mixed = Burst(first, burst.head_cells, runs, burst.cells + large_count * cells)
    equal = _equal_frames(link, budget, head=head)
    return equal if equal.cells > mixed.cells else mixed


def _random_frames(link: PausedLink, budget: int, *, head: bool = True) -> Burst:
    """Return the burst, in ``budget`` bytes on the wire, that random frames exceed with probability ``exceeded``."""
    best, max_cells = None, link.cells_of(link.lossless_mtu)
    minimum = _minimum_head(link) * head
    quantiles = {}
    for small in _small_sizes(link):
        quantiles[small] = frame_counts(link, small, max(0, budget - minimum)).quantile(link.exceeded)
    for small in sorted(quantiles, key=lambda size: -quantiles[size]):
        if best is not None and quantiles[small] + max_cells * head <= best.cells:
            break  # a head has at most max_cells, and leaves less time for frames
        cells = quantiles[small]
        for extra_cells in range(max_cells if head else 1):
            remaining = budget - minimum - extra_cells * link.cell
            if extra_cells and remaining < 0:
                break
            if best is not None and cells + head + extra_cells <= best.cells:
                continue  # less time has no more cells than that of a smaller head
            counts = frame_counts(link, small, max(0, remaining))
            cells = counts.quantile(link.exceeded)
            if best is None or cells + head + extra_cells > best.cells:
                small_count, large_count = counts.likeliest(cells)
                runs = ((small, small_count), (link.lossless_mtu, large_count))
                first = minimum + extra_cells * link.cell if head else 0
                nonzero = tuple(run for run in runs if run[1])
                best = Burst(first, (1 + extra_cells) * head, nonzero, cells + (1 + extra_cells) * head)
    assert best is not None
    return best


def _small_sizes(link: PausedLink) -> list[int]:
    """Return the smallest frame size of each number of cells, if below ``lossless_mtu``; else [lossless_mtu]."""
    counts = range(link.cells_of(link.lossless_mtu) if link.cell > 1 else 0)
    sizes = sorted({max(link.smallest, n * link.cell + 1) for n in counts})
    return [size for size in sizes if size < link.lossless_mtu] or [link.lossless_mtu]


def _minimum_head(link: PausedLink) -> int:
    """Return the minimum bytes from the start of a new cell to the end of an allowed frame.

    It is 1 if a frame can end one byte after the start of a cell; a frame of one cell counts in full.
    """
    longest = (link.lossless_mtu - 1) // link.cell * link.cell + 1
    if longest >= max(link.smallest, link.cell + 1):
        return 1
    return link.smallest - (link.cells_of(link.smallest) - 1) * link.cell
