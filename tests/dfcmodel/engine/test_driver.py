"""The driver: blocks of a long run, compiled and plain kernels, runs that stop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel import (
    Flow,
    Scenario,
    chain,
    simulate,
    takano2006,
)
from dfcmodel.engine import driver
from responsefn import WindowRule


def test_a_long_run_in_blocks_is_the_same(monkeypatch) -> None:
    scenario = takano2006("1", dfc=False)
    whole = simulate(scenario, duration=0.2, sample=0.01)
    monkeypatch.setattr(driver, "BLOCK", 1)
    parts = simulate(scenario, duration=0.2, sample=0.01)
    for key in ("in_transit", "delivered", "window", "queued"):
        np.testing.assert_array_equal(getattr(whole, key), getattr(parts, key))


def test_time_of_a_run_is_without_preparation_and_compilation(monkeypatch) -> None:
    """By a clock that only preparation moves far, and each look at it by a second."""
    clock = itertools.count()
    prepare = driver._prepared

    def slowly(*arguments):
        for _ in range(1000):
            next(clock)
        return prepare(*arguments)

    monkeypatch.setattr(driver.time, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(driver, "_prepared", slowly)
    run = simulate(takano2006("1"), duration=0.01)
    assert run.seconds == 1.0
    assert "simulated in 1.00 s" in run.summary()["step"]


class Growing(WindowRule):
    """A rule whose window becomes no number."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd * (s.cwnd - s.cwnd) / (s.cwnd - s.cwnd))

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.slow
def test_no_number_stops_the_run_with_time_and_place() -> None:
    flow = Flow("broken", (1, 2, 3), Growing())
    scenario = Scenario("test", chain(3, rate=1e4, delay=1e-3, buffer=100), (flow,), 0.1)
    with pytest.raises(ArithmeticError, match=r"t = 0\.00\d+ s: the window of flow 'broken'"):
        simulate(scenario)
