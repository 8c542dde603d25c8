"""Expressions as statements: what varies apart from what does not, and quarter powers as roots."""

from __future__ import annotations

import itertools
import math

import pytest
import sympy as sp

from responsefn.responses.closed_forms.printing import statements

x, c = sp.symbols("x c", positive=True)


def run(code, **values):
    scope = {"math": math, **values}
    exec("\n".join((*code.before, *code.inside)), scope)  # noqa: S102
    return scope["value"]


@pytest.mark.parametrize("quarters", [-7, -3, -2, -1, 1, 2, 3, 5, 6])
def test_quarter_powers_are_products_and_square_roots(quarters):
    code = statements(c * x ** sp.Rational(quarters, 4), {"x"})
    assert "**" not in "".join(code.inside)
    assert run(code, x=3.7, c=2.0) == pytest.approx(2.0 * 3.7 ** (quarters / 4), rel=1e-15)


def test_what_does_not_vary_is_computed_before():
    code = statements(sp.exp(c) * x + sp.sin(sp.exp(c)), {"x"})
    assert code.constants == ("c",)
    assert "exp" in "".join(code.before)
    assert "exp" not in "".join(code.inside)
    assert run(code, x=0.5, c=0.3) == pytest.approx(math.exp(0.3) * 0.5 + math.sin(math.exp(0.3)))


def test_a_negation_is_python():
    a, b = sp.symbols("a b")
    for condition in (sp.Not(a), sp.And(b, sp.Not(a)), sp.Not(sp.And(a, b), evaluate=False)):
        code = statements(condition, {"a", "b"})
        for p, q in itertools.product((False, True), repeat=2):
            assert run(code, a=p, b=q) == bool(condition.subs({a: p, b: q}))
