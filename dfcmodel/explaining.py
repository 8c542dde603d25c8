"""Explain the gap between fluid and packet level: run both with every subset of their refinements."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.explanations import UNEXPLAINED, Explanation
from dfcmodel.levels.instances import (
    RandomRuns,
    Runs,
    build_runs,
    check_seed,
    refuse_one_level,
)
from dfcmodel.levels.quantities import Measure, Quantity, quantities_of
from dfcmodel.levels.refinements import (
    Refinement,
    default_refinements,
    usual_refinements,
    waits_in_seconds,
    with_refinements,
)
from dfcmodel.levels.stack_parts import parts_of_stacks
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.networks import Scenario
from dfcmodel.network.phase_effects import packet_wait
from dfcmodel.results.limits import limits_of_several
from dfcmodel.simulation import simulate
from hopflow.checks import instance, instances, integer, one_number
from hopflow.deprecations import takes_options
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.sweeps.executors import Bar, check_executor, run_tasks

if TYPE_CHECKING:
    from hopflow.results import Status

__all__ = ["explain"]

MAX_REFINEMENTS = 6
"""Refinements of one level: 64 settings."""


@takes_options(RandomRuns)
def explain(
    scenario: Scenario,
    measures: Measure | Sequence[Measure] = "share",
    *,
    refinements: Iterable[Refinement] | None = None,
    runs: int = 8,
    fluid: Fluid | None = None,
    packets: Packets | None = None,
    executor: Executor | None = None,
    options: RandomRuns | None = None,
) -> Explanation:
    """Return the gap between packets and fluid, and each refinement's part; ``executor`` None: a thread per core.

    The fluid runs with every subset of its refinements, packets with every subset of theirs, each for
    several seeds; in one run all settings have the same starts and seed. Contributions are Shapley values,
    which need no order (`Explanation.in_order` takes one).

    Where flows have a ``stack``, packets also run without each of its parts in turn, once per seed and part: see
    `Explanation.stack_effects`.

    Warns where phase effects decide the packet runs, which is measured: see `Explanation.limits`.

    Parameters
    ----------
    scenario
        What to simulate at both levels.
    measures
        ``"share"``, ``"losses"``, ``"first_loss"``, ``"completion"``, ``"paused"``, or a function of a
        `Trajectory` that returns a number; one or several. All come from the same runs.
    refinements
        None: `default_refinements` of the scenario, in which the levels differ. With
        ``default_refinements(scenario, shared=True)`` the parts that both levels have are counted as well, from a
        fluid without them. At most 6 for each level.
    runs
        Number of seeds, at least 2.
    fluid, packets
        The levels with settings that no refinement changes, such as ``Fluid(steps_per_delay=8)``.
    executor
        As for `ensemble`; None: one thread per core.
    options
        Duration, starts, seed and random delays of the runs at both levels, and the time from which shares are
        measured, see `RandomRuns`; None: the defaults.

    Raises
    ------
    ValueError
        For a parameter out of range, and for a scenario that only one level can run; before any run.

    Examples
    --------
    >>> from dfcmodel import RandomRuns, explain, takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> explanation = explain(scenario, "first_loss", runs=2, options=RandomRuns(duration=0.1))
    >>> explanation.parts
    ('whole losses', 'unexplained', 'packet phases', 'queued ACKs')
    """
    instance("scenario", scenario, Scenario)
    watch = Stopwatch()
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    packets = Packets() if packets is None else instance("packets", packets, Packets)
    refuse_one_level(scenario, packets)
    check_executor(executor)
    options = RandomRuns.of(options)
    random_runs = build_runs(scenario, fluid, runs, options)
    check_seed(packets, random_runs)
    quantities = quantities_of(scenario, measures, options.since)
    packet_jitter = options.packet_jitter
    wait = one_number("packet_jitter", packet_wait(scenario, packet_jitter), at_least=0.0, at_most=random_runs.duration)
    chosen = default_refinements(scenario)
    if refinements is not None:
        requested = instances("refinements", refinements, Refinement)
        chosen = tuple(waits_in_seconds(refinement, scenario) for refinement in requested)
    if packet_jitter is not None:
        chosen = tuple(
            refinement for refinement in chosen if "packet_jitter" not in {**refinement.off, **refinement.on}
        )
    pairs = [(scenario, setting) for setting in _level_settings(chosen, fluid, packets, wait)]
    parts, full = parts_of_stacks(scenario, packets), pairs[-1][1]
    for part in parts:
        method = replace(full["method"], recovery=part.method.recovery)
        pairs.append((part.scenario, {**full, "method": method}))
    tasks = [
        _Task(simulated, seeds, setting, random_runs, quantities)
        for seeds in random_runs.seeds()
        for simulated, setting in pairs
    ]
    by_task = dict(run_tasks(_run_tasks, tasks, executor, threads=True, bar=Bar(scenario.name, "run")))
    results = [by_task[n] for n in range(len(tasks))]
    values = np.array([result.values for result in results]).reshape(random_runs.count, len(pairs), len(quantities))
    fluids = 2 ** sum(refinement.level == "fluid" for refinement in chosen)
    usual = usual_refinements(fluid, [refinement for refinement in chosen if refinement.level == "fluid"], wait)
    explanation = Explanation(
        scenario=scenario,
        quantities=quantities,
        refinements=tuple(sorted(chosen, key=lambda refinement: refinement.level)),  # fluid, then packets
        fluid=values[:, :fluids],
        packets=values[:, fluids : len(pairs) - len(parts)],
        stack=tuple(part.name for part in parts),
        without=values[:, len(pairs) - len(parts) :],
        usual=usual,
        statuses=tuple(result.status for result in results),
        limits_of_fluid=limits_of_several([result.limits for result in results[usual :: len(pairs)]]),
        seed=random_runs.seed,
        jitter=random_runs.jitter,
        packet_jitter=wait,
        seconds=watch.seconds(),
    )
    if phases := explanation.phase_effects:
        warnings.warn(f"{scenario.name!r}: {phases}", stacklevel=3)
    return explanation


def _level_settings(
    refinements: Sequence[Refinement], fluid: Fluid, packets: Packets, wait: float
) -> list[dict[str, Any]]:
    """Return the arguments of `simulate` for all 2^n subsets of the fluid's refinements, then of the packets'."""
    names = [refinement.name for refinement in refinements]
    for name in (*names, UNEXPLAINED):
        if names.count(name) > (name != UNEXPLAINED):
            raise ValueError(f"refinements: {name!r} must occur once, and {UNEXPLAINED!r} never")
    arguments = []
    for level, method in (("fluid", fluid), ("packets", packets)):
        of_level = [refinement for refinement in refinements if refinement.level == level]
        integer(f"number of refinements of level {level!r}", len(of_level), 0, MAX_REFINEMENTS)
        arguments += [with_refinements(method, of_level, subset, wait) for subset in range(2 ** len(of_level))]
    return arguments


@dataclass(frozen=True)
class _Task:
    """One run to simulate: a scenario, seeds, a setting of refinements, and the quantities to compute."""

    scenario: Scenario
    seeds: np.random.SeedSequence
    setting: dict[str, Any]
    runs: Runs
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True)
class _Result:
    """Result of a `_Task`: its quantities, and status and known limits of the run."""

    values: list[float]
    status: Status
    limits: tuple[str, ...]


def _run_tasks(tasks: Sequence[_Task]) -> Iterator[_Result]:
    """Simulate tasks one after another and yield a result for each."""
    for task in tasks:
        runs = task.runs
        run = simulate(task.scenario, **runs.settings(task.seeds), **task.setting)
        yield _Result([quantity.of(run) for quantity in task.quantities], run.status, run.limits)
