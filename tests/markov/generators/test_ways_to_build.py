"""From rules to a matrix: which way is taken, and what is checked."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest

import markov
from markov import ChainModel, CoxTandem, MarkovChain, stationary, stationary_by_class
from markov.errors import RuleError, RuleWarning
from markov.generators import building
from markov.generators.building import build_chain
from markov.generators.built_chains import Series
from markov.generators.compilation import splicing
from markov.generators.ways import Ways
from tests.markov.conftest import Queue
from tests.markov.generators.conftest import Bad, one_component

# From rules to a matrix: which way is taken, and what is checked.


def test_compiled_rules_that_differ_are_not_taken(monkeypatch):
    """Here because nothing checks their operations: a sample of states shows it, and a warning says so."""

    class Wrapping(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            most: int = 400
            base: int = 3

        def space(self):
            return {"n": range(self.most)}

        @staticmethod
        def rules(s, q):
            yield s._replace(n=(s.n + 1) % q.most), 1.0 + q.base ** (s.n // 4) % 5

    parts = splicing._parts
    monkeypatch.setattr(splicing, "_parts", lambda model: parts(model) | {"checked": False})
    said = (
        r"Wrapping: State\(n=.*\): the rules compiled give the rate .* where plain Python gives .*"
    )
    with (
        pytest.warns(RuleWarning, match=said + r"test_ways_to_build.py, line \d+: def rules"),
        pytest.raises(RuleError, match="cannot be run by compiled"),
    ):
        build_chain(Wrapping(), by="compiled")
    monkeypatch.setattr(building, "PYTHON_STATES", 10)
    monkeypatch.setattr(building, "_compiling", lambda *_: 0.0)
    monkeypatch.setattr(building.Ways, "by_regions", lambda *_: None)
    monkeypatch.setattr(building.Ways, "by_sets", lambda *_: None)
    with pytest.warns(RuleWarning, match=said):
        found = build_chain(Wrapping())
    assert found.how == "the rules as they stand"
    expected = [1.0 + 3 ** (n // 4) % 5 for n in range(399)]
    np.testing.assert_array_equal(found.Q.diagonal(1), expected)


def test_models_of_the_package_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (markov.PauseTandem(), markov.Kanban(), markov.Cluster(workstations=3)):
            stationary(model)


class Started(Queue):
    def start(self):
        return self.State(0)


def test_chains_of_a_series_share_their_pattern():
    series = Series()
    one, other = (
        Ways(Started(arrival_rate=rate), True, 100, series).by_compiler() for rate in (0.5, 2.0)
    )
    assert one.codes is other.codes
    assert one.Q.indices is other.Q.indices
    alone = Ways(Started(arrival_rate=2.0), True, 100).by_compiler()
    assert abs(other.Q - alone.Q).max() <= 1e-15 * abs(alone.Q).max()
    longer = Ways(Started(capacity=20), True, 100, series).by_compiler()  # another pattern
    assert longer.Q.shape == (21, 21)


def test_start_decides_between_closed_classes():
    class Forked(Queue):
        class Params(NamedTuple):
            first: int = 0

        capacity = 5

        def space(self):
            return {"n": range(6)}

        def start(self):
            return None if self.first < 0 else self.State(self.first)

        @staticmethod
        def rules(s, q):
            if s.n == 0:
                yield s._replace(n=1), 1.0
            elif s.n == 1:
                yield s._replace(n=0), 3.0
            elif s.n < 5:
                yield s._replace(n=s.n + 1), 1.0

    np.testing.assert_allclose(stationary(Forked()).pi, [0.75, 0.25])
    assert stationary(Forked(first=3)).states.n.tolist() == [3, 4, 5]
    assert stationary(Forked(first=3)).pi.tolist() == [0, 0, 1]
    assert len(stationary_by_class(Forked(first=-1))) == 2
    whole = MarkovChain(Forked(), reachable=False)
    assert whole.transient_states.tolist() == [2, 3, 4, 5]
    np.testing.assert_allclose(stationary(whole).pi, [0.75, 0.25, 0, 0, 0, 0])


def lost(s, q):
    """Rules of two queues, of which the second loses what the first one sends: 17 of 120,000 states are entered."""
    if s.a < 16:
        yield s._replace(a=s.a + 1), q.arrivals
    if s.a > 0:
        yield s._replace(a=s.a - 1), 2.0


def queues(rules) -> ChainModel:
    """Return a model with a start and a large space."""

    class State(NamedTuple):
        a: int
        b: int

    class Params(NamedTuple):
        arrivals: float = 1.0

    members = {
        "State": State, "Params": Params, "rules": staticmethod(rules),
        "space": lambda _: {"a": range(300), "b": range(400)}, "start": lambda _: {"a": 0, "b": 0},
    }  # fmt: skip
    model: ChainModel = type("Queues", (ChainModel,), members)()
    return model


def copy_of(rules):
    return type(rules)(rules.__code__, rules.__globals__)


def test_rules_whose_searches_last_long_are_compiled(monkeypatch) -> None:
    """Once searches on arrays have lasted as long as compilation does; not where the states are known."""
    experience = building._Experience()
    monkeypatch.setattr(building, "_experience", experience)
    monkeypatch.setattr(building, "PYTHON_STATES", -1)
    monkeypatch.setattr(building, "_seconds_to_compile", lambda _: 0.0)
    first = build_chain(queues(lost))
    again = build_chain(queues(lost))
    assert again.how == first.how != "the rules compiled"
    (code,) = experience.searched
    assert 0.0 < experience.searched[code] < 10.0
    experience.searched[code] = 10.0
    assert build_chain(queues(lost)).how == "the rules compiled"  # of other State types
    known = queues(lost)
    build_chain(known, by="arrays")
    assert build_chain(known).how == first.how
    other = build_chain(queues(copy_of(lost)))
    assert other.how == "the rules compiled"
    np.testing.assert_array_equal(other.Q.toarray(), first.Q.toarray())
    np.testing.assert_array_equal(other.codes, first.codes)


def test_rules_that_do_not_compile_are_not_tried_again(monkeypatch) -> None:
    experience = building._Experience()
    monkeypatch.setattr(building, "_experience", experience)
    monkeypatch.setattr(building, "PYTHON_STATES", -1)
    monkeypatch.setattr(building, "_seconds_to_compile", lambda _: 0.0)
    tried = []
    monkeypatch.setattr(building.Ways, "by_compiler", lambda *_: tried.append(1))
    experience.searched[lost.__code__] = 10.0
    for _ in range(3):
        assert build_chain(queues(copy_of(lost))).how != "the rules compiled"
    assert len(tried) == 1


# Every way from rules to states gives the same chain, and says which way it was.

WAYS = {
    "by_regions": (CoxTandem(capacity=40), "regions of the space"),
    "by_sets": (CoxTandem(capacity=40), "the rules on sets of states"),
    "by_compiler": (Started(capacity=300), "the rules compiled"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reachable", [True, False])
def test_a_way_gives_the_chain_of_plain_python(way, reachable):
    model, how = WAYS[way]
    plain = Ways(model, reachable, 10**6).by_python()
    found = getattr(Ways(model, reachable, 10**6), way)()
    assert how in found.how
    assert plain.how == "the rules as they stand"
    np.testing.assert_array_equal(found.codes, plain.codes)
    assert abs(found.Q - plain.Q).max() <= 1e-15 * abs(plain.Q).max()


def test_transitions_of_some_states_are_counted():
    ways = Ways(Queue(), True, 100)
    inside, ends = 3 * 120, 2 * 120  # up, down, to itself; at the ends one less
    assert ends <= ways.count_of_some() <= inside


def test_a_rate_that_is_infinite_is_named_by_its_state():
    def rules(s, q):
        yield s._replace(n=(s.n + 1) % 6), 1e308
        yield s._replace(n=(s.n + 1) % 6), 1e308 if s.n == 3 else 0.0

    ways = Ways(one_component(range(6), rules), True, 100)
    with pytest.raises(RuleError, match=r"^rules: State\(n=3\): the sum of the rates overflows"):
        ways.finite(ways.by_python())


def test_a_start_that_is_no_state_is_refused_at_once():
    class Lost(Bad):
        def start(self):
            return self.State(9)

    with pytest.raises(RuleError, match=r"^Lost: start = State\(n=9\): .* outside the space"):
        Ways(Lost(), True, 100)
