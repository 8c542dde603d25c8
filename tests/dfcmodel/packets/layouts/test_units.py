"""Units: rooms, rings and calendar queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dfcmodel import Packets, simulate
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from dfcmodel.packets.layouts.units import BUCKETS_PER_WINDOW, lay_out_units
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_calendar_queues_reach_beyond_a_window_and_do_not_overlap() -> None:
    for name in ("fifo", "pause"):
        plan = plan_of(random_scenario(name, 1), Packets(seed=1))
        inline = ordered_ports(plan)
        order, ahead = windows(plan, inline)
        port_rows, buckets, ring = lay_out_units(
            plan, inline, order, ahead, 1, [0] * len(plan.ports)
        )
        rows = port_rows[order]
        count = rows["mask"] + 1
        assert (count & rows["mask"] == 0).all()  # powers of 2
        assert (count / rows["inverse"] >= ahead).all()
        assert (rows["inverse"] * ahead <= BUCKETS_PER_WINDOW * (1 + 1e-9)).all()
        assert count.sum() == buckets
        assert rows["at"].tolist() == (np.cumsum(count) - count).tolist()
        assert rows["place"].tolist() == list(range(len(order)))
        assert port_rows["room"][:-1].tolist() == [port.room for port in plan.ports]
        assert len(ring) == (port_rows["ring_mask"][:-1] + 1).sum()


def test_a_rate_so_low_that_times_cannot_be_counted_is_refused(one_link, refused) -> None:
    """A sample beyond 64 bits would be a row before the first."""
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-300),))
    refused(("rate of", "1e-300", "samples"), lambda: simulate(slow, Packets(seed=1)))
    slow = replace(one_link, links=(replace(one_link.links[0], rate=1e-3),))
    assert simulate(slow, Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0


def test_a_flow_that_starts_long_after_the_end_sends_nothing(one_link) -> None:
    late = replace(one_link, flows=(replace(one_link.flows[0], start=1e300),))
    assert simulate(late, Packets(seed=1), duration=1.0).delivered[0, -1] == 0.0
