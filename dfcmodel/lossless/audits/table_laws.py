"""The law of a table: full cells of 64-byte frames at line rate, and one constant per rate.

Where a vendor plans for the smallest frames, xoff in cells is the proved headroom for any sizes plus a constant that
depends on the rate alone: the delay of pipeline and peer that the vendor adds. A cell is accepted if the values are
multiples of it and their slope over the bytes on the cable is the slope of the cell. Rows that differ from the
median constant of their rate by more than one cell do not follow the law.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.audits.orders import MIN_MULTIPLE_FRACTION
from dfcmodel.lossless.audits.rate_lines import wire_bytes
from dfcmodel.lossless.audits.row_needs import Assumptions
from dfcmodel.lossless.paused.worst_cases import WIRE, largest_burst

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable
    from dfcmodel.lossless.paused.paused_links import PausedLink

__all__ = ["RateLaw", "TableLaw", "densest", "distinct_rates", "law_of"]

CELLS = range(64, 1025)
"""Candidate cells in bytes."""
MIN_LAWFUL_FRACTION = 2.0 / 3.0
"""Minimum fraction of the rows at several cables that follow a law."""


@dataclass(frozen=True)
class RateLaw:
    """Fit of a table's rows at one rate: what they have beyond the proved headroom, for which cables and delays.

    Parameters
    ----------
    rate
        Line rate in b/s.
    shared
        Slower rates with the same values, b/s.
    constants
        Cells beyond the proved headroom for any sizes, by cable as in the table.
    cells
        Minimum and maximum constant of the rows that follow the law, in cells.
    allowance
        Interval of the delay in s, beyond the standard's response, that explains these rows.
    exact
        Whether a delay of the interval explains them to the cell; otherwise within one cell.
    """

    rate: float
    shared: tuple[float, ...]
    constants: tuple[float, ...]
    cells: tuple[float, float]
    allowance: tuple[float, float]
    exact: bool


@dataclass(frozen=True)
class TableLaw:
    """The law that most rows of a table follow: cell, constants by rate, and the rows that break it.

    Parameters
    ----------
    cell
        Bytes of a cell.
    rates
        The constant of each rate.
    broken
        Rows that do not follow it, each with the reason.
    """

    cell: int
    rates: tuple[RateLaw, ...]
    broken: dict[BufferRow, str]


def densest(cell: int) -> float:
    """Return the maximum bytes of cells per byte on the wire, over all frame sizes.

    >>> round(densest(254), 3), round(densest(96), 3)
    (3.024, 1.641)
    """
    return cell * max(2.0 / (cell + 1 + WIRE), 1.0 / (64 + WIRE))


def law_of(table: BufferTable, assumed: Assumptions, cell: int | None = None) -> TableLaw | None:
    """Return the law that most rows of a table follow, for ``cell`` bytes or the best cell; None if none fits.

    ``cell`` are the bytes of a cell of the chip; None: all candidates are tried.
    """
    values = np.array([row.xoff for row in table if row.xoff])
    groups = _groups_of_rates(table)
    if not len(values) or not any(len(rows) > 1 for rows, _ in groups):
        return None
    cells = [cell] if cell else [c for c in CELLS if np.mean(values % c == 0) >= MIN_MULTIPLE_FRACTION]
    laws = [_fit(groups, assumed, c) for c in cells if _slope_fits(groups, c)]
    candidates = [(lawful, law) for lawful, law in laws if lawful >= MIN_LAWFUL_FRACTION]
    return max(candidates, key=lambda pair: (pair[0], pair[1].cell))[1] if candidates else None


Group = tuple[list["BufferRow"], tuple[float, ...]]


def _groups_of_rates(table: BufferTable) -> list[Group]:
    """Return for each rate its rows by cable and the slower rates with the same values, which have no entry."""
    groups: list[Group] = []
    for rate in reversed(table.rates):
        rows = table.of_rate(rate)
        for n, (faster, shared) in enumerate(groups):
            values = {row.cable: row.xoff for row in faster}
            if all(values.get(row.cable) == row.xoff for row in rows):
                groups[n] = (faster, (*shared, rate))
                break
        else:
            groups.append((rows, ()))
    return groups[::-1]


def distinct_rates(table: BufferTable) -> list[float]:
    """Return the rates in b/s whose values differ from those of all faster rates."""
    return [rows[0].rate for rows, _ in _groups_of_rates(table)]


def _slope_fits(groups: list[Group], cell: int) -> bool:
    """Return whether the slope of most rates with several cables is that of cells of this size, within two cells."""
    fits = []
    for rows, _ in groups:
        first, last = rows[0], rows[-1]
        wire = wire_bytes(first.rate, last.cable - first.cable)
        if wire * densest(cell) > 4 * cell:
            fits.append(abs(last.xoff - first.xoff - wire * densest(cell)) <= 2 * cell)
    return bool(fits) and 2 * sum(fits) >= len(fits)


def _fit(groups: list[Group], assumed: Assumptions, cell: int) -> tuple[float, TableLaw]:
    """Return the fraction of rows that follow the law of a cell, of rates with several cables, and the law."""
    assumed = dataclasses.replace(assumed, cell=cell, lossless_mtu=max(cell, assumed.lossless_mtu))
    rates: list[RateLaw] = []
    broken: dict[BufferRow, str] = {}
    tested = 0
    for rows, shared in groups:
        links = [assumed.link(row.rate, row.cable) for row in rows]
        if len(rows) < 2 or links[0] is None:
            continue
        row_links = [link for link in links if link is not None]
        constants = [row.xoff / cell - largest_burst(link).cells for row, link in zip(rows, row_links, strict=True)]
        middle = float(np.median(constants))
        lawful = [n for n, constant in enumerate(constants) if abs(constant - middle) <= 1.0]
        tested += len(rows)
        for n, row in enumerate(rows):
            if n not in lawful:
                differs = (constants[n] - middle) * cell
                broken[row] = f"{differs:+,.0f} B from its table's law: {constants[n]:.2f} cells, others {middle:.0f}"
        if len(lawful) > 1:
            rates.append(_rate_law(rows, shared, tuple(constants), lawful, row_links))
    lawful_rows = tested - len(broken)
    return (lawful_rows / tested if tested else 0.0), TableLaw(cell, tuple(rates), broken)


def _rate_law(
    rows: list[BufferRow], shared: tuple[float, ...], constants: tuple[float, ...], lawful: list[int],
    links: list[PausedLink],
) -> RateLaw:  # fmt: skip
    """Return the law at one rate, with the interval of delays that explains the lawful rows."""
    lawful_constants = [constants[n] for n in lawful]
    for slack in (0, 1):
        delays = [delays_of(links[n], rows[n].xoff // links[n].cell, slack) for n in lawful]
        low, high = max(delay[0] for delay in delays), min(delay[1] for delay in delays)
        if low <= high:
            break
    rate = rows[0].rate
    cells = min(lawful_constants), max(lawful_constants)
    return RateLaw(rate, shared, constants, cells, (low / rate, high / rate), slack == 0)


def delays_of(link: PausedLink, cells: int, slack: int = 0) -> tuple[int, int]:
    """Return the shortest and longest delay, bit times beyond the response, that need ``cells`` +/- ``slack``.

    Negative: the peer is assumed to be faster. The interval is empty, low above high, if no delay does.

    >>> link = Assumptions(cell=254).link(400e9, 300.0)
    >>> [round(bits / 400e9 * 1e9, 2) for bits in delays_of(link, 839_216 // 254)]
    [1142.58, 1144.26]
    """
    undelayed = dataclasses.replace(link, response=0, pipeline=0)
    shortest = _first_delay(undelayed, cells - slack)
    return shortest - link.response, _first_delay(undelayed, cells + slack + 1) - 1 - link.response


def _first_delay(link: PausedLink, cells: int) -> int:
    """Return the shortest delay, bit times, at which a link needs at least this many cells."""
    missing = cells - largest_burst(link).cells
    if missing <= 0:
        return 0
    guess = int(missing * link.cell * 8 / densest(link.cell))
    low, high = max(0, guess - 8 * link.mtu), guess + 8 * link.mtu
    while high - low > 1:
        middle = (low + high) // 2
        enough = largest_burst(dataclasses.replace(link, pipeline=middle)).cells >= cells
        low, high = (low, middle) if enough else (middle, high)
    return high
