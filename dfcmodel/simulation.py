"""Simulation of a scenario: checks the input, compiles a plan, runs the engine, returns a trajectory."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dfcmodel.engine import driver
from dfcmodel.engine.kernel.records import RATE_RULE, WINDOW
from dfcmodel.engine.plans import compile_scenario
from dfcmodel.engine.remains import (
    acks_under_way,
    dropped_packets,
    most_excess,
    packets_inside,
    remaining_packets,
    times_of_pauses,
)
from dfcmodel.engine.sender_tables import RECOVERY_NAMES
from dfcmodel.engine.step_doubling import double_steps
from dfcmodel.levels.choices import choose_level, warn_of_doubt
from dfcmodel.levels.predictions import check_cost
from dfcmodel.levels.refusals import check_other_level
from dfcmodel.methods import Fluid, Level, Packets, method_of
from dfcmodel.network.disciplines import DFC
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.notifications import notifications_of
from dfcmodel.network.phase_effects import packet_wait, random_starts
from dfcmodel.results.pauses import intervals_of
from dfcmodel.results.records import with_fields
from dfcmodel.results.trajectories import Trajectory
from dfcmodel.theory.stability import endless_limit
from hopflow.checks import instance, number, one_number, random_source
from hopflow.deprecations import renamed
from hopflow.status import ConvergenceError
from hopflow.units import declares, in_units, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.engine.driver import Records
    from dfcmodel.engine.plans import Plan

    Floats = NDArray[np.float64]

__all__ = ["simulate"]

MOST_RECORDED = 1e9
"""Samples times flows and links of a packet run: 8 GB for each quantity that is recorded."""


@renamed(rng="seed")
@declares(packet_jitter="time")
@quantities(duration="time", sample="time", jitter="time", max_cpu_time="time")
def simulate(
    scenario: Scenario,
    method: Fluid | Packets | None = None,
    *,
    level: Level | None = None,
    duration: float | str | None = None,
    sample: float | str | None = None,
    jitter: float | str = 0.0,
    packet_jitter: float | str | None = None,
    seed: np.random.Generator | int | None = 0,
    max_cpu_time: float | str | None = None,
) -> Trajectory:
    """Simulate a scenario as a fluid in discrete time, or packet by packet.

    Times are numbers of seconds or texts such as ``"200ms"``.

    Parameters
    ----------
    scenario
        The scenario to simulate, for example ``takano2006("1")``.
    method
        The settings of a level, ``Fluid(...)`` or ``Packets(...)``; None: the defaults of ``level``.
    level
        ``"fluid"``, ``"packets"``, or ``"auto"``: the one that `choose_level` picks from measured errors and costs;
        ``choice`` of the result says which, and why, and a warning where it is known to be wrong or nothing is known.
        None: that of ``method``, or ``"auto"`` without one.
    duration
        Simulated time in s, rounded to a step; None is the scenario's.
    sample
        Sampling interval of the records in s, rounded to whole steps. None is 1 ms, or the step if
        that is longer. The last one ends with the run and may be shorter; where no 1st to 32nd part of
        a sample divides the duration, all samples of a packet-level run are a little shorter.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, in s; a fluid
        resolves it within a step. With the same seed both levels have the same starts.
    packet_jitter
        Upper end of the uniform distribution by which a window-controlled sender delays each packet,
        in s, or in times of a packet on the slowest link that a flow crosses: ``"1pkt"``. Packets that come during a wait are sent at its end, in order (``overhead_`` in ns-2). A
        fluid resolves waits of many packets where its step is at most a third of ``packet_jitter``. With
        ``Packets(convention="ns2")`` the waits are not those that ns-2 draws: runs agree in distribution. None: 0; with
        ``level="auto"`` that of `choose_level`, one packet time where packets may have phase effects.
    seed
        Seed or generator of the feedback phases, the jitters, on/off times, RED, and the rounding of
        fractional losses to whole packets.
    max_cpu_time
        Largest predicted CPU time in s; ``math.inf``: no limit. None: a run that is predicted to take more than a
        minute warns before it starts, one of more than three hours is refused. Predictions are those of
        `choose_level`, of the compiled engines.

    Returns
    -------
    Trajectory
        The records of the run; ``status`` says whether every packet is accounted for.

    Raises
    ------
    ValueError
        For a parameter out of range, and for a run that is predicted to take too long (``max_cpu_time``).
    ConvergenceError
        When ``Fluid(accuracy=...)`` would take a finer step than allowed; ``result`` is the finest run.
    ArithmeticError
        When a number becomes NaN; the message names the time and the queue or flow.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", tcp="newreno"), duration=0.1, level="fluid")
    >>> run.status.ok
    True
    >>> run.efficiency.sizes["time"]
    100
    """
    instance("scenario", scenario, Scenario)
    settings = method_of(level, method)
    seed = random_source("seed", seed)
    end = run_end(scenario, duration)
    if settings is None:
        chosen = choose_level(scenario, duration=end)
        run = simulate(
            scenario, chosen.method, duration=end, sample=sample, jitter=jitter,
            packet_jitter=chosen.packet_jitter if packet_jitter is None else packet_jitter,
            seed=seed, max_cpu_time=max_cpu_time,
        )  # fmt: skip
        warn_of_doubt(scenario, chosen)
        return with_fields(run, choice=chosen.reason)
    late = in_units("jitter", jitter, "time")
    late = one_number("jitter", late, at_least=0.0, at_most=end, hint=f"in s; duration = {end:g}")
    wait = packet_wait(scenario, packet_jitter)
    wait = one_number("packet_jitter", wait, at_least=0.0, at_most=end, hint="in s")
    every = None
    if sample is not None:
        every = one_number("sample", in_units("sample", sample, "time"), above=0.0)
    given = _Times(end, every, late, wait)
    check_cost(scenario, settings, end, max_cpu_time)
    try:
        run = with_fields(_simulate(scenario, settings, given, seed), packet_jitter=wait)
    except ValueError as error:
        check_other_level(scenario, settings, error)
        raise
    return run


class _Times(NamedTuple):
    """End of a run, its sampling interval (None: the level's) and the largest delays of starts and of packets, in s."""

    end: float
    sample: float | None
    jitter: float
    packet_jitter: float


def _simulate(
    scenario: Scenario,
    method: Fluid | Packets,
    given: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Run a level."""
    if isinstance(method, Packets):
        return _simulate_packets(scenario, method, given, seed)
    if method.accuracy is not None:
        return _to_accuracy(scenario, method, method.accuracy, given, seed)
    return _simulate_fluid(scenario, method, given, seed)


def _to_accuracy(
    scenario: Scenario,
    method: Fluid,
    accuracy: float,
    given: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Run the fluid with finer and finer steps, on the same random numbers, until it is accurate enough."""
    random = np.random.default_rng(seed)

    def run(m: int) -> Trajectory:
        finer = replace(method, steps_per_delay=m, accuracy=None)
        return _simulate_fluid(scenario, finer, given, copy.deepcopy(random))

    def goodput(run: Trajectory) -> Floats:
        found: Floats = run.mean_goodput() / scenario.slowest_rates
        return found

    found = double_steps(
        run, goodput, accuracy, method.steps_per_delay, method.most_steps_per_delay
    )
    result: Trajectory = replace(found.run, step_error=found.error, accuracy=accuracy)
    if found.error > accuracy:
        error = ConvergenceError(result)
        said = (
            f"{found.steps_per_delay} steps per delay leave an estimated error of {found.error:.2g}"
        )
        hint = (
            "use a larger one or most_steps_per_delay. If check_step(scenario) says chaotic, a finer step loses other packets and "
            "is no more accurate: compare the means of ensemble(scenario)"
        )
        error.args = (
            f"accuracy = {accuracy:g} of {scenario.name!r}: {said} of the path's rate; {hint}",
        )
        raise error
    return result


def _simulate_fluid(
    scenario: Scenario,
    method: Fluid,
    given: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Run the fluid."""
    end, sample, jitter, packet_jitter = given
    h = method.step_of(scenario)
    one_number("duration", end, at_least=h, hint=f"in s; the step is {h:g} s")
    if sample is None:
        sample = min(max(1e-3, h), end)
    number("sample", sample, at_least=h, at_most=end, hint=f"in s; the step is {h:g} s")
    _warn_if_unstable(scenario)
    random = np.random.default_rng(seed)
    starts = random_starts(scenario, jitter, random)
    plan = compile_scenario(
        scenario, method, random, duration=end, starts=starts, packet_jitter=packet_jitter
    )
    every = max(1, round(sample / h))
    steps = max(1, round(end / h))
    record = driver.advance(plan, steps, every)
    run = _trajectory(plan, record, starts, steps, every)
    return run if plan.scenario is scenario else replace(run, scenario=scenario)


def _trajectory(plan: Plan, record: Records, starts: Floats, steps: int, every: int) -> Trajectory:
    """Return what was recorded of a run, ``every`` so many steps."""
    flows = plan.network.flows
    by_rate = (flows["source"] == RATE_RULE)[:, np.newaxis]
    in_transit, delivered, window, backlog, round_trip = np.moveaxis(record.flows, 0, -1).swapaxes(
        0, 1
    )
    return Trajectory(
        scenario=plan.scenario,
        step=plan.step,
        time=plan.step * np.minimum(every * np.arange(1.0, len(record.flows) + 1.0), steps),
        in_transit=in_transit * _propagating(plan)[:, np.newaxis],
        delivered=delivered.copy(),
        window=np.where(by_rate, 0.0, window),
        rate=np.where(by_rate, window, np.nan),
        backlog=backlog.copy(),
        round_trip=np.where(round_trip > 0.0, round_trip, np.nan),
        timeouts=flows["timeouts"].copy(),
        loss_events=flows["loss_events"].copy(),
        notifications=notifications_of(plan.scenario.table, flows, np.arange(len(flows))),
        imbalance=_imbalance(plan, steps),
        seconds=record.seconds,
        first_loss=flows["first_loss"].copy(),
        finished=flows["finished"].copy(),
        started=starts,
        paused=intervals_of(times_of_pauses(plan, record.switches), steps * plan.step),
        recoveries=tuple(
            RECOVERY_NAMES[int(flow["recovery"])] if flow["source"] == WINDOW else ""
            for flow in flows
        ),
        dropped=dropped_packets(plan),
        excess=most_excess(plan),
        remaining=remaining_packets(plan, record.sent_before),
        emitted=flows["emitted"].copy(),
        inside=packets_inside(plan, steps) + acks_under_way(plan, steps),
        **_at_nodes(plan, record, steps),
    )


def _propagating(plan: Plan) -> Floats:
    """Return the part of the way from a flow's first queue that is propagation; shape (F,).

    The rest are transmission times, and what the way back leaves of a whole step.
    """
    scenario, layout = plan.scenario, plan.layout
    parts = np.ones(len(scenario.flows))
    for f, flow in enumerate(scenario.flows):
        own = layout.path[layout.path_at[f] : layout.path_at[f + 1]]
        way = plan.step * float(np.sum(layout.lag[own] + 1.0 - layout.weight[own]))
        delay = sum(scenario.links[n].delay for n in scenario.path_index(flow))
        if abs(way / delay - 1.0) > 1e-9:
            parts[f] = delay / way
    return parts


def _at_nodes(plan: Plan, record: Records, steps: int) -> dict[str, Any]:
    """Return what was recorded at the sending nodes, fields of `Trajectory`."""
    scenario, queues, layout = plan.scenario, plan.network.queues, plan.layout
    nodes = {node: n for n, node in enumerate(scenario.senders)}
    F, N, T = len(scenario.flows), len(nodes), len(record.queued)
    wire = plan.network.wire
    found = {
        "queued": np.zeros((N, T)),
        "lost": np.zeros((F, N, T)),
        "peak_queue": np.zeros(N),
        "carried": np.zeros((F, N)),
        "mean_queue": np.zeros((F, N)),
    }
    for f, flow in enumerate(scenario.flows):
        last, ahead = f, 0  # a link that never queues carries its arrivals over the last queue's
        for n, c in zip(scenario.path_index(flow), layout.hop_queues[f], strict=True):
            node = nodes[scenario.links[n].source]
            last, ahead = (c, queues["lag"][c]) if c >= 0 else (last, ahead)
            found["carried"][f, node] = wire[(steps - 1 + ahead) % len(wire), last]
            ahead -= round(layout.delays[n])
            if c >= 0:
                found["queued"][node] += record.queued[:, c]
                found["lost"][f, node] += record.lost[:, c]
                found["mean_queue"][f, node] = queues["mean_area"][c] / steps
    for i, n in enumerate(layout.order):
        own = queues["peak"][slice(*layout.queues[i])]
        most = max(plan.network.links["peak"][i], np.where(np.isfinite(own), own, 0.0).max())
        node = nodes[scenario.links[n].source]
        found["peak_queue"][node] = max(found["peak_queue"][node], most)
    return found


def _simulate_packets(
    scenario: Scenario,
    method: Packets,
    given: _Times,
    seed: np.random.Generator | int | None,
) -> Trajectory:
    """Check ``sample`` and run the packet-level simulation."""
    from dfcmodel.packets.simulation import simulate_packets

    end = given.end
    sample = min(1e-3, end) if given.sample is None else given.sample
    number("sample", sample, above=0.0, at_most=end, hint="in s")
    flows, links = len(scenario.table), len(scenario.link_table)
    least = end * (flows + links) / MOST_RECORDED
    if sample < least:
        said = f"{end / sample:.2g} samples of {flows} flows and {links} links"
        raise ValueError(f"sample = {sample:g}: must be at least {least:.2g}, in s; {said}")
    random = np.random.default_rng(seed if method.seed is None else method.seed)
    starts = random_starts(scenario, given.jitter, random) if given.jitter else None
    if method.seed is None and not method.is_ns2:
        method = replace(method, seed=int(random.integers(1, 2**31 - 1)))
    return simulate_packets(
        scenario, method, duration=end, sample=sample, starts=starts,
        packet_jitter=given.packet_jitter,
    )  # fmt: skip


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
    """Packets emitted less those delivered, lost, queued, in transit or waiting; relative, (F,)."""
    flows, queues = plan.network.flows, plan.network.queues
    found = np.zeros(len(flows))
    for f, (flow, inside) in enumerate(zip(flows, packets_inside(plan, steps), strict=True)):
        path = [f, *plan.layout.path[flow["path_first"] : flow["path_end"]]]
        known = flow["delivered"] + queues["lost"][path].sum() + inside
        found[f] = abs(flow["emitted"] - known) / max(flow["emitted"], 1.0)
    return found
