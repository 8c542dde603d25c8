"""The data model: networks by shape, paths, and graphs in and out."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import networkx as nx
import pytest

from dfcmodel import (
    DFC,
    FIFO,
    Flow,
    Link,
    Scenario,
    chain,
    dumbbell,
    from_networkx,
    parking_lot,
    ring,
    takano2006,
    tree,
)
from responsefn import Reno, Vegas

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


def test_there_and_back_through_networkx() -> None:
    links = (
        Link("a", "b", 1000.0, 0.01, 50),
        Link("b", "c", 2000.0, 0.02, 70, DFC(diffusion=0.2), shared=False),
    )
    scenario = Scenario("test", links, (Flow("one", "abc", Reno()),))
    assert from_networkx(scenario.to_networkx()) == links


def test_paths() -> None:
    scenario = takano2006("4S")
    target, background = scenario.flows
    assert scenario.nodes == tuple(range(1, 17))
    assert scenario.senders == tuple(range(1, 16))
    assert scenario.path(background) == scenario.links[7:]
    assert scenario.path_index(target) == tuple(range(15))
    assert scenario.base_rtt(target) == pytest.approx(2 * 16 * 1e-4)  # the access link is one
    assert scenario.link(3, 4) is scenario.links[2]
    assert scenario.like_links() is scenario.links[0]


def test_links_that_differ_are_named() -> None:
    links = (*chain(3, **LINK), Link(3, 4, 500.0, 0.01, 50))
    scenario = Scenario("test", links, (Flow("one", (1, 2, 3, 4), Reno()),))
    with pytest.raises(ValueError, match=r"rate: links must be alike, 3->4 has 500"):
        scenario.like_links()


@pytest.mark.parametrize(("name", "buffer"), [("4V", 1800), ("4V'", 400)])
def test_vegas_scenarios(name: str, buffer: int) -> None:
    scenario = takano2006(name, dfc=False)
    assert {link.buffer for link in scenario.links} == {buffer}
    assert {link.discipline for link in scenario.links} == {FIFO()}
    assert all(flow.source == Vegas() for flow in scenario.flows)


def test_everything_is_immutable() -> None:
    scenario = takano2006("1")
    with pytest.raises(FrozenInstanceError):
        scenario.links[0].rate = 1.0
    assert hash(scenario) == hash(takano2006("1"))
