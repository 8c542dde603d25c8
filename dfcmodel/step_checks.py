"""Sensitivity of a run to the time step and to small disturbances: step halving, error growth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.engine.plan import compile_scenario
from dfcmodel.engine.run import advance
from dfcmodel.engine.settings import Fluid
from dfcmodel.network.networks import Scenario
from dfcmodel.simulation import simulate
from hopflow.checks import instance, integer, one_number, seed_number
from hopflow.deprecations import accept_old_names
from hopflow.results import Result, Status, figure, names_beside
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.results.trajectories import Trajectory

    Floats = NDArray[np.float64]

__all__ = ["StepCheck", "check_step"]

DISTURBANCE = 2.0**-8
"""Packets added to the initial windows, which are one packet.

Losses are whole packets, so that a much smaller disturbance decays, or decides about one packet at once.
"""
CHAOTIC_GROWTH = 25.0
"""Growth above which a run counts as chaotic: a disturbance separates the windows by a tenth."""


@dataclass(frozen=True, repr=False, eq=False)
class StepCheck(Result):
    """Effect of halving the time step and of a small disturbance, as `check_step` returns it.

    Attributes
    ----------
    coarse, fine
        The runs with steps h and h/2.
    growth
        Factor by which the relative disturbance of the windows grew, from its mean over the last
        tenth of the run.
    growth_rate
        Finite-time growth rate, log(growth) over the duration, 1/s.

    Examples
    --------
    >>> from dfcmodel import check_step, takano2006
    >>> check = check_step(takano2006("1"), duration=0.02)
    >>> check.fine.step / check.coarse.step
    0.5
    """

    coarse: Trajectory
    fine: Trajectory
    growth: float
    growth_rate: float

    @property
    def first_loss_error(self) -> Floats:
        """Absolute change of each flow's first loss if the step is halved, s, shape (F,); not finite without one."""
        return np.abs(self.fine.first_loss - self.coarse.first_loss)

    @property
    def peak_queue_error(self) -> float:
        """Largest change of a node's peak queue if the step is halved, packets."""
        return float(np.abs(self.fine.peak_queue - self.coarse.peak_queue).max())

    @property
    def efficiency_error(self) -> Floats:
        """Absolute change of each flow's mean efficiency if the step is halved, shape (F,)."""
        return np.abs(self.fine.mean_efficiency() - self.coarse.mean_efficiency())

    @property
    def chaotic(self) -> bool:
        """Whether small disturbances grow in the run, so that single runs say little; use `ensemble`."""
        return self.growth > CHAOTIC_GROWTH

    @property
    def status(self) -> Status:
        """Status of the run with the finer step."""
        return self.fine.status

    def summary(self) -> dict[str, object]:
        """Return status and texts by name: what halving the step changes, by flow, and whether the run is chaotic."""
        verdict = "chaotic: use ensemble()" if self.chaotic else "not chaotic"
        before: dict[str, object] = {
            "status": self.status,
            "steps": f"{self.coarse.step:g} s and {self.fine.step:g} s",
        }
        after: dict[str, object] = {
            "peak queue": f"changes by {self.peak_queue_error:.3g} packets",
            "disturbance": f"grows {self.growth:.2g} times, {self.growth_rate:.3g}/s: {verdict}",
        }
        names = names_beside((flow.name for flow in self.fine.scenario.flows), {*before, *after}, "flow").values()
        errors = zip(names, self.efficiency_error, self.first_loss_error, strict=True)
        flows = {name: f"efficiency changes by {e:.2g}, first loss by {loss:.2g} s" for name, e, loss in errors}
        return {**before, **flows, **after}

    def plot(self, ax: Any = None) -> Any:
        """Draw the flows' efficiencies over time for both steps; return the Axes."""
        axes = figure()[1] if ax is None else ax
        for run, style in ((self.coarse, ":"), (self.fine, "-")):
            for flow, values in zip(run.scenario.flows, run.efficiency.values, strict=True):
                label = f"{flow.name}, {run.step:g} s"
                axes.plot(run.time, values, style, linewidth=0.9, label=label)
        axes.set(xlabel="time (s)", ylabel="efficiency", title=self.fine.scenario.name)
        axes.legend()
        return axes


@accept_old_names(rng="seed")
@quantities(duration="time")
def check_step(
    scenario: Scenario,
    *,
    duration: WithUnit | None = None,
    steps_per_delay: int = 4,
    seed: int | np.random.Generator = 0,
) -> StepCheck:
    """Run the fluid with a step and half of it, and with disturbed windows; return the changes as `StepCheck`.

    First-loss times and peak queues of FIFO networks hardly depend on the step, because the instant
    at which a buffer fills is located within the step; feedback clocks and rates converge with first
    order. Where a second loss event or a timeout may or may not occur, means jump.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    duration
        Simulated time in s; None is the scenario's.
    steps_per_delay
        Steps per delay of the coarser run, as for `simulate`.
    seed
        Seed, or generator, of the random numbers of all runs.

    Raises
    ------
    ValueError
        For ``steps_per_delay`` outside 1 to 5000, and a duration shorter than a step.

    Examples
    --------
    >>> from dfcmodel import check_step, takano2006
    >>> check = check_step(takano2006("1", dfc=False), duration=0.02)
    >>> bool(check.peak_queue_error < 1.0)  # packets
    True
    """
    instance("scenario", scenario, Scenario)
    seed = seed_number("seed", seed)
    m = integer("steps_per_delay", steps_per_delay, 1, 5_000)
    step = Fluid(m).step_of(scenario)
    simulated_time = scenario.duration if duration is None else duration
    end = one_number("duration", simulated_time, at_least=step, hint=f"in s; the step is {step:g} s")
    coarse, fine = (simulate(scenario, Fluid(n), duration=end, seed=seed) for n in (m, 2 * m))
    difference = _window_difference(scenario, end, 2 * m, seed)
    last = difference[-max(1, len(difference) // 10) :].mean()
    growth = max(1.0, float(last / DISTURBANCE))
    rate = math.log(growth) / end
    return StepCheck(coarse, fine, growth, rate)


def _window_difference(scenario: Scenario, end: float, m: int, seed: int) -> Floats:
    """Return the largest relative change of a window by a disturbance, per sample, (T,); ``m``: steps per delay."""
    runs = []
    for disturbance in (0.0, DISTURBANCE):
        plan = compile_scenario(scenario, Fluid(steps_per_delay=m), np.random.default_rng(seed), duration=end)
        stride = max(1, round(min(max(1e-3, plan.step), end) / plan.step))
        steps = max(1, round(end / plan.step) // stride) * stride
        plan.network.flows["cwnd"] += disturbance
        runs.append(advance(plan, steps, stride).flows[:, :, 2])
    difference: Floats = (np.abs(runs[1] - runs[0]) / np.maximum(runs[0], runs[1])).max(axis=1)
    return difference
