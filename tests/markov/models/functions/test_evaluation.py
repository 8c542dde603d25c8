"""Functions of states: evaluated on arrays, on sets, in plain Python; operands, means."""

from __future__ import annotations

import cProfile
import enum
import itertools
import pstats
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import (
    ChainModel,
    Cluster,
    CoxTandem,
    Kanban,
    MarkovChain,
    Mean,
    PauseChain,
    PauseTandem,
    PhaseQueue,
    Polling,
    SemiMarkov,
    explore,
    passage,
    stationary,
)
from markov.errors import RuleError
from markov.models.functions import evaluation
from markov.models.functions.array_evaluation import values_on_arrays
from markov.models.functions.evaluation import check_on_arrays, members_of, values_of
from markov.models.functions.executed_code import Execution
from markov.models.functions.inversions import is_inverted
from markov.models.functions.plain_evaluation import Function, ask_again, in_each
from markov.models.functions.set_evaluation import Partial, values_on_sets
from markov.models.means import as_mean, number_of, stacked
from markov.models.spaces import Space
from markov.models.state_tables import StateTable
from tests.surface import for_each

# Plain Python decides what a function of a state says; the matrix of forms is in test_functions_of_states.


class Mode(Enum):
    IDLE = 0
    SEEK = 1
    SLEEP = 5


class Disk(NamedTuple):
    n: int
    m: int
    mode: Mode


SPACE_EVALUATION = Space(Disk, {"n": range(90), "m": range(90), "mode": Mode})
LARGE = StateTable(SPACE_EVALUATION, SPACE_EVALUATION.unnumbered(np.arange(SPACE_EVALUATION.size)))


def walk(n: int, q: Any) -> Any:
    if n < 6:
        yield n + 1, 1.0
    if n > 0:
        yield n - 1, 1.5


@pytest.mark.parametrize(
    ("condition", "mean"),
    [
        (lambda n: n % 2, 2 / 3),
        (lambda n: n % 2 == 1, 2 / 3),
        (lambda n: n in (0, 1), 6.526748971193416),
        (lambda n: not n, 8.35116598079561),
        (lambda n: n == 0 or n == 1, 6.526748971193416),
    ],
    ids=itertools.count(),
)
def test_sets_are_what_python_says(condition: Any, mean: float) -> None:
    """The means from 6 by birth and death: h(n) = (1 + 1.5 h(n - 1)) / 1.5 summed from the top."""
    found = passage(explore(walk, start=6), to=condition, start=6)
    assert found.mean == pytest.approx(mean, rel=1e-12)


def test_an_enumeration_in_a_loop() -> None:
    """One lambda, one code object, and another value each time."""
    for mode in Mode:
        found = values_of(lambda s, _q, m=mode: {"at": s.mode is m}, None, LARGE, "labels")
        assert found["at"].of.tolist() == [s.mode is mode for s in LARGE.plain()]


@pytest.mark.slow
def test_a_rare_state_of_a_large_chain_is_not_missed() -> None:
    """One of 24,300 states, in none of the samples: found because columns decide as Python does."""
    rare = Disk(41, 57, Mode.SEEK)
    assert LARGE.count > evaluation.PLAIN_STATES
    for condition in (
        lambda s: s.n == 41 and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: s == rare,
        lambda s: (s.n == 41) is True and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: f"{s.n},{s.m}" == "41,57" and s.mode.value == 1,
        lambda s: np.logical_and(s.n == 41, s.m == 57) and s.mode is Mode.SEEK,
        lambda s: np.sum([s.n == 41, s.m == 57, s.mode is Mode.SEEK]) == 3,
    ):
        members = np.flatnonzero(members_of(condition, LARGE, "to"))
        assert list(LARGE.plain(members)) == [rare]


def test_whole_numbers_of_any_size() -> None:
    found = members_of(lambda s: s.n**40 % 3 == 1 and s.n, LARGE, "to")
    assert found.tolist() == [bool(s.n**40 % 3 == 1 and s.n) for s in LARGE.plain()]
    assert members_of(lambda s: 10**400, LARGE.part(slice(3)), "to").all()


def test_a_function_for_arrays_only_is_refused_with_what_to_write() -> None:
    said = r"'int' object has no attribute 'astype' .*; it is called with one state"
    with pytest.raises(RuleError, match=said):
        passage(explore(walk, start=6), to=lambda n: n.astype(float) > 2)
    members = explore(walk, start=6).states > 2
    assert passage(explore(walk, start=6), to=members, start=0).mean > 0.0


@for_each([
    PauseTandem(buffers=(3, 4), high_threshold=3),
    PauseTandem(buffers=(3, 4), high_threshold=3, pause_at_threshold="both"),
    PauseChain(buffers=(2, 3, 2), high_threshold=2), Cluster(workstations=2), Kanban(tickets=1),
    CoxTandem(capacity=4), Polling(stations=3), PhaseQueue(capacity=4), SemiMarkov(),
])  # fmt: skip
def test_measures_of_the_library_hold_for_each_state(model: ChainModel) -> None:
    """They are called with all states at once, without a comparison."""
    table = MarkovChain(model).table
    assert getattr(type(model).rewards, "__elementwise__", False)
    at_once = values_of(model.function_of_state("rewards", None), None, table, "rewards")
    one_by_one = values_of(lambda s, _q: model.rewards(s), None, table, "rewards")
    assert at_once.keys() == one_by_one.keys()
    for name, mean in at_once.items():
        for part, other in zip(mean.parts(), one_by_one[name].parts(), strict=True):
            np.testing.assert_array_equal(part, other, err_msg=name)


def test_a_class_below_one_of_the_library_is_called_with_one_state() -> None:
    class Mine(CoxTandem):
        def rewards(self, s: Any) -> Any:
            return {"even": 1.0 if s.first % 2 == 0 else 0.0}

    answer = stationary(Mine(capacity=4))
    even = [s.first % 2 == 0 for s in answer.chain.table.plain()]
    assert answer["even"] == pytest.approx(float(answer.pi @ even), rel=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.n + 2 * s.m,
        lambda s: (s.n > 3) & (s.m == 5),
        lambda s: np.where(s.n > s.m, 1.0, 0.5),
    ],
    ids=itertools.count(),
)
def test_functions_that_are_to_run_on_arrays(function: Any) -> None:
    table = LARGE.part(LARGE.sample())
    check_on_arrays(function, table, table.arrays, "reward")


# Functions on arrays of states.


class State(NamedTuple):
    n: int
    m: int
    kind: str


SPACE = Space(State, {"n": range(60), "m": range(60), "kind": ["a", "b"]})
TABLE = StateTable(SPACE, SPACE.unnumbered(np.arange(SPACE.size)))


def on_arrays(function: Callable[[Any], Any]) -> Any:
    return values_on_arrays(lambda s: {"": function(s)}, number_of, TABLE)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: np.maximum(s.n, s.m) > 7,
        lambda s: np.where((s.n > 3) & (s.kind == "a"), s.n, -s.m),
        lambda s: np.sqrt(s.n) + np.asarray([1.0, 2.0])[s.m % 2],
        lambda s: np.isin(s.n, [1, 5]),
    ],
    ids=itertools.count(),
)
def test_values_are_those_of_each_state_array_evaluation(function: Callable[[Any], Any]) -> None:
    partial = on_arrays(function)
    assert partial.values[""].of.tolist() == [float(function(s)) for s in TABLE.plain()]


def test_one_number_for_all_states_is_left_to_plain_python() -> None:
    """`kind` is a string, not an array: where it decides, the numbers are not looked at."""
    partial = on_arrays(lambda s: np.maximum(s.n, 2) if s.kind == "a" else 1.0)
    assert [SPACE_KINDS[x] for x in partial.left[:5]] == ["b"] * 5
    assert len(partial.left) == TABLE.count // 2


SPACE_KINDS = [s.kind for s in TABLE.plain()]


@for_each(
    [
        lambda s: np.max([s.n, s.m]),  # of all states
        lambda s: 1 // s.n,
        lambda s: np.log(s.n),
        lambda s: np.maximum(s.n, 2) * (str(s.m) == "3"),
        lambda s: np.maximum(s.n, 2) if s.n > 3 else 0,
        lambda s: "a",
    ]
)
def test_what_arrays_do_not_do_is_left(function: Callable[[Any], Any]) -> None:
    assert on_arrays(function) is None


def test_measures_of_several_queues() -> None:
    partial = on_arrays(lambda s: Mean(np.array([s.n, s.m]), dims=("queue",)))
    listed = list(TABLE.plain())
    assert partial.values[""].of.tolist() == [[float(s[k]) for s in listed] for k in (0, 1)]


# A function called with one state after the other.

TABLE_PLAIN_EVALUATION = StateTable.of(["up", "down", "broken"])


def function(call: Any) -> Function:
    def value(given: Any) -> Any:
        return as_mean(given, 1) if isinstance(given, Mean) else number_of(given)

    return Function(call, call, "model.labels", value, "return a number")


def test_values_are_in_the_order_of_the_states() -> None:
    asked = function(lambda s: {"length": len(s), "up": s == "up", "half": Mean(len(s), over=2)})
    found = in_each(asked, TABLE_PLAIN_EVALUATION, None)
    assert {key: mean.of.tolist() for key, mean in found.items()} == {
        "length": [2.0, 4.0, 6.0],
        "up": [1.0, 0.0, 0.0],
        "half": [2.0, 4.0, 6.0],
    }
    assert found["half"].over.tolist() == [2.0, 2.0, 2.0]
    assert in_each(asked, TABLE_PLAIN_EVALUATION, [2, 0])["length"].of.tolist() == [6.0, 2.0]


@for_each(
    [
        (lambda s: {"a": 1} if s == "up" else {}, r"^model.labels: other names in other states"),
        (lambda s: {"a": s}, r"^model.labels: 'up': 'up' is no number .*; return a number$"),
        (lambda s: {"a": s if s == "down" else 1}, r"^model.labels: 'down': 'down' is no number"),
        (lambda s: {"a": s[4]}, r"^model.labels: 'up': IndexError: .*guard the index"),
        (lambda s: {"a": s.n}, r"^model.labels: 'up': AttributeError: .*called with one state"),
        (lambda s: {"a": Mean(1, over=2) if s == "up" else 1}, r"a ratio, or another shape"),
    ]
)
def test_errors_name_the_function_and_the_state(call: Any, said: str) -> None:
    with pytest.raises(RuleError, match=said) as raised:
        in_each(function(call), TABLE_PLAIN_EVALUATION, None)
    assert raised.value.file == __file__


def test_the_same_value_when_called_again() -> None:
    steady = function(lambda s: {"a": len(s), "b": float("nan")})
    ask_again(steady, TABLE_PLAIN_EVALUATION, in_each(steady, TABLE_PLAIN_EVALUATION, None))
    count = itertools.count()
    counting = function(lambda _s: {"a": next(count)})
    with pytest.raises(RuleError, match=r"'up': gives 'a' 0 and, called again, 3 .*; no random"):
        ask_again(counting, TABLE_PLAIN_EVALUATION, in_each(counting, TABLE_PLAIN_EVALUATION, None))
    draw = np.random.default_rng(1)
    drawing = function(lambda s: {"a" if draw.random() < 0.9 or s != "up" else "b": 1})
    with pytest.raises(RuleError, match=r"other names"):
        ask_again(drawing, TABLE_PLAIN_EVALUATION, in_each(drawing, TABLE_PLAIN_EVALUATION, None))


# Functions on sets of states give the values of plain Python, or leave them to it.


def on_sets(function: Callable[[Any], Any]) -> tuple[Partial | None, bool]:
    return values_on_sets(lambda s: {"": function(s)}, number_of, TABLE)


@for_each([
    lambda s: s.n == 3 or s.m > 50, lambda s: s.n * 10**30 // 7 % 11, lambda s: s.kind == "a" and 2 < s.n < s.m,
    lambda s: {3: 1, 5: 2}.get(s.n, 0), lambda s: 1.5 if s.kind == "b" else s.n / 3, lambda s: True,
])  # fmt: skip
def test_values_are_those_of_each_state_set_evaluation(function: Callable[[Any], Any]) -> None:
    partial, uses_numpy = on_sets(function)
    assert partial is not None
    assert not uses_numpy
    assert not len(partial.left)
    assert partial.values[""].of.tolist() == [float(function(s)) for s in TABLE.plain()]


def test_states_where_the_function_fails_are_left_to_plain_python() -> None:
    partial, _ = on_sets(lambda s: 1 / (s.n - 3))
    assert partial is not None
    assert {SPACE.state(TABLE.codes[:, x]).n for x in partial.left} == {3}
    assert len(partial.left) == 120
    row = {"": Mean(np.full(120, -1.0))}
    partial.fill(row)
    expected = [-1.0 if s.n == 3 else 1 / (s.n - 3) for s in TABLE.plain()]
    assert partial.values[""].of.tolist() == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda s: hash(s) % 2,  # each state by itself
        lambda s: (s.n > 3) is True,
        lambda s: 1 / 0,
        lambda s: "a",
    ],
    ids=itertools.count(),
)
def test_what_sets_do_not_do_is_left(function: Callable[[Any], Any]) -> None:
    assert on_sets(function) == (None, False)


def test_functions_of_numpy_are_for_arrays() -> None:
    assert on_sets(lambda s: np.maximum(s.n, 3)) == (None, True)


def test_ratios_and_lists_of_columns() -> None:
    partial, _ = values_on_sets(
        lambda s: {"": Mean((s.n, 1.0), over=(2.0, s.m + 1), dims=("part",), units="s")},
        number_of,
        TABLE,
    )
    assert partial is not None
    mean, listed = partial.values[""], list(TABLE.plain())
    assert mean.of.tolist() == [[float(s.n) for s in listed], [1.0] * TABLE.count]
    assert mean.over.tolist() == [[2.0] * TABLE.count, [s.m + 1.0 for s in listed]]
    assert (mean.dims, mean.units) == (("part",), "s")


def test_other_names_or_kinds_in_other_states_are_left() -> None:
    partial, _ = values_on_sets(lambda s: {"a": 1.0} if s.n < 50 else {"b": 1.0}, number_of, TABLE)
    assert partial is not None
    assert len(partial.left) == 10 * 60 * 2


# Values of ~ in place of not.


def inverse(truth: bool) -> int:
    return ~truth


def helped(n: int) -> int:
    return inverse(n > 3)


def nested(n: int) -> int:
    def inner(m: int) -> int:
        return ~(m > 3)

    return inner(n)


@pytest.mark.parametrize("function", [inverse, helped, nested, lambda n: ~(n > 3)])
def test_values_of_a_function_with_a_tilde_are_inverted(function):
    assert [is_inverted(value, function) for value in (-2, -1, 0, 1, True)] == [
        True, True, False, False, False
    ]  # fmt: skip
    assert is_inverted(function(True), function)


@pytest.mark.parametrize("function", [lambda n: n - 2, abs, "label"])
def test_numbers_of_other_functions_are_numbers(function):
    assert not is_inverted(-1, function)


# What tells a stand-in for a number from a number: operands of ``is`` (`identity_operands`), and what was executed.


class Use(enum.Enum):
    BUSY = 1
    IDLE = 2


class Speed(enum.IntEnum):
    LOW = 1


THREE, NAME = 3, "three"


def called(function: Callable[[Any], Any], value: Any = 3) -> Execution:
    with Execution() as found:
        function(value)
    return found


def hidden(n: Any) -> bool:
    return n is THREE


def caught(n: Any) -> Any:
    try:
        return 1 / n
    except:  # noqa: E722
        return 0


def caught_by_class(n: Any) -> Any:
    try:
        return 1 / n
    except ZeroDivisionError:
        return 0


def of_closure(value: Any) -> Callable[[Any], bool]:
    return lambda n: n is value


@for_each([
    lambda n: n is True,
    lambda n: n is THREE,
    lambda n: type(n) is int,
    lambda n: id(n) == 3,
    lambda n: [hidden(k) for k in (n,)],
    lambda n: n is n,  # noqa: PLR0124
    lambda n: n.__class__ is int,
    caught,
    of_closure(3),
])  # fmt: skip
def test_identity_of_numbers_and_types_are_noticed(function: Callable[[Any], Any]) -> None:
    assert not called(function).columns


@for_each([
    lambda n: n > 2 and n in (1, 3), lambda n: n is Use.BUSY, lambda n: n is None, lambda n: n is not NAME,
    lambda n: NAME is not n, lambda n: n is Speed.LOW, lambda n: isinstance(n, int),
    lambda n: Use(1) is Use.BUSY and n > 1, caught_by_class, of_closure(Use.BUSY),
])  # fmt: skip
def test_what_numbers_and_columns_have_in_common_passes(function: Callable[[Any], Any]) -> None:
    assert called(function).columns


@pytest.mark.parametrize(
    "function",
    [
        lambda n: f"{n}" == "3", lambda n: str(n) == "3", lambda n: isinstance(n, int), caught_by_class, hidden,
    ],
    ids=itertools.count(),
)  # fmt: skip
def test_what_arrays_hide_is_noticed(function: Callable[[Any], Any]) -> None:
    assert not called(function).arrays


def test_functions_of_numpy_pass() -> None:
    assert called(lambda n: np.where(np.maximum(n, 2) > 2, 1.0, 0.0)).arrays


def test_a_profiler_of_the_user_stays() -> None:
    profile = cProfile.Profile()
    profile.enable()
    found = called(lambda n: n > 2)
    sorted([3, 1])
    profile.disable()
    assert not found.columns
    assert not found.arrays
    names = {code for _, _, code in pstats.Stats(profile).stats}  # type: ignore[attr-defined]
    assert "<built-in method builtins.sorted>" in names


# Measures as numbers over states.


@for_each([
    2, 2.0, Fraction(2), Decimal(2), np.int64(2), np.float32(2), np.array(2), np.array(2, np.int8),
])  # fmt: skip
def test_numbers_of_every_kind_are_numbers(value: Any) -> None:
    assert number_of(value) == 2.0


@pytest.mark.parametrize("value", [True, np.True_, np.array(True)])
def test_truth_values_are_zero_and_one(value: Any) -> None:
    assert number_of(value) == 1.0


def test_one_number_stands_for_all_states() -> None:
    assert as_mean(2.0, 3).of.tolist() == [2.0, 2.0, 2.0]
    found = as_mean(Mean((1, 2), over=4.0 * np.ones((2, 3)), dims=("queue",)), 3)
    assert found.of.tolist() == [[1.0] * 3, [2.0] * 3]
    assert found.value(np.array([0.5, 0.25, 0.25])).tolist() == [0.25, 0.5]
    with pytest.raises(TypeError, match=r"has shape \(2,\): one number per state"):
        as_mean(np.zeros(2), 3)


def test_rows_of_states_are_stacked_where_they_are_of_one_kind() -> None:
    rows = [as_mean(Mean(float(k), over=1.0 + k), 1) for k in range(3)]
    found = stacked(rows)
    assert found.of.tolist() == [0.0, 1.0, 2.0]
    assert found.over.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match=r"in some states only"):
        stacked([rows[0], as_mean(1.0, 1)])
    with pytest.raises(TypeError, match=r"in some states only"):
        stacked([as_mean(1.0, 1), as_mean(Mean((1, 2), dims=("queue",)), 1)])


def test_a_ratio_of_zeros_is_not_a_number() -> None:
    assert np.isnan(Mean(np.zeros(2), over=np.zeros(2)).value(np.array([0.5, 0.5])))
