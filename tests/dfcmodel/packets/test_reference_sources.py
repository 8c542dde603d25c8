"""Sources without window: packets of equal intervals, on and off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import CBR, OnOff, Packets
from dfcmodel.packets.reference import run_reference
from tests.dfcmodel.packets.conftest import plan_of


@pytest.mark.parametrize(
    ("source", "packets"), [(CBR(400.0), 400.0), (OnOff(400.0, 0.1, 0.3), 100.0)]
)
def test_a_source_sends_at_its_mean_rate(one_link, source, packets: float) -> None:
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=4.0), Packets(seed=1)))
    assert run.total[0] / 4.0 == pytest.approx(packets, rel=0.02)


def test_random_times_have_their_means(one_link) -> None:
    source = OnOff(800.0, 0.02, 0.02, random=True)
    flows = (replace(one_link.flows[0], source=source),)
    run = run_reference(plan_of(replace(one_link, flows=flows, duration=20.0), Packets(seed=1)))
    assert run.total[0] / 20.0 == pytest.approx(400.0, rel=0.15)  # 500 cycles: 3 s.d. are 0.13
