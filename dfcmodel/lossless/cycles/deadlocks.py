"""Deadlock of pause-controlled networks: which cycles of buffers exist, and scenarios that try them.

A cycle of dependencies is necessary for a deadlock, not sufficient: traffic has to fill all its buffers at
the same time. So a network without cycles is free of deadlock, by proof; for one with cycles,
`Deadlock.scenario` gives the network and the traffic that fills a cycle, for `dfcmodel.simulate`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.cycles.buffer_dependencies import (
    Dependencies,
    Route,
    dependencies_of_routes,
    dependencies_of_shortest_paths,
    directed_graph,
    listed_routes,
)
from dfcmodel.network.endpoints.sources import CBR
from dfcmodel.network.flows import Flow
from dfcmodel.network.links import Link
from dfcmodel.network.networks import Scenario
from dfcmodel.network.queueing.disciplines import Pause
from hopflow.checks import count_of
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
        For ``routes=None``, where traffic begins and ends; None: the nodes whose attribute ``hosts`` is
        positive, or all nodes where none has that attribute.

    Yields
    ------
    Lists of links ``(from, to)``, each waiting for the next and the last for the first; of
    ``(from, to, class)`` where there are several classes. No cycle contains a shorter one, and through every buffer that is on a
    cycle a shortest one was sought: at most as many as there are buffers. All cycles would be too many, for their
    number grows exponentially with their length.

    Raises
    ------
    ValueError
        For a graph that is not a simple digraph, a link that it does not have, or an unknown end.

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
    """Return whether routes can deadlock, and the cycles of buffers if they can.

    Parameters and errors are those of `buffer_cycles`.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock, fat_tree, torus
    >>> deadlock(fat_tree(4)).is_free, deadlock(torus([4, 4])).is_free
    (True, False)
    """
    directed_graph(graph)
    if routes is None:
        return Deadlock(graph, dependencies_of_shortest_paths(graph, ends), "all shortest paths")
    if ends is not None:
        raise ValueError("ends: only for routes=None, the routes given have ends of their own")
    listed = listed_routes(routes)
    return Deadlock(graph, dependencies_of_routes(graph, listed), count_of(len(listed), "route"))


@dataclass(frozen=True, eq=False, repr=False)
class Deadlock(Result):
    """Whether a network can deadlock.

    Attributes
    ----------
    graph
        The links of the network.
    dependencies
        The buffers and which of them wait for which.
    routing
        What was examined, in words.

    Examples
    --------
    >>> from dfcmodel.lossless import deadlock, torus
    >>> found = deadlock(torus([3, 3]))
    >>> found.is_free, len(next(found.cycles()))  # buffers of a cycle
    (False, 4)
    """

    graph: nx.DiGraph[Any]
    dependencies: Dependencies
    routing: str

    @cached_property
    def is_free(self) -> bool:
        """Whether no deadlock is possible: no buffers wait for each other in a cycle."""
        return self.dependencies.is_free

    def cycles(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield minimal cycles of buffers, as `buffer_cycles` does."""
        for cycle in self.dependencies.cycles():
            yield [self._shown(v) for v in cycle]

    def _shown(self, buffer: int) -> tuple[Any, ...]:
        """Return a buffer as a link, with its class where there are several."""
        return self.dependencies.channels[buffer][: 3 if self._has_classes else 2]

    @cached_property
    def _has_classes(self) -> bool:
        return len({channel[2] for channel in self.dependencies.channels}) > 1

    def summary(self) -> dict[str, object]:
        """Return the rows of the table."""
        waits, cyclic = self.dependencies.waits, self.dependencies.cyclic()
        rows: dict[str, object] = {
            "deadlock": "impossible: no cycle of buffers" if self.is_free else "possible",
            "routing": self.routing,
            "switches and links": f"{len(self.graph)}, {self.graph.number_of_edges()}",
            "buffers in use": f"{len(self.dependencies.channels)}, {count_of(waits.nnz, 'dependency', 'dependencies')}",
        }
        if not self.is_free:
            rows["buffers on cycles"] = len(cyclic)
            rows["a cycle"] = ", ".join(f"{a}->{b}" for a, b, *_ in next(self.cycles()))
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
        """Return traffic that tries to fill a cycle: for each of its dependencies a flow at line rate.

        Parameters
        ----------
        cycle
            One of `cycles`; None: the first.
        rate, delay
            Of each link: packets/s, s.
        pause
            Thresholds of each queue; None: ``Pause(high=100, low=50)``.
        buffer
            Of each link, packets.
        duration
            s.

        Raises
        ------
        ValueError
            For links that do not wait for each other, or where no cycle exists.
        """
        routes = [self.dependencies.route_through(i, j) for i, j in self._dependencies_of(cycle)]
        return line_rate_scenario(routes, rate=rate, delay=delay, pause=pause, buffer=buffer, duration=duration)

    @quantities(load="share")
    def passage(self, load: WithUnit, cycle: Sequence[tuple[Any, ...]] | None = None, *, room: int = 3) -> Passage:
        """Return how soon a cycle deadlocks where packets come at random, as a passage of a Markov chain.

        Times are in packet times of a link, which are exponential; packets come to each buffer of the cycle as a Poisson process
        and cross two of them. ``.mean`` is the mean time to the deadlock, and ``.distribution(times).cdf`` has the probabilities that it comes
        before some times. `dfcmodel.lossless.cycles.deadlock_chains` has the rules.

        Parameters
        ----------
        load
            Of each link of the cycle, over its rate, above 0.
        cycle
            One of `cycles`; None: the first.
        room
            Packets that the buffer of a link holds, 1 to 12. There are (2^(room + 1) - 1)^n states for n buffers, of which 300,000 are allowed.

        Raises
        ------
        ValueError
            For links that do not wait for each other, where no cycle exists, and for too many states.

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

        return cycle_passage(len(self._dependencies_of(cycle)), load, room)

    def _dependencies_of(self, cycle: Sequence[tuple[Any, ...]] | None) -> list[tuple[int, int]]:
        """Return which buffer waits for which in a cycle, after checking it."""
        number = {self._shown(k): k for k in range(len(self.dependencies.channels))}
        chosen = next(self.cycles(), None) if cycle is None else list(cycle)
        if not chosen:
            raise ValueError(f"cycle = {cycle!r}: there is no cycle")
        found = []
        for first, second in itertools.pairwise([*chosen, chosen[0]]):
            i, j = number.get(tuple(first), -1), number.get(tuple(second), -1)
            if i < 0 or j < 0 or not self.dependencies.waits[i, j]:
                raise ValueError(f"cycle: {first} does not wait for {second}")
            found.append((i, j))
        return found

    def plot(self, ax: Any = None) -> Any:
        """Draw the network and its first cycle; return the Axes."""
        import networkx as nx

        from hopflow.results import figure

        axes = figure(5.2, 5.2)[1] if ax is None else ax
        heights = dict(self.graph.nodes(data="level"))
        if None in heights.values() or len(set(heights.values())) == 1:
            places = nx.kamada_kawai_layout(self.graph)
        else:
            places = nx.multipartite_layout(self.graph, subset_key="level", align="horizontal")
        nx.draw_networkx_nodes(self.graph, places, ax=axes, node_size=40, node_color="#0072B2")
        nx.draw_networkx_edges(self.graph, places, ax=axes, arrows=False, edge_color="#BBBBBB", width=0.6)
        if not self.is_free:
            cycle = [(a, b) for a, b, *_ in next(self.cycles())]
            nx.draw_networkx_edges(self.graph, places, cycle, ax=axes, edge_color="#D55E00", width=2.0, arrowsize=14)
        said = "no cycle" if self.is_free else "a cycle of buffers"
        axes.set_title(f"{self.routing}: {said}")
        axes.set_axis_off()
        return axes


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
    """Return a scenario with a flow at line rate on each route, and links that pause.

    All flows are of one class: classes of the routes are not looked at. Parameters as for
    `Deadlock.scenario`.

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
    for n, route in enumerate(listed_routes(routes)):
        path = tuple(map(_name, route.nodes))
        if len(set(path)) < len(path):
            raise ValueError(f"routes[{n}] = {route.nodes!r}: must not visit a node twice")
        links.update(dict.fromkeys(itertools.pairwise(path)))
        flows.append(Flow(f"{n + 1}: {path[0]} to {path[-1]}", path, CBR(rate), host="unshaped"))
    if not flows:
        raise ValueError("routes: must be one at least")
    discipline = Pause(high=100.0, low=50.0) if pause is None else pause
    return Scenario(
        f"{count_of(len(flows), 'flow')} at line rate",
        tuple(Link(a, b, rate, delay, buffer, discipline) for a, b in links),
        tuple(flows),
        duration=duration,
    )


def _name(node: Any) -> int | str:
    """Return a node as scenarios name it: a whole number or a text."""
    if isinstance(node, int):
        return node
    return ".".join(map(str, node)) if isinstance(node, tuple) else str(node)
