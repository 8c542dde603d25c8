"""Numbers of a finding that are lists over one variable, as tables with a row for each of its values.

The quantity of such a number ends with the variable and its values, such as ``throughput (Mb/s), Reno;
flows: 1, 2, 4``; model and packets then have as many values, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.display.finding_rows import Number

FORMS = (
    re.compile(r"(?P<name>.+); (?P<x>[^;:]+): (?P<values>[^:;]+)", re.DOTALL),
    re.compile(r"(?P<name>.+?),? by (?P<x>[^,;:]+) = (?P<values>[^=:;]+)", re.DOTALL),
)
FEWEST = 3
"""Values from which on a list becomes a table."""
SIDES = {
    "model": "Model", "simulation": "Packets", "level": "hopflow's packet level", "paper": "Paper",
}  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """A quantity over the values of a variable: by side, as many entries as values."""

    name: str
    sides: dict[str, list[str]]
    note: str


@dataclass(frozen=True)
class SeriesTable:
    """Curves over the same values of one variable."""

    x: str
    values: list[str]
    curves: list[Curve] = field(default_factory=list)


def arranged(numbers: Iterable[Number]) -> tuple[list[Number], list[SeriesTable]]:
    """Return the numbers that are no lists, and the tables of those that are.

    Examples
    --------
    >>> rest, tables = arranged([Number("rate (Mb/s), Reno; flows: 1, 2, 4", model="9, 5, 2")])
    >>> rest, tables[0].x, tables[0].curves[0].sides
    ([], 'flows', {'Model': ['9', '5', '2']})
    """
    rest: list[Number] = []
    tables: dict[tuple[str, ...], SeriesTable] = {}
    for number in numbers:
        found = _curve(number)
        if found is None:
            rest.append(number)
            continue
        x, values, curve = found
        tables.setdefault((x, *values), SeriesTable(x, values)).curves.append(curve)
    return rest, list(tables.values())


def _curve(number: Number) -> tuple[str, list[str], Curve] | None:
    """Return the variable, its values and the curve of a number; None if it is no list."""
    forms = (form.fullmatch(number.quantity.strip()) for form in FORMS)
    match = next(filter(None, forms), None)
    if match is None:
        return None
    values = _items(match["values"])
    sides = {title: _items(text) for field, title in SIDES.items() if (text := getattr(number, field))}
    lists = {title: entries for title, entries in sides.items() if title != "Paper"}
    if len(values) < FEWEST or not lists:
        return None
    if any(len(entries) != len(values) for entries in lists.values()):
        return None
    note = number.tolerance
    if len(sides.get("Paper", values)) != len(values):  # words about all values
        del sides["Paper"]
        note = "; ".join(filter(None, [f"paper: {number.paper}", note]))
    return match["x"], values, Curve(match["name"], sides, note)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(", ")]
