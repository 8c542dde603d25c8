"""takano2006's chain at hopflow's packet level, its hosts as the paper describes them.

With DFC hosts are shaped to r_0 (eq. 9), without it they have a link of their own to the first node. The rates of
all links are then equal, so that a packet arrives at a busy node at the very instant at which another one leaves:
whichever event is first decides which flow a full queue drops. The runs therefore vary the order of such events
(the conventions of `Packets`), and the clocks of the links.

``python -m validation.networks.own_links scenario 1 dfc 0 clocks 0.0001 convention standard seed 1`` prints one run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import Packets, Scenario, simulate, takano2006
from hopflow.checks import choice

__all__ = ["CLOCKS", "KINDS", "SCENARIOS", "lines", "runs", "scenario_of"]

SCENARIOS = ("1", "2", "3", "4", "4S", "4L", "4R", "4N", "5", "6")
CLOCKS = 1e-4
"""Tolerance of the clock of a link: 100 ppm, as IEEE 802.3 allows for its transmitters."""
KINDS: Mapping[str, tuple[float, str]] = {
    "departures first": (0.0, "standard"),
    "as in ns-2": (0.0, "ns2"),
    "clocks": (CLOCKS, "standard"),
}
"""Tolerance of the clocks and convention of the packet level, by what decides between simultaneous events."""
SEEDS = 8
"""Runs without DFC of each kind."""
DFC_SEEDS, DFC_DURATION = 3, 0.5
"""Runs with DFC, which hardly differ, and their duration in s, as in ns-3."""
START, SPREAD, PACKET_JITTER, DFC_JITTER = 0.1, 1e-3, 20e-6, 20e-6
"""Start of the background flow, and the random times of the other runs of these scenarios, s."""
SAMPLE = 0.01
MERGE = {"4S": 8, "4L": 30}
"""Node at which the background flow enters; 15 in the other scenarios."""


def runs() -> Iterator[dict[str, Any]]:
    """Yield the settings of all runs.

    Examples
    --------
    >>> from validation.networks.own_links import runs
    >>> len(list(runs()))
    300
    """
    for name in SCENARIOS:
        for clocks, convention in KINDS.values():
            for dfc, most in ((0, SEEDS), (1, DFC_SEEDS)):
                if dfc and convention == "ns2":
                    continue
                for seed in range(1, most + 1):
                    yield {
                        "scenario": name, "dfc": dfc, "clocks": clocks,
                        "convention": convention, "seed": seed,
                    }  # fmt: skip


def scenario_of(name: str, dfc: bool, clocks: float, seed: int) -> Scenario:
    """Return a scenario whose link rates differ from the paper's by a uniform random part.

    Parameters
    ----------
    name
        One of `SCENARIOS`.
    dfc
        With it hosts are shaped, without it they have a link of their own.
    clocks
        Largest relative difference of the rate of a link.
    seed
        Of these differences.

    Examples
    --------
    >>> from validation.networks.own_links import scenario_of
    >>> one = scenario_of("1", False, 1e-4, seed=1)
    >>> len({link.rate for link in one.links}), one.flows[0].host
    (29, 'unshaped')
    """
    choice("name", name, SCENARIOS)
    scenario = takano2006(name, dfc=dfc, host="shaped" if dfc else "unshaped")
    rng = np.random.default_rng(seed)
    links = tuple(replace(link, rate=link.rate * (1.0 + clocks * rng.uniform(-1.0, 1.0))) for link in scenario.links)
    return replace(scenario, links=links)


def lines(words: Mapping[str, Any]) -> Iterator[str]:
    """Yield the efficiencies of a run in every bin, then the losses of each flow, separated by commas.

    Losses: all; those at node 1; those at the node where the background flow enters; and of these, those in the
    first 50 ms in which there are any.
    """
    name, dfc, seed = str(words["scenario"]), bool(int(words["dfc"])), int(words["seed"])
    scenario = scenario_of(name, dfc, float(words["clocks"]), seed)
    convention: Any = words["convention"]
    run = simulate(
        scenario,
        Packets(convention=convention, seed=seed),
        jitter=DFC_JITTER if dfc else SPREAD,
        packet_jitter=0.0 if dfc else PACKET_JITTER,
        seed=seed,
        sample=SAMPLE,
        duration=DFC_DURATION if dfc else None,
    )
    efficiency, lost = run.efficiency.to_numpy(), np.asarray(run.lost)
    at = MERGE.get(name, 15) - 1
    times = np.flatnonzero(lost[:, at].sum(axis=0))
    first = slice(times[0], times[0] + round(0.05 / SAMPLE)) if len(times) else slice(0)
    for f, flow in enumerate(scenario.flows):
        for time, value in zip(np.asarray(run.time), efficiency[f], strict=True):
            yield f"efficiency,{flow.name},{time:.6g},{value:.5f}"
    for f, flow in enumerate(scenario.flows):
        own = (lost[f].sum(), lost[f, 0].sum(), lost[f, at].sum(), lost[f, at, first].sum())
        mean = efficiency[f, np.asarray(run.time) > START].mean()
        yield f"flows,{flow.name},{mean:.6f}," + ",".join(f"{number:.0f}" for number in own)


if __name__ == "__main__":
    keys, values = sys.argv[1::2], sys.argv[2::2]
    sys.stdout.write("\n".join(lines(dict(zip(keys, values, strict=True)))) + "\n")
