"""Scenario 4 with Vegas and buffers of 400 packets (D17)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from validation import evidence
from validation.checks import claim
from validation.claims.takano2006 import vegas_runs
from validation.claims.takano2006.vegas_runs import SMALL_BUFFER
from validation.display.drawing import BLUE, RED, figure, label
from validation.judgements.verdicts import Judgement, Sides, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIFO_THRESHOLDS = "takano2006/vegas-thresholds-without-dfc"
DFC_THRESHOLDS = "takano2006/vegas-thresholds-with-dfc"
TIMES = (1, 3, 10, 30, 100, 300)
"""Thresholds of Vegas over ns-2's defaults, 1, 3 and 1 packets."""
BUNDLED_FACTOR = 30
"""The largest of them that is bundled with DFC too."""
BUFFERS = (vegas_runs.LARGE_BUFFER, SMALL_BUFFER)
MARKED = 0.5
"""Fraction of the mean with 1800 packets below which a fall of the efficiency is marked."""


class ByBuffer(NamedTuple):
    """Packets lost and mean of the target, with 1800 and 400 packets of buffer; NaN: not run."""

    lost: tuple[float, float]
    mean: tuple[float, float]

    @property
    def known(self) -> bool:
        """Whether it was simulated."""
        return not math.isnan(self.lost[0])

    @property
    def as_printed(self) -> bool:
        """Whether only the small buffer has losses, and a marked fall, as the paper shows."""
        few = self.lost[1] > 0 == self.lost[0]
        return few and self.mean[1] < MARKED * self.mean[0]


@dataclass(frozen=True)
class SmallBuffers:
    """The runs with small buffers and large ones, by side; and by Vegas' thresholds.

    ``peak`` is the largest queue of all packet runs with the usual thresholds and no DFC.
    """

    small: dict[str, Sides[vegas_runs.VegasRuns]]
    large: dict[str, Sides[vegas_runs.VegasRuns]]
    peak: float
    by_threshold: dict[tuple[str, int], Sides[ByBuffer]]

    @property
    def pattern(self) -> Sides[list[int]]:
        """Multiples of ns-2's thresholds that reproduce the paper's losses."""
        alone = {times: self.by_threshold["without DFC", times] for times in TIMES}
        return Sides(
            [times for times, found in alone.items() if found.model.as_printed],
            [times for times, found in alone.items() if found.packets.as_printed],
        )


def by_threshold(side: str, times: int) -> Sides[ByBuffer]:
    """Return losses and means with a multiple of the usual thresholds: fluid, packets."""
    runs = [vegas_runs.fluid(side, buffer, times) for buffer in BUFFERS]
    means = [float(run.mean_efficiency()[0]) for run in runs]
    model = ByBuffer((float(runs[0].lost.sum()), float(runs[1].lost.sum())), (means[0], means[1]))
    data = evidence.table(DFC_THRESHOLDS if side == "with DFC" else FIFO_THRESHOLDS, "flows")
    data = data[data["vegas"] == times]
    target = data[data["flow"] == "target"].groupby("buffer")["mean_efficiency"].mean()
    drops = data.groupby(["buffer", "seed"])["dropped"].sum().groupby("buffer").mean()
    one, other = ([float(part.get(b, math.nan)) for b in BUFFERS] for part in (drops, target))
    return Sides(model, ByBuffer((one[0], one[1]), (other[0], other[1])))


@claim("D17", cases=(vegas_runs.SMALL_BUFFER_RUNS, vegas_runs.NS3, FIFO_THRESHOLDS, DFC_THRESHOLDS))
def measure() -> SmallBuffers:
    """Return the runs of scenario 4V', beside 4V, and by threshold."""
    return SmallBuffers(
        {side: vegas_runs.runs_of(side, SMALL_BUFFER) for side in vegas_runs.SIDES},
        {side: vegas_runs.runs_of(side) for side in vegas_runs.SIDES},
        max(
            float(evidence.table(vegas_runs.SMALL_BUFFER_RUNS, "nodes")["peak_queued"].max()),
            float(vegas_runs.packets("without DFC", "nodes", SMALL_BUFFER)["peak"].max()),
        ),
        {(side, times): by_threshold(side, times) for side in ("without DFC", "with DFC") for times in TIMES},
    )


measure.constants_of(vegas_runs)


@measure.judge
def judge(found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN) -> Judgement:
    """Judge losses and a marked fall without DFC, and neither with it."""
    alone, shaped = found.small["without DFC"], found.small["with DFC"]
    few = zip(alone, found.large["without DFC"], strict=True)
    same = zip(shaped, found.large["with DFC"], strict=True)
    return {
        "lossy": alone.each(lambda runs: Verdict.of(runs.lost > 0.0)),
        "falls": Sides(*(Verdict.of(small.mean < marked * large.mean) for small, large in few)),
        "dfc_same": Sides(
            *(
                Verdict.of(small.lost == 0.0 and vegas_runs.alike(small.mean, large.mean, apart))
                for small, large in same
            )
        ),
    }


@measure.readings
def readings(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN
) -> dict[str, Judgement]:
    """Judge a Vegas that keeps more packets in queues."""
    alone, shaped = (found.by_threshold[side, BUNDLED_FACTOR] for side in ("without DFC", "with DFC"))
    lossy = alone.each(lambda runs: Verdict.of(runs.lost[1] > 0.0))
    falls = alone.each(lambda runs: Verdict.of(runs.mean[1] < marked * runs.mean[0]))
    same = shaped.each(lambda runs: Verdict.of(runs.lost[1] == 0.0 and vegas_runs.alike(*runs.mean, apart)))
    name = f"Vegas that keeps {BUNDLED_FACTOR} times as many packets in queues"
    return {name: {"lossy": lossy, "falls": falls, "dfc_same": same}}


@measure.draw
def losses_by_threshold(found: SmallBuffers) -> Figure:
    """Draw the packets lost without DFC by Vegas' thresholds."""
    fig, ax = figure()
    runs = [found.by_threshold["without DFC", times] for times in TIMES]
    for name, colour, side in (
        ("fluid", RED, [each.model for each in runs]),
        ("ns-2", BLUE, [each.packets for each in runs]),
    ):
        for n, style in ((1, "o-"), (0, "s:")):
            lost = [each.lost[n] for each in side]
            ax.plot(TIMES, lost, style, color=colour, label=f"{name}, {BUFFERS[n]}")
    label(ax, "thresholds over 1, 3, 1 packets", "packets lost", log="x")
    ax.legend(fontsize=8)
    return fig
