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
    HSTCP,
    HTCP,
    TFRC,
    Fusion,
    Mathis,
    Reno,
    catalogue,
    rule_twin,
    twin,
)
from responsefn.results import RuleTwin

R, loss = sp.symbols("R p", positive=True)
CLOSED = [entry for entry in catalogue().entries if entry.uses_closed_form()]


R, loss = sp.symbols("R p", positive=True)
CLOSED = [entry for entry in CLOSED if getattr(entry, "capacity", "ignored") != "needed"]


SMOOTH = [*CLOSED, AIMD(0.2, 0.125), CUBIC(friendly=0), TFRC(2, 0.3)]
"""Every entry of the catalogue with a closed form: each has a twin, and nothing else has."""


P = np.geomspace(1e-10, 0.9, 301)


RTT = 0.07


QUICK = (AIMD(), Mathis(), CTCP(), HSTCP())
"""A power law, one without windows, one with a region, one of two branches; the others compile longer."""


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=repr(rule), marks=[] if rule in QUICK else pytest.mark.slow)
        for rule in SMOOTH
    ],
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


QUICK = (Reno(), CUBIC(), Fusion())


TWINS = [
    pytest.param(rule, marks=[] if rule in QUICK else pytest.mark.slow, id=repr(rule))
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
