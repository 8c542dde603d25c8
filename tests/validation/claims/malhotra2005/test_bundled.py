"""Runs of bridges that pause: as estimates, as chains, at our packet level, as protocols."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from markov import stationary
from validation import evidence
from validation.claims.malhotra2005 import bundled, chain, level, protocol
from validation.claims.malhotra2005.chain import Setting

# The packet runs as estimates.


def test_seeds_are_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    frame = evidence.table(bundled.OFF)
    one = frame[(frame["low_threshold"] == 5) & (frame["paused_rate"] == 0.5)].copy()
    batches = rng.normal(13.0, 0.1, (len(one), 10))
    one["throughput"] = batches.mean(axis=1)
    half_width = stats.t.ppf(0.975, 9) * batches.std(axis=1, ddof=1) / 10**0.5
    one["throughput_half_width"] = half_width
    monkeypatch.setattr(evidence, "table", lambda _: one)
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
        assert level.files(level.Bridges(1.0, 15, low)).pauses.mean() == pytest.approx(
            seen, rel=0.1
        )


# TCP behind bridges that pause, read from the bundled tables.


def test_gains_are_those_of_the_table() -> None:
    means = evidence.table(protocol.THINK).groupby(["rtt", "pause"])["goodput"].mean().unstack()
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
