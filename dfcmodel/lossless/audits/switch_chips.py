"""Switch chips: cells and constants from public tables, with table, commit and date."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dfcmodel.lossless.audits.row_needs import Assumptions, covering
from dfcmodel.lossless.quantities import SMALLEST_FRAME
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
    """The further delay of a chip at one rate, b/s, in cells and s, by the law of its tables.

    Parameters
    ----------
    rate
        Line rate in b/s.
    cells
        Minimum and maximum cells beyond the proved headroom for any sizes (mtu 9216, the standard's response).
    allowance
        Interval of the delay in s that explains them: pipeline, and response of the peer beyond the standard.
    """

    rate: float
    cells: tuple[float, float]
    allowance: tuple[float, float]


@dataclass(frozen=True)
class Chip:
    """A switch chip: cell, constants by rate and buffer, from public tables.

    Parameters
    ----------
    name
        Name of the chip, such as ``tomahawk5``.
    cell
        Bytes of a cell, a divisor of the values of the tables.
    rates
        The constants by rate.
    sources
        Table, commit and date of each source.
    buffer, capacity
        Bytes of its packet buffer, and total b/s of its ports; None: no public source is known.
    buffer_source
        Source of the buffer and the capacity.

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
        """Return the constant of a rate in b/s; None if no table has it."""
        return next((entry for entry in self.rates if entry.rate == rate), None)


@dataclass(frozen=True)
class CensusRange:
    """Range of the xoff in public tables for a rate and a cable.

    Parameters
    ----------
    tables
        Number of tables with such a row, at least 2.
    minimum, median, maximum
        Smallest, median and largest xoff, bytes.
    """

    tables: int
    minimum: int
    median: int
    maximum: int


@cache
def chips() -> tuple[Chip, ...]:
    """Return all chips whose tables follow a law, ordered by name.

    >>> from dfcmodel.lossless import chips
    >>> "trident4" in [model.name for model in chips()]
    True
    """
    folder = files("dfcmodel.lossless.audits") / "chips"
    models = []
    for path in sorted(folder.iterdir(), key=lambda file: file.name):
        if path.name.endswith(".toml"):
            models.append(_read(path.name.removesuffix(".toml"), path.read_text(encoding="utf-8")))
    return tuple(models)


def chip(name: str) -> Chip:
    """Return the chip of this name; ValueError for an unknown name.

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
    for model in chips():
        if model.name == str(name).lower():
            return model
    names = ", ".join(model.name for model in chips())
    raise ValueError(f"name of a chip = {format_value(name)}: must be one of {names}")


def _read(name: str, text: str) -> Chip:
    """Return the chip of this name from the text of its TOML file."""
    data = tomllib.loads(text)
    rates = tuple(
        ChipRate(entry["gigabits"] * 1e9, tuple(entry["cells"]), tuple(ns * 1e-9 for ns in entry["ns"]))
        for entry in data["rates"]
    )
    sources = tuple(
        f"{entry['table']} ({entry['repository']}, commit {entry['commit']}, {entry['date']})"
        for entry in data["sources"]
    )
    buffer = data.get("buffer", {})
    size = buffer["cells"] * data["cell"] if "cells" in buffer else buffer.get("bytes")
    capacity = 1e9 * buffer["gigabits"] if buffer else None
    return Chip(name, data["cell"], rates, sources, size, capacity, buffer.get("source", ""))


def census_range(rate: float, cable: float) -> CensusRange | None:
    """Return the range of public tables for a rate in b/s and a cable in m; None if fewer than two have the row.

    >>> census_range(400e9, 300.0).minimum < census_range(400e9, 300.0).maximum
    True
    """
    return _ranges().get((rate, cable))


@cache
def _ranges() -> dict[tuple[float, float], CensusRange]:
    """Return the ranges of public tables by (rate in b/s, cable in m), from the bundled file."""
    return {
        (float(row["gigabits"]) * 1e9, float(row["metres"])): CensusRange(
            *(int(row[name]) for name in ("tables", "least", "median", "most"))
        )
        for row in read_rows("dfcmodel.lossless.audits", "census.csv")
    }


def census_lines(rate: float, cable: float) -> list[str]:
    """Return a line with the range of the public tables for a rate in b/s and a cable in m; [] without one."""
    census = census_range(rate, cable)
    if census is None:
        return []
    values = f"{census.minimum:,} to {census.maximum:,} B, median {census.median:,}"
    return [f"{census.tables} public tables: {values}; most allow any frame size and include chip delays"]


def chip_lines(rate: float, cable: float) -> list[str]:
    """Return a line per chip with the headroom in bytes for a rate in b/s and a cable in m by the chip's law."""
    lines = []
    for model in chips():
        constant = model.at(rate)
        if constant is not None:
            links = (Assumptions(cell=model.cell, delay=delay_s).link(rate, cable) for delay_s in constant.allowance)
            sizes = sorted({covering(link, SMALLEST_FRAME) for link in links if link is not None})
            size = " to ".join(f"{value:,}" for value in sizes)
            delay = " to ".join(dict.fromkeys(f"{1e9 * value:.0f}" for value in constant.allowance))
            lines.append(f"{model.name}: {size} B (cells of {model.cell} B, a further delay of {delay} ns)")
    return lines
