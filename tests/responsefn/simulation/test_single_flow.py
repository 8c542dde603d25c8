"""One flow simulated loss by loss: runs, results, ratios."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from hopflow.intervals import spawn_seeds
from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    DCTCP,
    HSTCP,
    Deterministic,
    DirectSimulation,
    Gilbert,
    Illinois,
    Independent,
    Reno,
    Scalable,
    Vegas,
    independent_constant,
    simulate_curve,
    simulate_rule,
)
from responsefn.simulation import single_flow
from responsefn.simulation.ratio_checks import EXACT, RTT, TOLERANCE, ratios
from responsefn.simulation.single_flow_results import measure, ratio_half_width

# Direct simulation: single ACKs, blocks, cycles, several runs, a queue.


@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_blocks_of_acks_do_what_single_acks_do(rule):
    for p in (1e-4, 1e-3):
        single, blocks = (
            simulate_rule(rule, p, RTT, events=200, options=DirectSimulation(method=method))
            for method in ("acks", "blocks")
        )
        assert blocks.rate == pytest.approx(single.rate, rel=1e-3)
        assert blocks.mean_window == pytest.approx(single.mean_window, rel=1e-3)


def test_a_curve_is_its_points():
    """To the last bit, in the order of p."""
    p = [1e-2, 5e-3, 0.3, 8e-3]
    for losses, events in ((Deterministic(), 200), (Independent(), [16000, 500, 50, 2000])):
        runs = simulate_curve(CUBIC(), p, RTT, losses, events=events, options=DirectSimulation(seed=2))
        for n, run in enumerate(runs):
            one = events if isinstance(events, int) else events[n]
            alone = simulate_rule(CUBIC(), p[n], RTT, losses, events=one, options=DirectSimulation(seed=2))
            assert run.p == p[n]
            assert (run.rate, run.half_width) == (alone.rate, alone.half_width)
            np.testing.assert_array_equal(run.windows, alone.windows)


def test_queue():
    """A window beyond the path waits: the rate is the capacity, and a full buffer loses packets."""
    run = simulate_rule(Reno(), 1e-5, 0.04, options=DirectSimulation(bandwidth=1000.0, buffer=40.0), events=50)
    assert run.rate == pytest.approx(1000.0, rel=5e-3)
    assert run.peak_window == pytest.approx(80.0, abs=0.5)
    starved = simulate_rule(Reno(), 1e-5, 0.04, options=DirectSimulation(bandwidth=1000.0, buffer=0.0), events=50)
    assert starved.rate == pytest.approx(750.0, rel=5e-3)  # windows from 20 to 40
    held = Vegas().cycle(1e-6, 0.04, 1000.0)
    assert 42.0 <= float(held.mean_window) <= 44.5
    assert "±" not in repr(run)  # deterministic loss
    assert run.plot().get_xlabel() == "time (s)"


@pytest.mark.parametrize("rule", [AIMD(1, 0.25), Scalable(), CTCP(), Illinois()], ids=repr)
def test_cycle_map_does_what_blocks_of_acks_do(rule):
    """Of the same losses; blocks of an eighth of a window are a second-order rule."""
    runs = [
        simulate_rule(rule, 1e-6, RTT, events=200, options=DirectSimulation(method=m)) for m in ("cycles", "blocks")
    ]
    for name in ("rate", "mean_window", "packet_mean_window", "peak_window"):
        assert getattr(runs[0], name) == pytest.approx(getattr(runs[1], name), rel=1e-6)
    runs = [
        simulate_rule(rule, 1e-5, RTT, Independent(), events=999, options=DirectSimulation(method=m, seed=5))
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
    ids=["one run", "several runs", "a queue", "bursts", "blocks and a queue", "blocks"],
)
def test_plain_python_does_the_same(p, losses, events, options, monkeypatch):
    """Every loop as it is written, beside its machine code: equal to the last bit."""
    monkeypatch.setattr(single_flow, "MIN_EVENTS_OF_RUN", 20)  # several runs
    chosen = DirectSimulation(**options)
    ask = functools.partial(simulate_rule, AIMD(0.7, 0.4), p, RTT, losses, events=events, options=chosen)
    compiled = ask()
    plain = functools.partial(single_flow.follow_runs, compiled=False)
    monkeypatch.setattr(single_flow, "follow_runs", plain)
    for name in ("rate", "mean_window", "packet_mean_window", "loss_event_rate"):
        assert getattr(ask(), name) == getattr(compiled, name), name


# Rates and intervals of a simulated flow, by hand and by what 95 % means.


def test_rate_and_windows_are_sums_over_what_is_measured():
    """Two cycles of 10 packets in 2 s and 30 packets in 2 s: 10 packets/s, windows by their integrals."""
    cycle = np.array([[2.0, 10.0, 8.0, 50.0, 6.0], [2.0, 30.0, 12.0, 250.0, 8.0]])
    run = measure(Reno(), Deterministic(), 0.05, 0.1, "acks", [np.tile(cycle, (50, 1))])
    assert (run.rate, run.half_width) == (10.0, 0.0)
    assert run.mean_window == pytest.approx(20.0 / 4.0)
    assert run.packet_mean_window == pytest.approx(300.0 / 40.0)
    assert run.peak_window == pytest.approx(7.0)
    assert run.loss_event_rate == pytest.approx(2 / 40)
    assert run.packets == 40 * 40  # the first fifth of 100 cycles is left out
    np.testing.assert_allclose(run.times, 2.0 * np.arange(1, 101))


def test_about_95_of_100_intervals_hold_the_exact_rate():
    """Batches of 80 cycles hardly depend on each other: binomial, 95 less three deviations of 2.2."""
    exact = independent_constant(0.5) * Reno().rate(1e-5, 0.1)
    runs = (
        simulate_rule(
            Reno(),
            1e-5,
            0.1,
            Independent(),
            events=4000,
            options=DirectSimulation(method="cycles", seed=seed),
        )
        for seed in spawn_seeds(1, 100).tolist()
    )
    held = sum(abs(run.rate - exact) <= run.half_width for run in runs)
    assert held >= 88


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_intervals_of_cycles_that_depend_on_each_other(memory: float) -> None:
    """Packets of an autoregressive sequence around 100, whose mean is known; today's 20 fixed batches hold 78 of 100."""
    held = 0
    for draw in np.random.default_rng(5).spawn(300):
        packets = lfilter([1.0], [1.0, -memory], 10.0 * draw.standard_normal(500))[100:]
        held += abs(packets.mean()) <= ratio_half_width(100.0 + packets, np.ones(400))
    assert held >= 300 * 0.93 - 3 * (300 * 0.93 * 0.07) ** 0.5
    assert held <= 298


def test_a_run_shorter_than_20_correlation_times_has_no_interval() -> None:
    packets = 100.0 + lfilter([1.0], [1.0, -0.98], np.random.default_rng(1).standard_normal(100))
    assert np.isnan(ratio_half_width(packets, np.ones(100)))
    run = simulate_rule(DCTCP(), 0.1, RTT, Independent(), events=50)
    assert np.isnan(run.half_width)
    assert "±" not in repr(run)
    assert "too few loss events for an interval" in repr(run)


def test_the_text_names_what_an_interval_covers() -> None:
    run = simulate_rule(Reno(), 0.01, RTT, Independent())
    assert run.prediction_half_width == pytest.approx(2**0.5 * run.half_width)
    assert f"± {run.half_width:.2g} packets/s (long-run rate, 95 %; one further simulation of this length" in repr(run)
    assert "±" not in repr(simulate_rule(Reno(), 0.01, RTT, events=200)), "deterministic loss has no chance"


# Models of losses against their definitions and the constant of independent loss.


@pytest.mark.parametrize("b", [0.5, 0.25, 0.125])
def test_constant_of_independent_loss(b):
    """Exact recursion of the window's square against the formula, and against the simulation."""
    rng = np.random.default_rng(7)
    y = np.zeros(200_000)
    for _ in range(round(20 / b)):
        y = (1 - b) ** 2 * y + rng.exponential(size=y.size)
    # E[Y^(-1/2)] over packets, Y seen anywhere: before a loss it is the sum with E_0
    inverse_root = np.mean(y**-0.5)  # the rate is 1/(R E[1/W]) with W = sqrt(2aY/p)
    error = 4 * np.std(y**-0.5) / np.sqrt(y.size) / inverse_root
    exact = 2 * np.sqrt(b / (2 - b)) / inverse_root
    assert exact == pytest.approx(independent_constant(b), rel=error)
    run = simulate_rule(AIMD(1, b), 1e-5, RTT, Independent(), events=20_000, options=DirectSimulation(seed=3))
    ratio = run.rate / AIMD(1, b).rate(1e-5, RTT)
    assert ratio == pytest.approx(independent_constant(b), abs=4 * run.half_width / run.rate * ratio)


def test_loss_models():
    rng = np.random.default_rng(1)
    assert Deterministic().gaps(0.3, 1000, rng).sum() == round(1000 / 0.3)
    assert Independent().gaps(0.01, 200_000, rng).mean() == pytest.approx(100, rel=0.01)
    gaps = Gilbert(4.0).gaps(0.01, 400_000, rng)
    assert gaps.mean() == pytest.approx(100, rel=0.02)
    assert np.mean(gaps == 1) == pytest.approx(0.75, abs=0.01)
    bursts = simulate_rule(Reno(), 1e-3, RTT, Gilbert(4.0), events=20_000)
    assert bursts.loss_event_rate < 0.3e-3  # a burst is one loss event
    assert bursts.rate == pytest.approx(independent_constant(0.5) * Reno().rate(bursts.loss_event_rate, RTT), rel=0.05)


# Closed forms over direct simulation.


@pytest.mark.slow  # compiles a loop for each rule; test_one_rate has three loss rates of every one
@pytest.mark.parametrize("rule", EXACT, ids=repr)
def test_formula_is_the_deterministic_simulation_inside_its_domain(rule):
    p = np.geomspace(*EXACT[rule], 5)
    rates = [run.rate for run in simulate_curve(rule, p, RTT, events=300)]
    assert rule.rate(p, RTT) / rates == pytest.approx(1, abs=TOLERANCE)


def test_table_of_ratios():
    table = ratios((Reno(), Scalable(form="published"), HSTCP()), (1e-5, 1e-3), events=100)
    assert table.deterministic[0] == pytest.approx(1, abs=TOLERANCE)
    assert table.deterministic[1] == pytest.approx(8 * np.log(8 / 7), abs=1e-3)  # 0.08/p fails
    assert table.inside(Reno()).all()
    assert not table.inside(HSTCP()).any()
    assert table.markdown().count("**") == 4
    assert "±" in table.markdown(independent=True)
    assert "Reno()" in repr(table)


@pytest.mark.parametrize("losses", [Independent(), Deterministic()], ids=repr)
def test_totals_are_those_of_the_last_four_fifths_of_each_run(losses) -> None:
    """Rows are time, packets, the sums of the window over both, and the peak; the interval is Student's of 40 batches."""
    generator = np.random.default_rng(1)
    runs = [generator.uniform(1.0, 2.0, (1000, 5)) for _ in range(2)]
    found = measure(Reno(), losses, 0.01, 0.1, "acks", runs)
    time, packets, over_time, over_packets, peak = np.concatenate([run[200:] for run in runs]).T
    assert found.rate == pytest.approx(packets.sum() / time.sum())
    assert found.mean_window == pytest.approx(over_time.sum() / time.sum())
    assert found.packet_mean_window == pytest.approx(over_packets.sum() / packets.sum())
    assert (found.peak_window, found.packets) == (pytest.approx(peak.mean()), int(packets.sum()))
    assert found.loss_event_rate == pytest.approx(1600 / packets.sum())
    batches = packets.reshape(40, 40).sum(axis=1) / time.reshape(40, 40).sum(axis=1)
    half = stats.t.ppf(0.975, 39) * batches.std(ddof=1) / math.sqrt(40)
    assert found.half_width == (0.0 if losses == Deterministic() else pytest.approx(half, rel=1e-2))
    np.testing.assert_allclose(found.times, np.cumsum(np.concatenate(runs)[:, 0]))
    np.testing.assert_array_equal(found.windows, np.concatenate(runs)[:, 4])
