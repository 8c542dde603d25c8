"""View: queues along a chain of nodes with diffusion-type flow control and without it."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import DFC, Packets, Scenario, simulate, takano2006
from dfcmodel.results import Trajectory
from validation.explore.views import Chart, Drawing, Frames, Knob, Line, View

FRAMES = 60
SAMPLE = 0.01
LABELS = ("DFC, fluid", "none, fluid", "DFC, packets", "none, packets")
SPEEDS = {"1: 370 Mb/s": "1", "2: 1.23 Gb/s": "2", "3: 3.7 Gb/s": "3"}


def _scenario(scenario: str, tcp: str | None, diffusion: float) -> Scenario:
    found = takano2006(scenario, dfc=True, tcp=tcp)
    links = [replace(link, discipline=DFC(diffusion=diffusion)) for link in found.links]
    return replace(found, links=tuple(links))


@functools.lru_cache(maxsize=12)
def _without(scenario: str, tcp: str | None) -> tuple[Trajectory, Trajectory]:
    """Return the runs without DFC, fluid and packets, kept: D does not change them."""
    chain = takano2006(scenario, dfc=False, tcp=tcp)
    return simulate(chain, sample=SAMPLE, level="fluid"), simulate(chain, method=Packets(seed=1), sample=SAMPLE)


@functools.lru_cache(maxsize=84)
def _with(scenario: str, tcp: str | None, diffusion: float) -> tuple[Trajectory, Trajectory]:
    """Return the runs with DFC, fluid and packets, kept: a packet-level run takes up to half a second."""
    chain = _scenario(scenario, tcp, diffusion)
    return simulate(chain, sample=SAMPLE, level="fluid"), simulate(chain, method=Packets(seed=1), sample=SAMPLE)


def _draw(scenario: str, tcp: str | None, diffusion: float) -> Drawing:
    pairs = zip(_with(scenario, tcp, diffusion), _without(scenario, tcp), strict=True)
    found = [run for pair in pairs for run in pair]
    runs = dict(zip(LABELS, found, strict=True))
    curves = [Line(label, run.time, np.asarray(run.queued).max(axis=0)) for label, run in runs.items()]
    goodput = [Line(label, run.time, _efficiency(run)) for label, run in runs.items()]
    peaks = [float(np.asarray(run.queued).max()) for run in found]
    lost = [float(run.lost.sum()) for run in found]
    finding = (
        f"Longest queue {peaks[0]:.0f} packets with DFC, {peaks[1]:.0f} without; lost packets {lost[0]:.0f} and {lost[1]:.0f}. "
        f"At packet level queues of {peaks[2]:.0f} and {peaks[3]:.0f}, lost packets {lost[2]:.0f} and {lost[3]:.0f}."
    )
    return Drawing(
        finding,
        (
            Chart("Longest queue on the chain", "time (s)", "packets", tuple(curves)),
            Chart("Delivered, of the bottleneck's capacity so far", "time (s)", "share", tuple(goodput)),
        ),
        _frames(tuple(runs), found),
    )  # fmt: skip


def _efficiency(run: Any) -> Any:
    rate = min(link.rate for link in run.scenario.links)
    return run.delivered.sum(axis=0) / (rate * run.time)


def _frames(labels: tuple[str, ...], runs: list[Any]) -> Frames:
    """Return frames of equal time steps, up to the moment at which most has happened."""
    queued = [np.asarray(run.queued) for run in runs]
    moving = sum(np.abs(np.diff(each, axis=1)).sum(axis=0) / max(1.0, each.max()) for each in queued)
    last = int(np.searchsorted(np.cumsum(moving), 0.95 * moving.sum())) + 2
    places = np.linspace(0, min(last, len(moving)), FRAMES).round().astype(int)
    heights = np.array([each[:, places] for each in queued])
    title = "Packets queued at each node"
    return Frames(title, "node", "packets", labels, runs[0].time[places], heights)


def _code(scenario: str, tcp: str | None, diffusion: float) -> str:
    return f"""\
from dataclasses import replace

from dfcmodel import DFC, Fluid, Packets, simulate, takano2006

without = takano2006("{scenario}", dfc=False, tcp={tcp!r})
chain = takano2006("{scenario}", dfc=True, tcp={tcp!r})
links = tuple(replace(link, discipline=DFC(diffusion={diffusion:g})) for link in chain.links)
runs = [
    simulate(network, method=method, sample={SAMPLE})
    for method in (Fluid(), Packets(seed=1))
    for network in (replace(chain, links=links), without)
]
for run in runs:
    print(run.queued.max(), run.lost.sum())  # longest queue, packets lost
runs[0].animate()
"""


VIEW = View(
    name="dfc",
    title="DFC against none",
    question="What does diffusion-type flow control do to the queues of a chain?",
    about=(
        "The network of takano2006: 30 nodes with DFC and without any, in the fluid model and packet by packet. "
        "A setting takes 0.2 to 1.3 s the first time, most of it for packets, and is kept."
    ),
    knobs=(
        Knob("scenario", "Scenario and links", SPEEDS, "1: 370 Mb/s", slider=False),
        Knob("tcp", "TCP", {"none (constant rate)": None, "New Reno": "newreno", "Tahoe": "tahoe", "Vegas": "vegas"},
             "New Reno", slider=False),
        Knob("diffusion", "Diffusion coefficient D", {f"{d:g}": d for d in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)}, "0.1"),
    ),
    draw=_draw,
    code=_code,
)  # fmt: skip
"""Queues with DFC and without it."""
