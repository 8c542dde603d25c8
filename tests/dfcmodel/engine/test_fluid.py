"""The fluid: runs, steps that are doubled, marks that are expected."""

from __future__ import annotations

import inspect
import itertools
import re
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import binom

import dfcmodel as dfc
from dfcmodel.engine.kernel.managers import draw_victims
from dfcmodel.engine.kernel.records import ARRIVED, MARKABLE, OWED, OWED_MARKS
from dfcmodel.recoveries import NewRenoRecovery
from hopflow import Status, mbps, ms
from hopflow.errors import RuleError
from markov.errors import ConvergenceError
from responsefn import CUBIC, DCQCN, TIMELY, Elapsed, Feedback, NewReno, Reno, Tahoe, WindowRule
from tests.oracles.engines import advance, compile_scenario, plain_simulate

# Refinements of the fluid, each against what it is for: SACK, timeouts, delayed ACKs, packet jitter.


RATE, DELAY = 1e3, 1e-2


def one_flow(source=None, window: float = 1e3, buffer: float = 30.0, **more) -> dfc.Scenario:
    """A sender behind a fast link, and a slow link whose buffer it overflows in slow start."""
    links = [dfc.Link("a", "b", 1e4, DELAY, 1e4), dfc.Link("b", "c", RATE, DELAY, buffer)]
    return dfc.Scenario("one", links, [dfc.Flow("one", "abc", source or NewReno(), window, **more)], 3.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recovery": "vegas"}, ["recovery", "vegas", "sack"]),
        ({"recovery": "prr"}, ["recovery", "prr", "method=Packets"]),
        ({"recovery": NewRenoRecovery()}, ["recovery = NewRenoRecovery()", "method=Packets"]),
        ({"recovery": np.array(["sack", "reno"], dtype=object)}, ["recovery = array", "method=Packets"]),
        ({"timeouts": "no"}, ["timeouts", "no"]),
        ({"pipe": "vegas"}, ["pipe", "vegas", "fall1996"]),
        ({"store_and_forward": 1}, ["store_and_forward", "1"]),
        ({"whole_losses": "no"}, ["whole_losses", "no"]),
        ({"marks": "mean"}, ["marks = 'mean': must be one of 'drawn', 'expected'"]),
    ],
)  # fmt: skip
def test_settings_are_checked(refused, change, words) -> None:
    refused(words, lambda: dfc.Fluid(**change))


class Proportional(NewReno):
    """A rule that recovers as the packet level alone does."""

    recovery = "prr"


@pytest.mark.slow
def test_a_rule_whose_recovery_the_fluid_lacks_is_refused_there_and_runs_in_packets(
    refused,
) -> None:
    scenario = one_flow(Proportional())
    words = ["recovery of Proportional()", "prr", "method=Packets"]
    refused(words, lambda: dfc.simulate(scenario, dfc.Fluid()))
    assert dfc.simulate(scenario, dfc.Packets(seed=1)).recoveries == ("prr",)
    assert dfc.simulate(scenario, dfc.Fluid(recovery="sack")).recoveries == ("sack",)


def test_an_option_that_was_removed_names_what_to_use_instead() -> None:
    with pytest.raises(TypeError, match=r"Fluid\(whole_packets=\): was removed; use method=Packets"):
        dfc.Fluid(whole_packets=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword"):
        dfc.Fluid(whole_packet=True)  # type: ignore[call-arg]
    assert "whole_packets" not in inspect.signature(dfc.Fluid).parameters


@pytest.mark.parametrize("level", [dfc.Fluid, dfc.Packets])
def test_cubic_repairs_losses_by_sack_unless_another_recovery_is_asked_for(level) -> None:
    """kaneko2007's path, 100 Mb/s and 80 ms: ns-2's CUBIC, with SACK, fills it (its windows-alone runs, 100.0 Mb/s).

    After slow start's overshoot of 900 packets or more NewReno, a hole per round trip, waits for its timer at every loss event.
    """
    links = dfc.dumbbell(1, rate=mbps(100), delay=ms(38), access_rate=mbps(1000), access_delay=ms(1), buffer=333)
    flow = dfc.Flow("f", ("s1", "left", "right", "d1"), CUBIC(), 20000)
    runs = {
        recovery: dfc.simulate(dfc.Scenario("one", links, (flow,), 20.0), level(recovery=recovery), sample=0.1)
        for recovery in (None, "sack", "newreno")
    }
    rate = {name: np.diff(run.delivered[0, [99, -1]])[0] / 10.0 for name, run in runs.items()}
    assert rate[None] == rate["sack"]
    assert rate[None] == pytest.approx(mbps(100), rel=1e-3)
    assert runs[None].timeouts[0] <= 1
    assert runs["newreno"].timeouts[0] == 4
    assert rate["newreno"] < 0.7 * mbps(100)


class SelectiveReno(NewReno):
    """NewReno's window with SACK's recovery."""

    recovery = "sack"


@pytest.mark.parametrize("buffer", [30.0, 60.0, 120.0])
def test_sack_repairs_many_losses_of_a_window_sooner_than_newreno(buffer: float) -> None:
    """RFC 6675 against RFC 6582: an overflow in slow start loses more than 50 packets of a window.

    NewReno resends one per round trip of 40 ms or waits for its timer, in packets too (to 5 %). SACK
    knows all holes: at a window of half, the link is busy from about then on.
    """
    delivered = {}
    for recovery in ("newreno", "sack"):
        run = dfc.simulate(one_flow(buffer=buffer), method=dfc.Fluid(recovery=recovery), sample=0.01)
        assert run.lost.sum() > 50
        assert run.imbalance.max() == 0.0
        delivered[recovery] = run.delivered[0, -1]
    beside = dfc.simulate(one_flow(buffer=buffer), dfc.Packets(seed=1))
    assert delivered["newreno"] == pytest.approx(beside.delivered[0, -1], rel=0.05)
    assert delivered["sack"] > delivered["newreno"]
    assert delivered["sack"] > 0.8 * RATE * 3.0


@pytest.mark.parametrize("buffer", [30.0, 60.0, 120.0])
def test_sack_differs_from_the_packets_sack1_by_what_counts_as_in_flight(buffer: float) -> None:
    """RFC 6675 takes what is lost out of the pipe (4, SetPipe), ns-2's Sack1 (Fall and Floyd 1996) does not.

    The packet level is Sack1: a fluid that counts so delivers as much as it does, to 1 %, and loses
    as much to 3 %. By RFC 6675 the sender sends more in its recovery.
    """
    packets = dfc.simulate(one_flow(SelectiveReno(), buffer=buffer), dfc.Packets(seed=1))
    standard, sack1 = (
        dfc.simulate(one_flow(buffer=buffer), dfc.Fluid(recovery="sack", pipe=pipe), sample=0.01)
        for pipe in ("rfc6675", "fall1996")
    )
    assert sack1.delivered[0, -1] == pytest.approx(packets.delivered[0, -1], rel=0.01)
    for run in (standard, sack1):
        assert run.lost.sum() == pytest.approx(packets.lost.sum(), rel=0.03)
        assert run.timeouts[0] == packets.timeouts[0] == 0
    assert standard.delivered[0, -1] > sack1.delivered[0, -1]


def test_a_sender_without_timeouts_has_none() -> None:
    """Reno after many losses of one window waits for its timer (RFC 5681)."""
    with_timer = dfc.simulate(one_flow(Reno()), sample=0.01, level="fluid")
    without = dfc.simulate(one_flow(Reno()), sample=0.01, method=dfc.Fluid(timeouts=False))
    assert with_timer.timeouts[0] > 0
    assert without.timeouts[0] == 0
    assert without.imbalance.max() == 0.0


def test_a_window_grows_half_as_fast_per_round_trip_with_delayed_acks() -> None:
    """Slow start: a factor of 2 per round trip, of 1.5 where every second packet is answered."""
    trip = 4 * DELAY + 1 / RATE + 1 / 1e4
    for delayed, factor in ((False, 2.0), (True, 1.5)):
        scenario = one_flow(delayed_acks=delayed, buffer=1e4)
        run = dfc.simulate(scenario, duration=5.2 * trip, sample=trip / 40, method=dfc.Fluid(40))
        at = np.searchsorted(run.time, [2.9 * trip, 3.9 * trip])
        before, after = run.window[0, at]
        # ACKs of one round trip arrive spread over a part of it
        assert after / before == pytest.approx(factor, rel=0.05)


def test_packet_jitter_makes_runs_differ_and_keeps_every_packet() -> None:
    found = dfc.ensemble(
        one_flow(), 4, jitter=0.0, level="fluid", options=dfc.RunSettings(packet_jitter=1 / RATE, duration=2.0)
    )
    again = dfc.ensemble(
        one_flow(), 4, jitter=0.0, level="fluid", options=dfc.RunSettings(packet_jitter=1 / RATE, duration=2.0)
    )
    np.testing.assert_array_equal(found.efficiency, again.efficiency)
    late = dfc.simulate(one_flow(), duration=1.0, packet_jitter=1 / RATE, seed=1, level="fluid")
    assert late.imbalance.max() == 0.0
    on_time = dfc.simulate(one_flow(), duration=1.0, seed=1, level="fluid")
    assert not np.array_equal(late.delivered, on_time.delivered)
    assert (np.diff(late.delivered, axis=1) >= 0.0).all()


def test_packet_jitter_delays_a_limited_window() -> None:
    """A window-limited flow: its rate is window over round trip, longer by what packets wait.

    Each packet alone waits half of the jitter, those that share a wait less; but a burst that a wait made
    queues at the bottleneck. Spread evenly, packets wait a third to half.
    """
    long = 5e-3
    scenario = one_flow(window=10.0, buffer=1e4)
    rates = [
        dfc.simulate(scenario, duration=3.0, packet_jitter=wait, seed=0, level="fluid").delivered[0, -1]
        for wait in (0.0, long)
    ]
    more = 30.0 / rates[1] - 30.0 / rates[0]
    assert long / 3 < more < (0.5 + 0.02) * long


def constant_rates(*rates: float, duration: float = 2.0) -> dfc.Scenario:
    """Constant rates, together above a link's rate: its queue overflows all the time."""
    links = [dfc.Link(f"s{n}", "b", 1e5, DELAY, 1e4) for n in range(len(rates))]
    links.append(dfc.Link("b", "c", RATE, DELAY, 30.0))
    flows = [dfc.Flow(f"{n}", (f"s{n}", "b", "c"), dfc.CBR(rate)) for n, rate in enumerate(rates)]
    return dfc.Scenario("constant rates", links, flows, duration)


def lost(scenario: dfc.Scenario, *, whole: bool, seed: int, packet_jitter: float = 1 / RATE):
    """Return the packets lost of each flow, and the largest queue."""
    method = dfc.Fluid(steps_per_delay=8, whole_losses=whole)
    run = dfc.simulate(scenario, method, packet_jitter=packet_jitter, seed=seed, sample=0.1)
    assert run.imbalance.max() == 0.0
    return run.lost.sum(axis=(1, 2)), run.peak_queue.max()


def test_whole_losses_are_those_of_packets_drawn_in_proportion_to_what_comes() -> None:
    """Of some 400 packets lost a flow with a quarter of the arrivals loses a binomial number.

    Mean within four standard errors, variance within the 99.9 % interval of chi-square; where all
    flows lose their part of each overflow it varies by rounding alone.
    """
    scenario, runs = constant_rates(300.0, 900.0), 40
    found = np.array([lost(scenario, whole=True, seed=s)[0] for s in range(runs)])
    total = found.sum(axis=1)
    assert np.ptp(total) < 1e-3, "how much is lost is not random"
    expected = total[0] / 4.0
    binomial = expected * 0.75
    assert abs(found[:, 0].mean() - expected) < 4.0 * (binomial / runs) ** 0.5
    low, high = stats.chi2.ppf((0.0005, 0.9995), runs - 1) / (runs - 1)
    assert low < found[:, 0].var(ddof=1) / binomial < high
    together = np.array([lost(scenario, whole=False, seed=s)[0] for s in range(3)])
    np.testing.assert_allclose(together.sum(axis=1), total[0], atol=1e-3)
    assert np.ptp(together[:, 0]) < 1e-3


def test_of_every_flow_but_those_losing_at_the_end_whole_packets_are_lost() -> None:
    """At the end of a step the packets begun are those of flows whose rest has not come yet."""
    for seed in range(3):
        found, peak = lost(constant_rates(*[150.0] * 9), whole=True, seed=seed)
        assert np.sum(np.abs(found - found.round()) > 1e-4) <= 3
        assert peak == 30.0


def test_without_random_times_before_packets_flows_lose_their_part() -> None:
    """Nothing of the run is then random: relabelling and scaling a network change nothing."""
    scenario = constant_rates(300.0, 900.0)
    one, other = (lost(scenario, whole=w, seed=1, packet_jitter=0.0)[0] for w in (True, False))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(one[1] / one[0], 3.0, rtol=1e-3)


def test_whole_losses_let_flows_halve_their_windows_at_different_times() -> None:
    """Two like flows: with parts of every overflow their loss events stay together."""
    links = [dfc.Link(f"s{n}", "b", 1e5, DELAY, 1e4) for n in range(2)]
    links.append(dfc.Link("b", "c", RATE, DELAY, 30.0))
    flows = [dfc.Flow(f"{n}", (f"s{n}", "b", "c"), NewReno(), 500.0) for n in range(2)]
    scenario = dfc.Scenario("two", links, flows, 20.0)
    apart = {}
    for whole in (True, False):
        runs = [
            dfc.simulate(scenario, dfc.Fluid(whole_losses=whole), packet_jitter=1 / RATE, seed=s, sample=0.1)
            for s in range(6)
        ]
        gaps = [np.abs(np.diff(run.window[:, 50:], axis=0)).mean() for run in runs]
        apart[whole] = float(np.mean(gaps))
    assert apart[True] > 1.2 * apart[False]


# The driver: blocks of a long run, compiled and plain kernels, runs that stop.


def test_a_long_run_in_blocks_is_the_same(monkeypatch) -> None:
    scenario = dfc.takano2006("1", dfc=False)
    whole = dfc.simulate(scenario, duration=0.2, sample=0.01, level="fluid")
    monkeypatch.setattr("dfcmodel.engine.run.BLOCK", 1)
    parts = dfc.simulate(scenario, duration=0.2, sample=0.01, level="fluid")
    for key in ("in_transit", "delivered", "window", "queued"):
        np.testing.assert_array_equal(getattr(whole, key), getattr(parts, key))


def test_the_loop_is_timed_by_the_clock_that_is_given() -> None:
    plan = compile_scenario(dfc.takano2006("1"), dfc.Fluid(), np.random.default_rng(0))
    clock = itertools.count(start=7.0, step=0.25)
    assert advance(plan, 40, 40, clock=lambda: next(clock)).seconds == 0.25


class Growing(WindowRule):
    """A rule whose window becomes no number between the windows of the samples."""

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=0.0 * (s.cwnd + 1e999) if 5.0 < s.cwnd < 10.0 else s.cwnd + 1.0)

    @staticmethod
    def on_loss(s, q, e):
        return s


@pytest.mark.slow
def test_no_number_stops_the_run_with_time_and_place() -> None:
    flow = dfc.Flow("broken", (1, 2, 3), Growing())
    scenario = dfc.Scenario("test", dfc.chain(3, rate=1e4, delay=1e-3, buffer=100), (flow,), 0.1)
    with pytest.raises(RuleError, match=r"Growing.on_ack returns cwnd = nan for .*, flow 'broken', t = 0\.01\d* s"):
        dfc.simulate(scenario, level="fluid")


# The step that an accuracy asks for: convergence, what is refused, and how often the estimate holds.


def bottleneck(source=None) -> dfc.Scenario:
    links = [dfc.Link("a", "b", 5e3, 2e-3, 60.0), dfc.Link("b", "c", 2e3, 3.3e-3, 40.0)]
    flows = [
        dfc.Flow("one", "abc", source or NewReno(), 100.0),
        dfc.Flow("two", "bc", dfc.CBR(500.0), start=0.013),
    ]
    return dfc.Scenario("bottleneck", links, flows, duration=0.5)


def test_the_error_is_in_the_run_and_its_summary() -> None:
    run = dfc.simulate(bottleneck(), dfc.Fluid(accuracy=0.05))
    assert run.status is Status.COMPLETED
    assert 0.0 < run.step_error <= 0.05
    assert run.step <= 2e-3 / 16
    assert "of the path's rate, estimated" in run.summary()["error from the step"]
    plain = dfc.simulate(bottleneck(), dfc.Fluid(steps_per_delay=round(2e-3 / run.step)))
    np.testing.assert_array_equal(run.delivered, plain.delivered)
    assert plain.step_error is None


def test_all_steps_have_the_same_random_numbers() -> None:
    """With a generator the estimate is of the step alone, and one is drawn from in one run."""
    scenario = bottleneck(dfc.OnOff(1500.0, 0.02, 0.02, random=True))
    runs = [dfc.simulate(scenario, dfc.Fluid(accuracy=0.02), seed=seed) for seed in (3, np.random.default_rng(3))]
    np.testing.assert_array_equal(runs[0].delivered, runs[1].delivered)


def test_too_much_work_is_refused_with_the_finest_run() -> None:
    with pytest.raises(ConvergenceError, match=r"accuracy = 1e-06 of .* 16 steps per delay leave") as caught:
        dfc.simulate(bottleneck(), dfc.Fluid(accuracy=1e-6, most_steps_per_delay=16))
    run = caught.value.result
    assert run.status is Status.INACCURATE
    assert run.step_error > 1e-6
    with pytest.raises(ValueError, match="most_steps_per_delay = 15: must be at least 16"):
        dfc.Fluid(accuracy=0.1, most_steps_per_delay=15)
    with pytest.raises(ValueError, match="accuracy = 1"):
        dfc.Fluid(accuracy=1.0)


def set_aside(seed: int) -> dfc.Scenario:
    """Return a random network of a kind that the estimate was not chosen on: trees, other rules and loads."""
    random = np.random.default_rng([seed, 7])
    graph = nx.random_labeled_tree(8, seed=seed).to_directed()
    kinds = [dfc.FIFO(), dfc.FIFO(), dfc.Fair(), dfc.Pause(high=12.3, low=6.1)]
    links = [
        dfc.Link(
            a, b, float(random.uniform(800, 6e3)), float(random.uniform(1e-3, 8e-3)),
            float(random.integers(15, 80)), kinds[random.integers(4)],
        )
        for a, b in graph.edges
    ]  # fmt: skip
    sources = [NewReno(), CUBIC(), Reno(), Tahoe(), dfc.CBR(700.0), dfc.OnOff(1500.0, 0.03, 0.05)]
    flows = []
    for n, source in enumerate(random.permutation(np.array(sources, dtype=object))[:4]):
        ends = random.choice(8, 2, replace=False).tolist()
        host = str(random.choice(["direct", "unshaped"]))
        way = tuple(nx.shortest_path(graph, *ends))
        flows.append(dfc.Flow(f"{n}", way, source, 200.0, float(random.uniform(0, 0.3)), host=host))
    used = {hop for flow in flows for hop in itertools.pairwise(flow.path)}
    return dfc.Scenario(f"{seed}", [k for k in links if (k.source, k.target) in used], flows, 2.0)


@pytest.mark.slow
def test_estimates_hold_in_nine_of_ten_networks_set_aside() -> None:
    """The error is the change with a quarter of the step: against the estimate, and what was asked for.

    109 of 120 (90.8 %), and 29 of the 35 that are accepted (83 %; 42 of 47 where a full fair queue dropped from
    what came alone). Neither share of these 60 speaks against nine of ten at 1 %.
    """
    covered, met = [], []
    for seed in range(60):
        scenario, reached = set_aside(seed), True
        try:
            run = dfc.simulate(scenario, dfc.Fluid(accuracy=0.02, most_steps_per_delay=32), sample=0.5)
        except ConvergenceError as error:
            run, reached = error.result, False
        m = round(dfc.Fluid(1).step_of(scenario) / run.step)
        fine = dfc.simulate(scenario, dfc.Fluid(steps_per_delay=4 * m), sample=0.5)
        paths = [min(link.rate for link in scenario.path(flow)) for flow in scenario.flows]
        rates = [each.delivered[:, -1] / each.time[-1] / paths for each in (run, fine)]
        apart = np.abs(rates[0] - rates[1]).max()
        covered.append(apart <= run.step_error)
        met += [apart <= 0.02] if reached else []
    assert len(met) >= 15
    for held in (covered, met):
        assert binom.cdf(sum(held), len(held), 0.9) > 0.01


# Expected marks in the fluid: the published fluid model of DCQCN, and what states no expected response.


C, LOW, HIGH, MOST = 5e6, 5.0, 200.0, 0.01
"""40 Gb/s with packets of 1000 bytes; thresholds in packets; P_max."""
RULE = DCQCN(counter=1e4, additive=5000.0, hyper=50000.0)
MARKING = dfc.RampMarking(LOW, HIGH, MOST)
EXPECTED = dfc.Fluid(marks="expected")


def incast(N: int, rule: Any = RULE, marking: Any = MARKING, duration: float = 0.12) -> dfc.Scenario:
    """Return N senders with links of their own to one link."""
    links = [dfc.Link(f"s{k}", "a", C, 1e-6, 1e6) for k in range(N)]
    links.append(dfc.Link("a", "b", C, 1e-6, 1e6, marking))
    flows = [dfc.Flow(f"{k}", (f"s{k}", "a", "b"), rule, host="unshaped", start=k * 1e-5) for k in range(N)]
    return dfc.Scenario("dcqcn", links, flows, duration=duration, packet_size=1000)


def solved_queue(N: int) -> float:
    """Return the queue at the fixed point of the published equations, solved for p with R_C = C / N.

    Zhu et al. 2015, Sect. 5: eq. (7) at rest gives alpha, eq. (6) R_T, eq. (5) p.
    """
    q, R = RULE.params, C / N

    def change_of_target(p: float) -> float:
        notified = (1.0 - (1.0 - p) ** (q.notification * R)) / q.notification
        alpha = 1.0 - (1.0 - p) ** (q.alpha_timer * R)
        by_counter = R * p / ((1.0 - p) ** -q.counter - 1.0)
        by_timer = R * p / ((1.0 - p) ** -(q.timer * R) - 1.0)
        above = R * alpha * notified / (by_counter + by_timer)  # R_T - R_C
        grown = by_counter * (1.0 - p) ** (q.stages * q.counter)
        grown += by_timer * (1.0 - p) ** (q.stages * q.timer * R)
        return float(above * notified - q.additive * grown)

    p = brentq(change_of_target, 1e-6, 0.999 * MOST, xtol=1e-15)
    return float(LOW + p / MOST * (HIGH - LOW))


@pytest.mark.parametrize("N", [2, 10])
@pytest.mark.slow
def test_dcqcn_holds_the_queue_of_the_published_fluid_model(N: int) -> None:
    run = dfc.simulate(incast(N), EXPECTED, sample=1e-4)
    late = run.time > 0.08
    queue = run.queued[-1, late]
    # 2 % is what issue and paper leave room for; the time step of 0.25 us moves it by less than 0.1 %
    np.testing.assert_allclose(queue.mean(), solved_queue(N), rtol=0.02)
    assert queue.std() < 0.01 * queue.mean()  # at rest
    rates = np.diff(run.delivered[:, late][:, [0, -1]])[:, 0]
    np.testing.assert_allclose(rates / rates.sum(), 1.0 / N, rtol=1e-3)
    assert run.lost.sum() == 0.0


def test_the_fixed_point_is_that_of_the_response_function() -> None:
    for N, p in ((2, 7.77e-4), (10, 6.03e-3)):
        np.testing.assert_allclose(RULE.rate(p), C / N, rtol=2e-3)
        assert solved_queue(N) == pytest.approx(LOW + p / MOST * (HIGH - LOW), rel=1e-3)


def test_drawn_marks_have_the_noise_of_packets() -> None:
    run = dfc.simulate(incast(10), sample=1e-4, level="fluid")
    assert run.queued[-1, run.time > 0.08].std() > 40.0


@pytest.mark.parametrize("p", [0.0, 1e-4, 0.3])
@pytest.mark.slow
def test_a_sender_stays_at_the_fixed_point_and_moves_to_it(p: float) -> None:
    rule: Any = RULE.expected()
    state = rule.start(1e6)._replace(rate=3e5, target=4e5, alpha=0.2)
    state = rule.on_feedback(state, rule.params, Feedback(0.0, 1e-5, acks=0.5, marks=0.5 * p))
    assert state.p == pytest.approx(p)
    for n in range(400_000):
        state = rule.on_time(state, rule.params, Elapsed(1e-6 * n, 1e-6, 0.0))
    # without marks it reaches the rate of its line
    wanted = 1e6 if p == 0.0 else min(1e6, RULE.rate(p))
    assert state.rate == pytest.approx(wanted, rel=5e-3)
    assert rule.on_feedback(state, rule.params, Feedback(0.0, 1e-5, 0.0, 0.0)) == state


def test_the_kernel_runs_alike_compiled_and_in_plain_python() -> None:
    links = [
        dfc.Link("s", "a", 2e4, 1e-3, 1e6),
        dfc.Link("a", "b", 1e4, 1e-3, 1e6, dfc.RampMarking(2.0, 20.0, 0.5)),
    ]
    rule = DCQCN(notification=5e-3, alpha_timer=5e-3, timer=5e-3, counter=100.0, additive=200.0)
    flows = [
        dfc.Flow("rated", ("s", "a", "b"), rule, host="unshaped"),
        dfc.Flow("constant", ("s", "a", "b"), dfc.CBR(2e3), host="unshaped"),
    ]
    scenario = dfc.Scenario("two", links, flows, duration=0.05)
    one, other = (run(scenario, EXPECTED, sample=5e-3) for run in (dfc.simulate, plain_simulate))
    np.testing.assert_allclose(one.queued, other.queued, rtol=1e-12)
    np.testing.assert_allclose(one.window, other.window, rtol=1e-12)
    assert one.scenario is scenario
    assert one.queued[1].max() > 2.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rule": NewReno()}, "source of flow '0' = NewReno()"),
        ({"rule": TIMELY()}, "source of flow '0' = TIMELY()"),
        ({"rule": DCQCN(remembers=0)}, "remembers of DCQCN(remembers=0) = 0"),
        ({"marking": dfc.RED(5.0, 15.0, ecn=True)}, "discipline of link a->b = RED("),
        ({"marking": dfc.RampMarking(at="arrival")}, "discipline of link a->b = RampMarking("),
        ({"marking": dfc.StepMarking(5.0, at="arrival")}, "discipline of link a->b = StepMarking("),
    ],
    ids=str,
)  # fmt: skip
def test_what_states_no_mean_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dfc.simulate(incast(2, **changed), EXPECTED)


def test_a_ramp_with_another_function_has_no_expected_marks() -> None:
    class Twice(dfc.RampMarking):
        @staticmethod
        def on_step(s, q, e):
            return s._replace(mark=e.arrivals if e.backlog > 2.0 * q.low else 0.0)

    assert dfc.RampMarking(LOW, HIGH, MOST).expected() is not None
    with pytest.raises(ValueError, match=r"discipline of link a->b = .*Twice\(.*has no expected marks"):
        dfc.simulate(incast(2, marking=Twice(LOW, HIGH, MOST)), EXPECTED)


@pytest.mark.parametrize(("due", "drops", "marks"), [(0.999, 0, 0), (1.0, 1, 1), (2.5, 2, 2), (3.0, 3, 3)])
def test_each_whole_packet_that_is_due_is_dropped_or_marked(due: float, drops: int, marks: int) -> None:
    """A packet is due once its whole is, not later; marks of a flow without ECN are drops."""
    shared = np.zeros((16, 2))
    shared[ARRIVED] = 1.0
    shared[MARKABLE] = 1.0, 0.0
    link = SimpleNamespace(due=due, due_marks=due, arrivals=2.0, owed=0.0)
    draw_victims(link, 0, 2, shared, np.array([1]))
    owed, owed_marks = shared[OWED], shared[OWED_MARKS]
    assert link.owed == owed.sum() + owed_marks.sum() == drops + marks
    assert owed.sum() >= drops
    assert owed_marks[1] == 0.0
    assert link.due == link.due_marks == pytest.approx(due - drops)
