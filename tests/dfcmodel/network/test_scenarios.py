"""Topologies and the scenarios of takano2006 by name."""

from __future__ import annotations

import networkx as nx
import pytest

from dfcmodel import (
    FIFO,
    chain,
    dumbbell,
    parking_lot,
    ring,
    takano2006,
    tree,
)
from responsefn import NS2Vegas


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"name": "7"}, ["name", "'7'", "'4S'"]),
        ({"name": "1", "tcp": "cubic"}, ["tcp", "'cubic'", "'newreno'"]),
        ({"name": "4V'", "tcp": "reno"}, ["tcp", "'reno'", "4V'", "vegas"]),
        ({"name": "4R", "tcp": "tahoe"}, ["tcp", "'tahoe'", "4R", "reno"]),
        ({"name": "4N", "tcp": "reno"}, ["tcp", "'reno'", "newreno"]),
        ({"name": "1", "host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"name": "1", "host": "shaped", "dfc": False}, ["host", "'shaped'", "FIFO"]),
    ],
)
def test_scenario_names(refused, arguments, parts) -> None:
    refused(parts, lambda: takano2006(**arguments))


def test_tcp_that_the_name_says_anyway_is_fine() -> None:
    assert takano2006("4R", tcp="reno") == takano2006("4R")


LINK = {"rate": 1000.0, "delay": 0.01, "buffer": 50}


ACCESS = {"access_rate": 1e4, "access_delay": 1e-3}


@pytest.mark.parametrize(
    ("links", "graph"),
    [
        (chain(4, **LINK), nx.path_graph([1, 2, 3, 4], create_using=nx.DiGraph)),
        (ring(5, **LINK), nx.cycle_graph([1, 2, 3, 4, 5], create_using=nx.DiGraph)),
        (tree(3, **LINK), nx.DiGraph([(i, i // 2) for i in range(2, 16)])),
        (
            dumbbell(2, **LINK, **ACCESS),
            nx.DiGraph(
                [
                    ("s1", "left"),
                    ("s2", "left"),
                    ("left", "right"),
                    ("right", "d1"),
                    ("right", "d2"),
                ]
            ),
        ),
        (
            parking_lot(2, **LINK, **ACCESS),
            nx.DiGraph([("s1", 1), ("s2", 2), (1, 2), (2, 3), (2, "d2"), (3, "d3")]),
        ),
    ],
)
def test_shapes(links, graph) -> None:
    assert {(link.source, link.target) for link in links} == set(graph.edges)


@pytest.mark.parametrize(("name", "buffer"), [("4V", 1800), ("4V'", 400)])
def test_vegas_scenarios(name: str, buffer: int) -> None:
    scenario = takano2006(name, dfc=False)
    assert {link.buffer for link in scenario.links} == {buffer}
    assert {link.discipline for link in scenario.links} == {FIFO()}
    assert all(flow.source == NS2Vegas() for flow in scenario.flows)
