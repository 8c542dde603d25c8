"""Direct simulation: single ACKs, blocks, cycles, several runs at once, a queue."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    Deterministic,
    Gilbert,
    Illinois,
    Independent,
    Reno,
    Scalable,
    Vegas,
    simulate_curve,
    simulate_rule,
)
from responsefn.simulation import single_flow, single_flow_runs
from responsefn.simulation.ratio_checks import EXACT, RTT


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_blocks_of_acks_do_what_single_acks_do(rule):
    for p in (1e-4, 1e-3):
        single, blocks = (
            simulate_rule(rule, p, RTT, events=200, method=method) for method in ("acks", "blocks")
        )
        assert blocks.rate == pytest.approx(single.rate, rel=1e-3)
        assert blocks.mean_window == pytest.approx(single.mean_window, rel=1e-3)


def test_side_by_side_is_one_by_one():
    """Twenty runs in sixteen lanes, and one by one: to the last bit, in the order of p."""
    p = [1e-2, 5e-3, 0.3, 8e-3]
    for losses, events in ((Deterministic(), 200), (Independent(), [16000, 500, 50, 2000])):
        runs = simulate_curve(CUBIC(), p, RTT, losses, events=events, seed=2)
        for n, run in enumerate(runs):
            one = events if isinstance(events, int) else events[n]
            alone = simulate_rule(CUBIC(), p[n], RTT, losses, events=one, seed=2)
            assert run.p == p[n]
            assert (run.rate, run.half_width) == (alone.rate, alone.half_width)
            np.testing.assert_array_equal(run.windows, alone.windows)


def test_queue():
    """A window beyond the path waits: the rate is the capacity, and a full buffer loses packets."""
    run = simulate_rule(Reno(), 1e-5, 0.04, bandwidth=1000.0, buffer=40.0, events=50)
    assert run.rate == pytest.approx(1000.0, rel=5e-3)
    assert run.peak_window == pytest.approx(80.0, abs=0.5)
    starved = simulate_rule(Reno(), 1e-5, 0.04, bandwidth=1000.0, buffer=0.0, events=50)
    assert starved.rate == pytest.approx(750.0, rel=5e-3)  # windows from 20 to 40
    held = Vegas().cycle(1e-6, 0.04, 1000.0)
    assert 42.0 <= float(held.mean_window) <= 44.5
    assert "±" in repr(run)
    assert run.plot().get_xlabel() == "time (s)"


@pytest.mark.parametrize("rule", [AIMD(1, 0.25), Scalable(), CTCP(), Illinois()], ids=repr)
def test_cycle_map_does_what_blocks_of_acks_do(rule):
    """Of the same losses; blocks of an eighth of a window are a second-order rule."""
    runs = [simulate_rule(rule, 1e-6, RTT, events=200, method=m) for m in ("cycles", "blocks")]
    for name in ("rate", "mean_window", "packet_mean_window", "peak_window"):
        assert getattr(runs[0], name) == pytest.approx(getattr(runs[1], name), rel=1e-6)
    runs = [
        simulate_rule(rule, 1e-5, RTT, Independent(), events=999, method=m, seed=5)
        for m in ("cycles", "blocks")
    ]
    np.testing.assert_allclose(runs[0].windows, runs[1].windows, rtol=0.02)
    assert runs[0].rate == pytest.approx(runs[1].rate, rel=0.005)


@pytest.mark.parametrize(
    ("p", "losses", "events", "options"),
    [
        (0.05, Deterministic(), 60, {}),
        (0.05, Independent(), 320, {}),
        (0.05, Independent(), 320, {"bandwidth": 100.0, "buffer": 5.0}),
        (0.05, Gilbert(3.0), 320, {}),
        (5e-3, Deterministic(), 50, {"bandwidth": 2e2, "buffer": 2.0, "method": "blocks"}),
        (0.05, Independent(), 320, {"method": "blocks"}),
    ],
    ids=["one run", "lanes", "lanes and a queue", "bursts", "blocks and a queue", "blocks"],
)
def test_plain_python_does_the_same(p, losses, events, options, monkeypatch):
    """Every loop as it is written, beside its machine code: equal to the last bit."""
    monkeypatch.setattr(single_flow, "EVENTS_OF_A_RUN", 20)  # as many runs as there are lanes
    ask = functools.partial(simulate_rule, AIMD(0.7, 0.4), p, RTT, losses, events=events, **options)
    compiled = ask()
    plain = functools.partial(single_flow_runs.side_by_side, compiled=False)
    monkeypatch.setattr(single_flow_runs, "side_by_side", plain)
    for name in ("rate", "mean_window", "packet_mean_window", "loss_event_rate"):
        assert getattr(ask(), name) == getattr(compiled, name), name
