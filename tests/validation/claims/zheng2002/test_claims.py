"""The claims on friendly rules: what decides them, and evidence that says otherwise."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

from responsefn import AIMD
from responsefn.responses.closed_forms.symbolic import a, b, p
from validation import Verdict
from validation.claims.zheng2002 import precise_form, responses_to_change
from validation.claims.zheng2002.loss_sweeps import INDEPENDENT, PERIODIC, REFERENCE
from validation.claims.zheng2002.more_flows import QUARTER, TCP, TFRC, by_delay, gap, modelled
from validation.claims.zheng2002.one_kind import LOW_THRESHOLD_CASE, ONE_KIND, _grows, _losses
from validation.claims.zheng2002.queues import KINDS, _marked
from validation.claims.zheng2002.red import variation

# Two kinds of flow, in growing numbers and at growing distances.


def test_kinds_with_one_law_have_no_gap_in_the_model() -> None:
    assert {e.value for e in modelled(QUARTER, TCP, [2, 16]).values()} == {0.0}


def test_gaps_change_sign_with_the_order_of_the_kinds() -> None:
    one, other = modelled(TFRC, TCP, [8])[8], modelled(TCP, TFRC, [8])[8]
    assert one.value == pytest.approx(-other.value, abs=2e-6)


def test_the_gap_of_runs_is_the_mean_logarithm_over_the_seeds() -> None:
    found = gap("zheng2002/friendliness-15", TFRC, TCP)
    assert set(found) >= {2, 16, 64}
    assert all(e.error > 0 for e in found.values())


def test_rates_fall_as_the_inverse_of_the_round_trip_time() -> None:
    """All flows see one loss rate and one wait: rates are as 1/RTT where timeouts are alike."""
    rates = by_delay(TFRC, TCP)[TCP]
    assert all(a > b for a, b in itertools.pairwise(rates))


# Flows of one kind behind RED.


def test_loss_of_the_fixed_point_grows_with_the_flows_and_with_lower_thresholds() -> None:
    high, low = (_losses(case, "TFRC", [10, 40, 70]) for case in (ONE_KIND, LOW_THRESHOLD_CASE))
    assert all(e.value > 0 for e in _grows(high))
    assert all(b > a for a, b in zip(high, low, strict=True))


# Z01 would find a misprint.


def test_precise_form_exceeds_recovery_form_numerically_too() -> None:
    loss = np.geomspace(1e-6, 1, 50)
    for increase in (0.01, 0.2, 1.0, 30.0):
        for decrease in (0.01, 0.125, 0.5, 0.99):
            precise, recovery = (
                AIMD(increase, decrease, form=form).mean_window(loss)
                for form in ("precise", "recovery")
            )
            assert np.all(np.asarray(precise) > np.asarray(recovery))


def test_the_condition_on_a_is_needed() -> None:
    rate = AIMD(form="precise").formula().rate
    half = {a: sp.Integer(1), b: sp.Rational(1, 2)}
    assert precise_form.is_zero(rate.subs(a, 3 * b / (2 - b)) - rate.subs(half))
    assert not precise_form.is_zero(rate.subs(a, 2 * b / (2 - b)) - rate.subs(half))


def test_a_misprint_would_be_found(monkeypatch) -> None:
    wrong = precise_form.printed_response().subs(p, 2 * p)
    monkeypatch.setattr(precise_form, "printed_response", lambda: wrong)
    found = precise_form.judge(precise_form.measure.measure())
    assert [sides.model for sides in found.values()] == [Verdict.CONTRADICTED] * 2


# RED against DropTail, and marks instead of drops.


def test_independent_losses_make_every_kind_rougher_than_periodic_ones() -> None:
    assert all(variation(kind) > variation(kind, periodic=True) for kind in KINDS)


def test_marks_end_where_the_probability_passes_their_limit() -> None:
    assert _marked("TCP(1,1/2)", "TFRC", 5) > 0.0
    assert _marked("TCP(1,1/2)", "TFRC", 100) == 0.0


# Z19 notices a TFRC that is as quick as TCP, and a report that the loss history misses.


def test_a_tfrc_as_quick_as_tcp_contradicts() -> None:
    found = responses_to_change.measure()
    for name in ("down", "up"):
        quick = {**getattr(found, name), "TFRC": getattr(found, name)[REFERENCE]}
        judged = responses_to_change.judge(dataclasses.replace(found, **{name: quick}))
        assert judged[name].model is Verdict.CONTRADICTED


def test_a_tfrc_quicker_than_tcp_in_packets_contradicts() -> None:
    """The packets that it misses, or sends too many, after a step."""
    found = responses_to_change.measure()
    for name, key in (("missing", "up"), ("surplus", "down")):
        steps = getattr(found, name)
        quick = dataclasses.replace(steps[REFERENCE], value=steps[REFERENCE].value - 500.0)
        changed = dataclasses.replace(found, **{name: {**steps, "TFRC": quick}})
        assert responses_to_change.judge(changed)[key].packets is Verdict.CONTRADICTED


def test_one_report_missed_contradicts() -> None:
    found = responses_to_change.measure()
    first, replay = next(iter(found.replays.items()))
    missed = dataclasses.replace(replay, met=replay.met - 1)
    changed = dataclasses.replace(found, replays={**found.replays, first: missed})
    assert responses_to_change.judge(changed)["history"].packets is Verdict.CONTRADICTED


def test_a_shifted_interval_is_missed(doctor) -> None:
    def shift(frame):
        return frame.assign(interval=frame["interval"] + 1)

    doctor(responses_to_change.TRACE, shift, "events")
    replay = responses_to_change.replay(1)
    assert replay.met < replay.reports


# Z02 depends on the rates.

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
NA = Verdict.NOT_APPLICABLE


def test_statements_are_as_found(judged) -> None:
    assert list(judged("Z02").values()) == [(R, NA), (R, NA), (R, R), (R, R)]


@pytest.mark.parametrize(("factor", "verdict"), [(1.4, R), (0.526, N), (0.4, C)])
def test_equal_response_depends_on_the_rates(
    scale: Callable[..., None], judged, factor: float, verdict: Verdict
) -> None:
    scale(INDEPENDENT, "TCP(1/5,1/8)", factor)
    assert judged("Z02")["independent"] == (R, verdict)
    scale(PERIODIC, "TCP(1/5,1/8)", 0.4, low=50)
    assert judged("Z02")["periodic"] == (R, C)
