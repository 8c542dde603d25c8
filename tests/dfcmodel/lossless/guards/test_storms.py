"""The spread of a pause storm: fill times by hand, and runs of packets."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from dfcmodel import CBR, Flow, Link, Packets, Pause, Scenario, simulate
from dfcmodel.lossless import Route, fat_tree, storm_spread


def test_fill_times_add_up_along_a_line() -> None:
    """Each buffer of 1e5 bytes fills at the rate of the flow; the pause takes 1 us more."""
    found = storm_spread([[0, 1, 2, 3, 4]], 2e9, [(3, 4)], threshold=1e5, delay=1e-6)
    times = [found.stopped[3 - k, 4 - k] for k in range(4)]
    assert times == pytest.approx([k * 51e-6 for k in range(4)])
    assert found.cause[(0, 1)] == (1, 2)
    assert found.victims == []


def test_two_flows_fill_a_buffer_twice_as_fast() -> None:
    routes = [["a", "s", "t", "h"], ["b", "s", "t", "h"], ["a", "s", "t", "g"]]
    found = storm_spread(routes, [1e9, 3e9, 1e9], [("t", "h")], threshold=1e5)
    first = 1e5 / 4e9
    assert found.stopped["s", "t"] == pytest.approx(first)
    assert found.stopped["b", "s"] == pytest.approx(first + 1e5 / 3e9)
    assert found.stopped["a", "s"] == pytest.approx(first + 1e5 / 2e9)  # its other flow waits too
    assert found.victims == [2]
    assert found.table()["link"].iloc[0] == ("t", "h")


def test_rates_in_bits_and_a_threshold_in_bytes_have_units() -> None:
    """A buffer of 100 kB fills at 16 Gb/s, 2 GB/s, in 50 us; a number of bits/s is not taken for bytes/s beside a unit."""
    line, storm = [[0, 1, 2]], [(1, 2)]
    for rates in ("16Gbps", ["16Gbps"], np.array(["16Gbps"])):
        assert storm_spread(line, rates, storm, threshold="100 kB").stopped[0, 1] == pytest.approx(50e-6)
    for rates, threshold, message in (
        (16e9, "100 kB", "rates = 1.*: must have units, such as '100Gbps'"),
        (["16Gbps", 2e9], "100 kB", "rates = .*: must have units"),
        ("16Gbps", 1e5, "threshold = 1.*: must have a unit, such as '200 kB'"),
        ("2GB/s", "100 kB", "rates = '2GB/s': must be a number and a unit of b/s"),
        ([], 1e5, "rates has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            storm_spread(line, rates, storm, threshold=threshold)


def test_what_does_not_send_to_the_storm_is_not_stopped() -> None:
    found = storm_spread([["a", "s", "h"], ["b", "s", "g"]], 1e9, [("s", "h")], threshold=1e5)
    assert ("b", "s") not in found.stopped
    assert found.victims == []
    assert found.plot().get_ylabel() == "links stopped"


def routes_to(graph, target):
    """Return one shortest path from each of some edge switches to the target, and to a neighbour."""
    ends = [node for node, hosts in graph.nodes(data="hosts") if hosts and node != target]
    to_storm = [[*nx.shortest_path(graph, end, target), "host"] for end in ends]
    others = [nx.shortest_path(graph, end, target) for end in ends]
    return to_storm + others


@pytest.mark.parametrize("packets", [60, 200])
def test_links_of_a_fat_tree_stop_when_they_do_in_a_run_of_packets(packets) -> None:
    """Output queues, as in scenarios; a link that serves next to nothing stands for the storm."""
    graph, target = fat_tree(4), ("edge", 0, 0)
    routes = routes_to(graph, target)
    names = [[".".join(map(str, n)) if isinstance(n, tuple) else n for n in r] for r in routes]
    storm = ("edge.0.0", "host")
    rate, delay = 1e3, 1e-6
    found = storm_spread(names, rate, [storm], threshold=packets, delay=delay, buffers="output")
    links = dict.fromkeys(link for name in names for link in itertools.pairwise(name))
    scenario = Scenario(
        "storm",
        tuple(
            Link(a, b, 1e-3 if (a, b) == storm else 1e6, delay, 10_000, Pause(high=packets, low=1)) for a, b in links
        ),
        tuple(Flow(str(n), tuple(name), CBR(rate), host="unshaped") for n, name in enumerate(names)),
        duration=1.2 * max(found.stopped.values()),
    )
    run = simulate(scenario, Packets(seed=1))
    seen = run.pauses()
    first: dict[str, float] = {}
    for link, begin in zip(seen["link"].to_numpy().tolist(), seen["begin"].to_numpy().tolist(), strict=True):
        first.setdefault(str(link), begin)
    expected = {f"{a}->{b}": time for (a, b), time in found.stopped.items() if (a, b) != storm}
    assert {name for name in first if name in {f"{a}->{b}" for a, b in links}} == set(expected)
    assert len(expected) > 10
    for link, time in expected.items():
        # whole packets of F flows: at most one each is early or late
        assert first[link] == pytest.approx(time, abs=3.0 / rate), link


def test_links_may_come_as_a_table() -> None:
    routes = [(1, 2, 3), (4, 2, 5)]
    as_list = storm_spread(routes, 10.0, [(2, 3)], threshold=5.0)
    for table in (pd.DataFrame([(2, 3)]), np.array([[2, 3]])):
        assert storm_spread(routes, 10.0, table, threshold=5.0).stopped == as_list.stopped


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"routes": [["a"]]}, "routes\\[0\\]"),
        ({"routes": [Route(["a", "b"], 3), Route(["a", "b"], 4)]}, "routes have the classes 3, 4: must be one class"),
        ({"rates": [1.0, 2.0]}, "rates has shape"),
        ({"rates": 0.0}, "rates = 0"),
        ({"storm": [("b", "a")]}, "storm: no route uses"),
        ({"threshold": 0.0}, "threshold = 0"),
        ({"delay": -1.0}, "delay = -1"),
        ({"buffers": "shared"}, "buffers = 'shared'"),
    ],
)
def test_bad_input_is_named(changed, message) -> None:
    given = {"routes": [["a", "b"]], "rates": 1.0, "storm": [("a", "b")], "threshold": 1.0}
    given.update(changed)
    with pytest.raises(ValueError, match=message):
        storm_spread(**given)
