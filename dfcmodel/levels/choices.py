"""Which level to simulate a scenario at, from measured errors and costs: ``level="auto"``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.levels.accuracies import typical_errors
from dfcmodel.levels.predictions import (
    at_bottlenecks,
    measured_error,
    not_measured,
    predicted_seconds,
)
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.demands.offered_rates import may_lose
from dfcmodel.network.flows import recovery_of
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import random_time
from dfcmodel.packets.refusals import check_scenario
from dfcmodel.results.limits import limits_of_scenario
from hopflow.checks import instance, one_number
from hopflow.results import Result, figure
from hopflow.units import WithUnit, quantities

if TYPE_CHECKING:
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["LevelChoice", "about_levels", "choose_level", "warn_of_doubt"]

AFFORDABLE_SECONDS = 1.0
"""CPU seconds up to which packets are preferred at any cost of the fluid."""
MAX_COST_RATIO = 0.8
"""Largest predicted ratio of the costs of packets and fluid at which packets are preferred. It keeps their cost below
twice that of the fluid: the predicted ratio was up to 2.4 times too low on random networks whose packets take a second
or longer."""
TOLERANCE = 0.1
"""Largest error of a share, over the rate of the bottleneck, at which the fluid may replace packets: less than the
usual difference of two reasonable set-ups of one packet simulator (3 to 24 %, claim S06)."""


@dataclass(frozen=True, repr=False, eq=False)
class LevelChoice(Result):
    """The level for a scenario, and the reason, as `choose_level` returns them.

    Attributes
    ----------
    method
        `Fluid` or `Packets`.
    reason
        Reason in words, with the numbers.
    fluid_seconds, packet_seconds
        Predicted CPU seconds; nan for packets where they cannot run the scenario.
    error
        Error of the fluid's shares, measured at this bandwidth-delay product and number of flows; nan:
        nothing was measured for such scenarios.
    packet_jitter
        Upper end of the random times before packets, s, with which packets are to run: a packet time of the slowest
        queue with phase effects, where flows of different round-trip times or rules fill a drop-tail queue; otherwise,
        and for a fluid, 0.
    doubt
        Known errors of the chosen fluid, or missing measurements, in words; runs with ``level="auto"`` warn of it.

    Examples
    --------
    >>> from dfcmodel import choose_level, takano2006
    >>> choose_level(takano2006("1", dfc=False)).reason.partition(":")[0]
    'packets'
    >>> type(choose_level(takano2006("1"), duration=1.0).method).__name__
    'Packets'
    """

    method: Fluid | Packets
    reason: str
    fluid_seconds: float
    packet_seconds: float
    error: float
    packet_jitter: float = 0.0
    doubt: str = ""

    FIELD_UNITS: ClassVar[Mapping[str, str]] = {
        "fluid_seconds": "s",
        "packet_seconds": "s",
        "error": "1",
        "packet_jitter": "s",
    }

    def summary(self) -> dict[str, object]:
        """Return the level, the reason and the predicted costs, by name."""
        return {
            "level": type(self.method).__name__.lower(),
            "reason": self.reason,
            "fluid": f"{self.fluid_seconds:.2g} s of CPU",
            "packets": "cannot run this" if np.isnan(self.packet_seconds) else f"{self.packet_seconds:.2g} s of CPU",
            "error of the fluid": "not measured for such scenarios"
            if np.isnan(self.error)
            else f"{self.error:.2g} of the bottleneck's rate",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the predicted costs of both levels."""
        axes = figure(6.4, 1.8)[1] if ax is None else ax
        axes.barh(["packets", "fluid"], [self.packet_seconds, self.fluid_seconds])
        axes.set(xlabel="predicted CPU time (s)", title=type(self.method).__name__)
        return axes


@quantities(duration="time", affordable="time")
def choose_level(
    scenario: Scenario,
    *,
    duration: float | str | None = None,
    fluid: Fluid | None = None,
    affordable: WithUnit = AFFORDABLE_SECONDS,
    tolerance: float = TOLERANCE,
) -> LevelChoice:
    """Choose between fluid and packets, without running anything.

    Packets are chosen if they can run the scenario and are predicted to cost at most a second, or less than 0.8 times
    the fluid: they model all that the fluid models. Otherwise the fluid is chosen. Its ``doubt`` reports shares that
    were not measured to be near the shares of packets, and known limits (`dfcmodel.results.limits`). Measurements exist
    for AIMD, Reno and NewReno over queues under FIFO, DFC with the default diffusion and intensity, and PFC that pauses
    all flows, without a manager. Under DFC there are none for flows over several shared buffers, unless all hosts are
    shaped.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    duration
        Simulated time in s; None is the scenario's.
    fluid
        The fluid to choose; None: ``Fluid()``.
    affordable
        CPU seconds up to which packets are preferred at any cost of the fluid.
    tolerance
        Largest error of a share, over the rate of the bottleneck, at which the fluid may replace packets. The default
        is less than the usual difference of two reasonable set-ups of one packet simulator (claim S06).

    Raises
    ------
    ValueError
        For a duration that is not positive, and negative ``affordable`` or ``tolerance``.

    Examples
    --------
    >>> from dfcmodel import choose_level, takano2006
    >>> choice = choose_level(takano2006("4", dfc=False, tcp="newreno"))
    >>> bool(choice.packet_seconds > choice.fluid_seconds)
    True
    """
    instance("scenario", scenario, Scenario)
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    end = run_end(scenario, duration)
    one_number("affordable", affordable, at_least=0.0, hint="in s")
    one_number("tolerance", tolerance, at_least=0.0)
    at = at_bottlenecks(scenario)
    of_fluid = predicted_seconds(scenario, fluid, end, at)
    try:
        check_scenario(scenario, Packets())
    except ValueError as refused:
        return LevelChoice(fluid, f"fluid: packets cannot run this ({refused})", of_fluid, np.nan, np.nan)
    of_packets = predicted_seconds(scenario, Packets(), end, at)
    error = measured_error(scenario, at)
    costs = f"predicted CPU times: packets {of_packets:.2g} s, fluid {of_fluid:.2g} s"
    if of_packets <= max(affordable, MAX_COST_RATIO * of_fluid):
        wait = random_time(scenario, may_lose(scenario))
        phases = f"; random times of up to {wait:.2g} s before packets against phase effects"
        reason = f"packets: {costs}{phases if wait else ''}"
        return LevelChoice(Packets(), reason, of_fluid, of_packets, error, wait)
    limits: tuple[str, ...] = limits_of_scenario(
        scenario, [recovery_of(flow, fluid.recovery) for flow in scenario.flows], end
    )
    if np.isnan(error):
        limits += (not_measured(scenario),)
    elif error > tolerance:
        limits += (f"its shares were measured to be {error:.2g} off, more than {tolerance:g}",)
    if scenario.all_elements:
        limits += ("its error was not measured for rates over time",)
    if not limits:
        accuracy = f"its shares were measured to be {error:.2g} off"
        return LevelChoice(fluid, f"fluid: {costs}; {accuracy}", of_fluid, of_packets, error)
    doubt = (
        f"the fluid was chosen, as {costs}, but {'; '.join(limits)}: "
        "level='packets' runs packets, level='fluid' is silent"
    )
    reason = f"fluid: {costs}; {'; '.join(limits)}"
    return LevelChoice(fluid, reason, of_fluid, of_packets, error, doubt=doubt)


def warn_of_doubt(scenario: Scenario, chosen: LevelChoice) -> None:
    """Warn if the automatically chosen level has a ``doubt``."""
    if chosen.doubt:
        warnings.warn(f"{scenario.name!r}: {chosen.doubt}", stacklevel=5)


def about_levels(run: Trajectory) -> str:
    """Return predicted costs and typical errors of shares of both levels, for the summary of a fluid run.

    Examples
    --------
    >>> from dfcmodel import simulate, takano2006
    >>> run = simulate(takano2006("1", dfc=False), level="fluid", duration=0.1)
    >>> about_levels(run).rpartition("; ")[2]  # errors of shares on average, and of 95 % of them
    'packets 0.015 and 0.028'
    """
    scenario, end = run.scenario, float(run.time[-1])
    method, errors = Fluid(), typical_errors(scenario)
    if run.choice:  # it contains the costs
        return errors
    of_fluid = predicted_seconds(scenario, method, end) * method.step_of(scenario) / run.step
    try:
        check_scenario(scenario, Packets())
        of_packets = f"packets {predicted_seconds(scenario, Packets(), end):.2g} s"
    except ValueError:
        of_packets = "packets cannot run this"
    return f"predicted CPU times: {of_packets}, fluid {of_fluid:.2g} s; {errors}"
