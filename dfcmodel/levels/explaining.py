"""Explains the gap between a fluid and packets: runs both levels with every subset of refinements."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dfcmodel.levels.explanations import UNEXPLAINED, Explanation
from dfcmodel.levels.instances import (
    RandomRuns,
    Runs,
    check_seed,
    check_since,
    checked_runs,
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
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.keywords import check_keywords, takes_keywords
from hopflow.sweeps.executors import Bar, check_executor, run_tasks
from hopflow.units import WithUnit, declares, quantities

if TYPE_CHECKING:
    from hopflow.results import Status

__all__ = ["explain"]

MAX_REFINEMENTS = 6
"""Refinements of one level: 64 settings."""


class ExplainedRuns(RandomRuns, total=False):
    """Settings of the runs of `explain`."""

    packet_jitter: float | str | None


@declares(packet_jitter="time")
@quantities(duration="time", since="time", jitter="time")
@takes_keywords(ExplainedRuns)
def explain(
    scenario: Scenario,
    measures: Measure | Sequence[Measure] = "share",
    *,
    refinements: Iterable[Refinement] | None = None,
    runs: int = 8,
    since: WithUnit = 0.0,
    fluid: Fluid | None = None,
    packets: Packets | None = None,
    executor: Executor | None = None,
    **settings: Unpack[ExplainedRuns],
) -> Explanation:
    """Return how far packets are from the fluid, and how much of it each refinement that they do not share accounts for.

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
        ``default_refinements(scenario, shared=True)`` the parts that both levels have are counted, too, from a fluid
        without them. At most 6 for each level.
    runs
        Number of seeds, at least 2.
    since
        Start of the measurement of shares, s.
    fluid, packets
        The levels with settings that no refinement changes, such as ``Fluid(steps_per_delay=8)``.
    executor
        As for `ensemble`; None: one thread per core.
    **settings
        ``duration``, ``jitter``, ``seed`` and ``packet_jitter`` of the runs at both levels, as for `ensemble`. With
        ``packet_jitter="1pkt"``, against phase effects, the refinements that change it are left out: packet phases and
        whole losses.

    Raises
    ------
    ValueError
        For a parameter out of range, and for a scenario that only one level can run; before any run.

    Examples
    --------
    >>> from dfcmodel import explain, takano2006
    >>> scenario = takano2006("1", dfc=False, tcp="newreno")
    >>> found = explain(scenario, "first_loss", runs=2, duration=0.1)
    >>> found.parts
    ('whole losses', 'unexplained', 'packet phases', 'queued ACKs')
    """
    instance("scenario", scenario, Scenario)
    watch = Stopwatch()
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    packets = Packets() if packets is None else instance("packets", packets, Packets)
    refuse_one_level(scenario, packets)
    check_executor(executor)
    check_keywords(explain, settings)
    asked = checked_runs(scenario, fluid, runs, settings)
    check_since(since, asked)
    check_seed(packets, asked)
    quantities = quantities_of(scenario, measures, since)
    packet_jitter = settings.get("packet_jitter")
    wait = one_number("packet_jitter", packet_wait(scenario, packet_jitter), at_least=0.0, at_most=asked.duration)
    given = default_refinements(scenario)
    if refinements is not None:
        listed_ones = instances("refinements", refinements, Refinement)
        given = tuple(waits_in_seconds(each, scenario) for each in listed_ones)
    if packet_jitter is not None:
        given = tuple(each for each in given if "packet_jitter" not in {**each.off, **each.on})
    pairs = [(scenario, setting) for setting in _settings(given, fluid, packets, wait)]
    parts, full = parts_of_stacks(scenario, packets), pairs[-1][1]
    for part in parts:
        method = replace(full["method"], recovery=part.method.recovery)
        pairs.append((part.scenario, {**full, "method": method}))
    tasks = [
        _Task(simulated, each, setting, asked, quantities) for each in asked.seeds() for simulated, setting in pairs
    ]
    done = dict(run_tasks(_runs, tasks, executor, threads=True, bar=Bar(scenario.name, "run")))
    found = [done[n] for n in range(len(tasks))]
    values = np.array([each.values for each in found]).reshape(asked.count, len(pairs), len(quantities))
    fluids = 2 ** sum(each.level == "fluid" for each in given)
    usual = usual_refinements(fluid, [each for each in given if each.level == "fluid"], wait)
    explanation = Explanation(
        scenario=scenario,
        quantities=quantities,
        refinements=tuple(sorted(given, key=lambda each: each.level)),  # fluid, then packets
        fluid=values[:, :fluids],
        packets=values[:, fluids : len(pairs) - len(parts)],
        stack=tuple(part.name for part in parts),
        without=values[:, len(pairs) - len(parts) :],
        usual=usual,
        statuses=tuple(each.status for each in found),
        limits_of_fluid=limits_of_several([each.limits for each in found[usual :: len(pairs)]]),
        seed=asked.seed,
        jitter=asked.jitter,
        packet_jitter=wait,
        seconds=watch.seconds(),
    )
    if phases := explanation.phase_effects:
        warnings.warn(f"{scenario.name!r}: {phases}", stacklevel=3)
    return explanation


def _settings(given: Sequence[Refinement], fluid: Fluid, packets: Packets, wait: float) -> list[dict[str, Any]]:
    """Return the arguments of `simulate` of all settings: those of the fluid, then those of packets."""
    names = [each.name for each in given]
    for name in (*names, UNEXPLAINED):
        if names.count(name) > (name != UNEXPLAINED):
            raise ValueError(f"refinements: {name!r} must occur once, and {UNEXPLAINED!r} never")
    found = []
    for level, method in (("fluid", fluid), ("packets", packets)):
        own = [each for each in given if each.level == level]
        integer(f"number of refinements of level {level!r}", len(own), 0, MAX_REFINEMENTS)
        found += [with_refinements(method, own, subset, wait) for subset in range(2 ** len(own))]
    return found


@dataclass(frozen=True)
class _Task:
    """One run of the scenario at one setting."""

    scenario: Scenario
    seeds: np.random.SeedSequence
    setting: dict[str, Any]
    asked: Runs
    quantities: tuple[Quantity, ...]


@dataclass(frozen=True)
class _Found:
    """What is kept of a run: its quantities, status and known limits."""

    values: list[float]
    status: Status
    limits: tuple[str, ...]


def _runs(tasks: Sequence[_Task]) -> Iterator[_Found]:
    for task in tasks:
        asked = task.asked
        run = simulate(
            task.scenario,
            **asked.settings(task.seeds),
            **task.setting,
        )
        yield _Found([each.of(run) for each in task.quantities], run.status, run.limits)
