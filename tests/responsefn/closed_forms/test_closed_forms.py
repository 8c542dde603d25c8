"""Closed forms: laws, regions, ratios and the function of Lambert."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
import sympy as sp
from scipy.special import lambertw

from hopflow import maximum
from responsefn import (
    AIMD,
    CUBIC,
    HTCP,
    TFRC,
    NewReno,
    QUICNewReno,
    Reno,
    WindowRule,
    fused,
    hystart,
    invert,
    simulate_rule,
)
from responsefn.closed_forms import symbolic
from responsefn.closed_forms.cubic_region import PlateauRatio, ends
from responsefn.closed_forms.functions import lambert_w, solve_plateau
from responsefn.closed_forms.printed import LAMBERT_W
from responsefn.closed_forms.printing import statements
from tests.responsefn.closed_rules import RTT, SMOOTH, P
from tests.surface import for_each

# Compiled closed forms give the numbers of the checked functions.

FIRST = {type(rule): rule for rule in reversed(SMOOTH)}.values()
"""One of each class; the others are variants of its formula."""


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, id=repr(rule), marks=[] if rule in FIRST else pytest.mark.slow) for rule in SMOOTH],
)
def test_fused(rule):
    law = fused(rule, RTT)
    holds = rule.closed_form_holds(P, RTT)
    np.testing.assert_allclose(law(P)[holds], rule.rate(P[holds], RTT), rtol=2e-13)
    assert np.isnan(law(P)[~holds]).all()
    out = np.empty_like(P)
    assert law(P, out) is out
    first = np.argmax(holds)
    range_ = slice(first, first + np.argmax(np.append(~holds[first:], True)))  # the lowest one
    rate = rule.rate(P[range_], RTT)
    p = law.invert(rate)
    np.testing.assert_allclose(law(p), rate, rtol=1e-12)
    np.testing.assert_allclose(p, invert(rule, rate, RTT, unit_check=False), rtol=1e-12)


def test_fused_inverse_says_where_there_is_none():
    lowest, highest = TFRC().rate([1.0, 1e-12], RTT)
    outside = np.array([0.999 * lowest, 1.001 * highest, 1e-9, 0.0, -1.0, np.nan, np.inf])
    assert np.isnan(fused(TFRC(), RTT).invert(outside)).all()
    inside = fused(TFRC(), RTT).invert(np.array([lowest, highest]))
    np.testing.assert_allclose(inside, [1.0, 1e-12], rtol=1e-12)
    with pytest.raises(TypeError, match="no closed form"):
        fused(HTCP(), RTT)
    with pytest.raises(ValueError, match=r"^rtt = 70"):
        fused(TFRC(), 70.0)


# CUBIC between its cubic and the Reno-friendly region.


@pytest.mark.parametrize("rtt", [pytest.param(0.01, marks=pytest.mark.slow), 0.1])
def test_cubic_between_cubic_and_reno_is_the_simulation(rtt):
    """Where a cycle has parts of both kinds, RFC 9438's larger of two forms is up to 4 % low."""
    first, last = 0.463 * rtt**3, 13.6 * rtt**3
    for p in np.geomspace(1.2 * first, 0.8 * last, 4):
        run = simulate_rule(CUBIC(), p, rtt, events=400)
        assert CUBIC().rate(p, rtt) == pytest.approx(run.rate, rel=1e-3)
        assert CUBIC().peak_window(p, rtt) == pytest.approx(run.peak_window, rel=5e-3)


# Lambert's W against SciPy's.


def test_lambert_w_is_scipys_to_round_off():
    x = np.geomspace(1e-12, 1e300, 200)
    np.testing.assert_allclose([lambert_w(each) for each in x], lambertw(x).real, rtol=4e-15)


def test_lambert_w_of_an_array_is_that_of_its_entries():
    x = np.geomspace(1e-12, 1e300, 200)
    np.testing.assert_allclose(LAMBERT_W(x), [lambert_w(each) for each in x], rtol=4e-16)


# The root of CUBIC's mixed cycle against its equation in symbols.


def packets(x, beta):
    """Area of the cycle in units of C K_0^4/R, by quadrature: cubic to the meeting, then the line."""
    met = (3 * x - np.sqrt(4 - 3 * x**2)) / 2
    kept = beta / (1 - beta)
    t = np.linspace(0.0, met, 20_001)
    cubic = np.trapezoid((t - x) ** 3 + x**3 / (1 - beta), t)
    t = np.linspace(met, x**3, 3)
    return cubic + np.trapezoid(kept * x**3 + t, t)


@pytest.mark.parametrize("beta", [0.5, 0.7, 0.85])
def test_the_root_gives_the_packets_of_the_cycle(beta):
    low, high = (float(end) for end in ends(sp.Float(beta)))
    for u in np.linspace(low * (1 + 1e-9), high * (1 - 1e-9), 15):
        x = solve_plateau(u, beta)
        assert 1 / np.sqrt(3) - 1e-9 < x < 1 + 1e-9
        assert packets(x, beta) == pytest.approx(u, rel=1e-7)


def test_derivatives_are_differences_of_the_root():
    u, beta = sp.symbols("u beta", positive=True)
    h = 1e-6
    at = {u: 1.0, beta: 0.7}
    for n, symbol in enumerate((u, beta)):
        slope = PlateauRatio(u, beta).diff(symbol).subs(at)
        slope = slope.replace(PlateauRatio, lambda *args: sp.Float(solve_plateau(*map(float, args))))
        up, down = ([1.0, 0.7] for _ in range(2))
        up[n], down[n] = up[n] + h, down[n] - h
        difference = (solve_plateau(*up) - solve_plateau(*down)) / (2 * h)
        assert float(slope) == pytest.approx(difference, rel=1e-7)


# Expressions as statements: what varies apart from what does not, and quarter powers as roots.

x, c = sp.symbols("x c", positive=True)


def run(code, **values):
    scope = {"math": math, **values}
    exec("\n".join((*code.before, *code.inside)), scope)  # noqa: S102
    return scope["value"]


@for_each([-7, -3, -2, -1, 1, 2, 3, 5, 6])
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


# A user's formula.


class OwnFormula(WindowRule):
    """A rule of which the rate is given: its functions are only for what has no formula."""

    class Params(NamedTuple):
        a: float = 0.25

    @staticmethod
    def on_ack(s, q, e):
        return s._replace(cwnd=s.cwnd + q.a / s.cwnd)

    @staticmethod
    def on_loss(s, q, e):
        return s._replace(cwnd=maximum(1.0, 0.9 * s.cwnd))

    def formula(self):
        return symbolic.Formula(symbolic.a * symbolic.R / (symbolic.p * symbolic.R))


def test_a_users_formula_is_all_it_takes():
    rule = OwnFormula(a=2.0)
    assert rule.rate(0.01, 0.1) == pytest.approx(200.0)
    assert invert(rule, 200.0, 0.1) == pytest.approx(0.01, rel=1e-12)
    with pytest.raises(ValueError, match=r"rtt is missing"):
        rule.mean_window(0.01)
    assert rule.mean_window(0.01, rtt=0.1) == pytest.approx(20.0)
    with pytest.raises(ValueError, match=r"rtt is missing"):
        rule.peak_window(0.01)
    assert rule.peak_window(0.01, 0.1) > 0  # no formula for it: by the numerical cycle


class Bounded(OwnFormula):
    """Formulas that hold where both, or one, of two conditions do."""

    class Params(NamedTuple):
        a: float = 0.25
        either: float = 0.0

    def formula(self):
        p, R = symbolic.p, symbolic.R
        conditions = p <= sp.Rational(1, 10), R * p <= sp.Rational(1, 200)
        condition = (sp.Or if self.params.either else sp.And)(*conditions)
        return symbolic.Formula(symbolic.a / p, condition=condition)


@pytest.mark.parametrize(("either", "holds"), [(0.0, [True, False, False, False]), (1.0, [True, True, True, False])])
def test_conditions_of_a_users_formula_are_joined(either, holds):
    p, rtt = [0.01, 0.01, 0.2, 0.2], [0.1, 1.0, 0.01, 1.0]
    assert Bounded(either=either).closed_form_holds(p, rtt).tolist() == holds


# Classes that derive from a rule with a closed form.


class KeepsMore(NewReno):
    @staticmethod
    def on_loss(s, q, e):
        window = maximum(2.0, 0.8 * s.cwnd)
        return s._replace(cwnd=window, ssthresh=window)


class GrowsSlowly(Reno):
    @staticmethod
    def on_ack(s, q, e):
        after = Reno.on_ack(s, q, e)
        return s._replace(cwnd=s.cwnd + 0.5 * (after.cwnd - s.cwnd))


class StaysAtTimeout(CUBIC):
    @staticmethod
    def on_timeout(s, q, e):
        return s


class HalvesTwice(CUBIC):
    @staticmethod
    def on_loss(s, q, e):
        cut = CUBIC.on_loss(s, q, e)
        return s._replace(cwnd=0.5 * cut.cwnd, ssthresh=cut.ssthresh, peak=cut.peak, since=cut.since, reno=cut.reno)


def test_rules_that_change_a_function_do_not_inherit_the_closed_form() -> None:
    """KeepsMore was answered with the rate of NewReno, 1225 packets/s at a loss event rate of 1e-4 and 100 ms."""
    for rule, same in ((KeepsMore(), AIMD(1.0, 0.2)), (GrowsSlowly(), AIMD(0.5, 0.5))):
        assert not rule.closed_form_holds(1e-4, 0.1)
        assert math.isclose(rule.rate(1e-4, 0.1), same.rate(1e-4, 0.1), rel_tol=1e-3)
        assert math.isclose(invert(rule, 2000.0, 0.1), invert(same, 2000.0, 0.1), rel_tol=1e-3)
        with pytest.raises(TypeError, match="states no closed form"):
            rule.closed_form()
    assert HalvesTwice().rate(1e-4, 0.1) < 0.97 * CUBIC().rate(1e-4, 0.1)
    assert not hystart(KeepsMore()).closed_form_holds(1e-4, 0.1)
    assert math.isclose(hystart(KeepsMore()).rate(1e-4, 0.1), KeepsMore().rate(1e-4, 0.1))


def test_rules_that_change_no_function_of_the_closed_form_inherit_it() -> None:
    for rule in (StaysAtTimeout(), hystart(NewReno()), QUICNewReno()):
        assert rule.closed_form_holds(1e-4, 0.1)
    assert StaysAtTimeout().rate(1e-4, 0.1) == CUBIC().rate(1e-4, 0.1)


def test_a_closed_form_beside_the_changed_function_is_used() -> None:
    class Halved(KeepsMore):
        formula = AIMD.formula

        def bindings(self, rtt):
            return {"a": 1.0, "b": 0.2}

    assert Halved().closed_form_holds(1e-4, 0.1)
    assert Halved().rate(1e-4, 0.1) == AIMD(1.0, 0.2).rate(1e-4, 0.1)
