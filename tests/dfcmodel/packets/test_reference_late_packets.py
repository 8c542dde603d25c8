"""Losses by time: the reference and the compiled engine are equal on networks that lose and mark packets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import FIFO, RED, Flow, Packets, Scenario, StepMarking, chain
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.simulation import plan_scenario
from responsefn import AIMD, CUBIC, DCTCP, NewReno, Reno
from tests.dfcmodel.packets.test_reference import check_equal
from tests.oracles.packets.simulation import run_reference

RULES = [NewReno(), CUBIC(), DCTCP(), Reno(), AIMD()]


def network(seed: int) -> Scenario:
    """Return flows of any window rule over two links with small buffers."""
    rng = np.random.default_rng([8985, seed])
    links = [
        replace(link, discipline=(FIFO(), RED(5.0, 15.0, ecn=True), StepMarking(5.0))[seed % 3])
        for link in chain(3, rate=float(rng.uniform(200, 2000)),
                          delay=float(rng.uniform(1e-4, 0.05)), buffer=int(rng.integers(2, 40)))
    ]  # fmt: skip
    flows = [
        Flow(
            f"{n}", [(1, 2, 3), (1, 2), (2, 3)][rng.integers(3)], RULES[(seed + n) % 5],
            max_window=float(rng.integers(4, 80)), start=float(rng.uniform(0.0, 0.3)),
            size=float(rng.integers(1, 300)), handshake=[True, "data", False][(seed + n) % 3],
            delayed_acks=bool(rng.integers(2)), pacing=bool(rng.integers(2)),
        )
        for n in range(3)
    ]  # fmt: skip
    return Scenario("late packets", links, flows, duration=2.0)


@pytest.mark.parametrize("seed", range(8))
def test_both_engines_find_the_same_losses(seed: int) -> None:
    loss = {"1->2": 0.05} if seed % 2 else None
    plan = plan_scenario(
        network(seed), Packets(seed=seed + 1, recovery="rack", loss=loss), duration=2.0,
        sample=0.05, packet_jitter=1e-4 * (seed % 4 == 1),
    )  # fmt: skip
    found = run_engine(plan)
    check_equal(found, run_reference(plan))
    assert loss is None or found.loss_events.sum() > 0
