"""Switch chips: the cell and the constants that public tables show, with table, commit and date."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dfcmodel.lossless.audits.row_needs import Assumptions, covering
from dfcmodel.lossless.paused.paused_links import SMALLEST_FRAME
from hopflow.checks import format_value
from hopflow.text_files import read_rows

__all__ = [
    "CensusRange",
    "Chip",
    "ChipRate",
    "census_lines",
    "census_range",
    "chip",
    "chip_lines",
    "chips",
]


@dataclass(frozen=True)
class ChipRate:
    """The constant of a chip at one rate.

    Parameters
    ----------
    rate
        b/s.
    cells
        Least and largest number of cells beyond the proved headroom for any sizes (mtu 9216, the standard's response).
    allowance
        Interval of the delay in s that explains them: pipeline, and what the peer needs beyond the standard.
    """

    rate: float
    cells: tuple[float, float]
    allowance: tuple[float, float]


@dataclass(frozen=True)
class Chip:
    """A chip, as public tables show it.

    Parameters
    ----------
    name
        Such as ``tomahawk5``.
    cell
        Bytes of a cell, a divisor of the values of the tables.
    rates
        The constants by rate.
    sources
        Table, commit and date of each source.
    buffer, capacity
        Bytes of its packet buffer, and b/s of all its ports together; None: no public source that we know.
    buffer_source
        Where these are from.

    Examples
    --------
    >>> from dfcmodel.lossless import chip
    >>> chip("tomahawk5").cell
    254
    """

    name: str
    cell: int
    rates: tuple[ChipRate, ...]
    sources: tuple[str, ...]
    buffer: int | None = None
    capacity: float | None = None
    buffer_source: str = ""

    def at(self, rate: float) -> ChipRate | None:
        """Return the constant of a rate in b/s; None where no table has it."""
        return next((each for each in self.rates if each.rate == rate), None)


@dataclass(frozen=True)
class CensusRange:
    """The values of all public tables for a rate and a cable.

    Parameters
    ----------
    tables
        Number of tables with such a row, at least 2.
    least, median, most
        Bytes.
    """

    tables: int
    least: int
    median: int
    most: int


@cache
def chips() -> tuple[Chip, ...]:
    """Return all chips whose tables follow a law.

    >>> from dfcmodel.lossless import chips
    >>> "trident4" in [each.name for each in chips()]
    True
    """
    folder = files("dfcmodel.lossless.audits") / "chips"
    found = []
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if path.name.endswith(".toml"):
            found.append(_read(path.name.removesuffix(".toml"), path.read_text(encoding="utf-8")))
    return tuple(found)


def chip(name: str) -> Chip:
    """Return a chip by its name.

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> from dfcmodel.lossless import chip
    >>> chip("tomahawk4").cell
    254
    """
    for each in chips():
        if each.name == str(name).lower():
            return each
    known = ", ".join(each.name for each in chips())
    raise ValueError(f"name of a chip = {format_value(name)}: must be one of {known}")


def _read(name: str, text: str) -> Chip:
    data = tomllib.loads(text)
    rates = tuple(
        ChipRate(each["gigabits"] * 1e9, tuple(each["cells"]), tuple(ns * 1e-9 for ns in each["ns"]))
        for each in data["rates"]
    )
    sources = tuple(
        f"{each['table']} ({each['repository']}, commit {each['commit']}, {each['date']})" for each in data["sources"]
    )
    found = data.get("buffer", {})
    size = found["cells"] * data["cell"] if "cells" in found else found.get("bytes")
    capacity = 1e9 * found["gigabits"] if found else None
    return Chip(name, data["cell"], rates, sources, size, capacity, found.get("source", ""))


def census_range(rate: float, cable: float) -> CensusRange | None:
    """Return the values of the public tables for a rate in b/s and a cable in m; None: at most one has such a row.

    >>> census_range(400e9, 300.0).least < census_range(400e9, 300.0).most
    True
    """
    return _ranges().get((rate, cable))


@cache
def _ranges() -> dict[tuple[float, float], CensusRange]:
    return {
        (float(each["gigabits"]) * 1e9, float(each["metres"])): CensusRange(
            *(int(each[name]) for name in ("tables", "least", "median", "most"))
        )
        for each in read_rows("dfcmodel.lossless.audits", "census.csv")
    }


def census_lines(rate: float, cable: float) -> list[str]:
    """Return the range of all public tables with a row for a port, a line or none."""
    found = census_range(rate, cable)
    if found is None:
        return []
    values = f"{found.least:,} to {found.most:,} B, median {found.median:,}"
    return [f"{found.tables} public tables: {values}; most allow any frame size and include chip delays"]


def chip_lines(rate: float, cable: float) -> list[str]:
    """Return the headroom of a port by the law of each chip that has one at its rate."""
    lines = []
    for each in chips():
        known = each.at(rate)
        if known is not None:
            links = (Assumptions(cell=each.cell, delay=d).link(rate, cable) for d in known.allowance)
            ends = sorted({covering(link, SMALLEST_FRAME) for link in links if link is not None})
            size = " to ".join(f"{end:,}" for end in ends)
            delay = " to ".join(dict.fromkeys(f"{1e9 * end:.0f}" for end in known.allowance))
            lines.append(f"{each.name}: {size} B (cells of {each.cell} B, a further delay of {delay} ns)")
    return lines
