"""Watchdogs in packet runs: detection, drops and restoration at the ports of a scenario under pause storms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.guards.port_guards import PortGuard, WatchdogAlarm
from dfcmodel.lossless.guards.watchdogs import MAX_BARE_TIME, MS, Watchdog
from dfcmodel.lossless.quantities import check_bare_time
from dfcmodel.network.networks import Scenario, run_end
from dfcmodel.network.queueing.class_pauses import ALL, PFC
from dfcmodel.network.queueing.disciplines import FIFO, Pause
from dfcmodel.packets.engine import watch_engine
from dfcmodel.packets.methods import Packets
from dfcmodel.packets.plan import Fault, PortWatchdog
from dfcmodel.packets.simulation import plan_scenario, trajectory
from dfcmodel.results.pauses import PAUSES_NOTHING
from hopflow.checks import choice, first_of, instance, instances, number
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import Result, figure
from hopflow.units import WithUnit, in_units, quantities

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dfcmodel.packets.plan import PacketPlan
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["WatchdogRun", "watch_packets"]

PHASES = 802
"""Key of the random stream for the phases of polls."""


@dataclass(frozen=True, eq=False, repr=False)
class WatchdogRun(Result):
    """Alarms and missed storms of watchdogs in a packet run, as `watch_packets` returns them.

    Attributes
    ----------
    watchdog
        The settings, the same at all links.
    alarms
        Declared storms, in the order of their times.
    missed
        Missed storms: paused link, class, begin and end of the pause by a fault, s.
    undecided
        The same of storms that were not declared, and that ended less than a polling time before the end of the run, or
        after it (inf: never): a longer run may declare them.
    unwatched
        The same of pauses by faults that stop links without a watchdog, such as interfaces of hosts: they are neither
        declared nor missed.
    run
        The records of the run.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain
    >>> from dfcmodel.lossless import Watchdog, watch_packets
    >>> links = chain(3, rate=1e3, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    >>> one = Scenario("storm", links, [Flow("a", (1, 2, 3), CBR(500.0), host="direct")], duration=1.5)
    >>> result = watch_packets(one, Watchdog(0.05, 0.1, 0.2), storms={"2->3": [(0.2, 0.7)]})
    >>> [(alarm.link, alarm.false) for alarm in result.alarms], len(result.missed)
    ([('1->2', False)], 0)
    """

    watchdog: Watchdog
    alarms: tuple[WatchdogAlarm, ...]
    missed: tuple[tuple[str, int, float, float], ...]
    undecided: tuple[tuple[str, int, float, float], ...]
    unwatched: tuple[tuple[str, int, float, float], ...]
    run: Trajectory

    def to_pandas(self) -> pd.DataFrame:
        """Return the alarms as a DataFrame, a row for each: link, times in s, and whether it is false."""
        import pandas as pd

        names = ("link", "priority", "declared", "restored", "dropped", "false")
        return pd.DataFrame([[getattr(a, n) for n in names] for a in self.alarms], columns=names)

    def to_xarray(self) -> xr.Dataset:
        """Return the alarms over ``alarm``, with units."""
        data = self.to_pandas().rename_axis("alarm").to_xarray()
        for name in ("declared", "restored"):
            data[name].attrs["units"] = "s"
        return data

    def summary(self) -> dict[str, object]:
        """Return status, texts on scenario, alarms, time and storms, number of dropped packets, by name."""
        undecided = {"storms undecided": f"{len(self.undecided)}, the run ends too early to declare or miss them"}
        links = [*dict.fromkeys(link for link, *_ in self.unwatched)]
        unwatched = (
            {"storms unwatched": f"{len(self.unwatched)}, without a watchdog at {first_of(links, 3)}"} if links else {}
        )
        return {
            "status": self.run.status,
            "scenario": self.run.scenario.name,
            "alarms": f"{len(self.alarms)}, {sum(a.false for a in self.alarms)} of them false",
            "storms missed": len(self.missed),
            **(undecided if self.undecided else {}),
            **unwatched,
            "dropped by watchdogs": sum(a.dropped for a in self.alarms),
            "time": f"{self.run.time[-1]:g} s simulated in {self.run.seconds:.2f} s",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw the declared storms of each link over time, and the missed storms; return the Axes."""
        ax = figure()[1] if ax is None else ax
        names = sorted({a.link for a in self.alarms} | {m[0] for m in self.missed})
        end = float(self.run.time[-1])
        for alarm in self.alarms:
            last = end if math.isnan(alarm.restored) else alarm.restored
            colour = "C1" if alarm.false else "C0"
            ax.broken_barh(
                [(alarm.declared, last - alarm.declared)],
                (names.index(alarm.link) - 0.3, 0.6), color=colour,
            )  # fmt: skip
        for link, _, begin, last in self.missed:
            ax.plot([begin, last], [names.index(link)] * 2, "k-")
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel="time (s)", xlim=(0.0, end), title="declared storms; lines: missed ones")
        return ax


@quantities(duration="time")
def watch_packets(
    scenario: Scenario,
    watchdog: Watchdog,
    *,
    storms: Mapping[str, Iterable[tuple[WithUnit, WithUnit]]] | None = None,
    links: Iterable[str] | str | None = None,
    method: Packets | None = None,
    duration: WithUnit | None = None,
) -> WatchdogRun:
    """Simulate a scenario packet by packet with a watchdog at each link that others pause; return `WatchdogRun`.

    A watchdog polls its link, or each class of it that PFC pauses, from a random phase on. After it declares a storm
    it drops waiting and arriving packets until the restoration (`Watchdog`). ACKs in PFC's control class pass.

    Parameters
    ----------
    scenario
        A scenario with links under `Pause` or `PFC`; its own faults, ``storm=``, never end.
    watchdog
        Settings of the watchdogs, the same at all links.
    storms
        Faults that end: for names of links with Pause or PFC, such as ``"2->3"``, begin and end of each interval, in s
        or strings such as ``"200 ms"``, in which the link pauses all links that feed it, whatever its queue.
    links
        Names of the links with a watchdog, a string or a list. None: all links that can be paused.
    method
        Packet-level method; None: ``Packets(seed=1)``.
    duration
        Simulated time, s; None: the scenario's.

    Raises
    ------
    ValueError
        For a link without pauses or of another discipline than FIFO, Pause and PFC, for times that overlap or begin
        after the run, for ends after run and 60 s that have no unit, for a fault that pauses nothing, and as `simulate`
        with ``Packets``.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain
    >>> from dfcmodel.lossless import Watchdog, watch_packets
    >>> links = chain(3, rate=1e3, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    >>> one = Scenario("storm", links, [Flow("a", (1, 2, 3), CBR(500.0), host="direct")], duration=1.0)
    >>> watch_packets(one, Watchdog(0.05, 0.1, 0.2), storms={"2->3": [(0.2, 0.24)]}).alarms
    ()
    """
    instance("scenario", scenario, Scenario)
    instance("watchdog", watchdog, Watchdog)
    method = Packets(seed=1) if method is None else instance("method", method, Packets)
    end = run_end(scenario, duration)
    faults = _parse_storms(scenario, {} if storms is None else storms, end)
    plan = plan_scenario(scenario, method, duration=end, sample=end / 100.0)
    for p in faults:
        if not plan.faulty_pauses(p):
            raise ValueError(f"storms of {scenario.links[p].name}: {PAUSES_NOTHING}")
    ports = _ports_to_watch(plan, links)
    phases = np.random.default_rng([method.seed or 0, PHASES]).random(len(ports))
    plan = replace(
        plan,
        faults=tuple(Fault(p, *interval) for p, times in faults.items() for interval in times),
        watchdogs=tuple(
            _port_watchdog(watchdog, q, c, float(phase)) for (q, c), phase in zip(ports, phases, strict=True)
        ),
    )
    watch = Stopwatch()
    records, declared = watch_engine(plan)
    run = trajectory(plan, records, watch.seconds())
    pauses = [(q, c, begin, last) for _, q, c, begin, last in plan.fault_pauses() if begin < plan.end]
    storms_of: dict[int, list[tuple[float, float, int]]] = {}
    for row in declared:
        storm = float(row["declared"]), float(row["restored"]), int(row["dropped"])
        storms_of.setdefault(int(row["watchdog"]), []).append(storm)
    guards = [PortGuard(plan, q, c, watchdog, storms_of.get(n, [])) for n, (q, c) in enumerate(ports)]
    alarms = [alarm for guard in guards for alarm in guard.alarms(pauses)]
    undeclared = [storm for guard in guards for storm in guard.find_undeclared(pauses)]
    missed = tuple(storm for storm in undeclared if storm[3] + watchdog.period <= plan.end)
    undecided = tuple(storm for storm in undeclared if storm[3] + watchdog.period > plan.end)
    stopped = {pause for guard in guards for pause in guard.pauses_of(pauses)}
    unwatched = [
        (plan.ports[q].name, c, begin, last) for q, c, begin, last in pauses if (q, c, begin, last) not in stopped
    ]
    in_order = sorted(alarms, key=lambda alarm: alarm.declared)
    return WatchdogRun(watchdog, tuple(in_order), missed, undecided, tuple(unwatched), run)


def _parse_storms(
    scenario: Scenario, storms: Mapping[str, Iterable[tuple[WithUnit, WithUnit]]], run_time: float
) -> dict[int, list[tuple[float, float]]]:
    """Return (begin, end), s, of the faults of each link, by its index, after checks."""
    names = [link.name for link in scenario.links]
    faults = {}
    instance("storms", storms, Mapping, "a mapping of links to pairs of times")
    for name, intervals in storms.items():
        p = names.index(choice("storms: link", name, names))
        if not any(scenario.links[p].discipline.thresholds):
            msg = f"it has {scenario.links[p].discipline!r}, must have Pause or PFC"
            raise ValueError(f"storms of {name}: {msg}")
        subject = f"storms of {name}"
        rows: list[Any] = [*intervals]
        pairs = [pair if isinstance(pair, Iterable) and not isinstance(pair, str) else () for pair in rows]
        seconds = [[in_units(subject, time, "time") for time in pair] for pair in pairs]
        if not seconds or {len(pair) for pair in seconds} != {2}:
            raise ValueError(f"{subject} = {intervals!r}: must be pairs of begin and end, s")
        times = np.asarray([number(subject, pair, at_least=0.0) for pair in seconds])
        if (wrong := np.flatnonzero(np.diff(times.ravel()) <= 0.0)).size:
            n, starts_late = divmod(int(wrong[0]), 2)
            begin, end = times[n + starts_late]
            must = f"after the end of the one before, {times[n, 1]:g} s" if starts_late else "before its end"
            hint = "pauses that are renewed before they end are one interval" if starts_late else "both in s"
            raise ValueError(f"{subject}: interval {begin:g} to {end:g} s: must begin {must}; {hint}")
        if times[-1, 0] >= run_time:
            limit = f"the end of the run, duration = {run_time:g} s"
            msg = f"must begin before {limit}; times in ms need their unit: '200 ms'"
            raise ValueError(f"{subject} = {times[-1, 0]:g} s: {msg}")
        for pair, (_, end) in zip(rows, times.tolist(), strict=True):
            check_bare_time(subject, pair[1], end, max(run_time, MAX_BARE_TIME), *MS)
        faults[p] = [(float(begin), float(end)) for begin, end in times]
    return faults


def _ports_to_watch(plan: PacketPlan, links: Iterable[str] | str | None) -> list[tuple[int, int]]:
    """Return (port, class) of all watchdogs, at ports of switches; class `ALL` for all classes."""
    scenario = plan.scenario
    classes: dict[int, set[int]] = {}
    for p in range(len(plan.ports)):
        for q, c, _ in plan.faulty_pauses(p):
            if plan.ports[q].link >= 0 and not plan.at_senders[q]:
                by_class = plan.ports[q].discipline.pauses == "class"
                classes.setdefault(q, set()).add(c if by_class else ALL)
    paused = [link.name for q, link in enumerate(scenario.links) if q in classes]
    if not paused:
        msg = "no link from a switch is paused by another; interfaces of hosts have no watchdog"
        raise ValueError(f"scenario {scenario.name!r}: {msg}")
    requested = [links] if isinstance(links, str) else links
    selected = paused if requested is None else instances("links", requested, str, "the name of a link")
    names = [link.name for link in scenario.links]
    result = []
    for name in selected:
        q = names.index(choice("links", name, paused))
        rule = scenario.links[q].discipline
        if type(rule) not in (FIFO, Pause, PFC):
            msg = "a watchdog drops from FIFO queues: must be FIFO, Pause or PFC"
            raise ValueError(f"discipline of link {name} = {rule!r}: {msg}")
        result += [(q, c) for c in sorted(classes[q])]
    return result


def _port_watchdog(dog: Watchdog, q: int, priority: int, phase: float) -> PortWatchdog:
    """Return the watchdog of port q and a class; its first poll is ``phase`` polling times after 0."""
    min_paused = dog.period * (dog.fraction - 1e-9)
    return PortWatchdog(q, priority, phase * dog.period, dog.period, min_paused, dog.polls, dog.good_polls)
