"""Records: bins of time, and the books of a run."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Packets
from dfcmodel.packets.engine import run_engine
from tests.dfcmodel.packets.conftest import DISCIPLINES, plan_of, random_method, random_scenario
from tests.oracles.packets.records import EventRecords


def test_bins_are_samples_and_one_for_all_that_is_later(one_link) -> None:
    records = EventRecords(plan_of(one_link, Packets(seed=1)))
    assert [records.bin_of(t) for t in (0.0, 0.0099, 0.015, 1.999, 2.0, 5.0)] == [
        0, 0, 1, 199, 200, 200,
    ]  # fmt: skip


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_every_packet_is_delivered_dropped_or_on_its_way(discipline: str) -> None:
    run = run_engine(plan_of(random_scenario(discipline, 11), random_method(11)))
    assert (run.imbalance == 0.0).all()
    assert (np.cumsum(run.waiting, axis=0) >= 0).all()
    assert run.lost.sum() == run.drops.sum()
    if "pause" in discipline:
        assert run.carried.sum() > 0
