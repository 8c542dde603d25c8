"""With DFC the packets of scenario 4 are spread over the nodes (D11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.claims.takano2006 import queues, queues_without_dfc
from validation.claims.takano2006.queues import (
    BUFFER,
    DFC_CASE,
    READINGS,
    Runs,
    on_average,
    with_dfc,
)
from validation.claims.takano2006.studies import HOSTS, lossless, with_further_seeds
from validation.display.drawing import figure
from validation.judgements.verdicts import Judgement
from validation.statistics import LEVEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUND_TRIPS = 10.0
"""Round trips within which a recovery from congestion counts as rapid."""
LEFT = 0.1
"""Part of the most packets stored that is left when the chain has recovered."""
HALF = 0.5
"""Packets below the buffer from which a queue counts as full: the middle of two whole numbers of packets."""
SPREAD = 0.2
"""Share of all stored packets below which the largest queue counts as one of many."""


@dataclass(frozen=True)
class SpreadOut:
    """The queues of every run with DFC: in the default reading by host, shaped by reading."""

    hosts: dict[str, Runs]
    readings: dict[str, Runs]


@claim("D11", cases=with_further_seeds(DFC_CASE))
def measure() -> SpreadOut:
    """Return the queues with DFC."""
    others = [reading for reading in READINGS if READINGS[reading]]
    return SpreadOut(
        {host: with_dfc(host) for host in HOSTS},
        {reading: with_dfc("shaped", reading) for reading in others},
    )


measure.constants_of(queues, queues_without_dfc)


@measure.judge
def judge(
    found: SpreadOut,
    runs: Runs | None = None,
    *,
    spread: float = SPREAD,
    round_trips: float = ROUND_TRIPS,
    left: float = LEFT,
    level: float = LEVEL,
) -> Judgement:
    """Judge whether queues are spread, recover and hold everything, over the runs; ``runs``: None with shaped hosts."""
    runs = runs or found.hosts["shaped"]
    return {
        "spread": on_average(runs, lambda queues: queues.share_of_largest, spread, level),
        "fits": on_average(runs, lambda queues: queues.largest, BUFFER - HALF, level),
        "lossless": runs.each(lambda side: lossless(np.array([queues.lost for queues in side]), level)),
        "recovers": on_average(runs, lambda queues: queues.left_after(round_trips), left, level),
    }


@measure.readings
def readings(found: SpreadOut, **asked: float) -> dict[str, Judgement]:
    """Judge other hosts, and other readings with shaped ones."""
    hosts = {f"{host} hosts": found.hosts[host] for host in HOSTS if host != "shaped"}
    return {name: judge(found, runs, **asked) for name, runs in (hosts | found.readings).items()}


@measure.draw
def queues_over_nodes(found: SpreadOut) -> Figure:
    """Draw the queues over the nodes at three instants, by host, a run of each side."""
    fig, axes = figure(9.0, 3.4, ncols=3)
    for ax, (host, runs) in zip(axes, found.hosts.items(), strict=True):
        fluid, packets = runs.model[0], runs.packets[0]
        nodes = np.arange(1, len(fluid.stored) + 1)
        for n, instant in enumerate((0.11, 0.13, 0.15)):
            at = int(np.argmin(abs(fluid.time - instant)))
            (line,) = ax.plot(nodes, fluid.stored[:, at], lw=1.2, label=f"{1e3 * instant:.0f} ms")
            seen = int(np.argmin(abs(packets.time - instant)))
            style = {"color": line.get_color(), "marker": "os^"[n], "ms": 3, "ls": "none"}
            ax.plot(nodes, packets.stored[:, seen], **style)
        ax.set(xlabel="node", title=f"{host} hosts", ylim=(0, None))
    axes[0].set_ylabel("packets queued")
    axes[0].legend(fontsize=8)
    return fig
