"""Simulation of a scenario: checks the input, compiles a plan, runs the engine, returns a trajectory."""

from __future__ import annotations

import functools
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine import driver
from dfcmodel.engine.kernel import columns
from dfcmodel.engine.kernel.columns import DELIVERED, FINISHED, FIRST_LOSS, LOST, QUEUE, SENT, WATCH
from dfcmodel.engine.plans import compile_scenario
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.disciplines import DFC
from dfcmodel.results.trajectories import Trajectory
from dfcmodel.theory.stability import endless_limit
from hopflow.checks import choice, number, whole

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats
    from dfcmodel.engine.plans import Plan
    from dfcmodel.network.networks import Scenario

__all__ = ["simulate"]

BACKENDS: dict[str, Callable[..., Any]] = {
    "numba": driver.advance,
    "python": functools.partial(driver.advance, compiled=False),
}


def simulate(
    scenario: Scenario,
    method: Fluid | Packets | None = None,
    *,
    duration: float | None = None,
    steps_per_delay: int = 4,
    sample: float | None = None,
    jitter: float = 0.0,
    packet_jitter: float = 0.0,
    rng: np.random.Generator | int | None = 0,
    backend: str = "numba",
) -> Trajectory:
    """Simulate a scenario as a fluid in discrete time, or packet by packet.

    Parameters
    ----------
    scenario
        The scenario to simulate, for example ``takano2006("1")``.
    method
        ``Fluid(...)``, ``Packets(...)``, or None: the fluid with ``steps_per_delay`` and ``backend``.
    duration
        Simulated time in s; None is the scenario's.
    steps_per_delay
        m: the time step is h = shortest link delay / m. First-loss times and peak queues converge
        with first order in h.
    sample
        Sampling interval of the records in s, rounded to whole steps. None is 1 ms, or the step if
        that is longer.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, in s; a fluid
        resolves it within a step.
    packet_jitter
        Upper end of the uniform distribution by which a sender delays each packet, in s; for
        `Packets` alone.
    rng
        Seed or generator of the feedback phases, the jitter, on/off times, RED, and the rounding of
        fractional losses to whole packets.
    backend
        ``"numba"``, or ``"python"``: the same code uncompiled, hundreds of times slower.

    Returns
    -------
    Trajectory
        The records of the run; ``status`` says whether every packet is accounted for.

    Raises
    ------
    ValueError
        For a parameter out of range.
    ArithmeticError
        When a number becomes NaN; the message names the time and the queue or flow.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", tcp="newreno"), duration=0.1)
    >>> run.status.ok
    True
    >>> run.efficiency.sizes["time"]
    100
    """
    if isinstance(method, Packets):
        return _simulate_packets(scenario, method, duration, sample, jitter, packet_jitter, rng)
    if method is not None:
        steps_per_delay, backend = method.steps_per_delay, method.backend
    if packet_jitter != 0.0:
        raise ValueError("packet_jitter: a fluid has no packets; use method=Packets(...)")
    m = whole("steps_per_delay", steps_per_delay, 1, 10_000)
    choice("backend", backend, BACKENDS)
    h = min(link.delay for link in scenario.links) / m
    end = scenario.duration if duration is None else float(number("duration", duration, above=0.0))
    if sample is None:
        sample = min(max(1e-3, h), end)
    number("sample", sample, at_least=h, at_most=end, hint=f"in s; the step is {h:g} s")
    number("jitter", jitter, at_least=0.0, at_most=end)
    _warn_if_unstable(scenario)
    random = np.random.default_rng(rng)
    starts = np.array([flow.start for flow in scenario.flows])
    starts += random.uniform(0.0, jitter, len(starts))
    plan = compile_scenario(scenario, m, random, duration=end, starts=starts)
    state = plan.state
    every = max(1, round(sample / h))
    samples = math.ceil(round(end / h) / every)
    F = len(scenario.flows)
    began = time.perf_counter()
    record, queued, lost_at = BACKENDS[backend](plan, samples * every, every)
    seconds = time.perf_counter() - began
    places = {node: n for n, node in enumerate(scenario.senders)}
    N = len(places)
    ring = state.ring.reshape(-1, len(state.up))
    occupancy, lost, peak = np.zeros((N, samples)), np.zeros((F, N, samples)), np.zeros(N)
    carried, mean_queue = np.zeros((F, N)), np.zeros((F, N))
    for f, flow in enumerate(scenario.flows):
        last, ahead = (
            f,
            0,
        )  # a link that never queues carries the packets of the last cell before it
        for n, c in zip(scenario.path_index(flow), plan.hop_cells[f], strict=True):
            node = places[scenario.links[n].source]
            last, ahead = (c, state.lag[c]) if c >= 0 else (last, ahead)
            carried[f, node] = ring[(samples * every - 1 + ahead) % len(ring), last]
            ahead -= round(scenario.links[n].delay / h)
            if c >= 0:
                occupancy[node] += queued[:, c]
                lost[f, node] += lost_at[:, c]
                mean_queue[f, node] = state.area_ever[c] / (samples * every)
    for i, n in enumerate(plan.links):
        cells = slice(*state.cells[i])
        peaks = state.cell[cells, WATCH]
        most = max(state.peak[i], np.where(np.isfinite(peaks), peaks, 0.0).max())
        node = places[scenario.links[n].source]
        peak[node] = max(peak[node], most)
    return Trajectory(
        scenario=scenario,
        step=h,
        time=every * h * np.arange(1.0, samples + 1.0),
        in_transit=record[:, :, 0].T.copy(),
        delivered=record[:, :, 1].T.copy(),
        window=record[:, :, 2].T.copy(),
        backlog=record[:, :, 3].T.copy(),
        round_trip=np.where(record[:, :, 4] > 0.0, record[:, :, 4], np.nan).T.copy(),
        lost=lost,
        queued=occupancy,
        peak_queue=peak,
        timeouts=state.tcp[:, columns.TIMEOUTS].astype(int),
        loss_events=state.tcp[:, columns.EPISODES].astype(int),
        imbalance=_imbalance(plan, samples * every),
        seconds=seconds,
        first_loss=state.tally[:, FIRST_LOSS].copy(),
        finished=state.tally[:, FINISHED].copy(),
        carried=carried,
        mean_queue=mean_queue,
    )


def _simulate_packets(
    scenario: Scenario,
    method: Packets,
    duration: float | None,
    sample: float | None,
    jitter: float,
    packet_jitter: float,
    rng: np.random.Generator | int | None,
) -> Trajectory:
    """Check the parameters common to both levels and run the packet-level simulation."""
    from dfcmodel.packets.simulation import simulate_packets

    end = scenario.duration if duration is None else float(number("duration", duration, above=0.0))
    sample = min(1e-3, end) if sample is None else sample
    number("sample", sample, above=0.0, at_most=end, hint="in s")
    number("jitter", jitter, at_least=0.0, at_most=end)
    number("packet_jitter", packet_jitter, at_least=0.0, at_most=end, hint="in s")
    if method.seed is None and not method.is_ns2:
        drawn = np.random.default_rng(rng).integers(1, 2**31 - 1)
        method = replace(method, seed=int(drawn))
    return simulate_packets(
        scenario, method, duration=end, sample=sample, jitter=jitter, packet_jitter=packet_jitter
    )


def _warn_if_unstable(scenario: Scenario) -> None:
    """Warn of the first link whose law is unstable on an endless chain (von Neumann)."""
    for link in scenario.links:
        if isinstance(link.discipline, DFC):
            D, alpha = link.discipline.diffusion, link.discipline.intensity
            limit = endless_limit(alpha, "closed")
            if limit < D:
                msg = f"beyond {limit:.4g}, its stability limit on an endless chain (alpha = {alpha:g})"
                warnings.warn(f"diffusion of link {link.name} = {D:g}: {msg}", stacklevel=3)
                return


def _imbalance(plan: Plan, steps: int) -> Floats:
    """Return packets emitted less delivered, lost, queued and in transit, relative, shape (F,)."""
    s = plan.state
    ring = s.ring.reshape(-1, len(s.up))
    arrived = ring[(steps - 1) % len(ring)]  # cumulative arrivals from each cell
    found = np.zeros(len(s.flow))
    for f in range(len(found)):
        path = [f, *s.path[s.path_at[f] : s.path_at[f + 1]]]
        emitted = s.tcp[f, columns.EMITTED]
        inside = emitted - s.cell[f, SENT] + (s.cell[path, SENT] - arrived[path]).sum()
        inside += s.cell[path[1:], QUEUE].sum()
        lost = s.cell[path, LOST].sum()
        found[f] = abs(emitted - s.tally[f, DELIVERED] - lost - inside) / max(emitted, 1.0)
    return found
