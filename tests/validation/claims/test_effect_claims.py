"""Differences and ratios: how they are judged and drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from validation import Verdict
from validation.claims.effect_claims import (
    EQUAL,
    Effects,
    Statement,
    beyond,
    by,
    deviation,
    judging,
)
from validation.statistics import Estimate

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE
A = Verdict.NOT_APPLICABLE
SIGNS, EQUALITY = judging({"level": 0.01}), judging({"level": 0.01, "margin": EQUAL})
COUNTING = judging({"level": 0.01, "least": 0.1})
SURE, UNSURE = Estimate(1.0, 0.1, 9), Estimate(1.0, 1.0, 9)


def of(statement: Statement, **others: Statement) -> Effects:
    return Effects({"it": statement}, {}, ("x", "y"), readings={"other": others})


@pytest.mark.parametrize(
    ("packets", "verdict"),
    [((SURE, SURE), R), ((SURE, UNSURE), N), ((SURE, -SURE), C), (C, C), (None, A)],
)
def test_signs_decide(packets, verdict: Verdict) -> None:
    assert SIGNS.judge(of(Statement(packets)))["it"] == (A, verdict)


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [(0.02, 0.01, R), (0.02, 0.1, N), (0.3, 0.01, C), (-0.3, 0.01, C)],
)
def test_equality_needs_both_sides_within_the_margin(value, error, verdict: Verdict) -> None:
    found = of(Statement((Estimate(value, error),), equal=True))
    assert EQUALITY.judge(found)["it"].packets is verdict
    assert EQUALITY.judge(found, margin=1.0)["it"].packets is R


@pytest.mark.parametrize(("least", "verdict"), [(0.1, C), (0.05, N), (0.01, R)])
def test_the_smallest_difference_that_counts_is_a_threshold(least, verdict: Verdict) -> None:
    seen = beyond(Estimate(0.05, 0.001, 9), 0.1)
    found = of(Statement((seen,), (seen,), level=(seen,), least=0.1), it=Statement((seen,)))
    assert COUNTING.judge(found, least=least)["it"] == (verdict, verdict)
    assert COUNTING.packet_level(found, least=least)["it"] is verdict
    assert COUNTING.readings(found, least=least)["other"]["it"].packets is C


def test_quantities_may_be_functions_of_further_thresholds() -> None:
    judges = judging({"level": 0.01, "times": 2.0})
    found = of(Statement(lambda given: (Estimate(3.0 - given["times"], 0.1),)))
    assert judges.judge(found)["it"].packets is R
    assert judges.judge(found, times=4.0)["it"].packets is C


def test_a_reading_leaves_the_model_as_it_is() -> None:
    found = of(Statement((SURE,), (SURE,)), it=Statement((-SURE,)))
    assert SIGNS.readings(found) == {"other": {"it": (A, C)}}


def test_means_over_seeds_average_the_flows_of_a_run_first() -> None:
    frame = pd.DataFrame({"kind": "a", "seed": [1, 1, 2, 2], "rate": [1.0, 3.0, 4.0, 6.0]})
    found = by(frame, "kind", "rate")["a"]
    assert (found.value, found.dof) == (3.5, 1)
    assert found.error == pytest.approx(np.std([2.0, 5.0], ddof=1) / np.sqrt(2))


def test_deviation_from_a_number() -> None:
    assert deviation(Estimate(1.2, 0.1, 4), 1.0).value == pytest.approx(0.2)
