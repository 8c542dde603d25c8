"""The spreading of the packets of one loaded node, the bar of Fig. 3 (D03)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.theory.equations import drift_coefficients
from dfcmodel.theory.law import bare_law
from validation.checks import claim
from validation.claims.takano2006.studies import all_seeds, with_further_seeds
from validation.display.drawing import COLOURS, figure, label
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Values, below, bounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOADED = "takano2006/loaded-node"
PERIODS = 1200
D, DELAY, HOT = 0.1, 1e-4, 1500
FAST, SLOW = 37000e6, 12300e6  # bit/s
LINE = 0.05
"""Of the last variance: three packets of 1500 at five standard deviations."""
NORMAL = 0.01
"""Distance of a distribution to the normal one after `PERIODS`: skewness falls as 1/sqrt."""
TITLES = {"prescribed": "r prescribed: eq. (7)", "fed back": "r fed back: eq. (5)"}


class Spread(NamedTuple):
    """Packets around the loaded node: runs R, times T, distances X."""

    time: Values  # (T,) in periods
    distance: Values  # (X,)
    packets: Values  # (R, T, X)

    @property
    def mean(self) -> Values:
        """Mean distance, (R, T)."""
        mean: Values = self.packets @ self.distance / self.packets.sum(axis=2)
        return mean

    @property
    def variance(self) -> Values:
        """Variance of the distance, (R, T)."""
        square = self.packets @ self.distance**2 / self.packets.sum(axis=2)
        variance: Values = square - self.mean**2
        return variance

    @property
    def drift(self) -> float:
        """Nodes per period, least squares over runs and times."""
        return float(np.polyfit(self.time, self.mean.mean(axis=0), 1)[0])

    @property
    def growth(self) -> float:
        """Growth of the variance per period."""
        return float(np.polyfit(self.time, self.variance.mean(axis=0), 1)[0])

    @property
    def off_line(self) -> float:
        """Largest distance of the variance from a straight line, over the last variance."""
        variance = self.variance.mean(axis=0)
        line = np.polyval(np.polyfit(self.time, variance, 1), self.time)
        return float(np.abs(variance - line).max() / variance[-1])

    @property
    def residuals(self) -> Values:
        """Distance of each run's variance from its straight line, over the last mean variance, (R, T)."""
        lines = np.array([np.polyval(np.polyfit(self.time, each, 1), self.time) for each in self.variance])
        residuals: Values = (self.variance - lines) / self.variance[:, -1].mean()
        return residuals

    @property
    def distances(self) -> Values:
        """Largest distance of the last distribution to the normal one, (R,)."""
        from scipy.stats import norm

        part = self.packets[:, -1] / self.packets[:, -1].sum(axis=1, keepdims=True)
        mean, width = self.mean[:, -1:], np.sqrt(self.variance[:, -1:])
        largest: Values = np.abs(part.cumsum(axis=1) - norm.cdf(self.distance + 0.5, mean, width)).max(axis=1)
        return largest

    @property
    def off_normal(self) -> float:
        """The largest of these distances."""
        return float(self.distances.max())

    @property
    def periods(self) -> float:
        """The last time, in periods."""
        return float(self.time[-1])


@dataclass(frozen=True)
class LoadedNode:
    """By mode, the spread of the load: in the law and in ns-3; at lower speed, and alone, in ns-3.

    ``theory`` is drift and growth per period by the differential equation of the mode.
    """

    spreads: dict[str, Sides[Spread]]
    slow: dict[str, Spread]
    alone: Spread
    theory: dict[str, tuple[float, float]]

    def near(self, spread: Spread, normal: float = NORMAL) -> float:
        """Return the allowed distance to the normal distribution at the end of a spread; ``normal``: at the end of the law's run."""
        return normal * math.sqrt(self.spreads["prescribed"].model.periods / spread.periods)


@functools.cache
def law(mode: str) -> Spread:
    """Return the spread by the bare law, with r fed back on an idle chain, or prescribed, zero."""
    nodes = 401
    hot = np.zeros(nodes)
    hot[nodes // 2] = 1000.0
    rate = np.zeros(nodes) if mode == "prescribed" else None
    history = bare_law(hot, D, PERIODS, rate=rate, before=0.0)
    every = np.arange(PERIODS // 24, PERIODS + 1, PERIODS // 24)
    return Spread(every.astype(float), np.arange(float(nodes)) - nodes // 2, history[every][None])


def packets(mode: str, link_rate: float = FAST) -> Spread:
    """Return the spread in ns-3: queues less those of the same run without the load."""
    rows = all_seeds(LOADED, "nodes")
    rows = rows[(rows["mode"] == mode) & (rows["link_rate"] == link_rate)]
    keys: dict[str, Any] = {"index": ["seed", "time"], "columns": "distance", "values": "waiting"}
    counts = rows[rows["hot"] > 0].pivot_table(**keys)
    if (rows["hot"] == 0).any():
        counts = counts - rows[rows["hot"] == 0].pivot_table(**keys)
    times = counts.index.get_level_values("time").unique().to_numpy() / DELAY
    x = counts.columns.to_numpy(dtype=float)
    return Spread(times, x, counts.to_numpy(dtype=float).reshape(-1, len(times), len(x)))


@claim("D03", cases=with_further_seeds(LOADED))
def measure() -> LoadedNode:
    """Follow the packets of one loaded node, r prescribed and fed back: the bare law, and ns-3."""
    limit = drift_coefficients(D)
    return LoadedNode(
        {mode: Sides(law(mode), packets(mode)) for mode in TITLES},
        {mode: packets(mode, SLOW) for mode in TITLES},
        packets("alone"),
        {"prescribed": (0.0, 2 * D), "fed back": (limit.speed, 2 * limit.spread)},
    )


@measure.judge
def judge(found: LoadedNode, *, normal: float = NORMAL, line: float = LINE, level: float = LEVEL) -> Judgement:
    """Judge whether the packets become normally distributed, their variance linear in time, by intervals over the runs."""

    def spreads(spread: Spread) -> Verdict:
        near = below(bounds(spread.distances, level), found.near(spread, normal))
        ends = [bounds(each, level) for each in spread.residuals.T]
        straight = Verdict.of(
            all(-line < low and high < line for low, high in ends),
            any(low >= line or high <= -line for low, high in ends),
        )
        return Verdict.all_of((near, straight))

    given, fed_back = found.spreads["prescribed"], found.spreads["fed back"]
    return {
        "prescribed": given.each(spreads),
        "fed back": Sides(
            spreads(fed_back.model),
            Verdict.all_of((spreads(fed_back.packets), spreads(found.alone))),
        ),
    }


@measure.draw
def bells(found: LoadedNode) -> Figure:
    """Draw the packets over the nodes at three times, by mode."""
    fig, axes = figure(width=8.0, ncols=2)
    for ax, (mode, (model, seen)) in zip(axes, found.spreads.items(), strict=True):
        many = seen.packets.mean(axis=0)
        for k, colour in zip((0, 2, 5), COLOURS, strict=False):
            now = int(seen.time[k])
            line = model.packets[0, int(now / model.time[0]) - 1]
            ax.plot(seen.distance, many[k], ".", ms=4, color=colour, label=f"{now} periods")
            ax.plot(model.distance, many[k].sum() / line.sum() * line, color=colour, lw=0.8)
        label(ax, "nodes from the loaded one", xlim=(-25, 45), title=TITLES[mode])
    axes[0].set_ylabel(f"packets of {HOT} that wait")
    axes[0].legend(fontsize=8)
    return fig
