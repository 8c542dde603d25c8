"""Identification of delays, slope, cell and smallest frames from a table or measured watermarks, as intervals.

For each rate the values over the cable are a line up to rounding: base plus slope times the bytes on the cable. All
lines through the values, up to their margins, form a convex polygon of base and slope. Every interval of this module is
the range of a function over that polygon. The slope determines cell and smallest frame, the base determines the delay
of peer and pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable, Watermark
from dfcmodel.lossless.audits.orders import unit_of
from dfcmodel.lossless.audits.rate_lines import (
    PAUSE,
    SLACK,
    Pair,
    RateLine,
    density,
    line_of,
    wire_bytes,
)
from dfcmodel.lossless.audits.row_needs import Assumptions
from dfcmodel.lossless.audits.table_files import read_table
from dfcmodel.lossless.audits.table_laws import distinct_rates, law_of
from dfcmodel.lossless.paused.worst_cases import WIRE
from dfcmodel.lossless.quantities import RESPONSE_BITS, bit_rate, frame_size, metres
from hopflow.checks import file_path, format_value, one_number
from hopflow.results import Result, figure
from hopflow.units import WholeWithUnit, declares

__all__ = ["Identification", "identify"]


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Result):
    """Intervals of a chip's properties and its planned traffic, as `identify` returns them.

    Attributes
    ----------
    lines
        The lines of each rate with at least two cables.
    bent
        Rates in b/s whose values are on no line.
    cell
        Bytes of a cell, from the caller or by divisibility and slope; None if unknown.
    mtu, lossless_mtu
        Assumed largest frames of any class and of the lossless class, in bytes.
    margin
        Bytes by which a line may lie below and above a value.
    of_peaks
        Whether the values are peaks of watermarks, and not those of a table.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, identify
    >>> rows = [BufferRow(400e9, c, x) for c, x in ((5.0, 393_192), (40.0, 445_770), (300.0, 839_216))]
    >>> result = identify(rows)
    >>> [round(end, 2) for end in result.slope], result.smallest
    ([3.02, 3.03], (64.0, 64.0))
    >>> low, high = result.predict("400Gbps", "150m")
    >>> round((high - low) / 254)  # cells
    4
    """

    lines: tuple[RateLine, ...]
    bent: tuple[float, ...]
    cell: int | None
    mtu: int
    lossless_mtu: int
    margin: Pair
    of_peaks: bool = False

    @property
    def slope(self) -> Pair | None:
        """Interval of bytes of buffer per byte on the cable that all rates allow; None if there is none."""
        low = max((line.slope[0] for line in self.lines), default=np.inf)
        high = min((line.slope[1] for line in self.lines), default=-np.inf)
        return (low, high) if low <= high else None

    @property
    def smallest(self) -> Pair | None:
        """Interval of the smallest planned frames in bytes, by cell and slope; None if unknown."""
        if self.cell is None or self.slope is None:
            return None
        sizes = np.arange(64, self.lossless_mtu + 1)
        needed = density(sizes, self.cell)
        low, high = self.slope
        matches = sizes[(needed >= low - SLACK) & (needed <= high + SLACK)]
        return (float(matches[0]), float(matches[-1])) if len(matches) else None

    @property
    def cell_for_any_sizes(self) -> Pair | None:
        """Interval of the cell in bytes for frames of any size, by the slope; None if unknown."""
        if self.slope is None:
            return None
        cells = np.arange(64, 1025)
        needed = cells * np.maximum(2.0 / (cells + 1 + WIRE), 1.0 / (64 + WIRE))
        matches = cells[(needed >= self.slope[0] - SLACK) & (needed <= self.slope[1] + SLACK)]
        return (float(matches[0]), float(matches[-1])) if len(matches) else None

    @property
    def delays(self) -> dict[float, Pair]:
        """Interval of the peer's response and this port's pipeline together, s, by rate in b/s.

        Below 0 the values were planned for smaller frames than ``mtu`` and ``lossless_mtu``.
        """
        spare = 2.0 * (self.cell or max(self.margin))
        return {line.rate: line.delay(self.mtu, self.lossless_mtu, spare) for line in self.lines}

    @property
    def pipelines(self) -> dict[float, Pair]:
        """Interval of the delays less the standard's response, s, by rate in b/s; below 0: a faster peer."""
        return {
            rate: tuple(end - RESPONSE_BITS[rate] / rate for end in pair)  # type: ignore[misc]
            for rate, pair in self.delays.items()
            if rate in RESPONSE_BITS
        }

    @property
    def coverage(self) -> tuple[int, int]:
        """Number of rows that the other rows of their rate predict, and number of tested rows."""
        return sum(line.coverage[0] for line in self.lines), sum(line.coverage[1] for line in self.lines)

    @property
    def rate_coverage(self) -> tuple[int, int]:
        """Number of rows that the other rates predict, and number of tested rows."""
        hits = tested = 0
        for n, line in enumerate(self.lines):
            others = (*self.lines[:n], *self.lines[n + 1 :])
            for wire, value in line.points if others else ():
                low, high = _between(others, self, line.rate, wire)
                hits += int(low <= value <= high)
                tested += 1
        return hits, tested

    def predict(self, rate: str, cable: str) -> Pair:
        """Return the interval of the headroom in bytes for a rate and a cable, from the identified lines.

        It is that of a value of the table, which may differ from its line by the margin, or of watermarks that of the
        worst case, which no peak exceeds. A rate of the table is predicted by its lines, other rates by slopes and
        delays of all rates; `rate_coverage` is the fraction of the rows for which that holds.

        Raises
        ------
        ValueError
            Without a line, or naming the parameter and the allowed values.
        """
        bits, length = bit_rate("rate", rate), metres("cable", cable)
        if not self.lines:
            raise ValueError("there is no line to predict from: at least two cables of a rate are needed")
        for line in self.lines:
            if line.rate == bits:
                low, high = line.at(length)
                return low if self.of_peaks else low - self.margin[1], high + self.margin[0]
        return _between(self.lines, self, float(bits), wire_bytes(float(bits), length))

    def summary(self) -> dict[str, object]:
        """Return texts by name: the intervals, how many rows others predict, and rows that were left out."""
        rows: dict[str, object] = {"cell": f"{self.cell} B" if self.cell else "not known"}
        if self.slope is not None:
            rows["buffer per byte on the cable"] = _format_interval(self.slope, ".3f")
        if self.smallest is not None:
            rows["planned for frames of at least"] = _format_interval(self.smallest, ".0f") + " B"
        elif self.cell_for_any_sizes is not None:
            rows["cell, if planned for any sizes"] = _format_interval(self.cell_for_any_sizes, ".0f") + " B"
        for rate, pair in self.delays.items():
            text = _format_interval((1e9 * pair[0], 1e9 * pair[1]), ",.0f") + " ns"
            if rate in self.pipelines:
                beyond = [1e9 * end for end in self.pipelines[rate]]
                text += f"; beyond the standard's response {_format_interval((beyond[0], beyond[1]), ',.0f')} ns"
            rows[f"response and pipeline at {rate / 1e9:g}G"] = text
        rows["rows predicted by the others of their rate"] = "{} of {}".format(*self.coverage)
        if len(self.lines) > 1:
            rows["rates predicted by the other rates"] = "{} of {}".format(*self.rate_coverage)
        off = [f"{e.rate / 1e9:g}G {m:g}m" for e in self.lines for m in e.off]
        if off:
            rows["left out, on no line with the others"] = ", ".join(off)
        if self.bent:
            rows["on no line"] = ", ".join(f"{rate / 1e9:g}G" for rate in self.bent)
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the interval of each rate over the cable; return the Axes."""
        axes = figure()[1] if ax is None else ax
        cables = np.linspace(0.0, 500.0, 51)
        for line in self.lines:
            low, high = np.array([line.at(cable) for cable in cables]).T / 1e3
            axes.fill_between(cables, low, high, alpha=0.4, label=f"{line.rate / 1e9:g}G")
        axes.set(xlabel="cable (m)", ylabel="kB of xoff")
        if self.lines:
            axes.legend()
        return axes


@declares(cell="size", mtu="size", lossless_mtu="size")
def identify(
    given: BufferTable | Iterable[BufferRow | Watermark] | str | Path,
    *,
    cell: WholeWithUnit | None = None,
    missed: float | None = None,
    mtu: WholeWithUnit = 9216,
    lossless_mtu: WholeWithUnit | None = None,
) -> Identification:
    """Return properties of a chip and of its planned traffic from a table or watermarks, as intervals.

    Parameters
    ----------
    given
        A table, its rows, a file that `read_table` reads, or watermarks.
    cell
        Bytes of a cell; None: the cell of the table's law, if it follows a law.
    missed
        For watermarks: bytes by which the worst case may exceed the measured peaks.
    mtu, lossless_mtu
        Bytes of the largest planned frames; None: equal.

    Notes
    -----
    Omitted are rates with the values of a faster rate, rows that break the law of their table (`audit_headroom` names
    them), and one row of a rate if only the other rows are on a line.

    Raises
    ------
    ValueError
        For watermarks without ``missed``, and a negative one.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, identify
    >>> rows = [BufferRow(100e9, c, x) for c, x in ((5.0, 147_066), (40.0, 160_274), (300.0, 258_572))]
    >>> result = identify(rows)
    >>> result.cell, [round(1e9 * end) for end in result.pipelines[100e9]]  # ns beyond the standard's response
    (254, [798, 858])
    """
    mtu = frame_size("mtu", mtu)
    lossless = mtu if lossless_mtu is None else frame_size("lossless_mtu", lossless_mtu)
    cell = None if cell is None else frame_size("cell", cell)
    rows, measured = _points(given)
    if measured:
        if missed is None:
            raise ValueError(
                "missed = None: must be given for watermarks, in bytes: a peak that was seen is at most the worst case"
            )
        size = cell
        margin = (float(size or 0), one_number("missed", missed, at_least=0.0, hint="in bytes"))
    else:
        table = BufferTable(rows)
        law = law_of(table, Assumptions(), cell)
        size = cell if cell is not None else law.cell if law else None
        unit = float(size or unit_of(table) or 1)
        margin = (unit, unit)
        rates = set(distinct_rates(table))
        rows = tuple(r for r in rows if r.rate in rates and not (law and r in law.broken))
    lines, bent = [], []
    for rate in sorted({row.rate for row in rows}):
        line = line_of(rate, [(row.cable, row.xoff) for row in rows if row.rate == rate], margin)
        if line is not None:
            lines.append(line)
        elif len({row.cable for row in rows if row.rate == rate}) > 1:
            bent.append(rate)
    return Identification(tuple(lines), tuple(bent), size, mtu, lossless, margin, measured)


def _points(source: Any) -> tuple[tuple[BufferRow, ...], bool]:
    """Return the argument of `identify` as distinct rows with headroom, and whether they are measured watermarks."""
    if isinstance(source, (str, Path)):
        source = read_table(file_path("given", source))
    rows = tuple(source) if isinstance(source, Iterable) else ()
    if rows and all(isinstance(row, Watermark) for row in rows):
        return tuple(BufferRow(row.rate, row.cable, row.peak) for row in rows), True
    if not rows or any(not isinstance(row, BufferRow) for row in rows):
        raise TypeError(f"given = {format_value(source)}: must be a table, its rows, a file, or watermarks")
    by_value = {(row.rate, row.cable, row.xoff): row for row in rows if not row.no_headroom}
    return tuple(by_value.values()), False


def _format_interval(pair: Pair, form: str) -> str:
    """Return an interval as a string, "low to high", with the format ``form`` for both."""
    return f"{pair[0]:{form}} to {pair[1]:{form}}"


def _between(lines: tuple[RateLine, ...], identification: Identification, rate: float, wire: float) -> Pair:
    """Return the interval of a value, bytes, at a rate in b/s, from slopes and delays of all rates; ``wire``: bytes."""
    spare = 2.0 * (identification.cell or max(identification.margin))
    delays = [line.delay(identification.mtu, identification.lossless_mtu, spare) for line in lines]
    slopes = [line.slope for line in lines]
    limits = []
    for pick, extra in ((min, 0.0), (max, spare)):
        n = 0 if pick is min else 1
        delay, slope = pick(interval[n] for interval in delays), pick(interval[n] for interval in slopes)
        window = identification.mtu + WIRE + PAUSE + delay * rate / 8.0 + wire
        limits.append(identification.lossless_mtu + slope * window + extra)
    return limits[0], limits[1]
