"""Packets sent within the control delay of end hosts, and of neighbours (D01)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from validation.checks import claim
from validation.display.drawing import BLUE, RED, figure, label
from validation.judgements.verdicts import Judgement, Verdict, model_only

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLOW, FAST = 10e6, 100e9
"""Link speeds of the text, bit/s."""
RTT, UTILISATION, DISTANCE, HOPS = 0.1, 0.5, 10e3, 5
"""Round-trip time in s, utilisation, distance in m of two nodes, hops: as stated with Fig. 2."""
PACKET = 1500.0
"""Bytes of a packet in the paper's simulations."""
LIGHT_IN_FIBRE = 2e8
"""m/s."""
FEW_HUNDRED, SEVERAL_MILLION = (200.0, 900.0), (2e6, 9e6)
"""Packets that the text's words allow: the lower ends are thresholds of the verdict, the upper ones the words' own."""
FACTOR = 2000
"""Typical factor by which control between neighbours cuts the delay, as the text has it."""
TOLERANCE = 0.1
"""Relative, of that factor: light in fibre has about 2e8 m/s."""


@dataclass(frozen=True)
class Delays:
    """Sizes in bytes of the packets that make both counts true, and the delay of a hop in s."""

    smallest: float
    largest: float
    hop: float

    @property
    def ratio(self) -> float:
        """The round-trip time over the delay of a hop."""
        return RTT / self.hop

    @property
    def counts(self) -> tuple[float, float]:
        """Packets of the paper's size within the round-trip time at both speeds."""
        return touched(SLOW, PACKET), touched(FAST, PACKET)

    @property
    def path_counts(self) -> tuple[float, float]:
        """The same with as many packets on each of the hops of Fig. 2."""
        slow, fast = self.counts
        return HOPS * slow, HOPS * fast

    @property
    def path_rtt(self) -> float:
        """Round-trip time of the path of Fig. 2 by propagation, s."""
        return 2 * HOPS * self.hop


def touched(bits: float, size: float) -> float:
    """Return the packets of ``size`` bytes that are sent in one RTT at ``bits`` bit/s."""
    return bits * RTT * UTILISATION / (8 * size)


def sizes(hundreds: float, millions: float) -> tuple[float, float]:
    """Return the smallest and the largest packet in bytes that make both counts true, at least ``hundreds`` and ``millions``."""
    one_byte = touched(SLOW, 1.0), touched(FAST, 1.0)
    smallest = max(one_byte[0] / FEW_HUNDRED[1], one_byte[1] / SEVERAL_MILLION[1])
    return smallest, min(one_byte[0] / hundreds, one_byte[1] / millions)


@claim("D01")
def measure() -> Delays:
    """Return the packet sizes that make Fig. 2's counts true, and the delay of one hop."""
    return Delays(*sizes(FEW_HUNDRED[0], SEVERAL_MILLION[0]), DISTANCE / LIGHT_IN_FIBRE)


@measure.judge
def judge(
    found: Delays,
    *,
    hundreds: float = FEW_HUNDRED[0],
    millions: float = SEVERAL_MILLION[0],
    tolerance: float = TOLERANCE,
) -> Judgement:
    """Judge whether one packet size makes both counts true, and the factor."""
    smallest, largest = sizes(hundreds, millions)
    return {"counts": model_only(Verdict.of(smallest < largest))} | _factor(found, tolerance)


def _factor(found: Delays, tolerance: float) -> Judgement:
    return {"factor": model_only(Verdict.of(abs(found.ratio / FACTOR - 1) < tolerance))}


@measure.readings
def readings(
    found: Delays,
    *,
    hundreds: float = FEW_HUNDRED[0],
    millions: float = SEVERAL_MILLION[0],
    tolerance: float = TOLERANCE,
) -> dict[str, Judgement]:
    """Judge the counts with packets of the size that the paper simulates, on one link and on all hops of Fig. 2.

    The factor has no packets in it, and is the same in all readings.
    """

    def within(counts: tuple[float, float]) -> Judgement:
        ranges = zip(counts, (hundreds, millions), (FEW_HUNDRED[1], SEVERAL_MILLION[1]), strict=True)
        inside = all(low <= count <= high for count, low, high in ranges)
        return {"counts": model_only(Verdict.of(inside))} | _factor(found, tolerance)

    size = f"packets of {PACKET:g} bytes"
    return {
        size: within(found.counts),
        f"{size} on each of the five hops of Fig. 2": within(found.path_counts),
    }


@measure.draw
def packets_within_the_delay(found: Delays) -> Figure:
    """Draw the packets within the delay by link speed and packet size."""
    fig, ax = figure()
    speed = np.geomspace(SLOW, FAST, 41)
    ends = touched(1.0, found.smallest) * speed, touched(1.0, found.largest) * speed
    sizes = f"{found.smallest:.0f} to {found.largest:.0f} bytes"
    ax.fill_between(speed, *ends, color=BLUE, alpha=0.3, lw=0, label=sizes)
    usual = touched(1.0, PACKET) * speed
    ax.plot(speed, usual, color=RED, label=f"{PACKET:g} bytes")
    ax.plot(speed, usual / found.ratio, "--", color=RED, label="one hop")
    ax.plot([SLOW] * 2, FEW_HUNDRED, color="black", lw=3, label="the text")
    ax.plot([FAST] * 2, SEVERAL_MILLION, color="black", lw=3)
    label(ax, "link speed (bit/s)", "packets sent within the control delay", log="xy")
    ax.legend(fontsize=8)
    return fig
