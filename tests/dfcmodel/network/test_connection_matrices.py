"""Connection matrices of htsim."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from dfcmodel import (
    PFC,
    Fabric,
    Packets,
    load_connection_matrix,
    read_connection_matrix,
    simulate,
)
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

FABRIC = Fabric(leaf_spine(2, 2, hosts=4), buffer="1 MB", discipline=PFC(counts="switch"))
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
    flows = read_connection_matrix(CHAINED, FABRIC.hosts, **GIVEN)
    assert [flow.size for flow in flows] == [3.0, 1334.0, 1.0, 1.0]
    assert [flow.start for flow in flows] == [2e-6, 0.0, 0.0, 0.0]
    assert [flow.after for flow in flows] == [(), (0,), (), (1, 2)]
    ends = [(flow.path[0][1], flow.path[-1][1]) for flow in flows]
    assert ends == [(0, 1), (1, 2), (3, 2), (2, 0)]
    run = simulate(FABRIC.scenario("chained", flows, 1e-2), Packets(seed=1), sample=1e-2)
    assert run.started[1] == run.finished[0]
    assert run.started[3] == max(run.finished[1], run.finished[2])


def test_a_ring_of_htsim_runs_step_by_step() -> None:
    """Without ACKs each step takes as long as its 2 packets over 4 links."""
    flows = read_connection_matrix(_ring(4, 3000), FABRIC.hosts, **GIVEN)
    assert len(flows) == 4 * 7
    run = simulate(
        FABRIC.scenario("ring", flows, 1e-2), Packets(seed=1, recovery="none"), sample=1e-2
    )
    assert np.isfinite(run.finished).all()
    one = 3 * 1500 * 8 / 100e9 + 2 * 25e-9  # within a leaf
    assert run.finished.max() == pytest.approx(7 * one, rel=1e-9)


def test_a_size_of_zero_has_no_end() -> None:
    text = "Nodes 2\nConnections 1\n0->1 start 0.000000 size 0\n"  # as in EXAMPLES/collateral/incast.cm
    assert read_connection_matrix(text, FABRIC.hosts, **GIVEN)[0].size == math.inf


def test_a_file_is_read_and_named_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "one.cm"
    file.write_text(ONE)
    assert load_connection_matrix(file, FABRIC.hosts, packet_size=1000, **GIVEN)[0].size == 3.0
    file.write_text(ONE.replace("size", "bytes"))
    with pytest.raises(ValueError, match=r"one.cm: line 3 = 'bytes': must be one of"):
        load_connection_matrix(file, FABRIC.hosts, **GIVEN)


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
        ("start 0", "start -1", "line 3: start -1: must be in picoseconds"),
        (" start 0", "", "line 3: must have either a start or a trigger"),
        ("start 0", "start 0 trigger 1", "line 3: must have either a start or a trigger"),
        (
            "start 0",
            "trigger 1",
            "line 3, trigger 1: the file must have a line for it|no connection",
        ),
        ("start 0", "start 0 prio 3", "line 3: priorities among flows are not read"),
        ("start 0", "start", "line 3"),
        (
            "Connections 1",
            "Connections 1\nFailures 1",
            "line 3, .*: failures of links are not read",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_connection_matrix(ONE.replace(old, new), FABRIC.hosts, **GIVEN)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "count 2 barrier",
            "count 3 barrier",
            "trigger 2: a barrier of 3 that 2 connections activate",
        ),
        ("count 2 barrier", "oneshot", "trigger 2: a oneshot of 1 that 2 connections activate"),
        ("count 2 barrier", "barrier", "line 11: count : must be a whole number"),
        ("1 oneshot", "1 multishot", "line 10: triggers of several shots are not read"),
        ("1 oneshot", "1", "line 10: a trigger must have an id, and be oneshot or a barrier"),
        ("id 1 oneshot", "id 2 oneshot", "line 11: trigger 2 occurs twice"),
        ("id 1 oneshot", "id 7 oneshot", "line 6, trigger 1: the file must have a line for it"),
        (" send_done_trigger 1", "", "line 6, trigger 1: no connection activates it"),
    ],
)
def test_triggers_that_cannot_be_read_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_connection_matrix(CHAINED.replace(old, new), FABRIC.hosts, **GIVEN)


@pytest.mark.parametrize("name", ["sizes", "starts", "after"])
def test_what_the_file_has_is_not_given(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: must not be given"):
        read_connection_matrix(ONE, FABRIC.hosts, **GIVEN, **{name: 1})
