"""Fabrics with cables and buffers: links, headroom and deadlock from one object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from dfcmodel import (
    CBR,
    DFC,
    FIFO,
    INT,
    PFC,
    Cable,
    Credits,
    Fabric,
    FlowOptions,
    Packets,
    Scenario,
    StepMarking,
    flows_from,
    headroom,
    permutation,
    simulate,
)
from dfcmodel.lossless import (
    chip,
    deadlock,
    dragonfly,
    fat_tree,
    leaf_spine,
    rail_optimized,
    torus,
    with_hosts,
)
from hopflow import gbps
from responsefn import FixedRate

TOPOLOGIES = {
    "leaf-spine": (leaf_spine(3, 2, hosts=4), True),
    "fat tree": (fat_tree(4), True),
    "rails": (rail_optimized(3, 4, 2, groups=2), True),
    "dragonfly": (dragonfly(2, 1, hosts=2), False),
    "torus": (torus([4, 3]), False),
}
"""Graphs, and whether their shortest paths are free of deadlock: those that only lead up and then down are."""


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_one_object_serves_simulation_headroom_and_deadlock(name: str) -> None:
    graph, is_free = TOPOLOGIES[name]
    rule = PFC(xoff=20, xon=10, counts="switch")
    fabric = Fabric(graph, Cable("100Gbps", "3m"), Cable("400Gbps", "50m"), "1 MB", discipline=rule)
    assert deadlock(fabric.graph).is_free == is_free
    assert fabric.headroom().bytes == headroom("400Gbps", "50m", mtu=1500).bytes
    flows = permutation(fabric.hosts, 1, sizes=50, source=FixedRate(), links=fabric.links)
    run = simulate(fabric.scenario(name, flows, 1e-3), Packets(seed=1), sample=1e-3)
    assert np.isfinite(run.finished).all()
    assert run.lost_by_flow.sum() == 0
    assert deadlock(fabric.graph, [flow.path for flow in flows]) is not None  # paths are in the graph


def test_links_have_the_rate_delay_and_buffer_of_their_cables() -> None:
    fabric = Fabric(leaf_spine(2, 2, hosts=3), Cable("100Gbps", "4m"), Cable("400Gbps", "100m"), "600 kB", 3000)
    assert len(fabric.links) == 2 * (6 + 4)
    for link in fabric.links:
        is_access = "host" in {link.source[0], link.target[0]}
        assert link.rate == pytest.approx(gbps(100 if is_access else 400, 3000), rel=1e-15)
        assert link.delay == pytest.approx(20e-9 if is_access else 500e-9, rel=1e-15)
        assert link.buffer == 200
    assert fabric.scenario("one", _pair(fabric), 1e-3).packet_size == 3000


def _pair(fabric: Fabric) -> list:
    return permutation(fabric.hosts, 1, sizes=1, source=FixedRate(), links=fabric.links)


def test_an_edge_with_a_cable_of_its_own_has_that_one() -> None:
    graph = dragonfly(2, 1)
    for a, b, data in graph.edges(data=True):
        if a[0] != b[0]:
            data["cable"] = Cable("400Gbps", "30m")
    fabric = Fabric(graph, Cable("400Gbps", "2m"))
    lengths = {
        (link.source[0] == link.target[0]): link.delay
        for link in fabric.links
        if "host" not in {link.source[0], link.target[0]}
    }
    assert lengths == pytest.approx({True: 10e-9, False: 150e-9})


def test_a_cable_has_both_directions() -> None:
    """One direction of 400 Gb/s beside the trunk's 100 Gb/s in the other is a slip of whoever made the graph."""
    graph = leaf_spine(2, 2)
    ends = ("leaf", 0), ("spine", 0)
    graph.edges[ends]["cable"] = Cable("400Gbps", "30m")
    with pytest.raises(
        ValueError, match=r"has the trunk: a cable is a link in each direction, give both edges the same one"
    ):
        Fabric(graph)
    graph.edges[ends[::-1]]["cable"] = Cable("400Gbps", "30m")
    rates = {(link.source, link.target): link.rate for link in Fabric(graph).links}
    assert rates[ends] == rates[ends[::-1]]


def test_a_port_has_its_part_of_the_buffer_of_a_chip_in_whole_cells() -> None:
    known = chip("tomahawk6")
    fabric = Fabric(leaf_spine(2, 2), Cable("800Gbps"), packet_size=4000)
    share = known.buffer * 800e9 / known.capacity
    cells = -(-4000 // known.cell)  # of a packet
    assert fabric.port_buffer(Cable("800Gbps")) == int(share // known.cell / cells)
    assert 128 * share == pytest.approx(known.buffer)  # 128 ports of 800 Gb/s
    assert fabric.headroom().cells is not None


def test_hosts_of_rails_are_numbered_server_by_server() -> None:
    """Interface k of each server of a group is at leaf k (NVIDIA DGX SuperPOD reference architecture)."""
    graph = with_hosts(rail_optimized(3, 4, 2, groups=2))
    for n in range(24):
        server, rail = divmod(n, 4)
        assert list(graph.successors(("host", n))) == [("rail", server // 3, rail)]
    rail = [nx.shortest_path_length(graph, ("host", 0), ("host", n)) for n in (4, 1, 12)]
    assert rail == [2, 4, 4]  # same rail; another rail; another group


def test_a_cable_that_no_link_has_is_refused() -> None:
    fabric = Fabric(leaf_spine(2, 2))
    with pytest.raises(ValueError, match=r"cable = .*: must be one of"):
        fabric.headroom(Cable("400Gbps"))
    assert "links" in repr(replace(fabric, packet_size=4000))


@pytest.mark.parametrize("rule", [FIFO(), INT(), PFC(counts="switch"), Credits(), StepMarking(40)])
def test_hosts_of_fabrics_have_network_interfaces_under_any_discipline(rule: Any) -> None:
    fabric = Fabric(leaf_spine(2, 2, hosts=2), buffer="1 MB", discipline=rule)
    given: Any = {"sizes": 10, "source": FixedRate(), "links": fabric.links}
    flows = flows_from(fabric.hosts[:1], fabric.hosts[3:], **given)
    scenario = Scenario("hosts", fabric.links, flows, packet_size=fabric.packet_size)
    assert scenario.host_of(flows[0]) == "nic"
    assert scenario.host_is("nic").all()
    assert not scenario.host_is("direct").any()
    run = simulate(fabric.scenario("said", flows, 1e-3), Packets(seed=1))
    assert run.summary()["scenario"].endswith("1 flow, host 'nic'")
    if not isinstance(rule, Credits):  # which need an interface
        flows = flows_from(fabric.hosts[:1], fabric.hosts[3:], **given, options=FlowOptions(host="direct"))
        assert fabric.scenario("direct", flows, 1e-3).host_of(flows[0]) == "direct"


def test_a_law_that_reports_a_rate_has_no_network_interface() -> None:
    fabric = Fabric(leaf_spine(2, 2, hosts=2), buffer="1 MB", discipline=DFC())
    flows = flows_from(fabric.hosts[:1], fabric.hosts[3:], source=CBR(1e5), links=fabric.links, sizes=10)
    assert fabric.scenario("law", flows, 1e-3).host_of(flows[0]) == "direct"
