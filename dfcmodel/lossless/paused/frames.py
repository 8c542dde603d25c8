"""Frame-level simulation of one paused link, in bit times: witness and worst-case search.

A sender transmits frames back to back. The receiver, whose output is blocked, allocates a cell
at the first bit stored in it. When the allocated cells exceed the threshold it generates a pause
frame, which is queued behind the frame being transmitted. A frame without a free cell is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.lossless.paused.paused_links import PAUSE_FRAME, PausedLink
from dfcmodel.lossless.paused.worst_cases import largest_burst
from dfcmodel.lossless.quantities import GAP, OVERHEAD, PREAMBLE
from hopflow.checks import instance, integer, random_generator
from hopflow.deprecations import accept_old_names
from hopflow.kernels import make_kernel
from hopflow.progress import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Sizes = NDArray[np.int64]

__all__ = ["FrameRun", "FrameScenario", "Witness", "search_worst", "witness"]


@dataclass(frozen=True)
class FrameScenario:
    """Frames of a sender, bytes, and the receiver's buffer, cells, which pauses it; ``reverse_phase`` in bit times.

    Parameters
    ----------
    link
        The link and its delays.
    sizes
        Bytes of the sender's frames, transmitted back to back from time 0.
    taken
        Number of cells of the buffer that are occupied at time 0.
    threshold
        Cells above which the receiver pauses the sender.
    capacity
        Size of the receiver's buffer in cells.
    reverse_phase
        Bit time at which a frame of the receiver begins; its frames are sent back to back.

    Examples
    --------
    >>> from dfcmodel import PausedLink
    >>> from dfcmodel.lossless import witness
    >>> link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    >>> run = witness(link).overflows.run()
    >>> run.lost
    1
    """

    link: PausedLink
    sizes: Sizes
    taken: int
    threshold: int
    capacity: int
    reverse_phase: int

    def run(self) -> FrameRun:
        """Return the outcome of sending the frames in order."""
        link = self.link
        out = np.zeros(5, dtype=np.int64)
        ahead = link.delays["pause frames of other classes"] + link.delays["own resume frame"]
        buffer = Buffer(link.cell, self.taken, self.threshold, self.capacity)
        message = Message(
            link.pipeline, self.reverse_phase, 8 * link.mtu + OVERHEAD, ahead + PREAMBLE + 8 * PAUSE_FRAME,
            link.interface + link.gearbox + link.cable + link.response,
        )  # fmt: skip
        wire = Wire(link.gearbox + link.cable, PREAMBLE, GAP)
        make_kernel(pass_frames)(self.sizes, buffer, message, wire, out)
        return FrameRun(*(int(value) for value in out))


@dataclass(frozen=True)
class FrameRun:
    """Outcome of a `FrameScenario`: peak, cells, frames lost and sent, bit times of crossing and stop (-1: none).

    Parameters
    ----------
    peak
        Largest number of cells occupied.
    lost
        Number of lost frames.
    sent
        Number of sent frames, with lost frames.
    crossed, stopped
        Bit time of the first bit above the threshold at the receiver, and bit time after which the
        sender starts no further frame; -1 if that did not happen.
    """

    peak: int
    lost: int
    sent: int
    crossed: int
    stopped: int


@dataclass(frozen=True)
class Witness:
    """Two scenarios that prove a headroom: with it no frame is lost, with one cell fewer a frame is lost.

    Parameters
    ----------
    headroom
        Cells above the threshold, or bytes if the link's cell is 1.
    fills, overflows
        The same frames with a buffer of exactly that size, and of one cell fewer.

    Examples
    --------
    >>> from dfcmodel import headroom
    >>> headroom("400Gbps", "300m", cell=192).witness().holds
    True
    """

    headroom: int
    fills: FrameScenario
    overflows: FrameScenario

    @property
    def holds(self) -> bool:
        """Whether ``fills`` loses nothing and uses all cells, and ``overflows`` loses a frame."""
        full, short = self.fills.run(), self.overflows.run()
        return full.peak == self.fills.capacity and full.lost == 0 and short.lost == 1


def witness(link: PausedLink) -> Witness:
    """Return two scenarios that prove that a link needs its full headroom.

    Parameters
    ----------
    link
        Any link. Its largest burst determines the frame sizes; a frame of the receiver begins when
        the pause frame is ready.

    Examples
    --------
    >>> from dfcmodel import PausedLink
    >>> proof = witness(PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304))
    >>> proof.holds, proof.fills.run().peak - proof.fills.threshold == proof.headroom
    (True, True)
    """
    instance("link", link, PausedLink)
    burst = largest_burst(link)
    if link.has_equal_frames:
        before = link.cells_of(link.lossless_mtu) - burst.head_cells
    else:
        before = max(0, -(-(link.smallest - burst.head) // link.cell))
    first = burst.head + before * link.cell
    sizes = [size for size, _ in burst.runs]
    frames = np.repeat(np.array(sizes, dtype=np.int64), [count for _, count in burst.runs])
    later = np.full(4, link.lossless_mtu, dtype=np.int64)  # sent only if the pause fails
    frames = np.concatenate([[first], frames, later])
    threshold = before + 1
    crossing = PREAMBLE + 8 * before * link.cell + link.gearbox + link.cable
    phase = (crossing + link.pipeline) % (8 * link.mtu + OVERHEAD)
    fills = FrameScenario(link, frames, 1, threshold, threshold + burst.cells, phase)
    return Witness(burst.cells, fills, replace(fills, capacity=fills.capacity - 1))


@accept_old_names(rng="seed")
def search_worst(link: PausedLink, tries: int = 300, seed: int | np.random.Generator = 0) -> int:
    """Return the maximum of cells above the threshold that a random search over frame sizes and phases reached.

    Parameters
    ----------
    link
        A link with ``small_packets`` 0 or 1; its frame sizes are in ``largest_burst``.
    tries
        Number of scenarios, 1 to 1e6: the first tenth at random, then variations of the best scenario.
    seed
        Seed or generator of the random search.

    Raises
    ------
    ValueError
        For another value of ``small_packets``, or ``tries`` out of range.

    Examples
    --------
    >>> from dfcmodel import PausedLink, search_worst
    >>> from dfcmodel.lossless.paused.worst_cases import largest_burst
    >>> link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    >>> search_worst(link, 50) <= largest_burst(link).cells
    True
    """
    instance("link", link, PausedLink)
    tries = integer("tries", tries, 1, 10**6)
    if link.small_packets not in (0.0, 1.0):
        raise ValueError(f"small_packets = {link.small_packets!r}: must be 0 or 1 for the search")
    random = random_generator("seed", seed)
    best, best_excess = _random_scenario(link, random), 0
    for k in progress_bar(range(tries), desc="search_worst"):
        candidate = _random_scenario(link, random) if k < tries // 10 else _vary(best, random)
        excess = candidate.run().peak - candidate.threshold
        if excess >= best_excess:
            best, best_excess = candidate, excess
    return best_excess


def _random_scenario(link: PausedLink, random: np.random.Generator) -> FrameScenario:
    """Return a random scenario of a link, with three frame sizes and random phases."""
    cells = link.cells_of(link.lossless_mtu)
    kinds = _sizes(link, 3, random)
    count = 4 + (link.window + 8 * link.lossless_mtu * 2) // (8 * int(kinds.min()) + OVERHEAD)
    sizes = random.choice(kinds, count)
    period = 8 * link.mtu + OVERHEAD
    occupied = int(random.integers(0, cells + 1))
    phase = int(random.integers(0, period))
    return FrameScenario(link, sizes, occupied, cells, 10**15, phase)


def _vary(best: FrameScenario, random: np.random.Generator) -> FrameScenario:
    """Return a random variation of a scenario: other phase, initial cells, or part of the frame sizes."""
    link, cells = best.link, best.threshold
    variation = random.integers(0, 4)
    if variation == 0:
        period = 8 * link.mtu + OVERHEAD
        step = int(random.integers(-period, period + 1) * random.random() ** 4)
        return replace(best, reverse_phase=(best.reverse_phase + step) % period)
    if variation == 1:
        return replace(best, taken=int(random.integers(0, cells + 1)))
    sizes = best.sizes.copy()
    new = int(_sizes(link, 1, random)[0])
    if variation == 2:  # replace one size by another throughout
        sizes[sizes == random.choice(sizes)] = new
    else:  # replace a run of frames, usually near the last one sent
        sent = best.run().sent
        start = sent - 1 - int(sent * random.random() ** 3)
        sizes[start : start + 1 + int(sent * random.random() ** 3)] = new
    return replace(best, sizes=sizes)


def _sizes(link: PausedLink, count: int, random: np.random.Generator) -> Sizes:
    """Return ``count`` random allowed frame sizes; half of them are the smallest size of a number of cells."""
    top, cell = link.lossless_mtu, link.cell
    if link.has_equal_frames:
        return np.full(count, top)
    uniform = random.integers(link.smallest, top + 1, count)
    edges = (link.cells_of(top) * random.random(count) ** 2).astype(np.int64) * cell + 1
    sizes = np.where(random.random(count) < 0.5, uniform, edges)
    return np.asarray(np.clip(sizes, link.smallest, top), dtype=np.int64)


class Buffer(NamedTuple):
    """Receiver's buffer: bytes of a cell; cells occupied at time 0, cells above which it pauses, and cells in total."""

    cell: int
    taken: int
    threshold: int
    capacity: int


class Message(NamedTuple):
    """Delays of a pause frame, from crossing to its effect, in bit times.

    Time until it is ready; phase and period of the frames before it; duration of the pause frames; propagation and
    response of the sender.
    """

    ready: int
    phase: int
    period: int
    frames: int
    way: int


class Wire(NamedTuple):
    """Propagation time to the receiver, and preamble and gap per frame, in bit times."""

    downstream: int
    preamble: int
    gap: int


def pass_frames(sizes: Sizes, buffer: Any, message: Any, wire: Any, out: Sizes) -> None:
    """Kernel: send frames until the sender stops; ``out`` receives the fields of `FrameRun`, times in bit times."""
    cell, taken, threshold, capacity = buffer
    peak, lost, sent, crossed, stopped = taken, 0, 0, -1, -1
    start = 0
    for k in range(sizes.shape[0]):
        if stopped >= 0 and start > stopped:
            break
        size = sizes[k]
        cells = (size + cell - 1) // cell
        if crossed < 0 and taken + cells > threshold:
            # index of the frame's first cell above the threshold
            first = threshold - taken if threshold > taken else 0
            crossed = start + wire.preamble + 8 * first * cell + wire.downstream
            ready = crossed + message.ready
            begun = (ready - message.phase) // message.period * message.period + message.phase
            stopped = begun + message.period + message.frames + message.way
        if taken + cells > capacity:
            peak = capacity
            lost += 1
        else:
            taken += cells
            if taken > peak:
                peak = taken
        sent += 1
        start += wire.preamble + 8 * size + wire.gap
    out[0], out[1], out[2], out[3], out[4] = peak, lost, sent, crossed, stopped
