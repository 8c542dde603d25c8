"""Refinements of the fluid, each against what it is for: SACK, timeouts, delayed ACKs, packet jitter."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy import stats

from dfcmodel import CBR, Flow, Fluid, Link, Packets, Scenario, dumbbell, ensemble, simulate
from dfcmodel.engine.kernel import tcp_sender
from dfcmodel.recoveries import NewRenoRecovery
from hopflow import mbps, ms
from responsefn import CUBIC, NewReno, Reno
from tests.oracles.engines import plain_simulate

RATE, DELAY = 1e3, 1e-2


def one_flow(source=None, window: float = 1e3, buffer: float = 30.0, **more) -> Scenario:
    """A sender behind a fast link, and a slow link whose buffer it overflows in slow start."""
    links = [Link("a", "b", 1e4, DELAY, 1e4), Link("b", "c", RATE, DELAY, buffer)]
    return Scenario("one", links, [Flow("one", "abc", source or NewReno(), window, **more)], 3.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"recovery": "vegas"}, ["recovery", "vegas", "sack"]),
        ({"recovery": "prr"}, ["recovery", "prr", "method=Packets"]),
        ({"recovery": NewRenoRecovery()}, ["recovery = NewRenoRecovery()", "method=Packets"]),
        (
            {"recovery": np.array(["sack", "reno"], dtype=object)},
            ["recovery = array", "method=Packets"],
        ),
        ({"timeouts": "no"}, ["timeouts", "no"]),
        ({"pipe": "vegas"}, ["pipe", "vegas", "fall1996"]),
        ({"store_and_forward": 1}, ["store_and_forward", "1"]),
        ({"whole_losses": "no"}, ["whole_losses", "no"]),
    ],
)
def test_settings_are_checked(refused, change, words) -> None:
    refused(words, lambda: Fluid(**change))


class Proportional(NewReno):
    """A rule that recovers as the packet level alone does."""

    recovery = "prr"


def test_a_rule_whose_recovery_the_fluid_lacks_is_refused_there_and_runs_in_packets(
    refused,
) -> None:
    scenario = one_flow(Proportional())
    words = ["recovery of Proportional()", "prr", "method=Packets"]
    refused(words, lambda: simulate(scenario, Fluid()))
    assert simulate(scenario, Packets(seed=1)).recoveries == ("prr",)
    assert simulate(scenario, Fluid(recovery="sack")).recoveries == ("sack",)


def test_an_option_that_was_removed_names_what_to_use_instead() -> None:
    with pytest.raises(
        TypeError, match=r"Fluid\(whole_packets=\): was removed; use method=Packets"
    ):
        Fluid(whole_packets=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword"):
        Fluid(whole_packet=True)  # type: ignore[call-arg]
    assert "whole_packets" not in inspect.signature(Fluid).parameters


@pytest.mark.parametrize("level", [Fluid, Packets])
def test_cubic_repairs_losses_by_sack_unless_another_recovery_is_asked_for(level) -> None:
    """kaneko2007's path, 100 Mb/s and 80 ms: ns-2's CUBIC, with SACK, fills it (its windows-alone runs, 100.0 Mb/s).

    After slow start's overshoot of 900 packets or more NewReno, a hole per round trip, waits for its timer at every loss event.
    """
    links = dumbbell(
        1, rate=mbps(100), delay=ms(38), access_rate=mbps(1000), access_delay=ms(1), buffer=333
    )
    flow = Flow("f", ("s1", "left", "right", "d1"), CUBIC(), 20000)
    runs = {
        recovery: simulate(
            Scenario("one", links, (flow,), 20.0), level(recovery=recovery), sample=0.1
        )
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
        run = simulate(one_flow(buffer=buffer), method=Fluid(recovery=recovery), sample=0.01)
        assert run.lost.sum() > 50
        assert run.imbalance.max() == 0.0
        delivered[recovery] = run.delivered[0, -1]
    beside = simulate(one_flow(buffer=buffer), Packets(seed=1))
    assert delivered["newreno"] == pytest.approx(beside.delivered[0, -1], rel=0.05)
    assert delivered["sack"] > delivered["newreno"]
    assert delivered["sack"] > 0.8 * RATE * 3.0


def keep_lost_in_pipe(flow, holes, ack) -> None:
    """Take ACKs out of the pipe, twice those that move snd_una, and nothing that is lost."""
    partial = ack.advancing if flow.snd_una < flow.recover else 0.0
    flow.pipe = max(0.0, flow.pipe - ack.acks - partial)


LONG = pytest.mark.slow


@pytest.mark.parametrize(
    "buffer", [30.0, pytest.param(60.0, marks=LONG), pytest.param(120.0, marks=LONG)]
)
def test_sack_differs_from_the_packets_sack1_by_what_counts_as_in_flight(
    monkeypatch, buffer: float
) -> None:
    """RFC 6675 takes what is lost out of the pipe (4, SetPipe), ns-2's Sack1 (Fall and Floyd 1996) does not.

    The packet level is Sack1: a fluid that counts so delivers as much as it does, to 1 %, and loses
    as much to 3 %. By RFC 6675 the sender sends more in its recovery.
    """
    packets = simulate(one_flow(SelectiveReno(), buffer=buffer), Packets(seed=1))
    method = Fluid(recovery="sack")
    standard = plain_simulate(one_flow(buffer=buffer), method, sample=0.01)
    monkeypatch.setattr(tcp_sender, "advance_sack", keep_lost_in_pipe)
    sack1 = plain_simulate(one_flow(buffer=buffer), method, sample=0.01)
    assert sack1.delivered[0, -1] == pytest.approx(packets.delivered[0, -1], rel=0.01)
    for run in (standard, sack1):
        assert run.lost.sum() == pytest.approx(packets.lost.sum(), rel=0.03)
        assert run.timeouts[0] == packets.timeouts[0] == 0
    assert standard.delivered[0, -1] > sack1.delivered[0, -1]


def test_a_sender_without_timeouts_has_none() -> None:
    """Reno after many losses of one window waits for its timer (RFC 5681)."""
    with_timer = simulate(one_flow(Reno()), sample=0.01, level="fluid")
    without = simulate(one_flow(Reno()), sample=0.01, method=Fluid(timeouts=False))
    assert with_timer.timeouts[0] > 0
    assert without.timeouts[0] == 0
    assert without.imbalance.max() == 0.0


def test_a_window_grows_half_as_fast_per_round_trip_with_delayed_acks() -> None:
    """Slow start: a factor of 2 per round trip, of 1.5 where every second packet is answered."""
    trip = 4 * DELAY + 1 / RATE + 1 / 1e4
    for delayed, factor in ((False, 2.0), (True, 1.5)):
        scenario = one_flow(delayed_acks=delayed, buffer=1e4)
        run = simulate(scenario, duration=5.2 * trip, sample=trip / 40, method=Fluid(40))
        at = np.searchsorted(run.time, [2.9 * trip, 3.9 * trip])
        before, after = run.window[0, at]
        # ACKs of one round trip arrive spread over a part of it
        assert after / before == pytest.approx(factor, rel=0.05)


def test_packet_jitter_makes_runs_differ_and_keeps_every_packet() -> None:
    found = ensemble(one_flow(), 4, jitter=0.0, packet_jitter=1 / RATE, duration=2.0, level="fluid")
    again = ensemble(one_flow(), 4, jitter=0.0, packet_jitter=1 / RATE, duration=2.0, level="fluid")
    np.testing.assert_array_equal(found.efficiency, again.efficiency)
    late = simulate(one_flow(), duration=1.0, packet_jitter=1 / RATE, seed=1, level="fluid")
    assert late.imbalance.max() == 0.0
    on_time = simulate(one_flow(), duration=1.0, seed=1, level="fluid")
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
        simulate(scenario, duration=3.0, packet_jitter=wait, seed=0, level="fluid").delivered[0, -1]
        for wait in (0.0, long)
    ]
    more = 30.0 / rates[1] - 30.0 / rates[0]
    assert long / 3 < more < (0.5 + 0.02) * long


def constant_rates(*rates: float, duration: float = 2.0) -> Scenario:
    """Constant rates, together above a link's rate: its queue overflows all the time."""
    links = [Link(f"s{n}", "b", 1e5, DELAY, 1e4) for n in range(len(rates))]
    links.append(Link("b", "c", RATE, DELAY, 30.0))
    flows = [Flow(f"{n}", (f"s{n}", "b", "c"), CBR(rate)) for n, rate in enumerate(rates)]
    return Scenario("constant rates", links, flows, duration)


def lost(scenario: Scenario, *, whole: bool, seed: int, packet_jitter: float = 1 / RATE):
    """Return the packets lost of each flow, and the largest queue."""
    method = Fluid(steps_per_delay=8, whole_losses=whole)
    run = simulate(scenario, method, packet_jitter=packet_jitter, seed=seed, sample=0.1)
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
    links = [Link(f"s{n}", "b", 1e5, DELAY, 1e4) for n in range(2)]
    links.append(Link("b", "c", RATE, DELAY, 30.0))
    flows = [Flow(f"{n}", (f"s{n}", "b", "c"), NewReno(), 500.0) for n in range(2)]
    scenario = Scenario("two", links, flows, 20.0)
    apart = {}
    for whole in (True, False):
        runs = [
            simulate(
                scenario, Fluid(whole_losses=whole), packet_jitter=1 / RATE, seed=s, sample=0.1
            )
            for s in range(6)
        ]
        gaps = [np.abs(np.diff(run.window[:, 50:], axis=0)).mean() for run in runs]
        apart[whole] = float(np.mean(gaps))
    assert apart[True] > 1.2 * apart[False]
