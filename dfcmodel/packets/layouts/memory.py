"""The arrays of a run: their first and largest sizes, how they grow, and copies for further runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.network.frame_sizes import HEADER
from dfcmodel.network.queueing.programs import SwitchProgram
from dfcmodel.packets.kernel.calendar_queue import ALARM, CROWDED, USED
from responsefn import WindowRule

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dfcmodel.packets.plan import PacketPlan

__all__ = [
    "CONSTANT",
    "Layout",
    "aligned",
    "first_elements",
    "first_ring_sizes",
    "further_layout",
    "grow",
    "max_elements",
    "outstanding",
]

ELEMENTS, PLACES = 2048, 1 << 15
"""First numbers of elements of a run beyond its flows' elements, and of places in queues of ports without lanes."""
FEWEST = 16
"""Places in the queue of a port without lanes, at first."""
SPARE = 0.125
"""Part of the packets that one window may take beyond those in use, but not less than half of the first ones."""
NEVER = 2**62
LINE = 64
"""Bytes of a cache line."""
CONSTANT = (
    "times", "sizes", "hop", "order", "home", "begun", "first_windows", "arrivals", "followers", "feedback", "lawful",
    "steps", "chain", "rated", "choice", "candidates", "down", "downs", "epochs", "routes",
    "turns",
)  # fmt: skip
"""Arrays that runs share: the kernel does not change them."""
WITHOUT_VALUES = ("packet", "sent_at", "ring", "block", "out", "slot")
"""Arrays without values at first."""
KEY = ("layout",)
"""Key of the layout of the last kind of run in `RoutedFlows.derived`."""
OF_SEED: dict[str, Any] = {"seed": None, "phases": None}
"""Options of a method on which a layout does not depend, before it is given its seeds, without their values."""


def aligned(count: int, dtype: Any) -> NDArray[Any]:
    """Return an uninitialized array, (count,), that begins at a cache line."""
    size = count * np.dtype(dtype).itemsize
    room = np.empty(size + LINE, dtype=np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size].view(dtype)


def max_elements(plan: PacketPlan) -> int:
    """Return an upper bound of the packets, ACKs and timer events in the network at any time."""
    times, copies = plan.delays, 1.0
    if plan.scenario.all_elements:
        times, copies = times + plan.path.largest_hold, plan.path.largest_copies
    acks = times * plan.bits / (8.0 * HEADER)  # full of ACKs, whether they take time or not
    inside = float((np.minimum(plan.max_queued, 1 << 22) + 2.0 + acks).sum())
    messages, (asks, feeder) = 0.0, plan.pauses
    if asks.size:  # one for each packet that arrives or leaves, and for each pause with quanta one for its end
        ways = plan.delays[feeder] + plan.signalling[asks]
        of_pairs = 3.0 + ways * (plan.bits[feeder] + plan.bits[asks]) / (8.0 * HEADER)
        messages = plan.initial_events + float(of_pairs.sum())
    table = plan.scenario.table
    sizes = table.numbers("size")
    window = 4.0 * np.minimum(table.numbers("max_window"), sizes) + 64.0
    has_window = table.of_kind(WindowRule)
    windows = float(np.where(has_window, window, np.minimum(sizes, 1 << 22)).sum())
    clocks = 2 * len(plan.clocks)
    return int(min(2.0 * inside, 2.0 * windows * copies) + messages) + 8 * len(plan.forward) + 64 + clocks


def outstanding(plan: PacketPlan) -> NDArray[np.int64]:
    """Return an upper bound of the packets and ACKs queued at each port by the senders' windows, (P,)."""
    table, hops = plan.scenario.table, plan.hops
    windows = 4.0 * table.numbers("max_window")
    windows = np.where(table.of_kind(WindowRule), windows, table.numbers("size"))
    if plan.scenario.all_elements:
        windows = windows * plan.path.largest_copies
    packets = np.minimum(windows, 1 << 24).astype(np.int64).astype(np.float64)
    # no flow comes to a port twice: its path has no node twice, and its ACKs go the other way
    bounds = np.bincount(hops.port, packets[hops.flow], minlength=len(plan.ports))
    return np.minimum(bounds, 1 << 24).astype(np.int64)


def first_elements(plan: PacketPlan, spare: int, maximum: int) -> tuple[int, int]:
    """Return first rows of packets, ``spare`` times as usual, up to ``maximum``, and the used number to grow at."""
    begin = 8 * len(plan.forward) + 8 * len(plan.clocks) + 4 * plan.initial_events + ELEMENTS
    return (maximum, NEVER) if begin * spare >= maximum else (begin * spare, begin * spare // 2)


def first_ring_sizes(
    max_queued: NDArray[np.int64], flows: NDArray[np.int64], spare: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return first sizes, powers of 2, of ports' rings, and lengths at which they grow, (P,); ``flows``: per port.

    Parameters
    ----------
    max_queued
        Maximum number of packets in each ring; 0 for a port without a ring.
    flows
        Number of flows through each port: at first each may send two packets at once.
    spare
        Factor on the first sizes: 1 at the first attempt.
    """
    full = 1 << np.ceil(np.log2(np.where(max_queued > 0, max_queued + 2, 1))).astype(np.int64)
    share = 1 << int(max(FEWEST, PLACES // len(max_queued))).bit_length() - 1
    bursts = 1 << np.ceil(np.log2(np.maximum(2 * flows, 1))).astype(np.int64)
    sizes = np.minimum(full, np.maximum(share, bursts) * spare)
    return sizes, np.where(sizes < full, sizes // 4, NEVER)


def grow(arrays: dict[str, Any], maximum: int) -> None:
    """Double packet rows, to at most ``maximum``, if few are free; make nearly full rings fourfold; clear CROWDED.

    Parameters
    ----------
    maximum
        Upper bound of the number of packets (`max_elements`).
    """
    counters, port_rows = arrays["counters"], arrays["port"]
    counters[CROWDED] = 0
    if counters[USED] > counters[ALARM]:
        old = len(arrays["packet"])
        size = min(2 * old, maximum)
        spare = max(old - int(counters[ALARM]), int(size * SPARE))
        counters[ALARM] = size - spare if size < maximum else NEVER
        for name in ("packet", "sent_at", "block", "ranked", "trimmed", "telemetry"):
            if len(arrays[name]) == old:
                arrays[name] = _longer(arrays[name], size)
    queued = port_rows["last"] - port_rows["first"]
    for u in np.flatnonzero(queued > port_rows["alarm"]):
        port = port_rows[u]
        index = np.arange(port["first"], port["last"])
        rows = [index]
        if port["unit"] > 0.0:  # the bytes of packets stand behind their times, those of the last one too
            rows = [index, np.append(index, port["last"])]
        old, size = int(port["ring_mask"]) + 1, 4 * (int(port["ring_mask"]) + 1)
        ring, at = arrays["ring"], len(arrays["ring"])
        arrays["ring"] = _longer(ring, at + size * len(rows))
        for k, row in enumerate(rows):
            values = ring[port["ring"] + k * old + (row & (old - 1))]
            arrays["ring"][at + k * size + (row & (size - 1))] = values
        port["ring"], port["ring_mask"], port["alarm"] = at, size - 1, size // 4


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a copy of an array with ``size`` rows; the added rows are uninitialized."""
    longer = aligned(size * math.prod(array.shape[1:]), array.dtype).reshape(size, *array.shape[1:])
    longer[: len(array)] = array
    return longer


@dataclass
class Layout:
    """State of a run at its start: the kernel's arrays, the length of a time window, s, and a bound of packets.

    Attributes
    ----------
    arrays
        The arrays by their names in the kernel, and ``first_windows``, which has the windows of flows that do not
        start.
    ahead
        Length of a window, s.
    max_elements
        Number of packets that are enough for the plan.
    """

    arrays: dict[str, Any]
    ahead: float
    max_elements: int


def further_layout(plan: PacketPlan, options: tuple[Any, ...], make: Callable[[], Layout]) -> Layout:
    """Return make(), or a copy of an earlier run's result if it differs only in seed and starts.

    A second run of a kind stores its layout with the scenario, later runs copy it.

    Parameters
    ----------
    plan
        The plan of the run.
    options
        Further values on which the layout depends.
    make
        Returns the layout, in which nothing depends on the seed, the phases and the starts.
    """
    depends_on_seeds = plan.spraying is not None or plan.has_discipline(SwitchProgram) or plan.clocks
    if plan.ports.derived is None or depends_on_seeds or plan.scenario.table.waits.any() or plan.idle.any():
        return make()
    derived = plan.scenario.derived
    times = plan.end, plan.sample, plan.jitter, plan.faults, plan.watchdogs
    key = plan.ports, *times, vars(plan.method) | OF_SEED, *options
    before, pattern = derived.get(KEY, (None, None))
    if before is None or before[0] is not plan.ports or before[1:] != key[1:]:
        derived[KEY] = key, None
        return make()
    if pattern is None:
        pattern = _pattern_of(make())
        derived[KEY] = key, pattern
    layout: Layout = pattern.copy()
    return layout


class _Pattern(NamedTuple):
    """A layout in a form that is fast to copy, for further runs.

    Attributes
    ----------
    ahead, max_elements
        Length of a window, s, and number of packets that suffice, as in `Layout`.
    shared
        Arrays that all runs share.
    without_values
        Number and type of the rows of arrays without values.
    bytes
        All other arrays, one after the other, each of which begins with a cache line.
    views
        Their shapes, types and first bytes.
    """

    ahead: float
    max_elements: int
    shared: dict[str, Any]
    without_values: dict[str, tuple[Any, Any]]
    bytes: NDArray[np.uint8]
    views: dict[str, tuple[Any, Any, int]]

    def copy(self) -> Layout:
        """Return a copy as the layout of a run."""
        block = aligned(len(self.bytes), np.uint8)
        block[:] = self.bytes
        arrays = self.shared | {
            name: np.ndarray(shape, kind, block, at) for name, (shape, kind, at) in self.views.items()
        }
        for name, (shape, kind) in self.without_values.items():
            arrays[name] = aligned(shape[0], kind) if len(shape) == 1 else np.empty(shape, kind)
        return Layout(arrays, self.ahead, self.max_elements)


def _pattern_of(layout: Layout) -> _Pattern:
    """Return a layout in the form that is fast to copy."""
    arrays = layout.arrays
    others = [name for name in arrays if name not in (*CONSTANT, *WITHOUT_VALUES)]
    lines = [-(-arrays[name].nbytes // LINE) for name in others]
    after = LINE * np.cumsum(lines)
    block, views = np.zeros(int(after[-1]), dtype=np.uint8), dict[str, tuple[Any, Any, int]]()
    for name, end, count in zip(others, after.tolist(), lines, strict=True):
        array, at = arrays[name], end - LINE * count
        views[name] = array.shape, array.dtype, at
        block[at : at + array.nbytes] = array.view(np.uint8).ravel() if array.size else 0
    empty = {name: (arrays[name].shape, arrays[name].dtype) for name in WITHOUT_VALUES}
    shared = {name: arrays[name] for name in CONSTANT}
    return _Pattern(layout.ahead, layout.max_elements, shared, empty, block, views)
