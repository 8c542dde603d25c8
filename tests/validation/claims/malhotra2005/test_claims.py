"""The claims on pauses: what decides them, evidence that says otherwise, and the bundled runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
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
    level,
    levels,
    low_threshold,
    protocol,
    simulator,
    switched_off,
    threshold,
)
from validation.claims.malhotra2005.chain import LIGHT, THREE, Setting
from validation.claims.malhotra2005.delayed import DelayedPause, throughput
from validation.claims.malhotra2005.endless_files import FAR, IDLE, _far, lost_part
from validation.claims.malhotra2005.laws import chain_law
from validation.claims.malhotra2005.load import LOADS, judge_steps, ranges, slope_of
from validation.claims.malhotra2005.low_threshold import RUN_LOWS, TCP_LOWS
from validation.claims.malhotra2005.signalling import DELAYS, FITTED, HIGHS, _instant, _substitute, fitted, pauses
from validation.judgements.verdicts import Judgement
from validation.statistics import Estimate

# M01 notices one lost packet, and expressions that differ.

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


@pytest.mark.slow
def test_expressions_that_differ_are_seen() -> None:
    found = conservation.measure()

    def wrong(answer: chain.Answer) -> chain.Answer:
        one, two, three = answer.expressions
        return dataclasses.replace(answer, expressions=(one, two, three * (1 + 1e-11)))

    changed = dataclasses.replace(found, answers=tuple(map(wrong, found.answers)))
    judged = conservation.judge(changed)
    assert judged["expressions"].model is C
    assert judged["balance"].model is R


@pytest.mark.slow
def test_the_printed_arrivals_at_queue_2_leave_one_of_two_rules_out() -> None:
    """Where rules 6 and 8 both fire the printed expressions differ by more than rounding, and the flow balances."""
    found = conservation.measure()
    judged = conservation.readings(found)
    printed = {name for name in judged if name.endswith("lambda_effec,2 as printed")}
    assert len(printed) == 2
    for name, reading in judged.items():
        assert "both fire" in name or name not in printed
        assert reading["expressions"].model is (C if name in printed else R)
        assert reading["balance"].model is R
    assert found.printed["exclusive"] < conservation.EXACT < 0.05 < found.printed["both"] < 0.1
    assert conservation.judge(found)["expressions"].model is R


@pytest.mark.parametrize("name", ["arrivals", "sent_1", "delivered", "left_2"])
def test_every_count_of_a_run_enters_the_balance(name: str) -> None:
    counts = dict(conservation.measure().counts[0])
    assert conservation.balances(counts)
    counts[name] += 1
    assert not conservation.balances(counts)


def test_one_run_contradicts_an_identity_and_a_few_uphold_none() -> None:
    runs = ([True] * 7, [True] * 6, [True] * 40 + [False])
    assert [conservation._in_every_run(each) for each in runs] == [R, N, C]


# M02: sets of runs that differ, or that scatter too much to tell.


@pytest.mark.parametrize(
    ("change", "pauses", "verdict"),
    [
        ({}, False, R),
        ({"value": 1.05}, False, C),
        ({"error": 50.0}, False, N),
        ({}, True, C),
    ],
    ids=["as bundled", "five per cent apart", "noise", "every run pauses"],
)
def test_sets_of_runs_that_differ_or_scatter_are_not_equal(
    change: dict[str, float], pauses: bool, verdict: Verdict
) -> None:
    ledger()
    found = subjects()["M02"].measured()
    first, *others = found.runs
    old = first.estimates["throughput"]
    new = dataclasses.replace(old, **{name: getattr(old, name) * factor for name, factor in change.items()})
    runs = (first._replace(estimates={**first.estimates, "throughput": new}), *others)
    if pauses:
        runs = tuple(run._replace(seeds=tuple({**seed, "pause_fraction": 0.1} for seed in run.seeds)) for run in runs)
    assert switched_off.judge(dataclasses.replace(found, runs=runs))["off"].packets is verdict


def test_a_chain_that_pauses_at_the_buffers_size_is_not_switched_off() -> None:
    """A chain that paused there whatever T2 and mu2 are would depend on neither; pausing at the full rate is no control."""
    ledger()
    found = subjects()["M02"].measured()
    pausing = dataclasses.replace(found, off=dataclasses.replace(found.off, pause_fraction=0.1))
    assert [switched_off.judge(each)["off"].model for each in (found, pausing)] == [R, C]
    full = chain.solve(chain.Setting(chain.LIGHT, 15, 5, paused_rate=100.0))
    assert full.throughput == pytest.approx(found.off.throughput, rel=1e-12)


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


@pytest.mark.slow
def test_the_least_window_turns_the_gain_at_short_round_trips() -> None:
    assert find("M14").check().level is Verdict.DEPENDS


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


def test_the_round_trip_time_decides_whether_the_cost_is_slight(found) -> None:
    """Fig. 5 states none: up to 0.3 s the chain, and at 1 s TCP in ns-3 and at hopflow's packet level, uphold the claim."""
    judged = low_threshold.readings(found)
    at = {rtt: judged[f"RTT {rtt:g} s"] for rtt in low_threshold.READ_RTTS}
    assert [at[rtt]["slightly"].model for rtt in at] == [R, R, C, C]
    assert [at[rtt]["slightly"].packets for rtt in low_threshold.TWO_RTTS] == [R, C]
    own = low_threshold.at_packet_level_in_readings(found)
    assert [each["slightly"] for each in own.values()] == [R, C]
    finding = subjects()["M05"].in_all_readings(found, {})
    for source, rtts in {"model": (0.1, 0.3), "ns-3": (1.0,), "level": (1.0,)}.items():
        turned = {name for name, verdict in finding.turned(source).items() if verdict is not Verdict.NOT_APPLICABLE}
        assert turned == {f"RTT {rtt:g} s" for rtt in rtts}  # those of the chain's rules packets do not judge


def test_a_reading_of_the_round_trip_time_follows_its_runs(found) -> None:
    """Costs of 5 % at 1 s, and a goodput that grows as T2 falls at 5 s, turn what those readings say."""
    dear = {
        low: dataclasses.replace(rate, value=rate.value * (0.95 if low == 9 else 1.0))
        for low, rate in found.tcp[1.0].items()
    }
    grows = dict(zip(found.tcp[5.0], reversed(found.tcp[5.0].values()), strict=True))
    judged = low_threshold.readings(dataclasses.replace(found, tcp={1.0: dear, 5.0: grows}))
    assert judged["RTT 1 s"]["slightly"].packets is C
    assert judged["RTT 5 s"]["falls"].packets is C


def test_the_chains_own_events_are_judged_in_readings(found) -> None:
    """Where rules 6 and 8 both fire T2 = 10 costs next to nothing, at 1 and at 5 s it costs more than a per cent."""
    finding = subjects()["M05"].in_all_readings(found, {})
    own = {reading.name: [part.process for part in reading.parts[:2]] for reading in finding.readings}
    assert own[chain.reading(chain.AS_PRINTED)][1] is not C
    assert [own[f"RTT {rtt:g} s"] for rtt in low_threshold.TWO_RTTS] == [[R, C], [R, C]]
    assert own["RTT 0.1 s"] == [Verdict.NOT_APPLICABLE] * 2
    assert finding.process is C


# What mu2 stands for, and messages by the threshold.


def test_a_tandem_with_mu2_is_mimicked_by_that_mu2() -> None:
    assert fitted({high: _instant(10.0, high) for high in FITTED}) == 10.0


@pytest.mark.parametrize(
    ("mu2", "error", "verdict"),
    [(10.0, 1e-3, R), (60.0, 1e-3, C), (60.0, 2.0, N)],
    ids=["a pause", "above nu: no pause", "noise"],
)
def test_a_substitute_has_to_be_a_pause(mu2: float, error: float, verdict: Verdict) -> None:
    """Delays that act as some rate: below nu one is a substitute, above nu none is, and noise shows nothing."""
    delayed = {d: {h: Estimate(_instant(mu2, h), error, 9) for h in HIGHS} for d in DELAYS}
    assert _substitute(delayed)({"margin": 0.01, "level": 0.01}) is verdict


def test_pauses_per_second_are_those_of_the_runs() -> None:
    """The chain's own events in ns-3, within 5 % at a low threshold of 5."""
    runs = bundled.runs(bundled.LOW_THRESHOLD)
    seen = runs[Setting(LIGHT, 15, 5)].estimates["pause_rate"].value
    assert pauses(5) == pytest.approx(seen, rel=0.05)


# S04 notices a bias, and scatter that batch means do not explain.


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


@pytest.mark.slow
def test_a_general_trend_holds_in_the_mean_and_not_at_every_rate() -> None:
    assert set(find("M10").check().turning.packets) == {
        "every rate of link A",
        "RTT from 0.1 to 1 s",
        "window 10 packets",
    }


# M04: gain and range over the round-trip time, at every step of the load.


def test_the_range_over_round_trips_is_that_of_the_extreme_gains() -> None:
    gains = {(20.0, 0.1): 3.0, (20.0, 1.0): -2.0, (20.0, 5.0): 1.0, (25.0, 0.1): 4.0,
             (25.0, 1.0): 4.5, (25.0, 5.0): 4.0}  # fmt: skip
    estimates = {point: Estimate(value, 0.1) for point, value in gains.items()}
    found = ranges(estimates, (20.0, 25.0), (0.1, 1.0, 5.0))
    assert [e.value for e in found] == [5.0, 0.5]


@pytest.mark.slow
def test_up_to_the_longest_round_trip_of_tcp_the_range_of_the_chains_gain_grows_first() -> None:
    found = find("M04").check()
    short = next(r for r in found.readings if r.name == "RTT up to 5 s, those of TCP")
    assert found.parts[1].model is Verdict.HOLDS
    assert short.parts[1].model is Verdict.CONTRADICTED


def test_one_certain_rise_of_tcps_gain_contradicts_whatever_the_slope() -> None:
    rising = {(w, 5.0): Estimate(g, 0.5) for w, g in zip(LOADS, (5, 27, -8, 2, 3, 4), strict=True)}
    assert judge_steps(rising, LOADS, (5.0,), 0.01)["gain"] is Verdict.CONTRADICTED
    assert slope_of(list(rising.values()), LOADS).value < 0.0


# M06: the fall from T1 = 17 to 19 in other readings of the rules.


@pytest.mark.slow
def test_the_collapse_is_not_at_every_round_trip_in_other_readings_of_the_rules() -> None:
    found = {r.name: r.parts[0].model for r in find("M06").check().readings}
    assert [found[chain.reading(key)] for key in chain.READINGS[1:]] == [C, C, C]


# The best threshold, of the chain's own events and of TCP.


def test_the_best_threshold_of_tcp_is_in_the_band_or_above_it() -> None:
    """At 1 s the band and 18 are equal; at 5 s 18 is better. Noise, or a best threshold of each kind, decides as it should."""
    at = {rtt: {h: e for h, e in protocol.by_threshold("think", rtt).items() if h < 20} for rtt in (1.0, 5.0)}
    assert [threshold.judge_optimum(found, 0.01) for found in at.values()] == [N, C]
    peak = {h: Estimate(14.0 - 0.1 * abs(h - 15), 0.01, 9) for h in at[1.0]}
    assert threshold.judge_optimum(peak, 0.01) is R
    equal = {h: Estimate(14.0 + 0.01 * (h == 15), 0.01, 9) for h in at[1.0]}
    assert threshold.judge_optimum(equal, 0.01) is N


# Judgements of malhotra2005 notice bundled runs that were changed.


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


# M03 notices what would contradict it; noise decides nothing.


def test_the_range_of_the_round_trip_time_turns_the_chains_verdict(judged) -> None:
    assert find("M03").check().turning.model == ("RTT up to 20 s",)
    assert judged("M03")["grows"].packets is Verdict.NOT_APPLICABLE


# M07 notices gains that are far apart.


@pytest.mark.parametrize(
    ("gains", "more", "close"),
    [
        ((2.0, 1.5, 1.4, 1.7), R, R),
        ((2.0, 1.5, 1.4, 2.1), R, C),
        ((1.5, 2.0, 2.2, 1.9), C, R),
        ((1.5, 1.5, 1.5, 1.5), C, C),
    ],
)
def test_two_rates_gain_more_and_further_ones_are_near_three(
    gains: tuple[float, ...], more: Verdict, close: Verdict
) -> None:
    judged = levels._judged(dict(enumerate(gains, 2)), 1.0)
    assert (judged["more"].model, judged["close"].model) == (more, close)


# M13 notices a chain that is nearer to TCP under load.


def of_packets(key: str, judgement: Judgement) -> Verdict:
    return judgement[key].packets


@pytest.mark.parametrize(("slope", "verdict"), [(-2.0, R), (2.0, C), (0.0, N)])
def test_a_chain_that_follows_tcp_under_load_is_seen(doctor, judged, slope: float, verdict: Verdict) -> None:
    """TCP whose growth from 1 to 5 s is nearer to the chain's at higher loads, farther, or neither; rates scatter by 0.3 points."""

    def follow(frame: Any) -> None:
        scatter = np.random.default_rng(9)
        for load in frame["link_a"].unique():
            far = 10.0 + slope * np.log(load / 40.0) + 0.3 * scatter.normal()
            for rtt, extra in ((1.0, 0.0), (5.0, far)):
                at = rows(frame, link_a=load, rtt=rtt)
                off = frame.loc[at & rows(frame, pause="off"), "goodput"].mean()
                gain = chain.gain(Setting((float(load), 1.0), rtt=rtt)) + extra
                frame.loc[at & rows(frame, pause="on"), "goodput"] = off * (1 + gain / 100)
                frame.loc[at, "goodput"] += 0.01 * scatter.normal(size=at.sum())

    doctor((bundled.LINK_A,), follow)
    assert of_packets("trend", judged("M13")) is verdict


# The packet runs as estimates.


def test_seeds_are_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    frame = evidence.table(bundled.OFF)
    one = frame[(frame["low_threshold"] == 5) & (frame["paused_rate"] == 0.5)].copy()
    batches = rng.normal(13.0, 0.1, (len(one), 10))
    one["throughput"] = batches.mean(axis=1)
    half_width = stats.t.ppf(0.975, 9) * batches.std(axis=1, ddof=1) / 10**0.5
    one["throughput_half_width"] = half_width
    monkeypatch.setattr(evidence, "frame", lambda _: one)
    ((setting, run),) = bundled.runs(bundled.OFF).items()
    assert setting == Setting(high=20, low=5, paused_rate=0.5)
    estimate = run.estimates["throughput"]
    assert estimate.value == pytest.approx(batches.mean())
    residuals = batches - batches.mean(axis=1, keepdims=True)
    variance = (residuals**2).sum() / (9 * len(one))
    assert estimate.error == pytest.approx((variance / batches.size) ** 0.5)
    assert estimate.dof == 9 * len(one)
    assert len(run.seeds) == len(one)


def test_runs_are_those_that_the_chain_knows() -> None:
    signalling = bundled.runs("malhotra2005/pause-signalling")
    assert {s.paused_rate for s in signalling} == {2.0, 10.0}
    assert not bundled.runs("malhotra2005/fixed-recovery-up")


def test_seeds_of_tcp_are_independent_runs() -> None:
    frame = evidence.table(bundled.LINK_A)
    seeds = frame.query("link_a == 50 and rtt == 1 and pause == 'on'")["goodput"]
    mean = bundled.tcp_goodput(bundled.LINK_A, "on")[50.0, 1.0]
    low, high = stats.t.interval(0.95, len(seeds) - 1, seeds.mean(), stats.sem(seeds))
    assert (mean.value, mean.half_width) == pytest.approx((seeds.mean(), (high - low) / 2))


def test_agreement_is_a_test_of_all_points() -> None:
    found = bundled.agreement(bundled.runs(bundled.OFF).values())
    assert found.points == found.test.dof == 4
    assert found.test.p > 0.01
    assert found.worst < 0.01


@pytest.mark.slow
def test_the_chain_predicts_the_errors_of_the_runs() -> None:
    """Squares of simulated over predicted standard errors: chi-square over its degrees of freedom."""
    squares: dict[str, list[tuple[float, float]]] = {}
    cases = [case for case in evidence.cases() if case.startswith("malhotra2005/pause-")]
    for setting, run in (pair for case in cases for pair in bundled.runs(case).items()):
        answer = stationary(setting.model)
        first, second = answer.variance("mean_queue")
        variances = first, second, answer.variance("pause_fraction")
        seconds = sum(row["measured_time"] for row in run.seeds)
        names = ("mean_queue_1", "mean_queue_2", "pause_fraction")
        for name, variance in zip(names, variances, strict=True):
            if variance.value > 1e-9:
                found = run.estimates[name]
                square = found.error**2 * seconds / variance.value
                squares.setdefault(name, []).append((square, found.dof))
    for name, pairs in squares.items():
        ratio, freedom = np.array(pairs).T
        low, high = stats.chi2.interval(1.0 - 1e-4, freedom.sum()) / freedom.sum()
        assert low < np.average(ratio, weights=freedom) < high, name
        assert len(pairs) > 200


# The chain at the settings of the claims.


@pytest.mark.parametrize(("paused_rate", "start"), [(2.0, 5), (2.0, 19), (14.0, 19), (0.1, 12)])
def test_best_threshold_is_that_of_a_full_scan(paused_rate: float, start: int) -> None:
    setting = Setting(high=start, paused_rate=paused_rate)
    scan = {high: chain.solve(setting._replace(high=high)).throughput for high in range(2, 20)}
    assert chain.best_threshold(setting) == max(scan, key=lambda high: scan[high])


def test_switching_off_leaves_tcp_alone() -> None:
    setting = Setting(high=11, low=5, rtt=5.0)
    assert setting.off == Setting(high=chain.B2, rtt=5.0)
    assert chain.gain(setting.off) == 0.0
    assert setting.read(chain.AS_PRINTED).pause_at_threshold == "both"


# TCP over pause at hopflow's packet level: endless files, and files with idle times.


def test_goodput_and_losses_are_those_of_ns3() -> None:
    """Without pausing at an RTT of 1 s, within a hundredth and a tenth: two programs of one TCP."""
    found = level.endless(1.0, False)
    frame = protocol.evidence.table(protocol.ENDLESS).query("rtt == 1 and pause == 'off'")
    lost = (frame["dropped_1"] + frame["dropped_2"]) / frame["arrivals_1"]
    assert found.goodput.mean() == pytest.approx(frame["goodput"].mean(), rel=0.01)
    assert found.lost.mean() == pytest.approx(lost.mean(), rel=0.1)


def test_pausing_spares_losses_at_a_second() -> None:
    on, off = (level.endless(1.0, pause) for pause in (True, False))
    assert on.lost.max() < off.lost.min()
    assert level.gain(1.0).value == pytest.approx(0.4, abs=0.3)  # ns-3: 0.39 +- 0.14


def test_a_least_window_of_two_packets_gives_the_timeouts_of_ns3() -> None:
    """At an RTT of 0.1 s, where windows are two packets: ns-3's agents keep two, ns-2's Reno goes to one."""
    frame = protocol.evidence.table(protocol.ENDLESS).query("rtt == 0.1 and pause == 'off'")
    seen = (frame["timeouts"] / frame["measured_time"]).mean()
    one, ns2, two = (level.endless(0.1, False, sender) for sender in ("reno", "ns2", "two"))
    assert two.timeouts.mean() == pytest.approx(seen, rel=0.15)
    assert two.goodput.mean() == pytest.approx(frame["goodput"].mean(), rel=0.01)
    assert max(one.timeouts.mean(), ns2.timeouts.mean()) < seen / 2
    assert level.gain(0.1, "two").value > 0.0 > level.gain(0.1).value


def test_the_gain_of_files_with_idle_times_grows_as_in_ns3() -> None:
    """From 1 to 5 s, and much more than that of endless files; two programs of one TCP, within a third."""
    seen = protocol.gains(protocol.THINK)[5.0].value
    short, long = (level.idle_gain(level.Bridges(rtt)) for rtt in (1.0, 5.0))
    assert long.value == pytest.approx(seen, rel=1 / 3)
    assert long.value > 10.0 * abs(short.value)
    assert long.value > 2.0 * level.gain(5.0).value
    assert level.Bridges(5.0).off == level.Bridges(5.0, 20, 20)


def test_queue_2_asks_for_as_many_pauses_as_in_ns3() -> None:
    """Within a tenth at T2 = T1 = 15 and at T2 = 1; ns-3's messages are twice as many, with those that end a pause."""
    frame = protocol.evidence.table(protocol.LOW_THRESHOLD).query("rtt == 1")
    for low in (1, 15):
        rows = frame[frame["low_threshold"] == low]
        seen = (rows["pauses"] / rows["measured_time"]).mean()
        assert level.files(level.Bridges(1.0, 15, low)).pauses.mean() == pytest.approx(seen, rel=0.1)


# TCP behind bridges that pause, read from the bundled tables.


def test_gains_are_those_of_the_table() -> None:
    means = evidence.table(protocol.THINK).groupby(["rtt", "pause"])["goodput"].mean().unstack()  # noqa: PD010
    gains = protocol.gains(protocol.THINK)
    for rtt, row in means.iterrows():
        assert gains[rtt].value == pytest.approx(100 * (row["on"] / row["off"] - 1))


def test_more_seeds_agree_with_fewer() -> None:
    found, few = protocol.over_rtt().default, protocol.gains(protocol.THINK)
    for rtt in (10.0, 20.0):
        assert abs(found[rtt].value - few[rtt].value) < found[rtt].half_width + few[rtt].half_width
        assert found[rtt].error < few[rtt].error


def test_thresholds_end_without_pausing() -> None:
    for found in (protocol.by_threshold("think", 5.0), protocol.by_low_threshold(5.0)):
        assert max(found) == 20
        assert found[15].value > found[20].value
