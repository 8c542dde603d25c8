"""Links that fail and are repaired at given times, and the paths of flows in between."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.link_laws import LinkLaw
from dfcmodel.network.shortest_routes import ShortestRoutes
from hopflow.checks import choice

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dfcmodel.network.networks import Scenario
    from dfcmodel.packets.methods import Packets

    Path = tuple[Hashable, ...]

__all__ = ["Rerouting", "check_failures", "rerouted"]


@dataclass(frozen=True, eq=False)
class Rerouting:
    """Which paths flows take, from one change of routes to the next.

    Attributes
    ----------
    times
        When routes change, s, ascending, (E,).
    turns
        For each flow the places of its paths, in the order in which packets take them, in each of the E + 1 intervals; () of a flow with one path.
    """

    times: NDArray[np.float64]
    turns: tuple[tuple[tuple[int, ...], ...], ...]


def check_failures(scenario: Scenario, method: Packets) -> None:
    """Raise ValueError for links that cannot fail: of hosts, under DFC or a law, or with random losses."""
    links, first = scenario.link_table, set(scenario.routes.first.tolist())
    for name in method.failures or ():
        choice("failures: link", name, links.names)
        n = links.names.index(name)
        rule = scenario.links[n].discipline
        if rule.diffuses or isinstance(rule, LinkLaw):
            msg = "counts what is on it at both ends; use another discipline"
            raise ValueError(f"failures of {name}: {type(rule).__name__} {msg}")
        if n in first:
            msg = "it is the first link of a flow, which has no other one; use a link between switches"
            raise ValueError(f"failures of {name}: {msg}")
        if (method.loss or {}).get(name, 0.0) > 0.0:
            raise ValueError(f"failures of {name}: loss of it must be 0")


def rerouted(scenario: Scenario, method: Packets) -> tuple[Scenario, Rerouting | None]:
    """Return a scenario whose flows have all paths that they take while links fail, and when they take which.

    Raises
    ------
    ValueError
        For a flow that has no path of as many links without those that fail, on which its ACKs could return.
    """
    failures = method.failures
    if not failures:
        return scenario, None
    key = "rerouted", tuple(sorted(failures.items())), method.reroute_delay
    if key not in scenario.derived:
        scenario.derived[key] = _rerouted(scenario, failures, method.reroute_delay)
    found: tuple[Scenario, Rerouting | None] = scenario.derived[key]
    return found


def _rerouted(scenario: Scenario, failures: Any, delay: float) -> tuple[Scenario, Rerouting | None]:
    """Return what `rerouted` does."""
    changes = sorted({time for rows in failures.values() for row in rows for time in row if time < math.inf})
    lost = [frozenset(name for name, rows in failures.items() if any(a <= t < b for a, b in rows)) for t in changes]
    names = dict(zip(scenario.link_table.names, range(len(scenario.links)), strict=True))
    ends = {(scenario.links[names[name]].source, scenario.links[names[name]].target): name for name in failures}
    is_nic = scenario.host_is("nic")
    flows, turns = [], []
    graphs: dict[frozenset[str], ShortestRoutes] = {}
    for f, flow in enumerate(scenario.flows):
        every = (flow.path, *flow.paths)
        crossed = [frozenset(ends[hop] for hop in itertools.pairwise(path) if hop in ends) for path in every]
        if not any(crossed) or not is_nic[f] or flow.ttl is not None:
            flows.append(flow)
            turns.append((tuple(range(len(every))),) * (len(changes) + 1) if flow.paths else ())
            continue
        by_epoch = [every]
        for gone in lost:
            left = tuple(path for path, over in zip(every, crossed, strict=True) if not over & gone)
            if not left:
                left = _shortest(scenario, f, (graphs, gone)) or by_epoch[-1]
            by_epoch.append(left)
        known = tuple(dict.fromkeys(path for paths in by_epoch for path in paths))
        safe = next(
            (path for path in known if not any(hop in ends for hop in itertools.pairwise(path))),
            None,
        )
        if safe is None:
            found = _shortest(scenario, f, (graphs, frozenset(failures)))
            safe = found[0] if found else None
        if safe is None or any(len(path) != len(safe) for path in known):
            msg = "must leave a path that never fails, for ACKs, and all paths must have as many links"
            raise ValueError(f"failures: flow {flow.name!r} with path {flow.path!r}: {msg}")
        others = tuple(path for path in known if path != safe)
        place = {path: n for n, path in enumerate((*others, safe))}
        flows.append(replace(flow, path=safe, paths=others))
        turns.append(tuple(tuple(place[path] for path in paths) for paths in by_epoch))
    if not any(flow.paths for flow in flows):
        return scenario, None
    return replace(scenario, flows=flows), Rerouting(np.array(changes) + delay, tuple(turns))


def _shortest(
    scenario: Scenario, f: int, among: tuple[dict[frozenset[str], ShortestRoutes], frozenset[str]]
) -> tuple[Path, ...]:
    """Return a shortest path of a flow without some links, by ECMP, as the only one; () if there is none."""
    graphs, gone = among
    if gone not in graphs:
        graphs[gone] = ShortestRoutes([link for link in scenario.links if link.name not in gone])
    graph, path = graphs[gone], scenario.table.path(f)
    if path[0] not in graph.place or path[-1] not in graph.place:
        return ()
    source, target = (np.array([graph.place[node]]) for node in (path[0], path[-1]))
    try:
        found = graph.paths(source, target, "ecmp", np.array([f]))
    except LookupError:
        return ()
    return (tuple(graph.nodes[n] for n in found[0]),)
