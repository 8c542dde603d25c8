"""DCQCN's queue by its gain (Q05), the throughput of incasts (Q07), and the thresholds of the switch (Q06)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hopflow import mbps
from responsefn import DCQCN
from validation.claims import fabric_runs
from validation.claims.effect_statements import Curve, Effects, Statement, beyond
from validation.judgements.keeping import kept
from validation.networks.further_seeds import CASE, over_seeds
from validation.networks.further_seeds import LATER as LATER_CASE
from validation.statistics import of_runs

C = fabric_runs.line(40)
GAINS = (1 / 256, 1 / 16)
SENDERS = (2, 16)
INCASTS = (2, 8, 16)
END, AFTER, SAMPLE = 0.02, 0.008, 2e-5
LATE, LATER = (0.06, 0.02), "20 to 60 ms"
"""End and begin of what is counted in a reading, s, and its name: the figure has no times, and from 8 to 20 ms rates still rise."""
BOTTLENECK = "switch->receiver"


def rule(g: float) -> DCQCN:
    """Return DCQCN as published with another gain."""
    return DCQCN(
        g=g,
        counter=10e6 / fabric_runs.PACKET,
        additive=mbps(40, fabric_runs.PACKET),
        hyper=mbps(400, fabric_runs.PACKET),
    )


def run(count: int, g: float, seed: int, end: float = END, after: float = AFTER) -> fabric_runs.Run:
    """Return an incast at packet level."""
    scenario = fabric_runs.star(count, rule(g), fabric_runs.MARKS, end, begins=fabric_runs.starts(count, seed))
    return fabric_runs.packets(scenario, seed, after, SAMPLE)


def run_of_fluid(count: int, g: float, end: float = END, after: float = AFTER) -> fabric_runs.Run:
    """Return the incast in the fluid, whose marks are drawn."""
    return fabric_runs.fluid(
        fabric_runs.star(count, rule(g), fabric_runs.MARKS, end, begins=fabric_runs.starts(count, 1)),
        after,
        SAMPLE,
    )


@over_seeds(fabric_runs.SEEDS)
def queues(seed: int, count: int, g: float) -> tuple[float, float]:
    """Return mean and standard deviation of the queue over time at packet level."""
    return _queue(run(count, g, seed))


@over_seeds(fabric_runs.EIGHT_SEEDS)
def late_queues(seed: int, count: int, g: float) -> tuple[float, float]:
    """Return the same of `LATE`."""
    return _queue(run(count, g, seed, *LATE))


class Settled(NamedTuple):
    """Mean and standard deviation of the queue over time, packets, and the rate over the link's."""

    mean: float
    deviation: float
    rate: float


def _settled(run: fabric_runs.Run) -> Settled:
    return Settled(*_queue(run), float(run.rates.sum() / C))


@over_seeds(fabric_runs.SEEDS)
def settled(seed: int, count: int, g: float) -> Settled:
    """Return what an incast has at `fabric_runs.SETTLED` at packet level."""
    return _settled(run(count, g, seed, *fabric_runs.SETTLED))


@kept
def settled_in_fluid(count: int, g: float) -> list[Settled]:
    """Return the same of the fluid, one run."""
    return [_settled(run_of_fluid(count, g, *fabric_runs.SETTLED))]


@kept
def queues_of_fluid(count: int, g: float) -> list[tuple[float, float]]:
    """Return the same of the fluid, one run."""
    return [_queue(run_of_fluid(count, g))]


@kept
def late_queues_of_fluid(count: int, g: float) -> list[tuple[float, float]]:
    """Return the same of `LATE`, one run."""
    return [_queue(run_of_fluid(count, g, *LATE))]


def _queue(run: fabric_runs.Run) -> tuple[float, float]:
    found = run.queue(BOTTLENECK)
    return float(found.mean()), float(found.std())


@fabric_runs.on_fabrics("Q05", cases=(CASE, LATER_CASE))
def gain_of_alpha() -> Effects:
    """Measure the queue's mean and standard deviation by g."""
    own, model, late, late_model, last, last_model = (
        np.array([[of(count, g) for g in GAINS] for count in SENDERS])
        for of in (queues, queues_of_fluid, late_queues, late_queues_of_fluid, settled, settled_in_fluid)
    )

    def ratios(found: Any, what: int) -> Any:
        return [
            fabric_runs.gain(large[:, what], small[:, what]) if len(large) > 1 else fabric_runs.exact(*(large[:, what] / small[:, what] - 1.0))[0]
            for small, large in found
        ]  # fmt: skip

    def statements(model: Any, own: Any) -> dict[str, Statement]:
        return {
            key: Statement(model=tuple(ratios(model, what)), level=tuple(ratios(own, what)))
            for key, what in (("steadier", 1), ("shorter", 0))
        }

    return Effects(
        statements(model, own),
        {
            f"{what}, {count} senders": Curve(
                [f"g = 1/{round(1 / g)}" for g in GAINS],
                model=model[n, :, 0, k].tolist(),
                level=[of_runs(own[n, j, :, k]) for j in range(2)],
            )
            for n, count in enumerate(SENDERS)
            for k, what in enumerate(("mean queue", "standard deviation"))
        },
        ("gain", "queue (packets)"),
        values={
            "late": {count: [of_runs(late[n, j, :, 0]) for j in range(2)] for n, count in enumerate(SENDERS)},
            "late_model": {count: late_model[n, :, 0, 0].tolist() for n, count in enumerate(SENDERS)},
        },
        readings={LATER: statements(late_model, late), fabric_runs.WHEN_SETTLED: statements(last_model, last)},
    )


@kept
def used(level: str) -> list[list[float]]:
    """Return the part of the link that incasts use after the first 20 ms, a list of runs for each number of senders."""
    return [
        [
            float(each.rates.sum() / C)
            for each in (
                [run(count, GAINS[0], seed, 0.03, 0.02) for seed in fabric_runs.SEEDS]
                if level == "packets"
                else [run_of_fluid(count, GAINS[0], 0.03, 0.02)]
            )
        ]
        for count in INCASTS
    ]


PRINTED_RATE = 39 / 40
"""Part of the link that the paper prints as the least throughput: more than 39 of 40 Gb/s."""
AS_PRINTED = "the printed rate, more than 39 of 40 Gb/s"


@fabric_runs.on_fabrics("Q07", cases=(LATER_CASE,), least=0.05)
def full_link() -> Effects:
    """Measure the throughput of incasts with DCQCN."""
    own, model = np.array(used("packets")), np.array(used("fluid"))
    late, late_model = (
        np.array([[each.rate for each in of(count, GAINS[0])] for count in INCASTS])
        for of in (settled, settled_in_fluid)
    )

    def full(model: Any, own: Any) -> Statement:
        return Statement(
            model=fabric_runs.under(*fabric_runs.exact(*(1.0 - model[:, 0]))),
            level=fabric_runs.under(*(of_runs(1.0 - each) for each in own)),
        )

    return Effects(
        {"full": full(model, own)},
        {"DCQCN": Curve(INCASTS, model=model[:, 0].tolist(), level=[of_runs(each) for each in own])},
        ("senders", "rate over the link's"),
        readings={
            AS_PRINTED: {
                "full": Statement(
                    model=fabric_runs.exact(*(model[:, 0] - PRINTED_RATE)),
                    level=tuple(beyond(of_runs(each), PRINTED_RATE) for each in own),
                )
            },
            fabric_runs.WHEN_SETTLED: {"full": full(late_model, late)},
        },
    )


BUFFER, PORTS, CLASSES, HEADROOM, BETA = 12e3, 32, 8, 22.4, 8.0
"""Of the paper's switch; KB."""
PRINTED = {"fixed": 24.47, "dynamic": 21.75}
"""The paper's numbers, KB."""


def thresholds_of_switch() -> dict[str, float]:
    """Return the largest fixed threshold of PFC, and the ECN threshold below which ECN acts first, KB.

    With dynamic thresholds a port may hold beta times the free shared buffer, over its classes. All ports at the ECN threshold t in
    one class leave B - 8 n h - n t free. PFC acts at beta (B - 8 n h - n t) / 8, and t is below that where t < beta (B - 8 n h) / (8 n (beta + 1)),
    with one port of n counting as its share.
    """
    shared = BUFFER - CLASSES * PORTS * HEADROOM
    return {
        "fixed": shared / (CLASSES * PORTS),
        "dynamic": BETA * shared / (CLASSES * PORTS * (BETA + 1.0)),
    }


@fabric_runs.on_fabrics("Q06", equal=0.001)
def switch_thresholds() -> Effects:
    """Compute the thresholds of the switch."""
    found = thresholds_of_switch()
    names = {"fixed": "PFC, fixed", "dynamic": "ECN, dynamic"}
    return Effects(
        {
            key: Statement(model=fabric_runs.exact(value / PRINTED[key] - 1.0), equal=True)
            for key, value in found.items()
        },
        {"threshold": Curve([names[key] for key in found], model=list(found.values()))},
        ("threshold", "KB"),
    )
