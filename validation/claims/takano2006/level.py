"""Scenarios of takano2006 at hopflow's packet level: those whose links carry few packets a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import Packets, simulate, takano2006
from responsefn import NS2Vegas
from validation.claims.takano2006.studies import PACKET_JITTER, SETTLED, SPREAD, START, Efficiencies
from validation.claims.takano2006.vegas_runs import END, LARGE_BUFFER, VegasRuns
from validation.judgements.keeping import kept
from validation.statistics import Swing, Values

SCENARIOS = ("1", "2")
"""Those of a second of CPU time a run; 37 Gb/s takes twenty."""
RUNS = 8
"""Runs with DFC, and without."""
SAMPLE = 0.01
START_JITTER = 20e-6
"""Latest start of a flow in s, as in the bundled runs of ns-3."""
CONVENTIONS = ("standard", "ns2")
AGAIN = ("1",)
"""Scenarios run with both conventions of `Packets`, without DFC, `MORE` runs each."""
MORE = 16
"""As many runs as ns-2 has of varied starts."""


@kept
def efficiencies(name: str, dfc: bool) -> Efficiencies:
    """Return the efficiencies of a scenario in its default reading, as random as the other levels' runs."""
    scenario = takano2006(name, dfc=dfc)
    jitter, packets = (START_JITTER, 0.0) if dfc else (SPREAD, PACKET_JITTER)
    runs = [
        simulate(scenario, Packets(), jitter=jitter, packet_jitter=packets, seed=seed, sample=SAMPLE)
        for seed in range(RUNS)
    ]
    each = np.array([run.efficiency.to_numpy() for run in runs])
    flows = {flow.name: each[:, f] for f, flow in enumerate(scenario.flows)}
    return Efficiencies(runs[0].time, flows)


def swings_of(name: str) -> tuple[Swing, Swing] | None:
    """Return the target's means and swings with DFC and without; None: the scenario is not run."""
    if name not in SCENARIOS:
        return None
    return efficiencies(name, True).after(SETTLED), efficiencies(name, False).after(START)


@kept
def _means(name: str, convention: str) -> tuple[float, ...]:
    """Return the target's mean efficiencies without DFC, by run; ns-2's draws come from its own seed."""
    scenario = takano2006(name, dfc=False)
    runs = (
        simulate(
            scenario, Packets(seed=n + 1, convention=convention), jitter=SPREAD,
            packet_jitter=PACKET_JITTER, seed=n, sample=SAMPLE,
        )
        for n in range(MORE)
    )  # fmt: skip
    return tuple(float(run.efficiency.to_numpy()[0, run.time > START].mean()) for run in runs)


def by_convention(name: str) -> dict[str, Values]:
    """Return the target's mean efficiencies without DFC, (runs,), by convention; empty: not run."""
    return {c: np.array(_means(name, c)) for c in CONVENTIONS if name in AGAIN}


@kept
def vegas(side: str, pacing: bool, times: int = 1, buffer: int = LARGE_BUFFER) -> VegasRuns:
    """Return runs of scenario 4V or 4V', with a multiple of Vegas' thresholds, as random as ns-3's.

    Spaced packets are an experiment beside the verdicts: one run has them.
    """
    scenario = takano2006("4V" if buffer == LARGE_BUFFER else "4V'", dfc=side == "with DFC")
    rule = NS2Vegas(alpha=times, beta=3.0 * times, gamma=times)
    flows = tuple(replace(flow, source=rule, pacing=pacing) for flow in scenario.flows)
    scenario = replace(scenario, flows=flows)
    runs = [
        simulate(scenario, Packets(), jitter=START_JITTER, seed=seed, duration=END)
        for seed in range(1 if pacing else RUNS)
    ]
    settled = runs[0].time > SETTLED
    return VegasRuns(
        np.array([run.efficiency.to_numpy()[0, settled] for run in runs]), np.array([run.lost.sum() for run in runs])
    )
