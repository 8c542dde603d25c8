"""Deadlock of pause-controlled networks: cycles of buffers, and scenarios that fill them.

A cycle of dependencies is necessary for a deadlock, not sufficient: traffic has to fill all its buffers at
the same time. A network without cycles is therefore free of deadlock, by proof. For a network with cycles,
`Deadlock.scenario` returns traffic that fills a cycle, for `dfcmodel.simulate`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.cycles.buffer_dependencies import (
    Dependencies,
    dependencies_of_routes,
    dependencies_of_shortest_paths,
)
from dfcmodel.lossless.topologies.fabrics import host_counts
from dfcmodel.lossless.topologies.routes import Route, check_digraph, parse_routes
from dfcmodel.lossless.topologies.shortest_paths import MIN_ENDPOINTS
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario, warn_of_metrics
from dfcmodel.network.queueing.disciplines import Pause
from hopflow.callers import warn_caller
from hopflow.checks import count_of, format_value
from hopflow.fork_safety import cached_property
from hopflow.results import Result
from hopflow.units import WithUnit, declares, quantities

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import networkx as nx

    from markov.results import Passage

__all__ = ["Deadlock", "buffer_cycles", "deadlock", "line_rate_scenario"]


def buffer_cycles(
    graph: nx.DiGraph[Any],
    routes: Iterable[Any] | None = None,
    *,
    ends: Sequence[Any] | None = None,
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the minimal cycles of buffers that wait for each other; without any, no deadlock is possible.

    Parameters
    ----------
    graph
        A networkx digraph of the switches, with hosts as nodes or not.
    routes
        Lists of nodes, or `Route` objects with classes of traffic; None: all shortest paths between all
        ends, of one class.
    ends
        For ``routes=None``, sources and targets of traffic; None: the nodes whose attribute ``hosts`` is
        positive, or all nodes if none has that attribute.

    Yields
    ------
    Lists of links ``(from, to)``, each waiting for the next and the last for the first; with several
    classes, of ``(from, to, class)``. No cycle contains a shorter cycle. The search computes a shortest cycle through
    every buffer on a cycle, so that there are at most as many cycles as buffers. The number of all cycles grows
    exponentially with their length.

    Raises
    ------
    ValueError
        For a graph that is not a simple digraph, a link that it does not have, or an unknown end; for a route that ends
        at a node between its ends, unless its last link is one that it has crossed, as of a routing loop; for
        ``routes=None`` also for fewer than two ends, without a path between any two, and for ``hosts`` by another name,
        such as ``num_hosts``.

    Warns
    -----
    UserWarning
        For ``routes=None``, of edges that differ in a ``weight``, ``cost`` or ``metric``, by which no path is chosen,
        and of cycles that exist only if switches send, where neither ``ends`` nor ``hosts`` says which nodes do.

    Notes
    -----
    Dally and Seitz, IEEE Transactions on Computers 36(5), 1987, theorem 1, with buffers of links in place
    of channels.

    Examples
    --------
    >>> import networkx as nx
    >>> from dfcmodel.lossless import buffer_cycles
    >>> ring = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")])
    >>> next(buffer_cycles(ring))
    [('a', 'b'), ('b', 'c'), ('c', 'a')]
    >>> list(buffer_cycles(ring, [["a", "b", "c"], ["b", "c", "a"]]))  # nothing turns from c->a to a->b
    []
    """
    return deadlock(graph, routes, ends=ends).cycles()


def deadlock(
    graph: nx.DiGraph[Any],
    routes: Iterable[Any] | None = None,
    *,
    ends: Sequence[Any] | None = None,
) -> Deadlock:
    """Return whether routes on a graph can deadlock, with the cycles of buffers, as `Deadlock`.

    Parameters and errors as for `buffer_cycles`.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock, fat_tree, torus
    >>> deadlock(fat_tree(4)).is_free, deadlock(torus([4, 4])).is_free
    (True, False)
    """
    check_digraph(graph)
    if routes is None:
        warn_of_metrics(graph, (), "give the paths that the metric chooses as routes")
        dependencies = dependencies_of_shortest_paths(graph, ends)
        if ends is None and not host_counts(graph):
            _warn_of_ends(graph, dependencies)
        return Deadlock(graph, dependencies, f"all shortest paths between {count_of(dependencies.ends, 'node')}")
    if ends is not None:
        raise ValueError("ends: only for routes=None, the routes given have ends of their own")
    parsed = parse_routes(routes)
    if "routing" not in graph.graph:  # routes of a file are divided at links that do not pause
        _check_loops(parsed)
    return Deadlock(graph, dependencies_of_routes(graph, parsed), count_of(len(parsed), "route"))


def _check_loops(routes: Sequence[Route]) -> None:
    """Raise ValueError for a route that ends at a node between its ends, by a link that it crosses once.

    A route back to its first node is allowed: hosts of one switch may send over others, where the graph has no hosts.
    """
    for n, route in enumerate(routes):
        *before, last = itertools.pairwise(route.nodes)
        if last[1] in route.nodes[1:-1] and last not in before:
            loop = list(route.nodes[list(route.nodes).index(last[1]) : -1])
            hint = f"of a routing loop write two rounds, {format_value([*loop, *loop, last[1]])} at its end"
            raise ValueError(f"routes[{n}]: ends at {last[1]!r}, which it has visited; {hint}")


def _warn_of_ends(graph: nx.DiGraph[Any], dependencies: Dependencies) -> None:
    """Warn of a cycle that exists only because switches are taken to send: nodes with one neighbour alone have none.

    Hosts that are nodes of the graph have one neighbour. Between two spines of a fabric, which never send, shortest
    paths lead down and up.
    """
    leaves = [node for node in graph if len({*graph.successors(node), *graph.predecessors(node)}) == 1]
    if len(leaves) < MIN_ENDPOINTS or len(leaves) == len(graph) or dependencies.is_free:
        return
    if dependencies_of_shortest_paths(graph, leaves).is_free:
        message = (
            f"deadlock is possible between all {len(graph)} nodes, and impossible between the {len(leaves)} with one "
            f"neighbour, such as {format_value(leaves[0])}: if these are the hosts, and switches do not send, give "
            "them as ends (in a file as hosts)"
        )
        warn_caller(UserWarning(message), "dfcmodel")


@dataclass(frozen=True, eq=False, repr=False)
class Deadlock(Result):
    """Whether a network can deadlock by pauses, and the buffers that wait for each other.

    Attributes
    ----------
    graph
        The links of the network.
    dependencies
        The buffers and their dependencies.
    routing
        Description of the routes.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock, torus
    >>> result = deadlock(torus([3, 3]))
    >>> result.is_free, len(next(result.cycles()))  # buffers of a cycle
    (False, 4)
    """

    graph: nx.DiGraph[Any]
    dependencies: Dependencies
    routing: str

    @cached_property
    def is_free(self) -> bool:
        """Whether no deadlock is possible, as no buffers wait for each other in a cycle."""
        return self.dependencies.is_free

    def cycles(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield minimal cycles of buffers, (from, to), or (from, to, class) where there are several classes."""
        for cycle in self.dependencies.cycles():
            yield [self._link_of(v) for v in cycle]

    def _link_of(self, buffer: int) -> tuple[Any, ...]:
        """Return the link (from, to) of a buffer, by index; with classes (from, to, class)."""
        return self.dependencies.channels[buffer][: 3 if self._has_classes else 2]

    @cached_property
    def _has_classes(self) -> bool:
        """Whether the buffers belong to several classes of traffic."""
        return len({channel[2] for channel in self.dependencies.channels}) > 1

    def summary(self) -> dict[str, object]:
        """Return texts by name: verdict, routing, sizes of the network, and if it can deadlock a cycle of buffers."""
        waits, cyclic = self.dependencies.waits, self.dependencies.cyclic()
        unconnected = self.dependencies.unconnected
        missing = f"; none between {count_of(unconnected, 'ordered pair')} of ends" if unconnected else ""
        rows: dict[str, object] = {
            "deadlock": "impossible: no cycle of buffers" if self.is_free else "possible",
            "routing": self.routing + missing,
            "switches and links": f"{len(self.graph)}, {self.graph.number_of_edges()}",
            "buffers in use": f"{len(self.dependencies.channels)}, {count_of(waits.nnz, 'dependency', 'dependencies')}",
        }
        if not self.is_free:
            rows["buffers on cycles"] = len(cyclic)
            names = (f"{a}->{b}" + "".join(f" (class {c})" for c in classes) for a, b, *classes in next(self.cycles()))
            rows["a cycle"] = ", ".join(names)
        return rows

    @quantities(buffer="amount")
    @quantities(rate="rate", delay="time", duration="time")
    def scenario(
        self,
        cycle: Sequence[tuple[Any, ...]] | None = None,
        *,
        rate: WithUnit = 1e5,
        delay: WithUnit = 1e-5,
        pause: Pause | None = None,
        buffer: WithUnit = 1000.0,
        duration: WithUnit = 0.1,
    ) -> Scenario:
        """Return a scenario that tries to fill a cycle: for each of its dependencies a flow at line rate.

        A flow keeps its class, and so must the cycle. Of routes of several classes a flow has the part in its class.

        Parameters
        ----------
        cycle
            A cycle of `cycles`; None: the first.
        rate, delay
            Rate of each link in packets/s, and its delay in s.
        pause
            Thresholds of each queue; None: ``Pause(high=100, low=50)``.
        buffer
            Buffer of each link in packets.
        duration
            Simulated time in s.

        Raises
        ------
        ValueError
            For links that do not wait for each other, without a cycle, and for a cycle over several classes.
        """
        channels = self.dependencies.channels
        routes = [
            _part_in_class(self.dependencies.route_through(i, j), channels[i], channels[j])
            for i, j in self._dependencies_of(cycle)
        ]
        return line_rate_scenario(routes, rate=rate, delay=delay, pause=pause, buffer=buffer, duration=duration)

    @quantities(load="share")
    def passage(self, load: WithUnit, cycle: Sequence[tuple[Any, ...]] | None = None, *, room: int = 3) -> Passage:
        """Return the time until a cycle deadlocks under random arrivals, in packet times, as a Markov chain's passage.

        Times are in packet times of a link, which are exponential. Packets arrive at each buffer of the cycle as a
        Poisson process and cross two buffers. ``.mean`` is the mean time to the deadlock, and
        ``.distribution(times).cdf`` has the probabilities of a deadlock before given times. The rules are in
        `dfcmodel.lossless.cycles.deadlock_chains`.

        Parameters
        ----------
        load
            Load of each link of the cycle, relative to its rate, above 0, at most 10.
        cycle
            A cycle of `cycles`; None: the first.
        room
            Packets in the buffer of a link, 1 to 12. The chain has (2^(room + 1) - 1)^n states for n buffers, at most
            300,000.

        Raises
        ------
        ValueError
            For links that do not wait for each other, without a cycle, for a cycle with several buffers of a link, of
            different classes, and for too many states.

        Examples
        --------
        >>> import networkx as nx
        >>> from dfcmodel.lossless import deadlock
        >>> ring = deadlock(nx.DiGraph(["ab", "bc", "ca"]), routes=[("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")])
        >>> for load in (0.4, 0.6):
        ...     soon = ring.passage(load)
        ...     print(f"{soon.mean:.0f} packet times; within 1000: {soon.distribution([1000.0]).cdf[0]:.2f}")
        5313 packet times; within 1000: 0.17
        413 packet times; within 1000: 0.91
        """
        from dfcmodel.lossless.cycles.deadlock_chains import cycle_passage

        buffers = [self.dependencies.channels[i] for i, _ in self._dependencies_of(cycle)]
        for n, (a, b, _) in enumerate(buffers):
            if (a, b) in (link[:2] for link in buffers[:n]):
                raise ValueError(f"cycle: link {a}->{b} has buffers of two classes in it: must have one of each link")
        return cycle_passage(len(buffers), load, room)

    def _dependencies_of(self, cycle: Sequence[tuple[Any, ...]] | None) -> list[tuple[int, int]]:
        """Return the dependencies of a cycle as pairs of indices of buffers; None: of the first, which must exist."""
        number = {self._link_of(k): k for k in range(len(self.dependencies.channels))}
        links = next(self.cycles(), None) if cycle is None else list(cycle)
        if not links:
            raise ValueError(f"cycle = {cycle!r}: there is no cycle")
        pairs = []
        for first, second in itertools.pairwise([*links, links[0]]):
            i, j = number.get(tuple(first), -1), number.get(tuple(second), -1)
            if i < 0 or j < 0 or not self.dependencies.waits[i, j]:
                raise ValueError(f"cycle: {first} does not wait for {second}")
            pairs.append((i, j))
        return pairs

    def plot(self, ax: Any = None) -> Any:
        """Draw the network and its first cycle; return the Axes."""
        import networkx as nx

        from hopflow.results import figure

        axes = figure(5.2, 5.2)[1] if ax is None else ax
        heights = dict(self.graph.nodes(data="level"))
        if None in heights.values() or len(set(heights.values())) == 1:
            positions = nx.kamada_kawai_layout(self.graph)
        else:
            positions = nx.multipartite_layout(self.graph, subset_key="level", align="horizontal")
        nx.draw_networkx_nodes(self.graph, positions, ax=axes, node_size=40, node_color="#0072B2")
        nx.draw_networkx_edges(self.graph, positions, ax=axes, arrows=False, edge_color="#BBBBBB", width=0.6)
        if not self.is_free:
            cycle = [(a, b) for a, b, *_ in next(self.cycles())]
            nx.draw_networkx_edges(self.graph, positions, cycle, ax=axes, edge_color="#D55E00", width=2.0, arrowsize=14)
        caption = "no cycle" if self.is_free else "a cycle of buffers"
        axes.set_title(f"{self.routing}: {caption}")
        axes.set_axis_off()
        return axes


def _part_in_class(route: Route, first: tuple[Any, ...], second: tuple[Any, ...]) -> Route:
    """Return the part of a route around two successive links, (from, to, class), in which it keeps their class."""
    if first[2] != second[2]:
        (a, b, c), (_, d, after) = first, second
        raise ValueError(f"cycle: class {c} of {a}->{b} waits for class {after} of {b}->{d}: must be one class")
    channels = route.channels()
    begin = next(n for n, pair in enumerate(itertools.pairwise(channels)) if pair == (first, second))
    end = begin + 2
    while begin > 0 and channels[begin - 1][2] == first[2]:
        begin -= 1
    while end < len(channels) and channels[end][2] == first[2]:
        end += 1
    return Route([*route.nodes][begin : end + 1], first[2])


@declares(buffer="amount")
@quantities(rate="rate", delay="time", duration="time")
def line_rate_scenario(
    routes: Iterable[Route],
    *,
    rate: WithUnit = 1e5,
    delay: WithUnit = 1e-5,
    pause: Pause | None = None,
    buffer: WithUnit = 1000.0,
    duration: WithUnit = 0.1,
) -> Scenario:
    """Return a scenario with a flow at line rate on each route, ``rate`` in packets/s, and links that pause.

    All flows are of one class, as the routes must be: ``Pause`` has one queue for all classes, and a flow keeps its
    class on all links. Parameters as for `Deadlock.scenario`.

    Examples
    --------
    >>> from dfcmodel import simulate
    >>> from dfcmodel.lossless import deadlock, line_rate_scenario, torus, up_down
    >>> graph = torus([4, 4])
    >>> stuck = deadlock(graph).scenario()
    >>> float(simulate(stuck, level="fluid").efficiency[:, -1].max())  # nothing is delivered any more
    0.0
    >>> free = up_down(graph)
    >>> ends = [((0, 0), (2, 0)), ((1, 0), (3, 0)), ((2, 0), (0, 0)), ((3, 0), (1, 0))]
    >>> moving = line_rate_scenario(free.route(a, b) for a, b in ends)
    >>> bool(simulate(moving, level="fluid").efficiency[:, -1].min() > 0.2)
    True
    """
    flows, links = [], dict[tuple[Any, Any], None]()
    parsed = parse_routes(routes)
    if len(classes := sorted({c for route in parsed for *_, c in route.channels()})) > 1:
        msg = "must be of one class, as links with Pause are; for classes use PFC and Flow(priority=)"
        raise ValueError(f"routes have the classes {', '.join(map(str, classes))}: {msg}")
    for n, route in enumerate(parsed):
        path = tuple(map(_name, route.nodes))
        if len(set(path)) < len(path):
            raise ValueError(f"routes[{n}] = {route.nodes!r}: must not visit a node twice")
        links.update(dict.fromkeys(itertools.pairwise(path)))
        flows.append(Flow(f"{n + 1}: {path[0]} to {path[-1]}", path, CBR(rate), host="unshaped"))
    discipline = Pause(high=100.0, low=50.0) if pause is None else pause
    return Scenario(
        f"{count_of(len(flows), 'flow')} at line rate",
        tuple(Link(a, b, rate, delay, buffer, discipline) for a, b in links),
        tuple(flows),
        duration=duration,
    )


def _name(node: Any) -> int | str:
    """Return a node as an integer or a string, as scenarios have them."""
    if isinstance(node, int):
        return node
    return ".".join(map(str, node)) if isinstance(node, tuple) else str(node)
