"""D03: what becomes of the packets of one loaded node, the bar of Fig. 3."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from dfcmodel.equations import drift_coefficients
from dfcmodel.law import bare_law

from hopflow.results import COLOURS, figure
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

LOADED = "takano2006/loaded-node"
PERIODS = 1200
D, DELAY = 0.1, 1e-4
FAST, SLOW = 37000e6, 12300e6  # bit/s
LINE = 0.05  # of the last variance: a line may miss it by that, see the tolerance
TITLES = {"prescribed": "r prescribed: eq. (7)", "fed back": "r fed back: eq. (5)"}


class Spread(NamedTuple):
    """Packets around the loaded node: runs R, times T, distances X."""

    time: NDArray[np.float64]  # (T,) in periods
    distance: NDArray[np.float64]  # (X,)
    packets: NDArray[np.float64]  # (R, T, X)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean distance, (R, T)."""
        mean: NDArray[np.float64] = self.packets @ self.distance / self.packets.sum(axis=2)
        return mean

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance of the distance, (R, T)."""
        square = self.packets @ self.distance**2 / self.packets.sum(axis=2)
        variance: NDArray[np.float64] = square - self.mean**2
        return variance

    @property
    def drift(self) -> float:
        """Nodes per period, least squares over runs and times."""
        return float(np.polyfit(self.time, self.mean.mean(axis=0), 1)[0])

    @property
    def growth(self) -> float:
        """Of the variance per period."""
        return float(np.polyfit(self.time, self.variance.mean(axis=0), 1)[0])

    @property
    def off_line(self) -> float:
        """Largest distance of the variance from a straight line, over the last variance."""
        variance = self.variance.mean(axis=0)
        line = np.polyval(np.polyfit(self.time, variance, 1), self.time)
        return float(np.abs(variance - line).max() / variance[-1])

    @property
    def off_normal(self) -> float:
        """Largest distance of the last distribution to the normal one, over all runs."""
        from scipy.stats import norm

        part = self.packets[:, -1] / self.packets[:, -1].sum(axis=1, keepdims=True)
        mean, width = self.mean[:, -1:], np.sqrt(self.variance[:, -1:])
        return float(np.abs(part.cumsum(axis=1) - norm.cdf(self.distance + 0.5, mean, width)).max())

    def spreads(self, normal: float) -> bool:
        """Whether it is as near as that to a normal distribution, and its variance to a line."""
        return self.off_normal < normal and self.off_line < LINE


@functools.cache
def law(mode: str) -> Spread:
    """Return what the bare law does, with r fed back on an idle chain, or prescribed, zero."""
    nodes = 401
    hot = np.zeros(nodes)
    hot[nodes // 2] = 1000.0
    rate = np.zeros(nodes) if mode == "prescribed" else None
    history = bare_law(hot, D, PERIODS, rate=rate, before=0.0)
    every = np.arange(PERIODS // 24, PERIODS + 1, PERIODS // 24)
    return Spread(every.astype(float), np.arange(float(nodes)) - nodes // 2, history[every][None])


@functools.cache
def packets(mode: str, link_rate: float = FAST) -> Spread:
    """Return what ns-3 found: packets waiting beyond those of the same run without the load."""
    rows = table(LOADED, "nodes")
    rows = rows[(rows["mode"] == mode) & (rows["link_rate"] == link_rate)]
    keys: dict[str, Any] = {"index": ["seed", "time"], "columns": "distance", "values": "waiting"}
    counts = rows[rows["hot"] > 0].pivot_table(**keys)
    if (rows["hot"] == 0).any():
        counts = counts - rows[rows["hot"] == 0].pivot_table(**keys)
    times = counts.index.get_level_values("time").unique().to_numpy() / DELAY
    x = counts.columns.to_numpy(dtype=float)
    return Spread(times, x, counts.to_numpy(dtype=float).reshape(-1, len(times), len(x)))


@claim("D03")
def one_loaded_node_spreads() -> Finding:
    """Follow the packets of one loaded node, r prescribed and fed back: the bare law, and ns-3."""
    limit = drift_coefficients(D)
    theory = {"prescribed": (0.0, 2 * D), "fed back": (limit.speed, 2 * limit.spread)}
    near = {"law": 0.01, "ns-3": 0.01 * np.sqrt(PERIODS / packets("alone").time[-1])}

    def draw() -> Figure:
        fig, axes = figure(width=8.0, ncols=2)
        for ax, mode in zip(axes, TITLES, strict=True):
            found = packets(mode)
            many = found.packets.mean(axis=0)
            for k, colour in zip((0, 2, 5), COLOURS, strict=False):
                now = int(found.time[k])
                model = law(mode).packets[0, int(now / law(mode).time[0]) - 1]
                ax.plot(found.distance, many[k], ".", ms=4, color=colour, label=f"{now} periods")
                scale = many[k].sum() / model.sum()
                ax.plot(law(mode).distance, scale * model, color=colour, lw=0.8)
            ax.set(xlim=(-25, 45), xlabel="nodes from the loaded one", title=TITLES[mode])
        axes[0].set_ylabel("packets of 1500 that wait")
        axes[0].legend(fontsize=8)
        return fig

    def rows(mode: str) -> tuple[Number, ...]:
        model, fast, slow = law(mode), packets(mode), packets(mode, SLOW)
        alone = f"; alone {packets('alone').growth:.4f}" if mode == "fed back" else ""
        drift, growth = theory[mode]
        return (
            Number(
                f"drift, links per period, {mode}",
                f"{model.drift:.5f}",
                f"{fast.drift:.4f}",
                "none",
                f"theory {drift:.5f}",
            ),
            Number(
                f"growth of the variance per period, {mode}",
                f"{model.growth:.5f}",
                f"{fast.growth:.4f}{alone}; at 12.3 Gb/s {slow.growth:.4f}",
                "linear",
                f"theory {growth:.5f}",
            ),
            Number(
                f"distance of the variance from a line, {mode}",
                f"{model.off_line:.4f}",
                f"{fast.off_line:.4f}",
                "linear",
                f"{LINE}: three packets of 1500 at five standard deviations",
            ),
            Number(
                f"distance to the normal distribution, {mode}",
                f"{model.off_normal:.4f} after {model.time[-1]:.0f} periods",
                f"{fast.off_normal:.4f} after {fast.time[-1]:.0f}",
                "normal",
                f"{near['law']:g} and {near['ns-3']:g}: the skewness falls as 1/sqrt(periods)",
            ),
        )

    walks = packets("fed back")
    return Finding(
        parts=(
            Part(
                "with a given r the packets become normally distributed, variance linear in time",
                Verdict.of(law("prescribed").spreads(near["law"])),
                Verdict.of(packets("prescribed").spreads(near["ns-3"])),
            ),
            Part(
                "so they do with r fed back by eq. (5)",
                Verdict.of(law("fed back").spreads(near["law"])),
                Verdict.of(
                    all(packets(mode).spreads(near["ns-3"]) for mode in ("fed back", "alone"))
                ),
            ),
        ),
        summary=(
            "Normal and with a variance that grows linearly, as in the heated bar, in the law and in "
            "whole packets; but with the rates fed back the packets move: "
            f"{law('fed back').drift:.4f} links per period downstream ({walks.drift:.4f} in ns-3), "
            f"and their variance grows by {law('fed back').growth:.4f} ({walks.growth:.4f}) per "
            f"period, not by 2 D = {2 * D}."
        ),
        explanation=(
            "Heat spreads both ways. Packets only go downstream: on an idle chain every node sends "
            "the fraction D of what it holds, whatever the next one holds, because the next one "
            "tells the rate that its own packets give it. Mean and variance of such a walk grow by "
            "D/(1+D) and D(1-D)/(1+D)^3. Where nothing flows out the packets pile up before the end "
            "and do not become uniform. With a given r whole packets spread less at lower speeds "
            "with fewer of them: a difference below one packet moves none."
        ),
        numbers=(*rows("prescribed"), *rows("fed back")),
        pictures=(
            Picture(
                draw,
                "One node loaded with 1500 packets more than the others, D = 0.1, 37 Gb/s, other "
                "traffic at half of the link rate. Dots: ns-3, mean of five runs; lines: the law.",
                "with r prescribed the packets spread to both sides of the loaded node; with r fed "
                "back a narrower bell moves downstream; dots lie on the lines",
            ),
        ),
        cases=(LOADED,),
    )
