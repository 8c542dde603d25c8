"""Functions of a state mean what they mean in Python, in every place that takes one.

125 and more functions for each of eight kinds of states (`state_functions`), expected values by a loop
over states that a search in plain Python has found. The faster ways run here on chains of any size, and
in some tests without the comparison with plain Python that guards them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from markov import (
    ChainModel,
    MarkovChain,
    MatrixFree,
    Mean,
    best,
    explore,
    lump,
    passage,
    paths,
    quasi_stationary,
    stationary,
    transient,
)
from markov.errors import RuleError
from markov.models import functions
from markov.models.functions import evaluate_condition
from markov.models.measures import default_measures, functionals
from markov.models.spaces import Space
from markov.models.state_tables import StateBlocks, StateTable
from markov.selections import distribution, select_states
from tests.markov.state_functions import KINDS, Kind

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
ROUNDING = 1e-13  # relative: a NumPy function of an array and of a number may differ in the last bit


@cache
def chain_of(kind: Kind, size: int) -> MarkovChain:
    """Return the chain of a kind without labels."""
    return explore(lambda s: kind.rules(s, size), start=kind.start).chain


def small(kind: Kind) -> MarkovChain:
    """Return the small chain of a kind."""
    return chain_of(kind, kind.sizes[0])


def order_of(kind: Kind, chain: MarkovChain) -> list[Any]:
    """Return the states in the order of the chain, from a search in plain Python."""
    if chain not in _orders:
        places = {state: x for x, state in enumerate(chain.table.plain())}
        sizes = (*kind.sizes, kind.sizes[0] + 4)
        listed = next(found for size in sizes if len(found := kind.states(size)) == chain.size)
        assert places.keys() == set(listed)
        _orders[chain] = sorted(listed, key=places.__getitem__)
    return _orders[chain]


_orders: dict[MarkovChain, list[Any]] = {}


def expected(kind: Kind, chain: MarkovChain, function: Callable[[Any], Any]) -> Any:
    """Return the values of plain Python as numbers."""
    return np.array([float(function(s)) for s in order_of(kind, chain)])


def nearly(found: Any, wanted: Any) -> bool:
    return bool(np.all(np.abs(found - wanted) <= ROUNDING * np.abs(wanted)))


@kinds
def test_states_of_a_table_are_those_of_the_search(kind: Kind) -> None:
    chain = small(kind)
    for state in order_of(kind, chain):
        assert next(chain.table.plain([chain.number_of(state)])) == state
    assert {type(state) for state in chain.table.plain()} == {type(kind.start)}


def check_measures(kind: Kind, chain: MarkovChain, step: int) -> None:
    """Compare sets, labels, rewards and ratios with plain Python, state by state."""
    for text, function in kind.functions(step).items():
        wanted = expected(kind, chain, function)
        assert evaluate_condition(function, chain.table, text).tolist() == (wanted != 0.0).tolist(), text
        found = functionals(Watched(function), chain.table)
        assert nearly(found["label"].of, wanted), text
        assert nearly(found["reward"].of, 2.0 + 3.0 * wanted), text
        assert nearly(found["ratio"].of, wanted), text
        assert found["ratio"].over.tolist() == [2.0] * chain.size, text
        assert nearly(found["each"].of, np.array([wanted, 1.0 - wanted])), text


class Watched:
    """A model of one function of the state, in every kind of measure."""

    name = "watched"
    function_of_state = ChainModel.function_of_state

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def symbols(self) -> None:
        """Return no parameters."""

    def labels(self, s: Any) -> dict[str, Any]:
        return {"label": self.function(s)}

    def rewards(self, s: Any, _q: Any) -> dict[str, Any]:
        value = self.function(s)
        return {
            "reward": 2.0 + 3.0 * value,
            "ratio": Mean(value, over=2.0, units="s"),
            "each": Mean((value, 1.0 - value), dims=("part",)),
        }


@kinds
def test_state_by_state(kind: Kind) -> None:
    check_measures(kind, small(kind), 12)


@pytest.mark.slow
@kinds
def test_every_function_state_by_state(kind: Kind) -> None:
    check_measures(kind, small(kind), 1)


def at_once(patch: pytest.MonkeyPatch) -> None:
    """Let functions run at once on few states.

    Two states only are compared with plain Python: each way has to be right by itself.
    """
    patch.setattr(functions, "PLAIN_STATES", 0)
    patch.setattr(StateTable, "sample", lambda table: sorted({0, table.count - 1}))


@kinds
def test_at_once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    check_measures(kind, small(kind), 9)


@pytest.mark.slow
@kinds
def test_every_function_at_once(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    check_measures(kind, small(kind), 1)


def watched(kind: Kind, function: Callable[[Any], Any]) -> Any:
    """Return what `explore` finds with a function as label, reward and ratio."""
    return explore(
        lambda s: kind.rules(s, kind.sizes[0]),
        start=kind.start,
        labels=lambda s: {"label": function(s)},
        rewards=lambda s: {
            "reward": function(s),
            "ratio": Mean(function(s), 1.0 + abs(function(s))),
        },
    )


def check_answers(kind: Kind, step: int) -> None:
    """Compare answers, passages, transients and paths with those of arrays over the states."""
    chain = small(kind)
    for text, function in kind.functions(step).items():
        wanted = expected(kind, chain, function)
        found = watched(kind, function)
        answer = stationary(found)
        means = float(answer.pi @ wanted), float(answer.pi @ (1.0 + abs(wanted)))
        assert answer["label"] == pytest.approx(means[0], rel=1e-12, abs=1e-15), text
        assert answer["reward"] == answer["label"], text
        assert answer["ratio"] == pytest.approx(means[0] / means[1], rel=1e-12, abs=1e-15), text
        assert answer.bound("reward") == answer.bound(wanted), text
        later = transient(found, [0.3, 1.0])
        at = later.pi @ wanted
        assert later["label"] == pytest.approx(at, rel=1e-12, abs=1e-15), text
        members = wanted != 0.0
        if members.any():
            assert later.probability(function).tolist() == later.probability(members).tolist(), text
        if members.any() and not members.all():
            start = order_of(kind, chain)[int(np.argmin(members))]
            one = passage(found, to=function, start=start)
            other = passage(found, to=members, start=start)
            assert one.mean == other.mean, text
            assert one.reward(function) == other.reward(wanted), text
        if np.isin(wanted, (0.0, 1.0)).all() and members.any():
            assert select_states(found.chain, "label", "to").tolist() == members.tolist(), text


@kinds
def test_answers_passages_and_transients(kind: Kind) -> None:
    check_answers(kind, 11)


@pytest.mark.slow
@kinds
def test_answers_passages_and_transients_of_every_function(kind: Kind) -> None:
    check_answers(kind, 1)


@kinds
def test_starts_paths_lumping_and_decay(kind: Kind) -> None:
    """Where an answer costs more, each function of a few."""
    chain = small(kind)
    state = kind.states(kind.sizes[0])[2]
    only = distribution(chain, state)
    assert distribution(chain, lambda s: s == state).tolist() == only.tolist()
    with pytest.raises(ValueError, match=r"start = <lambda>: selects \d+ states"):
        distribution(chain, lambda s: s != state)
    drawn = paths(chain, 20.0, start=lambda s: s == state, runs=3, seed=1)
    assert set(drawn.states[drawn.first[:-1]].tolist()) == {chain.number_of(state)}
    for text, function in kind.functions(23).items():
        wanted = expected(kind, chain, function)
        average = drawn.time_average(function)
        assert average.tolist() == drawn.time_average(wanted).tolist(), text
        blocks = lump(chain, keep=[function])
        assert blocks.chain.size == lump(chain, keep=[wanted]).chain.size, text
        members = wanted != 0.0
        if members.any() and not members.all():
            rates = [decay_rate(chain, to) for to in (function, members)]
            assert rates[0] == rates[1], text


def decay_rate(chain: MarkovChain, to: Any) -> Any:
    try:
        return quasi_stationary(chain, to=to, on_failure="return").decay_rate
    except ValueError as error:  # the other states are several classes
        return str(error)


@kinds
def test_best_and_its_limits(kind: Kind) -> None:
    """The largest label under a limit, over three speeds of one transition."""
    functions = list(kind.functions().values())
    for function in functions[5::60]:

        def rules(s: Any, q: Any) -> Any:
            for number, (target, rate) in enumerate(kind.rules(s, kind.sizes[0])):
                yield target, rate * q.speed if number == 0 else rate

        found = explore(
            rules,
            start=kind.start,
            params={"speed": 1.0},
            labels=lambda s, _q, f=function: {"label": f(s)},
            rewards=lambda s, q: {"cost": q.speed},
        )
        chain = found.chain
        speeds, means = (0.5, 1.0, 2.0), []
        for speed in speeds:
            changed = MarkovChain(chain.model.replace(speed=speed))
            means.append(float(stationary(changed).pi @ expected(kind, changed, function)))
        answer = best(found, "speed", among=speeds, maximize="label", subject_to={"cost": (None, 1.5)})
        assert answer.objective.value == pytest.approx(max(means[:2]), rel=1e-12, abs=1e-15)


def check_rates(kind: Kind, step: int) -> None:
    """Compare rates of rules with each function as a guard and a rate."""
    size, base = kind.sizes[0], small(kind)
    for text, function in kind.functions(step).items():

        def rules(s: Any, q: Any, f: Any = function) -> Any:
            for target, rate in kind.rules(s, size):
                yield target, rate + abs(f(s)) if f(s) else rate

        chain = explore(rules, start=kind.start).chain
        wanted = expected(kind, base, function)
        more = base.Q.diagonal() - chain.Q.diagonal()
        moves = [sum(t != s for t, _ in kind.rules(s, size)) for s in order_of(kind, base)]
        np.testing.assert_allclose(more, abs(wanted) * moves, rtol=1e-12, atol=1e-12, err_msg=text)


@kinds
def test_rates_of_rules(kind: Kind) -> None:
    check_rates(kind, 7)


@pytest.mark.slow
@kinds
def test_rates_of_rules_with_every_function(kind: Kind) -> None:
    check_rates(kind, 1)


@pytest.mark.parametrize("limit", [functions.PLAIN_STATES, 0], ids=["by state", "at once"])
@kinds
def test_what_is_no_condition_is_refused_with_file_and_line(
    kind: Kind, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functions, "PLAIN_STATES", limit)
    chain = small(kind)
    for text, function in kind.refused().items():
        place = rf"\({kind.name} functions, line 1\); "
        with pytest.raises(RuleError, match=place) as raised:
            passage(chain, to=function, start=kind.start)
        assert raised.value.line == 1, text
        assert str(raised.value).startswith("to = <lambda>: "), text
        with pytest.raises(RuleError, match=r"^watched\.labels: ") as raised:
            functionals(Watched(function), chain.table)
        assert raised.value.file is not None, text


@kinds
def test_large_chains(kind: Kind) -> None:
    """More than 10,000 states, where functions run on arrays."""
    states = kind.states(kind.sizes[1])
    make = type(kind.start) if hasattr(kind.start, "_fields") else None
    space = Space.of_states(make, states)
    codes = space.codes(states)
    table = StateTable(space, codes[:, np.argsort(space.numbers(codes), kind="stable")])
    assert table.count > functions.PLAIN_STATES
    listed = list(table.plain())
    for text, function in kind.functions(40).items():
        wanted = np.array([float(function(s)) for s in listed])
        assert evaluate_condition(function, table, text).tolist() == (wanted != 0.0).tolist(), text


@pytest.mark.slow
@kinds
def test_every_function_on_a_large_chain(kind: Kind) -> None:
    chain = chain_of(kind, kind.sizes[1])
    assert chain.size > functions.PLAIN_STATES
    check_measures(kind, chain, 1)


@kinds
def test_blocks_of_states(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures of chains without a matrix are summed block by block."""
    monkeypatch.setattr(functions, "PLAIN_STATES", 4)
    chain = small(kind)
    pi = stationary(chain).pi
    cuts = [*range(0, chain.size, 20), chain.size]
    parts = [slice(*ends) for ends in itertools.pairwise(cuts)]
    blocks = StateBlocks(chain.size, lambda: (chain.table.part(part) for part in parts), lambda: chain.table)
    for text, function in kind.functions(13).items():
        wanted = expected(kind, chain, function)
        found = default_measures(Watched(function), pi, blocks)
        assert found["label"][1] == pytest.approx(float(pi @ wanted), rel=1e-12, abs=1e-15), text
        assert found["ratio"][1] == pytest.approx(float(pi @ wanted) / 2.0, rel=1e-12), text


@pytest.mark.slow
def test_chains_without_a_matrix() -> None:
    kind = next(kind for kind in KINDS if kind.name == "named fields")
    size = kind.sizes[1]
    chain = chain_of(kind, size)
    for text, function in kind.functions(20).items():
        found = explore(
            lambda s: kind.rules(s, size),
            start=kind.start,
            space=dict.fromkeys("nm", range(size)),
            labels=lambda s, f=function: {"label": f(s)},
        )
        answer = stationary(found.chain.model, MatrixFree())
        wanted = expected(kind, chain, function)
        assert answer["label"] == pytest.approx(float(answer.pi @ wanted), rel=1e-12, abs=1e-15), text


def test_a_default_of_a_second_argument_is_kept() -> None:
    """The idiom for functions in loops: it is not called with the parameters."""
    for k in (0, 2):
        found = explore(integers_of_four, start=0, labels=lambda s, k=k: {"at": s is k})
        assert stationary(found)["at"] == stationary(found).pi[k]
    said = r"rules.*labels takes \(s, k=2\): k would be the parameters .*; write \(s, q, k=...\)"
    given = explore(
        lambda s, q: integers_of_four(s),
        start=0,
        params={"a": 1.0},
        labels=lambda s, k=k: {"at": s is k},
    )
    with pytest.raises(RuleError, match=said.replace("rules.*", r".*\.")):
        stationary(given)["at"]


def integers_of_four(s: int) -> Any:
    yield (s + 1) % 4, 1.0 + s


def test_inverted_truth_values_are_refused() -> None:
    """Python's ~True is -2, which counts as true."""
    chain = explore(integers_of_four, start=0)
    for to in (lambda s: ~(s > 1), lambda s: ~(s > 1) if s == 2 else s == 3, helped):
        with pytest.raises(RuleError, match=r"is -[12] .*write not"):
            passage(chain, to=to, start=0)
    numbers = passage(chain, to=lambda s: -1 if s == 2 else 0, start=0)
    assert numbers.mean == passage(chain, to=2, start=0).mean


def helped(s: int) -> int:
    return inverse(s == 1)


def inverse(truth: bool) -> int:
    return ~truth


def test_a_function_that_keeps_what_it_has_seen() -> None:
    """A cache filled by one way of evaluation is not read by another."""
    seen: dict[Any, Any] = {}

    def label(s: Any) -> Any:
        return {"odd": seen.setdefault((s.n, s.m), (s.n + s.m) % 2)}

    pairs = next(kind for kind in KINDS if kind.name == "named fields")
    chain = chain_of(pairs, pairs.sizes[1])
    wanted = [(s.n + s.m) % 2 for s in chain.table.plain()]
    for _ in range(2):
        found = functionals(Labelled(label), chain.table)
        assert found["odd"].of.tolist() == wanted
    assert {type(value) for value in map(seen.get, itertools.product(range(5), repeat=2))} == {int}


class Labelled(Watched):
    """A model with labels that return a mapping."""

    def labels(self, s: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.function(s)
        return found

    def rewards(self, s: Any, _q: Any) -> dict[str, Any]:
        return {}
