"""The queue of a real switch under Linux's Reno and CUBIC against the saw tooth, fluid and packets (S07).

Source of the measurements: Spang, Arslan and McKeown 2021, see ``published/SOURCES.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Effects, Estimates, Statement
from validation.claims.hardware import levels
from validation.claims.hardware.levels import LINK, NAMES, PACKET, RTT, Queue
from validation.judgements.verdicts import Verdict
from validation.records import rows
from validation.statistics import Estimate, combine, difference, mostly, within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLE = "spang2021_queue_depths.csv"
LONGER = 1.2e-3
"""A round-trip time with the hosts' own delay, s, for the experiment."""
CUTS = {"reno": 0.5, "cubic": 0.3}
"""Part of the window given up at a loss (RFC 5681, RFC 9438)."""
FEWEST_FLOWS, MOST_FLOWS = 1, 64
SHALLOW = 20.0
"""Buffers in packets below which depths of a few packets cannot be distinguished."""
FLUCTUATION = 10.0
"""Packets by which the switch's queue moves for reasons that its owners did not find (the description of the data)."""


def trough(buffer: float, cut: float, rtt: float = RTT) -> float:
    """Return the queue after a flow has cut its window at a full buffer, packets.

    The window of C + B packets, C the bandwidth-delay product, falls to (1 - b)(C + B); what is more
    than C of it stays in the queue.
    """
    product = LINK * rtt / (8 * PACKET)
    return max(0.0, (1.0 - cut) * (product + buffer) - product)


def exactly(values: list[float]) -> Estimates:
    """Return measured values, of one run each, as estimates without an error, for a figure."""
    return tuple(Estimate(value, 0.0) for value in values)


class Trough(NamedTuple):
    """The lowest per cent of the queue of one flow in a setting, and what the saw tooth has; packets."""

    buffer: float
    measured: float
    derived: float

    @property
    def apart(self) -> float:
        """Their difference over the buffer."""
        return (self.measured - self.derived) / self.buffer


def judged_troughs(found: Sequence[Trough], margin: float, fluctuation: float) -> Verdict:
    """Return whether the lowest per cent is the trough, both of one run and uncertain by a fluctuation.

    There is one run of each setting: no chance of error can be stated, a difference counts from the
    margin and the fluctuation together.
    """
    uncertain = [fluctuation / each.buffer for each in found]
    return within([each.apart for each in found], uncertain, margin, target=0.0)


def at_packet_level(found: list[Queue]) -> tuple[Estimates, Estimates]:
    """Return what both statements are about at hopflow's packet level, of the settings run there."""
    by = {(queue.rule, queue.flows, queue.buffer): queue.packets for queue in found}
    alone = {(rule, size): low for (rule, flows, size), low in by.items() if flows == FEWEST_FLOWS}
    return (
        tuple(
            combine((low[1], Estimate(trough(size, CUTS[rule]), 0.0)), (1.0 / size, -1.0 / size))
            for (rule, size), low in alone.items()
        ),
        tuple(
            combine((difference(by[rule, MOST_FLOWS, size][5], low[5]),), (1.0 / size,))
            for (rule, size), low in alone.items()
        ),
    )


def with_longer_delay(found: list[Queue]) -> list[Queue]:
    """Return the settings of one flow with the hosts' own delay on top of the one that was added."""
    return [
        replace(
            queue,
            packets=levels.estimates("packets", queue.rule, FEWEST_FLOWS, queue.buffer, LONGER),
        )
        for queue in found
        if queue.flows == FEWEST_FLOWS
    ]


@effects("S07", cases=(), equal=True, also={"fluctuation": FLUCTUATION})
def queue_depths() -> Effects:
    """Measure the lowest per cent of the queue, and how many flows raise it."""
    table = pd.DataFrame(rows(TABLE))
    table = table.astype({name: float for name in table.columns if name != "algorithm"})

    def depths(rule: str, number: float, column: str) -> pd.Series[float]:
        chosen = table[(table["algorithm"] == rule) & (table["flows"] == number)]
        return chosen.set_index("buffer")[column]

    found: dict[str, dict[float, float]] = {rule: dict(depths(rule, FEWEST_FLOWS, "depth_p01")) for rule in CUTS}

    def troughs(rtt: float) -> list[Trough]:
        every = (
            Trough(size, low, trough(size, CUTS[rule], rtt))
            for rule, sizes in found.items()
            for size, low in sizes.items()
            if size >= SHALLOW
        )
        return list(every)

    can_fail = [each for each in troughs(RTT) if each.derived > 0.0]
    longer = [each.apart for each in troughs(LONGER) if each.derived > 0.0]

    raised = []
    for rule in CUTS:
        one, many = (depths(rule, number, "depth_p05") for number in (FEWEST_FLOWS, MOST_FLOWS))
        gain = ((many - one) / one.index.to_numpy()).dropna()
        raised += gain[gain.index >= SHALLOW].tolist()
    queues = levels.queues(table)
    lows, gains = at_packet_level(queues)
    return Effects(
        {
            "trough": Statement(
                model=lambda given: judged_troughs(can_fail, given["margin"], given["fluctuation"]),
                equal=True, level=lows,
            ),
            "flows": Statement(
                model=lambda given: mostly((gain > 0.0 for gain in raised), given["level"]), level=gains
            ),
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
            "largest": max(abs(each.apart) for each in can_fail), "longer": max(map(abs, longer)),
            "least": min(raised), "most": max(raised), "raised": raised,
            "settings": len(can_fail), "empty": len(troughs(RTT)) - len(can_fail),
            "floor": table["depth_p01"].min(), "delayed": with_longer_delay(queues),
            **levels.summary(queues),
        },
    )  # fmt: skip


queue_depths.constants_of(levels)


@queue_depths.draw
def percentiles(found: Effects) -> Figure:
    """Draw the percentiles of the switch and of both levels."""
    return levels.draw(found.values["queues"])  # noqa: PD011
