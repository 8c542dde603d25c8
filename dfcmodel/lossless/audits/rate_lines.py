"""Lines through the values of a rate over the cable, up to a margin: convex polygons of slope and base."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.paused.paused_links import PAUSE_FRAME
from dfcmodel.lossless.paused.worst_cases import WIRE
from dfcmodel.lossless.quantities import FIBRE, PREAMBLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Points = NDArray[np.float64]

__all__ = ["RateLine", "density", "line_of", "wire_bytes"]

Pair = tuple[float, float]
PAUSE = PAUSE_FRAME + PREAMBLE // 8
SLACK = 1e-6
MIN_SLOPE = 64.0 / (64.0 + WIRE)
"""Minimum slope: bytes of buffer per byte on the wire, without cells and with the smallest frames."""


@dataclass(frozen=True, eq=False)
class RateLine:
    """All lines of bytes over bytes on the cable, slope and base, through a rate's values within a margin.

    Parameters
    ----------
    rate
        Line rate in b/s.
    corners
        Corners of the polygon of slope and base in bytes, shape (n, 2).
    points
        Bytes on the cable and value of each row, shape (m, 2).
    off
        Cables in m of omitted rows, which are on no line with the others.
    coverage
        Number of rows that the others of the rate predict, and number of tested rows.
    """

    rate: float
    corners: Points
    points: Points
    off: tuple[float, ...]
    coverage: tuple[int, int]

    @property
    def slope(self) -> Pair:
        """Interval of slopes: bytes of buffer per byte on the cable."""
        return float(self.corners[:, 0].min()), float(self.corners[:, 0].max())

    def at(self, cable: float) -> Pair:
        """Return the interval of values in bytes, by all lines, for a cable in m."""
        values = self.corners[:, 1] + self.corners[:, 0] * wire_bytes(self.rate, cable)
        return float(values.min()), float(values.max())

    def delay(self, mtu: int, lossless_mtu: int, spare: float) -> Pair:
        """Return the interval in s of response and pipeline together; ``spare``: bytes that phase and cells may use."""
        slope, base = self.corners.T
        limits = [(base - lossless_mtu - extra) / slope - mtu - WIRE - PAUSE for extra in (0.0, spare)]
        low, high = float(limits[1].min()), float(limits[0].max())
        return 8.0 * low / self.rate, 8.0 * high / self.rate


def wire_bytes(rate: float, cable: float) -> float:
    """Return the bytes on a cable, both directions together, for a rate in b/s and a length in m."""
    return 2.0 * cable / FIBRE * rate / 8.0


def density(sizes: NDArray[np.int64], cell: int) -> Points:
    """Return, by minimum frame size, the maximum bytes of cells per byte on the wire, shape (n,)."""
    cells = -(-sizes // cell)
    largest: Points = cell * np.maximum(cells / (sizes + WIRE), (cells + 1) / (cells * cell + 1 + WIRE))
    return largest


def corners_of(points: Points, margin: Pair) -> Points:
    """Return the corners (slope, base) of the polygon of lines through the points, within a margin; shape (n, 2)."""
    limits = [(x, y - margin[0]) for x, y in points] + [(x, y + margin[1]) for x, y in points]
    lines = [(MIN_SLOPE, y - MIN_SLOPE * x) for x, y in limits]
    for (x1, y1), (x2, y2) in combinations(limits, 2):
        if x1 != x2:
            slope = (y2 - y1) / (x2 - x1)
            lines.append((slope, y1 - slope * x1))
    corners = []
    for slope, base in lines:
        off = points[:, 1] - base - slope * points[:, 0]
        fits = (off <= margin[0] + SLACK).all() and (-off <= margin[1] + SLACK).all()
        if fits and slope >= MIN_SLOPE:
            corners.append((slope, base))
    return np.array(corners).reshape(-1, 2)


def coverage_of(points: Points, margin: Pair) -> tuple[int, int]:
    """Return the number of points that lines through the other points predict, and that of tested points."""
    hits = tested = 0
    for n, (x, y) in enumerate(points):
        others = np.delete(points, n, axis=0)
        corners = corners_of(others, margin) if len(np.unique(others[:, 0])) > 1 else np.empty((0, 2))
        if len(corners):
            values = corners[:, 1] + corners[:, 0] * x
            tested += 1
            hits += int(values.min() - margin[1] <= y <= values.max() + margin[0])
    return hits, tested


def line_of(rate: float, rows: list[tuple[float, float]], margin: Pair) -> RateLine | None:
    """Return the lines through rows (cable in m, bytes) of a rate, perhaps without one row; None: one cable or no line.

    None: at most one cable, or no line. A row is only omitted where at least three others remain.
    """
    rows = sorted(rows)
    cables = [cable for cable, _ in rows]
    points = np.array([(wire_bytes(rate, cable), value) for cable, value in rows])
    if len(set(cables)) < 2:
        return None
    candidates = [(points, ())] if len(rows) < 4 else [(points, ()), *_without_one(points, cables)]
    for subset, off in candidates:
        corners = corners_of(subset, margin)
        if len(corners):
            return RateLine(rate, corners, subset, off, coverage_of(subset, margin))
    return None


def _without_one(points: Points, cables: list[float]) -> list[tuple[Points, tuple[float, ...]]]:
    """Return, for each point, the other points and the omitted cable as a 1-tuple, the longest cable first."""
    order = range(len(points) - 1, -1, -1)
    return [(np.delete(points, n, axis=0), (cables[n],)) for n in order]
