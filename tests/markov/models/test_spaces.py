"""Spaces of states and their components."""

from __future__ import annotations

import enum
import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, MarkovChain, explore, generator, stationary
from markov.errors import RuleError
from markov.generators.building import build_chain
from markov.models.spaces import SAMPLE, Space, extreme_states, sample_of
from markov.models.state_tables import StateBlocks, StateTable
from tests.markov.conftest import Machine, Mode, Queue
from tests.surface import for_each

# Components of every kind: ranges, lists, texts, Enums and vectors.


@for_each(
    [
        ({"m": range(3)}, r"space\(\) has m: must be n"),
        ({"n": range(3), "m": range(2)}, r"space\(\) has n, m: must be n"),
        ({"n": range(0, 6, 2)}, r"space\(\): n = range\(0, 6, 2\): must be a range with step 1"),
        ({"n": range(0)}, r"space\(\): n = range\(0, 0\): must be a range with step 1, not empty"),
        ({"n": [0, 0]}, r"space\(\): n = \[0, 0\]: must be .* a list of different values"),
        ({"n": "ab"}, r"space\(\): n = 'ab': must be a range"),
        ({"n": []}, r"space\(\): n = \[\]: must be"),
        ({"n": {"a": 1}}, r"space\(\): n = \{'a': 1\}: must be"),
        ({"n": [[1], [2]]}, r"space\(\): n = \[\[1\], \[2\]\]: must be"),
        ({"n": 3}, r"space\(\): n = 3: must be"),
        ({"n": (range(2), range(0))}, r"space\(\): n = \(range\(0, 2\), range\(0, 0\)\): must be"),
        ([3], r"space\(\) returns \[3\]: must be a dict of the fields of State"),
    ]
)
def test_bad_space(space, said):
    class Odd(Queue):
        def space(self):
            return space

    with pytest.raises(ValueError, match=said):
        generator(Odd())


@pytest.mark.parametrize("model", [Machine(), Machine(room=40)], ids=repr)
def test_components_of_every_kind(model):
    one, other = build_chain(model), build_chain(model, by="python")
    np.testing.assert_array_equal(one.codes, other.codes)
    assert abs(one.Q - other.Q).max() <= 1e-14
    assert other.how == "the rules as they stand"


def test_names_of_components_and_states():
    answer = stationary(Machine())
    s = answer.states
    assert s.mode[0] is Mode.BUSY
    assert s.phase[:20].tolist() == ["cold"] * 16 + ["warm"] * 4
    assert [part[:6].tolist() for part in s.n] == [[0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 0, 1]]
    assert list(answer.chain.components) == ["mode", "phase", "n[0]", "n[1]"]
    busy = answer.pi[[mode is Mode.BUSY for mode in s.mode]].sum()
    assert answer["busy"] == pytest.approx(busy, rel=1e-14)
    assert answer["busy"] == pytest.approx(0.5 / 0.75, rel=1e-12)
    data = answer.to_xarray()
    assert data.pi.dims == ("mode", "phase", "n[0]", "n[1]")
    assert float(data.pi.sum()) == pytest.approx(1.0, rel=1e-14)
    assert float(data.pi.sel(phase="hot", mode=Mode.IDLE)[1, 2]) == answer.probability((Mode.IDLE, "hot", (1, 2)))
    assert answer.chain.number_of((Mode.BUSY, "cold", (0, 3))) == 3
    with pytest.raises(KeyError):
        answer.probability((Mode.BUSY, "tepid", (0, 3)))
    assert "n[1]" in [text.get_text() for text in answer.plot().get_legend().get_texts()]


def line(states: int) -> Any:
    """Return rules of a queue of classes: a tuple of varying length, as a line of that many states."""

    def rules(queue: Any) -> Any:
        if len(queue) < states - 1:
            yield (*queue, "ab"[len(queue) % 2]), 2.0
        if queue:
            yield queue[:-1], 3.0

    return rules


@pytest.mark.parametrize("states", [4, 2500, 10_500])
@pytest.mark.parametrize("deep", [False, True])
def test_tuples_of_varying_length_are_states(states, deep):
    rules, depth = line(min(states, 40)), max(1, states // 40)

    def several(s: Any) -> Any:  # a counter beside the tuple, to reach many states
        for target, rate in rules(s[0] if deep else s[1:]):
            yield ((target, s[1]) if deep else (s[0], *target)), rate
        count = s[1] if deep else s[0]
        after = (count + 1) % depth
        yield ((s[0], after) if deep else (after, *s[1:])), 1.0

    found = explore(several, start=((), 0) if deep else (0,))
    assert found.chain.Q.shape[0] == min(states, 40) * depth
    assert stationary(found).error_bound < 1e-8
    kept = set(found.states[0] if deep else found.states)
    assert all(isinstance(state, tuple) for state in kept)
    assert {len(state) for state in kept} == {k + (not deep) for k in range(min(states, 40))}


def test_states_of_several_kinds_keep_their_values():
    """The text "bc" is no pair of letters, and () is a state."""
    following = {
        (): ("a", 1), ("a", 1): "bc", "bc": frozenset({1}), frozenset({1}): 2**70, 2**70: (),
    }  # fmt: skip

    def rules(s: Any) -> Any:
        yield following[s], 2.0 if s == () else 1.0

    found = explore(rules, start=())
    assert found.states.tolist() == list(following)
    pi = stationary(found).pi
    np.testing.assert_allclose(pi, np.array([0.5, 1.0, 1.0, 1.0, 1.0]) / 4.5, rtol=1e-14)


@pytest.mark.parametrize("named", [False, True])
def test_whole_numbers_beyond_64_bits_are_states(named):
    def rules(s: Any) -> Any:
        n = s.n if named else s
        more, one = (s._replace(n=4 * n), s._replace(n=1)) if named else (4 * n, 1)
        if n < 2**70:
            yield more, 1.0
        if n > 1:
            yield one, 1.0

    found = explore(rules, start={"n": 1} if named else 1)
    values = (found.states.n if named else found.states).tolist()
    assert values == [4**k for k in range(36)]
    np.testing.assert_allclose(stationary(found).pi[:-1], 0.5 ** np.arange(1, 36), rtol=1e-13)


def test_a_range_that_goes_beyond_64_bits_is_a_component():
    def rules(s: Any) -> Any:
        yield s._replace(n=2**80 if s.n == 0 else 0), 1.0

    found = explore(rules, start={"n": 0}, space={"n": range(2**90)})
    assert found.states.n.tolist() == [0, 2**80]


def test_models_that_declare_too_little_say_what_to_write():
    class NoRules(ChainModel):
        class State(NamedTuple):
            n: int

        def start(self):
            return self.State(0)

    class NoTuple(NoRules):
        State = int
        rules = staticmethod(lambda s, _q: [(s, 1.0)])

    for model, said in (
        (ChainModel(), r"^ChainModel declares no State: write class State\(NamedTuple\)"),
        (NoRules(), r"^NoRules declares no rules: write rules\(s, q\)"),
        (NoTuple(), r"^NoTuple.State = <class 'int'>: must be a NamedTuple class"),
    ):
        with pytest.raises(RuleError, match=said):
            stationary(model)
    assert ChainModel.State is not None  # for tools that look at the class


# States as arrays and as the objects that rules see.


class Text(enum.StrEnum):
    """Members that are strings too, which an array would turn into plain ones."""

    IDLE = "idle"
    BUSY = "busy"


class Job(NamedTuple):
    kind: Text
    n: int


def jobs(s: Job) -> Any:
    yield s._replace(kind=Text.BUSY if s.kind is Text.IDLE else Text.IDLE), 1.0
    yield s._replace(n=1 - s.n), 2.0


def test_plain_states_are_the_objects_of_the_rules() -> None:
    table = explore(jobs, start=Job(Text.IDLE, 0)).chain.table
    listed = list(table.plain())
    assert {type(s) for s in listed} == {Job}
    assert all(s.kind is Text(s.kind) and type(s.n) is int for s in listed)
    assert [s.n for s in table.plain([1, 3])] == [listed[1].n, listed[3].n]


def test_arrays_bring_their_table_along() -> None:
    table = MarkovChain(Machine()).table
    assert StateTable.of(table) is table
    arrays = table.arrays
    assert StateTable.of(arrays) is table
    assert isinstance(arrays, Machine.State)
    assert StateTable.of(arrays._replace(phase=arrays.phase)) is not table
    single = explore(lambda s: [("b" if s == "a" else "a", 1.0)], start="a").chain.table
    assert StateTable.of(single.arrays) is single
    assert StateTable.of(single.arrays + "") is not single


def test_arrays_of_a_user_are_taken_apart() -> None:
    states = MarkovChain(Machine()).states
    table = StateTable.of(states)
    assert list(table.plain()) == list(MarkovChain(Machine()).table.plain())
    assert list(StateTable.of(np.array([3, 5])).plain()) == [3, 5]


@pytest.mark.parametrize("names", [range(4), ("up", "down"), [(0, 1), (2,)], ("a", None, 3)])
def test_names_are_states(names: Any) -> None:
    assert list(StateTable.of(names).plain()) == list(names)


def test_states_that_agree_in_all_but_numbers_are_together() -> None:
    table = MarkovChain(Machine()).table
    listed = list(table.plain())
    parts = table.equal_groups(6)
    assert parts is not None
    assert sorted(np.concatenate(parts).tolist()) == list(range(table.count))
    assert len(parts) == len({(s.mode, s.phase) for s in listed})
    assert all(len({(listed[x].mode, listed[x].phase) for x in part}) == 1 for part in parts)
    assert table.equal_groups(5) is None


def test_blocks_stand_for_the_whole() -> None:
    table = MarkovChain(Machine()).table
    blocks = StateBlocks(table.count, lambda: iter([table]), lambda: table)
    assert StateTable.of(blocks) is table
    assert np.array_equal(blocks.phase, table.arrays.phase)
    with pytest.raises(AttributeError):
        _ = blocks.missing


# The states on which faster ways are compared with plain Python.


def test_few_states_are_all_in_the_sample() -> None:
    space = Space(None, {"n": range(10), "m": range(10)})
    assert sample_of(space, space.codes_of_numbers(np.arange(100))) == list(range(100))


def test_corners_and_ends_of_a_large_space_are_in_the_sample() -> None:
    space = Space(None, {"n": range(3, 43), "m": range(50), "k": range(7)})
    codes = space.codes_of_numbers(np.arange(space.size))
    found = sample_of(space, codes)
    corners = itertools.product((3, 42), (0, 49), (0, 6))
    numbers = space.numbers(space.codes(list(corners)))
    assert set(numbers.tolist()) <= set(found)
    assert extreme_states(codes) <= set(found)
    assert SAMPLE < len(found) < 2 * SAMPLE
    assert found == sorted(set(found))
