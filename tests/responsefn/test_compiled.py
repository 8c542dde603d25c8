"""Fused kernels and the JAX twin give the numbers of the checked functions."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from responsefn import (
    AIMD,
    BIC,
    CTCP,
    CUBIC,
    HSTCP,
    PFTK,
    TFRC,
    Illinois,
    Mathis,
    Relentless,
    Reno,
    Scalable,
    Tahoe,
    fused,
    invert,
    twin,
)
from responsefn.symbolic import p as loss

SMOOTH = [
    Reno(),
    AIMD(0.2, 0.125),
    AIMD(0.2, 0.125, "precise"),
    AIMD(form="recovery"),
    Tahoe(),
    HSTCP(),
    Scalable(),
    CUBIC(),
    CUBIC(friendly=0),
    Illinois(),
    CTCP(),
    Relentless(),
    TFRC(),
    TFRC(2, 0.3),
    PFTK(),
    PFTK(form="approximate"),
    Mathis(),
]
P = np.geomspace(1e-10, 0.9, 301)
RTT = 0.07


@pytest.mark.parametrize("rule", SMOOTH, ids=repr)
def test_fused(rule):
    law = fused(rule, RTT)
    rate = rule.rate(P, RTT)
    np.testing.assert_allclose(law(P), rate, rtol=1e-13)
    out = np.empty_like(P)
    assert law(P, out) is out
    rate = np.append(rate, rule.rate([1e-12, 1.0], RTT))
    p = law.invert(rate)
    np.testing.assert_allclose(law(p), rate, rtol=1e-12)
    np.testing.assert_allclose(p, invert(rule, rate, RTT), rtol=1e-12)


def test_fused_inverse_says_where_there_is_none():
    lowest, highest = TFRC().rate([1.0, 1e-12], RTT)
    outside = np.array([0.999 * lowest, 1.001 * highest, 1e-9, 0.0, -1.0, np.nan, np.inf])
    assert np.isnan(fused(TFRC(), RTT).invert(outside)).all()
    inside = fused(TFRC(), RTT).invert(np.array([lowest, highest]))
    np.testing.assert_allclose(inside, [1.0, 1e-12], rtol=1e-12)
    with pytest.raises(TypeError, match="no closed form"):
        fused(BIC(), RTT)
    with pytest.raises(ValueError, match=r"^rtt = 70"):
        fused(TFRC(), 70.0)


@pytest.mark.parametrize("rule", SMOOTH, ids=repr)
def test_twin(rule):
    jax = pytest.importorskip("jax")
    f = twin(rule)
    np.testing.assert_allclose(jax.jit(f)(P, RTT), rule.rate(P, RTT), rtol=1e-12)
    slopes = jax.vmap(jax.grad(f), in_axes=(0, None))(P, RTT)
    exact = rule.value_of(sp.diff(rule.expression, loss), p=P, R=np.asarray(RTT))
    np.testing.assert_allclose(slopes, exact, rtol=1e-10)
    elastic = slopes * P / rule.rate(P, RTT)
    np.testing.assert_allclose(elastic, rule.elasticity(P, RTT), rtol=1e-10)


def test_twin_of_parameters():
    jax = pytest.importorskip("jax")
    f = twin(AIMD(1.0, 0.5))
    slope = jax.grad(lambda a: f(0.01, 0.1, a=a))(1.0)
    assert float(slope) == pytest.approx(0.5 * AIMD().rate(0.01, 0.1), rel=1e-12)
    with pytest.raises(TypeError, match="no parameter 'c'"):
        f(0.01, 0.1, c=1.0)
    with pytest.raises(TypeError, match="no closed form"):
        twin(BIC())
