"""Chains in shards: plans, stencils, levels, elimination, hitting times, searches."""

from __future__ import annotations

import functools
import itertools
from math import fsum
from typing import NamedTuple

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from jax.sharding import PartitionSpec as P

from markov import ChainModel, MarkovChain, PauseTandem, stationary, stationary_sharded
from markov.sharding.chains import ShardedChain
from markov.sharding.combinations import best_combination
from markov.sharding.elimination import dense, eliminate, inverse_of
from markov.sharding.equations import Equations, at, left
from markov.sharding.hitting_times import HittingTimes
from markov.sharding.levels import (
    Level,
    aggregate,
    ahead,
    arrivals,
    coarse_changes,
    given,
    pooled,
    refine,
    repeated,
)
from markov.sharding.plans import held_bytes, plan_levels, proof_bytes
from markov.sharding.reachability import (
    SeveralClassesError,
    place_of_largest,
    reached,
    recurrent,
    start_of,
)
from markov.sharding.stencils import stencil_of
from tests.markov.sharding.conftest import SHAPE, Tandem, edges, random_flows

# Answers, plans and combinations of a sharded chain.


@pytest.mark.slow
def test_an_answer_is_proved_when_it_is_asked_for():
    """Throughput differs from that of `stationary` by no more than both bounds allow."""
    model = PauseTandem(buffers=(20, 30), high_threshold=20)
    answer, other = stationary_sharded(model), stationary(model)
    assert 0.0 < answer.error_bound < 1e-8
    most = 15.0 * 2.0 * (answer.error_bound + other.error_bound)
    assert answer.mean(lambda s: 15.0 * (s.j > 0)) == pytest.approx(other.throughput, abs=most)


@pytest.mark.slow
def test_a_combination_has_the_least_weighted_residual():
    """Against least squares of all numbers at once."""
    rng = np.random.default_rng(1)
    x, rest, *olds = rng.normal(size=(6, 30, 40))
    weight = rng.uniform(0.1, 1.0, size=(30, 40))
    with jax.enable_x64(True):
        chain = ShardedChain(stencil_of(Tandem())[1], jax.devices()[:1])
        step = chain.compiled(lambda *a: best_combination(*a[:3], a[3:]), [P()] * 7, P())
        found = np.asarray(step(x, rest, weight, *olds))
        same = np.asarray(step(x, rest, weight, *[x, rest] * 2))
    np.testing.assert_array_equal(same, x)  # nothing to be gained
    root = np.sqrt(weight).ravel()
    moves = np.stack([(old - x).ravel() for old in olds[::2]])
    gains = np.stack([root * (old - rest).ravel() for old in olds[1::2]])
    shares = np.linalg.lstsq(gains.T, -root * rest.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.ravel(), x.ravel() + shares @ moves, rtol=0, atol=1e-12)


def test_each_device_holds_less():
    """All but the slices of rates, and levels of few states; all numbers of devices form the same pairs."""
    _, stencil = stencil_of(PauseTandem(buffers=(400, 400), high_threshold=300))
    alone = plan_levels(stencil, 1)
    held, proof = [held_bytes(alone, stencil)], [proof_bytes(alone)]
    for devices in (2, 4, 8):
        levels = plan_levels(stencil, devices)
        rows = levels[0].shape[0] // devices
        assert 401 / devices <= rows <= 1.12 * 401 / devices + 1
        assert (levels[0].devices, levels[-1].devices) == (devices, 1)
        assert [level.halved for level in levels] == [level.halved for level in alone]
        assert [level.changes for level in levels] == [level.changes for level in alone]
        held.append(held_bytes(levels, stencil))
        proof.append(proof_bytes(levels))
    for each in (held, proof):
        assert each[1] < 0.6 * each[0]
        assert each[2] < 0.35 * each[0]
        assert each[3] < 0.25 * each[0]


# Chains over devices: what each device is given.


@pytest.fixture(scope="module")
def chain():
    with jax.enable_x64(True):
        return ShardedChain(stencil_of(Tandem())[1], jax.devices()[:1])


def test_rates_and_classes_are_those_of_the_stencil(chain):
    rates, classes = chain.data
    np.testing.assert_array_equal(rates, chain.stencil.rates)
    np.testing.assert_array_equal(classes, chain.stencil.classes)


def test_an_indicator_marks_one_state_or_all(chain):
    one, all_of_them = np.asarray(chain.indicator((3, 5))), np.asarray(chain.indicator(None))
    assert np.argwhere(one).tolist() == [[3, 5]]
    assert all_of_them.shape == chain.shape
    assert all_of_them.all()


def test_a_program_waits_for_its_result(chain):
    """Not waiting, more than 32 programs could be under way on a device, and XLA would stand still."""

    def long(x):
        return jax.lax.fori_loop(0, 1000, lambda _, y: jax.numpy.tanh(y + x), x)

    values = np.ones((1000, 100))
    program = chain.compiled(long, (chain.spread,), chain.spread)
    jax.block_until_ready(program(values))  # compiled
    assert program(values).is_ready()


# Stencils: the rates of the generator, without the matrix.


def matrix_of(space, stencil):
    """The rates off the diagonal over the whole space, in the model's order of components."""
    order = list(stencil.order)
    inside = np.indices(stencil.shape).reshape(len(order), -1)
    weights = np.array(space.weights)[order]
    rates = stencil.rates[:, stencil.classes]  # one row for each value
    rows, columns, data = [], [], []
    for change, some in zip(stencil.changes, rates, strict=True):
        kept = some.ravel() > 0.0
        numbers = weights @ inside
        rows.append(numbers[kept])
        columns.append(numbers[kept] + int(weights @ np.array(change)))
        data.append(some.ravel()[kept])
    ends = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_matrix((np.concatenate(data), ends), shape=(space.size, space.size))


@pytest.mark.parametrize(
    ("model", "along"),
    [
        (PauseTandem(buffers=(20, 20), high_threshold=12, arrival_rates=(9.0, 5.0, 1.0)), None),
        (PauseTandem(buffers=(20, 20), low_threshold=3), "j"),
        (Tandem(), None),
    ],
    ids=["pause", "pause along j", "tandem"],
)
def test_rates_are_those_of_the_generator(model, along):
    space, stencil = stencil_of(model, along)
    if along is not None:
        assert space.names[stencil.order[0]] == along
    Q = MarkovChain(model, reachable=False).Q
    off = Q - sp.diags(Q.diagonal())
    difference = abs(matrix_of(space, stencil) - off)
    assert difference.max() <= 1e-14 * off.max()  # rates that are sums, in another order


# Elimination on the last level is exact.


CHANGES = (
    *set(itertools.permutations((1, 0, 0))),
    *set(itertools.permutations((-1, 0, 0))),
    (-1, 1, 0),
)
LEVEL = Level(SHAPE, CHANGES, (False,) * 3, 1)


def matrix(flows):
    """The flows between the states of the box, from all transitions."""
    numbers = {place: n for n, place in enumerate(np.ndindex(*SHAPE))}
    found = np.zeros((len(numbers), len(numbers)))
    for (source, target), flow in edges(flows, CHANGES).items():
        found[numbers[source], numbers[target]] += flow
    return found


def test_flows_as_a_matrix():
    flows = random_flows(CHANGES)
    np.testing.assert_array_equal(dense(flows, LEVEL), matrix(flows))


@pytest.mark.slow
def test_elimination_solves_the_last_level():
    """Against `stationary` of the same chain."""
    flows = random_flows(CHANGES)
    with jax.enable_x64(True):
        found = np.asarray(eliminate(flows, LEVEL)).ravel()
    Q = matrix(flows)
    np.fill_diagonal(Q, -Q.sum(axis=1))
    np.testing.assert_allclose(found / found.sum(), stationary(Q).pi, rtol=1e-12)


def test_the_inverse_of_the_last_level():
    """Against numpy's, of flows that differ by ten orders of magnitude; one state has none."""
    rng = np.random.default_rng(1)
    flows = 10.0 ** rng.uniform(-5.0, 5.0, size=(9, 9))
    np.fill_diagonal(flows, 0.0)
    flows[4], flows[:, 4] = 0.0, 0.0
    found = inverse_of(flows, 6, 3.0)
    some = np.arange(9) != 4
    system = np.diag(flows.sum(axis=1) + 3.0 * (np.arange(9) == 6)) - flows
    expected = np.linalg.inv(system[np.ix_(some, some)])
    np.testing.assert_allclose(found[np.ix_(some, some)], expected, rtol=1e-6)  # numpy's accuracy
    np.testing.assert_allclose((system @ found)[np.ix_(some, some)], np.eye(8), atol=1e-6)
    assert not found[4].any()
    assert not found[:, 4].any()


# Hitting times over devices, against those of a matrix.


@pytest.fixture(scope="module")
def solved():
    model = PauseTandem(buffers=(10, 12), high_threshold=9)
    chain, (space, stencil) = MarkovChain(model), stencil_of(model)
    answer, numbers = stationary(chain), space.numbers(np.array(chain.states))
    pi = np.zeros(space.size)
    pi[numbers] = answer.pi
    values = np.ascontiguousarray(pi.reshape(space.shape).transpose(stencil.order))
    with jax.enable_x64(True):
        sharded = ShardedChain(stencil, jax.devices()[:1])
        x = sharded.put(sharded.shape, sharded.spread, lambda place: values[place])
        counted = recurrent(sharded, start_of(model, space, stencil), x)
        hitting = HittingTimes(sharded, x, counted, place_of_largest(sharded, x))
        c, _ = hitting.solve()
        misfit = hitting.misfit(x)
    h = np.asarray(hitting.x).transpose(np.argsort(stencil.order)).ravel()[numbers]
    return chain, answer.pi, h, c, misfit


@pytest.mark.slow
def test_h_falls_everywhere_but_in_the_reference(solved):
    chain, pi, h, c, _ = solved
    drift = chain.Q @ h
    reference = int(np.argmax(pi))
    assert c > 0.5
    assert drift[np.arange(len(pi)) != reference].max() == pytest.approx(-c, rel=1e-9)
    assert int(np.argmin(h)) == reference


@pytest.mark.slow
def test_sums_of_probabilities_are_those_of_exact_arithmetic(solved):
    """The residual of probabilities by elimination is rounding alone, and the bound on that of a sum."""
    chain, pi, h, _, (off, mass, elsewhere) = solved
    assert mass == pytest.approx(fsum([*pi, -1.0]), abs=1e-17)
    assert elsewhere == 0.0
    flow = 2.0 * (pi * -chain.Q.diagonal()) @ (h - h.min())
    net = pi @ chain.Q.toarray()
    sides = [np.maximum(sign * net, 0.0) @ (h - h.min()) for sign in (1.0, -1.0)]
    assert max(sides) <= off <= 1e-14 * flow


# Levels: flows arrive where the changes say, pairs keep all flow between them, pairs share and sum.


JUMPS = ((-1, 1, 0), (0, -1, 1), (1, 0, 0), (2, 0, -1), (0, 1, 0))


@pytest.fixture
def flows():
    return random_flows(JUMPS)


@pytest.fixture(autouse=True)
def in_64_bits():
    with jax.enable_x64(True):
        yield


@pytest.mark.slow
def test_flows_arrive_where_the_changes_say(flows):
    expected = np.zeros(SHAPE)
    for (_, target), flow in edges(flows, JUMPS).items():
        expected[target] += flow
    found = arrivals(list(flows), Level(SHAPE, JUMPS, (False,) * 3, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("halved", [(True, True, False), (False, True, True), (True, False, False)], ids=str)
def test_pairs_keep_the_flows_between_them(flows, halved):
    changes = coarse_changes(JUMPS, halved)
    level = Level(SHAPE, JUMPS, halved, 1)
    shape = tuple(-(-n // 2) if half else n for n, half in zip(SHAPE, halved, strict=True))
    after = Level(shape, changes, (False,) * 3, 1)
    found = np.asarray(aggregate(list(flows), level, after))
    assert found.shape == (len(changes), *shape)
    expected: dict = {}
    for ends, flow in edges(flows, JUMPS).items():
        pairs = tuple(tuple(n // 2 if half else n for n, half in zip(place, halved, strict=True)) for place in ends)
        if pairs[0] != pairs[1]:
            expected[pairs] = expected.get(pairs, 0.0) + flow
    assert edges(found, changes) == pytest.approx(expected, rel=1e-14)
    factors = np.random.default_rng(4).uniform(size=shape)
    finer = np.asarray(refine(np.ones(SHAPE), factors, level, after))
    for place in np.ndindex(*SHAPE):
        pair = tuple(n // 2 if half else n for n, half in zip(place, halved, strict=True))
        assert finer[place] == factors[pair]


@pytest.mark.slow
def test_numbers_ahead_are_those_of_the_states_that_changes_lead_to():
    x = np.random.default_rng(5).uniform(size=SHAPE)
    found = ahead(x, Level(SHAPE, JUMPS, (False,) * 3, 1))
    for numbers, change in zip(found, JUMPS, strict=True):
        for place in np.ndindex(*SHAPE):
            target = np.add(place, change)
            inside = (target >= 0).all() and (target < SHAPE).all()
            assert numbers[place] == (x[tuple(target)] if inside else 0.0)


@pytest.mark.slow
def test_sums_over_pairs_and_numbers_of_pairs():
    halved = (True, False, True)
    level = Level(SHAPE, JUMPS, halved, 1)
    after = Level((3, 4, 1), coarse_changes(JUMPS, halved), (False,) * 3, 1)
    x = np.random.default_rng(6).uniform(size=SHAPE)
    sums = np.zeros(after.shape)
    for i, j, k in np.ndindex(*SHAPE):
        sums[i // 2, j, k // 2] += x[i, j, k]
    np.testing.assert_allclose(pooled(x, level, after), sums, rtol=1e-15)
    again = repeated(jax.numpy.asarray(sums), SHAPE, level, after)
    assert all(again[i, j, k] == sums[i // 2, j, k // 2] for i, j, k in np.ndindex(*SHAPE))


# The equations of hitting times on a level, against those of a matrix.


STEPS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (2, -1, 0))
BOX = Level(SHAPE, STEPS, (False,) * 3, 1)
PLACE, LEAK = (2, 3, 1), 0.7


@pytest.fixture
def exact():
    """Flows, right sides and the solution of their equations."""
    flows, right = random_flows(STEPS), np.random.default_rng(8).uniform(size=SHAPE)
    place = int(np.ravel_multi_index(PLACE, SHAPE))
    solution = inverse_of(dense(flows, BOX), place, LEAK) @ right.ravel()
    return jax.numpy.asarray(flows), right, solution.reshape(SHAPE)


@pytest.mark.slow
def test_nothing_is_left_of_the_equations_at_their_solution(exact):
    flows, right, solution = exact
    here = functools.partial(Equations, BOX, given, PLACE, LEAK, 1)
    rest = left(here, flows, right, solution)
    assert abs(np.asarray(rest)).max() < 1e-12
    assert abs(np.asarray(left(here, flows, right, 0.9 * solution))).max() > 0.01


@pytest.mark.slow
def test_sweeps_come_nearer_to_the_solution(exact):
    flows, right, solution = exact
    equations = Equations(BOX, given, PLACE, LEAK, 1, flows)
    x = equations.smoothed(right, np.zeros(SHAPE), 30_000)
    np.testing.assert_allclose(x, solution, rtol=1e-9)


def test_a_place_is_marked():
    assert np.argwhere(np.asarray(at(PLACE, BOX, SHAPE))).tolist() == [list(PLACE)]


# Searches over devices, against those of the matrix.


class Line(ChainModel):
    """On 0 .. 8, up from each below ``ahead``, down from each of 1 .. ``back``."""

    class State(NamedTuple):
        i: int

    class Params(NamedTuple):
        ahead: int = 8
        back: int = 8
        begin: int = 4

    def space(self):
        return {"i": range(9)}

    def start(self):
        return self.State(self.params.begin)

    @staticmethod
    def rules(s, q):
        if s.i < q.ahead:
            yield s._replace(i=s.i + 1), 1.0
        if s.i > 0 and s.i <= q.back:
            yield s._replace(i=s.i - 1), 1.0


def over_devices(model):
    space, stencil = stencil_of(model)
    return ShardedChain(stencil, jax.devices()[:1]), start_of(model, space, stencil), space


@pytest.mark.slow
def test_the_states_that_a_start_leads_to_are_those_of_the_chain():
    model = PauseTandem(buffers=(4, 6), high_threshold=5)
    chain, start, space = over_devices(model)
    found = np.asarray(reached(chain, start))
    order = np.argsort(chain.stencil.order)
    numbers = np.flatnonzero(found.transpose(order).ravel())
    states = MarkovChain(model).states
    assert numbers.tolist() == sorted(space.numbers(np.array(states)).tolist())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ahead", "back", "begin", "expected"),
    [
        (8, 8, 4, range(9)),
        (8, 3, 0, range(8, 9)),  # from 4 on only up, and there it stays
        (6, 6, 8, range(8, 9)),
        (6, 6, 2, range(7)),
    ],
)
def test_the_recurrent_class_from_wherever_the_search_begins(ahead, back, begin, expected):
    chain, start, _ = over_devices(Line(ahead=ahead, back=back, begin=begin))
    for likely in (0, 5):
        found = recurrent(chain, start, chain.indicator((likely,)).astype(float))
        assert np.flatnonzero(np.asarray(found)).tolist() == list(expected)


@pytest.mark.slow
def test_several_classes():
    """From the middle of 0 .. 8 with a step up from 4 and one down from 4 to either end."""

    class Forked(Line):
        @staticmethod
        def rules(s, q):
            if s.i > 0 and s.i <= 4:
                yield s._replace(i=s.i - 1), 1.0
            if s.i < 8 and s.i >= 4:
                yield s._replace(i=s.i + 1), 1.0

    chain, start, _ = over_devices(Forked())
    for likely in (0, 4):
        with pytest.raises(SeveralClassesError):
            recurrent(chain, start, chain.indicator((likely,)).astype(float))


@pytest.mark.slow
def test_the_place_of_the_largest():
    chain, _, _ = over_devices(Line())
    assert place_of_largest(chain, chain.indicator((5,))) == (5,)
    assert place_of_largest(chain, 0 * chain.indicator((5,))) is None
