"""Claims of malhotra2005: the recorded verdicts, the statistics, and that verdicts can change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

from validation import evidence, verdicts
from validation.claims.malhotra2005 import chain, conservation, packets, significance, simulator
from validation.claims.malhotra2005.chain import Setting
from validation.claims.malhotra2005.packets import Estimate
from validation.verdicts import Finding, Verdict

CLAIMS = ("M01", "M02", "M03", "M04", "M05", "M06", "M07", "M08", "M09", "M13", "S04")


def check(id: str) -> Finding:
    return verdicts.find(id).check()


@pytest.mark.parametrize("id", CLAIMS)
def test_verdicts_are_as_recorded(id: str) -> None:
    finding = check(id)
    assert (finding.model, finding.simulation) == verdicts.expected()[id]
    assert finding.summary
    assert finding.numbers
    assert all(number.tolerance for number in finding.numbers)
    assert set(finding.cases) <= set(evidence.cases())
    for picture in finding.pictures:
        assert picture.alt
        axes = picture.draw().axes
        assert all(ax.get_xlabel() for ax in axes)
        assert axes[0].get_ylabel()


# --------------------------------------------------------------------------- statistics


def estimates_of(samples: NDArray[np.float64]) -> list[Estimate]:
    count = samples.shape[1]
    return [
        Estimate(float(row.mean()), float(row.std(ddof=1) / count**0.5), count - 1)
        for row in samples
    ]


def test_intervals_are_students() -> None:
    sample = np.random.default_rng(1).normal(3.0, 2.0, 40)
    (mean,) = estimates_of(sample[None])
    low, high = stats.t.interval(0.95, 39, sample.mean(), stats.sem(sample))
    assert mean.half_width == pytest.approx((high - low) / 2)
    expected = stats.ttest_1samp(sample, 2.5, alternative="greater").pvalue
    assert Estimate(mean.value - 2.5, mean.error, 39).p_positive() == pytest.approx(expected)
    assert stats.norm.sf(mean.score(2.5)) == pytest.approx(expected)
    assert mean.score(mean.value + 1) == pytest.approx(-mean.score(mean.value - 1))
    assert str(Estimate(13.11449, 0.0144, 39)) == "13.114 ± 0.029"


def test_scores_of_batch_means_are_standard_normal() -> None:
    samples = np.random.default_rng(2).normal(7.0, 3.0, (4000, 10))
    scores = [e.score(7.0) for e in estimates_of(samples)]
    assert stats.kstest(scores, "norm").pvalue > 0.01
    assert significance.chi2_test(scores).p > 0.01
    assert significance.chi2_test([z + 0.5 for z in scores]).p < 1e-6


def test_chi2_is_scipys() -> None:
    test = significance.chi2_test([1.0, -2.0, 0.5])
    assert (test.statistic, test.dof) == (5.25, 3)
    assert test.p == pytest.approx(stats.chi2.sf(5.25, 3))


def test_welch_of_two_is_the_t_test() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.0, 1.0, 12), rng.normal(0.4, 3.0, 12)
    test = significance.welch_test(estimates_of(np.array([a, b])))
    assert test.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)


def test_welch_of_four_has_its_level() -> None:
    rng = np.random.default_rng(4)
    scale = np.array([1.0, 2.0, 3.0, 4.0])[:, None]
    p = [
        significance.welch_test(estimates_of(scale * rng.normal(size=(4, 40)))).p
        for _ in range(1000)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert significance.welch_test([Estimate(m, 0.1, 39) for m in (0.0, 0.0, 0.0, 1.0)]).p < 1e-6


def test_seeds_are_pooled(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    frame = evidence.table(packets.OFF)
    one = frame[(frame["low_threshold"] == 5) & (frame["paused_rate"] == 0.5)].copy()
    batches = rng.normal(13.0, 0.1, (len(one), 10))
    one["throughput"] = batches.mean(axis=1)
    half_width = stats.t.ppf(0.975, 9) * batches.std(axis=1, ddof=1) / 10**0.5
    one["throughput_half_width"] = half_width
    monkeypatch.setattr(packets, "table", lambda _: one)
    ((setting, run),) = packets.runs(packets.OFF).items()
    assert setting == Setting(high=20, low=5, paused_rate=0.5)
    estimate = run.estimates["throughput"]
    assert estimate.value == pytest.approx(batches.mean())
    residuals = batches - batches.mean(axis=1, keepdims=True)
    variance = (residuals**2).sum() / (9 * len(one))
    assert estimate.error == pytest.approx((variance / batches.size) ** 0.5)
    assert estimate.dof == 9 * len(one)
    assert len(run.seeds) == len(one)


def test_runs_are_those_that_the_chain_knows() -> None:
    signalling = packets.runs("malhotra2005/pause-signalling")
    assert {s.paused_rate for s in signalling} == {2.0, 10.0}
    assert not packets.runs("malhotra2005/fixed-recovery-up")


def test_error_of_a_gain() -> None:
    rng = np.random.default_rng(5)
    on, off = rng.normal(13.7, 0.02, 100_000), rng.normal(13.1, 0.03, 100_000)
    gain = packets.ratio_gain(Estimate(13.7, 0.02), Estimate(13.1, 0.03))
    drawn = 100 * (on / off - 1)
    assert gain.value == pytest.approx(drawn.mean(), abs=0.01)
    assert gain.error == pytest.approx(drawn.std(), rel=0.01)


def test_combination() -> None:
    total = packets.combine((Estimate(5.0, 0.3, 39), Estimate(2.0, 0.2, 9)), (1.0, -2.0))
    assert total == Estimate(1.0, 0.5, 9)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((5.0, 4.0, 3.0), Verdict.REPRODUCED),
        ((5.0, 4.0, 0.5), Verdict.NOT_REPRODUCED),
        ((5.0, 4.0, -5.0), Verdict.CONTRADICTED),
        # 2.6 standard errors: enough alone, not as one of three
        ((5.0, 4.0, -2.6), Verdict.NOT_REPRODUCED),
        ((-2.6,), Verdict.CONTRADICTED),
    ],
)
def test_everywhere(values: tuple[float, ...], verdict: Verdict) -> None:
    assert significance.everywhere([Estimate(v, 1.0) for v in values]) is verdict


def test_opposite() -> None:
    assert significance.opposite(Verdict.REPRODUCED) is Verdict.CONTRADICTED
    assert significance.opposite(Verdict.CONTRADICTED) is Verdict.REPRODUCED
    assert significance.opposite(Verdict.NOT_REPRODUCED) is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(("paused_rate", "start"), [(2.0, 5), (2.0, 19), (14.0, 19), (0.1, 12)])
def test_best_threshold_is_that_of_a_full_scan(paused_rate: float, start: int) -> None:
    setting = Setting(high=start, paused_rate=paused_rate)
    scan = {high: chain.solve(setting._replace(high=high)).throughput for high in range(2, 20)}
    assert chain.best_threshold(setting) == max(scan, key=lambda high: scan[high])


# --------------------------------------------------------------------------- other data, other verdicts

Change = Callable[[Any], None]
Perturb = Callable[[str | Sequence[str], Change], None]


@pytest.fixture
def perturbed(monkeypatch: pytest.MonkeyPatch) -> Perturb:
    """Return a function that changes the tables of some cases under the checks."""

    def perturb(cases: str | Sequence[str], change: Change) -> None:
        def table(name: str) -> Any:
            frame = evidence.table(name)
            if name in ((cases,) if isinstance(cases, str) else cases):
                change(frame)
            return frame

        monkeypatch.setattr(packets, "table", table)

    return perturb


def rows(frame: Any, **where: object) -> Any:
    mask = pd.Series(True, index=frame.index)
    for column, value in where.items():
        mask &= frame[column] == value
    return mask


def test_one_lost_packet_breaks_the_flow_balance(perturbed: Perturb) -> None:
    def lose(frame: Any) -> None:
        frame.loc[3, "dropped_2"] -= 1

    perturbed(packets.LOW_THRESHOLD, lose)
    finding = check("M01")
    assert finding.parts[1].simulation is Verdict.CONTRADICTED
    assert finding.model is Verdict.REPRODUCED


def test_a_dependence_on_mu2_is_seen(perturbed: Perturb) -> None:
    def shift(frame: Any) -> None:
        frame.loc[rows(frame, paused_rate=50.0), "throughput"] *= 1.01

    perturbed(packets.OFF, shift)
    assert check("M02").simulation is Verdict.CONTRADICTED


def test_a_gain_that_falls_with_the_rtt_is_seen(perturbed: Perturb) -> None:
    def fall(frame: Any) -> None:
        at = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=15)
        off = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=20)
        frame.loc[at, "throughput"] = 1.01 * frame.loc[off, "throughput"].mean()

    perturbed(packets.THRESHOLDS, fall)
    assert check("M03").simulation is Verdict.CONTRADICTED


def test_a_slight_fall_is_seen(perturbed: Perturb) -> None:
    def flatten(frame: Any) -> None:
        for rtt in (1.0, 5.0):
            top = frame.loc[rows(frame, rtt=rtt, low_threshold=15), "throughput"].mean()
            for low in (1, 5, 10):
                at = rows(frame, rtt=rtt, low_threshold=low)
                frame.loc[at, "throughput"] = top * (1 - 5e-4 * (15 - low))
        frame["throughput_half_width"] /= 10

    perturbed(packets.LOW_THRESHOLD, flatten)
    assert check("M05").simulation is Verdict.REPRODUCED


def test_noise_decides_nothing(perturbed: Perturb) -> None:
    def blur(frame: Any) -> None:
        frame["throughput_half_width"] *= 100

    perturbed(packets.THRESHOLDS, blur)
    for id in ("M03", "M06"):
        assert check(id).simulation is Verdict.NOT_REPRODUCED


def test_an_optimum_at_15_is_seen(perturbed: Perturb) -> None:
    def move(frame: Any) -> None:
        frame.loc[rows(frame, high_threshold=15), "throughput"] *= 1.1

    perturbed(packets.THRESHOLDS, move)
    assert check("M06").parts[1].simulation is Verdict.REPRODUCED


def test_n_3_far_below_n_2_is_seen(perturbed: Perturb) -> None:
    def shrink(frame: Any) -> None:
        for rtt in (1.0, 5.0, 20.0):
            three = rows(frame, arrival_rates="50 25 1", rtt=rtt)
            off = frame.loc[three & rows(frame, high_threshold=20), "throughput"].mean()
            frame.loc[three & (frame["high_threshold"] < 20), "throughput"] = 1.001 * off

    perturbed(packets.GRANULARITY, shrink)
    assert check("M07").parts[0].simulation is Verdict.REPRODUCED


def test_n_4_far_from_n_3_is_seen(perturbed: Perturb) -> None:
    def far(frame: Any) -> None:
        for rates in ("50 34 17 1", "50 38 26 13 1"):
            on = rows(frame, arrival_rates=rates, high_threshold=15)
            frame.loc[on, "throughput"] *= 0.7

    perturbed(packets.LEVELS, far)
    assert check("M07").parts[1].simulation is not Verdict.REPRODUCED


def test_a_gain_that_falls_with_the_load_is_seen(perturbed: Perturb) -> None:
    def fall(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        on = rows(frame, high_threshold=15)
        for rates, rtt in throughput.index:
            at = on & rows(frame, arrival_rates=rates, rtt=rtt)
            gain = 0.3 - 0.06 * np.log(float(rates.split()[0]))
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    perturbed((packets.LOAD, packets.THRESHOLDS, packets.GRANULARITY), fall)
    assert check("M04").parts[0].simulation is Verdict.REPRODUCED


def test_an_influence_of_the_rtt_that_grows_is_seen(
    perturbed: Perturb,
) -> None:
    def grow(frame: Any) -> None:
        at = rows(frame, rtt=20.0, high_threshold=15, arrival_rates="100 1")
        frame.loc[at, "throughput"] *= 1.3

    perturbed(packets.LOAD, grow)
    assert check("M04").parts[1].simulation is not Verdict.REPRODUCED


def test_rates_that_hardly_matter_are_seen(perturbed: Perturb) -> None:
    """Geometric rates as linear ones, and N = 2 far above N = 3."""

    def same(frame: Any) -> None:
        off = frame.loc[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        throughput = off["throughput"].mean()
        for rates, rtt in throughput.index:
            at = rows(frame, arrival_rates=rates, rtt=rtt, high_threshold=15)
            gain = 0.3 if rates == "50 1" else 0.1
            frame.loc[at, "throughput"] = (1 + gain) * throughput[rates, rtt]
        frame["throughput_half_width"] /= 10

    perturbed((packets.LEVELS, packets.GRANULARITY), same)
    assert check("M08").simulation is Verdict.REPRODUCED


def test_a_gain_that_stays_is_seen(perturbed: Perturb) -> None:
    def stay(frame: Any) -> None:
        frame.loc[rows(frame, rtt=1000.0, high_threshold=15), "throughput"] *= 1.1

    perturbed(packets.LARGE_RTT, stay)
    finding = check("M09")
    assert finding.parts[0].simulation is Verdict.CONTRADICTED
    assert finding.parts[1].simulation is Verdict.REPRODUCED


def test_a_chain_that_is_nearer_under_load_is_seen(
    perturbed: Perturb,
) -> None:
    def near(frame: Any) -> None:
        for load in frame["link_a"].unique():
            at = rows(frame, link_a=load, rtt=1.0)
            off = frame.loc[at & rows(frame, pause="off"), "goodput"].mean()
            gain = chain.gain(Setting((float(load), 1.0))) + 10.0 - 2.0 * np.log(load)
            frame.loc[at & rows(frame, pause="on"), "goodput"] = off * (1 + gain / 100)
            frame.loc[at, "goodput"] += 0.01 * np.random.default_rng(9).normal(size=at.sum())

    perturbed((packets.LINK_A, packets.RANDOM_THINK), near)
    assert check("M13").simulation is Verdict.REPRODUCED


def test_slope_is_that_of_the_straight_line() -> None:
    rng = np.random.default_rng(10)
    x = np.array([1.0, 2.0, 4.0, 8.0])
    drawn = 3.0 - 0.5 * x + 0.2 * rng.normal(size=(20_000, 4))
    fitted = np.polyfit(x, drawn.T, 1)[0]
    line = packets.slope([Estimate(3.0 - 0.5 * v, 0.2) for v in x], x.tolist())
    assert line.value == pytest.approx(-0.5)
    assert line.error == pytest.approx(fitted.std(), rel=0.02)


def test_seeds_of_tcp_are_independent_runs() -> None:
    frame = evidence.table(packets.LINK_A)
    seeds = frame[rows(frame, link_a=50, rtt=1.0, pause="on")]["goodput"]
    mean = packets.tcp_goodput(packets.LINK_A, "on")[50.0, 1.0]
    low, high = stats.t.interval(0.95, len(seeds) - 1, seeds.mean(), stats.sem(seeds))
    assert (mean.value, mean.half_width) == pytest.approx((seeds.mean(), (high - low) / 2))


def test_a_bias_of_half_a_per_cent_is_seen(perturbed: Perturb) -> None:
    def shift(frame: Any) -> None:
        frame["throughput"] *= 1.005

    perturbed(packets.THRESHOLDS, shift)
    finding = check("S04")
    assert finding.parts[0].simulation is Verdict.CONTRADICTED
    assert finding.parts[1].simulation is Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("scale", "shift", "holds"),
    [(1.0, 0.0, True), (1.3, 0.0, False), (0.7, 0.0, False), (1.0, 0.4, False)],
)
def test_scores_that_are_not_standard_normal_are_seen(
    scale: float, shift: float, holds: bool
) -> None:
    scores = np.random.default_rng(7).normal(shift, scale, 300)
    assert simulator.normality(list(scores)).holds is holds
    assert not simulator.normality([*scores, 4.1]).holds


def test_scatter_of_seeds_is_an_f_test() -> None:
    rng = np.random.default_rng(8)
    p_values = []
    for _ in range(500):
        batches = rng.normal(size=(10, 10))
        error = float(batches.var(axis=1, ddof=1).sum() / 1000) ** 0.5
        seeds = tuple({"throughput": float(mean)} for mean in batches.mean(axis=1))
        run = packets.Run(Setting(), {"throughput": Estimate(0.0, error, 90)}, seeds)
        p_values.append(simulator.scatter_of_seeds(run))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


def test_expressions_that_differ_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(setting: Setting) -> chain.Answer:
        answer = chain.solve(setting)
        one, two, three = answer.expressions
        return dataclasses.replace(answer, expressions=(one, two, three * (1 + 1e-11)))

    monkeypatch.setattr(conservation, "solve", wrong)
    finding = check("M01")
    assert finding.parts[0].model is Verdict.CONTRADICTED
    assert finding.parts[1].model is Verdict.REPRODUCED
