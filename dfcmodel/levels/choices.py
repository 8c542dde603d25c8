"""Which level to simulate a scenario at, from measured errors and predicted costs: ``level="auto"``.

The table ``measured.csv`` beside this module is written by ``python -m benchmarks.levels choice``: dumbbells of NewReno
flows of two round-trip times over a queue under FIFO, DFC or PFC, by number of flows and by bandwidth-delay product per
flow in packets. Runs of hours are refused, and errors of one level that recommend the other if that refuses as well.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dfcmodel.engine.settings import check_disciplines
from dfcmodel.levels.accuracies import typical_errors
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.demands.offered_rates import bottlenecks, crowds, may_lose, packet_demand, shares_of_links
from dfcmodel.network.flows import recovery_of
from dfcmodel.network.links import column_of
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.phase_effects import random_time
from dfcmodel.network.queueing.class_pauses import PFC
from dfcmodel.network.queueing.disciplines import DFC, FIFO
from dfcmodel.packets.fabric.conditions import is_likely_fabric
from dfcmodel.packets.refusals import check_scenario
from dfcmodel.results.limits import limits_of_scenario
from hopflow.checks import instance, one_number
from hopflow.results import Result, figure
from hopflow.text_files import read_rows
from hopflow.units import WithUnit, quantities
from responsefn import AIMD, NewReno, RateRule, Reno, WindowRule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.results.trajectories import Trajectory

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = [
    "LevelChoice",
    "Measured",
    "about_levels",
    "at_bottlenecks",
    "check_cost",
    "check_other_level",
    "choose_level",
    "discipline_name",
    "error_in_table",
    "fluid_work",
    "length_factor",
    "not_measured",
    "packet_work",
    "predict_seconds",
    "table_of",
    "warn_of_doubt",
]

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
    """The level for a scenario, with the reason and predicted CPU times, s, as `choose_level` returns them.

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
        """Return the level, the reason, and predicted costs and error as texts, by name."""
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
        """Draw the predicted CPU times of both levels; return the Axes."""
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
    """Return the level, fluid or packets, that suits a scenario, with the reason; nothing is run.

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
    of_fluid = predict_seconds(scenario, fluid, end, at)
    try:
        check_scenario(scenario, Packets())
    except ValueError as refused:
        return LevelChoice(fluid, f"fluid: packets cannot run this ({refused})", of_fluid, np.nan, np.nan)
    of_packets = predict_seconds(scenario, Packets(), end, at)
    error = error_in_table(scenario, at)
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
    """Warn with the ``doubt`` of an automatically chosen level, if it has one."""
    if chosen.doubt:
        warnings.warn(f"{scenario.name!r}: {chosen.doubt}", stacklevel=5)


def about_levels(run: Trajectory) -> str:
    """Return a line on predicted costs and typical errors of shares of both levels, for a fluid run.

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
    of_fluid = predict_seconds(scenario, method, end) * method.step_of(scenario) / run.step
    try:
        check_scenario(scenario, Packets())
        of_packets = f"packets {predict_seconds(scenario, Packets(), end):.2g} s"
    except ValueError:
        of_packets = "packets cannot run this"
    return f"predicted CPU times: {of_packets}, fluid {of_fluid:.2g} s; {errors}"


# Predicted costs and measured errors.

COST_COLUMNS = ("fluid", "packets")
"""Beginnings of the columns of costs."""
MEASURED_LENGTH, LENGTH_SLOPE = 2, 0.54
"""Links of a path in the measured table, and relative increase of the time of a packet on a path that is e times as
long. Fitted to the first 34 of `validation.networks.random_networks.DEVELOPMENT`, with paths of 3 to 41 links, to
within a factor of two."""
MEASURED_RULES = (AIMD, NewReno, Reno)
"""Window rules to which the measured errors apply: AIMD with recovery by NewReno or Reno."""
FABRIC_FLOW_NANOSECONDS, FABRIC_HOP_NANOSECONDS, FABRIC_ACK_NANOSECONDS = 3250.0, 29.0, 48.5
"""Cost in a fabric of setting up a flow, and of a packet and of an ACK at a link."""
CACHED_FLOWS, DOUBLING_NANOSECONDS = 1000.0, 26.0
"""Number of active flows whose rows stay in the caches of a processor, and additional cost at a link per doubling."""
CALL_NANOSECONDS = 270.0
"""Cost in a fabric of the calls of a rule that changes its rate, per packet."""
GENERAL_HOP_NANOSECONDS = {"output": 120.0, "switch": 500.0}
"""Cost in a fabric of a packet or an ACK at a link where the kernel for all scenarios runs, by ``counts`` of `PFC`."""
WARNING_SECONDS = 60.0
"""CPU seconds above which a run warns before it starts."""
MAX_SECONDS = 3.0 * 3600.0
"""CPU seconds above which a run is refused unless ``max_cpu_time`` allows it."""


class AtBottlenecks(NamedTuple):
    """Each flow's bottleneck, number of flows there, and bandwidth times delay of its share, packets, each (F,)."""

    links: Integers
    flows: Floats
    windows: Floats


def at_bottlenecks(scenario: Scenario) -> AtBottlenecks:
    """Return the bottleneck of each flow, its link of smallest share, and its coordinates in measured tables."""
    links = bottlenecks(scenario)
    windows = shares_of_links(scenario)[links] * scenario.base_rtts()
    return AtBottlenecks(links, crowds(scenario)[links].astype(float), windows)


@dataclass(frozen=True)
class Measured:
    """Share errors, and ns per unit of work, of a discipline: N numbers of flows, W bandwidth-delay products per flow.

    ``errors`` of shares, and the costs in ns per unit of work of the fluid and of packets, have the shape (N, W).
    """

    flows: Floats
    windows: Floats
    errors: Floats
    fluid_nanoseconds: Floats
    packet_nanoseconds: Floats

    def at(self, values: Floats, flows: Floats, windows: Floats) -> Floats:
        """Return ``values``, (N, W), of a table interpolated at ``flows`` and ``windows``, (F,) each, shape (F,).

        Values between measured points are interpolated in logarithms, values beyond equal the nearest point.
        """
        rows = np.array([np.interp(np.log(windows), np.log(self.windows), row) for row in values])
        row = np.interp(np.log(flows), np.log(self.flows), np.arange(len(self.flows)))
        low = np.minimum(row.astype(np.int64), len(self.flows) - 2)
        indices = np.arange(len(row))
        result: Floats = rows[low, indices] + (row - low) * (rows[low + 1, indices] - rows[low, indices])
        return result


@cache
def table_of(discipline: str = "FIFO") -> Measured:
    """Return the measured table of a discipline by its name, "FIFO", "DFC" or "PFC"."""
    rows = [row for row in read_rows("dfcmodel.levels", "measured.csv") if row["discipline"] == discipline]
    names = rows[0].keys() - {"discipline"}
    columns = {name: np.array([float(row[name]) for row in rows]) for name in names}
    flows, windows = np.unique(columns["flows"]), np.unique(columns["window"])
    indices = np.searchsorted(flows, columns["flows"]), np.searchsorted(windows, columns["window"])
    costs = [1e9 * columns[f"{level}_seconds"] / columns[f"{level}_work"] for level in COST_COLUMNS]
    tables = np.full((3, len(flows), len(windows)), np.nan)
    tables[:, *indices] = columns["share_error"], *costs
    return Measured(flows, windows, *tables)


def predict_seconds(
    scenario: Scenario, method: Fluid | Packets, duration: float, at: AtBottlenecks | None = None
) -> float:
    """Return the predicted CPU time, s, of a run of ``duration`` s with the compiled engines.

    Flows are taken to fill their links. On 60 random networks predictions were 0.2 to 2.2 times the CPU time of the
    fluid and 0.5 to 1.4 times that of packets (``python -m benchmarks.level_shares``). Fabrics under PFC between
    interfaces of hosts have a cost per flow and per packet and link (``python -m benchmarks.fabric_costs``). ``at`` are
    the coordinates of the flows in the tables; None: they are computed.

    Examples
    --------
    >>> from dfcmodel import Packets, takano2006
    >>> 0.01 < predict_seconds(takano2006("1"), Packets(), 3.0) < 0.1
    True
    """
    if isinstance(method, Packets) and _is_lossless_fabric(scenario):
        return _fabric_seconds(scenario, method, duration)
    table = table_of(discipline_name(scenario) or "FIFO")
    _, flows, windows = at or at_bottlenecks(scenario)
    if isinstance(method, Fluid):
        costs, work = table.fluid_nanoseconds, fluid_work(scenario, duration, method)
    else:
        longer = length_factor(scenario.routes.counts)
        costs = table.packet_nanoseconds
        work = float(np.dot(packet_demand(scenario, duration), longer))
    return 1e-9 * float(np.mean(table.at(costs, flows, windows))) * work


def _disciplines(scenario: Scenario) -> list[Any]:
    """Return the disciplines of a scenario's links, one for each kind of link."""
    return [link.discipline for link in scenario.link_table.kinds]


def _is_lossless_fabric(scenario: Scenario) -> bool:
    """Return whether all flows begin at interfaces of hosts, and all links, two or more on a path, are under `PFC`."""
    if scenario.routes.counts.max() < 2:
        return False  # one queue was measured
    is_pfc = set(map(type, _disciplines(scenario))) == {PFC}
    return is_pfc and bool(scenario.is_interface[scenario.routes.first].all())


def _fabric_seconds(scenario: Scenario, method: Packets, duration: float) -> float:
    """Return the predicted CPU time, s, of packets in a lossless fabric."""
    table, links = scenario.table, scenario.routes.counts
    packets = np.array(packet_demand(scenario, duration))
    receives_feedback = np.array(table.of_kind(WindowRule, RateRule))
    is_constant = table.each("source", lambda source: getattr(source, "is_constant", False))
    repairs = column_of(method.repair_of(scenario)).map(lambda repair: repair == "none").array()
    receives_feedback &= ~(is_constant & repairs)
    hops, ack_hops = (float(np.dot(packets, links * does)) for does in (1.0, receives_feedback))
    spent = FABRIC_FLOW_NANOSECONDS * len(table)
    if not is_likely_fabric(scenario, method):
        per_hop = max(GENERAL_HOP_NANOSECONDS[rule.counts] for rule in _disciplines(scenario))
        return 1e-9 * (spent + per_hop * (hops + ack_hops))
    doublings = max(0.0, math.log2(_flows_under_way(scenario, packets) / CACHED_FLOWS))
    spent += FABRIC_HOP_NANOSECONDS * hops + FABRIC_ACK_NANOSECONDS * ack_hops
    spent += DOUBLING_NANOSECONDS * doublings * (hops + ack_hops)
    marks = any(rule.manager is not None for rule in _disciplines(scenario))
    is_called = table.each("source", lambda source: marks or not source.is_idle_until_marked)
    return 1e-9 * (spent + CALL_NANOSECONDS * float(packets[is_called & ~is_constant].sum()))


def _flows_under_way(scenario: Scenario, packets: Floats) -> float:
    """Return the approximate mean number of simultaneous flows; ``packets`` are the packets of each flow."""
    table = scenario.table
    roots = ~table.waits
    if not roots.any():
        return 1.0
    line_rates = scenario.link_table.rates[scenario.routes.first]
    times = (packets / line_rates + scenario.base_rtts())[roots]
    span = np.ptp(table.numbers("start")[roots]) + times.max()
    return max(1.0, float(times.sum() / span))


def length_factor(links: Integers) -> Floats:
    """Return relative costs of a packet on paths of ``links`` links, shape of ``links``; 1 at the measured length."""
    factors: Floats = 1.0 + LENGTH_SLOPE * np.log(links / MEASURED_LENGTH)
    return factors


def fluid_work(scenario: Scenario, duration: float, fluid: Fluid) -> float:
    """Return the number of steps of a fluid run times its flows: its cost is about proportional to that."""
    return duration / fluid.step_of(scenario) * len(scenario.table)


def packet_work(scenario: Scenario, duration: float) -> float:
    """Return an upper bound of packets and ACKs that the flows send in ``duration`` s at equal shares."""
    return sum(packet_demand(scenario, duration))


def discipline_name(scenario: Scenario) -> str:
    """Return the name of the table for a scenario's queues, "FIFO", "DFC" or "PFC"; "" if none applies."""
    priorities = set(scenario.table.columns["priority"].values)
    names = set()
    for link in scenario.link_table.kinds:
        rule = link.discipline
        if type(rule) is DFC and (rule.diffusion, rule.intensity) == (DFC.diffusion, DFC.intensity):
            names.add("DFC")
        elif type(rule) is PFC and rule.manager is None and priorities <= set(rule.classes):
            names.add("PFC")
        elif type(rule) is not FIFO:
            return ""
    return "" if len(names) > 1 else names.pop() if names else "FIFO"


def not_measured(scenario: Scenario) -> str:
    """Return the reason why the measured errors do not apply to a scenario; "" if they apply.

    Under `DFC` one queue was measured. Over several, a flow that needs no queue passes full buffers in the fluid, but
    not at packet level (`dfcmodel.results.full_buffers`): a flow over three links had 1730 and 441 packets/s. Shaped
    hosts do not fill buffers.
    """
    table = scenario.table
    are_endless = np.all((table.numbers("idle") == np.inf) & (table.numbers("stop") == np.inf))
    are_regular = not table.given("arrivals").any()
    are_measured = np.all(table.of_kind(*MEASURED_RULES))
    if not (are_endless and are_regular and are_measured and discipline_name(scenario)):
        return "its error was measured for AIMD, Reno or NewReno under FIFO, DFC or PFC only"
    if _fills_several_buffers(scenario):
        return (
            "its error under DFC was measured for one shared queue, not for flows over several shared buffers "
            "that hosts can fill (host='shaped' does not fill them)"
        )
    return ""


def _fills_several_buffers(scenario: Scenario) -> bool:
    """Return whether a flow crosses several links under `DFC` with a buffer that unshaped flows share."""
    routes, filling = scenario.routes, ~scenario.host_is("shaped")
    under_dfc = scenario.by_link(lambda link: type(link.discipline) is DFC and link.shared)
    filled = np.bincount(routes.places, filling[routes.flow], len(scenario.links)) > 0.0
    at = under_dfc & filled & (crowds(scenario) > 1)
    return bool((np.bincount(routes.flow, at[routes.places]) > 1.0).any())


def error_in_table(scenario: Scenario, at: AtBottlenecks) -> float:
    """Return the largest measured error of shares at the flows' bottlenecks; nan if `not_measured`.

    The discipline of a flow's bottleneck determines the table.
    """
    if not_measured(scenario):
        return np.nan
    kinds = scenario.by_link(lambda link: type(link.discipline).__name__)[at.links]
    errors_by_kind = []
    for name in np.unique(kinds).tolist():
        of_kind, errors = kinds == name, table_of(name)
        errors_by_kind.append(errors.at(errors.errors, at.flows[of_kind], at.windows[of_kind]).max())
    return float(max(errors_by_kind))


def check_cost(
    scenario: Scenario,
    method: Fluid | Packets,
    duration: float,
) -> None:
    """Warn if a run is predicted to take over a minute; ValueError over three hours or the method's ``max_cpu_time``.

    The ``max_cpu_time`` of the level, in s, replaces both: ValueError above it, no warning. Runs with random loss,
    which keeps flows from filling their links, are not predicted.
    """
    requested = method.max_cpu_time
    limit = MAX_SECONDS if requested is None else float(requested)
    if limit == math.inf or (isinstance(method, Packets) and method.loss):
        return
    threshold = WARNING_SECONDS if requested is None else limit
    seconds = predict_seconds(scenario, method, duration)
    if seconds <= threshold:
        return
    about = f"{scenario.name!r} with {_cause(scenario, method, duration)}"
    prediction = f"about {_duration_text(seconds)} of CPU time predicted for {about}"
    write = f"method={type(method).__name__}(max_cpu_time=...), or --max-cpu-time in the shell, sets another limit"
    if seconds > limit:
        raise ValueError(f"{prediction}: must be at most {_duration_text(limit)}; {write} (math.inf: none)")
    warnings.warn(f"{prediction}; {write}", stacklevel=4)


def _cause(scenario: Scenario, method: Fluid | Packets, duration: float) -> str:
    """Return the reason of a run's cost: its packets, or its steps and the link that makes the step short."""
    if isinstance(method, Packets):
        return f"{packet_work(scenario, duration):.2g} packets"
    h = method.step_of(scenario)
    shortest = min(scenario.link_table.kinds, key=lambda link: link.delay)
    steps = (
        f"{duration / h:.2g} steps of {h:.3g} s for each flow "
        f"(shortest delay: {shortest.delay:.3g} s, link {shortest.name})"
    )
    try:
        check_scenario(scenario, Packets())
    except ValueError:
        return steps
    packets = _duration_text(predict_seconds(scenario, Packets(), duration))
    return f"{steps}, where method=Packets() takes about {packets}"


def _duration_text(seconds: float) -> str:
    """Return a time, s, as a string in s, minutes or hours, such as "1.5 minutes"."""
    if seconds >= 3600.0:
        return f"{seconds / 3600.0:.2g} hours"
    return f"{seconds / 60.0:.2g} minutes" if seconds >= 60.0 else f"{seconds:.2g} s"


def check_other_level(scenario: Scenario, method: Fluid | Packets, error: ValueError) -> None:
    """Raise ValueError if ``error`` recommends the other level, but this does not run the scenario either."""
    is_fluid = isinstance(method, Fluid)
    other = "Packets()" if is_fluid else "Fluid()"
    if f"method={other}" not in str(error):
        return
    try:
        if is_fluid:
            check_scenario(scenario, Packets())
        else:
            check_disciplines(scenario)
    except ValueError as second:
        raise ValueError(f"{error}; but {other} does not run the scenario: {second}") from error
