"""TFRC's loss history against hand computations, the RFC's loop and ns-2's receiver."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from responsefn import (
    LossHistory,
    loss_events,
)
from tests.surface import for_each
from validation import evidence

TRACE = "zheng2002/tfrc-receiver-trace"


def test_weights_are_those_of_the_rfc():
    np.testing.assert_allclose(LossHistory().weights, [1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2])
    np.testing.assert_allclose(LossHistory(n=4).weights, [1, 1, 2 / 3, 1 / 3])


def test_history_by_hand():
    history = LossHistory()
    assert history.rate(100.0) == 0.0
    history.close(100.0)
    assert history.rate(0.0) == pytest.approx(1 / 100)
    history.close(50.0)  # newest first: 50, 100
    assert history.rate(0.0) == pytest.approx(1 / 75)
    assert history.rate(150.0) == pytest.approx(1 / 100)  # (150 + 50 + 100) / 3
    # an open interval of 4 means: discount 2 * 75 / 300 = 1/2
    # the oldest of the two closed ones is left out with the open one (RFC 5348, 5.4: i < k)
    assert history.rate(300.0) == pytest.approx((1 + 0.5) / (300 + 25))
    history.close(300.0)  # the older two keep the discount
    assert history.rate(0.0) == pytest.approx(2 / (300 + 25 + 50))
    plain = LossHistory(100.0, discounting=False)
    assert plain.rate(1000.0) == pytest.approx(1 / 1000)
    plain.close(100.0)
    assert plain.rate(1000.0) == pytest.approx(2 / 1100)
    old = LossHistory(100.0)
    old.close(100.0)
    assert old.rate(1e6) == pytest.approx(1.25 / (1e6 + 25))  # not below 1/4


def test_only_eight_intervals_count():
    history = LossHistory(1e9)
    for _ in range(8):
        history.close(100.0)
    assert history.rate(0.0) == pytest.approx(0.01)


def test_loss_events_and_first_interval():
    lost, sent = [10, 11, 15, 40, 90], [1.0, 1.01, 1.09, 1.2, 2.0]
    assert loss_events(lost, sent, 0.1).tolist() == [10, 40, 90]
    with pytest.raises(ValueError, match="shape"):
        loss_events([1, 2], [0.1], 0.1)
    with pytest.raises(ValueError, match=r"^length = 0"):
        LossHistory().close(0.0)


def test_a_loss_exactly_one_round_trip_later_belongs_to_the_event():
    """ns-2's new_loss asks for more than the round-trip time; all numbers are exact in binary."""
    sent, later = 1.0, math.nextafter(1.25, 2.0)
    assert loss_events([1, 2], [sent, 1.25], 0.25).tolist() == [1]
    assert loss_events([1, 2], [sent, later], 0.25).tolist() == [1, 2]
    # the next event is counted from the loss that began it, not from the last loss
    assert loss_events([1, 2, 3, 4], [1.0, 1.25, 1.5, 1.75], 0.25).tolist() == [1, 3]


@pytest.mark.parametrize("seed", [1, 2])
def test_every_report_of_ns2s_receiver(seed):
    reports, events = (evidence.table(TRACE, name) for name in ("reports", "events"))
    reports, events = (frame[frame["seed"] == seed] for frame in (reports, events))
    history = LossHistory(float(reports["interval_1"].iloc[0]), least_discount=0.5)
    known = 0
    sooner = []
    for row in reports.iloc[1:].itertuples():
        while known < len(events) and events["time"].iloc[known] <= row.time + 1e-9:
            history.close(float(events["interval"].iloc[known]))
            known += 1
        rate = history.rate(float(row.interval_0))
        if known + 1 >= len(history.weights):
            assert rate == pytest.approx(row.p, abs=5.001e-6)
        else:  # ns-2 counts one interval more than the RFC beside the open one
            sooner.append(rate - row.p)
    assert known == len(events) > 100
    assert 0 < len(sooner) < len(reports) / 4
    assert -5.001e-6 <= min(sooner) < 1e-5 < max(sooner)


@for_each([1, 2, 3, 5, 7, 8, 12])
def test_loss_history_is_the_loop_of_rfc5348(k):
    """Sect. 5.4: I_tot0 over i = 0 .. k-1, I_tot1 over 1 .. k, for k <= 8 closed intervals."""
    history = LossHistory(discounting=False)
    lengths = [100.0 + 10 * n for n in range(k)]
    for length in lengths:
        history.close(length)
    known = [900.0, *lengths[::-1]][:9]
    k = min(k, 8)
    w = [1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2][:k]
    newest = sum(i * x for i, x in zip(known, w, strict=False))
    older = sum(i * x for i, x in zip(known[1:], w, strict=True))
    assert history.rate(900) == pytest.approx(sum(w) / max(newest, older), rel=1e-14)


@for_each([1, 2, 3, 5, 16])
def test_histories_of_other_lengths_have_the_weights_of_the_rfc(n):
    """Sect. 5.4: w_i = 1 for i < n/2, then 2 (n - i)/(n + 2)."""
    w = [1.0 if i < n / 2 else 2.0 * (n - i) / (n + 2) for i in range(n)]
    assert LossHistory(n=n).weights == pytest.approx(w, rel=1e-14)
    history, lengths = LossHistory(n=n, discounting=False), [100.0 + 10 * i for i in range(20)]
    for length in lengths:
        history.close(length)
    closed = lengths[: -1 - n : -1]
    for opened in (0.0, 150.0, 900.0):
        newest = sum(i * x for i, x in zip([opened, *closed], w, strict=False))
        older = sum(i * x for i, x in zip(closed, w, strict=True))
        assert history.rate(opened) == pytest.approx(sum(w) / max(newest, older), rel=1e-14)


@for_each([1, 2, 3])
def test_discounts_of_older_intervals_multiply(seed):
    """Sect. 5.5: DF = max(2 I_mean / I_0, 1/4) where I_0 exceeds twice the mean; each loss event keeps it for older ones."""
    draw, history = random.Random(seed), LossHistory()
    weights, lengths, kept = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2], [], []
    for _ in range(60):
        opened, factor = 10 ** draw.uniform(0.5, 3.5), 1.0
        if lengths:
            older = [w * k for w, k in zip(weights, kept, strict=False)]
            mean = sum(w * i for w, i in zip(older, lengths, strict=True)) / sum(older)
            factor = max(2.0 * mean / opened, 0.25) if opened > 2.0 * mean else 1.0
            newest = [1.0, *(w * k * factor for w, k in zip(weights[1 : len(lengths)], kept, strict=False))]
            including = sum(w * i for w, i in zip(newest, [opened, *lengths], strict=False)) / sum(newest)
            assert history.rate(opened) == pytest.approx(1.0 / max(mean, including), rel=1e-12)
        if draw.random() < 0.7:
            history.close(opened)
            lengths, kept = [opened, *lengths][:8], [1.0, *(factor * k for k in kept)][:8]
