"""How much an answer depends on the step, and on chance: step doubling and growth of a disturbance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine import driver
from dfcmodel.engine.kernel.columns import TCP_COLUMNS
from dfcmodel.engine.plans import compile_scenario
from dfcmodel.simulation import simulate
from hopflow.checks import number, whole
from hopflow.results import Result, figure
from hopflow.status import Status

if TYPE_CHECKING:
    from dfcmodel.engine.kernel.state import Floats
    from dfcmodel.network.networks import Scenario
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["StepCheck", "check_step"]

DISTURBANCE = 2.0**-8
"""Part of a packet that is added to the windows at the start, which are one packet.

Packets are lost whole: what is much less dies out, or else decides about one of them.
"""
CHAOTIC = 25.0
"""A disturbance that grows by more than this sets the windows apart by a tenth: it decides."""


@dataclass(frozen=True, repr=False, eq=False)
class StepCheck(Result):
    """A run, the same with half the step, and the same with windows disturbed a little.

    Attributes
    ----------
    coarse, fine
        The runs with steps h and h/2.
    growth
        By how much the relative disturbance of the windows grew: its mean over the last tenth.
    growth_rate
        Finite-time growth rate, log(growth) over the duration, 1/s.
    """

    coarse: Trajectory
    fine: Trajectory
    growth: float
    growth_rate: float

    @property
    def first_loss_error(self) -> Floats:
        """Change of each flow's first-loss time in s with half the step, shape (F,)."""
        return np.abs(self.fine.first_loss - self.coarse.first_loss)

    @property
    def peak_queue_error(self) -> float:
        """Largest change of a node's peak queue with half the step, packets."""
        return float(np.abs(self.fine.peak_queue - self.coarse.peak_queue).max())

    @property
    def efficiency_error(self) -> Floats:
        """Change of each flow's mean efficiency with half the step, shape (F,)."""
        return np.abs(self.fine.mean_efficiency() - self.coarse.mean_efficiency())

    @property
    def chaotic(self) -> bool:
        """Whether what comes late in the run is decided by chance: `ensemble` is the answer then."""
        return self.growth > CHAOTIC

    @property
    def status(self) -> Status:
        """That of the finer run."""
        return self.fine.status

    def summary(self) -> dict[str, object]:
        """Return what half the step changes, and whether the run is chaotic."""
        names = [flow.name for flow in self.fine.scenario.flows]
        rows: dict[str, object] = {
            "status": self.status,
            "steps": f"{self.coarse.step:g} s and {self.fine.step:g} s",
        }
        for f, name in enumerate(names):
            rows[name] = (
                f"efficiency changes by {self.efficiency_error[f]:.2g}, "
                f"first loss by {self.first_loss_error[f]:.2g} s"
            )
        rows["peak queue"] = f"changes by {self.peak_queue_error:.3g} packets"
        told = "chaotic: use ensemble()" if self.chaotic else "not chaotic"
        rows["disturbance"] = f"grows {self.growth:.2g} times, {self.growth_rate:.3g}/s: {told}"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the efficiencies of both runs over time."""
        axes = figure()[1] if ax is None else ax
        for run, style in ((self.coarse, ":"), (self.fine, "-")):
            for flow, values in zip(run.scenario.flows, run.efficiency.values, strict=True):
                label = f"{flow.name}, {run.step:g} s"
                axes.plot(run.time, values, style, linewidth=0.9, label=label)
        axes.set(xlabel="time (s)", ylabel="efficiency", title=self.fine.scenario.name)
        axes.legend()
        return axes


def check_step(
    scenario: Scenario,
    *,
    duration: float | None = None,
    steps_per_delay: int = 4,
    rng: int = 0,
) -> StepCheck:
    """Run a scenario with a step and half of it, and see whether small causes stay small.

    First-loss times and peak queues of FIFO networks hardly depend on the step, since the moment
    when a buffer is full is found inside the step; feedback clocks and rates follow the step with
    order one. A second loss event or a timeout may come or not: then means jump.

    Parameters
    ----------
    scenario
        What to simulate.
    duration
        In s; None is the scenario's.
    steps_per_delay
        Of the coarser run.
    rng
        Seed.

    Raises
    ------
    ValueError
        For a parameter out of range.
    """
    m = whole("steps_per_delay", steps_per_delay, 1, 5_000)
    whole("rng", rng, 0, 2**62)
    end = scenario.duration if duration is None else float(number("duration", duration, above=0.0))
    coarse, fine = (
        simulate(scenario, duration=end, steps_per_delay=n, rng=rng) for n in (m, 2 * m)
    )
    apart = _disturbed(scenario, end, 2 * m, rng)
    last = apart[-max(1, len(apart) // 10) :].mean()
    growth = max(1.0, float(last / DISTURBANCE))
    rate = math.log(growth) / end
    return StepCheck(coarse, fine, growth, rate)


def _disturbed(scenario: Scenario, end: float, m: int, seed: int) -> Floats:
    """Return by which part of them the windows are apart over time, largest of the flows."""
    runs = []
    for disturbance in (0.0, DISTURBANCE):
        plan = compile_scenario(scenario, m, np.random.default_rng(seed), duration=end)
        every = max(1, round(min(max(1e-3, plan.step), end) / plan.step))
        steps = max(1, round(end / plan.step) // every) * every
        plan.state.tcp[:, TCP_COLUMNS] += disturbance
        runs.append(driver.advance(plan, steps, every)[0][:, :, 2])
    apart: Floats = (np.abs(runs[1] - runs[0]) / np.maximum(runs[0], runs[1])).max(axis=1)
    return apart
