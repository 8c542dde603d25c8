"""View: queues along a chain of nodes with diffusion-type flow control and without it."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from dfcmodel import DFC, Packets, Scenario, Trajectory, simulate, takano2006
from validation.explore.views import Chart, Drawing, Frames, Knob, Line, View

__all__ = ["VIEW"]

FRAMES = 60
SAMPLE = 0.01


def _scenario(scenario: str, tcp: str | None, diffusion: float) -> Scenario:
    found = takano2006(scenario, dfc=True, tcp=tcp)
    links = [replace(link, discipline=DFC(diffusion=diffusion)) for link in found.links]
    return replace(found, links=tuple(links))


@functools.lru_cache(maxsize=12)
def _without(scenario: str, tcp: str | None) -> dict[str, Trajectory]:
    """Return the runs without DFC, kept: most of the time goes into them, and D does not change them."""
    chain = takano2006(scenario, dfc=False, tcp=tcp)
    return {
        "none": simulate(chain, sample=SAMPLE),
        "none, packets": simulate(chain, method=Packets(seed=1), sample=SAMPLE),
    }


def _draw(scenario: str, tcp: str | None, diffusion: float) -> Drawing:
    dfc = simulate(_scenario(scenario, tcp, diffusion), sample=SAMPLE)
    runs = {"DFC": dfc, **_without(scenario, tcp)}
    found = list(runs.values())
    curves = [
        Line(label, run.time, np.asarray(run.queued).max(axis=0)) for label, run in runs.items()
    ]
    goodput = [Line(label, run.time, _efficiency(run)) for label, run in runs.items()]
    peak, other = (float(np.asarray(run.queued).max()) for run in found[:2])
    finding = (
        f"Longest queue {peak:.0f} packets with DFC, {other:.0f} without; lost packets "
        f"{found[0].lost.sum():.0f} and {found[1].lost.sum():.0f} (packet level: {found[2].lost.sum():.0f})."
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
    moving = sum(
        np.abs(np.diff(each, axis=1)).sum(axis=0) / max(1.0, each.max()) for each in queued
    )
    last = int(np.searchsorted(np.cumsum(moving), 0.95 * moving.sum())) + 2
    places = np.linspace(0, min(last, len(moving)), FRAMES).round().astype(int)
    heights = np.array([each[:, places] for each in queued])
    title = "Packets queued at each node"
    return Frames(title, "node", "packets", labels, runs[0].time[places], heights)


def _code(scenario: str, tcp: str | None, diffusion: float) -> str:
    return f"""\
from dataclasses import replace

from dfcmodel import DFC, Packets, simulate, takano2006

without = takano2006("{scenario}", dfc=False, tcp={tcp!r})
chain = takano2006("{scenario}", dfc=True, tcp={tcp!r})
links = tuple(replace(link, discipline=DFC(diffusion={diffusion:g})) for link in chain.links)
runs = [
    simulate(replace(chain, links=links), sample={SAMPLE}),
    simulate(without, sample={SAMPLE}),
    simulate(without, method=Packets(seed=1), sample={SAMPLE}),
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
        "The network of takano2006: 30 nodes, links of 370 Mb/s. The fluid model with DFC and without any, and a "
        "packet-level simulation without (there is none of DFC). Another D takes a twentieth of a second, another scenario or TCP up to a second."
    ),
    knobs=(
        Knob("scenario", "Scenario", {"1": "1", "2": "2", "3": "3"}, "1", slider=False),
        Knob("tcp", "TCP", {"none (constant rate)": None, "New Reno": "newreno", "Tahoe": "tahoe", "Vegas": "vegas"},
             "New Reno", slider=False),
        Knob("diffusion", "Diffusion coefficient D", {f"{d:g}": d for d in (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)}, "0.1"),
    ),
    draw=_draw,
    code=_code,
)  # fmt: skip
"""Queues with DFC and without it."""
