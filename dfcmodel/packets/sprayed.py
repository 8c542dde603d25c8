"""Flows over several paths: sprayed, or led around links that fail.

A plan has a flow for each further path, before all flows of the scenario. It sends nothing and lends its path: packets
of the sprayed flow, which its sender numbers, times and repairs, take its hops. Results have the scenario's flows
alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.flows import Flows
from dfcmodel.network.links import Column, Routes
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.shortest_routes import ShortestRoutes, hash_pair
from dfcmodel.results.records import ARRAYS, FLOW, NODE, AtNodes
from hopflow.callers import warn_caller
from hopflow.checks import choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.methods import Packets

    Integers = NDArray[np.int64]
    Path = tuple[Hashable, ...]

__all__ = ["Rerouting", "Spraying", "check_failures", "reroute", "spread"]

BY_FLOW = tuple(name for name, (dims, *_) in ARRAYS.items() if dims[0] == FLOW and NODE not in dims)
"""Fields of a run with a row for each flow, and without places."""


@dataclass(frozen=True, eq=False)
class Rerouting:
    """Times, s, at which routes change, and the paths that each flow uses in each interval between them.

    Attributes
    ----------
    times
        Times at which routes change, s, ascending, (E,).
    turns
        For each flow the numbers of its paths, in the order in which packets take them, in each of the E + 1 intervals;
        () of a flow with one path.
    """

    times: NDArray[np.float64]
    turns: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True, eq=False)
class Spraying:
    """Additional flows of a plan that stand for further paths ("lend" them), and the flows that use these paths.

    Attributes
    ----------
    original
        The scenario without the additional flows.
    lenders
        Number of additional flows, one per further path; they come first in the plan.
    owner
        Index in the plan of the flow whose packets use the path of each flow, (F,).
    first, count
        First additional flow of each flow, and its number of paths, 0 if it is not sprayed, (F,) each.
    begins
        Number of the path of the first packet of each flow, from which on packets take paths in turn, (F,).
    rerouting
        Paths that flows use while links fail; None: always all paths.
    """

    original: Scenario
    lenders: int
    owner: Integers
    first: Integers
    count: Integers
    begins: Integers
    rerouting: Rerouting | None = None

    def way_of(self, f: int, path: int) -> int:
        """Return the index in the plan of the flow with path number ``path`` of flow f; the last path is f's own."""
        return f if path == self.count[f] - 1 else int(self.first[f]) + path

    def collapse(self, run: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a plan's run for the flows of the scenario alone, with sums over paths."""
        lenders, owner = self.lenders, self.owner - self.lenders
        transit = np.zeros_like(run["in_transit"][lenders:])
        np.add.at(transit, owner, run["in_transit"])
        return {
            **run,
            **{name: run[name][lenders:] for name in BY_FLOW if run.get(name) is not None},
            **{name: self._sum_paths(run[name]) for name in ("lost", "carried", "mean_queue")},
            **{name: self._renumber(run[name]) for name in ("dropped", "remaining")},
            "scenario": self.original,
            "in_transit": transit,
            "rerouted": None if self.rerouting is None else self.count[lenders:] > 0,
        }

    def _sum_paths(self, values: AtNodes) -> AtNodes:
        """Return values at nodes by flow of the scenario, summed over its paths."""
        flows, nodes = len(self.owner) - self.lenders, values.shape[1]
        keys = (self.owner - self.lenders)[values.flow] * nodes + values.node
        pairs, index = np.unique(keys, return_inverse=True)
        sums = np.zeros((len(pairs), *values.values.shape[1:]))
        np.add.at(sums, index.reshape(-1), values.values)
        flow, node = np.divmod(pairs, nodes)
        return AtNodes(flow, node, sums, (flows, *values.shape[1:]))

    def _renumber(self, rows: Any) -> Any:
        """Return a copy of rows with the scenario's indices of flows; None unchanged."""
        if rows is None or not len(rows):
            return rows
        table = rows.copy()
        table["flow"] = (self.owner - self.lenders)[rows["flow"]]
        return table


def spread(scenario: Scenario, method: Packets) -> tuple[Spraying, Scenario]:
    """Return the paths of sprayed flows and the scenario with a flow per path; cached for further runs.

    Raises
    ------
    ValueError
        For a flow without an interface, or with paths of unequal links.
    """
    key, original = "spread", scenario
    scenario, rerouting = reroute(scenario, method)
    if key not in scenario.derived:
        table = scenario.table
        paths = table.columns["paths"]
        further = np.array([len(paths[f]) for f in range(len(table))])
        _check_paths(scenario, further)
        lenders, flows = int(further.sum()), len(table)
        owner = np.concatenate([np.repeat(np.arange(flows), further), np.arange(flows)]) + lenders
        none = np.zeros(lenders, dtype=np.int64)
        first = np.concatenate([none, np.cumsum(further) - further])
        count = np.concatenate([none, np.where(further > 0, further + 1, 0)])
        numbers = np.arange(lenders + flows)
        begins = np.where(count > 0, hash_pair(numbers, np.zeros_like(numbers)) % np.maximum(count, 1), 0)
        spraying = Spraying(original, lenders, owner, first, count, begins, rerouting)
        scenario.derived[key] = spraying, _with_lenders(scenario, spraying)
    spread_flows: tuple[Spraying, Scenario] = scenario.derived[key]
    return spread_flows


def _check_paths(scenario: Scenario, further: Integers) -> None:
    """Raise ValueError for sprayed flows that cannot run; ``further``: number of each flow's additional paths, (F,)."""
    table, is_nic = scenario.table, scenario.host_is("nic")
    for f in np.flatnonzero((further > 0) & ~is_nic)[:1].tolist():
        host = scenario.host_of(scenario.flows[f])
        msg = "a sprayed flow needs an interface, which numbers its packets as they leave; use host='nic'"
        raise ValueError(f"host of flow {table.name(f)!r} = {host!r}: {msg}")
    if not scenario.at_once.all():
        f = int(np.argmin(scenario.at_once))
        msg = "beside sprayed flows all must begin at nodes from which flows only start, with host='nic'"
        raise ValueError(f"path of flow {table.name(f)!r} = {table.path(f)!r}: {msg}")
    checked: set[Any] = set()
    links = scenario.link_table
    for f in np.flatnonzero(further > 0).tolist():
        last, paths = table.path(f), table.columns["paths"][f]
        inner = last[1:-1], paths[0][1:-1]
        if inner in checked:
            continue
        checked.add(inner)
        for n, path in enumerate(paths):
            for a, b in zip(itertools.pairwise(last), itertools.pairwise(path), strict=True):
                if b not in links.places:
                    msg = f"there is no link {b[0]}->{b[1]}"
                    raise ValueError(f"paths[{n}] of flow {table.name(f)!r}: {msg}")
                one, other = (links[links.places[pair]] for pair in (a, b))
                if (one.rate, one.delay) != (other.rate, other.delay):
                    msg = f"{b[0]}->{b[1]} must have the rate and delay of {a[0]}->{a[1]}"
                    raise ValueError(f"paths[{n}] of flow {table.name(f)!r}: {msg}")


def _with_lenders(scenario: Scenario, spraying: Spraying) -> Scenario:
    """Return the scenario with an additional flow for each further path, before its own flows."""
    table, lenders = scenario.table, spraying.lenders
    flow = spraying.owner - lenders
    index = {node: n for n, node in enumerate(table.nodes)}
    nodes = list(table.nodes)
    lent: list[list[int]] = []
    for f in range(len(table)):
        for path in table.columns["paths"][f]:
            for node in path:
                if node not in index:
                    index[node] = len(nodes)
                    nodes.append(node)
            lent.append([index[node] for node in path])
    routes = Routes.of([*lent, *(list(table.paths[f]) for f in range(len(table)))])
    columns = {
        name: Column(column.values, column.whole()[flow], len(flow))
        for name, column in table.columns.items()
        if name not in ("paths", "after", "delays")
    }
    after: list[tuple[str | int, ...]] = [()] * lenders  # by names, or by numbers, which are now higher
    for waited_for in table.columns["after"]:
        after.append(tuple(n if isinstance(n, str) else int(n) + lenders for n in waited_for))
    columns["after"] = Column(tuple(after), np.arange(len(after)), len(after))
    delays = table.columns["delays"]
    which = np.concatenate([np.zeros(lenders, dtype=np.int64), 1 + delays.whole()])
    columns["delays"] = Column(((), *delays.values), which, len(which))
    names = [f"path {k} of {table.name(int(f))}" for k, f in enumerate(flow[:lenders].tolist())]
    return replace(scenario, flows=Flows(nodes, routes, columns, [*names, *table.names]))


# Links that fail and are repaired.


def check_failures(scenario: Scenario, method: Packets, duration: float) -> None:
    """Raise ValueError for failures of an unknown or first link, under DFC or a law, or with random losses.

    Warnings name failures after the end of the run, ``duration`` s, those of links that no packet would pass, and a
    delay after which no route changes before the end.
    """
    links, first = scenario.link_table, set(scenario.routes.first.tolist())
    for name in method.failures or ():
        choice("failures: link", name, links.names)
        n = links.names.index(name)
        rule = scenario.links[n].discipline
        if rule.diffuses or isinstance(rule, LinkLaw):
            msg = "counts what is on it at both ends; use another discipline"
            raise ValueError(f"failures of {name}: {type(rule).__name__} {msg}")
        if n in first:
            msg = "it is the first link of a flow, which keeps it; use a link between switches"
            raise ValueError(f"failures of {name}: {msg}")
        if (method.loss or {}).get(name, 0.0) > 0.0:
            raise ValueError(f"failures of {name}: loss of it must be 0")
    begins = {name: min(begin for begin, _ in rows) for name, rows in (method.failures or {}).items()}
    late = [f"{name} at {begin:g}" for name, begin in begins.items() if begin >= duration]
    if late:
        message = (
            f"failures of {', '.join(late)}: times are in s, and the run ends at {duration:g} s: no link fails then"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    earliest = min(begins.values(), default=math.inf) + method.reroute_delay
    if method.reroute_delay > 0.0 and not late and earliest >= duration:
        message = (
            f"reroute_delay = {method.reroute_delay:g}: it is in s, and the run ends at {duration:g} s: no flow is led "
            "around the failures"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    ends = [(links[links.names.index(name)].source, links[links.names.index(name)].target) for name in begins]
    if not scenario.data_links & set(ends):
        message = (
            f"failures of {', '.join(begins)}: no packet of data passes {'any of them' if len(ends) > 1 else 'it'}"
        )
        warn_caller(UserWarning(message), "dfcmodel")


def reroute(scenario: Scenario, method: Packets) -> tuple[Scenario, Rerouting | None]:
    """Return a scenario with all paths that flows use while links fail, and when; None: failures change no path.

    Raises
    ------
    ValueError
        For a flow without a path of as many links, over its first and its last one, none of which fails, on which its
        ACKs could return.
    """
    failures = method.failures
    if not failures:
        return scenario, None
    key = "rerouted", tuple(sorted(failures.items())), method.reroute_delay
    if key not in scenario.derived:
        scenario.derived[key] = _reroute(scenario, failures, method.reroute_delay)
    scenario_and_times: tuple[Scenario, Rerouting | None] = scenario.derived[key]
    return scenario_and_times


def _reroute(scenario: Scenario, failures: Any, delay: float) -> tuple[Scenario, Rerouting | None]:
    """Return (scenario with paths around failures, `Rerouting`, ``delay`` s later), or (scenario, None) without any."""
    changes = sorted({time for rows in failures.values() for row in rows for time in row if time < math.inf})
    down = [frozenset(name for name, rows in failures.items() if any(a <= t < b for a, b in rows)) for t in changes]
    index = dict(zip(scenario.link_table.names, range(len(scenario.links)), strict=True))
    failing = {(scenario.links[index[name]].source, scenario.links[index[name]].target): name for name in failures}
    returning = {(b, a): name for (a, b), name in failing.items()}  # hops of data of which ACKs cross a failing link
    opposite = frozenset(link.name for link in scenario.links if (link.source, link.target) in returning)
    down_ever = frozenset(failures)
    is_nic = scenario.host_is("nic")
    flows, turns, unsafe = [], [], list[str]()
    graphs: dict[frozenset[str], ShortestRoutes] = {}
    for f, flow in enumerate(scenario.flows):
        paths = (flow.path, *flow.paths)
        crossed = [frozenset(failing[hop] for hop in itertools.pairwise(path) if hop in failing) for path in paths]
        loses_acks = _crosses(flow.path, returning)
        if not (any(crossed) or loses_acks) or not is_nic[f] or flow.ttl is not None:
            flows.append(flow)
            turns.append((tuple(range(len(paths))),) * (len(changes) + 1) if flow.paths else ())
            continue
        by_epoch = [paths]
        for names in down:
            usable = tuple(path for path, over in zip(paths, crossed, strict=True) if not over & names)
            by_epoch.append(usable or _shortest(scenario, f, graphs, names) or by_epoch[-1])
        taken = tuple(dict.fromkeys(path for epoch in by_epoch for path in epoch))
        lasting = *(path for path in taken if not _crosses(path, failing)), *_shortest(scenario, f, graphs, down_ever)
        detours = (path for names in (down_ever | opposite, opposite) for path in _shortest(scenario, f, graphs, names))
        candidates = itertools.chain(lasting, detours, taken) if lasting else ()
        safe = next((path for path in candidates if not _crosses(path, returning)), None)
        if not any(crossed) and (safe is None or len(safe) != len(flow.path)):
            unsafe.append(flow.name)
            flows.append(flow)
            turns.append((tuple(range(len(paths))),) * (len(changes) + 1) if flow.paths else ())
            continue
        subject = f"failures: flow {flow.name!r} with path {flow.path!r}"
        if safe is None:
            without = ", ".join(sorted(failures))
            msg = "must leave a path over its first and last link that never fails, for ACKs"
            msg += f": without {without} none is left"
            raise ValueError(f"{subject}: {msg}")
        if (lengths := {len(path) - 1 for path in (*taken, safe)}) != {len(flow.path) - 1}:
            counts = ", ".join(f"{count}" for count in sorted(lengths))
            raise ValueError(f"{subject}: its paths around failures must have as many links, they have {counts}")
        others = tuple(path for path in taken if path != safe)
        number = {path: n for n, path in enumerate((*others, safe))}
        flows.append(replace(flow, path=safe, paths=others))
        turns.append(tuple(tuple(number[path] for path in epoch) for epoch in by_epoch))
    if unsafe:
        message = (
            f"failures of {', '.join(failures)}: ACKs of flow {unsafe[0]!r}, and of {len(unsafe)} of "
            f"{len(scenario.flows)} flows, return over it, and no path of as many links avoids it: they are lost while "
            "it fails"
        )
        warn_caller(UserWarning(message), "dfcmodel")
    if not any(flow.paths for flow in flows):
        return scenario, None
    return replace(scenario, flows=flows), Rerouting(np.array(changes) + delay, tuple(turns))


def _crosses(path: Path, hops: Collection[tuple[Hashable, Hashable]]) -> bool:
    """Return whether a path has one of the hops."""
    return any(hop in hops for hop in itertools.pairwise(path))


def _shortest(
    scenario: Scenario, f: int, graphs: dict[frozenset[str], ShortestRoutes], down: frozenset[str]
) -> tuple[Path, ...]:
    """Return a shortest path of flow f, with its first and last link, that avoids links that are down; () for none."""
    if down not in graphs:
        graphs[down] = ShortestRoutes([link for link in scenario.links if link.name not in down])
    graph, path = graphs[down], scenario.table.path(f)
    first, last = path[:2], path[-2:]
    if not down.isdisjoint({f"{first[0]}->{first[1]}", f"{last[0]}->{last[1]}"}):
        return ()
    if first[1] == last[0]:
        return (path,)
    if first[1] not in graph.index_of or last[0] not in graph.index_of:
        return ()
    source, target = (np.array([graph.index_of[node]]) for node in (first[1], last[0]))
    try:
        routes = graph.paths(source, target, "ecmp", np.array([f]))
    except LookupError:
        return ()
    return ((first[0], *(graph.nodes[n] for n in routes[0]), last[1]),)
