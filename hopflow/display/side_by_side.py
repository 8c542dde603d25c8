"""Results side by side: a table with a column for each, and one figure."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from hopflow.display.html_tables import grid_html
from hopflow.display.results import Result, png
from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["SideBySide", "distinct", "kind_for", "stacked"]

T = TypeVar("T")
NOTHING = "-"
"""In a cell whose column has no such row."""


@dataclass(frozen=True, repr=False, eq=False)
class SideBySide(Result, Generic[T]):
    """Base of comparisons of results of one kind: subclasses define ``columns``, ``names_of`` and ``plot``.

    Attributes
    ----------
    compared
        The results by label, two or more, in the order of the columns.
    """

    CALLED: ClassVar[str]
    """Its plural in messages."""
    compared: Mapping[str, T]

    @classmethod
    def of(cls, results: Sequence[T], labelled: Mapping[str, T]) -> SideBySide[T]:
        """Return the comparison of results, first those without a label of their own.

        Raises
        ------
        ValueError
            For fewer than two.
        """
        if len(results) + len(labelled) < 2:
            count = len(results) + len(labelled)
            raise ValueError(f"number of {cls.CALLED} = {count}: must be at least 2")
        names = distinct(cls.names_of(results), labelled)
        return cls({**dict(zip(names, results, strict=True)), **labelled})

    @staticmethod
    def names_of(results: Sequence[T]) -> list[str]:
        """Return a name for each of the results."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> dict[str, dict[str, str]]:
        """The rows of each column, by label and by name."""
        raise NotImplementedError

    def summary(self) -> dict[str, object]:
        """Return the rows of the table by name, each a dictionary from labels to cells."""
        names = dict.fromkeys(name for column in self.columns.values() for name in column)
        return {
            name: {label: rows.get(name, NOTHING) for label, rows in self.columns.items()}
            for name in names
        }

    def _table(self) -> list[list[str]]:
        rows: dict[str, Any] = self.summary()
        return [["", *self.columns], *([name, *cells.values()] for name, cells in rows.items())]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip()
            for row in table
        )
        return "\n".join([type(self).__name__, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        picture = png(self.plot().figure, f"plot of {type(self).__name__}")
        head, *rows = self._table()
        return grid_html(type(self).__name__, head, rows) + picture


def kind_for(result: object) -> type[SideBySide[Any]] | None:
    """Return the class that compares such results; None: none does.

    >>> from dfcmodel import simulate, takano2006
    >>> kind_for(simulate(takano2006("1"), duration=0.01)).CALLED
    'runs'
    """
    place = result.COMPARED_BY if isinstance(result, Result) else ""
    if not place:
        return None
    module, _, name = place.partition(":")
    found: type[SideBySide[Any]] = getattr(importlib.import_module(module), name)
    return found


def distinct(names: Sequence[str], taken: Mapping[str, object]) -> list[str]:
    """Return names with numbers after those that occur twice or are taken.

    >>> distinct(["a", "a", "b", "c"], {"c": 1})
    ['a (1)', 'a (2)', 'b', 'c (1)']
    """
    found: list[str] = []
    for n, name in enumerate(names):
        number, label = names[:n].count(name) + 1, name
        while label in taken or label in found or (label == name and names.count(name) > 1):
            label, number = f"{name} ({number})", number + 1
        found.append(label)
    return found


def stacked(
    data: Mapping[str, xr.Dataset], dim: str, remedy: str, missing: Sequence[str] = ()
) -> xr.Dataset:
    """Return data sets of equal coordinates as one with a new first dimension.

    Parameters
    ----------
    data
        Data sets by their labels along ``dim``.
    dim
        Name of the dimension.
    remedy
        For the message, what to write instead.
    missing
        Variables that only some may have; NaN for the others.

    Raises
    ------
    ValueError
        Where coordinates or variables differ, naming them.
    """
    import xarray as xr

    first, *others = data.values()
    for name in dict.fromkeys([*first.coords, *(name for each in others for name in each.coords)]):
        if not all(name in each.coords and first[name].equals(each[name]) for each in others):
            raise ValueError(f"{dim}: their {name}s differ, so there is no common array; {remedy}")
    known = dict.fromkeys(name for each in data.values() for name in each.data_vars)
    filled = []
    for each in data.values():
        for name in known:
            if name not in each and name not in missing:
                raise ValueError(
                    f"{dim}: not all have {name}, so there is no common array; {remedy}"
                )
        models = {name: next(d[name] for d in data.values() if name in d) for name in known}
        blank = {
            n: xr.full_like(model, float("nan")) for n, model in models.items() if n not in each
        }
        filled.append(each.assign(blank))
    return xr.concat(
        filled, xr.DataArray(list(data), dims=dim, name=dim), combine_attrs="drop_conflicts"
    )
