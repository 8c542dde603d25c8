"""Scenario 4 with Vegas and buffers of 400 packets (D17)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from validation import evidence
from validation.checks import claim
from validation.claims.takano2006 import level as packet_level
from validation.claims.takano2006 import studies, vegas_runs
from validation.claims.takano2006.hosts import NS2, NS3, by_simulator
from validation.claims.takano2006.vegas_runs import SMALL_BUFFER
from validation.display.drawing import BLUE, RED, figure, label
from validation.judgements.judges import ByReading, BySimulator
from validation.judgements.labels import agreed
from validation.judgements.verdicts import Judgement, Sides, Verdict
from validation.statistics import LEVEL, Values, combine, everywhere

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITH, WITHOUT = "with DFC", "without DFC"
THRESHOLDS = {
    WITHOUT: "takano2006/vegas-thresholds-without-dfc",
    WITH: "takano2006/vegas-thresholds-with-dfc",
}
"""The bundled cases with several thresholds of Vegas, by side."""
THRESHOLD_CASES = tuple(case for first in THRESHOLDS.values() for case in studies.with_further_seeds(first))
"""Those, and those of their further seeds."""
TIMES = (1, 3, 10, 30, 100, 300)
"""Thresholds of Vegas over ns-2's defaults, 1, 3 and 1 packets."""
BUNDLED_FACTOR = 30
"""The largest of them that is bundled with DFC too."""
BUFFERS = (vegas_runs.LARGE_BUFFER, SMALL_BUFFER)
MARKED = 0.5
"""Fraction of the mean with 1800 packets below which a fall of the efficiency is marked."""


PATIENT = f"Vegas that keeps {BUNDLED_FACTOR} times as many packets in queues"
"""A reading of D16 and D17, of Vegas' thresholds, which the paper does not state."""


class Thresholds(NamedTuple):
    """Packets lost by both flows, and mean of the target, both (runs,)."""

    lost: Values
    means: Values


class ByBuffer(NamedTuple):
    """The runs with 1800 and with 400 packets of buffer, by the buffer; none: not run."""

    runs: dict[int, Thresholds]

    @property
    def known(self) -> bool:
        """Whether it was simulated."""
        return bool(self.runs)

    @property
    def lost(self) -> tuple[float, float]:
        """Packets lost with the large buffer and with the small one, means over the runs; NaN: not run."""
        one, other = (float(self.runs[b].lost.mean()) if self.runs else math.nan for b in BUFFERS)
        return one, other

    @property
    def mean(self) -> tuple[float, float]:
        """Means of the target likewise."""
        one, other = (float(self.runs[b].means.mean()) if self.runs else math.nan for b in BUFFERS)
        return one, other

    @property
    def as_printed(self) -> bool:
        """Whether only the small buffer has losses, and a marked fall, as the paper shows."""
        few = self.lost[1] > 0 == self.lost[0]
        return few and self.mean[1] < MARKED * self.mean[0]


@dataclass(frozen=True)
class SmallBuffers:
    """The runs of the fluid and of ns-3 with small buffers and large ones, by side; and by Vegas' thresholds.

    ``ns2`` has ns-2's runs without DFC, with small buffers and with large ones.
    ``peak`` is the largest queue of all packet runs with the usual thresholds and no DFC.
    ``level`` has hopflow's packet level by side, multiple of the thresholds and buffer.
    """

    small: dict[str, Sides[vegas_runs.VegasRuns]]
    large: dict[str, Sides[vegas_runs.VegasRuns]]
    ns2: tuple[vegas_runs.VegasRuns, vegas_runs.VegasRuns]
    peak: float
    by_threshold: dict[tuple[str, int], Sides[ByBuffer]]
    level: dict[tuple[str, int, int], vegas_runs.VegasRuns]

    @property
    def pattern(self) -> Sides[list[int]]:
        """Multiples of ns-2's thresholds that reproduce the paper's losses."""
        alone = {times: self.by_threshold[WITHOUT, times] for times in TIMES}
        return Sides(
            [times for times, found in alone.items() if found.model.as_printed],
            [times for times, found in alone.items() if found.packets.as_printed],
        )


def by_threshold(side: str, times: int) -> Sides[ByBuffer]:
    """Return losses and means with a multiple of the usual thresholds: fluid, packets."""
    fluid = {buffer: vegas_runs.fluid(side, buffer, times) for buffer in BUFFERS}
    data = studies.all_seeds(THRESHOLDS[side], "flows")
    data = data[data["vegas"] == times]
    packets = {}
    for buffer, runs in data.groupby("buffer"):
        target = runs[runs["flow"] == "target"].set_index("seed")["mean_efficiency"]
        lost = runs.groupby("seed")["dropped"].sum()
        packets[int(str(buffer))] = Thresholds(lost.to_numpy(float), target[lost.index].to_numpy(float))
    model = {
        buffer: Thresholds(np.array([run.lost.sum()]), np.array([float(run.mean_efficiency()[0])]))
        for buffer, run in fluid.items()
    }
    return Sides(ByBuffer(model), ByBuffer(packets))


@claim("D17", cases=(vegas_runs.SMALL_BUFFER_RUNS, *studies.with_further_seeds(vegas_runs.NS3), *THRESHOLD_CASES))
def measure() -> SmallBuffers:
    """Return the runs of scenario 4V', beside 4V, and by threshold."""
    return SmallBuffers(
        {side: vegas_runs.runs_of(side, SMALL_BUFFER) for side in vegas_runs.SIDES},
        {side: vegas_runs.runs_of(side) for side in vegas_runs.SIDES},
        (vegas_runs.ns2_runs(SMALL_BUFFER), vegas_runs.ns2_runs()),
        max(
            float(evidence.frame(vegas_runs.SMALL_BUFFER_RUNS, "nodes")["peak_queued"].max()),
            float(vegas_runs.packets(WITHOUT, "nodes", SMALL_BUFFER)["peak"].max()),
        ),
        {(side, times): by_threshold(side, times) for side in (WITHOUT, WITH) for times in TIMES},
        {
            (side, times, buffer): packet_level.vegas(side, False, times, buffer)
            for side in (WITHOUT, WITH)
            for times in (1, BUNDLED_FACTOR)
            for buffer in BUFFERS
        },
    )


measure.constants_of(vegas_runs)


Runs = vegas_runs.VegasRuns | Thresholds
"""Runs with losses and means, both (runs,)."""


def _falls(small: Runs, large: Runs, marked: float, level: float) -> Verdict:
    """Return whether the mean with the small buffer is below a part of that with the large one."""
    means = studies.mean_of(large.means), studies.mean_of(small.means)
    return everywhere([combine(means, (marked, -1.0))], level)


Pair = tuple[Runs, Runs]
"""Runs with the small buffer, and with the large one."""


def _verdicts(alone: Pair, shaped: Pair | None, marked: float, apart: float, level: float) -> dict[str, Verdict]:
    """Judge the runs of one source without DFC, and with it where it has them."""
    small, large = alone
    verdicts = {"lossy": studies.lossless(small.lost, level).opposite, "falls": _falls(small, large, marked, level)}
    if shaped is not None:
        small, large = shaped
        same = studies.lossless(small.lost, level), studies.alike(small.means, large.means, apart, level)
        verdicts["dfc_same"] = Verdict.all_of(same)
    return verdicts


def _sides(model: Mapping[str, Verdict], packets: Mapping[str, Verdict]) -> Judgement:
    return {key: Sides(verdict, packets[key]) for key, verdict in model.items()}


@measure.judge
def judge(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN, level: float = LEVEL
) -> Judgement:
    """Judge losses and a marked fall without DFC, and neither with it."""
    judged = _of_ns3(found, marked, apart, level)
    for key, verdict in _of_ns2(found, marked, apart, level).items():
        judged[key] = judged[key]._replace(packets=agreed((judged[key].packets, verdict)))
    return judged


def _of_ns3(found: SmallBuffers, marked: float, apart: float, level: float) -> Judgement:
    """Judge the fluid, and ns-3 as the packets."""
    pairs = {side: list(zip(found.small[side], found.large[side], strict=True)) for side in (WITHOUT, WITH)}
    sources = zip(*pairs.values(), strict=True)
    return _sides(*(_verdicts(alone, shaped, marked, apart, level) for alone, shaped in sources))


def _of_ns2(found: SmallBuffers, marked: float, apart: float, level: float) -> dict[str, Verdict]:
    """Judge ns-2, which has no DFC."""
    return _verdicts(found.ns2, None, marked, apart, level)


@measure.readings
def readings(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN, level: float = LEVEL
) -> dict[str, Judgement]:
    """Judge a Vegas that keeps more packets in queues."""
    pairs = {
        side: [
            (each.runs[SMALL_BUFFER], each.runs[vegas_runs.LARGE_BUFFER])
            for each in found.by_threshold[side, BUNDLED_FACTOR]
        ]
        for side in (WITHOUT, WITH)
    }
    sources = zip(*pairs.values(), strict=True)
    return {PATIENT: _sides(*(_verdicts(alone, shaped, marked, apart, level) for alone, shaped in sources))}


@measure.packet_level
def at_packet_level(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN, level: float = LEVEL
) -> dict[str, Verdict]:
    """Judge hopflow's packet level with the usual thresholds."""
    return _at_level(found, 1, marked, apart, level)


@measure.level_in_readings
def at_packet_level_in_readings(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN, level: float = LEVEL
) -> ByReading:
    """Judge a Vegas that keeps more packets in queues at hopflow's packet level."""
    return {PATIENT: _at_level(found, BUNDLED_FACTOR, marked, apart, level)}


def _at_level(found: SmallBuffers, times: int, marked: float, apart: float, level: float) -> dict[str, Verdict]:
    alone, shaped = (
        (found.level[side, times, SMALL_BUFFER], found.level[side, times, vegas_runs.LARGE_BUFFER])
        for side in (WITHOUT, WITH)
    )
    return _verdicts(alone, shaped, marked, apart, level)


@measure.simulators
def by_simulators(
    found: SmallBuffers, *, marked: float = MARKED, apart: float = vegas_runs.SAME_MEAN, level: float = LEVEL
) -> BySimulator:
    """Judge each simulator by its own runs: ns-3 has both sides, ns-2 none with DFC; with other thresholds ns-2 has no DFC, ns-3 has it."""
    usual = by_simulator({"": _of_ns3(found, marked, apart, level)}, dict.fromkeys(("lossy", "falls", "dfc_same"), NS3))
    for key, verdict in _of_ns2(found, marked, apart, level).items():
        usual[""][key]["ns-2"] = verdict
    others = readings(found, marked=marked, apart=apart, level=level)
    return usual | by_simulator(others, {"lossy": NS2, "falls": NS2, "dfc_same": NS3})


@measure.draw
def losses_by_threshold(found: SmallBuffers) -> Figure:
    """Draw the packets lost without DFC by Vegas' thresholds."""
    fig, ax = figure()
    runs = [found.by_threshold[WITHOUT, times] for times in TIMES]
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
