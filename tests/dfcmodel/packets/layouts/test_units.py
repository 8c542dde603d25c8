"""Units: rooms, rings and calendar queues."""

from __future__ import annotations

import numpy as np

from dfcmodel import Packets
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from dfcmodel.packets.layouts.units import SLOTS_PER_WINDOW, lay_out_units
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_calendar_queues_reach_beyond_a_window_and_do_not_overlap() -> None:
    for name in ("fifo", "pause"):
        plan = plan_of(random_scenario(name, 1), Packets(seed=1))
        inline = ordered_ports(plan)
        order, ahead = windows(plan, inline)
        unit, slots, ring = lay_out_units(plan, inline, order, ahead, 1, [0] * len(plan.ports))
        rows = unit[order]
        count = rows["mask"] + 1
        assert (count & rows["mask"] == 0).all()  # powers of 2
        assert (count / rows["inverse"] >= ahead).all()
        assert (rows["inverse"] * ahead <= SLOTS_PER_WINDOW * (1 + 1e-9)).all()
        assert count.sum() == slots
        assert rows["at"].tolist() == (np.cumsum(count) - count).tolist()
        assert rows["place"].tolist() == list(range(len(order)))
        assert unit["room"][:-1].tolist() == [port.room for port in plan.ports]
        assert len(ring) == (unit["ring_mask"][:-1] + 1).sum()
