"""Properties of JANI are those of the PRISM language."""

from __future__ import annotations

from typing import Any

import pytest

from markov.errors import FileError
from markov.files.parsing.jani_properties import JaniProperties
from markov.files.parsing.property_parsing import parse_property
from markov.files.properties.queries import Filter, Interval, Operator, Path
from markov.files.syntax import Literal, Name


def read(values: Any, fun: str = "values") -> Any:
    given = {"op": "filter", "fun": fun, "values": values, "states": {"op": "initial"}}
    reader = JaniProperties("m.jani", {"r"})
    return reader.read([{"name": "p", "expression": given}]).properties["p"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"op": "Pmax", "exp": {"op": "F", "exp": "n"}}, "P=? [ F n ]"),
        ({"op": "Pmin", "exp": {"op": "U", "left": "n", "right": "m", "time-bounds": {"upper": 2}}},
         "P=? [ n U<=2 m ]"),
        ({"op": "Pmin", "exp": {"op": "G", "exp": "n", "time-bounds": {"lower": 1, "upper": 2}}},
         "P=? [ G[1,2] n ]"),
        ({"op": "≥", "left": {"op": "Pmax", "exp": {"op": "X", "exp": "n"}}, "right": 0.5},
         "P>=0.5 [ X n ]"),
        ({"op": "Smax", "exp": "n"}, "S=? [ n ]"),
    ],
)  # fmt: skip
def test_a_property_is_the_tree_of_the_same_text(values: Any, text: str) -> None:
    assert read(values) == parse_property(text)


def test_rewards_are_earned_in_states_or_on_transitions() -> None:
    r = Name("r", 1)
    time = Interval(Literal(3, 1), Literal(3, 1))
    until = {"op": "Emax", "exp": "r", "reach": "n"}
    at_three = {"op": "Emax", "exp": "r", "time-instant": 3}
    assert read(until) == Operator("R", None, None, Path("F", right=Name("n", 1)), 1, (r, None))
    assert read(at_three).of == Path("I", interval=time)
    both = read({**at_three, "accumulate": ["steps", "time"]})
    assert both.of == Path("C", interval=Interval(high=Literal(3, 1)))
    assert both.reward == (r, "r")
    assert read({**until, "accumulate": ["steps"]}).reward == (None, "r")
    assert read({"op": "Smin", "exp": "r"}) == Operator("SR", None, None, Path("S"), 1, "r")


def test_filters_over_the_initial_states() -> None:
    inner = {"op": "Smin", "exp": "n"}
    assert read(inner, "∀") == Filter("forall", read(inner), None, 1)
    assert read(inner, "max") == read(inner)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"op": "Pmax", "exp": {"op": "Q"}}, "path operator 'Q' is not read"),
        ({"op": "Pmax", "exp": {"op": "F", "exp": "n", "step-bounds": {}}}, "bounds on steps"),
        ({"op": "Emax", "exp": "r", "step-instant": 3}, "instants in steps"),
        (
            {"op": "Emax", "exp": "n", "accumulate": ["exit"]},
            "accumulate ['exit'] of this expression is not read",
        ),
        ("n", "operator None is not read"),
    ],
)
def test_what_is_not_read_says_why_when_it_is_asked_for(values: Any, message: str) -> None:
    found = read(values)
    assert isinstance(found, FileError)
    assert message in str(found)
    assert str(found).startswith("m.jani: properties[0]: ")
