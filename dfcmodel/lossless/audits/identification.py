"""What a table or measured watermarks identify: delays, slope, cell and the smallest frames planned for, as intervals.

For each rate the values over the cable are a line up to rounding: base plus slope times the bytes on the cable. All
lines through the values, each up to its margin, are a convex polygon of base and slope, and every interval here is the
range of a function over that polygon. Slope tells cell and smallest frame, base tells the delay of peer and pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable, Watermark
from dfcmodel.lossless.audits.orders import grain_of
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
from dfcmodel.lossless.quantities import QUANTUM, RESPONSE_QUANTA, bit_rate, frame_size, metres
from hopflow.checks import file_path, format_value, one_number
from hopflow.results import Result, figure
from hopflow.units import WholeWithUnit, declares

__all__ = ["Identification", "identify"]


@dataclass(frozen=True, eq=False, repr=False)
class Identification(Result):
    """What a table or watermarks identify, as `identify` returns it.

    Attributes
    ----------
    lines
        The lines of each rate with at least two cables.
    bent
        Rates in b/s whose values are on no line.
    cell
        Bytes of a cell, given or found by divisibility and slope; None where not known.
    mtu, lossless_mtu
        Assumed, in bytes.
    margin
        Bytes by which a value may differ from its line, below and above.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, identify
    >>> rows = [BufferRow(400e9, c, x) for c, x in ((5.0, 393_192), (40.0, 445_770), (300.0, 839_216))]
    >>> found = identify(rows)
    >>> [round(end, 2) for end in found.slope], found.smallest
    ([3.02, 3.03], (64.0, 64.0))
    >>> low, high = found.predict("400Gbps", "150m")
    >>> round((high - low) / 254)  # cells
    2
    """

    lines: tuple[RateLine, ...]
    bent: tuple[float, ...]
    cell: int | None
    mtu: int
    lossless_mtu: int
    margin: Pair

    @property
    def slope(self) -> Pair | None:
        """Bytes of buffer per byte on the cable that all rates allow; None where they differ."""
        low = max((line.slope[0] for line in self.lines), default=np.inf)
        high = min((line.slope[1] for line in self.lines), default=-np.inf)
        return (low, high) if low <= high else None

    @property
    def smallest(self) -> Pair | None:
        """Interval of the smallest frames in bytes that the slope is planned for; None without cell or slope."""
        if self.cell is None or self.slope is None:
            return None
        sizes = np.arange(64, self.lossless_mtu + 1)
        needed = density(sizes, self.cell)
        low, high = self.slope
        found = sizes[(needed >= low - SLACK) & (needed <= high + SLACK)]
        return (float(found[0]), float(found[-1])) if len(found) else None

    @property
    def cell_for_any_sizes(self) -> Pair | None:
        """Interval of the cell in bytes if the slope is planned for frames of any size; None without a slope."""
        if self.slope is None:
            return None
        cells = np.arange(64, 1025)
        needed = cells * np.maximum(2.0 / (cells + 1 + WIRE), 1.0 / (64 + WIRE))
        found = cells[(needed >= self.slope[0] - SLACK) & (needed <= self.slope[1] + SLACK)]
        return (float(found[0]), float(found[-1])) if len(found) else None

    @property
    def delays(self) -> dict[float, Pair]:
        """Interval of the peer's response and this port's pipeline together in s, by rate.

        Below 0 the values were planned for smaller frames than ``mtu`` and ``lossless_mtu``.
        """
        spare = 2.0 * (self.cell or max(self.margin))
        return {line.rate: line.delay(self.mtu, self.lossless_mtu, spare) for line in self.lines}

    @property
    def pipelines(self) -> dict[float, Pair]:
        """The same less the standard's response; below 0, a faster peer is assumed."""
        return {
            rate: tuple(end - QUANTUM * RESPONSE_QUANTA[rate] / rate for end in pair)  # type: ignore[misc]
            for rate, pair in self.delays.items()
            if rate in RESPONSE_QUANTA
        }

    @property
    def coverage(self) -> tuple[int, int]:
        """Rows whose value the other rows of their rate predict, and rows that were tried."""
        return sum(e.coverage[0] for e in self.lines), sum(e.coverage[1] for e in self.lines)

    @property
    def rate_coverage(self) -> tuple[int, int]:
        """Rows whose value the other rates predict, and rows that were tried."""
        hits = tried = 0
        for n, line in enumerate(self.lines):
            rest = (*self.lines[:n], *self.lines[n + 1 :])
            for wire, value in line.points if rest else ():
                low, high = _between(rest, self, line.rate, wire)
                hits += int(low <= value <= high)
                tried += 1
        return hits, tried

    def predict(self, rate: str, cable: str) -> Pair:
        """Return the interval of the value in bytes for a rate and a cable.

        A rate of the table is predicted by its own lines. Another one takes slopes and delays of all rates: the
        fraction of the rows for which that holds is `rate_coverage`.

        Raises
        ------
        ValueError
            Without a line, or naming the parameter and what is allowed.
        """
        bits, length = bit_rate("rate", rate), metres("cable", cable)
        if not self.lines:
            raise ValueError("there is no line to predict from: at least two cables of a rate are needed")
        for line in self.lines:
            if line.rate == bits:
                return line.at(length)
        return _between(self.lines, self, float(bits), wire_bytes(float(bits), length))

    def summary(self) -> dict[str, object]:
        """Return the intervals."""
        rows: dict[str, object] = {"cell": f"{self.cell} B" if self.cell else "not known"}
        if self.slope is not None:
            rows["buffer per byte on the cable"] = _shown(self.slope, ".3f")
        if self.smallest is not None:
            rows["planned for frames of at least"] = _shown(self.smallest, ".0f") + " B"
        elif self.cell_for_any_sizes is not None:
            rows["cell, if planned for any sizes"] = _shown(self.cell_for_any_sizes, ".0f") + " B"
        for rate, pair in self.delays.items():
            text = _shown((1e9 * pair[0], 1e9 * pair[1]), ",.0f") + " ns"
            if rate in self.pipelines:
                more = [1e9 * end for end in self.pipelines[rate]]
                text += f"; beyond the standard's response {_shown((more[0], more[1]), ',.0f')} ns"
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
    """Return what a table or watermarks show of a chip and of the traffic that it is planned for, as intervals.

    Parameters
    ----------
    given
        A table, its rows, a file that `read_table` reads, or watermarks.
    cell
        Bytes of a cell; None: the one of the table's law, if it has one.
    missed
        For watermarks: bytes by which the worst case may exceed the peaks that were seen.
    mtu, lossless_mtu
        Bytes of the largest frames that were planned for; None: equal.

    Notes
    -----
    Left out are rates with the values of a faster one, rows that break the law of their table (`audit_headroom` names
    them), and one row of a rate if the others are on a line without it.

    Raises
    ------
    ValueError
        For watermarks without ``missed``, and a negative one.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, identify
    >>> rows = [BufferRow(100e9, c, x) for c, x in ((5.0, 147_066), (40.0, 160_274), (300.0, 258_572))]
    >>> found = identify(rows)
    >>> found.cell, [round(1e9 * end) for end in found.pipelines[100e9]]  # ns beyond the standard's response
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
        unit = float(size or grain_of(table) or 1)
        margin = (unit, unit)
        kept = set(distinct_rates(table))
        rows = tuple(r for r in rows if r.rate in kept and not (law and r in law.broken))
    lines, bent = [], []
    for rate in sorted({row.rate for row in rows}):
        line = line_of(rate, [(row.cable, row.xoff) for row in rows if row.rate == rate], margin)
        if line is not None:
            lines.append(line)
        elif len({row.cable for row in rows if row.rate == rate}) > 1:
            bent.append(rate)
    return Identification(tuple(lines), tuple(bent), size, mtu, lossless, margin)


def _points(given: Any) -> tuple[tuple[BufferRow, ...], bool]:
    """Return rows, and whether they are measured."""
    if isinstance(given, (str, Path)):
        given = read_table(file_path("given", given))
    rows = tuple(given) if isinstance(given, Iterable) else ()
    if rows and all(isinstance(row, Watermark) for row in rows):
        return tuple(BufferRow(row.rate, row.cable, row.peak) for row in rows), True
    if not rows or any(not isinstance(row, BufferRow) for row in rows):
        raise TypeError(f"given = {format_value(given)}: must be a table, its rows, a file, or watermarks")
    by_value = {(row.rate, row.cable, row.xoff): row for row in rows if not row.no_headroom}
    return tuple(by_value.values()), False


def _shown(pair: Pair, form: str) -> str:
    return f"{pair[0]:{form}} to {pair[1]:{form}}"


def _between(lines: tuple[RateLine, ...], found: Identification, rate: float, wire: float) -> Pair:
    """Return the interval of a value from the slopes and delays of all rates; ``wire``: bytes on the cable."""
    spare = 2.0 * (found.cell or max(found.margin))
    delays = [line.delay(found.mtu, found.lossless_mtu, spare) for line in lines]
    slopes = [line.slope for line in lines]
    ends = []
    for pick, more in ((min, 0.0), (max, spare)):
        n = 0 if pick is min else 1
        delay, slope = pick(each[n] for each in delays), pick(each[n] for each in slopes)
        window = found.mtu + WIRE + PAUSE + delay * rate / 8.0 + wire
        ends.append(found.lossless_mtu + slope * window + more)
    return ends[0], ends[1]
