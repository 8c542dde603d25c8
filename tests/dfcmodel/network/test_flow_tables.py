"""Tables of flows: the same flows as objects, and the same runs."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Flow,
    Flows,
    Packets,
    Scenario,
    all_to_all,
    flows_from,
    from_networkx,
    simulate,
)
from dfcmodel.lossless import leaf_spine, with_hosts
from dfcmodel.network.columns import Column, encoded
from dfcmodel.network.flow_tables import OPTIONS
from responsefn import DCQCN, NewReno
from tests.oracles.engines import plain_simulate

HOSTS = [("host", n) for n in range(6)]


def links(**pfc: object) -> tuple:
    """Return the links of a fabric of six hosts under PFC."""
    graph = with_hosts(leaf_spine(2, 2, hosts=3))
    return from_networkx(
        graph, rate=1e6, delay=1e-6, buffer=500.0, discipline=PFC(xoff=20, xon=10, **pfc)
    )


def table(source: object = CBR(1e6), **options: object) -> Flows:
    """Return an all-to-all of six hosts."""
    return all_to_all(HOSTS, source=source, links=links(), **{"sizes": 20, **options})


def test_every_option_of_a_flow_is_a_column() -> None:
    assert {each.name for each in OPTIONS} == {each.name for each in fields(Flow)} - {
        "name",
        "path",
    }
    assert set(table().columns) == {each.name for each in OPTIONS}


def test_items_are_flows_and_flows_make_the_same_table() -> None:
    flows = table(start := [CBR(1e6 + f % 3) for f in range(30)], starts=np.linspace(0, 1e-5, 30))
    objects = [
        Flow(flow.name, flow.path, start[f], start=flow.start, size=20.0)
        for f, flow in enumerate(flows)
    ]
    assert list(flows) == objects
    assert (flows[3:5], flows[-1]) == (tuple(objects[3:5]), objects[-1])
    assert flows == Flows.of(objects)
    assert flows == tuple(objects)
    assert Flows.of(flows) is flows
    with pytest.raises(IndexError, match="flow 30"):
        flows[30]
    assert list(pickle.loads(pickle.dumps(flows))) == objects


def test_names_are_distinct() -> None:
    assert table().name(0) == "('host', 0)->('host', 1)"
    ends = Flows(
        (1, "1", 2),
        table().paths.__class__.of([(0, 2), (1, 2)]),
        {"source": Column((CBR(1.0),), None, 2)},
    )
    assert list(ends.names) == ["0: 1->2", "1: 1->2"]  # two nodes with one name


def test_groups_are_in_the_order_of_their_first_flows() -> None:
    sizes = [5.0, 3.0, 5.0, 4.0, 3.0]
    flows = Flows.of([Flow(f"{n}", (1, 2), CBR(1.0), size=s) for n, s in enumerate(sizes)])
    first, group = flows.alike("size", "source", np.zeros(5))
    assert (first.tolist(), group.tolist()) == ([0, 1, 3], [0, 1, 0, 2, 1])
    first, group = flows.alike("size", np.array([1, 1, 2, 1, 1]))
    assert (first.tolist(), group.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3, 1])


def test_columns_keep_values_once() -> None:
    column = encoded([NewReno(), NewReno(), CBR(2.0)])
    assert len(column.values) == 2
    assert list(column) == [NewReno(), NewReno(), CBR(2.0)]
    assert column == (NewReno(), NewReno(), CBR(2.0))
    assert column.map(type)[2] is CBR
    constant = encoded([1.0, 1.0])
    assert constant.which is None
    assert constant.array().tolist() == list(constant) == [1.0, 1.0]


MIXED = [(CBR(1e6), DCQCN(), NewReno())[f % 3] for f in range(30)]


@pytest.mark.parametrize(
    ("source", "simulate"),
    [*((each, simulate) for each in (CBR(1e6), NewReno(), MIXED)), (MIXED, plain_simulate)],
)
def test_a_table_runs_as_its_flows_do(source: object, simulate: Any) -> None:
    size = 4 if simulate is plain_simulate else 20  # plain Python is slow
    options = {
        "priority": [f % 2 for f in range(30)],
        "starts": np.linspace(0, 2e-5, 30),
        "sizes": size,
    }
    flows = table(source, **options)
    assert len({flow.priority for flow in flows}) == 2
    method = Packets(seed=1)
    by_table = Scenario("table", links(classes=(0, 1)), flows, duration=4e-4)
    by_object = replace(by_table, flows=tuple(flows))
    assert by_table == by_object
    one, other = (simulate(each, method, sample=1e-4) for each in (by_table, by_object))
    for name in (
        "delivered",
        "window",
        "carried",
        "mean_queue",
        "queued",
        "finished",
        "round_trip",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert np.isfinite(one.finished).any()
    assert (one.status, one.recoveries, one.summary().keys()) == (
        other.status,
        other.recoveries,
        other.summary().keys(),
    )
    assert simulate(by_table, method, sample=1e-4, duration=1e-4).to_xarray().sizes["flow"] == 30


def test_missing_links_are_named() -> None:
    flows = table()
    with pytest.raises(
        ValueError, match=r"path of flow .*there is no link \('host', 0\)->\('leaf', 0\)"
    ):
        Scenario("a", [each for each in links() if each.source != ("host", 0)], flows)


def test_paths_over_nodes_without_links_are_refused_by_the_scenario() -> None:
    paths = [(HOSTS[0], ("leaf", 0), HOSTS[1]), (HOSTS[0], "elsewhere", HOSTS[2])]
    ends = [path[0] for path in paths], [path[-1] for path in paths]
    flows = flows_from(*ends, source=CBR(1e6), links=links(), routes=paths)
    assert [flow.path for flow in flows] == paths
    with pytest.raises(ValueError, match=r"there is no link \('host', 0\)->elsewhere"):
        Scenario("a", links(), flows)
