"""Which level to simulate a scenario at, from measured errors and costs: ``level="auto"``.

The table ``measured.csv`` beside this module is written by ``python -m benchmarks.levels choice``: dumbbells of NewReno
flows of two round-trip times over a queue under FIFO, DFC or PFC, by flows and by packets of bandwidth times delay for
each.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.levels.measured_tables import measured_rows
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.class_pauses import PFC
from dfcmodel.network.disciplines import DFC, FIFO
from dfcmodel.network.flows import recovery_of
from dfcmodel.network.networks import Scenario
from dfcmodel.network.offered_rates import (
    bottlenecks,
    crowds,
    offered_packets,
    shares_of_links,
)
from dfcmodel.network.phase_effects import random_time
from dfcmodel.packets.refusals import check_scenario
from dfcmodel.results.limits import limits_of_scenario, may_lose
from hopflow.checks import instance, one_number
from hopflow.results import Result, figure
from hopflow.units import quantities
from responsefn import AIMD, NewReno, Reno

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "LevelChoice",
    "choose_level",
    "fluid_seconds",
    "fluid_work",
    "measured",
    "measured_discipline",
    "packet_seconds",
    "packet_work",
    "warn_of_doubt",
]

AFFORDABLE = 1.0
"""CPU seconds up to which packets are preferred whatever the fluid costs."""
MOST_TIMES = 0.8
"""Predicted times the cost of the fluid up to which packets are preferred, so that they cost at most twice as much: the
predicted ratio was up to 2.4 times too low on random networks whose packets take a second or longer."""
TOLERANCE = 0.1
"""Error of a share, over the rate of the bottleneck, up to which the fluid may stand in for packets: less than what two
reasonable set-ups of one packet simulator often differ by (3 to 24 %, claim S06)."""
LEVELS = ("fluid", "packets")
"""Beginnings of the columns of costs."""
MEASURED_LENGTH, PER_LENGTH = 2, 0.54
"""Links of a path in the measured table, and how much longer, relatively, a packet takes whose path is e times as long:
fitted to the 34 first of `validation.random_networks.DEVELOPMENT`, with paths of 3 to 41 links, to within a factor of
two."""
MEASURED_RULES = (AIMD, NewReno, Reno)
"""Window rules for which the measured errors are taken: those of AIMD that recover by NewReno or Reno."""


@dataclass(frozen=True, repr=False, eq=False)
class LevelChoice(Result):
    """The level chosen for a scenario, and why.

    Attributes
    ----------
    method
        `Fluid` or `Packets`.
    reason
        In words, with the numbers that decided.
    fluid_seconds, packet_seconds
        Predicted CPU seconds; nan for packets where they cannot run the scenario.
    error
        Error of the fluid's shares, measured at this bandwidth-delay product and number of flows; nan:
        nothing was measured for such scenarios.
    packet_jitter
        Upper end of the random times before packets, s, with which packets are to run: a packet time of the slowest queue
        with phase effects, where flows of different round-trip times or rules fill a drop-tail queue; otherwise, and for a fluid, 0.
    doubt
        What is known to be wrong about the chosen fluid, or is not known, in words; a run that was to choose warns of it.

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
            "packets": f"{self.packet_seconds:.2g} s of CPU",
            "error of the fluid": f"{self.error:.2g} of the bottleneck's rate",
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
    affordable: float = AFFORDABLE,
    tolerance: float = TOLERANCE,
) -> LevelChoice:
    """Choose between fluid and packets, without running anything.

    Packets where they can run the scenario and are predicted to cost at most a second, or less than 0.8 times the fluid: they
    leave nothing out that the fluid has. Otherwise the fluid. Its ``doubt`` says where its shares were not measured to be near
    those of packets, or a known limit applies (`dfcmodel.results.limits`). Measured were AIMD, Reno and NewReno over queues
    under FIFO, DFC with the default diffusion and intensity, and PFC that pauses all flows, without a manager.

    Parameters
    ----------
    scenario
        The scenario to simulate.
    duration
        Simulated time in s; None is the scenario's.
    fluid
        The fluid to choose; None: ``Fluid()``.
    affordable
        CPU seconds up to which packets are preferred whatever the fluid costs.
    tolerance
        Error of a share, over the rate of the bottleneck, up to which the fluid may stand in for packets.
        The default is within what two reasonable set-ups of one packet simulator differ by (claim S06).

    Raises
    ------
    ValueError
        For a parameter out of range.

    Examples
    --------
    >>> from dfcmodel import choose_level, takano2006
    >>> choice = choose_level(takano2006("4", dfc=False, tcp="newreno"))
    >>> bool(choice.packet_seconds > choice.fluid_seconds)
    True
    """
    instance("scenario", scenario, Scenario)
    fluid = Fluid() if fluid is None else instance("fluid", fluid, Fluid)
    end = scenario.duration if duration is None else one_number("duration", duration, above=0.0)
    one_number("affordable", affordable, at_least=0.0, hint="in s")
    one_number("tolerance", tolerance, at_least=0.0)
    of_fluid = fluid_seconds(scenario, end, fluid)
    try:
        check_scenario(scenario, Packets())
    except ValueError as refused:
        return LevelChoice(
            fluid, f"fluid: packets cannot run this ({refused})", of_fluid, np.nan, np.nan
        )
    of_packets = packet_seconds(scenario, end)
    error = _error(scenario)
    costs = f"packets take about {of_packets:.2g} s of CPU, the fluid {of_fluid:.2g} s"
    if of_packets <= max(affordable, MOST_TIMES * of_fluid):
        wait = random_time(scenario, may_lose(scenario))
        phases = f"; random times of up to {wait:.2g} s before packets against phase effects"
        reason = f"packets: {costs}{phases if wait else ''}"
        return LevelChoice(Packets(), reason, of_fluid, of_packets, error, wait)
    known: tuple[str, ...] = limits_of_scenario(
        scenario, [recovery_of(flow, fluid.recovery) for flow in scenario.flows], end
    )
    if np.isnan(error):
        known += ("its error was measured for AIMD, Reno or NewReno under FIFO, DFC or PFC only",)
    elif error > tolerance:
        known += (f"its shares were measured to be {error:.2g} off, more than {tolerance:g}",)
    if not known:
        off = f"its shares were measured to be {error:.2g} off"
        return LevelChoice(fluid, f"fluid: {costs}; {off}", of_fluid, of_packets, error)
    doubt = f"the fluid was chosen, as {costs}, but {'; '.join(known)}: level='packets' runs packets, level='fluid' is silent"
    reason = f"fluid: {costs}; {'; '.join(known)}"
    return LevelChoice(fluid, reason, of_fluid, of_packets, error, doubt=doubt)


def warn_of_doubt(scenario: Scenario, chosen: LevelChoice) -> None:
    """Warn where a level that nobody asked for is known to be wrong, or nothing is known of it."""
    if chosen.doubt:
        warnings.warn(f"{scenario.name!r}: {chosen.doubt}", stacklevel=5)


@dataclass(frozen=True)
class Measured:
    """The measured table of a discipline, over flows (N,) and packets of bandwidth times delay per flow (W,).

    ``errors`` of shares, and the costs in ns per unit of work of the fluid and of packets, have the shape (N, W).
    """

    flows: Floats
    windows: Floats
    errors: Floats
    fluid_nanoseconds: Floats
    packet_nanoseconds: Floats

    def at(self, values: Floats, flows: Floats, windows: Floats) -> Floats:
        """Return values of the table at flows (F,) and windows (F,).

        Between measured points they are interpolated in logarithms, beyond them they are those of the nearest.
        """
        rows = np.array([np.interp(np.log(windows), np.log(self.windows), row) for row in values])
        row = np.interp(np.log(flows), np.log(self.flows), np.arange(len(self.flows)))
        low = np.minimum(row.astype(np.int64), len(self.flows) - 2)
        each = np.arange(len(row))
        found: Floats = rows[low, each] + (row - low) * (rows[low + 1, each] - rows[low, each])
        return found


@cache
def measured(discipline: str = "FIFO") -> Measured:
    """Return the table of a discipline, FIFO, DFC or PFC."""
    rows = [row for row in measured_rows("measured.csv") if row["discipline"] == discipline]
    names = rows[0].keys() - {"discipline"}
    columns = {name: np.array([float(row[name]) for row in rows]) for name in names}
    flows, windows = np.unique(columns["flows"]), np.unique(columns["window"])
    places = np.searchsorted(flows, columns["flows"]), np.searchsorted(windows, columns["window"])
    costs = [1e9 * columns[f"{level}_seconds"] / columns[f"{level}_work"] for level in LEVELS]
    tables = np.full((3, len(flows), len(windows)), np.nan)
    tables[:, *places] = columns["share_error"], *costs
    return Measured(flows, windows, *tables)


def fluid_seconds(scenario: Scenario, duration: float, fluid: Fluid) -> float:
    """Return the CPU seconds of a fluid run with the compiled engine."""
    table = measured(measured_discipline(scenario) or "FIFO")
    unit = _mean_cost(scenario, table, table.fluid_nanoseconds)
    return 1e-9 * unit * fluid_work(scenario, duration, fluid)


def packet_seconds(scenario: Scenario, duration: float) -> float:
    """Return the CPU seconds of a run by packets with the compiled engine, of flows that fill their links."""
    table = measured(measured_discipline(scenario) or "FIFO")
    unit = _mean_cost(scenario, table, table.packet_nanoseconds)
    longer = 1.0 + PER_LENGTH * np.log(scenario.routes.counts / MEASURED_LENGTH)
    return 1e-9 * unit * float(np.dot(offered_packets(scenario, duration), longer))


def _mean_cost(scenario: Scenario, table: Measured, costs: Floats) -> float:
    """Return a cost, ns, at the flows' bottlenecks: the mean over the flows."""
    _, flows, windows = _at_bottlenecks(scenario)
    return float(np.mean(table.at(costs, flows, windows)))


def fluid_work(scenario: Scenario, duration: float, fluid: Fluid) -> float:
    """Return flow-steps, to which the cost of the fluid is about proportional."""
    return duration / fluid.step_of(scenario) * len(scenario.table)


def packet_work(scenario: Scenario, duration: float) -> float:
    """Return the packets that the flows send at most, at equal shares, and their ACKs."""
    return sum(offered_packets(scenario, duration))


def measured_discipline(scenario: Scenario) -> str:
    """Return under which measured discipline the queues are, beside FIFO; "": none, or others too."""
    ranks = set(scenario.table.columns["priority"].values)
    found = set()
    for link in scenario.link_table.kinds:
        rule = link.discipline
        if type(rule) is DFC and (rule.diffusion, rule.intensity) == (DFC.diffusion, DFC.intensity):
            found.add("DFC")
        elif type(rule) is PFC and rule.manager is None and ranks <= set(rule.classes):
            found.add("PFC")
        elif type(rule) is not FIFO:
            return ""
    return "" if len(found) > 1 else found.pop() if found else "FIFO"


def _error(scenario: Scenario) -> float:
    """Return the largest measured error over the flows' bottlenecks; nan: not measured.

    A flow's bottleneck is the link of its path with the smallest equal share; its discipline decides which table
    holds.
    """
    table = scenario.table
    endless = np.all((table.numbers("idle") == np.inf) & (table.numbers("stop") == np.inf))
    alone = all(each is None for each in table.columns["arrivals"].values)
    if not (endless and alone and np.all(table.of_kind(*MEASURED_RULES))):
        return np.nan
    if not measured_discipline(scenario):
        return np.nan
    links, flows, windows = _at_bottlenecks(scenario)
    kinds = scenario.by_link(lambda link: type(link.discipline).__name__)[links]
    found = []
    for name in np.unique(kinds).tolist():
        own, errors = kinds == name, measured(name)
        found.append(errors.at(errors.errors, flows[own], windows[own]).max())
    return float(max(found))


def _at_bottlenecks(scenario: Scenario) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return each flow's bottleneck, its number of flows, and bandwidth times delay of each one's share there, packets."""
    links = bottlenecks(scenario)
    window = shares_of_links(scenario)[links] * scenario.base_rtts()
    return links, crowds(scenario)[links].astype(float), window
