"""Functions of states: on arrays and in plain Python; values of ~; means."""

from __future__ import annotations

import itertools
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
from markov.models import functions
from markov.models.functions import (
    StateFunction,
    as_mean,
    concatenate_means,
    evaluate_by_state,
    evaluate_condition,
    evaluate_mapping,
    evaluate_on_arrays,
    is_inverted,
    number_of,
    refuse_changing_values,
)
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
LARGE = StateTable(SPACE_EVALUATION, SPACE_EVALUATION.codes_of_numbers(np.arange(SPACE_EVALUATION.size)))


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
        found = evaluate_mapping(lambda s, _q, m=mode: {"at": s.mode is m}, None, LARGE, "labels")
        assert found["at"].of.tolist() == [s.mode is mode for s in LARGE.plain()]


@pytest.mark.slow
def test_a_rare_state_of_a_large_chain_is_not_missed() -> None:
    """One of 24,300 states, in none of the samples: found because arrays decide as Python does."""
    rare = Disk(41, 57, Mode.SEEK)
    assert LARGE.count > functions.PLAIN_STATES
    for condition in (
        lambda s: s.n == 41 and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: s == rare,
        lambda s: (s.n == 41) is True and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: f"{s.n},{s.m}" == "41,57" and s.mode.value == 1,
        lambda s: np.logical_and(s.n == 41, s.m == 57) and s.mode is Mode.SEEK,
        lambda s: np.sum([s.n == 41, s.m == 57, s.mode is Mode.SEEK]) == 3,
    ):
        members = np.flatnonzero(evaluate_condition(condition, LARGE, "to"))
        assert list(LARGE.plain(members)) == [rare]


def test_whole_numbers_of_any_size() -> None:
    found = evaluate_condition(lambda s: s.n**40 % 3 == 1 and s.n, LARGE, "to")
    assert found.tolist() == [bool(s.n**40 % 3 == 1 and s.n) for s in LARGE.plain()]
    assert evaluate_condition(lambda s: 10**400, LARGE.part(slice(3)), "to").all()


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
    at_once = evaluate_mapping(model.function_of_state("rewards", None), None, table, "rewards")
    one_by_one = evaluate_mapping(lambda s, _q: model.rewards(s), None, table, "rewards")
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


# Functions on arrays of states have the values of plain Python, or run as plain Python.


class State(NamedTuple):
    n: int
    m: int
    kind: str

    @property
    def total(self) -> int:
        return self.n + self.m

    def above(self, limit: int) -> bool:
        return self.n > limit


SPACE = Space(State, {"n": range(52), "m": range(40), "kind": ["a", "b"]})
TABLE = StateTable(SPACE, SPACE.codes_of_numbers(np.arange(SPACE.size)))
LISTED = list(TABLE.plain())
RATES = np.array([0.5, 2.0, 7.25])
NAMES = {3: 1, 5: 2}


def halved(n: int, by: float = 2.0) -> float:
    return n / by


def described(s: Any) -> float:
    if s.kind == "a" and s.n > 3:
        return halved(s.m)
    total = 0.25
    for k in range(4):
        if k == s.m:
            continue
        total += k
    return total


def on_arrays(function: Callable[[Any], Any], parameters: Any = None) -> Any:
    return evaluate_on_arrays(StateFunction(function, function, parameters, "", number_of, ""), TABLE)


@for_each([
    lambda s: s.n == 3 or s.m > 50,
    lambda s: s.kind == "a" and 2 < s.n < s.m,
    lambda s: NAMES.get(s.n, 0),
    lambda s: 1.5 if s.kind == "b" else s.n / 3,
    lambda s: True,
    lambda s: (s.n > 3) is True,
    lambda s: s.n is not None and s.n > 3,
    lambda s: s == (3, 4, "a"),
    lambda s: s.total + s.above(7) + s[1] + len(s),
    lambda s: round(s.n / 7, 1) + int(s.m / 3) + divmod(s.m, 5)[1],
    lambda s: f"{s.kind}1" == "a1",
    lambda s: s.n in NAMES or s.m in {2, 9},
    lambda s: RATES[s.n % 3] if s.n > 7 else RATES[0],
    lambda s: np.maximum(s.n, s.m) > 7,
    lambda s: np.where((s.n > 3) & (s.kind == "a"), s.n, -s.m),
    lambda s: np.sqrt(s.n) + np.asarray([1.0, 2.0])[s.m % 2],
    lambda s: np.isin(s.n, [1, 5]),
    lambda s: np.maximum(s.n, 2) if s.kind == "a" else 1.0,
    lambda s: np.maximum(s.n, 2) if s.n > 3 else 0,
    lambda s: np.max([s.n, s.m]),
    lambda s: np.logical_and(s.n > 2, s.m > 3),
    lambda s: np.sum([s.n == 3, s.m]) + np.clip(s.n, 2, 9),
    described,
])  # fmt: skip
def test_values_on_arrays_are_those_of_each_state(function: Callable[[Any], Any]) -> None:
    values = on_arrays(function)
    assert values is not None
    assert values[""].of.tolist() == [float(function(s)) for s in LISTED]


@for_each([
    lambda s: hash(s) % 2, lambda s: 1 / 0, lambda s: "a", lambda s: 1 // s.n, lambda s: np.log(s.n) * (str(s.m) == "3"),
    lambda s: s.n * 10**30 // 7 % 11, lambda s: s.n is s.m, lambda s: np.logical_not(s.n > 2) + np.isin(s.m, [1]),
    lambda s: s.n < s.m < 1 / (s.n + 1), lambda s: type(s.n) is int, lambda s: {s.n: 1}, lambda s: s.missing,
])  # fmt: skip
def test_what_arrays_do_not_do_is_left_to_plain_python(function: Callable[[Any], Any]) -> None:
    assert on_arrays(function) is None


def test_ratios_and_lists_of_numbers() -> None:
    def measures(s: Any, q: Any) -> Any:
        return {"": Mean((s.n, 1.0), over=(2.0, s.m + q), dims=("part",), units="s")}

    mean = on_arrays(measures, (1,))[""]
    assert mean.of.tolist() == [[float(s.n) for s in LISTED], [1.0] * TABLE.count]
    assert mean.over.tolist() == [[2.0] * TABLE.count, [s.m + 1.0 for s in LISTED]]
    assert (mean.dims, mean.units) == (("part",), "s")


def test_names_in_comprehensions_and_mappings() -> None:
    def measures(s: Any) -> Any:
        levels = {f"n > {k}": s.n > k for k in range(3)}
        return levels | {"other": s.m} if s.kind == "a" else levels | {"other": 0}

    values = on_arrays(measures, ())
    assert list(values) == ["n > 0", "n > 1", "n > 2", "other"]
    assert values["n > 1"].of.tolist() == [float(s.n > 1) for s in LISTED]
    assert values["other"].of.tolist() == [float(s.m if s.kind == "a" else 0) for s in LISTED]


def test_other_names_in_other_states_are_left_to_plain_python() -> None:
    assert on_arrays(lambda s: {"a": 1.0} if s.n < 50 else {"b": 1.0}, ()) is None


def test_values_that_differ_from_plain_python_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    right = evaluate_on_arrays

    def wrong(function: StateFunction, table: StateTable) -> Any:
        return {key: mean._replace(of=mean.of + 1.0) for key, mean in right(function, table).items()}

    monkeypatch.setattr(functions, "PLAIN_STATES", 0)
    monkeypatch.setattr(functions, "evaluate_on_arrays", wrong)
    assert functions.evaluate_number(lambda s: s.n, TABLE, "reward").of.tolist() == [s.n for s in LISTED]


# A function called with one state after the other.

TABLE_PLAIN_EVALUATION = StateTable.of(["up", "down", "broken"])


def function(call: Any) -> StateFunction:
    def value(given: Any) -> Any:
        return as_mean(given, 1) if isinstance(given, Mean) else number_of(given)

    return StateFunction(call, call, None, "model.labels", value, "return a number")


def test_values_are_in_the_order_of_the_states() -> None:
    asked = function(lambda s: {"length": len(s), "up": s == "up", "half": Mean(len(s), over=2)})
    found = evaluate_by_state(asked, TABLE_PLAIN_EVALUATION, None)
    assert {key: mean.of.tolist() for key, mean in found.items()} == {
        "length": [2.0, 4.0, 6.0],
        "up": [1.0, 0.0, 0.0],
        "half": [2.0, 4.0, 6.0],
    }
    assert found["half"].over.tolist() == [2.0, 2.0, 2.0]
    assert evaluate_by_state(asked, TABLE_PLAIN_EVALUATION, [2, 0])["length"].of.tolist() == [6.0, 2.0]


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
        evaluate_by_state(function(call), TABLE_PLAIN_EVALUATION, None)
    assert raised.value.file == __file__


def test_the_same_value_when_called_again() -> None:
    steady = function(lambda s: {"a": len(s), "b": float("nan")})
    refuse_changing_values(steady, TABLE_PLAIN_EVALUATION, evaluate_by_state(steady, TABLE_PLAIN_EVALUATION, None))
    count = itertools.count()
    counting = function(lambda _s: {"a": next(count)})
    with pytest.raises(RuleError, match=r"'up': gives 'a' 0 and, called again, 3 .*; no random"):
        refuse_changing_values(
            counting, TABLE_PLAIN_EVALUATION, evaluate_by_state(counting, TABLE_PLAIN_EVALUATION, None)
        )
    draw = np.random.default_rng(1)
    drawing = function(lambda s: {"a" if draw.random() < 0.9 or s != "up" else "b": 1})
    with pytest.raises(RuleError, match=r"other names"):
        refuse_changing_values(
            drawing, TABLE_PLAIN_EVALUATION, evaluate_by_state(drawing, TABLE_PLAIN_EVALUATION, None)
        )


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
    found = concatenate_means(rows)
    assert found.of.tolist() == [0.0, 1.0, 2.0]
    assert found.over.tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(TypeError, match=r"in some states only"):
        concatenate_means([rows[0], as_mean(1.0, 1)])
    with pytest.raises(TypeError, match=r"in some states only"):
        concatenate_means([as_mean(1.0, 1), as_mean(Mean((1, 2), dims=("queue",)), 1)])


def test_a_ratio_of_zeros_is_not_a_number() -> None:
    assert np.isnan(Mean(np.zeros(2), over=np.zeros(2)).value(np.array([0.5, 0.5])))
