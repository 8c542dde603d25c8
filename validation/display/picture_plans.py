"""Plans of pictures: the role of every column of a table of the evidence library.

The index of a table tells the roles: columns before the seed were varied from run to run,
columns behind it are the parts of one run (time, node, flow). Numbers that only name things,
such as flow 2, are never an axis. A varied number is the x axis; without one, every kind of run is
a row of points. The remaining columns distinguish curves and panels apart. What is drawn by default is a
result: never an index, an input of the runs, or numbers in several units.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hopflow.checks import choice

if TYPE_CHECKING:
    import pandas as pd

HEADLINES = (
    "efficiency", "throughput", "goodput_bits", "goodput", "utilisation", "rate", "transfer_time",
    "departed", "queued", "queued_target", "cwnd", "mean_efficiency", "bytes",
)  # fmt: skip
"""Preferred columns for the y axis, in this order."""

GIVEN = (
    "access", "buffer", "every", "high", "hosts", "leaves", "loss", "low", "packets", "runs", "seconds", "seed", "spines", "start",
    "target", "trunk", "xoff", "xon",
)  # fmt: skip
"""Columns of inputs, which in some tables are beside the index."""

SETTINGS = ["setting"]
"""The index of a table that lists the inputs of numbered settings."""

NAMING = ("flow", "link", "source", "priority")
"""Numeric columns that name a part of a run."""

COUNTING = ("sequence", "report", "event")
"""Columns that number the rows of a record, each of which has a time."""

MOST_CURVES, MOST_PANELS, MOST_ROWS, MOST_NAMES = 10, 12, 30, 4
MOST_MULTIPLES = 24
"""Number of panels where 12 would have more than 10 curves each."""
FEW_CURVES, FEW_SERIES = 6, 4
SERIES = 40
"""Number of points above which a series is drawn as a line without markers."""


class NoPictureError(ValueError):
    """A table has no column of results in one unit, and none was named."""


@dataclass(frozen=True)
class Plan:
    """The columns of the axes, and those that distinguish panels, curves and rows of points."""

    x: str | None
    y: str
    panels: tuple[str, ...]
    curves: tuple[str, ...]
    rows: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()

    @property
    def point(self) -> list[str]:
        """The columns that distinguish points."""
        return [*self.panels, *self.rows, *self.curves, *([self.x] if self.x else [])]


def plan(frame: pd.DataFrame, about: dict[str, Any], value: str | None = None) -> Plan:
    """Return the plan of a table's picture.

    Parameters
    ----------
    frame
        The table.
    about
        Its provenance: ``index`` and, by column, ``unit`` and ``meaning``.
    value
        The column of numbers beside the index that is drawn; None is the first of ``HEADLINES``, or any result.

    Raises
    ------
    NoPictureError
        Where no column is named and none is a result in one unit, or no number is beside the index.
    ValueError
        For a column that is not beside the index, or has no entry.
    """
    index = about["index"]
    numbers = set(frame.select_dtypes("number"))
    measured = [c for c in about["columns"] if c in numbers and c not in index]
    results = _results(frame, about, measured)
    likely = [c for c in HEADLINES if c in results]
    likely += [c for c in results if many(frame, c, 2)]
    counting = [c for c in COUNTING if c in index]
    timed = [c for c in measured if about["columns"][c]["unit"] == "s"]
    if counting:  # a record: against its time
        likely = [*(c for c in likely if c not in timed), *counting]
        measured += counting
    if not measured:
        raise NoPictureError("no picture of this table: no column beside its index has numbers")
    if value is None and not (likely or results):
        raise NoPictureError(
            f"no picture of this table: no column is a result in one unit (columns of numbers: {', '.join(measured)})"
        )
    y = choice("value", value or (likely or results)[0], measured)
    if frame[y].isna().all():
        raise ValueError(f"value = {y!r}: has no entry in this table")
    if counting:
        return Plan(timed[0], y, (), ("seed",))
    frame = frame[frame[y].notna()]
    varied = [c for c in index if c != "seed" and many(frame, c, 1)]
    pooled = tuple(c for c in varied if c in NAMING and many(frame, c, MOST_NAMES))
    behind = index[index.index("seed") + 1 :] if "seed" in index else []
    runs = [c for c in varied if c not in behind and c not in pooled]
    parts = [c for c in varied if c in behind and c not in pooled]
    if pooled:  # words name the kind of the flows
        words = [c for c in about["columns"] if c not in numbers and c not in index]
        parts += [c for c in words if many(frame, c, 1)]
        parts = _telling(frame, parts, runs)
    x = _axis(frame, [c for c in (*runs, *parts) if c in numbers and c not in NAMING])
    if x is not None:
        series = many(frame, x, SERIES)
        others = _telling(frame, [c for c in (*runs, *parts) if c != x], [x])
        panels, curves = _split(frame, others, parts, FEW_SERIES if series else FEW_CURVES)
        if _kinds(frame, curves) <= MOST_CURVES or many(frame, x, MOST_CURVES):
            return Plan(x, y, panels, curves, (), pooled)
    if not parts and len(runs) > 1 and not many(frame, runs[-1], FEW_CURVES):
        runs, parts = runs[:-1], runs[-1:]
    few = [c for c in runs if not many(frame, c, MOST_NAMES)]
    panels = tuple(few[:1] if _kinds(frame, runs) > MOST_ROWS else [])
    return Plan(None, y, panels, tuple(parts), tuple(c for c in runs if c not in panels), pooled)


def _results(frame: pd.DataFrame, about: dict[str, Any], measured: list[str]) -> list[str]:
    """Return the columns that may be drawn unasked: no names, counts or inputs, and in one unit."""
    if about["index"] == SETTINGS:
        return []
    known = [c for c in measured if about["columns"][c]["unit"] and frame[c].notna().any()]
    return [c for c in known if c not in (*NAMING, *COUNTING, *GIVEN)]


def many(frame: pd.DataFrame, column: str, most: int) -> bool:
    """Return whether a column has more than ``most`` different entries."""
    return bool(frame[column].nunique() > most)


def _kinds(frame: pd.DataFrame, columns: Collection[str]) -> int:
    return len(frame[list(columns)].drop_duplicates()) if columns else 1


def _telling(frame: pd.DataFrame, columns: list[str], beside: list[str]) -> list[str]:
    """Return the columns without those that are functions of the others."""
    kept = list(columns)
    for column in reversed(columns):
        rest = [c for c in kept if c != column]
        if _kinds(frame, [*beside, *rest]) == _kinds(frame, [*beside, *kept]):
            kept = rest
    return kept


def _axis(frame: pd.DataFrame, numbers: list[str]) -> str | None:
    """Return the x axis: position, time, or the varied number with most values, at least three."""
    counts = {column: frame[column].nunique() for column in numbers}
    for column, least in (("node", 5), ("time", 10)):
        if counts.get(column, 0) >= least:
            return column
    return max((c for c in numbers if counts[c] > 2), key=lambda c: counts[c], default=None)


def _split(
    frame: pd.DataFrame, columns: list[str], parts: list[str], few: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns for panels (rather not parts of a run) and for curves.

    The split minimizes the number of panels plus the number of curves in the fullest panel. Panels that would be too
    full become small multiples: up to `MOST_MULTIPLES` panels by up to three columns.
    """
    kinds = frame[columns].drop_duplicates() if columns else frame[:1]
    split = min(_splits(kinds, columns, parts, few, 2, MOST_PANELS))
    if split.panels and split.fullest > MOST_CURVES:
        multiples = _splits(kinds, columns, parts, few, 3, MOST_MULTIPLES)
        split = min((each for each in multiples if each.fullest <= MOST_CURVES), default=split)
    return split.panels, tuple(c for c in columns if c not in split.panels)


class _Split(NamedTuple):
    """Columns that distinguish panels, with what they cost and the curves of the fullest panel."""

    cost: int
    number: int
    panels: tuple[str, ...]
    fullest: int


def _splits(
    kinds: pd.DataFrame, columns: list[str], parts: list[str], few: int, most: int, panels: int
) -> list[_Split]:
    """Return the splits by at most ``most`` columns into at most ``panels`` panels."""
    choices = []
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(columns, n) for n in range(min(most + 1, len(columns) or 1))
    ):
        count = _kinds(kinds, chosen)
        fullest = int(kinds.groupby(list(chosen)).size().max()) if chosen else len(kinds)
        told = _kinds(kinds, [c for c in columns if c not in chosen])
        cost = max(fullest, few) + count + 2 * len(set(chosen) & set(parts))
        cost += max(0, told - MOST_CURVES)  # would be left out
        if count <= panels:
            choices.append(_Split(cost, count, chosen, fullest))
    return choices
