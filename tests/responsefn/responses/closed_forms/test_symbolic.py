"""Forms against each other, in symbols."""

from __future__ import annotations

import mpmath as mp
import pytest
import sympy as sp

from responsefn import AIMD, Reno
from responsefn.responses.closed_forms.symbolic import R, T, a, b, p


@pytest.fixture(autouse=True)
def _fifty_digits():
    with mp.workdps(50):
        yield


def test_precise_form_is_the_exact_inverse_of_p_of_w():
    formula = AIMD(form="precise").formula()
    window = formula.peak_window
    p_of_w = 2 * a / (b * (2 - b) * window**2 + a * (2 - b) * window)
    assert sp.simplify(p_of_w - p) == 0
    assert sp.simplify(formula.rate - (2 - b) * window / (2 * R)) == 0


def test_square_root_form_in_symbols():
    squared = AIMD().expression ** 2
    assert sp.simplify(squared - a * (2 - b) / (2 * b * p) / R**2) == 0
    assert sp.simplify(Reno().expression - sp.sqrt(sp.Rational(3, 2) / p) / R) == 0


@pytest.mark.parametrize("form", ["sqrt", "precise"])
def test_closed_inverse_undoes_the_rate_in_symbols(form):
    formula = AIMD(form=form).formula()
    assert sp.simplify(formula.inverse.subs(T, formula.rate) - p) == 0
