"""Links of unequal delays (D18)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import Fluid, Packets, Scenario, simulate, takano2006
from dfcmodel.results import Trajectory
from validation import evidence
from validation.checks import claim
from validation.claims.takano2006 import studies
from validation.claims.takano2006.studies import NEAR, Efficiencies
from validation.display.drawing import COLOURS, label, panels
from validation.judgements.keeping import kept
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Estimate, Values, combine, difference, everywhere

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

UNEQUAL = "takano2006/dfc-unequal-delays"
SPREADS = (1, 3, 10)
"""s: delays are s^u times the mean, u uniform in (-1, 1)."""
DIFFUSION, LITTLE = 0.1, 0.01
"""Values of D in the packet runs."""
LINKS = 29
END, SINCE = 0.6, 0.3
"""Simulated time, and from when on efficiencies are averaged, s."""
SEEDS = 8
"""Runs of hopflow's packet level, each with delays of its own: an absence of losses is certain from seven on."""


@dataclass(frozen=True)
class UnequalDelays:
    """The target's mean efficiency from `SINCE` on by spread: the fluid's run, ns-3's runs by D; packets lost by spread and run.

    ``background`` is the same of ns-3's background flow, ``unshaped`` the packets that ns-3 loses with hosts that send at the link rate, by
    spread. ``level`` and ``level_lost`` are those of hopflow's packet level, with the usual D.
    """

    fluid: dict[int, float]
    packets: dict[float, dict[int, Values]]
    background: dict[float, dict[int, Values]]
    lost: Sides[dict[int, Values]]
    unshaped: dict[int, float]
    level: dict[int, Values]
    level_lost: dict[int, Values]

    @property
    def cost(self) -> float:
        """Relative effect of one packet of difference on the rate of scenario 1's links."""
        link = takano2006("1").links[0]
        return DIFFUSION / link.delay / link.rate

    def mean(self, diffusion: float) -> dict[int, float]:
        """Return ns-3's means over the runs by spread."""
        return {s: float(runs.mean()) for s, runs in self.packets[diffusion].items()}

    def loss(self, diffusion: float, spread: int) -> float:
        """Return by how much the mean over ns-3's runs is lower than with equal delays."""
        means = self.mean(diffusion)
        return means[1] - means[spread]


def network(spread: float, seed: int) -> tuple[Scenario, int]:
    """Return scenario 1 over links of s^u times a mean of 0.1 ms, u uniform in (-1, 1), and the steps of the least delay.

    In eighths of 0.1 ms, so that every delay is a whole number of steps.
    """
    plain = takano2006("1")
    draw = spread ** np.random.default_rng(seed).uniform(-1.0, 1.0, len(plain.links))
    eighths = np.maximum(1, np.round(8 * draw / draw.mean()))
    links = [replace(link, delay=link.delay * float(part) / 8) for link, part in zip(plain.links, eighths, strict=True)]
    return replace(plain, links=tuple(links)), round(min(eighths))


@functools.cache
def unequal(spread: float, seed: int = 1) -> Trajectory:
    """Return a run of the fluid."""
    scenario, steps = network(spread, seed)
    return simulate(scenario, Fluid(steps), duration=END)


@kept
def packet_level(spread: float) -> tuple[Values, Values]:
    """Return the target's mean efficiency and the packets lost in each run of hopflow's packet level, both (runs,)."""
    found, lost = [], []
    for seed in range(1, SEEDS + 1):
        scenario, _ = network(spread, seed)
        run = simulate(scenario, Packets(), duration=END, jitter=20e-6, seed=seed, sample=1e-3)
        found.append(float(run.mean_efficiency(SINCE)[0]))
        lost.append(float(run.lost.sum()))
    return np.array(found), np.array(lost)


def packets(name: str, diffusion: float, host: str = "shaped") -> pd.DataFrame:
    """Return the rows of ns-3's runs with these hosts."""
    rows = evidence.frame(UNEQUAL, name)
    return rows[(rows["host"] == host) & (rows["diffusion"] == diffusion)]


def _settled(diffusion: float, flow: str) -> dict[int, Values]:
    """Return the mean efficiency of a flow from `SINCE` on in each of ns-3's runs, by spread."""
    rows = packets("efficiency", diffusion)
    return {s: Efficiencies.of_packets(rows[rows["spread"] == s]).after(SINCE, flow).mean for s in SPREADS}


@claim("D18", cases=(UNEQUAL,))
def measure() -> UnequalDelays:
    """Return the efficiencies over links of unequal delays, D_i = D / d_i, periods of one delay."""
    runs = {s: unequal(float(s)) for s in SPREADS}
    drops = packets("flows", DIFFUSION).groupby(["spread", "seed"])["dropped"].sum()
    unshaped = packets("flows", DIFFUSION, "unshaped").groupby("spread")["dropped"].sum()
    target, background = ({D: _settled(D, flow) for D in (DIFFUSION, LITTLE)} for flow in studies.FLOWS)
    own = {s: packet_level(float(s)) for s in SPREADS}
    return UnequalDelays(
        {s: float(run.mean_efficiency(SINCE)[0]) for s, run in runs.items()},
        target,
        background,
        Sides(
            {s: np.array([run.lost.sum()]) for s, run in runs.items()},
            {s: drops[s].to_numpy(float) for s in SPREADS},
        ),
        {int(str(s)): float(lost) for s, lost in unshaped.items()},
        {s: runs for s, (runs, _) in own.items()},
        {s: lost for s, (_, lost) in own.items()},
    )


measure.constants_of(studies)


@measure.judge
def judge(found: UnequalDelays, *, near: float = NEAR, level: float = LEVEL) -> Judgement:
    """Judge losses, and efficiencies against those of equal delays."""
    even = max(abs(found.fluid[s] - found.fluid[1]) for s in SPREADS) < near
    return {
        "lossless": found.lost.each(lambda lost: _lossless(lost, level)),
        "even": Sides(Verdict.of(even), _even(found.packets[DIFFUSION], near, level)),
    }


@measure.packet_level
def at_packet_level(found: UnequalDelays, *, near: float = NEAR, level: float = LEVEL) -> dict[str, Verdict]:
    """Judge the same at hopflow's packet level."""
    return {"lossless": _lossless(found.level_lost, level), "even": _even(found.level, near, level)}


def _lossless(lost: dict[int, Values], level: float) -> Verdict:
    """Judge whether nothing is lost at any spread of the delays."""
    return Verdict.all_of(studies.lossless(each, level) for each in lost.values())


def _even(runs: dict[int, Values], near: float, level: float) -> Verdict:
    """Judge whether the mean efficiencies are those of equal delays."""
    equal = studies.mean_of(runs[1])
    apart = [difference(studies.mean_of(runs[s]), equal) for s in SPREADS[1:]]
    limit = Estimate(near, 0.0)
    return everywhere((combine((limit, each), (1.0, sign)) for each in apart for sign in (1.0, -1.0)), level)


@measure.draw
def efficiencies(found: UnequalDelays) -> Figure:  # noqa: ARG001
    """Draw the target's efficiency over time, by spread."""
    fig, axes = panels(("fluid", "ns-3, mean of 5 runs"), height=3.6)
    rows = packets("efficiency", DIFFUSION)
    for s, colour in zip(SPREADS, COLOURS, strict=False):
        run = unequal(float(s)).efficiency.sel(flow="target")
        axes[0].plot(run.time, run, color=colour, lw=0.8, label=f"spread {s}")
        seen = Efficiencies.of_packets(rows[rows["spread"] == s])
        mean = seen.flows["target"].mean(axis=0)
        axes[1].plot(seen.time, mean, color=colour, lw=0.9, label=f"spread {s}")
    for ax in axes:
        label(ax, "time (s)", xlim=(0, 0.6), ylim=(0, 1.05))
    axes[0].set_ylabel("efficiency of the target")
    axes[0].legend(fontsize=8)
    return fig
