"""DCQCN against its published algorithm and fluid model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from responsefn import DCQCN, Elapsed, Feedback, catalogue, invert

LINE = 1e6
RULE = DCQCN(stages=5, additive=100.0, hyper=1000.0, counter=1e9, timer=60e-6)


def waited(state, seconds: float, step: float = 1e-6, sent: float = 0.0, rule: DCQCN = RULE):
    """Return the state after some time without feedback."""
    begin = state.notified if np.isfinite(state.notified) else 0.0
    for n in range(1, round(seconds / step) + 1):
        state = rule.on_time(state, rule.params, Elapsed(begin + n * step, step, sent))
    return state


def notified(time: float = 0.0, state=None, marks: float = 1.0, rule: DCQCN = RULE):
    state = rule.start(LINE) if state is None else state
    state = rule.on_feedback(state, rule.params, Feedback(time, 1e-5, 3.0, marks))
    return rule.on_time(state, rule.params, Elapsed(time, 1e-6, 0.0))


def test_the_first_notification_halves_the_rate_and_aims_at_the_old_one() -> None:
    state = notified()
    assert (state.rate, state.target, state.alpha) == (0.5 * LINE, LINE, 1.0)


def test_fast_recovery_halves_the_distance_five_times_then_the_target_grows() -> None:
    state = notified()._replace(line_rate=10 * LINE)
    for rounds in range(1, 6):
        at = waited(state, 61e-6 + 60e-6 * (rounds - 1))
        assert at.target == LINE
        assert at.rate == pytest.approx(LINE * (1.0 - 0.5 ** (rounds + 1)), rel=1e-12)
    at = waited(state, 61e-6 + 60e-6 * 5)
    assert at.target == LINE + 100.0
    assert at.rate == pytest.approx(0.5 * (LINE * (1.0 - 0.5**6) + LINE + 100.0), rel=1e-12)


def test_the_target_never_exceeds_the_line() -> None:
    assert waited(notified(), 1e-3).target == LINE


def test_counter_and_timer_together_lead_to_hyper_increase() -> None:
    rule = RULE.replace(counter=60.0)  # one packet per step: rounds at the same times
    state = notified(rule=rule)._replace(line_rate=10 * LINE)
    before = waited(state, 61e-6 + 60e-6 * 4, sent=1.0, rule=rule)
    assert (before.rounds_of_timer, before.rounds_of_counter) == (5.0, 5.0)
    after = waited(state, 61e-6 + 60e-6 * 5, sent=1.0, rule=rule)
    # the sixth round of the timer is additive, that of the counter finds both beyond five
    assert after.target == LINE + 100.0 + 1000.0


def test_alpha_falls_without_notifications_and_rises_with_them() -> None:
    state = waited(notified(), 56e-6 + 55e-6 * 9)
    assert state.alpha == pytest.approx((1 - 1 / 256) ** 10, rel=1e-12)
    again = notified(1e-3, state)
    assert again.alpha == pytest.approx(state.alpha * (1 - 1 / 256) + 1 / 256, rel=1e-12)
    assert again.rate == pytest.approx(state.rate * (1 - 0.5 * state.alpha), rel=1e-12)


def test_notifications_are_50_microseconds_apart_and_none_is_forgotten() -> None:
    state = notified(20e-6, notified())
    assert state.waiting == 1.0
    assert state.rate == 0.5 * LINE
    held = RULE.on_time(state, RULE.params, Elapsed(49e-6, 1e-6, 0.0))
    cut = RULE.on_time(held, RULE.params, Elapsed(50e-6, 1e-6, 0.0))
    assert (held.rate, cut.rate) == (0.5 * LINE, 0.25 * LINE)


def test_a_receiver_may_ignore_marks_between_notifications() -> None:
    rule = RULE.replace(remembers=0)
    state = notified(20e-6, notified(rule=rule), rule=rule)
    assert state.waiting == 0.0
    later = notified(49e-6, state, rule=rule)
    assert rule.on_time(later, rule.params, Elapsed(50e-6, 1e-6, 0.0)).rate == 0.5 * LINE
    assert notified(50e-6, state, rule=rule).rate == 0.25 * LINE
    with pytest.raises(ValueError, match=r"^remembers of DCQCN.* = 0: must be 1"):
        rule.rate(1e-3)


def test_parts_of_a_marked_packet_are_one_mark() -> None:
    state = RULE.start(LINE)
    for part, waiting in ((0.25, 0.0), (0.5, 0.0), (0.25, 1.0)):
        state = RULE.on_feedback(state, RULE.params, Feedback(0.0, 1e-5, 1.0, part))
        assert state.waiting == waiting
    assert state.pending_marks == 0.0


def fluid_model(rule: DCQCN, p: float):
    """Return the right-hand sides of the paper's fluid model (Sect. 5.1, eqs. 5 to 7) at constant p."""
    g, tau, K, T, B, F, R_AI, *_ = rule.params

    def derivatives(_: float, y):
        alpha, target, rate = y
        marked = 1.0 - (1.0 - p) ** (tau * rate)
        by_counter = rate * p / ((1.0 - p) ** -B - 1.0)
        by_timer = rate * p / ((1.0 - p) ** (-T * rate) - 1.0)
        growth = R_AI * (by_counter * (1 - p) ** (F * B) + by_timer * (1 - p) ** (F * T * rate))
        return [
            g / K * (1.0 - (1.0 - p) ** (K * rate) - alpha),
            -(target - rate) / tau * marked + growth,
            -rate * alpha / (2 * tau) * marked + (target - rate) / 2 * (by_counter + by_timer),
        ]

    return derivatives


@pytest.mark.parametrize("rule", [DCQCN(), DCQCN(counter=100.0, timer=300e-6)], ids=repr)
@pytest.mark.parametrize("p", [3e-4, 1e-3, 1e-2])
def test_rate_is_where_the_published_fluid_model_comes_to_rest(rule: DCQCN, p: float) -> None:
    start = [1.0, 1e6, 5e5]
    end = solve_ivp(fluid_model(rule, p), (0.0, 3.0), start, "LSODA", rtol=1e-9, atol=1e-9).y[:, -1]
    assert end[2] == pytest.approx(rule.rate(p), rel=1e-5)


def test_rate_is_that_of_the_published_approximation_for_few_marks() -> None:
    """p^3 = R_AI (1/B + 1/(T R))^2 / (tau' R^2) (Zhu et al. 2016, ECN or delay, theorem 1).

    It is the first order in p F B, p F T R and p tau R, 0.01 at most here.
    """
    rule = DCQCN(counter=20.0, timer=2e-6, additive=1e-3)
    _, tau, K, T, B, F, R_AI, *_ = rule.params
    p = 2e-5
    a = p**1.5 * math.sqrt(K / R_AI)  # a R^2 - R / B - 1 / T = 0
    R = (1 / B + math.sqrt(1 / B**2 + 4 * a / T)) / (2 * a)
    assert max(p * F * B, p * F * T * R, p * K * R, p * tau * R) < 0.01
    assert rule.rate(p) == pytest.approx(R, rel=0.01)


@pytest.mark.slow
def test_senders_with_random_marks_are_near_the_fluid_model() -> None:
    """Three senders of 0.06 s differ by 6 % of the mean: three standard errors of it are 10 %."""
    p, step, line, steps = 1e-3, 2e-6, 1e8, 40_000
    rule, rates = DCQCN(), []
    for seed in range(3):
        random = np.random.default_rng(seed)
        state = rule.start(line)._replace(rate=2e6, target=2e6, alpha=0.1, next_round=0.0, next_fall=0.0)
        total, credit = 0.0, 0.0
        for k in range(steps):
            sent = state.rate * step
            credit += sent
            whole = int(credit)
            credit -= whole
            if whole and (marks := random.binomial(whole, p)):
                state = rule.on_feedback(state, rule.params, Feedback(k * step, 1e-5, whole, float(marks)))
            state = rule.on_time(state, rule.params, Elapsed(k * step, step, sent))
            total += sent * (k >= steps // 4)
        rates.append(total / (0.75 * steps * step))
    assert np.mean(rates) == pytest.approx(rule.rate(p), rel=0.1)


def test_catalogue_and_why_there_is_no_inverse() -> None:
    entry, *others = catalogue("rate rule").entries
    assert entry == DCQCN()
    row, *without = catalogue("rate rule").rows()
    assert [one["equation"] for one in without] == ["none"] * len(others)
    assert (row["kind"], row["equation"]) == ("rate rule", "fixed point")
    with pytest.raises(TypeError, match="never at rest"):
        invert(entry, 1e6, 0.01)


def test_without_marks_the_model_is_never_at_rest() -> None:
    """At most one notification in tau, however large the rate: the counter outgrows them."""
    rates = DCQCN().rate(np.array([1e-12, 1e-9, 1e-7, 1e-3, 1.0]))
    assert np.isinf(rates[:2]).all()
    assert (np.diff(rates[1:]) < 0.0).all()


@pytest.mark.parametrize("remembers", [1, 0])
def test_notifications_are_counted_as_a_receiver_sends_them(remembers: int) -> None:
    """One per interval while packets are marked: a list of marks, and the receiver's rule written by itself."""
    random = np.random.default_rng(1)
    rule = RULE.replace(remembers=remembers, counter=1e9)
    marks = np.cumsum(random.exponential(30e-6, 400)) * random.choice([1.0, 1.0, 1.02], 400)
    marks = np.sort(np.round(marks, 6))
    due, last, told = math.inf, -math.inf, 0
    state, end = rule.start(LINE), marks[-1] + 1e-3
    times = np.unique(np.concatenate([marks, np.arange(0.0, end, 1e-6).round(6)]))
    for now in times:
        marked = now in marks
        if marked:
            state = rule.on_feedback(state, rule.params, Feedback(now, 1e-5, 1.0, 1.0))
        state = rule.on_time(state, rule.params, Elapsed(now, 1e-6, 0.0))
        if marked and (remembers or now >= last + rule.params.notification):
            due = min(due, now)
        if due <= now and now >= last + rule.params.notification:
            due, last, told = math.inf, now, told + 1
    assert state.notifications == told
    assert 100 < told < 400
