"""Convergence of shrinking packets to the fluid: the observed rate with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.instances import (
    RandomRuns,
    build_runs,
    check_seed,
    refuse_one_level,
)
from dfcmodel.levels.packet_sizes import shrink_packets
from dfcmodel.levels.quantities import Measure, Quantity, quantities_of
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.networks import Scenario
from dfcmodel.network.phase_effects import packet_time
from dfcmodel.simulation import simulate
from hopflow.checks import instance, number
from hopflow.deprecations import takes_options
from hopflow.intervals import half_width
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.parameters import refuse_unused
from hopflow.progress import progress_bar
from hopflow.results import Result, Status, figure, of_several, worst
from hopflow.units import WithUnit, declares, in_units

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from dfcmodel.levels.instances import Runs
    from dfcmodel.results.trajectories import Trajectory

    Floats = NDArray[np.float64]

__all__ = ["PacketLimit", "packet_limit"]

LEVEL = 0.95
"""Coverage of the interval of a rate."""


@dataclass(frozen=True, repr=False, eq=False)
class PacketLimit(Result):
    """Differences between packets and the fluid as packets shrink, and the rate at which they vanish.

    R runs, K sizes of packets, Q quantities.

    Attributes
    ----------
    scenario
        The scenario in packets of the first size.
    factors
        Number of packets for one packet of the scenario, (K,).
    quantities
        The compared quantities; quantities in packets are divided by the factor.
    fluid, packets
        The quantities at both levels, (R, K, Q).
    statuses
        Statuses of all runs.
    seed
        Seed from which the seeds of the runs are spawned.
    seconds
        Wall-clock time in s.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Scenario, chain, packet_limit
    >>> links = chain(2, rate=1000.0, delay=0.01, buffer=20)
    >>> flows = [Flow(f"{n}", (1, 2), CBR(400.0 + 100.0 * n)) for n in range(3)]
    >>> result = packet_limit(Scenario("overload", links, flows, 0.5), "losses", factors=(1, 2, 4), runs=2)
    >>> result.difference.shape
    (2, 3, 1)
    """

    scenario: Scenario
    factors: tuple[float, ...]
    quantities: tuple[Quantity, ...]
    fluid: Floats
    packets: Floats
    statuses: tuple[Status, ...]
    seed: int
    seconds: float

    @property
    def status(self) -> Status:
        """Status of the first run that failed, else of the first not completed, else COMPLETED, whatever the rate."""
        return worst(self.statuses)

    @property
    def difference(self) -> Floats:
        """Packets less fluid in the same run, for R runs, K factors and Q quantities, (R, K, Q)."""
        return self.packets - self.fluid

    @property
    def distance(self) -> Floats:
        """Root mean square of `difference` over the runs, (K, Q)."""
        return np.asarray(np.sqrt(np.mean(self.difference**2, axis=0)))

    @property
    def rate(self) -> Floats:
        """Rates p of a distance ~ factor^-p, fitted by least squares in logarithms, (Q,)."""
        return self._rate(self.difference)

    @declares(level="share")
    def rate_interval(self, level: WithUnit = LEVEL) -> tuple[Floats, Floats]:
        """Return the ends of the interval of the rates, (Q,) each: Student's t over the jackknife's values.

        NaN if a quantity differs in at most one run. (R. G. Miller, The jackknife, a review, Biometrika 61,
        1974.)
        """
        level = in_units("level", level, "share")
        number("level", level, above=0.0, below=1.0)
        runs = len(self.fluid)
        without_one = np.array([self._rate(np.delete(self.difference, n, axis=0)) for n in range(runs)])
        values = runs * self.rate - (runs - 1) * without_one
        half = half_width(values, level)
        return self.rate - half, self.rate + half

    def _rate(self, difference: Floats) -> Floats:
        """Return the rates p, distance ~ factor^-p, (Q,), of differences of shape (R, K, Q)."""
        with np.errstate(divide="ignore"):  # equal in every run: no rate
            y = np.log(np.sqrt(np.mean(difference**2, axis=0)))
        x = np.log(self.factors) - np.mean(np.log(self.factors))
        with np.errstate(invalid="ignore"):
            return np.asarray(-(x @ (y - y.mean(axis=0))) / (x @ x))

    def to_xarray(self) -> xr.Dataset:
        """Return both levels over run, factor and quantity, and the rates."""
        import xarray as xr

        dims = ("run", "factor", "quantity")
        low, high = self.rate_interval()
        return xr.Dataset(
            {
                "fluid": (dims, self.fluid),
                "packets": (dims, self.packets),
                "distance": (dims[1:], self.distance),
                "rate": ("quantity", self.rate),
                "rate_low": ("quantity", low),
                "rate_high": ("quantity", high),
            },
            coords={"factor": list(self.factors), "quantity": [q.name for q in self.quantities]},
            attrs={"scenario": self.scenario.name, "level": LEVEL, "seed": self.seed},
        )

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: scenario, for each quantity its distances and their rate, and the runs."""
        low, high = self.rate_interval()
        rows: dict[str, object] = {
            "status": of_several(self.statuses),
            "scenario": self.scenario.name,
        }
        rows["packets for one"] = ", ".join(f"{factor:g}" for factor in self.factors)
        for q, quantity in enumerate(self.quantities):
            shown = ", ".join(f"{distance:.2g}" for distance in self.distance[:, q])
            rows[quantity.name] = (
                f"distances {shown}; as factor^-p, p = {self.rate[q]:.2f} [{low[q]:.2f}, {high[q]:.2f}]"
            )
        rows["runs"] = (
            f"{len(self.fluid)} of each, seed {self.seed}; intervals of all seeds by the jackknife, {100 * LEVEL:.0f} %"
        )
        rows["time"] = f"{self.seconds:.2f} s"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the distances relative to the distance of the first size; return the Axes."""
        ax = figure()[1] if ax is None else ax
        factors = np.array(self.factors)
        for q, quantity in enumerate(self.quantities):
            label = f"{quantity.name}: p = {self.rate[q]:.2f}"
            ax.loglog(factors, self.distance[:, q] / self.distance[0, q], "o-", label=label)
        ax.loglog(factors, factors[0] / factors, ":", color="0.5", label="p = 1")
        ax.set(xlabel="packets for one", ylabel="distance of packets from the fluid")
        ax.set_title(self.scenario.name)
        ax.legend(fontsize=8)
        return ax


@takes_options(RandomRuns)
def packet_limit(
    scenario: Scenario,
    measures: Measure | Sequence[Measure] = "share",
    *,
    factors: Sequence[float] = (1, 2, 4, 8, 16),
    runs: int = 8,
    fluid: Fluid | None = None,
    packets: Packets | None = None,
    options: RandomRuns | None = None,
) -> PacketLimit:
    """Return a `PacketLimit`: how fast packet results approach the fluid's as packets shrink (`shrink_packets`).

    In each run and at each size both levels have the same starts; before each packet of a window a random
    time of up to one packet time breaks phase locks at both. The fluid's step shrinks with the packets.

    Parameters
    ----------
    scenario
        The scenario in packets of the first size.
    measures
        As for `explain`; quantities in packets are divided by the factor.
    factors
        At least three increasing numbers from 1 on: packets for one packet of the scenario.
    runs
        Number of seeds, at least 2.
    fluid, packets
        The levels; None: ``Fluid()`` and ``Packets(ack_transmission=False)``, as ACKs of 40 bytes do not
        shrink. The fluid has factor times its ``steps_per_delay``.
    options
        Duration, starts and seed of the runs, and the time from which shares are measured, see `RandomRuns`; None: the
        defaults.

    Raises
    ------
    ValueError
        Before any run: for a parameter out of range, a scenario that only one level can run, or a scenario that cannot
        be written in smaller packets.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Scenario, chain, packet_limit
    >>> links = chain(2, rate=1000.0, delay=0.01, buffer=20)
    >>> flows = [Flow(f"{n}", (1, 2), CBR(400.0 + 100.0 * n)) for n in range(3)]
    >>> result = packet_limit(Scenario("overload", links, flows, 0.2), "losses", factors=(1, 2, 4), runs=3)
    >>> bool(0.7 < result.rate[0] < 1.3)
    True
    """
    instance("scenario", scenario, Scenario)
    watch = Stopwatch()
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    default = Packets(ack_transmission=False)
    packets = default if packets is None else instance("packets", packets, Packets)
    refuse_one_level(scenario, packets)
    sizes = np.atleast_1d(number("factors", factors, at_least=1.0))
    if len(sizes) < 3 or (np.diff(sizes) <= 0.0).any():
        raise ValueError(f"factors = {factors!r}: at least three increasing numbers are needed")
    options = RandomRuns.of(options)
    random_runs = build_runs(scenario, fluid, runs, options)
    refuse_unused(options, packet_jitter="each size of packets has delays of its own")
    check_seed(packets, random_runs)
    quantities = quantities_of(scenario, measures, options.since)
    pairs = [
        _Pair(
            shrink_packets(scenario, factor),
            factor,
            replace(fluid, steps_per_delay=round(fluid.steps_per_delay * factor)),
            packets,
        )
        for factor in sizes.tolist()
    ]
    values, statuses = [], []
    bar = progress_bar(random_runs.seeds(), desc=scenario.name, unit="run")
    for seeds in bar:
        for pair in pairs:
            at_levels = pair.run(random_runs, seeds)
            statuses += [run.status for run in at_levels]
            in_packets = quantities_of(pair.scenario, measures, options.since)
            values.append([[pair.value(quantity, run) for quantity in in_packets] for run in at_levels])
    shape = (random_runs.count, len(pairs), 2, len(quantities))
    of_fluid, of_packets = np.moveaxis(np.array(values).reshape(shape), 2, 0)
    return PacketLimit(
        scenario=scenario,
        factors=tuple(sizes.tolist()),
        quantities=quantities,
        fluid=of_fluid,
        packets=of_packets,
        statuses=tuple(statuses),
        seed=random_runs.seed,
        seconds=watch.seconds(),
    )


@dataclass(frozen=True)
class _Pair:
    """A scenario in packets of one size, with both levels' methods."""

    scenario: Scenario
    factor: float
    fluid: Fluid
    packets: Packets

    def run(self, runs: Runs, seeds: np.random.SeedSequence) -> list[Trajectory]:
        """Return the runs at both levels, fluid first, with the same seeds."""
        wait = min(packet_time(self.scenario), runs.duration)
        return [
            simulate(self.scenario, method, packet_jitter=wait, **runs.settings(seeds))
            for method in (self.fluid, self.packets)
        ]

    def value(self, quantity: Quantity, run: Trajectory) -> float:
        """Return a quantity of a run; a number of packets is converted to packets of the first size."""
        return quantity.of(run) / (self.factor if quantity.units == "packets" else 1.0)
