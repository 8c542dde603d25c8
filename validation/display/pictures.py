"""A picture of any case of the evidence library: means over the seeds with their intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.intervals import t_quantile
from hopflow.results import COLOURS, figure
from hopflow.units import readable
from validation.display.picture_plans import MOST_CURVES, MOST_PANELS, SERIES, Plan, many, plan
from validation.evidence import full_name, provenance, table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ACRONYMS = ("bdp", "ecn", "rtt", "tcp", "udp")
LINES, MARKERS = ("-", "--"), ("o", "s")
ACROSS, SMALL_ACROSS = 3, 6
"""Panels side by side, and of small multiples."""
MAX_POINTS, MAX_BINS, MIN_IN_BIN = 400, 100, 10
"""Longest series drawn as it is; most bins of longer ones, and fewest points in a bin."""


def draw(case: str, name: str | None = None, *, value: str | None = None) -> Figure:
    """Draw one column of a case: means over the seeds with their 95 % intervals.

    Parameters
    ----------
    case, name
        As for `validation.table`.
    value
        Which column of numbers beside the index; None is the first of ``HEADLINES`` that there is, or any result.

    Returns
    -------
    The matplotlib Figure.

    Raises
    ------
    NoPictureError
        For a table without a result in one unit, where no column is named.
    ValueError
        For an unknown case, table or column.
    """
    case = full_name(case)
    frame = table(case, name)
    record = provenance(case)
    file = next(f for f in record["files"] if name in (None, f.split(".")[0]))
    about = record["files"][file]
    chosen = plan(frame, about, value)
    picture = _Picture(chosen, frame, _points(frame, chosen), about["columns"])
    return picture.draw(f"{case}: {record['title']}")


def _points(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Return mean, seeds and half width of the 95 % interval (Student's t) of every point."""
    known = frame[frame[plan.y].notna()].assign(mean=frame[plan.y], all="")
    runs = list(dict.fromkeys(["all", *plan.point, *(["seed"] if "seed" in frame else [])]))
    each = known.groupby(runs, sort=False)["mean"].mean().reset_index()
    points = each.groupby(["all", *plan.point])["mean"].agg(["mean", "count", "std"])
    points["half"] = t_quantile(points["count"] - 1.0) * points["std"] / points["count"] ** 0.5
    return points.reset_index()


@dataclass(frozen=True)
class _Picture:
    """The points of a plan as panels, in units in which their numbers are short."""

    plan: Plan
    frame: pd.DataFrame
    points: pd.DataFrame
    columns: dict[str, dict[str, str]]

    def draw(self, title: str) -> Figure:
        plan = self.plan
        panels, curves, rows = map(self.kinds, (plan.panels, plan.curves, plan.rows))
        thinned = np.linspace(0, len(curves) - 1, min(len(curves), MOST_CURVES))
        kept = [curves[n] for n in thinned.round().astype(int)]
        texts = [self.text(plan.curves, curve) for curve in kept]
        small = len(panels) > MOST_PANELS
        most = SMALL_ACROSS if small else ACROSS
        across = -(-len(panels) // -(-len(panels) // most))  # in equal rows
        down = -(-len(panels) // across)
        inner = 5.5 if across == 1 else (2.0 if small else 3.0) * across
        inner += max(0.0, 0.07 * max(len(self.text(plan.rows, row)) for row in rows) - 1.0)
        legend = 0.5 + 0.065 * max(map(len, [*texts, self.heading(plan.curves)]))
        height = 0.5 + 0.22 * len(rows) if plan.x is None else 3.2 if across == 1 else 1.8 if small else 2.4
        fig, grid = figure(
            inner + (legend if plan.curves else 0.0), 0.8 + height * down,
            nrows=down, ncols=across, sharex=True, sharey=True, squeeze=False,
        )  # fmt: skip
        drawn: dict[str, Any] = {}
        for ax, panel in zip(grid.flat, panels, strict=False):
            named = self.text(plan.panels, panel, named=True)
            ax.set_title(textwrap.fill(named, 26 if small else 38), fontsize=8 if small else 9)
            for n, (curve, text) in enumerate(zip(kept, texts, strict=True)):
                points = self.of((*plan.panels, *plan.curves), (*panel, *curve))
                if points.empty:
                    continue
                style = {
                    "color": COLOURS[n % len(COLOURS)],
                    "ls": LINES[n // len(COLOURS)],
                    "marker": MARKERS[n // len(COLOURS)],
                    "lw": 2.0 - n / len(kept),  # equal curves stay visible
                }
                if plan.x is not None:
                    drawn[text] = self.line(ax, points, style)
                else:
                    shift = 0.6 * ((n + 0.5) / len(kept) - 0.5)
                    drawn[text] = self.dots(ax, points, rows, shift, style)
        for ax in grid.flat[len(panels) :]:
            ax.set_visible(False)
        self.axes(grid, rows)
        if plan.curves:
            if len(curves) > len(kept):
                texts.append(f"and {len(curves) - len(kept)} more")
                drawn[texts[-1]] = grid[0, 0].plot([], [], " ")[0]
            fig.legend(
                [drawn[text] for text in texts], texts, loc="outside right upper", alignment="left",
                title=self.heading(plan.curves), fontsize=8, title_fontsize=8,
            )  # fmt: skip
        lines = (textwrap.fill(line, int(13 * inner)) for line in (title, self.how()))
        fig.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10)
        return fig

    def dots(
        self,
        ax: Any,
        points: pd.DataFrame,
        rows: Sequence[Any],
        shift: float,
        style: dict[str, Any],
    ) -> Any:
        """Draw points in their rows; return their legend handles."""
        place = {row: n + shift for n, row in enumerate(rows)}
        keys = points[list(self.plan.rows)].itertuples(index=False, name=None)
        at = [place[key] for key in keys] if self.plan.rows else [shift] * len(points)
        style |= {"ls": "", "ms": 4, "capsize": 2, "lw": 1.2}
        return ax.errorbar(points["mean"] / self.unit(self.plan.y)[0], at,
                           xerr=points["half"] / self.unit(self.plan.y)[0], **style)  # fmt: skip

    def line(self, ax: Any, points: pd.DataFrame, style: dict[str, Any]) -> Any:
        """Draw one curve; return its legend handle."""
        assert self.plan.x is not None
        points = points.sort_values(self.plan.x)
        at = points[self.plan.x] / self.unit(self.plan.x)[0]
        mean, half = (points[c] / self.unit(self.plan.y)[0] for c in ("mean", "half"))
        if len(points) <= SERIES:
            return ax.errorbar(at, mean, yerr=half, ms=4, capsize=2, **style)
        low, high = mean - half, mean + half
        if self.bins:
            bins = np.minimum(np.floor(at / at.max() * self.bins), self.bins - 1)
            binned = mean.groupby(bins)
            at, mean, low, high = at.groupby(bins).mean(), binned.mean(), binned.min(), binned.max()
        style |= {"marker": ""}
        ax.fill_between(at, low, high, color=style["color"], alpha=0.2, lw=0)
        return ax.plot(at, mean, **style)[0]

    def axes(self, grid: Any, rows: Sequence[Any]) -> None:
        """Name and scale the axes."""
        plan, first = self.plan, grid[0, 0]
        means = self.points["mean"] / self.unit(plan.y)[0]
        if plan.x is None:
            first.set_yticks(range(len(rows)), [self.text(plan.rows, row) for row in rows])
            first.set_ylim(len(rows) - 0.4, -0.6)
            first.set_ylabel(self.heading(plan.rows))
            for ax in grid.flat:
                ax.grid(axis="y", lw=0.4)
        else:
            _scale(first, "x", self.points[plan.x] / self.unit(plan.x)[0], even=True)
        for ax in grid[-1]:
            ax.set_xlabel(self.label(plan.x or plan.y))
        for ax in grid[:, 0] if plan.x else ():
            ax.set_ylabel(self.label(plan.y))
        measured = "y" if plan.x else "x"
        if plan.x is None or not many(self.frame, plan.x, SERIES):
            _scale(first, measured, means, even=False)
        log = getattr(first, f"get_{measured}scale")() == "log"
        if not log and 0 <= means.min() < 0.6 * means.max():
            first.set(**{f"{measured}lim": (0.0, None)})

    @property
    def bins(self) -> int:
        """The number of bins of long series; 0: series are drawn as they are."""
        count = self.frame[self.plan.x].nunique() if self.plan.x else 0
        return min(MAX_BINS, count // MIN_IN_BIN) if count > MAX_POINTS else 0

    def kinds(self, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        """Return the combinations of entries, numbers by size, words as in the table."""
        if not columns:
            return [()]
        kinds = self.points[list(columns)].drop_duplicates()
        for column in kinds.select_dtypes(exclude="number"):
            rank = {entry: n for n, entry in enumerate(self.frame[column].unique())}
            kinds = kinds.assign(**{f"{column} ": kinds[column].map(rank)})
        by = [c if c in kinds.select_dtypes("number") else f"{c} " for c in columns]
        kinds = kinds.sort_values(by)[list(columns)]
        return list(kinds.itertuples(index=False, name=None))

    def of(self, columns: tuple[str, ...], entries: tuple[Any, ...]) -> pd.DataFrame:
        points = self.points
        for column, entry in zip(columns, entries, strict=True):
            points = points[points[column] == entry]
        return points

    def unit(self, column: str) -> tuple[float, str]:
        entries = self.points["mean" if column == self.plan.y else column]
        return readable(self.columns[column]["unit"], float(entries.abs().max()))

    def name(self, column: str) -> str:
        named = column == "value" and "parameter" in self.frame
        if named and not many(self.frame, "parameter", 1):
            return str(self.frame["parameter"].iloc[0])
        words = column.removesuffix("_bits").split("_")
        return " ".join(word.upper() if word in ACRONYMS else word for word in words)

    def label(self, column: str) -> str:
        unit, meaning = self.unit(column)[1], self.columns[column]["meaning"]
        name = self.name(column)
        said = unit or (meaning if len(meaning) <= 30 else "")
        return f"{name} ({said})" if said and said not in name.split() else name

    def heading(self, columns: tuple[str, ...]) -> str:
        return ", ".join(map(self.name, columns))

    def text(self, columns: tuple[str, ...], entries: tuple[Any, ...], named: bool = False) -> str:
        """Return the label of a curve, row or panel, numbers with their unit."""
        texts = []
        for column, entry in zip(columns, entries, strict=True):
            said = str(entry)
            if not isinstance(entry, str):
                scale, unit = readable(self.columns[column]["unit"], abs(entry))
                said = f"{entry / scale:g} {unit}".strip()
            texts.append(f"{self.name(column)} {said}" if named else said)
        return ", ".join(texts)

    def how(self) -> str:
        """Return the meaning of a point, for the title."""
        low, high = self.points["count"].min(), self.points["count"].max()
        seeds = f"{low} to {high}" if low < high else f"{high}"
        alone = "one run each" if "seed" in self.frame else "entries of the table"
        texts = [f"mean of {seeds} seeds with 95 % interval" if high > 1 else alone]
        if self.bins:
            texts = [texts[0].removesuffix(" with 95 % interval")]
            texts += [f"mean and range in {self.bins} bins"]
        texts += [f"mean over the {column}s of a run" for column in self.plan.pooled]
        if empty := self.frame[self.plan.y].isna().mean():
            texts.append(f"without {100 * empty:.2g} % of the rows, which are empty")
        return ", ".join(texts)


def _scale(ax: Any, axis: str, values: pd.Series[float], *, even: bool) -> None:
    """Make an axis logarithmic where values span decades; ``even``: where that spaces them evenly."""
    at = np.unique(values)
    above = at[at > 0]
    log = False
    if at[0] >= 0 and even and len(above) > 2 and above[-1] >= 10 * above[0]:
        gaps = (np.diff(above), np.diff(np.log(above)))
        log = np.std(gaps[1]) / np.mean(gaps[1]) < np.std(gaps[0]) / np.mean(gaps[0])
    elif at[0] >= 0 and not even and len(above):
        low, high = np.quantile(values[values > 0], [0.1, 0.9])
        log = bool(high > 30 * low)
    if log:
        symlog = {"linthresh": above[0]} if at[0] == 0 else {}
        getattr(ax, f"set_{axis}scale")("symlog" if symlog else "log", **symlog)
        if even and len(at) <= 8 and above[-1] < 1000 * above[0]:
            getattr(ax, f"set_{axis}ticks")(at, [f"{value:g}" for value in at])
            getattr(ax, f"set_{axis}ticks")([], minor=True)
    elif even and np.all(at == np.round(at)):
        ax.locator_params(axis, integer=True)
