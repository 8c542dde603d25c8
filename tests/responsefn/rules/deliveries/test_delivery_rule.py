"""A rule of deliveries of one's own runs as it is; too many numbers are refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import DeliveryRule
from tests.oracles.engines import ENGINES


class Follow(DeliveryRule):
    """Ten packets more in flight than the path holds."""

    class State(NamedTuple):
        """Window, threshold, least round-trip time in s."""

        cwnd: float = 10.0
        ssthresh: float = math.inf
        least: float = math.inf

    class Params(NamedTuple):
        """Packets in the queue."""

        more: float = 10.0

    @staticmethod
    def on_delivery(s: Any, q: Any, e: Any) -> Any:
        """Follow the rate."""
        if e.interval == 0.0:
            return s
        rate = (e.delivered - e.prior_delivered) / e.interval
        least = min(s.least, e.rtt)
        return s._replace(cwnd=rate * least + q.more, least=least)


def test_a_rule_of_ones_own_keeps_its_queue() -> None:
    link = Link("a", "b", 1000.0, 0.02, 100.0)
    scenario = Scenario("own", (link,), (Flow("f", ("a", "b"), Follow()),), duration=5.0)
    runs = [run(scenario, method=Packets(seed=1)) for run in ENGINES]
    np.testing.assert_array_equal(runs[0].window, runs[1].window)
    late = runs[0].time > 2.0
    assert runs[0].queued[0, late].mean() == pytest.approx(10.0, abs=2.0)
    assert np.ptp(runs[0].delivered[0, late]) == pytest.approx(3000.0, rel=0.02)


def test_too_many_numbers_are_refused() -> None:
    class Large(Follow):
        State = NamedTuple(
            "State", [(name, float) for name in ("cwnd", "ssthresh", *(f"x{n}" for n in range(68)))]
        )  # type: ignore[misc]

    link = Link("a", "b", 1000.0, 0.02, 100.0)
    Large.State.__new__.__defaults__ = (1.0,) * 70  # type: ignore[attr-defined]
    scenario = Scenario("own", (link,), (Flow("f", ("a", "b"), Large()),), duration=0.1)
    with pytest.raises(ValueError, match="fields of State of Large = 70"):
        simulate(scenario, method=Packets())
