"""Without DFC the packets of scenario 4 are stored at node 15 (D10)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from validation import evidence
from validation.checks import claim
from validation.claims.takano2006 import own_links, queues, studies
from validation.claims.takano2006.queues import (
    BUFFER,
    FIFO,
    MERGE,
    Queues,
    Runs,
    at_packet_level,
    in_most,
    without_dfc,
)
from validation.display.drawing import BLUE, label, panels
from validation.judgements.judges import ByReading
from validation.judgements.verdicts import Judgement, Verdict, packets_only
from validation.networks.own_links import KINDS
from validation.statistics import LEVEL, Values, mostly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALONE = 0.95
"""Share of all stored packets above which they count as being at one node."""
MAJORITY = 0.5
"""Part of the target's losses above which most of them are at a node."""
OWN_LINKS = {f"hosts with links of their own, {kind}": kind for kind in KINDS}
"""Names of the readings in which hosts have links of their own, with the kinds of their runs."""
EMPTY = 0.01
"""Part of the buffer below which a queue has drained."""


@dataclass(frozen=True)
class AtNode15:
    """The queues of every run without DFC, and of those at hopflow's packet level.

    Attributes
    ----------
    after_start, lost_after_start
        Part of the target's packets that ns-2 loses after 0.1 s at node 15, by run, and their number in all runs.
    own_links
        Part of the target's lost packets that node 15 drops at hopflow's packet level where hosts have links of their own,
        by kind of run (`validation.networks.own_links.KINDS`) and run; runs without losses are left out.
    """

    runs: Runs
    level: list[Queues]
    after_start: Values
    lost_after_start: int
    own_links: dict[str, Values]

    @property
    def late(self) -> list[float]:
        """Packets at node 15 at the end of ns-2's runs."""
        return [float(queues.stored[MERGE, -1]) for queues in self.runs.packets]

    @property
    def apart(self) -> list[float]:
        """Shares of node 1 in what is stored after 0.1 s, of the packet level's runs with more than allowed elsewhere."""
        return [run.share_of(0) for run in self.level if run.share_of_merge <= ALONE]


@claim("D10", cases=(FIFO, own_links.CASE))
def measure() -> AtNode15:
    """Return the queues without DFC."""
    losses = evidence.frame(FIFO, "losses")
    late = losses[(losses["flow"] == "target") & (losses["time"] > studies.START)]
    by_node = late.pivot_table("dropped", "seed", "node", aggfunc="sum")
    lost = by_node.sum(axis=1)
    return AtNode15(
        without_dfc(),
        at_packet_level(),
        (by_node[MERGE + 1] / lost)[lost > 0].to_numpy(float),
        int(lost.sum()),
        {kind: _at_merge(kind) for kind in KINDS},
    )


def _at_merge(kind: str) -> Values:
    """Return the part of the target's lost packets that are lost where both flows meet, by run with losses."""
    flows = own_links.rows("4", kind, "flows", dfc=False)
    target = flows[(flows["flow"] == "target") & (flows["dropped"] > 0)]
    part: Values = (target["dropped_at_merge"] / target["dropped"]).to_numpy(float)
    return part


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
    """Judge whether the statements hold in most runs, of packets and of the fluid."""
    full = BUFFER - 1  # ns-2's queue does not count the packet in service
    statements: dict[str, Callable[[Queues], bool]] = {
        "at_node_15": lambda queues: queues.share_of_merge > alone,
        "overflows": lambda queues: queues.peak_of_merge >= full and queues.dropped[MERGE] > 0,
        "drains": lambda queues: queues.left < empty * BUFFER,
        "cause": lambda queues: queues.lost_at_merge > most,
    }
    return {key: in_most(found.runs, holds, level) for key, holds in statements.items()}


@measure.readings
def readings(found: AtNode15, *, most: float = MAJORITY, level: float = LEVEL) -> dict[str, Judgement]:
    """Judge the cause by losses after the background starts, and where hosts have links of their own (packet level only)."""
    after = packets_only(mostly(found.after_start > most, level))
    return {"losses after 0.1 s": {"cause": after}} | {name: {} for name in OWN_LINKS}


@measure.level_in_readings
def level_in_readings(found: AtNode15, *, most: float = MAJORITY, level: float = LEVEL) -> ByReading:
    """Judge the cause at hopflow's packet level where hosts have links of their own."""
    return {name: {"cause": mostly(found.own_links[kind] > most, level)} for name, kind in OWN_LINKS.items()}


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
