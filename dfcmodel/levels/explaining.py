"""Explains the gap between a fluid and packets: runs both levels with every subset of refinements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.explanations import UNEXPLAINED, Explanation
from dfcmodel.levels.instances import Runs, checked_runs, refuse_one_level
from dfcmodel.levels.quantities import Measure, Quantity, quantities_of
from dfcmodel.levels.refinements import (
    Refinement,
    default_refinements,
    usual_refinements,
    with_refinements,
)
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.networks import Scenario
from dfcmodel.simulation import simulate
from hopflow.checks import instance, listed, whole
from hopflow.executing import check_executor, completed
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from hopflow.status import Status

__all__ = ["explain"]

MAX_REFINEMENTS = 6
"""Refinements of one level: 64 settings."""


@quantities(duration="time", since="time", jitter="time")
def explain(
    scenario: Scenario,
    measures: Measure | Sequence[Measure] = "share",
    *,
    refinements: Iterable[Refinement] | None = None,
    runs: int = 8,
    duration: WithUnit | None = None,
    since: WithUnit = 0.0,
    jitter: WithUnit | None = None,
    seed: int | np.random.Generator = 0,
    fluid: Fluid | None = None,
    packets: Packets | None = None,
    executor: Executor | None = None,
) -> Explanation:
    """Return how far packets are from the bare fluid, and how much of it each refinement accounts for.

    The fluid runs with every subset of its refinements, packets with every subset of theirs, each for
    several seeds; in one run all settings have the same starts and seed. Contributions are Shapley values,
    which need no order (`Explanation.in_order` takes one).

    Parameters
    ----------
    scenario
        What to simulate at both levels.
    measures
        ``"share"``, ``"losses"``, ``"first_loss"``, ``"completion"``, ``"paused"``, or a function of a
        `Trajectory` that returns a number; one or several. All come from the same runs.
    refinements
        None: `default_refinements` of the scenario. At most 6 for each level.
    runs
        Number of seeds, at least 2.
    duration, since
        Simulated time (None: the scenario's), and the start of the measurement of shares, s.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, s; None: the shortest
        round-trip time, so that every phase of the flows to each other occurs.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the seeds of the runs are spawned.
    fluid, packets
        The levels with settings that no refinement changes, such as ``Fluid(steps_per_delay=8)``.
    executor
        As for `ensemble`; None: one thread per core.

    Raises
    ------
    ValueError
        For a parameter out of range, and for a scenario that only one level can run; before any run.

    Examples
    --------
    >>> from dfcmodel import explain, takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> found = explain(scenario, "first_loss", runs=2, duration=0.1)
    >>> found.parts[-3:]
    ('unexplained', 'packet phases', 'queued ACKs')
    """
    instance("scenario", scenario, Scenario)
    watch = Stopwatch()
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    packets = Packets() if packets is None else instance("packets", packets, Packets)
    refuse_one_level(scenario, packets)
    check_executor(executor)
    asked = checked_runs(
        scenario, fluid, runs=runs, seed=seed, duration=duration, since=since, jitter=jitter
    )
    quantities = quantities_of(scenario, measures, since)
    given = default_refinements(scenario)
    if refinements is not None:
        given = listed("refinements", refinements, Refinement)
    settings = _settings(given, fluid, packets)
    tasks = [
        _Task(*asked.instance(scenario, each), setting, asked, quantities)
        for each in asked.seeds()
        for setting in settings
    ]
    done = dict(completed(_runs, tasks, executor, threads=True, desc=scenario.name, unit="run"))
    found = [done[n] for n in range(len(tasks))]
    values = np.array([row for row, _ in found]).reshape(
        asked.count, len(settings), len(quantities)
    )
    fluids = 2 ** sum(each.level == "fluid" for each in given)
    return Explanation(
        scenario=scenario,
        quantities=quantities,
        refinements=tuple(sorted(given, key=lambda each: each.level)),  # fluid, then packets
        fluid=values[:, :fluids],
        packets=values[:, fluids:],
        usual=usual_refinements(fluid, [each for each in given if each.level == "fluid"]),
        statuses=tuple(status for _, status in found),
        seed=asked.seed,
        jitter=asked.jitter,
        seconds=watch.seconds(),
    )


def _settings(given: Sequence[Refinement], fluid: Fluid, packets: Packets) -> list[dict[str, Any]]:
    """Return the arguments of `simulate` of all settings: those of the fluid, then those of packets."""
    names = [each.name for each in given]
    for name in (*names, UNEXPLAINED):
        if names.count(name) > (name != UNEXPLAINED):
            raise ValueError(f"refinements: {name!r} must occur once, and {UNEXPLAINED!r} never")
    found = []
    for level, method in (("fluid", fluid), ("packets", packets)):
        own = [each for each in given if each.level == level]
        whole(f"number of refinements of level {level!r}", len(own), 0, MAX_REFINEMENTS)
        found += [with_refinements(method, own, subset) for subset in range(2 ** len(own))]
    return found


@dataclass(frozen=True)
class _Task:
    """One run: an instance of the scenario at one setting."""

    scenario: Scenario
    seed: int
    setting: dict[str, Any]
    asked: Runs
    quantities: tuple[Quantity, ...]


def _runs(tasks: Sequence[_Task]) -> Iterator[tuple[list[float], Status]]:
    for task in tasks:
        asked = task.asked
        run = simulate(
            task.scenario,
            duration=asked.duration,
            sample=asked.sample,
            seed=task.seed,
            **task.setting,
        )
        yield [each.of(run) for each in task.quantities], run.status
