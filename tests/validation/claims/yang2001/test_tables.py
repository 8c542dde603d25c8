"""Transfer times by class, run by run."""

from __future__ import annotations

import pytest

from validation import evidence
from validation.claims.yang2001.tables import by_flow, by_seed, case_of, ordered, short


def test_a_class_is_the_mean_of_its_flows_in_a_run() -> None:
    case = case_of("cc/cc", "FCFS")
    frame = evidence.table(case)
    own = frame[(frame["priority"] == 2) & (frame["protocol"] == "TCP") & (frame["seed"] == 3)]
    means = own.groupby("tcp_flows")["transfer_time"].mean()
    assert by_seed(case)["cc", "TCP2"].loc[3] == pytest.approx(means.mean())


def test_order_compares_neighbours_of_tcp_and_both_of_udp() -> None:
    assert len(ordered(by_seed(case_of("cc/cc", "FCFS")), "cc")) == 4


def test_short_queues_have_the_same_classes() -> None:
    assert set(short("ts/ts", "DRR").columns) == set(by_seed(case_of("ts/ts", "DRR")).columns)


def test_where_each_flow_counts_once_ratios_with_more_flows_weigh_more() -> None:
    case = case_of("be/be", "FCFS")
    frame = evidence.table(case)
    own = frame[(frame["priority"] == 3) & (frame["protocol"] == "UDP") & (frame["seed"] == 2)]
    sizes = own.groupby("tcp_flows")["transfer_time"].agg(["mean", "size"])
    weighted = (sizes["mean"] * sizes["size"]).sum() / sizes["size"].sum()
    assert by_flow("be/be", "FCFS")["be", "UDP3"].loc[2] == pytest.approx(weighted)
    assert weighted != pytest.approx(by_seed(case)["be", "UDP3"].loc[2], rel=0.01)
