"""All methods on the same chains, and which one is chosen."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from functools import cache

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import markov
from hopflow import NotSolvedError, Status
from markov import (
    GTH,
    MM1K,
    BirthDeath,
    Cluster,
    Courtois,
    CoxTandem,
    GaussSeidel,
    JacksonTandem,
    Kanban,
    Krylov,
    Levels,
    MarkovChain,
    MatrixFree,
    Multilevel,
    PauseTandem,
    Polling,
    Power,
    SparseLU,
    explore,
    stationary,
    stationary_by_class,
)
from markov.elimination.structure import closed_classes
from markov.errors import ConvergenceError
from markov.methods.choice import choose
from markov.methods.level_reduction import partition
from markov.methods.solution import Method
from markov.registries import CHAINS as REGISTERED_CHAINS
from markov.registries import METHODS as REGISTERED
from markov.registries import chain_named, method_named
from tests.markov.conftest import generator_of
from tests.markov.methods.conftest import CHAINS, random_chain, reference, ring, tree
from tests.surface import for_each

# Every method on every chain of a table: against GTH within the bounds, and what must not change.


VARIANTS: dict[type, tuple[Method, ...]] = {
    Levels: (Levels(cyclic=False),),
    Multilevel: (Multilevel(geometric=False),),
    GaussSeidel: (GaussSeidel(ordering="cuthill-mckee"), GaussSeidel(ordering="flow")),
    Krylov: (
        Krylov(solver="bicgstab"),
        Krylov(preconditioner="multilevel"),
        Krylov(preconditioner="multilevel", solver="bicgstab"),
    ),
}
"""Methods with other options than their defaults."""
METHODS = [
    method
    for entry in REGISTERED
    if not isinstance(entry.method, GTH | MatrixFree)
    for method in (entry.method, *VARIANTS.get(type(entry.method), ()))
]
"""All but the reference, and the one that takes no matrix (test_matrix_free.py)."""
ITERATIVE = [method for method in METHODS if hasattr(method, "tolerance")]
EVERY = pytest.mark.parametrize("method", METHODS, ids=repr)
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


@for_each(ITERATIVE)
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


MODELS = [model for entry in REGISTERED_CHAINS for model in entry.small]
FAMILIES = [
    *(e.method for e in REGISTERED if not isinstance(e.method, MatrixFree | Power)),
    Krylov(preconditioner="multilevel", solver="bicgstab"),
]


@cache
def solved(model, method):
    """Return chain, states and answer."""
    chain = MarkovChain(model)
    return chain, chain.states, stationary(chain, method, on_failure="return")


@pytest.mark.parametrize("method", FAMILIES, ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_method_on_every_model(model, method):
    chain, _, answer = solved(model, method)
    truth = solved(model, GTH())[-1]
    if isinstance(model, Courtois) and isinstance(method, GaussSeidel):
        assert not answer.status.ok  # nearly decomposable: sweeps do not get there, and say so
        return
    assert answer.status.ok
    assert answer.pi.min() >= 0.0
    assert answer.mass_defect < 1e-14
    assert answer.residual <= 1e-12
    apart = 0.5 * np.abs(answer.pi - truth.pi).sum()
    assert apart <= answer.error_bound + truth.error_bound
    flows = answer.pi[:, None] * chain.Q.toarray()
    for component in chain.components.values():
        for level in np.unique(component)[1:]:
            below = component < level
            up, down = flows[below][:, ~below].sum(), flows[~below][:, below].sum()
            # what crosses a cut differs by no more than the residual, a share of twice the flow
            assert abs(up - down) <= 1e-12 * np.abs(flows).sum()


@for_each(FAMILIES)
def test_stations_are_alike(method):
    """Turning all of polling's stations by one changes nothing: orbits of states lump to one."""
    model = Polling(stations=4)
    _, s, answer = solved(model, method)
    n = model.stations
    turned = (s.full >> s.at) | ((s.full << (n - s.at)) & (2**n - 1))  # as the server sees it
    for served in (0, 1):
        for seen in range(2**n):
            orbit = answer.pi[(s.serving == served) & (turned == seen)]
            if len(orbit):  # without: the server never serves an empty station
                assert np.ptp(orbit) <= 2 * answer.error_bound


@for_each(FAMILIES)
def test_sides_of_the_cluster_are_alike(method):
    _, found, answer = solved(Cluster(workstations=2), method)
    states = list(zip(*found, strict=True))
    swap = {0: 0, 1: 2, 2: 1, 3: 4, 4: 3, 5: 5}
    place = {state: n for n, state in enumerate(states)}
    other = [place[right, left, rs, ls, b, swap[r]] for left, right, ls, rs, b, r in states]
    assert 0.5 * np.abs(answer.pi - answer.pi[other]).sum() <= 2 * answer.error_bound


# Which method is chosen, what is predicted before it happens, and what small chains do without.


def test_what_is_chosen():
    """Elimination where it is short, factors on a tree, multigrid where both would fill in."""
    assert isinstance(stationary(PauseTandem()).method, GTH)
    assert isinstance(stationary(tree(30_000)).method, SparseLU)
    answer = stationary(explore(Polling(stations=10)))
    assert isinstance(answer.method, Multilevel)
    assert "multigrid" in answer.reason
    assert "predicted" in answer.reason


def test_what_a_process_did_before_does_not_choose(monkeypatch):
    """The same method and reason with and without Numba loaded, where elimination is short and where it is not."""
    pytest.importorskip("numba")
    asked = [(MarkovChain(model).Q, None) for model in (PauseTandem(), Kanban(tickets=2))]
    found = [choose(*each) for each in asked]
    assert [type(method) for method, _ in found] == [GTH, Multilevel]
    monkeypatch.delitem(sys.modules, "numba")
    assert [choose(*each) for each in asked] == found


@pytest.mark.slow
def test_a_bare_tandem_of_two_million_states_has_a_bound():
    """Half of its probabilities are below 1e-280, of which multigrid promises only that they are positive."""
    chain = MarkovChain(explore(CoxTandem(capacity=1023)).chain.Q)
    assert stationary(chain).error_bound < 1e-9


FRESH = """
import sys
import numpy as np
from markov import explore, stationary

def machines(s, q):
    if s.working > 0:
        yield s._replace(working=s.working - 1), 0.1 * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), 1.0

found = explore(machines, start={"working": 3}, rewards=lambda s: {"working": s.working})
small = stationary(found)
rates = np.random.default_rng(1).random((200, 200))
np.fill_diagonal(rates, 0.0)
dense = stationary(rates - np.diag(rates.sum(axis=1)))
rates[np.abs(np.subtract.outer(np.arange(200), np.arange(200))) > 2] = 0.0
band = stationary(rates - np.diag(rates.sum(axis=1)))
for answer in (small, dense, band):
    assert str(answer.status) == "converged" and answer.error_bound < 1e-14
    assert answer.entry_error < 1e-9
small.bound("working"), dense.bound(np.arange(200)), repr(band)
print("numba" in sys.modules)
"""


def test_small_chains_are_solved_and_bounded_without_loading_numba():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


REASONS = """
from markov import PauseTandem, stationary
reason = stationary(PauseTandem()).reason
import numba
assert stationary(PauseTandem()).reason == reason
print(reason)
"""


@pytest.mark.slow
def test_the_reason_is_the_same_in_every_process():
    """Whatever the order of sets, and whether Numba is loaded."""
    reasons = {
        subprocess.run(
            [sys.executable, "-c", REASONS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(reasons) == 1
    assert "s predicted; multigrid " in reasons.pop()


# Closed classes, periods and absorption probabilities.


@for_each(range(20))
def test_closed_classes_are_networkxs_attracting_components(seed):
    graph = nx.gnp_random_graph(12, 0.12, seed=seed, directed=True)
    Q = sp.csr_matrix(generator_of(nx.to_numpy_array(graph)))
    expected = {frozenset(states) for states in nx.attracting_components(graph)}
    found = closed_classes(Q)
    assert {frozenset(states.tolist()) for states in found} == expected
    assert all((np.diff(states) > 0).all() for states in found)


def test_periods():
    assert MarkovChain(MM1K()).periods == [2]
    assert MarkovChain(JacksonTandem()).periods == [3]
    assert MarkovChain(PauseTandem()).periods == [1]
    for n in (2, 3, 7):
        rates = np.roll(np.eye(n), 1, axis=1)
        assert MarkovChain(generator_of(rates)).periods == [n]
        rates[0, 0 if n == 2 else 2] += 1.0  # a short cut
        assert MarkovChain(generator_of(rates)).periods == [{2: 2, 3: 1, 7: 1}[n]]
    assert MarkovChain(np.zeros((3, 3))).periods == [1, 1, 1]


def test_gamblers_ruin():
    """From n of 10 with odds 3 : 2 against, the textbook's formula, entry by entry."""
    rates = np.diag(np.full(10, 2.0), 1) + np.diag(np.full(10, 3.0), -1)
    rates[0] = rates[10] = 0.0
    chain = MarkovChain(generator_of(rates))
    n, ratio = np.arange(11), 1.5
    wins = (ratio**n - 1) / (ratio**10 - 1)
    np.testing.assert_allclose(chain.absorption_probabilities[:, 1], wins, rtol=1e-14)
    np.testing.assert_allclose(chain.absorption_probabilities.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("limit", [1500, 5])
def test_absorption_against_a_dense_solver(limit, monkeypatch):
    monkeypatch.setattr("markov.elimination.structure.DENSE_LIMIT", limit)
    rng = np.random.default_rng(4)
    rates = rng.random((30, 30)) * (rng.random((30, 30)) < 0.2) + np.diag(np.ones(29), 1)
    for end in (slice(24, 27), slice(27, 30)):
        rates[end] = 0.0
        rates[end, end] = 1.0
    np.fill_diagonal(rates, 0.0)
    Q = generator_of(rates)
    chain = MarkovChain(Q)
    inside = np.linalg.inv(-Q[:24, :24])
    for column, states in enumerate(chain.recurrent_classes):
        expected = inside @ rates[:24][:, states].sum(axis=1)
        np.testing.assert_allclose(chain.absorption_probabilities[:24, column], expected, rtol=1e-12)
        assert (chain.absorption_probabilities[states, column] == 1.0).all()
    np.testing.assert_allclose(
        chain.absorption_probabilities @ np.array([answer.pi for answer in stationary_by_class(chain)]) @ Q,
        0.0,
        atol=1e-14,
    )


# Level reduction: accurate in every entry, and where the levels come from.


@pytest.mark.parametrize("method", [Levels(), Levels(cyclic=False)], ids=repr)
@pytest.mark.parametrize("name", CHAINS)
def test_levels_are_accurate_in_every_entry(name, method):
    truth = reference(name)
    pi = stationary(truth.chain, method).pi
    np.testing.assert_allclose(pi, truth.pi, rtol=1e-11, atol=1e-300)


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


# Cyclic reduction of equal levels: any number of them, in little memory.


@pytest.mark.parametrize("length", [3, 5, 6, 7, 8, 31, 64, 65, 100])
@pytest.mark.parametrize("rate", [3.0, 10.0, 40.0])
def test_any_number_of_equal_levels(length, rate):
    model = PauseTandem(buffers=(length, 4), high_threshold=3, arrival_rates=(rate, 1.0))
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-11, atol=1e-300)


def test_cyclic_reduction_saves_memory():
    model = PauseTandem(buffers=(1000, 4), high_threshold=3)
    one, all_levels = (stationary(model, Levels("i", cyclic=c)) for c in (True, False))
    np.testing.assert_allclose(one.pi, all_levels.pi, rtol=1e-10, atol=1e-300)
    assert one.memory < 0.02 * all_levels.memory


@pytest.mark.parametrize("rates", [(20.0, 10.0), (10.0, 20.0)])
def test_ratios_beyond_float64_across_a_run(rates):
    arrival, service = rates
    answer = stationary(MM1K(arrival_rate=arrival, service_rate=service, capacity=5000), Levels())
    likely = answer.pi[::-1] if arrival > service else answer.pi
    np.testing.assert_allclose(likely[:900], 0.5 ** np.arange(1, 901), rtol=1e-12)


# The registries have every method and chain that markov exports.


NOT_BY_NAME = {
    "ChainModel": "the base",
    "PhaseQueue": "made of objects, which a command cannot give",
    "SemiMarkov": "made of objects, which a command cannot give",
}
"""Exported subclasses of `ChainModel` that are not in the registry, and why."""


def test_every_exported_chain_is_registered():
    exported = {
        name
        for name in markov.__all__
        if isinstance(kind := getattr(markov, name), type) and issubclass(kind, markov.ChainModel)
    }
    assert {entry.kind.__name__ for entry in REGISTERED_CHAINS} == exported - set(NOT_BY_NAME)
    for entry in REGISTERED_CHAINS:
        assert chain_named("chain", entry.kind.__name__) is entry.kind
        assert all(type(model) is entry.kind for model in entry.small)


def test_every_exported_method_is_registered():
    exported = {
        name
        for name in markov.__all__
        if callable(getattr(kind := getattr(markov, name), "solve", None)) and isinstance(kind, type)
    }
    assert {type(entry.method).__name__ for entry in REGISTERED} == exported - {"Method"}
    for entry in REGISTERED:
        assert method_named("method", type(entry.method).__name__) == entry.method
