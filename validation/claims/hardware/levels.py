"""The queue of the switch at hopflow's packet level and in its fluid, beside the measured percentiles (S07)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel import Flow, Fluid, Link, Packets, Scenario, simulate
from responsefn import CUBIC, NewReno
from validation.display.drawing import GREY, label, legend_beside, panels, points
from validation.judgements.keeping import kept
from validation.statistics import Estimate, combine, of_runs

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINK, PACKET, RTT = 10e9, 9000, 1e-3
"""Rate of the link in bit/s, bytes of a packet, the delay added at the sender in s."""
CAPACITY = LINK / (8 * PACKET)
PRODUCT = CAPACITY * RTT
"""Packets/s, and the product of bandwidth and delay in packets."""
NAMES = {"reno": "Reno", "cubic": "CUBIC"}
RULES = {"reno": NewReno(), "cubic": CUBIC()}
LEVELS: dict[str, Fluid | Packets] = {
    "fluid": Fluid(recovery="sack"),
    "packets": Packets(recovery="prr"),
}
"""The senders are Linux's, which reduce their windows in proportion (PRR); the fluid has SACK."""
FLOWS, PARTS = (1, 8, 64), (0.5, 1.0)
"""Numbers of flows, those of the statements and their geometric mean, and buffers in products, to which the
nearest ones measured are run."""
PERCENTILES = (1, 5, 50, 95)
SEEDS = range(1, 4)
SECONDS, SHORT, WARM_UP = 1.2, 0.7, 0.3
"""Length of a run of one flow, whose window grows back within 0.3 s; of more flows, whose windows are
smaller; and what is left out of it, s."""
STARTS, SAMPLE = 0.02, 5e-4
"""Time within which the flows start, and between samples of the queue, s."""


def scenario(rule: str, flows: int, buffer: float, rtt: float = RTT) -> Scenario:
    """Return one queue of ``buffer`` packets before the link, behind a sender with twice its rate."""
    links = (
        Link("sender", "switch", 2.0 * CAPACITY, rtt / 4.0, 1e5),
        Link("switch", "receiver", CAPACITY, rtt / 4.0, round(buffer)),
    )
    sources = tuple(
        Flow(
            str(n), ("sender", "switch", "receiver"), RULES[rule], max_window=1e4,
            start=STARTS * n / flows,
        )
        for n in range(flows)
    )  # fmt: skip
    return Scenario("switch", links, sources, duration=SECONDS if flows == 1 else SHORT)


@kept
def percentiles(level: str, rule: str, flows: int, buffer: float, rtt: float = RTT) -> tuple[tuple[float, ...], ...]:
    """Return `PERCENTILES` of the queue at a level, packets to two decimals, by seed."""
    runs = (
        simulate(
            scenario(rule, flows, buffer, rtt), LEVELS[level], packet_jitter=1.0 / CAPACITY,
            seed=seed, sample=SAMPLE,
        )
        for seed in SEEDS
    )  # fmt: skip
    queues = (run.queued[1][run.time > WARM_UP] for run in runs)
    return tuple(tuple(np.percentile(queue, PERCENTILES).round(2).tolist()) for queue in queues)


def estimates(level: str, rule: str, flows: int, buffer: float, rtt: float = RTT) -> dict[int, Estimate]:
    """Return the mean of each percentile over the seeds; parameters of `percentiles`."""
    runs = np.array(percentiles(level, rule, flows, buffer, rtt))
    return {p: of_runs(runs[:, n], (0.0, buffer)) for n, p in enumerate(PERCENTILES)}


@dataclass(frozen=True)
class Queue:
    """Percentiles of the queue in one setting, packets: of the switch, and at both levels."""

    rule: str
    flows: int
    buffer: float
    switch: dict[int, float]
    fluid: dict[int, Estimate]
    packets: dict[int, Estimate]

    @property
    def name(self) -> str:
        """The rule as it is written."""
        return NAMES[self.rule]

    def apart(self, level: str) -> dict[int, float]:
        """Return by how much each percentile of a level exceeds the switch's, of the buffer."""
        found = getattr(self, level)
        return {p: (found[p].value - depth) / self.buffer for p, depth in self.switch.items()}


def queues(table: pd.DataFrame) -> list[Queue]:
    """Return the settings that are run, of the table of measured percentiles."""
    buffers = table["buffer"].unique()
    chosen = [float(min(buffers, key=lambda b: abs(b - part * PRODUCT))) for part in PARTS]
    found = []
    for rule, flows, buffer in itertools.product(RULES, FLOWS, chosen):
        same = (table["algorithm"] == rule) & (table["flows"] == flows)
        (row,) = table[same & (table["buffer"] == buffer)].to_dict("records")
        switch = {p: float(row[f"depth_p{p:02d}"]) for p in PERCENTILES}
        levels = {level: estimates(level, rule, flows, buffer) for level in LEVELS}
        found.append(Queue(rule, flows, buffer, switch, **levels))
    return found


def summary(found: list[Queue]) -> dict[str, Any]:
    """Return the numbers of the text: largest differences of the levels by number of flows, and counts."""
    cubic = [each for q in found if q.rule == "cubic" for each in q.apart("packets").values()]
    return {
        "queues": found,
        "off": {
            level: [max(abs(each) for q in found if q.flows == n for each in q.apart(level).values()) for n in FLOWS]
            for level in LEVELS
        },
        "above": sum(each > 0.0 for each in cubic),
        "compared": len(cubic),
        "deepest": [q for q in found if q.flows == max(FLOWS) and q.buffer > 0.9 * PRODUCT],
    }


def draw(found: list[Queue]) -> Figure:
    """Draw the percentiles over the buffer: the switch as bars, the levels as points."""
    fig, axes = panels(tuple(NAMES.values()), 9.0, 4.2)
    for ax, rule in zip(axes, NAMES, strict=True):
        chosen = [queue for queue in found if queue.rule == rule]
        for n, queue in enumerate(chosen):
            depths = np.array(list(queue.switch.values())) / queue.buffer
            named = n == 0
            ax.hlines(depths, n - 0.3, n + 0.3, color=GREY, label="switch" if named else None)
            for shift, level in ((-0.12, "fluid"), (0.12, "packets")):
                each = [combine((e,), (1.0 / queue.buffer,)) for e in getattr(queue, level).values()]
                colour = tuple(LEVELS).index(level)
                name = level if named else None
                points(ax, [n + shift] * len(each), each, colour, label=name)
        ticks = [f"{queue.flows}\n{queue.buffer:.0f}" for queue in chosen]
        ax.set_xticks(range(len(chosen)), ticks)
        label(ax, "flows, buffer (packets)")
    axes[0].set_ylabel("queue over buffer")
    legend_beside(axes[1])
    return fig
