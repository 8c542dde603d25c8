"""Random instances of a scenario that both levels run, and the checks of what is asked of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.packets.refusals import check_scenario
from hopflow.checks import one_number, seed_number, whole

if TYPE_CHECKING:
    from dfcmodel.methods import Fluid, Packets
    from dfcmodel.network.networks import Scenario

__all__ = ["Runs", "check_since", "checked_runs", "refuse_one_level"]


@dataclass(frozen=True)
class Runs:
    """What is simulated at both levels: R random instances of a scenario.

    Attributes
    ----------
    count, seed
        R, and the seed from which those of the runs are spawned.
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

    def instance(self, scenario: Scenario, seeds: np.random.SeedSequence) -> tuple[Scenario, int]:
        """Return a scenario with random starts, and a seed for the rest, the same at both levels."""
        random = np.random.default_rng(seeds)
        delays = random.uniform(0.0, self.jitter, len(scenario.flows))
        pairs = zip(scenario.flows, delays, strict=True)
        flows = tuple(replace(flow, start=flow.start + float(delay)) for flow, delay in pairs)
        return replace(scenario, flows=flows), int(random.integers(1, 2**31 - 1))


def checked_runs(
    scenario: Scenario,
    fluid: Fluid,
    *,
    runs: int,
    seed: int | np.random.Generator,
    duration: float | None,
    jitter: float | None,
) -> Runs:
    """Return the runs that were asked for; see `dfcmodel.explain` for the parameters.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.
    """
    runs = whole("runs", runs, 2, 10**5, why="one run has no spread")
    seed = seed_number("seed", seed)
    end = scenario.duration if duration is None else one_number("duration", duration, above=0.0)
    if jitter is None:
        jitter = min(end, *(scenario.base_rtt(flow) for flow in scenario.flows))
    one_number("jitter", jitter, at_least=0.0, at_most=end, hint="in s")
    sample = min(max(end / 100.0, fluid.step_of(scenario)), end)
    return Runs(runs, seed, end, sample, float(jitter))


def check_since(since: float, asked: Runs) -> None:
    """Raise ValueError for a time from which runs are measured that is not in them."""
    one_number("since", since, at_least=0.0, below=asked.duration, hint="in s, before the end")


def refuse_one_level(scenario: Scenario, packets: Packets) -> None:
    """Raise ValueError for what only one of the levels can run."""
    try:
        check_scenario(scenario, packets)
    except ValueError as error:
        raise ValueError(f"{scenario.name}: both levels are needed, but {error}") from None
    if any((packets.loss or {}).values()):
        msg = "random loss is of the packet level alone; use None to compare both levels"
        raise ValueError(f"loss = {packets.loss!r}: {msg}")
