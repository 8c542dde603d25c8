"""Ensembles of runs with different random numbers: statistics where single runs are chaotic."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.choices import LevelChoice, choose_level, warn_of_doubt
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import packet_wait, start_spread
from dfcmodel.results.ensembles import Ensemble
from dfcmodel.results.records import with_fields
from dfcmodel.simulation import RunSettings, method_of, simulate
from hopflow.checks import instance, integer, one_number, refuse_options, seed_number
from hopflow.deprecations import takes_options
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import Interrupted
from hopflow.sweeps.executors import Bar, check_executor, run_tasks
from hopflow.units import quantities

if TYPE_CHECKING:
    from dfcmodel.methods import Fluid, Level, Packets
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["ensemble"]

DEFAULT_SAMPLE = 1e-2
"""Sampling interval of the runs, s, unless they are shorter."""


@takes_options(RunSettings)
@refuse_options(
    max_cpu_time="is a setting of the level: ensemble(scenario, method=Packets(max_cpu_time='10min')), "
    "or Fluid(max_cpu_time=...)"
)
@quantities(jitter="time")
def ensemble(
    scenario: Scenario,
    runs: int = 64,
    jitter: float | str | None = None,
    seed: int | np.random.Generator = 0,
    executor: Executor | None = None,
    *,
    method: Fluid | Packets | LevelChoice | None = None,
    level: Level | None = None,
    options: RunSettings | None = None,
) -> Ensemble:
    """Simulate a scenario ``runs`` times with random starts, feedback phases and rounding of losses; return `Ensemble`.

    Each run has its own seed, spawned from ``seed``; the result does not depend on the executor or
    the order of the runs.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    runs
        Number of runs, at least 2.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, in s. None: the shortest round-trip
        time without queues, so that every phase of the flows to each other occurs, as in `explain`.
    seed
        Integer >= 0 or a `numpy.random.Generator`.
    executor
        Any `concurrent.futures.Executor`, such as a ``ProcessPoolExecutor`` or dask's
        ``client.get_executor()``. None: one thread per core (the kernel releases the GIL). Runs assigned to
        a worker that died are recomputed.
    method, level
        As for `simulate`.
    options
        Duration, sampling interval and random delay of packets of each run, see `RunSettings`; None: the defaults, with
        a sampling interval of 10 ms at most.

    Raises
    ------
    TypeError
        For an unknown parameter.
    ValueError
        For a parameter out of range.
    hopflow.Interrupted
        On Ctrl-C once two runs are complete: its ``result`` is the ensemble of the completed runs.

    Examples
    --------
    >>> from dfcmodel import RunSettings, ensemble, takano2006
    >>> result = ensemble(takano2006("1", dfc=False), runs=8, level="fluid", options=RunSettings(duration=0.2))
    >>> result.mean_efficiency().shape
    (8, 2)
    """
    instance("scenario", scenario, Scenario)
    settings = RunSettings.of(options)
    runs = integer("runs", runs, 2, 10**6, why="one run has no spread: use simulate")
    seed = seed_number("seed", seed)
    end = run_end(scenario, settings.duration)
    jitter = start_spread(scenario, jitter, end)
    check_executor(executor)
    chosen = method_of(level, method, "ensemble")
    chosen = choose_level(scenario, duration=end) if chosen is None else chosen
    waits, reason = settings.packet_jitter, ""
    if isinstance(chosen, LevelChoice):
        warn_of_doubt(scenario, chosen)
        waits = chosen.packet_jitter if waits is None else waits
        reason, chosen = chosen.reason, chosen.method
    waits = one_number("packet_jitter", packet_wait(scenario, waits))
    arguments = {
        "jitter": jitter, "duration": end,
        "sample": min(DEFAULT_SAMPLE, end) if settings.sample is None else settings.sample,
        "packet_jitter": waits, "method": chosen,
    }  # fmt: skip
    watch = Stopwatch()
    seeds = np.random.SeedSequence(seed).spawn(runs)
    simulate_seeds = functools.partial(_simulate_seeds, scenario, arguments, reason)
    completed: dict[int, Trajectory] = {}

    def collect() -> Ensemble:
        seconds = watch.seconds()
        complete = tuple(completed[run] for run in sorted(completed))
        return Ensemble(scenario, complete, jitter, seed, seconds, waits, chosen)

    try:
        for run, trajectory in run_tasks(simulate_seeds, seeds, executor, threads=True, bar=Bar(scenario.name, "run")):
            completed[run] = trajectory
    except KeyboardInterrupt:
        if len(completed) < 2:
            raise
        raise Interrupted(collect(), f"{len(completed)} of {runs} runs") from None
    return collect()


def _simulate_seeds(
    scenario: Scenario,
    settings: dict[str, Any],
    reason: str,
    seeds: Sequence[np.random.SeedSequence],
) -> Iterator[Trajectory]:
    """Simulate a scenario with each seed and yield the runs; ``reason``: of the level, if chosen automatically."""
    for seed_sequence in seeds:
        run = simulate(scenario, seed=np.random.default_rng(seed_sequence), **settings)
        yield with_fields(run, choice=reason) if reason else run
