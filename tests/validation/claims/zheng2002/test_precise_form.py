"""Z01 would find a misprint."""

from __future__ import annotations

import numpy as np
import sympy as sp

from responsefn import AIMD
from responsefn.responses.closed_forms.symbolic import a, b, p
from validation.claims.zheng2002 import precise_form
from validation.verdicts import Verdict


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
