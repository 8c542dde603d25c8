"""Random runs of a scenario at both levels, and the checks of their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import check_packet_jitter, start_spread
from dfcmodel.packets.refusals import check_scenario
from hopflow.checks import integer, one_number, seed_number
from hopflow.parameters import Options, param, validate_parameters
from hopflow.units import WithUnit, declares

if TYPE_CHECKING:
    from dfcmodel.methods import Fluid, Packets

__all__ = ["RandomRuns", "Runs", "build_runs", "check_seed", "refuse_one_level"]


@declares(packet_jitter="time")
@validate_parameters
@dataclass(frozen=True, repr=False, kw_only=True)
class RandomRuns(Options):
    """Options of `explain` and `packet_limit`: duration, random starts and waits, s, and seed of the runs.

    Parameters
    ----------
    duration
        Simulated time in s; None: the scenario's.
    jitter
        Upper end of the uniform distribution by which each flow's start is delayed, in s; None: the shortest round-trip
        time without queues, as for `ensemble`.
    seed
        Integer >= 0 or a `numpy.random.Generator`, from which the seeds of the runs are spawned.
    since
        Start of the measurement of shares, s.
    packet_jitter
        Largest random delay of a packet at its sender, as for `simulate`. With ``"1pkt"``, against phase effects,
        `explain` leaves out the refinements that change it: packet phases and whole losses. `packet_limit` has delays
        of its own.

    Examples
    --------
    >>> from dfcmodel import RandomRuns
    >>> RandomRuns(duration="2s", seed=1)
    RandomRuns(duration=2.0, seed=1)
    """

    duration: WithUnit | None = param(None, "time", above=0.0, hint="in s")
    jitter: WithUnit | None = param(None, "time", at_least=0.0, hint="in s")
    seed: int | np.random.Generator = param(0)
    since: WithUnit = param(0.0, "time", at_least=0.0, hint="in s, before the end")
    packet_jitter: WithUnit | None = None

    def __post_init__(self) -> None:
        check_packet_jitter(self.packet_jitter)


@dataclass(frozen=True)
class Runs:
    """Settings of R random runs of a scenario, to be simulated at both levels: seed, and times in s.

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
        """Return the seeds of the R runs, one each."""
        return np.random.SeedSequence(self.seed).spawn(self.count)

    def settings(self, seeds: np.random.SeedSequence) -> dict[str, Any]:
        """Return the arguments of `simulate` for the run of one seed; both levels have the same starts."""
        return {
            "duration": self.duration,
            "sample": self.sample,
            "jitter": self.jitter,
            "seed": np.random.default_rng(seeds),
        }


def build_runs(scenario: Scenario, fluid: Fluid, runs: int, options: RandomRuns) -> Runs:
    """Validate the settings of random runs and return them, with defaults, as `Runs`; see `dfcmodel.explain`.

    Raises
    ------
    ValueError
        Naming the parameter, its value and the allowed values.
    """
    runs = integer("runs", runs, 2, 10**5, why="one run has no spread")
    seed = seed_number("seed", options.seed)
    end = run_end(scenario, options.duration)
    spread = start_spread(scenario, options.jitter, end)
    one_number("since", options.since, at_least=0.0, below=end, hint="in s, before the end")
    sample = min(max(end / 100.0, fluid.step_of(scenario)), end)
    return Runs(runs, seed, end, sample, spread)


def check_seed(packets: Packets, runs: Runs) -> None:
    """Raise ValueError for packets with a fixed seed if the runs have random starts."""
    if packets.seed is not None and runs.jitter > 0.0:
        msg = "must be None with random starts: each run has a seed of its own, from seed="
        raise ValueError(f"seed of packets = {packets.seed!r}: {msg}")


def refuse_one_level(scenario: Scenario, packets: Packets) -> None:
    """Raise ValueError for a scenario that packets cannot simulate, and for random losses, which the fluid lacks."""
    try:
        check_scenario(scenario, packets)
    except ValueError as error:
        raise ValueError(f"{scenario.name}: both levels are needed, but {error}") from None
    if any((packets.loss or {}).values()):
        msg = "random loss is of the packet level alone; use None to compare both levels"
        raise ValueError(f"loss = {packets.loss!r}: {msg}")
