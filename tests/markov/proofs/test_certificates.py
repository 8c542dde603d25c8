"""Bounds on the distance from the exact distribution hold, and are not absurd; what a supersolution proves, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from markov import GTH, Courtois, JacksonTandem, MarkovChain, PauseTandem, stationary
from markov.computing.double_double import DoubleDouble, Product
from markov.proofs.certificates import (
    SHARP,
    Certificate,
    error_bound,
    relative_residual,
    solvers,
    supersolution,
)
from tests.markov.conftest import birth_death, chains, distance, exact, generator_of


@settings(max_examples=100)
@given(chains(), st.floats(-17.0, 0.0), st.integers(0, 10**6))
def test_bound_holds(Q, decade, seed):
    rng = np.random.default_rng(seed)
    Q = MarkovChain(Q).Q
    truth = exact(Q.toarray())
    pi = np.array([float(x) for x in truth])
    pi = pi * (1.0 + 10.0**decade * rng.uniform(-1, 1, len(pi)))
    if seed % 3 == 0:
        pi = pi + 10.0**decade * rng.random(len(pi))
    if seed % 2 == 0:
        pi = pi / pi.sum()
    assert distance(pi, truth) <= error_bound(Q, pi)


@settings(max_examples=60)
@given(chains(decades=2.0))
def test_bound_is_not_absurd(Q):
    """Rates within four decades: the bound of the rounded true vector is some units of rounding
    times the conditioning, the longest mean time to the likeliest state in units of its sojourn.
    """
    Q = MarkovChain(Q).Q
    pi = np.array([float(x) for x in exact(Q.toarray())])
    dense = Q.toarray()
    others = np.delete(np.arange(len(pi)), np.argmax(pi))
    hitting = np.linalg.solve(dense[np.ix_(others, others)], -np.ones(len(others)))
    flow = pi @ np.abs(np.diag(dense))
    assert error_bound(Q, pi) <= 100 * len(pi) * 2.0**-53 * (1.0 + hitting.max() * flow)


def test_one_side_of_the_residual_bounds_the_distance():
    """Mass moved along a line: the flow in and the flow out have the same sum, and only one is counted.

    The bound for all vectors with the same residual is twice as large: the sum over both sides.
    """
    Q = MarkovChain(birth_death([3.0] * 30, [4.0] * 30)).Q
    rng, truth = np.random.default_rng(5), exact(Q.toarray())
    pi = np.array([float(x) for x in truth])
    for _ in range(40):
        wrong = pi + 1e-7 * rng.standard_normal(len(pi)) * (rng.random(len(pi)) < 0.2)
        proof = Certificate(Q, wrong)
        better = [Fraction(a) + Fraction(b) for a, b in zip(proof.pi, proof.low, strict=True)]
        mass, defect = sum(better), abs(sum(better) - 1)
        left = [x - mass * p for x, p in zip(better, truth, strict=True)]
        assert sum(map(abs, left)) / 2 <= proof.rest
        assert defect <= proof.defect
        assert distance(wrong, truth) <= proof.distance
        assert proof.rest == pytest.approx(max(proof.sides) / proof.supersolution.c, rel=1e-9)
        assert proof.rest < 0.999 * sum(proof.sides) / proof.supersolution.c


def test_bound_grows_with_the_error():
    Q = MarkovChain(birth_death([3.0] * 5, [4.0] * 5)).Q
    pi = GTH().solve(Q).pi
    wrong = np.roll(pi, 2)
    truth = 0.5 * np.abs(wrong - pi).sum()
    assert truth <= error_bound(Q, wrong) < 100 * truth
    assert relative_residual(Q, wrong) > 1e-3
    assert relative_residual(Q, pi) < 1e-15
    assert error_bound(Q, 0.5 * pi) >= 0.5 - 1e-12  # mass is missing


@pytest.mark.parametrize("exponent", [-40, -45, -50])
def test_bound_counts_what_rounding_hides(exponent):
    """Weight is moved between two halves that hardly exchange any: the residual is all rounding."""
    coupling = 2.0**exponent
    Q = np.zeros((4, 4))
    Q[0, 1] = Q[1, 0] = Q[2, 3] = Q[3, 2] = 1.0
    Q[1, 2] = Q[2, 1] = coupling
    Q = MarkovChain(generator_of(Q)).Q
    hidden = 0
    for shift in 2.0**-52 / coupling * np.linspace(0.01, 1.0, 60):
        pi = 0.25 * np.array([1.0 + shift, 1.0 + shift, 1.0 - shift, 1.0 - shift])
        truth = distance(pi, [Fraction(1, 4)] * 4)
        assert truth <= error_bound(Q, pi)
        flow = Fraction(coupling) * (Fraction(pi[1]) - Fraction(pi[2]))  # the exact residual
        hidden += Fraction(np.abs(pi @ Q).sum()) < 2 * abs(flow)
    assert hidden > 0


def test_hub_with_many_neighbours():
    """The rounding of a long row is part of the bound: 20,000 rates out of the hub."""
    n = 20_000
    rng = np.random.default_rng(1)
    out, back = rng.random(n) * 10.0 ** rng.integers(-8, 8, n), rng.random(n)
    rows = np.concatenate([np.zeros(n, int), np.arange(1, n + 1)])
    columns = np.concatenate([np.arange(1, n + 1), np.zeros(n, int)])
    rates = sp.coo_matrix((np.concatenate([out, back]), (rows, columns)), shape=(n + 1, n + 1))
    Q = rates.tocsr() - sp.diags(np.asarray(rates.sum(axis=1)).ravel())
    answer = stationary(Q)
    truth = np.concatenate([[1.0], out / back])
    truth /= math.fsum(truth)
    assert 0.5 * math.fsum(np.abs(answer.pi - truth)) <= answer.error_bound < 1e-6


class Widened(DoubleDouble):
    """Products whose errors are larger by some amount."""

    more = 0.0

    def drift(self, h, low=None):
        drift, error = super().drift(h, low)
        return Product(drift, error + self.more)


def proved(model, more=0.0):
    Q = MarkovChain(model).irreducible(0)
    solution = GTH().solve(Q)
    weights = np.ones(Q.shape[0])
    solver = next(solvers(Q, solution.pi, weights, None, solution))
    products = Widened(Q)
    products.more = more
    return Q, solver.reference, supersolution(products, solver, weights)


@pytest.mark.parametrize("model", [Courtois(), JacksonTandem(), PauseTandem()], ids=repr)
def test_what_is_proved_holds_in_exact_arithmetic(model):
    """h is rounded up by a relative 1e-12, which may add that share of the inflow."""
    Q, reference, proof = proved(model)
    h = [Fraction(value) for value in proof.h]
    assert h[reference] == 0
    for x in range(Q.shape[0]):
        if x == reference:
            continue
        entries = range(Q.indptr[x], Q.indptr[x + 1])
        moves = [(Q.indices[k], Fraction(Q.data[k])) for k in entries if Q.indices[k] != x]
        drift = sum(rate * (h[y] - h[x]) for y, rate in moves)
        raised = sum(rate * (h[y] + h[x]) for y, rate in moves) * Fraction(1, 10**12)
        assert drift <= -Fraction(proof.c) + raised


def test_errors_of_the_products_are_taken_from_what_is_proved():
    *_, exact = proved(Courtois())
    *_, rough = proved(Courtois(), more=0.25)
    assert exact.c > SHARP
    # a drift that may be off by 0.25 proves 0.25 less; both are near one, and 1e-12 is their rounding
    assert rough.c == pytest.approx(exact.c - 0.25, abs=1e-12)
    assert rough.relative == pytest.approx(exact.relative - 0.25, abs=1e-12)
