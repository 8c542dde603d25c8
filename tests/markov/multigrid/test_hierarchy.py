"""Levels of multigrid, when cycles end, both linear equations of a chain; and the loops, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from hopflow.kernels import build
from markov import Cluster, JacksonTandem, MarkovChain, Multilevel, PauseTandem
from markov.multigrid import coarsening_kernels
from markov.multigrid import coarsening_kernels as coarsening
from markov.multigrid import linear_multigrid_kernels as linear
from markov.multigrid import multilevel_kernels as multilevel
from markov.multigrid.coarsening_kernels import Aggregates, Pattern
from markov.multigrid.cycle_kernels import Schedule, cycle
from markov.multigrid.hierarchy import COARSEST, build_hierarchy, summed
from markov.multigrid.iteration import StoppingRule, best_shares
from markov.proofs.poisson import MultigridPoisson
from tests.markov.conftest import generator_of
from tests.markov.methods.conftest import jump_matrix

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
    pi = np.linalg.lstsq(
        np.vstack([Q.toarray().T, np.ones(Q.shape[0])]), np.eye(Q.shape[0] + 1)[-1]
    )[0]
    return inflow, pi * exits, known


@pytest.mark.parametrize("components", [True, False], ids=["geometric", "algebraic"])
@pytest.mark.parametrize("model", [PauseTandem(), JacksonTandem(capacity=14)], ids=repr)
def test_every_state_has_a_parent_down_to_a_few(model, components):
    inflow, flow, known = jumps_of(model, components)
    found = build_hierarchy(inflow, flow, flow, known)
    states = [n for n, _ in found.sizes]
    assert states[0] == inflow.shape[0]
    assert states[-1] <= COARSEST < states[-2]
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
    np.testing.assert_allclose(found.improved(flow, found.cycle(1)), flow, rtol=1e-9, atol=1e-14)
    wrong = np.full(len(flow), 1.0 / len(flow))
    before = np.abs(inflow @ wrong - wrong).sum()
    better = found.improved(wrong, found.cycle(1))
    assert better.sum() == pytest.approx(1.0, rel=1e-14)
    assert np.abs(inflow @ better - better).sum() < 0.5 * before


def test_values_at_the_same_place_are_summed():
    assert summed(np.array([2, 0, 2]), np.array([1.0, 2.0, 4.0]), 4).tolist() == [
        2.0,
        0.0,
        5.0,
        0.0,
    ]


def test_a_state_apart_is_an_aggregate_of_its_own_on_each_level():
    inflow, flow, _ = jumps_of(PauseTandem())
    place = 57
    found = build_hierarchy(inflow, flow, flow, None, apart=place)
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
        if not rule.goes_on:
            return n
        if rule.ends(size):
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
    rule = StoppingRule(1e-9, 100, patience=3)
    assert run(rule, [1.0, 0.9, 0.8, 0.7, 0.6, 0.1]) == 5
    rule.restart()
    assert rule.goes_on
    assert rule.size == rule.before == np.inf


def test_shares_have_the_least_residual():
    random = np.random.default_rng(1)
    residual, changes = random.random(9), random.random((2, 9))
    products = np.column_stack([changes @ changes.T, -changes @ residual])
    expected = np.linalg.lstsq(changes.T, -residual, rcond=None)[0]
    np.testing.assert_allclose(best_shares(products), expected, rtol=1e-10)
    twice = np.column_stack(
        [np.full((2, 2), changes[0] @ changes[0]), np.full(2, -changes[0] @ residual)]
    )
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


# Pairs of states, and the entries between aggregates, as plain Python finds them.


N = 7
RNG = np.random.default_rng(9)
P = jump_matrix(N)
INFLOW = sp.csr_matrix(P.T)
INDEX = INFLOW.indptr, INFLOW.indices


def test_flow_along_a_component_is_counted_by_its_steps():
    component = np.array([0, 0, 1, 3])
    graph = sp.csr_matrix(np.array([[0, 1, 2, 0], [0, 0, 0, 4], [8, 0, 0, 0], [0, 0, 16, 0]]))
    found = coarsening.moves(component, graph.indptr, graph.indices, graph.data)
    assert found == (2 + 4 + 8 + 16, 2 + 8)


def test_neighbours_that_exchange_most_are_paired():
    exchange = np.zeros((6, 6))
    for a, b, flow in ((0, 1, 9.0), (1, 2, 1.0), (2, 3, 8.0), (3, 4, 2.0), (4, 5, 7.0)):
        exchange[a, b] = exchange[b, a] = flow
    graph, labels = sp.csr_matrix(exchange), np.full(6, -1)
    index = graph.indptr, graph.indices, graph.data
    assert (
        coarsening.match(
            coarsening.Pattern(*index[:2]), index[2], np.ones(6), 0.01, np.zeros(6), labels
        )
        == 3
    )
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_entries_of_aggregates_are_merged():
    labels = np.array([0, 1, 0, 1, 2, 2, 0])
    order = np.argsort(labels, kind="stable")
    bounds = np.array([0, 3, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = coarsening.merge(
        coarsening.Aggregates(labels, order, bounds),
        coarsening.Pattern(*INDEX),
        target,
        coarsening.Pattern(begins, coarse),
        seen,
    )
    sums = np.zeros((3, 3))
    np.add.at(sums, (labels[np.repeat(np.arange(N), np.diff(INFLOW.indptr))], labels[INFLOW.indices]),
              INFLOW.data)  # fmt: skip
    data = np.bincount(target[target >= 0], INFLOW.data[target >= 0], minlength=count)
    found = sp.csr_matrix((data, coarse[:count], begins), shape=(3, 3)).toarray()
    np.testing.assert_allclose(found, sums * (1 - np.eye(3)), rtol=1e-14)


# The loops for linear equations as plain Python, against dense linear algebra.


PARENT = np.array([7, 7, 8, 8, 8, 9, 9])


def coarser(x, right, scale, middles=None):
    """Return levels of which one has the entries above."""
    rest = middles, INFLOW.indices, INFLOW.data, PARENT, scale, None, True
    return linear.Coarser(INFLOW.indptr, *rest, x, right)


def test_relaxation_solves_equation_after_equation():
    right, scale = RNG.random(N), RNG.random(N)
    x = RNG.random(N)
    expected = x.copy()
    A = INFLOW.toarray()
    for s in range(N):
        expected[s] = scale[s] * (right[s] + A[s] @ expected)
    linear.relax(0, N, False, coarser(x, right, scale))
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_what_equations_leave_is_added_for_each_aggregate():
    right, scale, x = RNG.random(N), RNG.random(N), RNG.random(N)
    rest = right + INFLOW @ x - x / scale
    room = np.concatenate([right, np.zeros(3)])
    linear.leave(0, N, coarser(x, room, scale))
    np.testing.assert_allclose(room[7:], [rest[:2].sum(), rest[2:5].sum(), rest[5:].sum()])


def test_a_first_sweep_from_zero_is_done_by_halves():
    """As by whole rows: what each half leaves out is zero, but for rounding."""
    rows, columns = INFLOW.indptr, INFLOW.indices
    middles = np.empty(N, dtype=rows.dtype)
    assert linear.middles_of(0, N, rows, columns, middles)
    for s in range(N):
        assert np.all(columns[rows[s] : middles[s]] <= s)
        assert np.all(columns[middles[s] : rows[s + 1]] > s)
    right, scale, into = RNG.random(N), RNG.random(N), RNG.random(N)
    whole, half, room, other = np.zeros(N), np.zeros(N), np.zeros(N + 3), np.zeros(N + 3)
    room[:N] = other[:N] = right
    linear.relax(0, N, False, coarser(whole, right, scale))
    linear.leave(0, N, coarser(whole, room, scale))
    linear.begin(0, N, coarser(half, right, scale, middles))
    linear.pass_on(0, N, coarser(half, other, scale, middles))
    np.testing.assert_allclose(half, whole, rtol=1e-14)
    np.testing.assert_allclose(other, room, rtol=1e-12)
    first, room, other = half.copy(), np.append(right, np.zeros(3)), np.append(right, np.zeros(3))

    def finest(damping, own=0.0):
        weights = middles, damping, into, None
        return linear.Finest(rows, columns, INFLOW.data, own, *weights)

    linear.begin_first(N, finest(scale), coarser(first, right, scale))
    np.testing.assert_allclose(first, half, rtol=1e-14)
    own = -1.0 / scale[0]  # all alike, as for the jump chain
    alike = finest(np.full(N, scale[0]), own)
    linear.begin_first(N, alike, coarser(first, right, scale))
    linear.leave_first(N, alike, coarser(first, room, scale))
    linear.pass_on_first(N, alike, coarser(first, other, scale))
    np.testing.assert_allclose(other, room, rtol=1e-12)


def test_rows_that_do_not_ascend_are_seen():
    indices = INFLOW.indices.copy()
    row = slice(*INFLOW.indptr[2:4])
    indices[row] = indices[row][::-1]
    assert not linear.middles_of(0, N, INFLOW.indptr, indices, np.empty(N, dtype=np.int64))


def test_products_and_transposes_are_those_of_the_matrix():
    own, x, product = -RNG.random(), RNG.random(N), np.empty(N)
    linear.multiply(*INDEX, INFLOW.data, own, x, product)
    # terms below one, which may cancel, in another order
    np.testing.assert_allclose(product, INFLOW @ x + own * x, atol=1e-15)
    rows, columns = np.zeros(N + 1, dtype=np.int64), np.empty(INFLOW.nnz, dtype=np.int64)
    entries = np.empty(INFLOW.nnz)
    linear.transpose(0, N, (*INDEX, INFLOW.data), (rows, columns, entries))
    found = sp.csr_matrix((entries, columns, rows), shape=(N, N))
    np.testing.assert_array_equal(found.toarray(), P)


def test_a_step_is_made_without_its_shares_of_former_ones():
    rest, change, weights = RNG.random((3, N))
    former = RNG.random((2, N))
    products = np.empty(5)
    linear.gain(rest, change, former, weights, products)
    expected = [rest @ (rest * weights), rest @ (change * weights), change @ (change * weights)]
    np.testing.assert_allclose(products, [*expected, *(former @ (change * weights))])
    x, left, step, moved = RNG.random((4, N))
    steps, changes, shares = RNG.random((2, N)), RNG.random((2, N)), np.array([0.3, -0.2])
    wanted = x + 0.7 * (step - shares @ steps), left + 0.7 * (moved - shares @ changes)
    linear.advance((x, left), (step, moved), (steps, changes), shares, 0.7)
    np.testing.assert_allclose(x, wanted[0])
    np.testing.assert_allclose(left, wanted[1])


# The loops of aggregation multigrid as plain Python, against dense linear algebra.


def flows(inflow, scale, x):
    """Return the flows of one level."""
    index = inflow.indptr, inflow.indices, inflow.data
    return multilevel.Flows(*index, None, None, scale, x, np.empty((N, N)))


@pytest.mark.parametrize("backward", [False, True])
def test_a_sweep_gives_each_state_what_flows_in(backward):
    x, expected = RNG.random(N), None
    expected = x.copy()
    for s in range(N)[:: -1 if backward else 1]:
        expected[s] = expected @ P[:, s]
    multilevel.sweep(0, N, backward, flows(INFLOW, np.ones(N), x))
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_elimination_finds_the_flows_and_keeps_their_total():
    x, scale = np.ones(N), 1.0 / RNG.random(N)
    rates = RNG.random((N, N)) * (1 - np.eye(N))  # from state to state
    inflow = sp.csr_matrix(rates.T)
    scale = 1.0 / rates.sum(axis=1)
    multilevel.eliminate(0, N, flows(inflow, scale, x))
    out = x / scale  # out of each state, all its flows by the factor x
    np.testing.assert_allclose(rates.T @ x, out, rtol=1e-13)
    assert out.sum() == pytest.approx(rates.sum(), rel=1e-14)


def test_iterates_are_combined_with_a_floor():
    flow, flows = np.array([1.0, 2.0, 3.0]), np.array([[2.0, 2.0, -30.0]])
    better = np.empty(3)
    total = multilevel.blend(flow, flows, np.array([0.5]), 0.1, better)
    np.testing.assert_allclose(better, [1.5, 2.0, 0.3])
    assert total == pytest.approx(3.8)
    residual, residuals = np.array([0.3, -0.1, 0.2]), RNG.random((2, 3))
    products = np.empty((2, 3))
    multilevel.compare(flow, residual, RNG.random((2, 3)), residuals, products)
    change = residuals - residual
    np.testing.assert_allclose(products[:, :2], change / flow @ change.T)
    np.testing.assert_allclose(products[:, 2], -(change / flow) @ residual)


def test_a_cycle_on_two_levels_is_a_sweep_a_correction_and_a_sweep():
    """The correction solves the chain of the aggregates exactly; the solution is a fixed point."""
    pi = np.linalg.solve(np.vstack([(P.T - np.eye(N))[:-1], np.ones(N)]), np.eye(N)[-1])
    Q = generator_of(P)
    np.testing.assert_allclose(pi @ Q, 0.0, atol=1e-15)
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    order, bounds = np.arange(N), np.array([0, 2, 5, 7])
    target, begins = np.empty(INFLOW.nnz, dtype=np.int64), np.zeros(4, dtype=np.int64)
    coarse, seen = np.empty(INFLOW.nnz, dtype=np.int64), np.full(3, -1)
    count = coarsening_kernels.merge(
        Aggregates(labels, order, bounds), Pattern(*INDEX), target, Pattern(begins, coarse), seen
    )
    nnz = INFLOW.nnz
    indptr = np.concatenate([INFLOW.indptr, begins[1:] + nnz])
    indices = np.concatenate([INFLOW.indices, coarse[:count] + N])
    values = np.concatenate([INFLOW.data, np.zeros(count + 1)])
    target = np.concatenate(
        [np.where(target < 0, nnz + count, target + nnz), np.full(count, nnz + count)]
    )
    parent = np.concatenate([labels + N, np.zeros(3, dtype=np.int64)])
    first, left, repeats = np.array([0, N, N + 3]), np.zeros(3, dtype=np.int64), np.array([1, 1])

    def cycled(flow):
        x, scale = np.concatenate([flow, np.ones(3)]), np.ones(N + 3)
        entries = indptr, indices, values, target, parent
        levels = multilevel.Flows(*entries, scale, x, np.empty((3, 3)))
        build(cycle, helpers=multilevel.HELPERS, compiled=False)(
            Schedule(first, left, repeats, 1), levels
        )
        return x[:N] / x[:N].sum()

    np.testing.assert_allclose(cycled(pi), pi, rtol=1e-13)
    expected = np.full(N, 1.0 / N)
    for s in range(N):  # forward
        expected[s] = expected @ P[:, s]
    flows = np.zeros((3, 3))
    np.add.at(flows, (labels[:, None], labels[None, :]), expected[:, None] * P)
    rates = flows - np.diag(flows.sum(axis=1))
    factors = np.linalg.lstsq(np.vstack([rates.T, np.ones(3)]), np.eye(4)[-1])[0]
    expected *= factors[labels]
    for s in reversed(range(N)):
        expected[s] = expected @ P[:, s]
    np.testing.assert_allclose(cycled(np.full(N, 1.0 / N)), expected / expected.sum(), rtol=1e-12)
