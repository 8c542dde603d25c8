"""The models that ship: exact answers, published sizes, structure, exploration and sweeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse.csgraph import breadth_first_order

from markov import (
    MM1K,
    BirthDeath,
    ChainModel,
    Cluster,
    Courtois,
    JacksonTandem,
    Kanban,
    MarkovChain,
    PauseTandem,
    SparseLU,
    explore,
    stationary,
    stationary_by_class,
    sweep,
)

# --------------------------------------------------------------------------- exact answers


@pytest.mark.parametrize(
    "model",
    [
        BirthDeath(),
        BirthDeath(births=(1e-9, 1e9, 3.0, 1.0), deaths=(1.0, 2.0, 1e6, 1e-3)),
        MM1K(),
        MM1K(arrival_rate=10.0),
        MM1K(arrival_rate=25.0, capacity=80),
        JacksonTandem(),
        JacksonTandem(arrival_rate=9.0, service_rates=(2.0, 3.0), capacity=25),
    ],
    ids=repr,
)
def test_product_forms(model):
    answer = stationary(model)
    np.testing.assert_allclose(answer.pi, model.exact(), rtol=1e-12)


def test_courtois():
    """The vector printed by Courtois, to its five digits."""
    printed = [0.08928, 0.09276, 0.04049, 0.15853, 0.11894, 0.12039, 0.27780, 0.10182]
    np.testing.assert_allclose(stationary(Courtois()).pi, printed, atol=6e-6)


@pytest.mark.parametrize(
    ("model", "states", "transitions"),
    [
        (Cluster(workstations=2), 276, 1120),
        (Cluster(workstations=4), 820, 3616),
        (Cluster(workstations=8), 2772, 12832),
        (Cluster(workstations=16), 10132, 48160),
        (Kanban(tickets=1), 160, 616),
        (Kanban(tickets=2), 4600, 28120),
        (Kanban(tickets=3), 58400, 446400),
    ],
    ids=repr,
)
def test_sizes_of_the_prism_suite(model, states, transitions):
    chain = explore(model).chain
    assert chain.size == states
    assert chain.Q.nnz - chain.size == transitions


@pytest.mark.parametrize("tickets", [1, 2])
def test_kanban_lets_through_what_comes_in(tickets):
    found = explore(Kanban(tickets=tickets))
    pi, s = stationary(found.chain).pi, found.states
    free = s.m1 + s.b1 + s.d1 < tickets
    assert 0.9 * pi @ (s.d4 > 0) == pytest.approx(pi @ free, rel=1e-11)
    moved = (s.d1 > 0) & (s.m2 + s.b2 + s.d2 < tickets) & (s.m3 + s.b3 + s.d3 < tickets)
    assert 0.4 * pi @ moved == pytest.approx(pi @ free, rel=1e-11)


def test_cluster_availability():
    """A switch fails and is repaired by one unit: without waiting it would be 4000/4004 up."""
    found = explore(Cluster(workstations=2))
    pi, s = stationary(found.chain).pi, found.states
    assert pi @ s.left_switch == pytest.approx(pi @ s.right_switch, rel=1e-12)
    assert 0.998 < pi @ s.left_switch < 4000 / 4004
    failures = pi @ s.backbone / 5000
    assert failures == pytest.approx(0.125 * pi[s.busy == 5].sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: BirthDeath(births=(1.0,), deaths=(1.0, 2.0)), "births = .* as many as deaths"),
        (lambda: BirthDeath(births=(0.0,), deaths=(1.0,)), r"births = 0: must be .* > 0"),
        (lambda: MM1K(arrival_rate=-1.0), r"arrival_rate = -1: must be"),
        (lambda: MM1K(capacity=0), "capacity = 0: must be"),
        (lambda: JacksonTandem(service_rates=(1.0,)), "service_rates = .*: must be two rates"),
        (lambda: Courtois(coupling=0.0), "coupling = 0: must be"),
        (lambda: Cluster(workstations=0.5), "workstations = 0.5: must be"),
        (lambda: Kanban(tickets=31), "tickets = 31: must be"),
    ],
)
def test_bad_parameters(make, said):
    with pytest.raises(ValueError, match=said):
        make()


# --------------------------------------------------------------------------- structure


def with_diagonal(rates):
    return rates - np.diag(rates.sum(axis=1))


def test_periods():
    assert MarkovChain(MM1K()).periods == [2]
    assert MarkovChain(JacksonTandem()).periods == [3]
    assert MarkovChain(PauseTandem()).periods == [1]
    for n in (2, 3, 7):
        rates = np.roll(np.eye(n), 1, axis=1)
        assert MarkovChain(with_diagonal(rates)).periods == [n]
        rates[0, 0 if n == 2 else 2] += 1.0  # a short cut
        assert MarkovChain(with_diagonal(rates)).periods == [{2: 2, 3: 1, 7: 1}[n]]
    assert MarkovChain(np.zeros((3, 3))).periods == [1, 1, 1]


def test_gamblers_ruin():
    """From n of 10 with odds 3 : 2 against, the textbook's formula, entry by entry."""
    rates = np.diag(np.full(10, 2.0), 1) + np.diag(np.full(10, 3.0), -1)
    rates[0] = rates[10] = 0.0
    chain = MarkovChain(with_diagonal(rates))
    n, ratio = np.arange(11), 1.5
    wins = (ratio**n - 1) / (ratio**10 - 1)
    order = np.argsort([states[0] for states in chain.recurrent_classes])
    np.testing.assert_allclose(chain.absorption_probabilities[:, order[1]], wins, rtol=1e-14)
    np.testing.assert_allclose(chain.absorption_probabilities.sum(axis=1), 1.0, rtol=1e-15)


@pytest.mark.parametrize("limit", [1500, 5])
def test_absorption_against_a_dense_solver(limit, monkeypatch):
    monkeypatch.setattr("markov.structure.DENSE_LIMIT", limit)
    rng = np.random.default_rng(4)
    rates = rng.random((30, 30)) * (rng.random((30, 30)) < 0.2) + np.diag(np.ones(29), 1)
    for end in (slice(24, 27), slice(27, 30)):
        rates[end] = 0.0
        rates[end, end] = 1.0
    np.fill_diagonal(rates, 0.0)
    Q = with_diagonal(rates)
    chain = MarkovChain(Q)
    inside = np.linalg.inv(-Q[:24, :24])
    for column, states in enumerate(chain.recurrent_classes):
        expected = inside @ rates[:24][:, states].sum(axis=1)
        np.testing.assert_allclose(
            chain.absorption_probabilities[:24, column], expected, rtol=1e-12
        )
        assert (chain.absorption_probabilities[states, column] == 1.0).all()
    np.testing.assert_allclose(
        chain.absorption_probabilities
        @ np.array([answer.pi for answer in stationary_by_class(chain)])
        @ Q,
        0.0,
        atol=1e-14,
    )


# --------------------------------------------------------------------------- exploration


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        PauseTandem(),
        PauseTandem(buffers=(30, 40), low_threshold=3),
        Cluster(workstations=2),
        Cluster(workstations=10),
        MM1K(capacity=1),
        MM1K(capacity=9000),
    ],
    ids=repr,
)
def test_exploring_finds_what_the_product_space_has(model, compiled):
    class Started(type(model)):
        def start(self):
            return super().start() or self.State(0)

    started = Started(*model.params)
    found = explore(started, compiled=compiled)
    whole = MarkovChain(model, reachable=False)
    space = model.space().values()
    place = [part - values.start for part, values in zip(found.states, space, strict=True)]
    numbers = np.ravel_multi_index(place, model.shape)
    first = whole.number_of(started.start())
    reached = breadth_first_order(whole.Q, first, return_predecessors=False)
    np.testing.assert_array_equal(numbers, np.sort(reached))
    expected = whole.Q[numbers][:, numbers]
    assert abs(found.chain.Q - expected).max() <= 1e-15 * abs(expected).max()


class Walk(ChainModel):
    class State(NamedTuple):
        x: int
        y: int

    class Params(NamedTuple):
        wide: int = 10
        limit: int = 5
        rate: float = 1.0
        begun: bool = True

    def space(self):
        return dict.fromkeys("xy", range(self.wide))

    def start(self):
        return self.State(0, 0) if self.begun else None

    @staticmethod
    def rules(s, q):
        if s.x < q.limit:
            yield s._replace(x=s.x + 1), 1.0
        if s.x > 0:
            yield s._replace(x=s.x - 1), q.rate


@pytest.mark.parametrize("wide", [3 * 10**9, 10**10, 10**30])
def test_a_few_states_of_a_huge_space(wide):
    found = explore(Walk(wide=wide))
    assert found.states.x.tolist() == list(range(6))
    assert stationary(found.chain).pi == pytest.approx([1 / 6] * 6)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"begun": False}, ValueError, r"^Walk: start is None: exploring needs a state"),
        ({"limit": 10}, ValueError, r"Walk: State\(x=9, y=0\) -> State\(x=10, y=0\) .* outside"),
        ({"rate": -1.0}, ValueError, r"Walk: State\(x=1, y=0\) -> .* rate -1.0: a rate must be"),
    ],
)
def test_exploring_refuses(changes, error, said):
    with pytest.raises(error, match=said):
        explore(Walk(**changes))


def test_too_many_states():
    with pytest.raises(MemoryError, match=r"more than 100 reachable states .* bytes"):
        explore(Cluster(workstations=10), most=100)


# --------------------------------------------------------------------------- sweeps


def test_sweep():
    data = sweep(PauseTandem(), high_threshold=range(14, 17), rtt=[0.5, 2.0])
    assert data.sizes == {"high_threshold": 3, "rtt": 2, "queue": 2, "expression": 3}
    assert data.throughput.dims == ("high_threshold", "rtt")
    for high in (14, 15, 16):
        for rtt in (0.5, 2.0):
            answer = stationary(PauseTandem(high_threshold=high, rtt=rtt))
            point = data.sel(high_threshold=high, rtt=rtt)
            assert float(point.throughput) == answer.throughput
            assert float(point.error_bound) == answer.error_bound
            np.testing.assert_array_equal(point.mean_queue, answer["mean_queue"])
    assert data.throughput.attrs["units"] == "packets/s"
    assert data.attrs["model"] == "PauseTandem()"
    best = data.throughput.idxmax("high_threshold")
    assert best.dims == ("rtt",)


def test_sweep_of_other_values():
    rates = [(25.0, 1.0), (25.0, 10.0, 1.0)]
    data = sweep(PauseTandem(), arrival_rates=rates, recovery=["always", "up"], method=SparseLU())
    assert data.throughput.shape == (2, 2)
    assert data.arrival_rates.values.tolist() == rates
    assert data.recovery.values.tolist() == ["always", "up"]
    whole = stationary(PauseTandem(arrival_rates=rates[1], recovery="up"), SparseLU())
    assert float(data.throughput[1, 1]) == whole.throughput
    none = sweep(PauseTandem(), low_threshold=[None, 5])
    assert none.throughput.shape == (2,)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"threshold": [1]}, "^threshold: PauseTandem has no such parameter, but buffers, high_"),
        ({"rtt": []}, r"^rtt = \[\]: at least one value is expected"),
        ({"high_threshold": [21]}, "^high_threshold = 21: must be"),
    ],
)
def test_sweep_refuses(parameters, said):
    with pytest.raises(ValueError, match=said):
        sweep(PauseTandem(), **parameters)


def test_classes_are_taken_over_only_where_they_are_the_same():
    one = MarkovChain(PauseTandem())
    assert MarkovChain(PauseTandem(rtt=3.0), like=one).recurrent_classes is one.recurrent_classes
    other = MarkovChain(PauseTandem(high_threshold=14), like=one)
    assert other.recurrent_classes is not one.recurrent_classes
    np.testing.assert_array_equal(
        other.recurrent_classes[0], MarkovChain(PauseTandem(high_threshold=14)).recurrent_classes[0]
    )
