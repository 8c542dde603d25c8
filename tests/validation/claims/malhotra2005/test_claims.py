"""The claims on pauses: what decides them, and evidence that says otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from markov import PauseTandem, stationary
from validation import Verdict, evidence, ledger
from validation.checks import subjects
from validation.claims import find
from validation.claims.malhotra2005 import (
    bundled,
    chain,
    conservation,
    low_threshold,
    protocol,
    simulator,
)
from validation.claims.malhotra2005.chain import LIGHT, THREE, Setting
from validation.claims.malhotra2005.delayed import DelayedPause, throughput
from validation.claims.malhotra2005.endless_files import FAR, IDLE, _far, lost_part
from validation.claims.malhotra2005.laws import chain_law
from validation.claims.malhotra2005.low_threshold import RUN_LOWS, TCP_LOWS
from validation.claims.malhotra2005.signalling import FITTED, _instant, fitted, pauses
from validation.statistics import Estimate

# M01 notices one lost packet, and expressions that differ.

R, C = Verdict.HOLDS, Verdict.CONTRADICTED


def test_one_lost_packet_breaks_the_flow_balance(doctor, judged) -> None:
    def lose(frame) -> None:
        frame.loc[3, "dropped_2"] -= 1

    doctor(bundled.LOW_THRESHOLD, lose)
    found = judged("M01")
    assert found["balance"] == (R, C)
    assert found["expressions"].model is R


def test_expressions_that_differ_are_seen() -> None:
    found = conservation.measure()

    def wrong(answer: chain.Answer) -> chain.Answer:
        one, two, three = answer.expressions
        return dataclasses.replace(answer, expressions=(one, two, three * (1 + 1e-11)))

    changed = dataclasses.replace(found, answers=tuple(map(wrong, found.answers)))
    judged = conservation.judge(changed)
    assert judged["expressions"].model is C
    assert judged["balance"].model is R


@pytest.mark.parametrize("name", ["arrivals", "sent_1", "delivered", "left_2"])
def test_every_count_of_a_run_enters_the_balance(name: str) -> None:
    counts = dict(conservation.measure().counts[0])
    assert conservation.balances(counts)
    counts[name] += 1
    assert not conservation.balances(counts)


# The pause tandem with messages that take time.


def test_without_a_delay_it_is_the_tandem_that_ends_its_packet() -> None:
    """mu2 = 0 stops at once, ending a packet needs less: between the tandem with mu2 = 0 and 100."""
    stops = stationary(PauseTandem(paused_rate=0.0)).throughput
    assert throughput(1e-6, 15, 1) == pytest.approx(stops, rel=0.01)


@pytest.mark.parametrize("delay", [0.05, 0.2])
def test_throughputs_are_those_of_the_bundled_runs(delay: float) -> None:
    """ns-3 has a constant delay; eight phases are within 0.5 % of it."""
    frame = evidence.table("malhotra2005/pause-signalling")
    runs = frame[(frame["paused_rate"] == 0) & (frame["signal_delay"] == delay)]
    for high, rate in runs.groupby("high_threshold")["throughput"].mean().items():
        assert throughput(delay, int(str(high))) == pytest.approx(rate, rel=5e-3)


@pytest.mark.parametrize(("name", "value"), [("delay", 0.0), ("phases", 0), ("threshold", 20)])
def test_bad_parameters_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        DelayedPause(**{name: value})


# Gains with idle times and with endless files.


def test_far_greater_is_twice_and_not_more_than_that() -> None:
    gains = {rtt: Estimate(2.0, 0.1, 9) for rtt in IDLE}
    (mean,) = _far(gains, gains)({"far": FAR})
    assert mean.value == pytest.approx(2.0 - FAR * 2.0)


def test_the_chain_loses_more_with_a_smaller_buffer() -> None:
    less = Setting(THREE, buffers=(10, 16)).off
    assert lost_part(less) > lost_part(Setting(THREE).off) > 0.0


def test_idle_times_gain_more_than_endless_files_at_five_seconds() -> None:
    think, endless = protocol.gains(protocol.THINK), protocol.gains(protocol.ENDLESS)
    assert think[5.0].value > FAR * endless[5.0].value


# The root-p law.


def test_the_law_does_not_depend_on_pausing_that_never_happens() -> None:
    never = Setting(high=20)
    assert lost_part(never) == pytest.approx(lost_part(never.off))
    assert chain_law(1.0, pause=False) > 0.0


# The low threshold that M05 is judged by turns no verdict.


@pytest.fixture(scope="module")
def found() -> low_threshold.LowThreshold:
    ledger()
    return subjects()["M05"].measured()


@pytest.mark.parametrize("low", [low for low in TCP_LOWS if low < low_threshold.HIGH])
def test_no_low_threshold_of_the_runs_is_slight(monkeypatch, found, low: int) -> None:
    """A quarter of the buffer is the mildest that the claim is judged by; two packets less would do."""
    monkeypatch.setattr(low_threshold, "MILD", low)
    monkeypatch.setattr(low_threshold, "TCP_MILD", low)
    judged = low_threshold.judge(found)["slightly"]
    assert set(judged) == {Verdict.CONTRADICTED}
    if low in RUN_LOWS:
        assert low_threshold.at_packet_level(found)["slightly"] is Verdict.CONTRADICTED
        assert low_threshold.same_process(found)["slightly"] is Verdict.CONTRADICTED


# What mu2 stands for, and messages by the threshold.


def test_a_tandem_with_mu2_is_mimicked_by_that_mu2() -> None:
    assert fitted({high: _instant(10.0, high) for high in FITTED}) == 10.0


def test_pauses_per_second_are_those_of_the_runs() -> None:
    """The chain's own events in ns-3, within 5 % at a low threshold of 5."""
    runs = bundled.runs(bundled.LOW_THRESHOLD)
    seen = runs[Setting(LIGHT, 15, 5)].estimates["pause_rate"].value
    assert pauses(5) == pytest.approx(seen, rel=0.05)


# S04 notices a bias, and scatter that batch means do not explain.


def test_a_bias_of_half_a_per_cent_is_seen(doctor, judged) -> None:
    def shift(frame) -> None:
        frame["throughput"] *= 1.005

    doctor(bundled.THRESHOLDS, shift)
    found = judged("S04")
    assert found["throughput"].model is Verdict.CONTRADICTED
    assert found["rest"].model is Verdict.HOLDS


def test_scatter_of_seeds_is_an_f_test() -> None:
    rng = np.random.default_rng(8)
    p_values = []
    for _ in range(500):
        batches = rng.normal(size=(10, 10))
        error = float(batches.var(axis=1, ddof=1).sum() / 1000) ** 0.5
        seeds = tuple({"throughput": float(mean)} for mean in batches.mean(axis=1))
        run = bundled.Run(Setting(), {"throughput": Estimate(0.0, error, 90)}, seeds)
        p_values.append(simulator.scatter_of_seeds(run))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


# TCP's own gains by the round-trip time.


def test_a_general_trend_holds_in_the_mean_and_not_at_every_rate() -> None:
    assert set(find("M10").check().turning.packets) == {
        "every rate of link A",
        "RTT from 0.1 to 1 s",
        "window 10 packets",
    }
