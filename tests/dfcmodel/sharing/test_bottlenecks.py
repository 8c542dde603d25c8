"""Flows at one bottleneck on the packet engine: known laws, and ns-2's pairs."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.sharing.bottlenecks import Bottleneck, checked_rules, mean_of, within_limits
from responsefn import (
    DCTCP,
    Independent,
    NewReno,
    Reno,
    WindowRule,
    simulate_rule,
)
from tests.dfcmodel.sharing.ns2_pairs import LINUX, PAIRS
from validation import evidence

PATH = Bottleneck(2000.0, 0.04, 80, duration=40.0, warm_up=8.0)


def test_one_flow_fills_the_link() -> None:
    run = PATH.run([NewReno()], seed=1)
    assert run.utilisation == pytest.approx(1.0, abs=5e-3)
    assert 0.0 < run.delay < 80 / 2000.0
    assert run.share.tolist() == [1.0]


@pytest.mark.parametrize(("rule", "p"), [(NewReno(), 1e-3), (NewReno(), 3e-3), (DCTCP(), 3e-3)])
def test_random_loss_gives_the_rate_of_the_window_model(rule: WindowRule, p: float) -> None:
    """5 %: the noise of three seeds, and the round trip of recovery, which the model leaves out.

    At p = 0.01, windows of 11 packets, that alone is 13 %. Where nothing is marked DCTCP answers losses as NewReno does.
    """
    path = PATH.changed(bandwidth=1e5, buffer=10_000, loss=p, duration=100.0, warm_up=10.0)
    rates = [float(path.run([rule], seed=seed).rate[0]) for seed in (1, 2, 3)]
    model = simulate_rule(NewReno(), p, 0.04, Independent(), events=20_000).rate
    assert np.mean(rates) == pytest.approx(model, rel=0.05)


def test_a_short_flow_says_when_it_finished() -> None:
    run = PATH.run([NewReno(), NewReno()], seed=1, starts=[0.0, 20.0], sizes=[np.inf, 50.0])
    assert np.isnan(run.finished[0])
    assert 0.04 * 5 < run.finished[1] < 5.0


def test_rules_that_are_none_or_answer_marks_are_refused() -> None:
    with pytest.raises(TypeError, match="window rule"):
        checked_rules((Reno,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="marks"):
        checked_rules((DCTCP(),))
    with pytest.raises(ValueError, match="differ"):
        checked_rules((Reno(), Reno()))


def test_half_width_is_students() -> None:
    """For 1, 2, 3: s = 1, t(2, 97.5 %) = 4.303."""
    mean, half = mean_of([1.0, 2.0, 3.0])
    assert (mean, half) == (2.0, pytest.approx(4.3027 / np.sqrt(3), rel=1e-4))
    assert np.isnan(mean_of([1.0])[1])


def test_intervals_within_limits_hold_the_truth_as_often() -> None:
    """Of 2000 means of three shares near 1, as of those that are not cut: in a part of them what is beyond 1 is cut."""
    rng, truth = np.random.default_rng(1), 0.9
    held = cut = 0
    for _ in range(2000):
        mean, half = mean_of(rng.beta(45.0, 5.0, 3))
        low, high = within_limits(mean, half, 0.0, 1.0)
        assert 0.0 <= low <= mean <= high <= 1.0
        held += low < truth < high
        assert (low < truth < high) == (abs(mean - truth) < half)
        cut += high == 1.0
    assert 1860 <= held <= 1940  # binomial: 1900 +- 4 standard deviations
    assert cut > 200
    assert np.isnan(within_limits(0.7, np.nan, 0.0, 1.0)).all()


@pytest.mark.slow
def test_shares_of_ns2s_pairs() -> None:
    """0.04 in the median over the 10 pairs of different rules: the difference of simulators."""
    flows = evidence.table(PAIRS, "flows")
    links = evidence.table(PAIRS, "links").set_index(["first", "second", "seed"])
    errors = []
    for (first, second), pair in flows.groupby(["first", "second"]):
        if first == second or not {first, second} <= set(LINUX):
            continue
        ours, theirs = [], []
        for seed, two in pair.sort_values("flow").groupby("seed"):
            link = links.loc[(first, second, seed)]
            rate, base = link["rate"] / 12_000.0, float(two["base_rtt"].iloc[0])
            path = Bottleneck(
                rate, base, int(link["buffer"]), float(link["loss"]),
                duration=float(link["begin"] + link["duration"]), warm_up=float(link["begin"]),
            )  # fmt: skip
            rules = [LINUX[first], LINUX[second]]
            run = path.run(rules, seed=int(seed), starts=two["start"].tolist())
            ours.append(run.share[0])
            theirs.append(two["goodput"].iloc[0] / two["goodput"].sum())
        errors.append(abs(np.mean(ours) - np.mean(theirs)))
    assert len(errors) >= 10
    assert np.median(errors) < 0.04


def test_a_buffer_is_a_plain_whole_number() -> None:
    """Identical flows share a row, and its key has the buffer in it."""
    assert type(Bottleneck(500.0, 0.03, np.asarray(20)).buffer) is int  # type: ignore[arg-type]
