"""The queue of a real switch under Linux's Reno and CUBIC against the saw tooth, fluid and packets (S07).

Source of the measurements: Spang, Arslan and McKeown 2021, see ``published/SOURCES.md``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from validation.claims.effect_claims import Curve, Effects, Estimates, Statement, effects
from validation.claims.hardware import levels
from validation.claims.hardware.levels import LINK, NAMES, PACKET, RTT, Queue
from validation.records import rows
from validation.statistics import Estimate, combine, difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = "spang2021_queue_depths.csv"
LONGER = 1.2e-3
"""A round-trip time with the hosts' own delay, s, for the experiment."""
CUTS = {"reno": 0.5, "cubic": 0.3}
"""Part of the window given up at a loss (RFC 5681, RFC 9438)."""
FEW, MANY = 1, 64
SHALLOW = 20.0
"""Buffers in packets below which depths of a few packets cannot be distinguished."""


def trough(buffer: float, cut: float, rtt: float = RTT) -> float:
    """Return the queue after a flow has cut its window at a full buffer, packets.

    The window of C + B packets, C the bandwidth-delay product, falls to (1 - b)(C + B); what is more
    than C of it stays in the queue.
    """
    product = LINK * rtt / (8 * PACKET)
    return max(0.0, (1.0 - cut) * (product + buffer) - product)


def exactly(values: list[float]) -> Estimates:
    """Return measured values, of one run each, as estimates without an error."""
    return tuple(Estimate(value, 0.0) for value in values)


def at_packet_level(found: list[Queue]) -> tuple[Estimates, Estimates]:
    """Return what both statements are about at hopflow's packet level, of the settings run there."""
    by = {(queue.rule, queue.flows, queue.buffer): queue.packets for queue in found}
    alone = {(rule, size): low for (rule, flows, size), low in by.items() if flows == FEW}
    return (
        tuple(
            combine((low[1], Estimate(trough(size, CUTS[rule]), 0.0)), (1.0 / size, -1.0 / size))
            for (rule, size), low in alone.items()
        ),
        tuple(
            combine((difference(by[rule, MANY, size][5], low[5]),), (1.0 / size,))
            for (rule, size), low in alone.items()
        ),
    )


def with_longer_delay(found: list[Queue]) -> list[Queue]:
    """Return the settings of one flow with the hosts' own delay on top of the one that was added."""
    return [
        replace(queue, packets=levels.estimates("packets", queue.rule, FEW, queue.buffer, LONGER))
        for queue in found
        if queue.flows == FEW
    ]


@effects("S07", cases=(), equal=True)
def queue_depths() -> Effects:
    """Measure the lowest per cent of the queue, and how many flows raise it."""
    table = pd.DataFrame(rows(TABLE))
    table = table.astype({name: float for name in table.columns if name != "algorithm"})

    def depths(rule: str, number: float, column: str) -> pd.Series[float]:
        chosen = table[(table["algorithm"] == rule) & (table["flows"] == number)]
        return chosen.set_index("buffer")[column]

    found: dict[str, dict[float, float]] = {
        rule: dict(depths(rule, FEW, "depth_p01")) for rule in CUTS
    }

    def apart(rtt: float) -> list[float]:
        return [
            (low - trough(size, CUTS[rule], rtt)) / size
            for rule, sizes in found.items()
            for size, low in sizes.items()
            if size >= SHALLOW
        ]

    raised = []
    for rule in CUTS:
        one, many = (depths(rule, number, "depth_p05") for number in (FEW, MANY))
        gain = ((many - one) / one.index.to_numpy()).dropna()
        raised += gain[gain.index >= SHALLOW].tolist()
    queues = levels.queues(table)
    lows, gains = at_packet_level(queues)
    return Effects(
        {
            "trough": Statement(model=exactly(apart(RTT)), equal=True, level=lows),
            "flows": Statement(model=exactly(raised), level=gains),
        },
        {
            NAMES[rule]: Curve(
                list(sizes),
                exactly(list(sizes.values())),
                [trough(size, CUTS[rule]) for size in sizes],
            )
            for rule, sizes in found.items()
        },
        ("buffer (packets)", "lowest per cent of the queue, one flow (packets)"),
        values={
            "largest": max(map(abs, apart(RTT))), "longer": max(map(abs, apart(LONGER))),
            "least": min(raised), "most": max(raised), "runs": len(apart(RTT)),
            "floor": table["depth_p01"].min(), "delayed": with_longer_delay(queues),
            **levels.summary(queues),
        },
    )  # fmt: skip


queue_depths.constants_of(levels)


@queue_depths.draw
def percentiles(found: Effects) -> Figure:
    """Draw the percentiles of the switch and of both levels."""
    return levels.draw(found.values["queues"])  # noqa: PD011
