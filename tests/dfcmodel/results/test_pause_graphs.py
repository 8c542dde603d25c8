"""Who waited for whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Fabric,
    Flow,
    Packets,
    Pause,
    Scenario,
    all_reduce,
    chain,
    incast,
    pause_propagation,
    simulate,
)
from dfcmodel.lossless import deadlock, leaf_spine, torus
from responsefn import FixedRate


def _incast(hosts: int = 4):
    fabric = Fabric(
        leaf_spine(3, 1, hosts=hosts),
        buffer="1 MB",
        discipline=PFC(xoff=10, xon=5, counts="switch"),
    )
    flows = incast(fabric.hosts, fabric.hosts[0], sizes=300, source=FixedRate(), links=fabric.links)
    return simulate(fabric.scenario("incast", flows, 0.01), Packets(seed=1), sample=1e-3)


def test_the_largest_origin_of_an_incast_is_the_leaf_of_its_receiver() -> None:
    """Of four hosts at a leaf, its link to the spine is an origin as well: that is shared by four."""
    found = pause_propagation(_incast())
    leaf = "('leaf', 0)"
    assert next(iter(found.origins)) == leaf
    others = {(f"('leaf', {n})", "('spine', 0)") for n in (1, 2)}
    assert {("('spine', 0)", leaf), *others} <= set(found.graph.edges)
    assert all(f"('host', {n})" in found.waited for n in range(1, 12))


def test_an_incast_of_one_host_at_each_leaf_begins_at_the_spine() -> None:
    found = pause_propagation(_incast(hosts=1))
    assert list(found.origins) == ["('spine', 0)"]
    assert set(found.waited) == {f"('{kind}', {n})" for kind in ("leaf", "host") for n in (1, 2)}


def test_seconds_and_counts_are_those_of_the_table_of_pauses() -> None:
    run = _incast()
    found, table = pause_propagation(run), run.pauses()
    edges = list(found.graph.edges(data=True))
    assert sum(data["pauses"] for *_, data in edges) == table.sizes["pause"]
    seconds = sum(data["seconds"] for *_, data in edges)
    assert seconds == pytest.approx(float(table.duration.sum()), rel=1e-9)
    assert sum(found.waited.values()) == pytest.approx(seconds, rel=1e-12)
    assert list(found.waited.values()) == sorted(found.waited.values(), reverse=True)
    assert found.summary()["pauses"].startswith(f"{table.sizes['pause']}, of links out of ")
    assert {(row.paused, row.asked, row.seconds) for row in found.edges.itertuples()} == {
        (a, b, data["seconds"]) for a, b, data in edges
    }
    longest = found.edges.iloc[0]
    assert longest.seconds == found.edges.seconds.max()
    assert f"{longest.asked} paused {longest.paused}" in found.summary()
    assert f"sum over links out of {next(iter(found.waited))}" in found.summary()


def test_a_deadlock_has_no_origin() -> None:
    found = pause_propagation(simulate(deadlock(torus([4])).scenario(), level="fluid"))
    assert found.origins == {}
    assert str(found.summary()["origin"]).startswith("none: ")
    assert {(str(n), str((n + 1) % 4)) for n in range(4)} <= set(found.graph.edges)
    found.plot()


ALL = -1  # in place of a class in `Trajectory.paused`
PAUSE_ROWS = {
    "the queue of 2 is long": (("1->2", "2->3", 0, 0.01, 0.02), True),
    "so is that of 3": (("2->3", "3->4", 0, 0.03, 0.05), True),
    "2 waits for 3": (("1->2", "2->3", 0, 0.04, 0.06), False),
    "in another class": (("1->2", "2->3", 5, 0.045, 0.048), True),
    "of all classes": (("1->2", "2->3", ALL, 0.046, 0.047), False),
    "2 begins to wait for 3 at the same time": (("1->2", "2->3", 0, 0.03, 0.031), False),
    "its link is released at the same time": (("1->2", "2->3", 0, 0.05, 0.054), True),
    "3 pauses all classes": (("2->3", "3->4", ALL, 0.07, np.inf), True),
    "the host of a flow": (("host of 9", "3->4", 0, 0.02, 0.025), True),
    "2 waits in class 5": (("1->2", "2->3", 5, 0.08, np.inf), False),
}
"""Link, link that asked, class, begin and end in s, and whether no link of the node that asked was paused."""


def test_origins_are_judged_at_the_time_of_each_pause() -> None:
    links = chain(4, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    flows = [Flow(f"{n}", (3, 4), CBR(1e2)) for n in range(10)]
    run = simulate(Scenario("pauses", links, flows, duration=0.1), level="fluid")
    place = {link.name: n for n, link in enumerate(links)} | {"host of 9": -10}
    rows = [
        (place[link], place[by], priority, begin, end, 0)
        for (link, by, priority, begin, end), _ in PAUSE_ROWS.values()
    ]
    found = pause_propagation(replace(run, paused=np.array(rows, dtype=run.paused.dtype)))
    expected = {"2": 0.0, "3": 0.0}
    for (_, by, _, begin, end), is_origin in PAUSE_ROWS.values():
        expected[by[0]] += (min(end, 0.1) - begin) * is_origin
    assert found.origins == pytest.approx(expected, rel=1e-12)
    assert list(found.origins) == ["3", "2"]
    assert found.edges.groupby("asked").origin_seconds.sum().to_dict() == pytest.approx(expected)
    said = "17 ms of pauses asked while none of its own links was paused"
    assert found.summary()["origin 2"] == said


def test_a_node_that_is_paused_once_can_be_an_origin() -> None:
    """Hashed flows of an all-reduce: leaves pause hosts long before a spine pauses any leaf."""
    fabric = Fabric(leaf_spine(4, 4, hosts=4), buffer="1 MB", discipline=PFC(counts="switch"))
    flows = all_reduce(
        fabric.hosts, 2000, "halving-doubling", source=FixedRate(), links=fabric.links
    )
    run = simulate(fabric.scenario("all-reduce", flows, 0.01), Packets(seed=1), sample=1e-3)
    found, links = pause_propagation(run), run.scenario.links
    first = str(links[run.paused["by"][0]].source)
    assert first in found.waited
    assert first in found.origins
    expected: dict[str, float] = {}
    for each in run.paused:
        own = [q for q in run.paused if q["link"] >= 0]
        own = [q for q in own if links[q["link"]].source == links[each["by"]].source]
        if not any(q["begin"] <= each["begin"] < q["end"] for q in own):
            node = str(links[each["by"]].source)
            seconds = min(each["end"], run.time[-1]) - each["begin"]
            expected[node] = expected.get(node, 0.0) + seconds
    assert found.origins == pytest.approx(expected, rel=1e-9)


def test_the_figure_names_the_nodes() -> None:
    axes = pause_propagation(_incast()).plot()
    assert "('leaf', 0)" in {text.get_text() for text in axes.texts}
    assert axes.get_title() == "incast"


def test_a_run_without_pauses_says_so() -> None:
    links = chain(3, rate=1e4, delay=1e-3, buffer=200, discipline=Pause(high=50, low=25))
    run = simulate(
        Scenario("calm", links, [Flow("a", (1, 2, 3), CBR(1e3))], duration=0.05), level="fluid"
    )
    found = pause_propagation(run)
    assert (found.waited, found.origins) == ({}, {})
    assert found.summary()["pauses"] == "0, of links out of 0 nodes"
    assert [text.get_text() for text in found.plot().texts] == ["no pauses"]
