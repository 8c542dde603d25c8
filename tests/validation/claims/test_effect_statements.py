"""Statements of differences: the smallest one that counts, and the weakest estimate."""

from __future__ import annotations

import pytest

from validation import Verdict
from validation.claims.effect_statements import Statement, beyond
from validation.statistics import Estimate

SEEN = Estimate(0.05, 0.001, 9)


def test_another_smallest_difference_moves_all_sides() -> None:
    seen = beyond(SEEN, 0.1)
    moved = Statement((seen,), (seen,), level=(seen,), least=0.1).counting_from(0.02)
    for side in (moved.packets, moved.model, moved.level):
        assert isinstance(side, tuple)
        assert side[0].value == pytest.approx(0.03)
        assert side[0].error == pytest.approx(SEEN.error)
    assert moved.least == 0.02


def test_statements_without_one_and_verdicts_stay() -> None:
    signs = Statement((SEEN,))
    assert signs.counting_from(0.02) is signs
    limited = Statement(Verdict.INCONCLUSIVE, least=0.1)
    assert limited.counting_from(None) is limited
    assert limited.counting_from(0.02).packets is Verdict.INCONCLUSIVE


def test_the_weakest_estimate_is_the_least_certain() -> None:
    assert Statement((SEEN, Estimate(0.05, 0.1, 9))).weakest.error == 0.1


def test_simulators_are_judged_by_themselves_and_none_is_dropped() -> None:
    more, less = Estimate(0.3, 0.01, 9), Estimate(-0.3, 0.01, 9)
    statement = Statement({"ns-2": (more,), "ns-3": (less,)}, (more,))
    assert statement.judged_simulators(0.01, 0.1) == {
        "ns-2": Verdict.HOLDS,
        "ns-3": Verdict.CONTRADICTED,
    }
    assert statement.judged(0.01, 0.1) == (Verdict.HOLDS, Verdict.DISAGREE)
    assert statement.quantities == {"ns-2": (more,), "ns-3": (less,)}
    assert Statement((more,)).judged_simulators(0.01, 0.1) is None


def test_a_negative_least_is_what_is_allowed() -> None:
    """A fall by 0.001 counts at half of the slack, and not at the slack."""
    allowed = Statement((beyond(Estimate(-0.001, 0.0), -0.0015),), least=-0.0015)
    assert allowed.judged(0.01, 0.1).packets is Verdict.HOLDS
    assert allowed.counting_from(0.00075).judged(0.01, 0.1).packets is Verdict.CONTRADICTED
