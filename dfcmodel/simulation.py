"""Run a scenario: the driver between scenarios, the engine and trajectories."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel import engine, reference, sources
from dfcmodel.engine import distinct_rules, prepare
from dfcmodel.results import Trajectory
from hopflow.checks import choice, number, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine import Arrays
    from dfcmodel.scenarios import Scenario

__all__ = ["simulate"]

BACKENDS = {"numba": engine, "numpy": reference}


def simulate(
    scenario: Scenario,
    *,
    duration: float | None = None,
    steps_per_delay: int = 4,
    sample: float = 1e-3,
    jitter: float = 0.0,
    rng: np.random.Generator | int | None = 0,
    backend: str = "numba",
) -> Trajectory:
    """Simulate a scenario as a fluid in discrete time.

    Parameters
    ----------
    scenario
        What to simulate, for example ``takano2006("1")``.
    duration
        Simulated time in s; None is the scenario's.
    steps_per_delay
        m: the step is h = link delay / m. First-loss times and peak queues converge as h.
    sample
        Interval of the records in s, rounded to whole steps.
    jitter
        Each flow starts later by a uniform random time up to this, in s (rounded to steps).
    rng
        Seed or generator of the feedback phases and the jitter.
    backend
        ``"numba"``, or ``"numpy"``: the reference, hundreds of times slower.

    Raises
    ------
    ValueError
        For a parameter out of range.
    """
    m = whole("steps_per_delay", steps_per_delay, 1, 10_000)
    h = scenario.link_delay / m
    end = scenario.duration if duration is None else float(number("duration", duration, above=0.0))
    number("sample", sample, at_least=h, at_most=end, hint=f"in s; the step is {h:g} s")
    number("jitter", jitter, at_least=0.0, at_most=end)
    random = np.random.default_rng(rng)
    arrays = prepare(scenario, m, random)
    arrays.start[:] += np.round(random.uniform(0.0, jitter, len(scenario.flows)) / h).astype(int)
    every = max(1, round(sample / h))
    samples = math.ceil(round(end / h) / every)
    flows, links = arrays.queue.shape
    record = np.zeros((samples, flows, 4))
    lost_at = np.zeros((samples, flows, links))
    occupied = np.zeros((samples, links))
    peak = np.zeros(links)
    run = BACKENDS[choice("backend", backend, BACKENDS)].build_run(tuple(distinct_rules(scenario)))
    began = time.perf_counter()
    stuck = run(
        0, samples * every, every, m, h, scenario.link_rate, float(scenario.buffer),
        float(scenario.intensity), scenario.diffusion / scenario.link_delay,
        scenario.min_rto, scenario.discipline == "dfc",
        ("shaped", "unshaped", "direct").index(scenario.host),
        record, lost_at, occupied, peak, *arrays.values(), *(np.zeros((flows, 2)) for _ in range(4)),
    )  # fmt: skip
    if stuck >= 0:
        raise ArithmeticError(f"{scenario.name}: emission log full at t = {stuck * h:g} s")
    return Trajectory(
        scenario=scenario,
        step=h,
        time=every * h * np.arange(1.0, samples + 1.0),
        in_transit=record[:, :, 0].T.copy(),
        delivered=record[:, :, 1].T.copy(),
        window=record[:, :, 2].T.copy(),
        backlog=record[:, :, 3].T.copy(),
        lost=lost_at.transpose(1, 2, 0).copy(),
        queued=occupied.T.copy(),
        peak_queue=peak,
        timeouts=arrays.tcp[:, sources.TIMEOUTS].astype(int),
        loss_events=arrays.tcp[:, sources.EPISODES].astype(int),
        imbalance=_imbalance(arrays, lost_at),
        seconds=time.perf_counter() - began,
    )


def _imbalance(arrays: Arrays, lost_at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Packets emitted less those received, lost, queued, in transit or waiting; relative, (F,).

    The receiver's position in emission order counts what arrived and the gaps of what was lost
    before; gaps that are still on their way have not been counted there.
    """
    columns = arrays.batches.shape[3] // 2
    gaps = arrays.gaps.sum(axis=(1, 2, 3))
    for (r, i), (first, end) in zip(
        np.ndindex(arrays.heads.shape[:2]), arrays.heads.reshape(-1, 2), strict=True
    ):
        waiting = arrays.batches[r, i].take(range(first, end), axis=0, mode="wrap")
        gaps[r : r + columns] += waiting[:, columns:].sum(axis=0)
    lost = lost_at.sum(axis=(0, 2))
    received = arrays.tcp[:, sources.RECEIVED] - (lost - gaps)
    inside = (
        arrays.queue.sum(axis=1)
        + arrays.line.sum(axis=(1, 2, 3))
        + arrays.access.sum(axis=1)
        + arrays.backlog
    )
    emitted = arrays.tcp[:, sources.EMITTED]
    imbalance: NDArray[np.float64] = np.abs(emitted - received - lost - inside)
    return imbalance / np.maximum(emitted, 1.0)
