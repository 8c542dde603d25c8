"""Propagation of pauses: the graph of nodes that waited for each other in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.queueing.class_pauses import ALL
from dfcmodel.results.pauses import require_pauses
from dfcmodel.results.records import Records
from dfcmodel.results.standstills import link_name
from hopflow.checks import count_of, instance
from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from hopflow.units import readable_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import networkx as nx
    import pandas as pd
    from numpy.typing import NDArray

    from dfcmodel.network.links import Link

__all__ = ["PausePropagation", "pause_propagation"]

MAX_SHOWN = 5
"""Rows of each kind in the summary."""
MAX_DRAWN = 40
"""Largest number of nodes in a figure; the nodes with the longest waits are drawn."""
ATTRIBUTES = ("pauses", "seconds", "origin_seconds")
"""Attributes of each edge of the graph."""


@dataclass(frozen=True, repr=False, eq=False)
class PausePropagation(Result):
    """Graph of the nodes that waited for each other by pauses, and the times of waiting, s.

    Attributes
    ----------
    scenario
        Name of the scenario.
    graph
        An edge from the source of each paused link to its target, which requested the pause, by their names, with
        ``seconds``, ``pauses`` and ``origin_seconds``: the seconds of pauses that began while no link out of the
        requesting node was paused in their class. Hosts at the access link of a node are called ``host of NAME``.
        Simultaneous pauses of several links or classes count separately.
    duration
        Duration of the run, s.

    Examples
    --------
    >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, pause_propagation, simulate
    >>> links = chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    >>> flows = [Flow("a", (1, 2, 3), CBR(8e3)), Flow("b", (2, 3), CBR(8e3))]
    >>> propagation = pause_propagation(simulate(Scenario("pause", links, flows, duration=0.1), level="fluid"))
    >>> list(propagation.origins), sorted(propagation.waited)
    (['2'], ['1', 'host of b'])
    >>> sorted(propagation.edges["paused"]), propagation.edges["asked"].unique().tolist()
    (['1', 'host of b'], ['2'])
    """

    scenario: str
    graph: nx.DiGraph[str]
    duration: float

    @cached_property
    def waited(self) -> dict[str, float]:
        """Time for which links out of each node were paused, s, summed over links and classes, longest first.

        A node with several links may have waited for longer than the run: divide by its links for their mean.
        """
        seconds = {a: 0.0 for a, _ in self.graph.edges}
        for a, _, data in self.graph.edges(data=True):
            seconds[a] += data["seconds"]
        return dict(sorted(seconds.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def origins(self) -> dict[str, float]:
        """Time of pauses that a node requested while no link out of it was paused in their class, s, longest first.

        A queue of such a node grew without a pause of its link, so that congestion began at the node. A pause counts in
        full if no link out of the node was paused in its class when it took effect. A pause that was requested during
        another one, and took effect just after its end, counts as well. The sum is over pauses of all links into the
        node, and may exceed the duration of the run. Nodes that begin to pause each other in a circle at the same time
        have none.
        """
        seconds_of = {
            b: sum(data["origin_seconds"] for *_, data in self.graph.in_edges(b, data=True)) for b in self.graph
        }
        positive = {b: seconds for b, seconds in seconds_of.items() if seconds > 0.0}
        return dict(sorted(positive.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def edges(self) -> pd.DataFrame:
        """Pairs of nodes, ``asked`` and ``paused``, with the attributes of `graph`, the longest pauses first."""
        import pandas as pd

        rows = [
            {"asked": b, "paused": a, **{name: data[name] for name in ATTRIBUTES}}
            for a, b, data in self.graph.edges(data=True)
        ]
        table = pd.DataFrame(rows, columns=["asked", "paused", *ATTRIBUTES])
        return table.sort_values(["seconds", "asked"], ascending=[False, True], ignore_index=True)

    def summary(self) -> dict[str, object]:
        """Return texts by name, the rows of the printed table: pauses, their origins and times of waiting."""
        count = sum(data["pauses"] for *_, data in self.graph.edges(data=True))
        rows: dict[str, object] = {
            "scenario": self.scenario,
            "pauses": f"{count}, of links out of {count_of(len(self.waited), 'node')}",
        }
        if count and not self.origins:
            rows["origin"] = "none: links out of each node that asked for a pause were paused when it began"
        for name, seconds in list(self.origins.items())[:MAX_SHOWN]:
            rows[f"origin {name}"] = (
                f"{readable_text(seconds, 's')} of pauses asked while none of its own links was paused"
            )
        for name, seconds in list(self.waited.items())[:MAX_SHOWN]:
            rows[f"sum over links out of {name}"] = readable_text(seconds, "s")
        for edge in self.edges.head(MAX_SHOWN).to_dict("records"):
            times = f"{edge['pauses']} time{'' if edge['pauses'] == 1 else 's'}"
            rows[f"{edge['asked']} paused {edge['paused']}"] = f"{times}, {readable_text(edge['seconds'], 's')} in all"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the nodes with the longest waits, with arrows to the nodes that paused them; return the Axes."""
        import networkx as nx

        axes = figure(6.4, 4.8)[1] if ax is None else ax
        axes.set_title(self.scenario)
        axes.set_axis_off()
        chosen = set(list(self.waited)[:MAX_DRAWN])
        shown = self.graph.subgraph(chosen | {b for a in chosen for b in self.graph.successors(a)})
        if not len(shown):
            axes.text(0.5, 0.5, "no pauses", ha="center", transform=axes.transAxes)
            return axes
        layers = _layers(shown)
        nx.set_node_attributes(shown := shown.copy(), layers, "layer")
        positions = nx.multipartite_layout(shown, subset_key="layer")
        widths = [data["seconds"] for *_, data in shown.edges(data=True)]
        scale = 3.0 / max(max(widths), 1e-300)
        nx.draw_networkx_nodes(shown, positions, ax=axes, node_size=30, node_color="#0072B2")
        nx.draw_networkx_edges(shown, positions, ax=axes, edge_color="#D55E00", width=[0.3 + scale * w for w in widths])
        nx.draw_networkx_labels(shown, positions, ax=axes, font_size=6, verticalalignment="bottom")
        return axes


def _layers(graph: nx.DiGraph[str]) -> dict[str, int]:
    """Return the layer of each node for a drawing: minus its longest path to a node that was never paused."""
    import networkx as nx

    parts = nx.condensation(graph)
    layer: dict[int, int] = {}
    for part in reversed(list(nx.topological_sort(parts))):
        layer[part] = max((layer[after] - 1 for after in parts.successors(part)), default=0)
    return {name: layer[part] for name, part in parts.graph["mapping"].items()}


def pause_propagation(run: Records) -> PausePropagation:
    """Return the graph of nodes that paused each other in a run, with times, as `PausePropagation`.

    Parameters
    ----------
    run
        A run with `Pause` or `PFC`.

    Raises
    ------
    ValueError
        If a packet-level run had more pauses than are recorded.

    Examples
    --------
    Node 3 is congested; it pauses node 2, which pauses node 1, and the host of flow b:

    >>> from dfcmodel import CBR, Flow, Pause, Scenario, chain, pause_propagation, simulate
    >>> links = chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    >>> flows = [Flow("a", (1, 2, 3, 4), CBR(8e3)), Flow("b", (3, 4), CBR(8e3))]
    >>> propagation = pause_propagation(simulate(Scenario("pause", links, flows, duration=0.3), level="fluid"))
    >>> list(propagation.origins), sorted(propagation.graph.edges)
    (['3'], [('1', '2'), ('2', '3'), ('host of b', '3')])
    """
    import networkx as nx

    instance("run", run, Records, "a run, as simulate returns it")
    paused, links = require_pauses(run), run.scenario.links
    end = float(run.time[-1])
    lengths = np.minimum(paused["end"], end) - paused["begin"]
    of_origin = np.where(_starts_unpaused(paused, links), lengths, 0.0)
    graph: nx.DiGraph[str] = nx.DiGraph()
    pairs, inverse, counts = np.unique(paused[["link", "by"]], return_inverse=True, return_counts=True)
    groups = inverse.reshape(-1)
    sums = [np.bincount(groups, weights, len(pairs)).tolist() for weights in (lengths, of_origin)]
    for (a, b), *values in zip(pairs.tolist(), counts.tolist(), *sums, strict=True):
        before = str(links[a].source) if a >= 0 else link_name(run, a)
        behind = str(links[b].source)  # the requesting queue is at this node
        data = graph.get_edge_data(before, behind, dict.fromkeys(ATTRIBUTES, 0))
        added = {name: data[name] + v for name, v in zip(ATTRIBUTES, values, strict=True)}
        graph.add_edge(before, behind, **added)
    return PausePropagation(run.scenario.name, graph, end)


def _starts_unpaused(paused: Any, links: Sequence[Link]) -> NDArray[np.bool_]:
    """Return flags, (N,), of pauses at whose begin no link out of the requesting node was paused in their class."""
    number = {node: n for n, node in enumerate(dict.fromkeys(link.source for link in links))}
    source = np.array([number[link.source] for link in links], dtype=np.int64)
    requester = source[paused["by"]]
    before = paused["link"]
    stopped_node = np.where(before >= 0, source[np.maximum(before, 0)], -1)  # -1: hosts ask for no pauses
    flags = np.ones(len(paused), dtype=np.bool_)
    for node, priority in np.unique(np.stack([requester, paused["priority"]], axis=1), axis=0).tolist():
        indices = np.flatnonzero((requester == node) & (paused["priority"] == priority))
        pauses = paused[stopped_node == node]
        if priority != ALL:
            pauses = pauses[(pauses["priority"] == priority) | (pauses["priority"] == ALL)]
        moments = paused["begin"][indices]
        started = np.searchsorted(np.sort(pauses["begin"]), moments, side="right")
        finished = np.searchsorted(np.sort(pauses["end"]), moments, side="right")
        flags[indices] = started == finished
    return flags
