"""Flows: one by one, in columns, in connection matrices."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dfcmodel as dfc
from dfcmodel import simulate
from dfcmodel.lossless import leaf_spine, with_hosts
from responsefn import CUBIC, DCQCN, FixedRate, NewReno, Reno
from tests.option_objects import grouped
from tests.oracles.engines import plain_simulate

# Tables of flows: the same flows as objects, and the same runs.


HOSTS = [("host", n) for n in range(6)]


def links(**pfc: object) -> tuple:
    """Return the links of a fabric of six hosts under PFC."""
    graph = with_hosts(leaf_spine(2, 2, hosts=3))
    return dfc.from_networkx(graph, rate=1e6, delay=1e-6, buffer=500.0, discipline=dfc.PFC(xoff=20, xon=10, **pfc))


def table(source: object = dfc.CBR(1e6), **options: object) -> dfc.Flows:
    """Return an all-to-all of six hosts."""
    return dfc.all_to_all(HOSTS, source=source, links=links(), **grouped(dfc.all_to_all, {"sizes": 20, **options}))


def test_every_option_of_a_flow_is_a_column() -> None:
    assert set(table().columns) == {each.name for each in fields(dfc.Flow)} - {"name", "path"}


def test_items_are_flows_and_flows_make_the_same_table() -> None:
    flows = table(start := [dfc.CBR(1e6 + f % 3) for f in range(30)], starts=np.linspace(0, 1e-5, 30))
    objects = [dfc.Flow(flow.name, flow.path, start[f], start=flow.start, size=20.0) for f, flow in enumerate(flows)]
    assert list(flows) == objects
    assert (flows[3:5], flows[-1]) == (tuple(objects[3:5]), objects[-1])
    assert flows == dfc.Flows.of(objects)
    assert flows == tuple(objects)
    assert dfc.Flows.of(flows) is flows
    with pytest.raises(IndexError, match="flow 30"):
        flows[30]
    assert list(pickle.loads(pickle.dumps(flows))) == objects


def collective(hosts: list[Any], start: float = 0.0) -> dfc.Flows:
    """Return a ring of three hosts, of which 12 flows wait for each other."""
    options = dfc.CollectiveOptions(starts=start)
    return dfc.all_reduce(hosts, 30, source=FixedRate(), links=links(counts="switch"), options=options)


def starts(flows: Any) -> Any:
    """Return the starts of flows in a run, s."""
    return simulate(dfc.Scenario("jobs", links(counts="switch"), flows, duration=1e-2), dfc.Packets(seed=1)).started


def test_flows_of_tables_in_a_list_wait_for_those_of_their_table() -> None:
    """In a list of two jobs the second one waited for flows of the first, which had the same indices."""
    late, early = collective(HOSTS[:3], 1e-3), collective(HOSTS[3:])
    expected = starts(late + early)
    assert expected[12:].max() < 1e-3 <= expected[:12].min()
    np.testing.assert_array_equal(starts([*late, *early]), expected)
    np.testing.assert_array_equal(starts(tuple(early) + tuple(late)), [*expected[12:], *expected[:12]])
    np.testing.assert_array_equal(starts(late + tuple(early)), expected)
    np.testing.assert_array_equal(starts([*late, *early][::-1]), expected[::-1])
    renamed = [replace(flow, name=f"{n}") for n, flow in enumerate([*late, *early])]
    np.testing.assert_array_equal(starts(renamed), expected)
    twice = [replace(flow, name=f"{n}") for n, flow in enumerate([*early, *early])]
    np.testing.assert_array_equal(starts(twice), starts(early + early))


def test_a_flow_in_place_of_one_that_others_wait_for_stands_for_it() -> None:
    job = collective(HOSTS[:3])
    edited = [replace(job[0], after=(), start=1e-3, name="later"), *job[1:]]
    assert dfc.Scenario("edited", links(), edited).flows[4].after == job[4].after == (0,)
    assert starts(edited)[4] > 1e-3


@pytest.mark.parametrize("flows", [slice(3, None), slice(1, 9), slice(0, None, 2)])
def test_lists_without_a_flow_that_others_wait_for_are_refused(flows: slice) -> None:
    with pytest.raises(ValueError, match=r"after of flow .* waits for flow .* of its table, which the flows lack"):
        dfc.Scenario("part", links(), collective(HOSTS[:3])[flows])


def test_a_column_of_pandas_and_a_range_have_a_value_per_flow() -> None:
    columns = {"sizes": [1, 2, 3], "starts": [0.0, 1e-6, 2e-6], "priority": [0, 1, 2], "after": [-1, 0, 0]}

    def flows(columns: dict[str, object]) -> dfc.Flows:
        table = grouped(dfc.flows_from, columns, source=FixedRate(), links=links())
        return dfc.flows_from(HOSTS[:3], HOSTS[3:], **table)

    arrays = flows({name: np.array(column) for name, column in columns.items()})
    assert [flow.after for flow in arrays] == [(), (0,), (0,)]
    for of in (list, pd.Series):
        assert flows({name: of(column) for name, column in columns.items()}) == arrays
    assert flows({**columns, "priority": range(3)}) == arrays
    for after in ([[-1], [0], [0]], (-1, 0, 0), [(), 0, 0], [(), (0,), np.int64(0)]):
        assert flows({**columns, "after": after}) == arrays


@pytest.mark.parametrize(("after", "indices"), [(0, (0,)), (1, (1,)), ("ab", (0,)), (("a", "b"), (1, 2)), ((), ())])
def test_flows_of_a_table_wait_for_those_that_a_flow_would(after: object, indices: tuple[int, ...]) -> None:
    """One reference, a name or an index, is a reference in a table too: 0 is the first flow, "ab" is not "a" and "b"."""
    names = ["ab", "a", "b", "c"]
    columns = grouped(dfc.flows_from, {"names": names, "after": [(), (), (), after]}, source=FixedRate(), links=links())
    flows = dfc.flows_from(4 * [HOSTS[0]], 4 * [HOSTS[3]], sizes=2, **columns)
    objects = [dfc.Flow(flow.name, flow.path, FixedRate(), size=2) for flow in flows[:3]]
    objects.append(dfc.Flow("c", flows[3].path, FixedRate(), size=2, after=after))
    assert flows[3].after == objects[3].after
    assert (table() + flows)[33].after == tuple(30 + index for index in indices)
    runs = [simulate(dfc.Scenario("wait", links(), of, duration=1e-3), dfc.Packets(seed=1)) for of in (flows, objects)]
    assert runs[0].finished.tolist() == runs[1].finished.tolist()


@pytest.mark.parametrize("delays", [[(), ("1us",)], [(), ["0.001ms"]], [(), (1e-6,)]])
def test_delays_of_a_table_have_units_as_those_of_a_flow(delays: Any) -> None:
    columns = grouped(dfc.flows_from, {"after": [(), (0,)], "delays": delays}, source=FixedRate(), links=links())
    flows = dfc.flows_from(HOSTS[:2], HOSTS[3:5], sizes=2, **columns)
    run = simulate(dfc.Scenario("wait", links(), flows, duration=1e-3), dfc.Packets(seed=1))
    assert run.started[1] == pytest.approx(run.finished[0] + 1e-6)
    with pytest.raises(ValueError, match=r"delays\[1\] = '1us': must be times in s, one for each of after"):
        dfc.FlowOptions(after=[(), (0,)], delays=[(), "1us"])


@pytest.mark.parametrize(("after", "reference"), [(0, "(0,)"), ("c", "('c',)")])
def test_one_reference_of_all_flows_is_refused_by_name(after: object, reference: str) -> None:
    """The first flow would wait for itself."""
    columns = grouped(dfc.flows_from, {"names": ["c", "d"], "after": after}, source=FixedRate(), links=links())
    flows = dfc.flows_from(HOSTS[:2], HOSTS[3:5], sizes=2, **columns)
    with pytest.raises(ValueError, match=f"after of flow 'c' = {re.escape(reference)}: must be names of other flows"):
        simulate(dfc.Scenario("wait", links(), flows, duration=1e-3), dfc.Packets(seed=1))


def test_nodes_in_a_set_are_refused() -> None:
    """A set has no order: rings, pairs of sources and targets, and values per sender would be those of chance."""
    given = {"source": FixedRate(), "links": links()}
    for collective, options in (
        (dfc.all_to_all, {"sizes": 1}),
        (dfc.incast, {"receiver": HOSTS[5], "sizes": 1}),
        (dfc.permutation, {"seed": 1, "sizes": 1}),
        (dfc.all_reduce, {"packets": 9}),
    ):
        with pytest.raises(TypeError, match=r"(hosts|senders) = .*: must be a list of nodes, as a set has no order"):
            collective({*HOSTS[:3]}, **options, **given)
    with pytest.raises(TypeError, match=r"sources = .*: must be a list of nodes, as a set has no order"):
        dfc.flows_from(frozenset(HOSTS[:2]), HOSTS[3:5], **given)
    with pytest.raises(TypeError, match=r"path of flow 'a' = .*: must be a list of nodes, as a set has no order"):
        dfc.Flow("a", {"a", "b"}, FixedRate())


def test_names_are_distinct() -> None:
    assert table().name(0) == "('host', 0)->('host', 1)"
    alike = [dfc.Link(1, 2, 1.0, 1.0, 5), dfc.Link("1", 2, 1.0, 1.0, 5)]  # two nodes with one name
    flows = dfc.flows_from([1, "1"], [2, 2], source=dfc.CBR(1.0), links=alike)
    assert list(flows.names) == ["0: 1->2", "1: 1->2"]


def test_groups_are_in_the_order_of_their_first_flows() -> None:
    sizes = [5.0, 3.0, 5.0, 4.0, 3.0]
    flows = dfc.Flows.of([dfc.Flow(f"{n}", (1, 2), dfc.CBR(1.0), size=s) for n, s in enumerate(sizes)])
    first, group = flows.alike("size", "source", np.zeros(5))
    assert (first.tolist(), group.tolist()) == ([0, 1, 3], [0, 1, 0, 2, 1])
    first, group = flows.alike("size", np.array([1, 1, 2, 1, 1]))
    assert (first.tolist(), group.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 3, 1])


MIXED = [(dfc.CBR(1e6), DCQCN(), NewReno())[f % 3] for f in range(30)]


@pytest.mark.parametrize(
    ("source", "simulate"),
    [*((each, simulate) for each in (dfc.CBR(1e6), NewReno(), MIXED)), (MIXED, plain_simulate)],
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
    method = dfc.Packets(seed=1)
    by_table = dfc.Scenario("table", links(classes=(0, 1)), flows, duration=4e-4)
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
    with pytest.raises(ValueError, match=r"path of flow .*there is no link \('host', 0\)->\('leaf', 0\)"):
        dfc.Scenario("a", [each for each in links() if each.source != ("host", 0)], flows)


# Flows: refused fields.


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"path": (1,)}, ["path", "two nodes"]),
        ({"path": (1, 2, 1)}, ["path", "twice"]),
        ({"path": (1, 3)}, ["path", "1->3", "1->2"]),
        ({"path": (29, 30, 31)}, ["path", "30->31"]),
        ({"max_window": 0.0}, ["max_window", "0"]),
        ({"max_window": 1e12}, ["max_window", "memory"]),
        ({"start": -1.0}, ["start", "-1"]),
        ({"size": 0.0}, ["size", "0"]),
        ({"size": 2.5}, ["size", "2.5", "whole number of packets", "math.ceil"]),
        ({"size": 2.5, "source": dfc.CBR(9.0)}, ["size", "2.5", "whole number of packets"]),
        ({"source": "reno"}, ["source", "'reno'", "Reno()"]),
        ({"host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"priority": 0.5}, ["priority", "0.5"]),
        ({"idle": 0.0, "size": 40.0}, ["idle", "0"]),
        ({"idle": 1.0}, ["size", "inf", "whole number", "each transfer"]),
        ({"idle": 1.0, "size": 4.5}, ["size", "4.5", "whole number"]),
        ({"idle": 1.0, "size": 40.0, "source": dfc.CBR(9.0)}, ["idle", "1", "no window"]),
        ({"random_idle": True}, ["random_idle", "give idle"]),
        ({"random_idle": 1, "idle": 1.0, "size": 9.0}, ["random_idle", "1"]),
        ({"weight": 0, "host": "nic"}, ["weight", "0"]),
        ({"weight": 1.5, "host": "nic"}, ["weight", "1.5"]),
        ({"weight": 2, "host": "direct"}, ["weight", "2", "host='nic'"]),
        ({"handshake": "syn"}, ["handshake", "'syn'", "True, False or 'data'"]),
        ({"handshake": 2}, ["handshake", "2"]),
        ({"handshake": "data", "source": dfc.CBR(9.0)}, ["handshake", "'data'", "no window"]),
    ],
)
def test_flow_fields(refused, change, parts) -> None:
    scenario = dfc.takano2006("1")
    first = scenario.flows[0]
    refused(
        [*parts, "of flow 'target'"],
        lambda: replace(scenario, flows=(replace(first, **change),)),
    )


@pytest.mark.parametrize(
    ("name", "values", "same"),
    [
        ("size", [1, np.int64(1), np.float32(1.0)], 1.0),
        ("size", [1e15], 10**15),
        ("size", [np.float32(np.inf), np.array(np.inf)], math.inf),
        ("handshake", [np.bool_(True), np.array(True)], True),
    ],
)
def test_values_of_any_type(name: str, values: list[Any], same: Any) -> None:
    for given in values:
        flow = dfc.Flow("a", (1, 2), Reno(), **{name: given})
        assert flow == dfc.Flow("a", (1, 2), Reno(), **{name: same})
        assert getattr(flow, name) == same


def test_transfers_that_follow_one_another_are_packets_without_end() -> None:
    flow = dfc.Flow("a", (1, 2), Reno(), size=40.0)
    assert flow.all_packets == 40.0
    assert replace(flow, idle=1.0).all_packets == np.inf
    assert replace(flow, idle=np.float32(np.inf)) == flow


# Connection matrices of htsim.


FABRIC = dfc.Fabric(leaf_spine(2, 2, hosts=4), buffer="1 MB", discipline=dfc.PFC(counts="switch"))
GIVEN = {"source": FixedRate(), "links": FABRIC.links}
ONE = "Nodes 8\nConnections 1\n0->1 id 1 start 0 size 3000\n"
CHAINED = """Nodes 4
Connections 4
Triggers 2

0->1 id 1 start 2000000.0 size 3001 send_done_trigger 1
1->2 id 2 trigger 1 size 2000000 recv_done_trigger 2
# a comment
3->2 id 3 start 0 size 1500 recv_done_trigger 2
2->0 id 4 trigger 2 size 1
trigger id 1 oneshot
trigger id 2 count 2 barrier
"""


def _ring(hosts: int, size: int) -> str:
    """Return a ring all-reduce as csg-htsim's ``gen_allreduce.py`` writes it: a chain of triggers per chunk."""
    lines, number, trigger = [], 0, 1
    for s in range(hosts):
        for d in range(1, 2 * hosts):
            number += 1
            line = f"{(s + d - 1) % hosts}->{(s + d) % hosts} id {number}"
            if d == 1:
                line += " start 0"
            else:
                line += f" trigger {trigger}"
                trigger += 1
            line += f" size {size}"
            lines.append(line + (f" send_done_trigger {trigger}" if d < 2 * hosts - 1 else ""))
    head = [f"Nodes {hosts}", f"Connections {len(lines)}", f"Triggers {trigger - 1}"]
    return "\n".join([*head, *lines, *(f"trigger id {t} oneshot" for t in range(1, trigger))])


def test_sizes_starts_and_triggers() -> None:
    flows = dfc.read_connection_matrix(CHAINED, FABRIC.hosts[:4], **GIVEN)
    assert [flow.size for flow in flows] == [3.0, 1334.0, 1.0, 1.0]
    assert [flow.start for flow in flows] == [2e-6, 0.0, 0.0, 0.0]
    assert [flow.after for flow in flows] == [(), (0,), (), (1, 2)]
    ends = [(flow.path[0][1], flow.path[-1][1]) for flow in flows]
    assert ends == [(0, 1), (1, 2), (3, 2), (2, 0)]
    run = simulate(FABRIC.scenario("chained", flows, 1e-2), dfc.Packets(seed=1), sample=1e-2)
    assert run.started[1] == run.finished[0]
    assert run.started[3] == max(run.finished[1], run.finished[2])


def test_a_ring_of_htsim_runs_step_by_step() -> None:
    """Without ACKs each step takes as long as its 2 packets over 4 links."""
    flows = dfc.read_connection_matrix(_ring(4, 3000), FABRIC.hosts[:4], **GIVEN)
    assert len(flows) == 4 * 7
    run = simulate(FABRIC.scenario("ring", flows, 1e-2), dfc.Packets(seed=1, recovery="none"), sample=1e-2)
    assert np.isfinite(run.finished).all()
    one = 3 * 1500 * 8 / 100e9 + 2 * 25e-9  # within a leaf
    assert run.finished.max() == pytest.approx(7 * one, rel=1e-9)


def test_a_size_of_zero_has_no_end() -> None:
    text = "Nodes 2\nConnections 1\n0->1 start 0.000000 size 0\n"  # as in EXAMPLES/collateral/incast.cm
    assert dfc.read_connection_matrix(text, FABRIC.hosts[:2], **GIVEN)[0].size == math.inf


def test_a_header_that_counts_no_failures_is_read() -> None:
    read = dfc.read_connection_matrix(ONE.replace("Connections 1", "Connections 1\nFailures 0"), FABRIC.hosts, **GIVEN)
    assert read[0] == dfc.read_connection_matrix(ONE, FABRIC.hosts, **GIVEN)[0]


def test_a_file_is_read_and_named_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "one.cm"
    file.write_text(ONE)
    assert dfc.load_connection_matrix(file, FABRIC.hosts, packet_size=1000, **GIVEN)[0].size == 3.0
    file.write_text(ONE.replace("size", "bytes"))
    with pytest.raises(ValueError, match=r"one.cm: line 3 = 'bytes': must be one of"):
        dfc.load_connection_matrix(file, FABRIC.hosts, **GIVEN)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Nodes 8", "Nodes 9", "Nodes 9: must be 2 to 8"),
        ("Nodes 8", "", "Nodes 0: must be 2 to 8"),
        ("Nodes 8", "Nodes x", "line 1: Nodes x: must be a whole number"),
        ("Connections 1", "Connections 2", "Connections 2: the file has 1"),
        ("Connections 1", "Connections 1\nTriggers 1", "Triggers 1: the file has 0"),
        ("0->1", "0->0", r"line 3, 0->0: must be two nodes of 0 to 7"),
        ("0->1", "0->8", r"line 3, 0->8: must be two nodes of 0 to 7"),
        ("0->1", "0-1", "line 3, .*: must be a connection such as"),
        (" size 3000", "", "line 3: size must be given"),
        ("3000", "3e3", "line 3: size 3e3: must be a whole number"),
        ("start 0", "start soon", "line 3: start soon: must be in picoseconds"),
        ("start 0", "start 1e308", r"line 3: start 1e308: must be in picoseconds, below 2\^64"),
        ("start 0", "start 12.500000", "line 3: start 12.500000: htsim writes microseconds"),
        ("start 0", "start 2000.000000", "line 3: start 2000.000000: htsim writes microseconds"),
        ("start 0", "start 0.5", "line 3: start 0.5: .* write whole picoseconds"),
        ("start 0", "start -1", "line 3: start -1: must be in picoseconds"),
        (" start 0", "", "line 3: must have either a start or a trigger"),
        ("start 0", "start 0 trigger 1", "line 3: must have either a start or a trigger"),
        ("start 0", "trigger 1", "line 3, trigger 1: the file must have a line for it|no connection"),
        ("start 0", "start 0 prio 3", "line 3: priorities among flows are not read"),
        ("start 0", "start", "line 3"),
        ("Connections 1", "Connections 1\nFailures 1", "line 3, .*: failures of links are not read"),
        ("count 2 barrier", "count 3 barrier", "trigger 2: a barrier of 3 that 2 connections activate"),
        ("count 2 barrier", "oneshot", "trigger 2: a oneshot of 1 that 2 connections activate"),
        ("count 2 barrier", "barrier", "line 11: count : must be a whole number"),
        ("1 oneshot", "1 multishot", "line 10: triggers of several shots are not read"),
        ("1 oneshot", "1", "line 10: a trigger must have an id, and be oneshot or a barrier"),
        ("id 1 oneshot", "id 2 oneshot", "line 11: trigger 2 occurs twice"),
        ("id 1 oneshot", "id 7 oneshot", "line 5, trigger 1: the file must have a line for it"),
        ("trigger 1 size 2000000", "start 0 size 2000000 send_done_trigger 9", "line 6, trigger 9: the file must have a line for it"),
        ("id 1 oneshot", "id 1 oneshot count 2", "line 10: count 2: is of barriers"),
        ("id 1 oneshot", "id 0 oneshot", "line 10: id 0: must be at least 1, in htsim 0 is no trigger"),
        ("send_done_trigger 1", "send_done_trigger 0", "line 5: send_done_trigger 0: must be at least 1"),
        ("id 2 trigger 1", "id 2 trigger 0", "line 6: trigger 0: must be at least 1"),
        (" send_done_trigger 1", "", "line 6, trigger 1: no connection activates it"),
        ("size 3001 send_done", "size 0 send_done", "line 6, trigger 1: line 5, which activates it, has size 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(old: str, new: str, said: str) -> None:
    text = ONE if old in ONE else CHAINED
    with pytest.raises(ValueError, match=said):
        dfc.read_connection_matrix(text.replace(old, new), FABRIC.hosts, **GIVEN)


# Files of csg-htsim (Broadcom/csg-htsim, sim/datacenter/connection_matrices, BSD-3-Clause), and those that its programs write.


def _alltoall(hosts: int, parallel: int = 1, priority: bool = False) -> str:
    """Return an all-to-all in which a host sends to one after the other (``gen_serial_alltoall.py``), or to several at a time."""
    lines, number, trigger = [], 0, 0
    for s in range(hosts):
        for d in range(1, hosts):
            number, batch = number + 1, (d - 1) // parallel
            line = f"{s}->{(s + d) % hosts} id {number} "
            line += f"trigger {trigger + batch}" if batch else "start 0"
            line += " size 1000000"
            line += f" send_done_trigger {trigger + batch + 1}" if batch < (hosts - 2) // parallel else ""  # fmt: skip
            lines.append(line + (f" prio {batch + 1}" if priority else ""))
        trigger += (hosts - 2) // parallel
    kind = "oneshot" if parallel == 1 else "multishot"
    head = [f"Nodes {hosts}", f"Connections {len(lines)}", f"Triggers {trigger}"]
    return "\n".join([*head, *lines, *(f"trigger id {t} {kind}" for t in range(1, trigger + 1))])


@pytest.mark.parametrize(
    ("text", "ends", "size"),
    [
        # bidir.cm: no numbers, an empty line at the end
        ("Nodes 8\nConnections 2\n0->5 start 0 size 2000000\n5->0 start 0 size 2000000\n\n", [(0, 5), (5, 0)], 2_000_000),
        # incast.cm: all to the last one
        ("Nodes 8\nConnections 7\n" + "".join(f"{n}->7 start 0 size 2000000\n" for n in range(7)), [(n, 7) for n in range(7)], 2_000_000),
        # outcast_incast.cm: hosts that send to one send to others, too
        ("Nodes 8\nConnections 4\n1->0 id 1 start 0 size 2000000\n2->0 id 2 start 0 size 2000000\n2->4 id 3 start 0 size 2000000\n2->5 id 4 start 0 size 2000000\n", [(1, 0), (2, 0), (2, 4), (2, 5)], 2_000_000),
        # perm_16n_16c_2MB.cm: a permutation
        ("Nodes 4\nConnections 4\n" + "".join(f"{n}->{3 - n} id {n + 1} start 0 size 2000000\n" for n in range(4)), [(n, 3 - n) for n in range(4)], 2_000_000),
    ],
    ids=["bidir", "incast", "outcast_incast", "permutation"],
)  # fmt: skip
def test_matrices_of_htsim(text: str, ends: list[tuple[int, int]], size: int) -> None:
    flows = dfc.read_connection_matrix(text, FABRIC.hosts[: int(text.split()[1])], **GIVEN)
    assert [(flow.path[0][1], flow.path[-1][1]) for flow in flows] == ends
    assert [flow.size for flow in flows] == len(ends) * [-(-size // 1500)]
    run = simulate(FABRIC.scenario("x", flows, 1e-2), dfc.Packets(seed=1, recovery="none"), sample=1e-2)
    # the fullest link of a host, of 100 Gb/s, is never idle between its first packet and its last
    most = max(column.count(host) for column in zip(*ends, strict=True) for host in range(8))
    assert run.finished.max() == pytest.approx(most * 1334 * 12000 / 100e9, rel=0.01)


def test_starts_of_gen_incast_are_picoseconds() -> None:
    """``gen_incast.py`` with 5 us of extra start time writes whole picoseconds below 5,000,000."""
    starts = (237795, 3269953, 3630313, 17666)
    lines = [f"{n + 1}->0 id {n + 1} start {start} size 2000000" for n, start in enumerate(starts)]
    text = "\n".join(["Nodes 8", "Connections 4", *lines])
    flows = dfc.read_connection_matrix(text, FABRIC.hosts, **GIVEN)
    assert [flow.start for flow in flows] == pytest.approx([1e-12 * start for start in starts])


def test_a_serial_alltoall_of_htsim_runs_one_after_the_other() -> None:
    flows = dfc.read_connection_matrix(_alltoall(4), FABRIC.hosts[:4], **GIVEN)
    assert [len(flow.after) for flow in flows] == 4 * [0, 1, 1]
    assert sum(flow.size for flow in flows) == 12 * 667


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # gen_serialn_alltoall.py: triggers that each of several connections activates
        (_alltoall(8, 2), "line 60: triggers of several shots are not read"),
        # gen_serialn_alltoall_prio.py
        (_alltoall(8, 2, True), "line 4: priorities among flows are not read"),
        # gen_allreduce_butterfly.py announces one trigger more than it writes, which htsim itself refuses
        (_alltoall(8).replace("Triggers 48", "Triggers 49"), "Triggers 49: the file has 48"),
    ],
)
def test_other_files_of_htsim_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dfc.read_connection_matrix(text, FABRIC.hosts, **GIVEN)


def test_hosts_without_a_node_of_the_file_are_named() -> None:
    """As htsim, which ends where the numbers of nodes of the file and of the network differ."""
    message = r"^text: Nodes 4: 4 of 8 hosts, from hosts\[4\] on, take no part; if this is intended, write hosts\[:4\]$"
    with pytest.warns(UserWarning, match=message):
        flows = dfc.read_connection_matrix(CHAINED, FABRIC.hosts, **GIVEN)
    assert list(flows) == list(dfc.read_connection_matrix(CHAINED, FABRIC.hosts[:4], **GIVEN))


@pytest.mark.parametrize("name", ["sizes", "starts", "after"])
def test_what_the_file_has_is_not_given(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}.*: must not be given"):
        dfc.read_connection_matrix(ONE, FABRIC.hosts, **grouped(dfc.read_connection_matrix, GIVEN, {name: 1}))


def test_paths_over_nodes_without_links_are_refused_by_the_scenario() -> None:
    paths = [(HOSTS[0], ("leaf", 0), HOSTS[1]), (HOSTS[0], "elsewhere", HOSTS[2])]
    ends = [path[0] for path in paths], [path[-1] for path in paths]
    flows = dfc.flows_from(*ends, source=dfc.CBR(1e6), links=links(), routes=paths)
    assert [flow.path for flow in flows] == paths
    with pytest.raises(ValueError, match=r"there is no link \('host', 0\)->elsewhere"):
        dfc.Scenario("a", links(), flows)


# How flows repair losses, in summaries and comparisons.


def flows_of(*rules: Any) -> dfc.Scenario:
    """Return a flow of each rule over one link."""
    links = dfc.chain(2, rate=1e3, delay=1e-2, buffer=20)
    flows = [dfc.Flow(f"{n}", (1, 2), rule) for n, rule in enumerate(rules)]
    return dfc.Scenario("recoveries", links, flows, duration=0.5)


def test_recoveries_are_said_where_flows_differ() -> None:
    """In summaries of runs and ensembles, side by side, and of rules, which all have the path's."""
    differ, same, six = (
        simulate(flows_of(*rules), level="packets", packet_jitter="1pkt")
        for rules in ([NewReno(), CUBIC()], [CUBIC(), CUBIC()], [*5 * [CUBIC()], NewReno()])
    )
    assert str(differ.summary()["0"]).startswith("NewReno with recovery 'newreno': ")
    assert str(differ.summary()["1"]).startswith("CUBIC with recovery 'sack': ")
    assert str(same.summary()["0"]).startswith("CUBIC: ")
    columns = list(dfc.compare(differ, same, six).columns.values())
    assert [column.get("recovery") for column in columns] == [
        "newreno: 0; sack: 1",
        None,
        "sack: 0, 1, 2 and 2 more; newreno: 5",
    ]
    many = dfc.ensemble(flows_of(NewReno(), CUBIC()), 2, level="fluid").summary()
    assert many["recovery"] == "newreno: 0; sack: 1"
    assert " of the slowest link, " in str(many["0"])
    alike = dfc.ensemble(flows_of(CUBIC(), CUBIC()), 2, level="fluid").summary()
    assert "recovery" not in alike


@pytest.mark.parametrize(
    ("rules", "given", "said"),
    [
        ((NewReno(), CUBIC()), {}, ["sack for all; ", "newreno: NewReno()", "sack: CUBIC()"]),
        ((CUBIC(), CUBIC(beta=0.5)), {}, ["sack, that of each rule"]),
        ((NewReno(), CUBIC()), {"recovery": "rack"}, ["rack for all"]),
    ],
)
def test_rules_on_one_path_have_one_recovery(rules, given: dict, said: list[str]) -> None:
    """The words are those of `flow_recoveries`."""
    path = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "duration": 5.0, "runs": 1}
    found = str(dfc.compare(*rules, **grouped(dfc.compare, path, given)).summary()["recovery"])
    assert found.startswith(said[0])
    assert all(part in found for part in said)
