"""Levels of multigrid, when cycles end, and both linear equations of a chain."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from markov import Cluster, JacksonTandem, MarkovChain, Multilevel, PauseTandem
from markov.multigrid.cycle import StoppingRule, best_shares
from markov.multigrid.hierarchy import COARSEST_LEVEL_STATES, build_hierarchy, sums_by_index
from markov.proofs.poisson import MultigridPoisson

# Levels of multigrid: aggregates of neighbours, and flows that are kept from level to level.


def jumps_of(model, components=True):
    """Return the transposed jump chain, the flows of its solution, and the components."""
    chain = MarkovChain(model)
    Q = chain.irreducible(0)
    exits = -Q.diagonal()
    rates = sp.csr_matrix(Q - sp.diags(Q.diagonal()))
    rates.eliminate_zeros()
    inflow = sp.csr_matrix((sp.diags(1.0 / exits) @ rates).T)
    inflow.sort_indices()
    known = chain.components_of(chain.recurrent_classes[0]) if components else None
    pi = np.linalg.lstsq(np.vstack([Q.toarray().T, np.ones(Q.shape[0])]), np.eye(Q.shape[0] + 1)[-1])[0]
    return inflow, pi * exits, known


@pytest.mark.parametrize("components", [True, False], ids=["geometric", "algebraic"])
@pytest.mark.parametrize("model", [PauseTandem(), JacksonTandem(capacity=14)], ids=repr)
def test_every_state_has_a_parent_down_to_a_few(model, components):
    inflow, flow, known = jumps_of(model, components)
    found = build_hierarchy(inflow, flow, flow, known)
    states = [n for n, _ in found.sizes]
    assert states[0] == inflow.shape[0]
    assert states[-1] <= COARSEST_LEVEL_STATES < states[-2]
    for level, (low, high) in enumerate(zip(found.first, found.first[1:], strict=False)):
        if level < len(states) - 1:
            parents = found.parent[low:high]
            assert set(parents.tolist()) == set(range(high, int(found.first[level + 2])))
    assert found.nbytes == sum(array.nbytes for array in found)


def test_a_box_has_twice_the_values_of_each_component_at_most():
    inflow, flow, known = jumps_of(JacksonTandem(capacity=14))
    found = build_hierarchy(inflow, flow, flow, known)
    n = found.first[1]
    boxes = found.parent[:n] - n
    for box in range(int(boxes.max()) + 1):
        for values in known.values():
            inside = np.unique(values[boxes == box])
            assert inside[-1] - inside[0] <= 1
    assert boxes.max() + 1 <= 120  # of 15 by 15, one component halved at least


@pytest.mark.parametrize("components", [True, False], ids=["geometric", "algebraic"])
def test_flows_between_aggregates_are_sums_of_those_between_states(components):
    inflow, flow, known = jumps_of(PauseTandem(), components)
    found = build_hierarchy(inflow, flow, flow, known)
    found.freeze(flow)
    n, m = found.first[1], found.first[2] - found.first[1]
    labels = found.parent[:n] - n
    between = sp.coo_matrix(inflow)
    flows = np.zeros((m, m))
    np.add.at(flows, (labels[between.row], labels[between.col]), between.data * flow[between.col])
    np.fill_diagonal(flows, 0.0)
    coarse = np.zeros((m, m))
    for s in range(n, n + m):
        entries = slice(found.indptr[s], found.indptr[s + 1])
        coarse[s - n, found.indices[entries] - n] = found.values[entries]
    np.testing.assert_allclose(coarse, flows, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("components", [True, False], ids=["geometric", "algebraic"])
def test_the_solution_stays_under_a_cycle(components):
    inflow, flow, known = jumps_of(PauseTandem(), components)
    found = build_hierarchy(inflow, flow, flow, known)
    flow = flow / flow.sum()
    np.testing.assert_allclose(found.improve(flow, found.make_cycle(1)), flow, rtol=1e-9, atol=1e-14)
    wrong = np.full(len(flow), 1.0 / len(flow))
    before = np.abs(inflow @ wrong - wrong).sum()
    better = found.improve(wrong, found.make_cycle(1))
    assert better.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.abs(inflow @ better - better).sum() < 0.5 * before


def test_values_at_the_same_place_are_summed():
    found = sums_by_index(np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0]), 4)
    assert found.tolist() == [2.0, 0.0, 5.0, 0.0]


def test_a_state_apart_is_an_aggregate_of_its_own_on_each_level():
    inflow, flow, _ = jumps_of(PauseTandem())
    place = 57
    found = build_hierarchy(inflow, flow, flow, None, isolated=place)
    assert len(found.sizes) > 2
    for low, high in zip(found.first[:-2], found.first[1:-1], strict=True):
        parents = found.parent[low:high]
        assert np.count_nonzero(parents == found.parent[place]) == 1
        place = int(found.parent[place])
        assert high <= place


# When cycles end, and how iterates are combined.


def run(rule, sizes):
    """Return how many residuals were taken in."""
    for n, size in enumerate(sizes):
        if not rule.may_continue:
            return n
        if rule.record(size):
            return n + 1
    return len(sizes)


def test_cycles_end_at_the_tolerance_or_at_the_number_allowed():
    sizes = [10.0**-n for n in range(20)]
    assert run(StoppingRule(1e-3, 100), sizes) == 4
    assert run(StoppingRule(1e-30, 5), sizes) == 5
    assert run(StoppingRule(1e-30, 5, done=3), sizes) == 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cycles_end_where_the_residual_is_no_number(bad):
    assert run(StoppingRule(1e-9, 100), [1.0, bad, 0.1]) == 2


def test_cycles_end_where_they_gain_nothing():
    """The first residual is the best, and 0.6 of it is not half of it: 3 that gain nothing, and one more."""
    rule = StoppingRule(1e-9, 100, max_stagnant=3)
    assert run(rule, [1.0, 0.9, 0.8, 0.7, 0.6, 0.1]) == 5
    rule.restart()
    assert rule.may_continue
    assert rule.size == rule.before == np.inf


def test_shares_have_the_least_residual():
    random = np.random.default_rng(1)
    residual, changes = random.random(9), random.random((2, 9))
    products = np.column_stack([changes @ changes.T, -changes @ residual])
    expected = np.linalg.lstsq(changes.T, -residual, rcond=None)[0]
    np.testing.assert_allclose(best_shares(products), expected, rtol=1e-10)
    twice = np.column_stack([np.full((2, 2), changes[0] @ changes[0]), np.full(2, -changes[0] @ residual)])
    assert np.isfinite(best_shares(twice)).all()  # of equal iterates


# Both linear equations of a chain by multigrid, beside sparse LU.


def poisson_of(model, known):
    """Return Q, pi and multigrid for its linear equations, on geometric or algebraic aggregates."""
    chain = MarkovChain(model)
    Q, components = chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])
    found = Multilevel(geometric=known).solve(Q, components)
    return Q, found.pi, MultigridPoisson(Q, found.pi, found.hierarchy, np.ones(len(found.pi)))


@pytest.mark.parametrize(
    "model",
    [PauseTandem(), PauseTandem(buffers=(10, 30), rtt=25.0, arrival_rates=(30, 3, 0.5)), Cluster()],
    ids=["pause", "slow", "cluster"],
)
@pytest.mark.parametrize("known", [True, False], ids=["geometric", "algebraic"])
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


# Which states are joined: those that exchange most.


def symmetric(exchange):
    """Return the jumps and the flows of a reversible chain with these flows between states."""
    flows = sp.csr_matrix(exchange)
    flow = np.asarray(flows.sum(axis=0)).ravel()
    return sp.csr_matrix(flows @ sp.diags(1.0 / flow)), flow


def test_neighbours_that_exchange_most_are_paired():
    """A line of strong and weak exchanges in turn."""
    n = 240
    strength = np.where(np.arange(n - 1) % 2 == 0, 9.0, 1.0)
    inflow, flow = symmetric(sp.diags([strength, strength], [1, -1]))
    parent = build_hierarchy(inflow, flow, flow, None).parent[:n]
    assert parent[::2].tolist() == parent[1::2].tolist()
    assert n // 16 <= len(set(parent.tolist())) <= n // 2


@pytest.mark.parametrize("fast", [0, 1])
def test_values_of_the_component_with_most_flow_are_joined(fast):
    """A grid with a hundred times the exchange along one of its two components."""
    line = sp.diags([np.ones(19), np.ones(19)], [1, -1])
    rates = [1.0, 100.0] if fast else [100.0, 1.0]
    exchange = rates[0] * sp.kron(line, sp.eye(20)) + rates[1] * sp.kron(sp.eye(20), line)
    inflow, flow = symmetric(exchange)
    x, y = np.divmod(np.arange(400), 20)
    found = build_hierarchy(inflow, flow, flow, {"x": x, "y": y})
    parent, slow = found.parent[:400], (x, y)[1 - fast]
    for box in set(parent.tolist()):
        assert len(set(slow[parent == box].tolist())) == 1
    assert len(set(parent.tolist())) == 200
