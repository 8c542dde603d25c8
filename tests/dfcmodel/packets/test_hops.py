"""Hops of flows as columns, against a loop."""

from __future__ import annotations

from dfcmodel import Packets
from dfcmodel.packets.hops import hops_of
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_columns_are_those_of_a_loop_over_the_routes() -> None:
    for seed in range(1, 4):
        plan = plan_of(random_scenario("fifo", seed), Packets(seed=1))
        expected, row = [], 0
        for f, (out, back) in enumerate(zip(plan.forward, plan.backward, strict=True)):
            before = -1
            for is_ack, route in ((False, out), (True, back)):
                for n, port in enumerate(route):
                    expected.append((f, port, is_ack, n == 0, before, row))
                    before = port
                    row += 1
                row += 1  # the receiver's, or the sender's
        assert list(zip(*(column.tolist() for column in plan.hops), strict=True)) == expected


def test_a_source_without_acks_has_hops_one_way() -> None:
    hops = hops_of([(3, 4)], [()])
    assert hops.row.tolist() == [0, 1]
    assert not hops.is_ack.any()
