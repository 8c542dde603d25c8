"""What a supersolution proves, in exact arithmetic; and that rounding errors weaken it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from markov import GTH, Courtois, JacksonTandem, MarkovChain, PauseTandem
from markov.computing.double_double import DoubleDouble, Product
from markov.proofs.poisson_solvers import candidates
from markov.proofs.supersolutions import SHARP, supersolution


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
    solver = next(candidates(Q, solution.pi, weights, None, solution))
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
