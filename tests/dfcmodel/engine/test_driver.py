"""The driver: blocks of a long run, compiled and plain kernels, runs that stop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dfcmodel import (
    DFC,
    FIFO,
    PFC,
    RED,
    Fair,
    Flow,
    Fluid,
    Pause,
    Scenario,
    chain,
    simulate,
    takano2006,
)
from dfcmodel.engine import driver
from responsefn import Reno, WindowRule
from tests.oracles.engines import compile_scenario


def test_a_long_run_in_blocks_is_the_same(monkeypatch) -> None:
    scenario = takano2006("1", dfc=False)
    whole = simulate(scenario, duration=0.2, sample=0.01, level="fluid")
    monkeypatch.setattr(driver, "BLOCK", 1)
    parts = simulate(scenario, duration=0.2, sample=0.01, level="fluid")
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
    run = simulate(takano2006("1"), duration=0.01, level="fluid")
    assert run.seconds == 1.0
    assert "simulated in 1.00 s" in run.summary()["step"]


def test_the_loop_is_timed_by_the_clock_that_is_given() -> None:
    plan = compile_scenario(takano2006("1"), Fluid(), np.random.default_rng(0))
    clock = itertools.count(start=7.0, step=0.25)
    assert driver.advance(plan, 40, 40, clock=lambda: next(clock)).seconds == 0.25


LINKS = {
    "FIFO": FIFO(),
    "DFC": DFC(),
    "DFC per input": DFC(per="input"),
    "fair": Fair(),
    "pause": Pause(high=20.0, low=10.0),
    "PFC": PFC(xoff=20.0, xon=10.0),
    "RED": RED(low=5.0, high=15.0),
}


@pytest.mark.parametrize("name", LINKS)
def test_arrays_of_a_run_share_no_memory(name: str) -> None:
    """The loop is compiled for arrays that are apart (`unaliased_entry`)."""
    links = chain(3, rate=1e4, delay=1e-3, buffer=100, discipline=LINKS[name])
    flows = [Flow(f"{n}", (1, 2, 3), Reno(), host="unshaped") for n in range(2)]
    plan = compile_scenario(
        Scenario(name, links, flows, duration=0.1), Fluid(), np.random.default_rng(0)
    )
    groups = driver._prepared(plan, compiled=False)[1]
    named = {
        f"{type(group).__name__}.{field}": getattr(group, field)
        for group in groups
        if not isinstance(group, np.ndarray)
        for field in group._fields
    }
    assert len(named) > 30
    pairs = itertools.combinations(named, 2)
    assert [pair for pair in pairs if np.may_share_memory(named[pair[0]], named[pair[1]])] == []


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
        simulate(scenario, level="fluid")
