"""Flows: refused fields."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    Flow,
    takano2006,
)
from responsefn import Reno


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
        ({"size": 2.5, "source": CBR(9.0)}, ["size", "2.5", "whole number of packets"]),
        ({"source": "reno"}, ["source", "'reno'", "Reno()"]),
        ({"host": "far"}, ["host", "'far'", "'shaped'"]),
        ({"priority": 0.5}, ["priority", "0.5"]),
        ({"idle": 0.0, "size": 40.0}, ["idle", "0"]),
        ({"idle": 1.0}, ["size", "inf", "whole number", "each transfer"]),
        ({"idle": 1.0, "size": 4.5}, ["size", "4.5", "whole number"]),
        ({"idle": 1.0, "size": 40.0, "source": CBR(9.0)}, ["idle", "1", "no window"]),
        ({"random_idle": True}, ["random_idle", "give idle"]),
        ({"random_idle": 1, "idle": 1.0, "size": 9.0}, ["random_idle", "1"]),
        ({"weight": 0, "host": "nic"}, ["weight", "0"]),
        ({"weight": 1.5, "host": "nic"}, ["weight", "1.5"]),
        ({"weight": 2, "host": "direct"}, ["weight", "2", "host='nic'"]),
        ({"handshake": "syn"}, ["handshake", "'syn'", "True, False or 'data'"]),
        ({"handshake": 2}, ["handshake", "2"]),
        ({"handshake": "data", "source": CBR(9.0)}, ["handshake", "'data'", "no window"]),
    ],
)
def test_flow_fields(refused, change, parts) -> None:
    scenario = takano2006("1")
    first = scenario.flows[0]
    refused(
        [*parts, "of flow 'target'"],
        lambda: replace(scenario, flows=(replace(first, **change),)),
    )


@pytest.mark.parametrize("given", [1, 40.0, np.int64(3), np.float32(7.0), 1e15])
def test_whole_sizes_in_any_type(given) -> None:
    assert Flow("a", (1, 2), Reno(), size=given).size == given


@pytest.mark.parametrize("given", [np.float32(np.inf), np.array(np.inf)])
def test_a_flow_without_end_in_any_type(given) -> None:
    assert Flow("a", (1, 2), CBR(100.0), size=given) == Flow("a", (1, 2), CBR(100.0))


def test_transfers_that_follow_one_another_are_packets_without_end() -> None:
    flow = Flow("a", (1, 2), Reno(), size=40.0)
    assert flow.all_packets == 40.0
    assert replace(flow, idle=1.0).all_packets == np.inf
    assert replace(flow, idle=np.float32(np.inf)) == flow


@pytest.mark.parametrize("given", [np.bool_(True), np.array(True)])
def test_a_handshake_in_any_type(given) -> None:
    flow = Flow("a", (1, 2), Reno(), handshake=given)
    assert flow.handshake is True
    assert flow == Flow("a", (1, 2), Reno(), handshake=True)
