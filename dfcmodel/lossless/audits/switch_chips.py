"""Switch chips: the cell and the constants that public tables show, with table, commit and date."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

__all__ = ["Chip", "ChipRate", "chip", "chips"]


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

    def at(self, rate: float) -> ChipRate | None:
        """Return the constant of a rate in b/s; None where no table has it."""
        return next((each for each in self.rates if each.rate == rate), None)


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
    """
    for each in chips():
        if each.name == str(name).lower():
            return each
    known = ", ".join(each.name for each in chips())
    raise ValueError(f"chip = {name!r}: must be one of {known}")


def _read(name: str, text: str) -> Chip:
    data = tomllib.loads(text)
    rates = tuple(
        ChipRate(
            each["gigabits"] * 1e9, tuple(each["cells"]), tuple(ns * 1e-9 for ns in each["ns"])
        )
        for each in data["rates"]
    )
    sources = tuple(
        f"{each['table']} ({each['repository']}, commit {each['commit']}, {each['date']})"
        for each in data["sources"]
    )
    return Chip(name, data["cell"], rates, sources)
