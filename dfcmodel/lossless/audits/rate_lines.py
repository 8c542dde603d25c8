"""Lines through the values of a rate over the cable, each value up to a margin: convex polygons of slope and base."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.paused.headroom_items import FIBRE
from dfcmodel.lossless.paused.paused_links import PAUSE_FRAME, PREAMBLE
from dfcmodel.lossless.paused.worst_cases import WIRE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Points = NDArray[np.float64]

__all__ = ["RateLine", "density", "line_of", "wire_bytes"]

Pair = tuple[float, float]
PAUSE = PAUSE_FRAME + PREAMBLE // 8
SLACK = 1e-6
LEAST_SLOPE = 64.0 / (64.0 + WIRE)
"""Bytes of buffer per byte on the wire, without cells and with the smallest frames: no need grows more slowly."""


@dataclass(frozen=True, eq=False)
class RateLine:
    """The lines through the values of a rate.

    Parameters
    ----------
    rate
        b/s.
    corners
        Corners of the polygon of slope and base in bytes, shape (n, 2).
    points
        Bytes on the cable and value of each row, shape (m, 2).
    off
        Cables in m of rows that are on no line with the others.
    coverage
        Rows that the others of the rate predict, and rows tried.
    """

    rate: float
    corners: Points
    points: Points
    off: tuple[float, ...]
    coverage: tuple[int, int]

    @property
    def slope(self) -> Pair:
        """Bytes of buffer per byte on the cable."""
        return float(self.corners[:, 0].min()), float(self.corners[:, 0].max())

    def at(self, cable: float) -> Pair:
        """Return the interval of the value for a cable in m."""
        found = self.corners[:, 1] + self.corners[:, 0] * wire_bytes(self.rate, cable)
        return float(found.min()), float(found.max())

    def delay(self, mtu: int, lossless_mtu: int, spare: float) -> Pair:
        """Return the interval of response and pipeline together in s; ``spare``: bytes lost to phase and cells."""
        slope, base = self.corners.T
        ends = [(base - lossless_mtu - each) / slope - mtu - WIRE - PAUSE for each in (0.0, spare)]
        low, high = float(ends[1].min()), float(ends[0].max())
        return 8.0 * low / self.rate, 8.0 * high / self.rate


def wire_bytes(rate: float, cable: float) -> float:
    """Return the bytes on the cable, both ways."""
    return 2.0 * cable / FIBRE * rate / 8.0


def density(sizes: NDArray[np.int64], cell: int) -> Points:
    """Return the most bytes of cells per byte on the wire of frames of at least a size."""
    cells = -(-sizes // cell)
    found: Points = cell * np.maximum(cells / (sizes + WIRE), (cells + 1) / (cells * cell + 1 + WIRE))
    return found


def corners_of(points: Points, margin: Pair) -> Points:
    """Return the corners of the polygon of slope and base of all lines through points, within a margin."""
    ends = [(x, y - margin[0]) for x, y in points] + [(x, y + margin[1]) for x, y in points]
    lines = [(LEAST_SLOPE, y - LEAST_SLOPE * x) for x, y in ends]
    for (x1, y1), (x2, y2) in combinations(ends, 2):
        if x1 != x2:
            slope = (y2 - y1) / (x2 - x1)
            lines.append((slope, y1 - slope * x1))
    found = []
    for slope, base in lines:
        off = points[:, 1] - base - slope * points[:, 0]
        fits = (off <= margin[0] + SLACK).all() and (-off <= margin[1] + SLACK).all()
        if fits and slope >= LEAST_SLOPE:
            found.append((slope, base))
    return np.array(found).reshape(-1, 2)


def coverage_of(points: Points, margin: Pair) -> tuple[int, int]:
    """Return how many points the lines through the others predict, and how many were tried."""
    hits = tried = 0
    for n, (x, y) in enumerate(points):
        rest = np.delete(points, n, axis=0)
        corners = corners_of(rest, margin) if len(np.unique(rest[:, 0])) > 1 else np.empty((0, 2))
        if len(corners):
            found = corners[:, 1] + corners[:, 0] * x
            tried += 1
            hits += int(found.min() - margin[1] <= y <= found.max() + margin[0])
    return hits, tried


def line_of(rate: float, rows: list[tuple[float, float]], margin: Pair) -> RateLine | None:
    """Return the lines through the rows (cable in m, bytes) of a rate, without one of them if that is needed.

    None: at most one cable, or no line even then. One row is left out where at least three others remain.
    """
    rows = sorted(rows)
    cables = [cable for cable, _ in rows]
    points = np.array([(wire_bytes(rate, cable), value) for cable, value in rows])
    if len(set(cables)) < 2:
        return None
    tried = [(points, ())] if len(rows) < 4 else [(points, ()), *_without_one(points, cables)]
    for kept, off in tried:
        corners = corners_of(kept, margin)
        if len(corners):
            return RateLine(rate, corners, kept, off, coverage_of(kept, margin))
    return None


def _without_one(points: Points, cables: list[float]) -> list[tuple[Points, tuple[float, ...]]]:
    """Return the points without one of them, the longest cable first."""
    order = range(len(points) - 1, -1, -1)
    return [(np.delete(points, n, axis=0), (cables[n],)) for n in order]
