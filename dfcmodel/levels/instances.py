"""Random runs of a scenario at both levels, and the checks of their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import start_spread
from dfcmodel.packets.refusals import check_scenario
from hopflow.checks import integer, one_number, seed_number
from hopflow.units import WithUnit

if TYPE_CHECKING:
    from dfcmodel.methods import Fluid, Packets

__all__ = ["RandomRuns", "Runs", "build_runs", "check_seed", "check_since", "refuse_one_level"]


class RandomRuns(TypedDict, total=False):
    """Settings of the runs of `dfcmodel.explain` and `dfcmodel.packet_limit`, as of `dfcmodel.ensemble`."""

    duration: WithUnit | None
    jitter: WithUnit | None
    seed: int | np.random.Generator


@dataclass(frozen=True)
class Runs:
    """R random runs of a scenario, simulated at both levels.

    Attributes
    ----------
    count, seed
        R, and the seed from which the seeds of the runs are spawned.
    duration, sample
        Simulated time and sampling interval, s.
    jitter
        Upper end of the delays of the flows' starts, s.
    """

    count: int
    seed: int
    duration: float
    sample: float
    jitter: float

    def seeds(self) -> list[np.random.SeedSequence]:
        """Return the seeds of the runs."""
        return np.random.SeedSequence(self.seed).spawn(self.count)

    def settings(self, seeds: np.random.SeedSequence) -> dict[str, Any]:
        """Return the arguments of `simulate` for one run; both levels have the same starts."""
        return {
            "duration": self.duration,
            "sample": self.sample,
            "jitter": self.jitter,
            "seed": np.random.default_rng(seeds),
        }


def build_runs(scenario: Scenario, fluid: Fluid, runs: int, settings: RandomRuns) -> Runs:
    """Validate the settings of runs and return the runs; see `dfcmodel.explain` for the parameters.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    """
    runs = integer("runs", runs, 2, 10**5, why="one run has no spread")
    seed = seed_number("seed", settings.get("seed", 0))
    end = run_end(scenario, settings.get("duration"))
    spread = start_spread(scenario, settings.get("jitter"), end)
    sample = min(max(end / 100.0, fluid.step_of(scenario)), end)
    return Runs(runs, seed, end, sample, spread)


def check_since(since: float, runs: Runs) -> None:
    """Raise ValueError for a start of the measurement, s, outside the runs."""
    one_number("since", since, at_least=0.0, below=runs.duration, hint="in s, before the end")


def check_seed(packets: Packets, runs: Runs) -> None:
    """Raise ValueError for a seed of packets with which all runs would have the same random starts."""
    if packets.seed is not None and runs.jitter > 0.0:
        msg = "must be None with random starts: each run has a seed of its own, from seed="
        raise ValueError(f"seed of packets = {packets.seed!r}: {msg}")


def refuse_one_level(scenario: Scenario, packets: Packets) -> None:
    """Raise ValueError for a scenario, or a random loss, that only one level can simulate."""
    try:
        check_scenario(scenario, packets)
    except ValueError as error:
        raise ValueError(f"{scenario.name}: both levels are needed, but {error}") from None
    if any((packets.loss or {}).values()):
        msg = "random loss is of the packet level alone; use None to compare both levels"
        raise ValueError(f"loss = {packets.loss!r}: {msg}")
