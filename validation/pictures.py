"""A plain picture of any case of the evidence library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopflow.checks import choice
from hopflow.results import figure
from validation.evidence import provenance, table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["draw"]

MOST_CURVES = 7
HEADLINES = (
    "efficiency",
    "throughput",
    "rate",
    "goodput",
    "utilisation",
    "transfer_time",
    "queued",
)


def draw(case: str, name: str | None = None, *, value: str | None = None, ax: Any = None) -> Any:
    """Draw one column of a case: points of every seed, lines through their means.

    The axis is the numeric index column with the most values, the curves are told apart by the
    other index columns; of many curves the first seven are shown.

    Parameters
    ----------
    case, name
        As for `validation.table`.
    value
        Which measured column; None is the first of ``HEADLINES`` that there is, or any.
    ax
        Matplotlib axes; None makes new ones.

    Returns
    -------
    The matplotlib Axes.
    """
    import pandas as pd

    frame = table(case, name)
    record = provenance(case)
    file = next(f for f in record["files"] if name in (None, f.split(".")[0]))
    about = record["files"][file]
    index = [column for column in about["index"] if column != "seed"]
    numeric = [column for column in index if pd.api.types.is_numeric_dtype(frame[column])]
    x = str(frame[numeric or index].nunique().idxmax())
    measured = [column for column in about["columns"] if column not in about["index"]]
    likely = [column for column in HEADLINES if column in measured]
    value = choice("value", value or (likely or measured)[0], measured)
    counts = frame[index].nunique()
    others = [column for column in index if column != x and counts[column] > 1]
    if ax is None:
        _, ax = figure()
    curves = frame.groupby(others, sort=False) if others else [((), frame)]
    for label, curve in list(curves)[:MOST_CURVES]:
        _curve(
            ax, curve, x, value, ", ".join(f"{a} {b}" for a, b in zip(others, label, strict=True))
        )
    spread = frame[x].max() / frame[x].min() if x in numeric and frame[x].min() > 0 else 1.0
    if spread > 100:
        ax.set_xscale("log")
    units = {column: about["columns"][column]["unit"] for column in (x, value)}
    ax.set(
        xlabel=f"{x} ({units[x]})" if units[x] else x,
        ylabel=f"{value} ({units[value]})" if units[value] else value,
        title=record["title"],
    )
    if others:
        ax.legend(fontsize=7)
    return ax


def _curve(ax: Any, curve: pd.DataFrame, x: str, value: str, label: str) -> None:
    means = curve.groupby(x)[value].mean()
    (line,) = ax.plot(means.index, means, lw=1.0, label=label)
    if len(curve) > len(means):
        ax.plot(curve[x], curve[value], ".", ms=3, alpha=0.5, color=line.get_color())
    elif len(means) < 60:
        line.set_marker(".")
