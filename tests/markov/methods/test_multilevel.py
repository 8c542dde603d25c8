"""Multigrid against elimination, closed forms and verified bounds; what it costs in cycles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import markov.methods.hierarchy
import markov.methods.linear_multigrid
import markov.methods.multilevel
import markov.proofs.poisson_solvers
import markov.proofs.supersolutions
from hopflow import NotSolvedError, Status
from markov import (
    GTH,
    MM1K,
    Cluster,
    GaussSeidel,
    JacksonTandem,
    Kanban,
    Krylov,
    MarkovChain,
    Multilevel,
    PauseChain,
    PauseTandem,
    explore,
    stationary,
)
from markov.methods.linear_multigrid import CoarseLevels
from markov.proofs.certificates import Certificate, error_bound, relative_residual
from markov.proofs.poisson import MultigridPoisson

BOTH = pytest.mark.parametrize(
    "method", [Multilevel(), Multilevel(geometric=False)], ids=["cells", "groups"]
)


def random_chain(n, decades, seed):
    """Return a ring with three more transitions per state to random places."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.arange(n), rng.integers(0, n, 3 * n)])
    columns = np.concatenate([(np.arange(n) + 1) % n, rng.integers(0, n, 3 * n)])
    rates = 10.0 ** rng.uniform(-decades, decades, 4 * n) * (rows != columns)
    matrix = sp.coo_matrix((rates, (rows, columns)), shape=(n, n)).tocsr()
    return matrix - sp.diags(np.asarray(matrix.sum(axis=1)).ravel())


def nearly_decomposable(coupling):
    """Return sixty random groups of ten states that hardly exchange any flow."""
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(60), 10)
    rates = rng.random((600, 600)) * np.where(group[:, None] == group, 1.0, coupling)
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=1))


CHAINS = {
    "pause": PauseTandem,
    "pause, hysteresis": lambda: PauseTandem(low_threshold=5, arrival_rates=(30, 20, 10)),
    "pause, three hops": lambda: PauseChain(hops=2, buffers=(3, 6, 6), high_threshold=5),
    "Jackson": JacksonTandem,
    "cluster": Cluster,
    "M/M/1/K, overloaded": lambda: MM1K(arrival_rate=20.0, capacity=101),
    "random": lambda: random_chain(500, 0.5, 1),
    "random, badly scaled": lambda: random_chain(300, 5.0, 2),
    "weakly coupled": lambda: nearly_decomposable(1e-4),
    "hardly coupled": lambda: nearly_decomposable(1e-9),
    "one state": lambda: np.zeros((1, 1)),
    "two states": lambda: np.array([[-3.0, 3.0], [5.0, -5.0]]),
}


@BOTH
@pytest.mark.parametrize("name", CHAINS)
def test_against_gth(name, method):
    truth = stationary(MarkovChain(CHAINS[name]()), GTH())
    answer = stationary(truth.chain, method)
    assert answer.status is (Status.CONVERGED if answer.error_bound <= 1e-3 else Status.UNPROVED)
    assert answer.error_bound <= 1e-3 or name == "hardly coupled"
    assert answer.residual <= 1e-12
    assert answer.iterations <= 60
    assert answer.mass_defect < 1e-14
    assert (answer.pi[truth.pi > 0.0] > 0.0).all()
    distance = 0.5 * np.abs(answer.pi - truth.pi).sum()
    assert distance <= answer.error_bound + truth.error_bound


@BOTH
def test_groups_that_hardly_exchange(method):
    """The answer is as good as the one of elimination: the coupling is no part of the error."""
    chain = MarkovChain(nearly_decomposable(1e-9))
    truth = stationary(chain, GTH()).pi
    np.testing.assert_allclose(stationary(chain, method).pi, truth, rtol=1e-2)
    sharp = stationary(chain, Multilevel(geometric=method.geometric, tolerance=1e-15)).pi
    np.testing.assert_allclose(sharp, truth, rtol=1e-4)


@BOTH
def test_closed_form_of_a_tandem(method):
    model = JacksonTandem(capacity=170)
    answer = stationary(model, method)
    assert answer.pi[answer.pi > 0].size == 171 * 172 // 2
    distance = 0.5 * np.abs(answer.pi - model.exact()).sum()
    assert distance <= answer.error_bound < 1e-8


def test_explored_states_have_groups():
    """4,600 states of a Kanban system, as a matrix, beside Gauss-Seidel."""
    Q = explore(Kanban(tickets=2)).chain.Q
    groups, sweeps = Multilevel().solve(Q), GaussSeidel().solve(Q)
    assert relative_residual(Q, groups.pi) <= 1e-12
    assert groups.iterations < sweeps.iterations
    assert 0.5 * np.abs(groups.pi - sweeps.pi).sum() < 1e-9


# --------------------------------------------------------------------------- cycles

HARD = {
    "input state cycles fast while queue 1 is full": {
        "buffers": (85, 40),
        "high_threshold": 34,
        "low_threshold": 1,
        "link_rate": 17.2,
        "paused_rate": 0.0175,
        "bottleneck_rate": 1.3,
        "arrival_rates": (39.3, 9.6),
        "rtt": 0.03,
    },
    "input state changes slowly": {
        "buffers": (77, 89),
        "high_threshold": 47,
        "low_threshold": 17,
        "link_rate": 17.7,
        "paused_rate": 16.3,
        "bottleneck_rate": 10.3,
        "arrival_rates": (35.8, 34.5, 3.2, 0.76, 0.47),
        "rtt": 25.2,
    },
    "pause all but stops queue 1": {
        "buffers": (125, 31),
        "high_threshold": 7,
        "low_threshold": 2,
        "link_rate": 46.2,
        "paused_rate": 0.088,
        "bottleneck_rate": 10.7,
        "arrival_rates": (9.28,),
        "rtt": 0.044,
    },
    "both queues full": {
        "buffers": (90, 93),
        "high_threshold": 76,
        "low_threshold": 33,
        "link_rate": 15.7,
        "paused_rate": 1.15,
        "bottleneck_rate": 0.55,
        "arrival_rates": (7.3, 6.3, 4.4, 0.024),
        "rtt": 0.055,
    },
}


@pytest.mark.parametrize("name", HARD)
def test_hard_parameters(name):
    answer = stationary(PauseTandem(**HARD[name]), Multilevel())
    assert answer.iterations <= 50
    assert answer.error_bound < 1e-6


def test_cycles_do_not_depend_on_the_size():
    counts = [
        stationary(
            PauseTandem(buffers=(10 * n, 20 * n), high_threshold=15 * n), Multilevel()
        ).iterations
        for n in (2, 4, 8)
    ]
    assert max(counts) - min(counts) <= 3


def test_probabilities_that_underflow():
    answer = stationary(MM1K(arrival_rate=1e-3, capacity=300), Multilevel())
    assert answer.smallest > 0.0
    truth = (1 - 1e-4) * 1e-4 ** np.arange(301.0)
    assert 0.5 * np.abs(answer.pi - truth).sum() <= answer.error_bound < 1e-11


def test_plain_python_does_the_same(monkeypatch):
    model = PauseTandem(buffers=(4, 8), high_threshold=6)
    compiled = stationary(model, Multilevel())
    for module in (markov.methods.multilevel, markov.methods.hierarchy):
        monkeypatch.setattr(module, "compiled", lambda template, *_, **__: template)
    plain = stationary(model, Multilevel())
    assert plain.iterations == compiled.iterations
    np.testing.assert_allclose(plain.pi, compiled.pi, rtol=1e-9)


@pytest.mark.parametrize("coupling", [1e-20, 1e-200, 1e-320])
def test_rings_that_hardly_exchange(coupling):
    """Three equal rings: a third each; below the floor nobody knows, and the bound says so."""
    n = 40
    rates = np.zeros((3 * n, 3 * n))
    for first in (0, n, 2 * n):
        inside = np.arange(first, first + n)
        rates[inside, np.roll(inside, 1)] = 1.0
        rates[inside[0], (first + n) % (3 * n)] = coupling
    np.fill_diagonal(rates, -rates.sum(axis=1))
    answer = stationary(rates, Multilevel())
    assert answer.pi.min() > 0.0
    distance = 0.5 * np.abs(answer.pi - 1.0 / (3 * n)).sum()
    assert distance <= answer.error_bound
    assert distance < 1e-9 or coupling < 1e-300


def test_components_that_move_together():
    """A diagonal of the product space: pairs of values make no cells, groups take over."""
    n = 300
    Q = MarkovChain(MM1K(arrival_rate=9.0, capacity=n)).Q
    components = {"up": np.arange(n + 1), "down": n - np.arange(n + 1)}
    pi = Multilevel().solve(Q, components).pi
    truth = 0.9 ** np.arange(n + 1.0)
    assert 0.5 * np.abs(pi - truth / truth.sum()).sum() <= error_bound(Q, pi)


# --------------------------------------------------------------------------- linear equations


def poisson_of(model, known):
    """Return Q, pi and multigrid for its linear equations, on levels of cells or of groups."""
    chain = MarkovChain(model)
    Q, components = chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])
    found = Multilevel(geometric=known).solve(Q, components)
    levels = CoarseLevels.entered(found.hierarchy, found.pi * -Q.diagonal())
    return Q, found.pi, MultigridPoisson(Q, found.pi, levels, np.ones(len(found.pi)))


@pytest.mark.parametrize(
    "model",
    [PauseTandem(), PauseTandem(buffers=(10, 30), rtt=25.0, arrival_rates=(30, 3, 0.5)), Cluster()],
    ids=["pause", "slow", "cluster"],
)
@pytest.mark.parametrize("known", [True, False], ids=["cells", "groups"])
def test_both_equations(model, known):
    """Q g = -f and d Q = -r beside sparse LU, to what is left of the equations."""
    Q, pi, multigrid = poisson_of(model, known)
    to, rng = multigrid.reference, np.random.default_rng(2)
    others = np.delete(np.arange(len(pi)), to)
    matrix = sp.csc_matrix(Q[others][:, others])
    f = rng.random(len(pi))
    g = multigrid.poisson(f, lambda rest: np.abs(rest).max() < 1e-9)
    expected = sp.linalg.spsolve(matrix, -f[others])
    assert g[to] == 0.0
    np.testing.assert_allclose(g[others], expected, rtol=1e-6)
    r = (rng.random(len(pi)) - 0.5) * pi
    r[to] -= r.sum()
    d = multigrid.balance(r, lambda rest: np.abs(rest).sum() < 1e-10)
    expected = sp.linalg.spsolve(sp.csc_matrix(matrix.T), -r[others])
    np.testing.assert_allclose((d - d[to] / pi[to] * pi)[others], expected, atol=1e-7)
    assert multigrid.nbytes > 8 * Q.nnz


def cycles_of(monkeypatch):
    """Return a list that grows by one with each cycle for a linear equation."""
    counted = []
    cycle = markov.methods.linear_multigrid.LinearMultigrid.cycle

    def counting(self):
        counted.append(1)
        return cycle(self)

    monkeypatch.setattr(markov.methods.linear_multigrid.LinearMultigrid, "cycle", counting)
    return counted


def test_a_bound_takes_few_cycles(monkeypatch):
    """Three or four at any size, since costs are large where nobody is; a tight one some more."""
    counted = cycles_of(monkeypatch)
    for n in (2, 4, 8):
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


@BOTH
def test_bound_without_factors(method, monkeypatch):
    """Multigrid and elimination prove bounds; multigrid's is larger, and none without enough cycles."""
    chain = MarkovChain(PauseTandem(low_threshold=10))
    Q = chain.irreducible(0)
    found = method.solve(Q, chain.components_of(chain.recurrent_classes[0]))
    truth = 0.5 * np.abs(found.pi - GTH().solve(Q).pi).sum() - 1e-15  # GTH's own rounding
    by_factors = error_bound(Q, found.pi)
    monkeypatch.setattr(markov.proofs.poisson_solvers, "WORTH_A_LOOK", 0.0)
    monkeypatch.setattr(markov.proofs.poisson_solvers, "MOST_LU", 0.0)
    by_cycles = Certificate(Q, found.pi, None, found).distance
    assert truth <= by_factors <= 3.0 * truth
    assert by_factors < by_cycles < 1e-8
    own_levels = error_bound(Q, found.pi)
    # each h proves some c between 1/2, where cycles end, and its costs' own 1 and more
    assert by_cycles / 4.0 < own_levels < by_cycles * 4.0
    monkeypatch.setattr(markov.methods.linear_multigrid, "PATIENCE", 0)
    monkeypatch.setattr(markov.proofs.supersolutions, "PLAIN_CYCLES", 1)  # which is too few
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
        markov.proofs.poisson_solvers,
        "_multigrid",
        lambda *arguments: Failing("groups" if arguments[3] is None else "cells"),
    )
    monkeypatch.setattr(
        markov.proofs.poisson_solvers,
        "_lu",
        lambda Q, reference: (0.0, lambda: Failing("sparse LU")),
    )
    assert error_bound(Q, pi, components) < 1e-14  # by elimination, which is the fastest here
    monkeypatch.setattr(markov.computing.costs, "MEMORY", 0.0)
    assert error_bound(Q, pi, components) == np.inf
    assert set(tried) == {"cells", "sparse LU", "groups"}
    assert tried[-1] == "groups"


# --------------------------------------------------------------------------- failure


def test_too_few_cycles():
    with pytest.raises(NotSolvedError, match="the tolerance was not reached") as caught:
        stationary(PauseTandem(), Multilevel(max_iterations=3))
    answer = caught.value.result
    assert answer.iterations == 3
    assert answer.pi.min() >= 0.0
    assert 1e-12 < answer.residual < 1e-2


def test_stagnation_ends():
    answer = stationary(PauseTandem(), Multilevel(tolerance=1e-20), on_failure="return")
    assert answer.status is Status.INACCURATE
    assert answer.iterations < 200
    assert answer.residual < 1e-15
    assert 0.5 * np.abs(answer.pi - stationary(PauseTandem()).pi).sum() < 1e-13


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tolerance": 0.0}, r"^tolerance = 0: must be a finite number > 0"),
        ({"tolerance": 1.0}, r"^tolerance = 1: must be a finite number > 0 and < 1"),
        ({"max_iterations": 0}, r"^max_iterations = 0: must be a whole number"),
        ({"geometric": "yes"}, r"^geometric = 'yes': must be one of True, False"),
    ],
)
def test_bad_parameters(changes, said):
    with pytest.raises(ValueError, match=said):
        Multilevel(**changes)


# --------------------------------------------------------------------------- as a preconditioner


@pytest.mark.parametrize("solver", ["gmres", "bicgstab"])
def test_a_cycle_preconditions(solver):
    """As many Krylov iterations as cycles alone, give or take; without it, hundreds of sweeps."""
    chain = MarkovChain(PauseTandem(buffers=(20, 40), high_threshold=30))
    method = Krylov(preconditioner="multilevel", solver=solver, max_iterations=60)
    answer = stationary(chain, method)
    assert answer.status is Status.CONVERGED
    assert answer.pi.min() >= 0.0
    assert answer.smallest > 0.0
    assert answer.iterations <= 60
    assert stationary(chain, GaussSeidel()).iterations > 100
    truth = stationary(chain, GTH())
    assert 0.5 * np.abs(answer.pi - truth.pi).sum() <= answer.error_bound + truth.error_bound


def test_levels_that_cannot_be_frozen_are_left_to_sweeps(monkeypatch):
    def broken(self):
        return np.full(self.n, np.nan)

    monkeypatch.setattr(markov.methods.linear_multigrid.LinearMultigrid, "cycle", broken)
    answer = stationary(PauseTandem(), Krylov(preconditioner="multilevel"))
    assert answer.status.ok
    few = Krylov(preconditioner="multilevel", max_iterations=1)
    few = stationary(PauseTandem(), few, on_failure="return")
    assert few.status is Status.INACCURATE
    assert few.pi.min() >= 0.0
