"""The JAX twins give the numbers and slopes of the rules and laws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import sympy as sp

from responsefn import (
    AIMD,
    CTCP,
    CUBIC,
    HTCP,
    Fusion,
    Mathis,
    Reno,
    WindowRule,
    catalogue,
    jax_rules,
    rule_twin,
    twin,
)
from responsefn.results import RuleTwin
from tests.responsefn.closed_rules import CLOSED, RTT, SMOOTH, P

R, loss = sp.symbols("R p", positive=True)
QUICK = (AIMD(), Mathis(), CTCP())
"""A power law, one without windows, one with a region; the others compile longer."""


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, id=repr(rule), marks=[] if rule in QUICK else pytest.mark.slow) for rule in SMOOTH],
)
def test_twin(rule):
    """`vmap`, `grad` and `jit` at once; values and slopes in p and in the RTT are SymPy's."""
    jax = pytest.importorskip("jax")
    both = jax.value_and_grad(twin(rule), argnums=(0, 1))
    holds = rule.closed_form_holds(P, RTT)
    p = P[holds]
    everywhere = jax.jit(jax.vmap(both, in_axes=(0, None)))(P, RTT)
    assert np.isnan(everywhere[0][~holds]).all()
    rate, (by_p, by_rtt) = jax.tree.map(lambda values: values[holds], everywhere)
    np.testing.assert_allclose(rate, rule.rate(p, RTT), rtol=1e-12)
    exact = rule.value_of(sp.diff(rule.expression, loss), p=p, R=np.asarray(RTT))
    np.testing.assert_allclose(by_p, exact, rtol=1e-10)
    np.testing.assert_allclose(by_p * p / rate, rule.elasticity(p, RTT), rtol=1e-10)
    if "rto" not in rule.params._fields:  # a timeout of four round trips is a function of the RTT
        exact = rule.value_of(sp.diff(rule.expression, R), p=p, R=np.asarray(RTT))
        np.testing.assert_allclose(by_rtt, exact, rtol=1e-10)


def test_every_other_rule_says_that_it_has_no_twin():
    others = [entry for entry in catalogue().entries if entry not in CLOSED]
    assert len(others) + len(CLOSED) == len(catalogue().entries)
    for entry in others:
        with pytest.raises(TypeError, match="no closed form"):
            twin(entry)


def test_twin_of_parameters():
    jax = pytest.importorskip("jax")
    f = twin(AIMD(1.0, 0.5))
    slope = jax.grad(lambda a: f(0.01, 0.1, a=a))(1.0)
    assert float(slope) == pytest.approx(0.5 * AIMD().rate(0.01, 0.1), rel=1e-12)
    with pytest.raises(TypeError, match="no parameter 'c'"):
        f(0.01, 0.1, c=1.0)
    with pytest.raises(TypeError, match="no closed form"):
        twin(HTCP())


class Event(NamedTuple):
    time: float
    rtt: float
    marks: float = 0.0


QUICK_STEPS = (Reno(), CUBIC(), Fusion())
TWINS = [
    pytest.param(rule, marks=[] if rule in QUICK_STEPS else pytest.mark.slow, id=repr(rule))
    for rule in catalogue("rule").entries
]


@pytest.mark.parametrize("rule", TWINS)
def test_rule_twin(rule):
    """The same state after an ACK, a loss, a timeout; slopes are those of central differences."""
    jax = pytest.importorskip("jax")
    functions, event, h = rule_twin(rule), Event(3.0, 0.12), 1e-4
    start = rule.start(0.1, 2000.0)._replace(cwnd=100.0, ssthresh=2.0)
    start = rule.on_loss(start, rule.params, Event(0.0, 0.11))

    def after(w, acts):
        return [act(start._replace(cwnd=w), rule.params, event) for act in acts]

    def windows_after(w):
        states = after(w, functions)
        return [state.cwnd for state in states], states

    windows = np.array([3.3, 27.7, 111.1, 1234.5])
    slopes, states = jax.jit(jax.vmap(jax.jacobian(windows_after, has_aux=True)))(windows)
    acts = [getattr(rule, name) for name in RuleTwin._fields]
    for n, (slope, state) in enumerate(zip(slopes, states, strict=True)):
        expected = np.array([after(w, acts)[n] for w in windows])
        np.testing.assert_allclose(np.transpose(state), expected, rtol=1e-13)
        up, down = (np.array([after(w + d, acts)[n].cwnd for w in windows]) for d in (h, -h))
        np.testing.assert_allclose(slope, (up - down) / (2 * h), rtol=1e-6, atol=1e-7)


class Branches(WindowRule):
    """A rule of a user with branches, an early return and a value that only one side has."""

    class Params(NamedTuple):
        a: float = 2.0

    @staticmethod
    def on_ack(s, q, e):
        if s.cwnd < 10.0 or e.rtt > 1.0:
            return s._replace(cwnd=s.cwnd + 1.0)
        step = q.a / s.cwnd
        if s.cwnd > 50.0:
            step = step / max(1.0, (s.cwnd - 60.0) ** 0.5 if s.cwnd > 60.0 else 0.0)
        elif not s.cwnd > 20.0:
            step = 3.0 * step
        return s._replace(cwnd=s.cwnd + step)

    on_loss = on_timeout = staticmethod(lambda s, q, e: s)


def test_branches_on_traced_values_are_followed_on_both_sides():
    jax = pytest.importorskip("jax")
    rule, windows = Branches(), np.array([5.0, 15.0, 30.0, 55.0, 90.0])
    ack = rule_twin(rule).on_ack

    def after(w, a=2.0, act=ack):
        return act(rule.State(w, 2.0), rule.Params(a), Event(1.0, 0.1)).cwnd

    expected = [after(float(w), act=rule.on_ack) for w in windows]
    np.testing.assert_allclose(jax.jit(jax.vmap(after))(windows), expected, rtol=1e-14)
    np.testing.assert_allclose([after(float(w)) for w in windows], expected, rtol=1e-14)
    slopes = jax.vmap(jax.grad(after, argnums=1), in_axes=(0, None))(windows, 2.0)
    exact = [0.0, 3.0 / 15.0, 1.0 / 30.0, 1.0 / 55.0, 1.0 / 90.0 / 30.0**0.5]
    np.testing.assert_allclose(slopes, exact, rtol=1e-14)


def test_too_many_branches_are_refused(monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(jax_rules, "MAX_PATHS", 3)
    with pytest.raises(ValueError, match=r"^on_ack: more than 3 combinations of branches"):
        jax.jit(lambda w: rule_twin(Branches()).on_ack(Branches.State(w, 2.0), Branches().params, Event(1.0, 0.1)))(4.0)


class Loop(Branches):
    @staticmethod
    def on_ack(s, q, e):
        w = s.cwnd
        while w > 1.0:
            w = 0.5 * w
        return s._replace(cwnd=w)


def test_a_loop_that_a_traced_value_ends_is_refused():
    jax = pytest.importorskip("jax")
    rule, event = Loop(), Event(1.0, 0.1)
    with pytest.raises(ValueError, match=r"more than 200 conditions in a row: a loop may not end"):
        jax.jit(lambda w: rule_twin(rule).on_ack(rule.State(w, 2.0), rule.params, event))(4.0)
