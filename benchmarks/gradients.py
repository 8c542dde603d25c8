"""The JAX model on 2,500 links: a run, and its gradient by the rate of every link; seconds of CPU time.

Beside it stands what a differentiable simulator of road traffic publishes of itself for as many links on a GPU: another problem on
another machine, an anchor and no comparison. Compiled before.
"""

from __future__ import annotations

import time
from typing import Any

import jax
import networkx as nx
import numpy as np

from benchmarks.timing import Row, compare
from dfcmodel import FIFO, Flow, Link, Scenario
from dfcmodel.lossless import torus
from dfcmodel.twin.twins import Twin
from responsefn import NewReno

SIDE, FLOWS, DURATION = 25, 500, 0.1
PUBLISHED = {"forward": 0.3, "gradient": 1.5}
"""UNsim's README: 2,500 links, 1e6 vehicles, forward and backward, s on an RTX 5060 Ti."""


def network(seed: int = 1) -> Scenario:
    """Return windows over shortest paths of a torus of 2,500 links, each alike."""
    graph, random = torus([SIDE, SIDE]), np.random.default_rng(seed)
    nodes = {node: n for n, node in enumerate(graph)}
    links = [Link(nodes[a], nodes[b], 2e3, 1e-3, 20.0, FIFO()) for a, b in graph.edges]
    flows = []
    for n in range(FLOWS):
        a, b = (list(graph)[k] for k in random.choice(len(graph), 2, replace=False))
        path = tuple(nodes[node] for node in nx.shortest_path(graph, a, b))
        flows.append(Flow(str(n), path, NewReno(), 16.0, host="unshaped"))
    return Scenario("torus, 25 x 25", tuple(links), tuple(flows), duration=DURATION)


def rows() -> list[Row]:
    """Return the times of a run and of its gradient."""
    scenario = network()
    twin = Twin(scenario)
    links = np.full(len(scenario.links), scenario.links[0].rate)

    def delivered(rates: Any) -> Any:
        return twin(twin.parameters._replace(link_rate=rates)).delivered[-1].sum()

    run, gradient = jax.jit(delivered), jax.jit(jax.grad(delivered))
    ways = {
        "forward": lambda: run(links).block_until_ready(),
        "gradient": lambda: gradient(links).block_until_ready(),
    }
    task = f"JAX model, {len(links):,} links, {FLOWS} flows, {DURATION:g} s"
    found = compare(task, ways, rounds=3, clock=time.process_time)
    known = [
        Row("UNsim, 2,500 links, 1e6 vehicles, as published", name, *[s] * 3, s / 0.3, "on a GPU")
        for name, s in PUBLISHED.items()
    ]
    return [*found, *known]
