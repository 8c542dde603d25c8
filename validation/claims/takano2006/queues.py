"""Where the packets of scenario 4 are stored, with DFC and without (D10, D11)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import DFC, Trajectory, simulate, takano2006
from hopflow.results import figure
from validation.claims.takano2006.runs import DEFAULT, HOSTS, START, case, rows
from validation.claims.takano2006.shown import BLUE, RED
from validation.evidence import table
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

FIFO, CASE = case("4", "without"), case("4", "with")
MERGE = 14
"""Place of node 15, where the background flow enters, among the sending nodes."""
READINGS: dict[str, dict[str, object]] = {
    "default": {},
    "synchronous clocks": {"phases": "synchronous"},
    "a buffer per flow": {"buffers": "per-flow"},
    "D = 0.01": {"diffusion": 0.01},
}
"""Other readings of scenario 4 with DFC, by the columns of the bundled tables."""
ALONE, SPREAD = 0.95, 0.2
"""Share of all stored packets above which they are at one node, and below which they are spread."""


@dataclass(frozen=True)
class Queues:
    """Packets stored in one run, per node (L, T) over time in s (T,).

    What was dropped (L,), the largest queues (L,), and when node 15 was full for the first time.
    """

    time: NDArray[np.float64]
    stored: NDArray[np.float64]
    dropped: NDArray[np.float64]
    peak: NDArray[np.float64]
    full: float

    @property
    def share_of_merge(self) -> float:
        """Node 15's part of all that was stored after 0.1 s."""
        late = self.time > START
        return float(self.stored[MERGE, late].sum() / self.stored[:, late].sum())

    @property
    def left(self) -> float:
        """Packets at node 15 when it was emptiest after it had been full."""
        return float(self.stored[MERGE, self.time > self.full].min())

    @property
    def fullest(self) -> int:
        """The sample after 0.1 s at which most packets were stored."""
        return int(np.argmax(np.where(self.time > START, self.stored.sum(axis=0), -1.0)))

    @property
    def share_of_largest(self) -> float:
        """The largest queue's part of all that was stored when that was most."""
        stored = self.stored[:, self.fullest]
        return float(stored.max() / stored.sum())


def _of_fluid(run: Trajectory) -> Queues:
    full = float(run.time[int(np.argmax(run.queued[MERGE]))])
    return Queues(run.time, run.queued, run.lost.sum(axis=(0, 2)), run.peak_queue, full)


@functools.cache
def _fluid(host: str | None, reading: str = "default", runs: int = 4) -> list[Queues]:
    """Return runs by the millisecond: without DFC (None) by starts, with DFC by phases."""
    if host is None:
        scenario, jitter = takano2006("4", dfc=False), 1e-3
    else:
        asked: dict[str, Any] = {**DEFAULT, **READINGS[reading]}
        law = DFC(diffusion=asked["diffusion"], phases=asked["phases"])
        scenario, jitter = takano2006("4", host=host), 20e-6
        shared = asked["buffers"] == "shared"
        links = (replace(link, discipline=law, shared=shared) for link in scenario.links)
        scenario = replace(scenario, links=tuple(links))
    every = (simulate(scenario, duration=0.5, jitter=jitter, rng=seed) for seed in range(runs))
    return [_of_fluid(run) for run in every]


@functools.cache
def _packets(host: str | None, reading: str = "default") -> list[Queues]:
    """Return ns-2's runs without DFC (None), ns-3's with, at the instants that were recorded."""
    if host is None:
        occupancy, nodes = table(FIFO, "occupancy"), table(FIFO, "nodes")
        occupancy = occupancy.assign(run=occupancy["seed"])
        nodes = nodes.assign(run=nodes["seed"], peak=nodes["peak_queued"])
    else:
        asked = {"host": host, **READINGS[reading]}
        occupancy, nodes = rows(CASE, "occupancy", **asked), rows(CASE, "nodes", **asked)
        both = occupancy["queued_target"] + occupancy["queued_background"]
        occupancy = occupancy.assign(queued=both)
    found = []
    for run, of_run in nodes.groupby("run"):
        stored = occupancy[occupancy["run"] == run].pivot_table("queued", "node", "time")
        drops = of_run["target_drops"] + of_run["background_drops"]
        found.append(
            Queues(
                stored.columns.to_numpy(float),
                stored.to_numpy(float),
                drops.to_numpy(float),
                of_run["peak"].to_numpy(float),
                float(of_run["first_drop"].iloc[MERGE]),
            )
        )
    return found


def _part(statement: str, host: str | None, holds: Callable[[Queues], bool]) -> Part:
    """Return whether a statement holds in every run; not in one of them is its opposite."""
    return Part(
        statement, *(Verdict.of(all(map(holds, each(host)))) for each in (_fluid, _packets))
    )


def _number(
    quantity: str, host: str | None, of: Callable[[Queues], float], paper: str, tolerance: str = ""
) -> Number:
    seen = []
    for each in (_fluid, _packets):
        values = [of(queues) for queues in each(host)]
        ends = dict.fromkeys(f"{value:.4g}" for value in (min(values), max(values)))
        seen.append(" to ".join(ends))
    fluid, packets = seen
    return Number(quantity, fluid, packets, paper, tolerance)


def _other_reading(reading: str) -> Number:
    """Return what shaped hosts do in another reading, in the fluid and in ns-3."""
    fluid, packets = (
        f"{max(queues.peak.max() for queues in each):.0f}, "
        f"{np.mean([queues.dropped.sum() for queues in each]):.0f}"
        for each in (_fluid("shaped", reading), _packets("shaped", reading))
    )
    quantity = f"largest queue and packets lost, shaped hosts, {reading}"
    return Number(quantity, fluid, packets, "no overflow, none", "beside the default")


@claim("D10")
def queues_without_dfc() -> Finding:
    """After 0.1 s all stored packets are at node 15; it reaches 1800 and drops; then it drains."""
    fluid, packets = _fluid(None), _packets(None)
    late = np.mean([queues.stored[MERGE, -1] for queues in packets])
    return Finding(
        parts=(
            _part(
                "after 0.1 s the stored packets are at node 15",
                None,
                lambda queues: queues.share_of_merge > ALONE,
            ),
            _part(
                "node 15 reaches its 1800 packets and drops",
                None,
                lambda queues: queues.peak[MERGE] >= 1799 and queues.dropped[MERGE] > 0,
            ),
            _part("then it drains", None, lambda queues: queues.left < 18),
        ),
        summary=(
            f"Node 15 fills to {fluid[0].peak[MERGE]:.0f} packets in the fluid and "
            f"{packets[0].peak[MERGE]:.0f} in ns-2 (which drops what finds 1799 waiting), drops "
            f"{np.mean([q.dropped[MERGE] for q in fluid]):.0f} and "
            f"{np.mean([q.dropped[MERGE] for q in packets]):.0f} packets, and empties, in every run."
        ),
        explanation=(
            "Before 0.1 s it is node 1 that overflows: the window of a host that sits in the node "
            "goes straight into its buffer, and slow start overshoots there first. The paper's "
            "figure starts later. Both fill in bursts of a millisecond or two, the overshoots of "
            f"slow start. From 0.2 s on ns-2's node 15 fills again, slowly, as the windows do: "
            f"{late:.0f} packets on average at the end of the run."
        ),
        numbers=(
            _number(
                "share of node 15 in what is stored after 0.1 s",
                None,
                lambda queues: queues.share_of_merge,
                "all",
                "0.95: a few packets in service elsewhere; in ns-2 one run recovers at node 1",
            ),
            _number(
                "largest queue of node 15, packets",
                None,
                lambda queues: queues.peak[MERGE],
                "1800",
                "one packet: ns-2's queue does not count the one in service",
            ),
            _number(
                "packets dropped at node 15", None, lambda queues: queues.dropped[MERGE], "some"
            ),
            _number(
                "emptiest after it was full, packets",
                None,
                lambda queues: queues.left,
                "drains",
                "1 % of the buffer",
            ),
            _number("packets dropped at node 1", None, lambda queues: queues.dropped[0], ""),
        ),
        pictures=(
            Picture(
                _draw_without,
                "Scenario 4 (12.3 Gb/s) without DFC, Tahoe: every run.",
                "queues at nodes 1 and 15 over time in the fluid and in ns-2: node 1 reaches 1800 "
                "near 75 ms, node 15 near 140 ms, then both are empty",
            ),
        ),
        cases=(FIFO,),
    )


@claim("D11")
def queues_with_dfc() -> Finding:
    """With DFC stored packets spread over the nodes; no node overflows; nothing is lost."""
    peaks = [max(queues.peak.max() for queues in each("shaped")) for each in (_fluid, _packets)]
    return Finding(
        parts=(
            _part(
                "stored packets spread over the nodes",
                "shaped",
                lambda queues: queues.share_of_largest < SPREAD,
            ),
            _part("no node overflows", "shaped", lambda queues: queues.peak.max() < 1800),
            _part("nothing is lost", "shaped", lambda queues: queues.dropped.sum() == 0),
        ),
        summary=(
            f"With shaped hosts no queue passes {peaks[0]:.0f} (fluid) or {peaks[1]:.0f} (ns-3) of "
            "1800 packets, and nothing is lost. Hosts that send at the link rate, or sit in the "
            "node, spread their packets too, and overflow node 15 or node 1."
        ),
        explanation=(
            "A host that obeys eq. (9) puts no more into node 1 than the chain takes, so that what "
            "is stored comes from the start of the background flow alone: half of what was on the "
            "links, spread at once over the nodes from 1 to 15. The picture of Fig. 13, hills of "
            "hundreds of packets over many nodes, is that of hosts without shaping; but there "
            "node 15 still fills while DFC passes the excess on at D/(1+D) links per delay, and it "
            "overflows in the fluid as in ns-3. The same buffers hold what shaped hosts send."
        ),
        numbers=(
            *(
                _number(
                    f"largest queue's share when most is stored, {host} hosts",
                    host,
                    lambda queues: queues.share_of_largest,
                    "spread",
                    f"spread below {SPREAD}; without DFC it is above {ALONE} (D10)",
                )
                for host in HOSTS
            ),
            *(
                _number(
                    f"largest queue, packets, {host} hosts",
                    host,
                    lambda queues: queues.peak.max(),
                    "no overflow",
                    "of 1800",
                )
                for host in HOSTS
            ),
            *(_other_reading(reading) for reading in READINGS if READINGS[reading]),
            *(
                _number(
                    f"packets lost, {host} hosts",
                    host,
                    lambda queues: queues.dropped.sum(),
                    "none",
                )
                for host in HOSTS
            ),
        ),
        pictures=(
            Picture(
                _draw_with,
                "Scenario 4 with DFC, Tahoe: packets stored at each node at instants after the "
                "start of the background flow, fluid (lines) and ns-3 (points), one run each.",
                "three panels of queues over nodes: small and spread with shaped hosts, hundreds "
                "over many nodes with unshaped ones, a peak of 1800 at node 15 with both others",
            ),
        ),
        cases=(CASE,),
    )


def _draw_without() -> Figure:
    fig, axes = figure(ncols=2, sharey=True)
    for ax, sides, title in zip(
        axes, (_fluid(None), _packets(None)), ("fluid", "ns-2"), strict=True
    ):
        for n, side in enumerate(sides):
            for node, colour in ((0, RED), (MERGE, BLUE)):
                label = None if n else f"node {node + 1}"
                ax.plot(1e3 * side.time, side.stored[node], color=colour, lw=1.0, label=label)
        ax.axhline(1800, color="black", lw=0.7, ls=":")
        ax.set(xlim=(50, 200), xlabel="time (ms)", title=f"{title}, {len(sides)} runs")
    axes[0].set_ylabel("packets queued")
    axes[0].legend(fontsize=8)
    return fig


def _draw_with() -> Figure:
    fig, axes = figure(9.0, 3.4, ncols=3)
    for ax, host in zip(axes, HOSTS, strict=True):
        fluid, packets = _fluid(host)[0], _packets(host)[0]
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
