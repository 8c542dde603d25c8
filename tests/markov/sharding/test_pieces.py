"""Chains in shards: stencils, levels, elimination, hitting times, searches, and bounds, on devices and on processes."""

from __future__ import annotations

import functools
import itertools
import os
import socket
import subprocess
import sys
from fractions import Fraction
from math import fsum
from typing import NamedTuple

import jax
import numpy as np
import pytest
import scipy.sparse as sp
from jax.sharding import PartitionSpec as P

from markov import ChainModel, MarkovChain, PauseTandem, stationary, stationary_sharded
from markov.errors import RuleError
from markov.sharding import host_device_flags
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
    rated,
    refine,
    repeated,
)
from markov.sharding.plans import held_bytes, plan_levels, proof_bytes
from markov.sharding.proofs import bound_on_shards
from markov.sharding.reachability import (
    SeveralClassesError,
    place_of_largest,
    reached,
    recurrent,
    start_of,
)
from markov.sharding.stencils import stencil_of
from markov.sharding.verification import BITS, drift, misfit
from tests.markov.sharding.conftest import SHAPE, Switch, Tandem, edges, random_flows

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


class ByValue(ChainModel):
    """Rates that depend on the value of the state: no boxes."""

    class State(NamedTuple):
        n: int

    def space(self):
        return {"n": range(500)}

    @staticmethod
    def rules(s, q):
        if s.n < 499:
            yield s._replace(n=s.n + 1), 1.0
        if s.n > 0:
            yield s._replace(n=s.n - 1), 0.5 * s.n


class Unbounded(ByValue):
    space = ChainModel.space

    def start(self):
        return (0,)


def test_what_has_no_boxes_is_refused():
    with pytest.raises(RuleError, match="not alike on large boxes of whole numbers"):
        stencil_of(ByValue())
    with pytest.raises(RuleError, match="declares no space"):
        stencil_of(Unbounded())
    with pytest.raises(ValueError, match=r"along = 'x': must be one of 'i', 'j'"):
        stencil_of(PauseTandem(), "x")


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
@pytest.mark.parametrize(
    "halved", [(True, True, False), (False, True, True), (True, False, False)], ids=str
)
def test_pairs_keep_the_flows_between_them(flows, halved):
    changes = coarse_changes(JUMPS, halved)
    level = Level(SHAPE, JUMPS, halved, 1)
    shape = tuple(-(-n // 2) if half else n for n, half in zip(SHAPE, halved, strict=True))
    after = Level(shape, changes, (False,) * 3, 1)
    found = np.asarray(aggregate(list(flows), level, after))
    assert found.shape == (len(changes), *shape)
    expected: dict = {}
    for ends, flow in edges(flows, JUMPS).items():
        pairs = tuple(
            tuple(n // 2 if half else n for n, half in zip(place, halved, strict=True))
            for place in ends
        )
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


# One chain over devices and processes: the same numbers as on one, and as by a matrix.


MODEL = "PauseTandem(buffers=(24, 24), high_threshold=18, arrival_rates=(25.0, 10.0, 1.0))"

DEVICES = f"""
import sys
import jax, numpy as np
from markov import PauseTandem, stationary_sharded

found = {{}}
for count in (1, 2, 4):
    answer = stationary_sharded({MODEL}, devices=jax.devices()[:count])
    found[f"pi{{count}}"] = answer.pi
    found[f"mean{{count}}"] = answer.mean(lambda s: s.j)
    found[f"bound{{count}}"] = answer.error_bound
    shards = answer.values.addressable_shards
    assert len({{shard.device for shard in shards}}) == count
    assert all(shard.data.shape[0] * count == answer.values.shape[0] for shard in shards)
np.savez(sys.argv[1], **found)
"""

PROCESSES = f"""
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import numpy as np
from markov import PauseTandem, stationary_sharded

assert jax.process_count() == 2 and len(jax.devices()) == 2
answer = stationary_sharded({MODEL})
assert not answer.values.is_fully_addressable
pi, mean, bound = answer.pi, answer.mean(lambda s: s.j), answer.error_bound
if jax.process_index() == 0:
    np.savez(sys.argv[3], pi=pi, mean=mean, bound=bound, cycles=answer.cycles)
"""


def environment(devices):
    return {**os.environ, "XLA_FLAGS": host_device_flags(devices), "JAX_PLATFORMS": "cpu"}


@pytest.fixture(scope="module")
def by_devices(tmp_path_factory):
    file = tmp_path_factory.mktemp("devices") / "found.npz"
    subprocess.run([sys.executable, "-c", DEVICES, str(file)], env=environment(4), check=True)
    return np.load(file)


@pytest.fixture(scope="module")
def reference():
    """By another method, over the whole space."""
    model = eval(MODEL, {"PauseTandem": PauseTandem})
    chain = MarkovChain(model)
    answer = stationary(chain)
    space, _ = stencil_of(model)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(chain.states))] = answer.pi
    return pi, float(answer.pi @ chain.states.j)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_devices_change_nothing(by_devices, reference, count):
    pi, mean = reference
    found = by_devices[f"pi{count}"]
    np.testing.assert_allclose(found, by_devices["pi1"], rtol=0, atol=1e-12)
    assert abs(found - by_devices["pi1"]).sum() < 1e-12
    assert abs(found - pi).sum() < 1e-9  # the residual is 1e-12, and the chain mixes slowly
    assert float(by_devices[f"mean{count}"]) == pytest.approx(mean, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 4])
def test_devices_do_not_change_the_bound(by_devices, reference, count):
    """It holds, and is that of one device: both sum the same residual, each with roundings of its own."""
    pi, _ = reference
    bound = float(by_devices[f"bound{count}"])
    assert 0.5 * abs(by_devices[f"pi{count}"] - pi).sum() <= bound < 1e-8
    assert abs(bound - float(by_devices["bound1"])) < 1e-12


@pytest.mark.slow
def test_two_processes_change_nothing(by_devices, tmp_path):
    """Joined over the loopback interface, with collectives by gloo."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    file = tmp_path / "found.npz"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESSES, address, str(n), str(file)], env=environment(1)
        )
        for n in range(2)
    ]
    try:
        assert [process.wait(1800) for process in started] == [
            0,
            0,
        ]  # 40 s of CPU time, on a busy machine minutes
    finally:
        for process in started:
            process.kill()
    found = np.load(file)
    assert abs(found["pi"] - by_devices["pi1"]).sum() < 1e-12
    assert float(found["mean"]) == pytest.approx(float(by_devices["mean1"]), rel=1e-12)
    assert abs(float(found["bound"]) - float(by_devices["bound1"])) < 1e-12


# Devices on one processor: how many, and that they have patience.


LATE = """
import time, jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P

def late(x):
    def wait(value, place):
        time.sleep(4.0 * int(place))
        return value
    same = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.lax.psum(jax.pure_callback(wait, same, x, jax.lax.axis_index("a")), "a")

mesh = Mesh(jax.devices(), ("a",))
found = jax.jit(jax.shard_map(late, mesh=mesh, in_specs=P("a"), out_specs=P()))(np.arange(2.0))
print(float(found[0]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "status"), [(1, -6), (3600, 0)])
def test_devices_wait_as_long_as_they_are_told(patience: float, status: int) -> None:
    """One is four seconds late: with a patience of one second XLA aborts the process."""
    flags = {"XLA_FLAGS": host_device_flags(2, patience), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", LATE],
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert (done.stdout.strip() == "1.0") == (status == 0)


@pytest.mark.parametrize(
    ("arguments", "said"), [((0,), "devices = 0"), ((2, 0.5), "patience = 0.5")]
)
def test_devices_and_patience_are_checked(arguments: tuple[float, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        host_device_flags(*arguments)  # type: ignore[arg-type]


# The bound on the error of probabilities over devices.


def bound_of(model, pi):
    """The bound of probabilities over the whole space, on one device."""
    space, stencil = stencil_of(model)
    order, start = stencil.order, start_of(model, space, stencil)
    with jax.enable_x64(True):
        chain = ShardedChain(stencil, jax.devices()[:1])
        values = np.ascontiguousarray(pi.reshape(space.shape).transpose(order))
        spread = chain.put(chain.shape, chain.spread, lambda place: values[place])
    return bound_on_shards(chain, start, spread, model.name).distance


def by_elimination(model):
    """Probabilities over the whole space, by elimination."""
    chain, (space, _) = MarkovChain(model), stencil_of(model)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(chain.states))] = stationary(chain).pi
    return pi


@pytest.fixture(scope="module")
def tandem():
    model = PauseTandem()
    return model, by_elimination(model)


@pytest.mark.slow
def test_probabilities_by_elimination_have_a_small_bound(tandem):
    """In float64, every rounding error counted: some 1e-14 of the flows times hitting times of 1e2."""
    assert 0.0 < bound_of(*tandem) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "loose"), [("in few states", 1e3), ("in all", 1e4)])
def test_the_bound_holds_for_probabilities_that_are_wrong(tandem, wrong, loose):
    """Mass in one recurrent state and in one that the chain leaves for ever; everywhere, with another sum.

    Errors that are independent in all states hardly add up in the probabilities, and do in the bound, which is up to
    some ten thousand times too large without a better vector (``docs/markov-bound.md``).
    """
    model, pi = tandem
    off = pi.copy()
    if wrong == "in all":
        off *= 1.0 + 1e-3 * np.random.default_rng(1).uniform(-1.0, 1.0, len(pi))
        off *= 0.9999 / off.sum()
    else:
        assert (pi == 0.0).any()
        off[int(np.argmin(pi))] = 1e-6
        off[int(np.argmax(pi))] *= 1.0 + 1e-6
        off /= off.sum()
    distance = 0.5 * abs(off - pi).sum()
    assert distance > 1e-8
    assert distance <= bound_of(model, off) < loose * distance


@pytest.mark.slow
def test_what_is_no_distribution_has_no_bound(tandem):
    model, pi = tandem
    assert bound_of(model, 0.0 * pi) == np.inf


@pytest.mark.slow
def test_two_states():
    """The levels are exact, and one cycle leaves nothing."""
    assert 0.0 < bound_of(Switch(), np.array([1 / 3, 2 / 3])) < 1e-14


class Forked(ChainModel):
    """From 0 to either end, for ever."""

    class State(NamedTuple):
        i: int

    class Params(NamedTuple):
        n: int = 40

    def space(self):
        return {"i": range(2 * self.params.n + 1)}

    def start(self):
        return self.State(self.params.n)

    @staticmethod
    def rules(s, q):
        if s.i > 0 and s.i <= q.n:
            yield s._replace(i=s.i - 1), 1.0
        if s.i < 2 * q.n and s.i >= q.n:
            yield s._replace(i=s.i + 1), 1.0


@pytest.mark.slow
def test_several_recurrent_classes_are_found():
    with pytest.raises(ValueError, match="Forked: several recurrent classes"):
        bound_of(Forked(), np.full(81, 1 / 81))


# What is evaluated for a bound holds for the numbers as they are, in exact arithmetic.


REFERENCE = 7


@pytest.fixture(scope="module")
def judged():
    """Both evaluations of random numbers, and the transitions as (from, to, rate) of exact numbers."""
    _, stencil = stencil_of(PauseTandem(buffers=(3, 4), high_threshold=3))
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        chain = ShardedChain(stencil, jax.devices()[:1])
        level, shape = chain.levels[0], chain.shape
        n = int(np.prod(shape))
        h, x = 10.0 ** rng.uniform(-3, 6, n), 10.0 ** rng.uniform(-30, 0, n)
        counted = rng.integers(0, 2, n).astype(np.uint8)
        x /= 2.0 * x.sum()
        h[REFERENCE], counted[REFERENCE] = 1e-6, 1
        place = tuple(int(k) for k in np.unravel_index(REFERENCE, shape))
        many = [each.reshape(shape) for each in (counted, h, x)]
        everywhere, into = chain.everywhere, chain.of_data
        top = chain.compiled(
            lambda *a: drift(level, place, *a), [*into, *[chain.spread] * 2], everywhere
        )(*chain.data, *many[:2])
        sums = chain.compiled(
            lambda *a: misfit(level, place, *a), [*into, *[chain.spread] * 3], (everywhere,) * 5
        )(*chain.data, *many)
        flows = np.stack([np.asarray(f) for f in rated(*chain.data, np.ones(shape))])
    numbers = np.arange(n).reshape(shape)
    moves = [
        (
            int(numbers[place]),
            int(numbers[tuple(np.add(place, change))]),
            Fraction(float(flow[place])),
        )
        for flow, change in zip(flows, level.changes, strict=True)
        for place in np.ndindex(*shape)
        if flow[place] > 0.0
    ]
    exact = [[Fraction(float(v)) for v in each] for each in (h, x)]
    return moves, counted, *exact, float(top), [each.item() for each in sums]


@pytest.mark.slow
def test_the_largest_drift_is_bounded_from_above(judged):
    moves, counted, h, _, top, _ = judged
    drifts = [Fraction(0)] * len(h)
    for a, b, rate in moves:
        drifts[a] += rate * (h[b] - h[a])
    worst = max(d for s, d in enumerate(drifts) if counted[s] and s != REFERENCE)
    assert worst <= Fraction(top) <= worst + Fraction(1e-12) * abs(worst)


@pytest.mark.slow
def test_the_misfit_is_bounded_from_above_and_the_mass_is_exact(judged):
    """To 2^-53 of what the whole numbers leave, 2^-60 a state."""
    moves, counted, h, x, _, (*sides, units, rest, elsewhere) = judged
    inside = [v if counted[s] else Fraction(0) for s, v in enumerate(x)]
    net = [Fraction(0)] * len(h)
    for a, b, rate in moves:
        net[a] -= rate * inside[a]
        net[b] += rate * inside[a]
    rounding = Fraction(len(h)) * Fraction(2) ** -52
    for sign, off in zip((1, -1), sides, strict=True):
        terms = [max(sign * net[s], 0) * (h[s] - h[REFERENCE]) for s in range(len(h)) if counted[s]]
        assert sum(terms) <= Fraction(off) * (1 + rounding)
        assert Fraction(off) <= sum(terms) * (1 + Fraction(1e-12))
    mass = (Fraction(units) + Fraction(rest)) / 2**BITS
    assert abs(mass - sum(inside)) <= Fraction(len(h)) * Fraction(2) ** -110
    assert elsewhere == pytest.approx(float(sum(x) - sum(inside)), rel=1e-14)
