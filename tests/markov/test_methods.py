"""Every method on every chain of a table: against GTH within the bounds, and what must not change."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import markov
from hopflow import NotSolvedError, Status
from hopflow.status import ConvergenceError
from markov import (
    GTH,
    MM1K,
    BirthDeath,
    Cluster,
    Courtois,
    GaussSeidel,
    JacksonTandem,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    PauseTandem,
    Power,
    SparseLU,
    stationary,
)
from markov.methods.level_reduction import partition

METHODS = [
    SparseLU(),
    Levels(),
    Levels(cyclic=False),
    GaussSeidel(),
    GaussSeidel(ordering="cuthill-mckee"),
    GaussSeidel(ordering="flow"),
    Power(),
    Krylov(),
    Krylov(solver="bicgstab"),
    Krylov(preconditioner="multilevel"),
    Krylov(preconditioner="multilevel", solver="bicgstab"),
    Multilevel(),
]
ITERATIVE = [method for method in METHODS if hasattr(method, "tolerance")]
EVERY = pytest.mark.parametrize("method", METHODS, ids=repr)


def random_chain(n, decades, seed, density=0.1):
    """Return an irreducible chain: a ring, and rates over many decades at random places."""
    rng = np.random.default_rng(seed)
    rates = (rng.random((n, n)) < density) * 10.0 ** rng.uniform(-decades, decades, (n, n))
    rates[np.arange(n), (np.arange(n) + 1) % n] += 10.0 ** rng.uniform(-decades, decades, n)
    np.fill_diagonal(rates, 0.0)
    return rates - np.diag(rates.sum(axis=1))


def ring(n):
    """Return a chain whose jumps have period n."""
    rates = np.diag(np.linspace(1.0, 2.0, n - 1), 1)
    rates[-1, 0] = 3.0
    return rates - np.diag(rates.sum(axis=1))


CHAINS = {
    "birth-death": BirthDeath,
    "M/M/1/K": MM1K,
    "M/M/1/K, overloaded": lambda: MM1K(arrival_rate=20.0, capacity=101),
    "M/M/1/K, tails that underflow": lambda: MM1K(arrival_rate=1e-3, capacity=300),
    "Jackson": JacksonTandem,
    "Courtois": Courtois,
    "Courtois, weakly coupled": lambda: Courtois(coupling=1e-5),
    "cluster": Cluster,
    "pause": PauseTandem,
    "pause, long first queue": lambda: PauseTandem(buffers=(60, 6), high_threshold=5, rtt=0.3),
    "pause, hysteresis": lambda: PauseTandem(low_threshold=5, arrival_rates=(30, 20, 10)),
    "pause, never": lambda: PauseTandem(high_threshold=20, rtt=5.0),
    "ring": lambda: ring(30),
    "one state": lambda: np.zeros((1, 1)),
    "two states": lambda: np.array([[-3.0, 3.0], [5.0, -5.0]]),
    "random, dense": lambda: random_chain(60, 0.5, 1, density=1.0),
    "random, sparse": lambda: random_chain(200, 0.5, 2, density=0.02),
    "random, badly scaled": lambda: random_chain(40, 5.0, 3),
}


@cache
def reference(name):
    return stationary(MarkovChain(CHAINS[name]()), GTH())


SLOW = {(name, GaussSeidel) for name in CHAINS if name.startswith("Courtois")}
SLOW |= {("Courtois, weakly coupled", Power)}
"""Nearly decomposable: they do not get there, and say so."""


@EVERY
@pytest.mark.parametrize("name", CHAINS)
def test_against_gth(name, method):
    truth = reference(name)
    if (name, type(method)) in SLOW:
        method = dataclasses.replace(method, max_iterations=2000)
        with pytest.raises(NotSolvedError) as caught:
            stationary(truth.chain, method)
        answer = caught.value.result
        assert answer.status is Status.INACCURATE
        assert answer.iterations == 2000
        assert answer.pi.min() >= 0.0
        assert answer.residual > 1e-12
        assert answer.error_bound == np.inf
        return
    answer = stationary(truth.chain, method)
    assert answer.status is Status.CONVERGED
    assert answer.error_bound <= 1e-3
    assert answer.pi.min() >= 0.0
    assert answer.residual <= 1e-12
    assert answer.mass_defect < 1e-14
    assert (answer.pi[truth.pi > 1e-280] > 0.0).all()
    distance = 0.5 * np.abs(answer.pi - truth.pi).sum()
    assert distance <= answer.error_bound + truth.error_bound
    if method not in ITERATIVE:
        assert answer.iterations == 0
    elif answer.pi.size > 1:
        assert answer.iterations > 0
    if answer.pi.size > 2:
        assert answer.memory > 0


@EVERY
def test_independent_sources_lump_to_one(method):
    """Five on/off sources: the number that is on is a birth-death chain."""
    on, off, n = 0.3, 1.1, 5
    Q = np.zeros((1, 1))
    for _ in range(n):
        single = np.array([[-on, on], [off, -off]])
        Q = np.kron(Q, np.eye(2)) + np.kron(np.eye(len(Q)), single)
    lumped = BirthDeath(births=on * np.arange(n, 0, -1), deaths=off * np.arange(1, n + 1))
    whole, part = stationary(Q, method), stationary(lumped, method)
    count = [x.bit_count() for x in range(2**n)]
    distance = 0.5 * np.abs(np.bincount(count, whole.pi) - part.pi).sum()
    # 5 times a rate is rounded: some units of rounding, entrywise conditioned by 2 n
    rounding = 2.0 * 2**n * 2.0**-53
    assert distance <= whole.error_bound + part.error_bound + rounding
    assert 0.5 * np.abs(part.pi - lumped.exact()).sum() <= part.error_bound + rounding


@EVERY
@pytest.mark.parametrize("seed", range(4))
def test_relabelling_and_time_scaling(method, seed):
    Q = random_chain(70, 1.0, seed)
    answer = stationary(Q, method)
    order = np.random.default_rng(seed).permutation(len(Q))
    relabelled = stationary(Q[np.ix_(order, order)], method), answer.pi[order]
    faster = stationary(Q * 1e9, method), answer.pi
    rounding = 2.0 * len(Q) * 2.0**-53  # of the faster rates
    for other, expected in (relabelled, faster):
        distance = 0.5 * np.abs(other.pi - expected).sum()
        assert distance <= answer.error_bound + other.error_bound + rounding


# --------------------------------------------------------------------------- levels


@pytest.mark.parametrize("method", [Levels(), Levels(cyclic=False)], ids=repr)
@pytest.mark.parametrize("name", CHAINS)
def test_levels_are_accurate_in_every_entry(name, method):
    truth = reference(name)
    pi = stationary(truth.chain, method).pi
    np.testing.assert_allclose(pi, truth.pi, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("length", [3, 5, 6, 7, 8, 31, 64, 65, 100])
@pytest.mark.parametrize("rate", [3.0, 10.0, 40.0])
def test_any_number_of_equal_levels(length, rate):
    model = PauseTandem(buffers=(length, 4), high_threshold=3, arrival_rates=(rate, 1.0))
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-11, atol=1e-300)


def test_cyclic_reduction_saves_memory():
    model = PauseTandem(buffers=(3000, 4), high_threshold=3)
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-10, atol=1e-300)
    assert one.memory < 0.02 * all_levels.memory


@pytest.mark.parametrize("rates", [(20.0, 10.0), (10.0, 20.0)])
def test_ratios_beyond_float64_across_a_run(rates):
    arrival, service = rates
    answer = stationary(MM1K(arrival_rate=arrival, service_rate=service, capacity=5000), Levels())
    likely = answer.pi[::-1] if arrival > service else answer.pi
    np.testing.assert_allclose(likely[:900], 0.5 ** np.arange(1, 901), rtol=1e-12)


def test_where_levels_come_from():
    chain = MarkovChain(PauseTandem(buffers=(200, 4), high_threshold=3))
    components = chain.components_of(chain.recurrent_classes[0])
    Q = chain.irreducible(0)
    found = partition(Q, components, "i")
    assert found.origin == "component i"
    np.testing.assert_array_equal(found.level, components["i"])
    edges = Q.tocoo()
    for candidate in (found, partition(Q), partition(Q, components), partition(Q, components, "a")):
        assert np.abs(candidate.level[edges.row] - candidate.level[edges.col]).max() <= 1
        assert candidate.sizes.min() > 0
        assert candidate.work >= partition(Q, components).work
    answer = stationary(chain, Levels())
    np.testing.assert_allclose(answer.pi, stationary(chain).pi, rtol=1e-12)


@pytest.mark.parametrize(
    ("chain", "said"), [(PauseTandem(), r"i, j, k, a"), (ring(4), "none: the chain is not a model")]
)
def test_unknown_component(chain, said):
    with pytest.raises(ValueError, match=rf"^component = 'x': must be one of the model's \({said}"):
        stationary(chain, Levels("x"))


# --------------------------------------------------------------------------- choice and failure


@pytest.mark.parametrize("method", ITERATIVE, ids=repr)
def test_tolerance_is_what_was_asked_for(method):
    coarse = dataclasses.replace(method, tolerance=1e-4)
    answer = stationary(PauseTandem(), coarse)
    assert answer.status.ok
    assert 1e-16 < answer.residual <= 1e-4
    assert answer.iterations <= stationary(PauseTandem(), method).iterations
    assert 0.5 * np.abs(answer.pi - reference("pause").pi).sum() <= answer.error_bound


@pytest.mark.parametrize("method", ITERATIVE, ids=repr)
def test_too_few_iterations(method):
    few = dataclasses.replace(method, max_iterations=2, tolerance=1e-15)
    if isinstance(few, Krylov):
        few = dataclasses.replace(few, max_iterations=1, drop_tolerance=0.5, fill_factor=1.0)
    answer = stationary(PauseTandem(buffers=(30, 40)), few, on_failure="return")
    assert answer.status is Status.INACCURATE
    assert answer.pi.min() >= 0.0
    with pytest.raises(ConvergenceError, match="the tolerance was not reached"):
        stationary(PauseTandem(buffers=(30, 40)), few)


@pytest.mark.parametrize(
    ("method", "changes", "said"),
    [
        (GaussSeidel, {"ordering": "red-black"}, r"^ordering = 'red-black': must be one of"),
        (GaussSeidel, {"tolerance": 0.0}, r"^tolerance = 0: must be a finite number > 0"),
        (GaussSeidel, {"max_iterations": 0}, r"^max_iterations = 0: must be a whole number"),
        (Power, {"laziness": 0.0}, r"^laziness = 0: must be a finite number > 0"),
        (Power, {"tolerance": 1.0}, r"^tolerance = 1: must be a finite number > 0 and < 1"),
        (Krylov, {"solver": "cg"}, r"^solver = 'cg': must be one of 'gmres', 'bicgstab'"),
        (Krylov, {"preconditioner": "lu"}, r"^preconditioner = 'lu': must be one of 'ilu', 'mult"),
        (Krylov, {"drop_tolerance": -1.0}, r"^drop_tolerance = -1: must be"),
        (Krylov, {"fill_factor": 0.5}, r"^fill_factor = 0.5: must be"),
    ],
)
def test_bad_parameters(method, changes, said):
    with pytest.raises(ValueError, match=said):
        method(**changes)


def test_the_sweeps_without_numba():
    code = """
import sys
sys.path[:0] = [sys.argv[1]]
sys.modules["numba"] = None
from markov import Courtois, GaussSeidel, MM1K, Kanban, explore, stationary
model = MM1K(capacity=5)
assert abs(stationary(model, GaussSeidel()).pi - model.exact()).max() < 1e-11
assert explore(Kanban()).chain.size == 160
"""
    root = Path(markov.__file__).parents[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code, str(root)], check=True, env=environment)


# --------------------------------------------------------------------------- what factors solve


@pytest.mark.parametrize("method", [GTH(block=1), GTH(block=5), GTH(), SparseLU()], ids=repr)
@pytest.mark.parametrize("name", ["birth-death", "pause", "random, dense", "random, sparse"])
def test_factors_solve_both_equations(name, method):
    """Q g = -f and d Q = -r, beside a dense solver; rates within two decades, so that little is lost."""
    Q = MarkovChain(CHAINS[name]()).irreducible(0)
    found = method.solve(Q)
    factors, n = found.factors, Q.shape[0]
    others = np.delete(np.arange(n), factors.reference)
    matrix, rng = Q.toarray()[np.ix_(others, others)], np.random.default_rng(7)
    f = rng.random(n)
    g, low = factors.poisson(f)
    expected = np.linalg.solve(matrix, -f[others])
    np.testing.assert_allclose((g + low)[others], expected, rtol=1e-9)
    assert g[factors.reference] == low[factors.reference] == 0.0
    r = rng.random(n) - 0.5
    d = factors.balance(r)
    expected = np.linalg.solve(matrix.T, -r[others])
    np.testing.assert_allclose(d[others], expected, atol=1e-9 * np.abs(expected).max())
    assert d[factors.reference] == 0.0
    assert factors.nbytes == found.memory > 0
