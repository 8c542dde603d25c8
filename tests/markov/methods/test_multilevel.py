"""Multigrid against elimination, closed forms and verified bounds; what it costs in cycles.

`test_every_method` has it on more chains.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopflow import NotSolvedError, Status
from markov import (
    GTH,
    MM1K,
    GaussSeidel,
    JacksonTandem,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseChain,
    PauseTandem,
    explore,
    stationary,
)

BOTH = pytest.mark.parametrize("method", [Multilevel(), Multilevel(geometric=False)], ids=["geometric", "algebraic"])


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
    "pause, three hops": lambda: PauseChain(hops=2, buffers=(3, 6, 6), high_threshold=5),
    "random": lambda: random_chain(500, 0.5, 1),
    "random, badly scaled": lambda: random_chain(300, 5.0, 2),
    "weakly coupled": lambda: nearly_decomposable(1e-4),
    "hardly coupled": lambda: nearly_decomposable(1e-9),
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
    Q = MarkovChain(explore(Kanban(tickets=2)).chain.Q)
    groups, sweeps = (stationary(Q, method, proof=False) for method in (Multilevel(), GaussSeidel()))
    assert groups.residual <= 1e-12
    assert groups.iterations < sweeps.iterations
    assert 0.5 * np.abs(groups.pi - sweeps.pi).sum() < 1e-9


# --------------------------------------------------------------------------- cycles


HARD = {
    "input state cycles fast while queue 1 is full": ((85, 40), 34, 1, 17.2, 0.0175, 1.3, (39.3, 9.6), 0.03),
    "input state changes slowly": ((77, 89), 47, 17, 17.7, 16.3, 10.3, (35.8, 34.5, 3.2, 0.76, 0.47), 25.2),
    "pause all but stops queue 1": ((125, 31), 7, 2, 46.2, 0.088, 10.7, (9.28,), 0.044),
    "both queues full": ((90, 93), 76, 33, 15.7, 1.15, 0.55, (7.3, 6.3, 4.4, 0.024), 0.055),
}  # fmt: skip
"""Buffers, both thresholds, the rates of link, pause and bottleneck, arrival rates, round-trip time."""


@pytest.mark.parametrize("name", HARD)
def test_hard_parameters(name):
    answer = stationary(PauseTandem(*HARD[name]), Multilevel())
    assert answer.iterations <= 50
    assert answer.error_bound < 1e-6


def test_cycles_do_not_depend_on_the_size():
    counts = [
        stationary(PauseTandem(buffers=(10 * n, 20 * n), high_threshold=15 * n), Multilevel()).iterations
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
    for module in ("methods.multilevel", "multigrid.hierarchy"):
        monkeypatch.setattr(f"markov.{module}.make_kernel", lambda template, **_: template)
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
    """A diagonal of the product space: pairs of values aggregate too little, algebraic aggregates take over."""
    n = 300
    Q = MarkovChain(MM1K(arrival_rate=9.0, capacity=n)).Q
    components = {"up": np.arange(n + 1), "down": n - np.arange(n + 1)}
    pi = Multilevel().solve(Q, components).pi
    truth = 0.9 ** np.arange(n + 1.0)
    # a residual of 1e-12, times some 700 jumps until the queue has forgotten: rates over (sqrt(10) - 3)^2
    assert 0.5 * np.abs(pi - truth / truth.sum()).sum() < 1e-9


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
