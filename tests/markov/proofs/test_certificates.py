"""Bounds on the distance from the exact distribution hold, and are not absurd; what a supersolution proves, and by which solvers it is found."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import markov.computing.costs
import markov.multigrid.linear_multigrid
import markov.proofs.certificates
import markov.proofs.poisson
from benchmarks.chain_families import badly_scaled, cyclic, nearly_decomposable
from benchmarks.chain_families import generator_of as family_generator
from markov import (
    GTH,
    Courtois,
    CoxTandem,
    JacksonTandem,
    MarkovChain,
    Multilevel,
    PauseTandem,
    stationary,
)
from markov.computing.double_double import DoubleDouble, Product
from markov.methods.jump_chain import jump_chain_of
from markov.multigrid.hierarchy import build_hierarchy
from markov.multigrid.linear_multigrid import CoarseLevels
from markov.proofs.certificates import (
    SUFFICIENT_DRIFT,
    Certificate,
    error_bound,
    relative_residual,
    solvers,
    supersolution,
)
from markov.proofs.poisson import MultigridPoisson
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


KINDS = (badly_scaled, nearly_decomposable, cyclic)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seeds", [range(50), pytest.param(range(50, 750), marks=pytest.mark.slow)])
def test_bound_of_a_wrong_vector_of_difficult_chains_holds(kind, seeds):
    """Wrong by a random amount, and perhaps of another mass."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        Q = MarkovChain(family_generator(kind(rng))).Q
        truth = exact(Q.toarray())
        noise = 1.0 + 10.0 ** rng.uniform(-17.0, 0.0) * rng.uniform(-1.0, 1.0, len(truth))
        wrong = np.array([float(value) for value in truth]) * noise
        if rng.random() < 0.5:
            wrong /= wrong.sum()
        assert distance(wrong, truth) <= error_bound(Q, wrong), seed


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
    assert exact.c > SUFFICIENT_DRIFT
    # a drift that may be off by 0.25 proves 0.25 less; both are near one, and 1e-12 is their rounding
    assert rough.c == pytest.approx(exact.c - 0.25, abs=1e-12)
    assert rough.relative == pytest.approx(exact.relative - 0.25, abs=1e-12)


# Poisson's equation by few cycles of multigrid; which solvers are tried, and in which order.


def cycles_of(monkeypatch):
    """Return a list that grows by one with each cycle for a linear equation."""
    counted = []
    cycle = markov.multigrid.linear_multigrid.LinearMultigrid.cycle

    def counting(self):
        counted.append(1)
        return cycle(self)

    monkeypatch.setattr(markov.multigrid.linear_multigrid.LinearMultigrid, "cycle", counting)
    return counted


def test_a_bound_takes_few_cycles(monkeypatch):
    """Three or four at any size, since costs are large where nobody is; a tight one some more."""
    counted = cycles_of(monkeypatch)
    for n in (2, 4, 6):
        model = PauseTandem(buffers=(10 * n, 20 * n), high_threshold=15 * n)
        plain = stationary(model, Multilevel())
        assert len(counted) <= 5
        counted.clear()
        tight = stationary(model, Multilevel(), proof="tight")
        assert len(counted) <= 15
        counted.clear()
        # the slack of either, by the answer of elimination, which is right to 1e-15
        truth = 0.5 * np.abs(plain.pi - stationary(model, GTH()).pi).sum()
        assert truth < tight.error_bound < 20 * truth
        assert tight.error_bound < plain.error_bound < 1e4 * truth


def test_cycles_that_diverge_get_more_sweeps():
    """Of 2,016 states most are as unlikely as numbers can show in a vector held at a floor.

    With one sweep per level the residual grows by a factor of 80 per cycle.
    """
    chain = MarkovChain(CoxTandem(capacity=31))
    pi = stationary(chain).pi
    pi = np.maximum(pi, 1e-8 * pi.max())
    flow, weights = pi * -chain.Q.diagonal(), (pi / pi.max()) ** -0.1
    components = chain.components_of(chain.recurrent_classes[0])
    levels = build_hierarchy(jump_chain_of(chain.Q).inflow, flow, flow, components)
    found = supersolution(DoubleDouble(chain.Q), MultigridPoisson(chain.Q, pi, levels, weights), weights)
    assert found.c > SUFFICIENT_DRIFT
    # mean costs until the reference, by dense linear algebra; (Q h)(x) <= -c puts h above c times them
    others = np.flatnonzero(found.h)
    costs = np.linalg.solve(chain.Q[others][:, others].toarray(), -np.ones(len(others)))
    assert np.all(found.h[others] >= found.c * costs)


def test_the_last_level_is_solved_with_the_leak_of_the_likeliest_state(monkeypatch):
    """Where the likeliest state is slow, and most flow is elsewhere, in another aggregate.

    Two slow states hold most of the probability, 400 fast ones behind them nearly all of the flow.
    """
    made = []
    left = CoarseLevels.by_source

    def kept(self, reference, leak):
        made.append((left(self, reference, leak), reference, leak))
        return made[-1][0]

    monkeypatch.setattr(CoarseLevels, "by_source", kept)
    up, down = np.full(401, 100.0), np.full(401, 100.0)
    up[:2], down[:2] = 0.01, 0.02
    rates = sp.diags_array([up, down], offsets=[1, -1])
    Q = sp.csr_matrix(rates - sp.diags_array(np.asarray(rates.sum(axis=1)).ravel()))
    found = Multilevel().solve(Q)
    solver = MultigridPoisson(Q, found.pi, found.hierarchy, np.ones(402))
    busiest = int(np.argmax(found.pi * -Q.diagonal()))
    parents = [solver.reference, busiest]
    ((levels, reference, leak),) = made
    for _ in levels.first[1:-1]:
        parents = [int(levels.parent[place]) for place in parents]
    assert reference == solver.reference == 0
    assert parents[0] != parents[1]
    low, high = levels.first[-2:]
    rows = levels.indptr[low : high + 1]
    part = slice(rows[0], rows[-1])
    flows = sp.csr_matrix(
        (levels.values[part], levels.indices[part].astype(int) - low, rows - rows[0]),
        shape=(high - low, high - low),
    ).toarray()
    flows[np.diag_indices_from(flows)] = 0.0
    equations = np.diag(flows.sum(axis=1)) - flows
    equations[parents[0] - low, parents[0] - low] += leak
    # flows in and out of an aggregate differ by 1e-12, the residual of pi, and the leak is 1e-4 of them
    assert np.allclose(levels.inverse @ equations, np.eye(high - low), atol=1e-5)


@pytest.mark.parametrize("geometric", [True, False], ids=["geometric", "algebraic"])
def test_bound_without_factors(geometric, monkeypatch):
    """Multigrid and elimination prove bounds; multigrid's is larger, and none without enough cycles."""
    chain = MarkovChain(PauseTandem(low_threshold=10))
    Q = chain.irreducible(0)
    found = Multilevel(geometric=geometric).solve(Q, chain.components_of(chain.recurrent_classes[0]))
    truth = 0.5 * np.abs(found.pi - GTH().solve(Q).pi).sum() - 1e-15  # GTH's own rounding
    by_factors = error_bound(Q, found.pi)
    monkeypatch.setattr(markov.proofs.poisson, "MAX_PREDICTION_COST", 0.0)
    monkeypatch.setattr(markov.proofs.poisson, "MAX_LU_COST", 0.0)
    by_cycles = Certificate(Q, found.pi, None, found).distance
    assert truth <= by_factors <= 3.0 * truth
    assert by_factors < by_cycles < 1e-8
    own_levels = error_bound(Q, found.pi)
    # each h proves some c between 1/2, where cycles end, and its costs' own 1 and more
    assert by_cycles / 4.0 < own_levels < by_cycles * 4.0
    monkeypatch.setattr(markov.multigrid.linear_multigrid, "MAX_STAGNANT_CYCLES", 0)
    monkeypatch.setattr(markov.proofs.certificates, "MAX_PLAIN_CYCLES", 1)  # which is too few
    assert error_bound(Q, found.pi) == np.inf


def test_bound_tries_one_solver_after_the_other(monkeypatch):
    chain = MarkovChain(PauseTandem(buffers=(60, 4), high_threshold=3))
    Q, components = chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])
    pi = GTH().solve(Q).pi
    tried = []

    class Failing:
        reference = int(np.argmax(pi))

        def __init__(self, name):
            self.name = name

        def poisson(self, f):
            tried.append(self.name)
            return np.full(len(f), np.nan), np.zeros(len(f))

    monkeypatch.setattr(
        markov.proofs.poisson,
        "_multigrid_solver",
        lambda *arguments: Failing("algebraic" if arguments[3] is None else "geometric"),
    )
    monkeypatch.setattr(
        markov.proofs.poisson,
        "_lu_solver",
        lambda Q, reference: (0.0, lambda: Failing("sparse LU")),
    )
    assert error_bound(Q, pi, components) < 1e-14  # by elimination, which is the fastest here
    monkeypatch.setattr(markov.computing.costs, "MEMORY", 0.0)
    assert error_bound(Q, pi, components) == np.inf
    assert set(tried) == {"geometric", "sparse LU", "algebraic"}
    assert tried[-1] == "algebraic"
