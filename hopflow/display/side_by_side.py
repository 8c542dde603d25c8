"""Results side by side: a table with one column per result, and one figure."""

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

__all__ = ["SideBySide", "distinct_labels", "kind_for", "stack_datasets"]

T = TypeVar("T")
EMPTY_CELL = "-"
"""Cell of a column that lacks the row."""


@dataclass(frozen=True, repr=False, eq=False)
class SideBySide(Result, Generic[T]):
    """Base of comparisons of results of one kind: subclasses define ``columns``, ``names_of`` and ``plot``.

    Attributes
    ----------
    compared
        Two or more results by label, in the order of the columns.
    """

    CALLED: ClassVar[str]
    """Plural of the kind of result, for messages."""
    compared: Mapping[str, T]

    @classmethod
    def of(cls, results: Sequence[T], labelled: Mapping[str, T]) -> SideBySide[T]:
        """Compare results: first ``results``, which get labels, then ``labelled``.

        Raises
        ------
        ValueError
            For fewer than two results.
        """
        if len(results) + len(labelled) < 2:
            count = len(results) + len(labelled)
            raise ValueError(f"number of {cls.CALLED} = {count}: must be at least 2")
        names = distinct_labels(cls.names_of(results), labelled)
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
        return {name: {label: rows.get(name, EMPTY_CELL) for label, rows in self.columns.items()} for name in names}

    def _table(self) -> list[list[str]]:
        rows: dict[str, Any] = self.summary()
        return [["", *self.columns], *([name, *cells.values()] for name, cells in rows.items())]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        )
        return "\n".join([type(self).__name__, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        picture = png(self.plot().figure, f"plot of {type(self).__name__}")
        head, *rows = self._table()
        return grid_html(type(self).__name__, head, rows) + picture


def kind_for(result: object) -> type[SideBySide[Any]] | None:
    """Return the class that compares results of this kind; None if there is none.

    >>> from dfcmodel import simulate, takano2006
    >>> kind_for(simulate(takano2006("1"), duration=0.01)).CALLED
    'runs'
    """
    reference = result.COMPARED_BY if isinstance(result, Result) else ""
    if not reference:
        return None
    module, _, name = reference.partition(":")
    cls: type[SideBySide[Any]] = getattr(importlib.import_module(module), name)
    return cls


def distinct_labels(names: Sequence[str], reserved: Mapping[str, object]) -> list[str]:
    """Return distinct labels: duplicate or taken names get a number.

    >>> distinct_labels(["a", "a", "b", "c"], {"c": 1})
    ['a (1)', 'a (2)', 'b', 'c (1)']
    """
    labels: list[str] = []
    for n, name in enumerate(names):
        number, label = names[:n].count(name) + 1, name
        while label in reserved or label in labels or (label == name and names.count(name) > 1):
            label, number = f"{name} ({number})", number + 1
        labels.append(label)
    return labels


def stack_datasets(data: Mapping[str, xr.Dataset], dim: str, remedy: str, missing: Sequence[str] = ()) -> xr.Dataset:
    """Concatenate datasets of equal coordinates along a new first dimension.

    Parameters
    ----------
    data
        Data sets by their labels along ``dim``.
    dim
        Name of the dimension.
    remedy
        Advice for the message.
    missing
        Variables that a dataset may lack; they are NaN there.

    Raises
    ------
    ValueError
        Naming coordinates or variables that differ.
    """
    import xarray as xr

    first, *others = data.values()
    for name in dict.fromkeys([*first.coords, *(name for dataset in others for name in dataset.coords)]):
        if not all(name in dataset.coords and first[name].equals(dataset[name]) for dataset in others):
            raise ValueError(f"{dim}: their {name}s differ, so there is no common array; {remedy}")
    names = dict.fromkeys(name for dataset in data.values() for name in dataset.data_vars)
    datasets = []
    for dataset in data.values():
        for name in names:
            if name not in dataset and name not in missing:
                raise ValueError(f"{dim}: not all have {name}, so there is no common array; {remedy}")
        models = {name: next(d[name] for d in data.values() if name in d) for name in names}
        blank = {n: xr.full_like(model, float("nan")) for n, model in models.items() if n not in dataset}
        datasets.append(dataset.assign(blank))
    return xr.concat(datasets, xr.DataArray(list(data), dims=dim, name=dim), combine_attrs="drop_conflicts")
