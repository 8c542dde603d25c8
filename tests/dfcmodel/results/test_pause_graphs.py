"""Who waited for whom."""

from __future__ import annotations

import pytest

from dfcmodel import (
    CBR,
    PFC,
    Fabric,
    Flow,
    Packets,
    Pause,
    Scenario,
    chain,
    incast,
    pause_propagation,
    simulate,
)
from dfcmodel.lossless import deadlock, leaf_spine, torus
from responsefn import FixedRate


def _incast():
    fabric = Fabric(
        leaf_spine(3, 1, hosts=4), buffer="1 MB", discipline=PFC(xoff=10, xon=5, counts="switch")
    )
    flows = incast(fabric.hosts, fabric.hosts[0], sizes=300, source=FixedRate(), links=fabric.links)
    return simulate(fabric.scenario("incast", flows, 0.01), Packets(seed=1), sample=1e-3)


def test_an_incast_begins_at_the_leaf_of_its_receiver() -> None:
    run = _incast()
    found = pause_propagation(run)
    leaf = "('leaf', 0)"
    assert list(found.origins) == [leaf]
    others = {(f"('leaf', {n})", "('spine', 0)") for n in (1, 2)}
    assert {("('spine', 0)", leaf), *others} <= set(found.graph.edges)
    assert all(f"('host', {n})" in found.waited for n in range(1, 12))


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
    assert str(found.summary()["began at"]).startswith("no node")
    assert {(str(n), str((n + 1) % 4)) for n in range(4)} <= set(found.graph.edges)
    found.plot()


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
