"""Every method on every chain of a table: against GTH within the bounds, and what must not change."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from hopflow import NotSolvedError, Status
from markov import (
    GTH,
    BirthDeath,
    Cluster,
    Courtois,
    GaussSeidel,
    Krylov,
    MarkovChain,
    MatrixFree,
    PauseTandem,
    Polling,
    Power,
    stationary,
)
from markov.errors import ConvergenceError
from markov.registries import CHAINS as REGISTERED_CHAINS
from markov.registries import METHODS as REGISTERED
from tests.markov.methods.conftest import CHAINS, random_chain, reference

METHODS = [
    method
    for entry in REGISTERED
    if not isinstance(entry.method, GTH | MatrixFree)
    for method in (entry.method, *entry.variants)
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


@pytest.mark.parametrize("method", FAMILIES, ids=repr)
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


@pytest.mark.parametrize("method", FAMILIES, ids=repr)
def test_sides_of_the_cluster_are_alike(method):
    _, found, answer = solved(Cluster(workstations=2), method)
    states = list(zip(*found, strict=True))
    swap = {0: 0, 1: 2, 2: 1, 3: 4, 4: 3, 5: 5}
    place = {state: n for n, state in enumerate(states)}
    other = [place[right, left, rs, ls, b, swap[r]] for left, right, ls, rs, b, r in states]
    assert 0.5 * np.abs(answer.pi - answer.pi[other]).sum() <= 2 * answer.error_bound
