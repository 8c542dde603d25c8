"""Without DFC the packets of scenario 4 are stored at node 15 (D10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from validation.checks import claim
from validation.claims.takano2006 import queues, studies
from validation.claims.takano2006.queues import (
    BUFFER,
    FIFO,
    MERGE,
    Queues,
    Runs,
    at_packet_level,
    without_dfc,
)
from validation.display.drawing import BLUE, label, panels
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, mostly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = 0.95
"""Share of all stored packets above which they count as being at one node."""
MAJORITY = 0.5
"""Part of the target's losses above which most of them are at a node."""
EMPTY = 0.01
"""Part of the buffer below which a queue has drained."""


@dataclass(frozen=True)
class AtNode15:
    """The queues of every run without DFC, and of those at hopflow's packet level."""

    runs: Runs
    level: list[Queues]

    @property
    def late(self) -> list[float]:
        """Packets at node 15 at the end of ns-2's runs."""
        return [float(queues.stored[MERGE, -1]) for queues in self.runs.packets]

    @property
    def apart(self) -> list[float]:
        """Shares of node 1 in what is stored after 0.1 s, of the packet level's runs with more than allowed elsewhere."""
        return [run.share_of(0) for run in self.level if run.share_of_merge <= ALONE]


@claim("D10", cases=(FIFO,))
def measure() -> AtNode15:
    """Return the queues without DFC."""
    return AtNode15(without_dfc(), at_packet_level())


measure.constants_of(studies, queues)


@measure.judge
def judge(
    found: AtNode15,
    *,
    empty: float = EMPTY,
    alone: float = ALONE,
    most: float = MAJORITY,
    level: float = LEVEL,
) -> Judgement:
    """Judge whether the statements hold in most packet runs, and in each of the few of the fluid."""
    fluid, packets = found.runs
    full = BUFFER - 1  # ns-2's queue does not count the packet in service
    statements: dict[str, Callable[[Queues], bool]] = {
        "at_node_15": lambda queues: queues.share_of_merge > alone,
        "overflows": lambda queues: queues.peak_of_merge >= full and queues.dropped[MERGE] > 0,
        "drains": lambda queues: queues.left < empty * BUFFER,
        "cause": lambda queues: queues.lost_at_merge > most,
    }
    return {
        key: Sides(Verdict.of(all(map(holds, fluid))), mostly(map(holds, packets), level))
        for key, holds in statements.items()
    }


@measure.packet_level
def packet_level(found: AtNode15, **asked: float) -> dict[str, Verdict]:
    """Judge the same in the runs of hopflow's packet level, instead of ns-2's."""
    own = replace(found, runs=found.runs._replace(packets=found.level))
    return {key: sides.packets for key, sides in judge(own, **asked).items()}


@measure.draw
def stored_packets(found: AtNode15) -> Figure:
    """Draw the packets in all nodes of every run, and those of them that are at node 15."""
    sides = {
        "fluid": found.runs.model,
        "ns-2": found.runs.packets,
        "hopflow's packets": found.level,
    }
    titles = (f"{name}, {len(side)} runs" for name, side in sides.items())
    fig, axes = panels(tuple(titles), 9.0, 3.6)
    for ax, side in zip(axes, sides.values(), strict=True):
        for n, run in enumerate(side):
            of = {
                "all nodes": (run.stored.sum(axis=0), "0.75", 3.0),
                "node 15": (run.stored[MERGE], BLUE, 0.9),
            }
            for name, (stored, colour, width) in of.items():
                text = None if n else name
                ax.plot(1e3 * run.time, stored, color=colour, lw=width, label=text)
        ax.axvline(1e3 * studies.START, color="black", lw=0.7)
        ax.axhline(BUFFER, color="black", lw=0.7, ls=":")
        label(ax, "time (ms)", xlim=(50, 250))
    axes[0].set_ylabel("packets stored")
    axes[0].legend(fontsize=8)
    return fig
