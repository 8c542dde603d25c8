"""Operators of properties: formulas, queries, enclosures."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov.files import csl
from markov.files.enclosures import (
    Estimate,
    Truth,
    calculate,
    compare,
    probability,
    select,
)
from markov.files.language import Literal
from markov.files.properties import Definitions, Evaluation
from markov.files.queries import Interval, parse_property
from markov.time import passage_times
from tests.markov.files.conftest import QUEUE_BESIDE, model_of
from tests.surface import for_each

# Operators on undecided sets: intervals that hold the value of every set that may be meant.


CHAIN = """ctmc
module m
 s : [0..4] init 0;
 [] s=0 -> 1 : (s'=1) + 2 : (s'=2);
 [] s=1 -> 3 : (s'=0) + 0.5 : (s'=3);
 [] s=2 -> 1 : (s'=4);
 [] s=3 -> 2 : (s'=0);
endmodule
rewards "r" true : 1 + s; endrewards
"""


@pytest.mark.parametrize(
    "text",
    [
        "P=? [ F A ]", "P=? [ A U B ]", "P=? [ A U<=0.7 B ]", "P=? [ A U[0.2,0.7] B ]", "P=? [ G<=0.5 A ]",
        "P=? [ A W B ]", "P=? [ A R[0.1,0.4] B ]", "P=? [ X A ]", "P=? [ A ]", "S=? [ A ]",
        'R{"r"}=? [ F A ]',
    ],
)  # fmt: skip
def test_intervals_hold_the_values_of_all_sets_between_the_ends(tmp_path: Any, text: str) -> None:
    """Two states of each set are open: all sixteen choices lie within the interval."""
    model = model_of(tmp_path, CHAIN)
    query = parse_property(text.replace("A", "(s=1)").replace("B", "(s=2)"))
    least = {"(s=1)": np.array([1, 1, 0, 0, 0], bool), "(s=2)": np.array([0, 0, 0, 1, 0], bool)}
    open_ = {"(s=1)": np.array([0, 0, 1, 0, 1], bool), "(s=2)": np.array([1, 0, 0, 0, 1], bool)}

    def values(sets: dict[str, Truth]) -> Any:
        defined = Definitions("property", {}, {})
        made = Evaluation(model.state_space, model.checker(), model.rewards, {}, defined, model.label_values)
        line = iter(sets.values())
        chosen: dict[int, Truth] = {}

        def truth(expression: Any, what: str = "") -> Truth:
            del what
            number = expression.rest[0][1].value  # s=1 or s=2
            return chosen.setdefault(number, sets[f"(s={number})"])

        made.truth = truth  # type: ignore[method-assign]
        del line
        return made.operators.values(query)

    whole = values({name: Truth(least[name], least[name] | open_[name]) for name in least})
    for take in itertools.product((False, True), repeat=4):
        first = least["(s=1)"].copy(), least["(s=2)"].copy()
        first[0][[2, 4]], first[1][[0, 4]] = take[:2], take[2:]
        one = values(dict(zip(least, map(Truth.exactly, first), strict=True)))
        finite = np.isfinite(one.values)
        assert (np.isinf(whole.error) | finite | (whole.values == np.inf)).all()
        apart = np.abs(one.values - whole.values)[finite & np.isfinite(whole.error)]
        room = (whole.error + one.error)[finite & np.isfinite(whole.error)] + 1e-15
        assert (apart <= room).all()
        if one.positive is not None:
            assert (one.positive.surely <= whole.positive.possibly).all()
            assert (whole.positive.surely <= one.positive.surely).all()
            assert (one.partial.surely <= whole.partial.possibly).all()
            assert (whole.partial.surely <= one.partial.surely).all()


# Bounds on time that say nothing are told from those that do.


def test_an_interval_without_ends_says_nothing() -> None:
    assert Interval().is_unbounded
    assert not Interval(low=Literal(0, 1)).is_unbounded
    assert not Interval(high=Literal(0, 1)).is_unbounded


def test_the_same_property_written_twice_is_one_key_of_a_table() -> None:
    one, other = (parse_property("P<0.5 [ n U[1,2] m ]") for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != parse_property("P<=0.5 [ n U[1,2] m ]")


# Three-valued truth and numbers with errors: every combination against all that it may stand for.


FALSE, OPEN, TRUE = (False,), (False, True), (True,)
VALUES = (FALSE, OPEN, TRUE)


def truth(values: Any) -> Truth:
    """Return a set of one state, of which a truth value may be any of those given."""
    return Truth(np.array([all(values)]), np.array([any(values)]))


def stands_for(found: Truth) -> tuple[bool, ...]:
    if found.surely[0]:
        return TRUE
    return OPEN if found.possibly[0] else FALSE


@for_each(list(itertools.product(VALUES, VALUES)))
def test_truth_values_combine_as_all_that_they_may_stand_for(a: Any, b: Any) -> None:
    """Of two unrelated values, Kleene's tables are what remains possible."""
    cases: list[tuple[Any, Any]] = [
        (truth(a) & truth(b), lambda x, y: x and y),
        (truth(a) | truth(b), lambda x, y: x or y),
        (~truth(a) | truth(b), lambda x, y: not x or y),
        (truth(a).same_as(truth(b)), lambda x, y: x == y),
        (select(truth(a), truth(b), ~truth(b)), lambda x, y: y if x else not y),
    ]
    for found, plain in cases:
        possible = {plain(x, y) for x in a for y in b}
        assert set(stands_for(found)) == possible


def known(value: float, error: float) -> Estimate:
    return Estimate(np.array([value]), np.array([error]))


@for_each(["+", "-", "*", "/", "min", "max"])
def test_results_enclose_those_of_the_ends(name: str) -> None:
    plain: Any = {
        "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
        "/": lambda x, y: x / y, "min": min, "max": max,
    }[name]  # fmt: skip
    rng = np.random.default_rng(1)
    for _ in range(200):
        a, b = rng.normal(size=2)
        d, e = abs(a) * rng.random() * 0.3, abs(b) * rng.random() * 0.3
        found = calculate(name, known(a, d), known(b, e))
        assert found is not None
        for x, y in itertools.product((a - d, a, a + d), (b - e, b, b + e)):
            assert abs(plain(x, y) - found.values[0]) <= found.error[0] * (1 + 1e-12)


def test_a_quotient_by_what_may_be_zero_has_no_bound() -> None:
    found = calculate("/", known(1.0, 0.0), known(0.1, 0.2))
    assert found is not None
    assert np.isinf(found.error[0])
    assert calculate("^", known(1.0, 0.0)) is None


@for_each(["<", "<=", ">", ">=", "=", "!="])
def test_comparisons_are_open_within_the_error_only(sign: str) -> None:
    plain: Any = {
        "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y,
        ">=": lambda x, y: x >= y, "=": lambda x, y: x == y, "!=": lambda x, y: x != y,
    }[sign]  # fmt: skip
    for a, b in itertools.product((0.25, 0.5, 0.75), repeat=2):
        assert stands_for(compare(sign, known(a, 0.0), known(b, 0.0))) == (plain(a, b),)
        assert stands_for(compare(sign, known(a, 0.1), known(b, 0.1))) == (OPEN if a == b else (plain(a, b),))


def test_an_infinite_number_without_error_is_compared() -> None:
    assert stands_for(compare(">", known(np.inf, 0.0), known(3.0, 0.0))) == TRUE
    assert stands_for(compare(">", known(np.inf, np.inf), known(3.0, 0.0))) == OPEN


def test_numbers_between_two_others_enclose_both() -> None:
    found = Estimate.between(known(0.25, 1e-3), known(0.5, 1e-2))
    assert found.values[0] - found.error[0] <= 0.249
    assert found.values[0] + found.error[0] >= 0.51
    same = Estimate.between(known(np.inf, 0.0), known(np.inf, 0.0))
    assert same.values[0] == np.inf
    assert same.error[0] == 0.0


def test_the_graph_decides_zero_and_one() -> None:
    marks = np.array([False, True, True]), np.array([True, True, False])
    found = probability(np.array([1e-9, 0.5, 0.99]), np.full(3, 1e-8), *map(Truth.exactly, marks))
    assert found.values.tolist() == [0.0, 0.5, 1.0]
    assert found.error.tolist() == [0.0, 1e-8, 0.0]
    assert found.complement().values.tolist() == [1.0, 0.5, 0.0]


def test_all_states_are_found_where_no_slowest_decay_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(tmp_path, QUEUE_BESIDE, M=19)
    alone = model.property("P=? [ F<=300 x=40 ]")
    monkeypatch.setattr(passage_times, "MAX_POWERS", 10)
    monkeypatch.setattr(csl, "MAX_PRODUCTS", 0.0)
    found = model_of(tmp_path, QUEUE_BESIDE, M=19).property("P=? [ F<=300 x=40 ]")
    assert np.all(found.errors < 1e-9)
    assert abs(found.value - alone.value) <= found.error_bound + alone.error_bound
    assert found.relative_bound > 1e-12 > alone.relative_bound
