"""Sprayed flows: those with several paths, as further flows that send nothing and lend their paths.

A plan has a flow for each further path, before all that are given: its hops are those of packets of the sprayed flow, which its
sender numbers, times and repairs. Results have the given flows alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.columns import Column, Routes
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.networks import Scenario
from dfcmodel.network.shortest_routes import hashed
from dfcmodel.packets.failures import rerouted
from dfcmodel.results.at_nodes import AtNodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dfcmodel.packets.failures import Rerouting
    from dfcmodel.packets.methods import Packets

    Integers = NDArray[np.int64]

__all__ = ["Spraying", "spread"]

BY_FLOW = (
    "delivered", "window", "backlog", "round_trip", "timeouts", "loss_events", "cumulative_loss_events", "marks", "imbalance",
    "first_loss", "finished", "started", "recoveries", "emitted", "inside", "notifications",
)  # fmt: skip
"""Fields of a run with a row for each flow."""


@dataclass(frozen=True, eq=False)
class Spraying:
    """The flows of a plan that lend their paths, and those that they are lent to.

    Attributes
    ----------
    given
        The scenario without them.
    lenders
        How many flows lend a path: the first ones of the plan.
    owner
        The flow of the plan whose packets take the path of each flow, (F,).
    first, count
        The first of the flows that lend to each flow, and how many paths it has, (F,): 0 of those that are not sprayed.
    begins
        Which of its paths the first packet of each flow takes in turn, (F,).
    rerouting
        Which paths flows take while links fail; None: always all of them.
    """

    given: Scenario
    lenders: int
    owner: Integers
    first: Integers
    count: Integers
    begins: Integers
    rerouting: Rerouting | None = None

    def way_of(self, f: int, path: int) -> int:
        """Return the flow that has a path of flow f, the last of which is its own."""
        return f if path == self.count[f] - 1 else int(self.first[f]) + path

    def collapse(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the run of a plan with the given flows alone."""
        C, places = self.lenders, self.owner - self.lenders
        transit = np.zeros_like(found["in_transit"][C:])
        np.add.at(transit, places, found["in_transit"])
        return {
            **found,
            **{name: found[name][C:] for name in BY_FLOW if found[name] is not None},
            **{name: self._at_nodes(found[name]) for name in ("lost", "carried", "mean_queue")},
            **{name: self._flows_of(found[name]) for name in ("dropped", "remaining")},
            "scenario": self.given,
            "in_transit": transit,
        }

    def _at_nodes(self, found: AtNodes) -> AtNodes:
        """Return values at nodes with the given flows alone: sums over their paths."""
        F, N = len(self.owner) - self.lenders, found.shape[1]
        keys = (self.owner - self.lenders)[found.flow] * N + found.node
        pairs, own = np.unique(keys, return_inverse=True)
        values = np.zeros((len(pairs), *found.values.shape[1:]))
        np.add.at(values, own.reshape(-1), found.values)
        flow, node = np.divmod(pairs, N)
        return AtNodes(flow, node, values, (F, *found.shape[1:]))

    def _flows_of(self, rows: Any) -> Any:
        """Return rows of a table with the given flows."""
        if rows is None or not len(rows):
            return rows
        found = rows.copy()
        found["flow"] = (self.owner - self.lenders)[rows["flow"]]
        return found


def spread(scenario: Scenario, method: Packets) -> tuple[Spraying, Scenario]:
    """Return how packets of sprayed flows are led, and the scenario of the plan, made for the first of several runs."""
    key, given = "spread", scenario
    scenario, rerouting = rerouted(scenario, method)
    if key not in scenario.derived:
        spraying = _spraying_of(scenario)
        own = replace(spraying, given=given, rerouting=rerouting)
        scenario.derived[key] = own, _expanded(spraying)
    found: tuple[Spraying, Scenario] = scenario.derived[key]
    return found


def _spraying_of(scenario: Scenario) -> Spraying:
    """Return how packets of sprayed flows are led.

    Raises
    ------
    ValueError
        For a flow without an interface, or with paths of unequal links.
    """
    table = scenario.table
    paths = table.columns["paths"]
    more = np.array([len(paths[f]) for f in range(len(table))])
    _check(scenario, more)
    C, F = int(more.sum()), len(table)
    of = np.repeat(np.arange(F), more)
    owner = np.concatenate([of, np.arange(F)]) + C
    first = np.concatenate([np.zeros(C, dtype=np.int64), np.cumsum(more) - more])
    count = np.concatenate([np.zeros(C, dtype=np.int64), np.where(more > 0, more + 1, 0)])
    flows = np.arange(C + F)
    begins = np.where(count > 0, hashed(flows, np.zeros_like(flows)) % np.maximum(count, 1), 0)
    return Spraying(scenario, C, owner, first, count, begins)


def _expanded(spraying: Spraying) -> Scenario:
    """Return the scenario with a flow for each further path, before the given ones."""
    scenario, C = spraying.given, spraying.lenders
    table = scenario.table
    which = spraying.owner - C
    paths = table.columns["paths"]
    place = {node: n for n, node in enumerate(table.nodes)}
    nodes = list(table.nodes)
    lent: list[list[int]] = []
    for f in range(len(table)):
        for path in paths[f]:
            for node in path:
                if node not in place:
                    place[node] = len(nodes)
                    nodes.append(node)
            lent.append([place[node] for node in path])
    routes = Routes.of([*lent, *(list(table.paths[f]) for f in range(len(table)))])
    columns = {
        name: Column(column.values, column.whole()[which], C + len(table))
        for name, column in table.columns.items()
        if name not in ("paths", "after", "delays")
    }
    columns["after"] = _after(table, C)
    columns["delays"] = _for_own(table.columns["delays"], C)
    names = [f"path {k} of {table.name(int(f))}" for k, f in enumerate(which[:C].tolist())]
    return replace(scenario, flows=Flows(nodes, routes, columns, [*names, *table.names]))


def _after(table: Flows, lenders: int) -> Column:
    """Return what each flow waits for, by its place behind the flows that lend paths."""
    given = table.columns["after"]
    values: list[tuple[str | int, ...]] = [()] * lenders
    for f in range(len(table)):
        own = given[f]
        values.append(tuple(n if isinstance(n, str) else int(n) + lenders for n in own))
    return Column(tuple(values), np.arange(len(values)), len(values))


def _for_own(column: Column, lenders: int) -> Column:
    """Return an option of the flows behind those that lend paths, which have none."""
    which = np.concatenate([np.zeros(lenders, dtype=np.int64), 1 + column.whole()])
    return Column(((), *column.values), which, len(which))


def _check(scenario: Scenario, more: Integers) -> None:
    """Raise ValueError for a sprayed flow without an interface, or over unequal links."""
    table, is_nic = scenario.table, scenario.host_is("nic")
    for f in np.flatnonzero((more > 0) & ~is_nic)[:1].tolist():
        host = scenario.host_of(scenario.flows[f])
        msg = "a sprayed flow needs an interface, which numbers its packets as they leave; use host='nic'"
        raise ValueError(f"host of flow {table.name(f)!r} = {host!r}: {msg}")
    if not scenario.at_once.all():
        f = int(np.argmin(scenario.at_once))
        msg = "beside sprayed flows all must begin at nodes from which flows only start, with host='nic'"
        raise ValueError(f"path of flow {table.name(f)!r} = {table.path(f)!r}: {msg}")
    known: set[Any] = set()
    links = scenario.link_table
    for f in np.flatnonzero(more > 0).tolist():
        own, paths = table.path(f), table.columns["paths"][f]
        if (own[1:-1], paths[0][1:-1]) in known:
            continue
        known.add((own[1:-1], paths[0][1:-1]))
        for n, path in enumerate(paths):
            for a, b in zip(itertools.pairwise(own), itertools.pairwise(path), strict=True):
                if b not in links.places:
                    msg = f"there is no link {b[0]}->{b[1]}"
                    raise ValueError(f"paths[{n}] of flow {table.name(f)!r}: {msg}")
                one, other = (links[links.places[ends]] for ends in (a, b))
                if (one.rate, one.delay) != (other.rate, other.delay):
                    msg = f"{b[0]}->{b[1]} must have the rate and delay of {a[0]}->{a[1]}"
                    raise ValueError(f"paths[{n}] of flow {table.name(f)!r}: {msg}")
