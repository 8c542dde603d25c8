"""Parsers of model and property files: trees, places of errors."""

from __future__ import annotations

import gzip
import json
import math
import re
import warnings
from functools import reduce
from pathlib import Path
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest

from markov import read_jani, read_prism, stationary, transient
from markov.errors import FileError
from markov.files import queries
from markov.files.jani import JaniProperties, JaniReader
from markov.files.language import Chain, Label, Literal, Name
from markov.files.parsing import Construct, Cursor, ExpressionParser, tokenize
from markov.files.prism import GRAMMAR, parse_prism
from markov.files.queries import parse_properties, parse_property
from tests.markov.files.conftest import jani_queue, model_of
from tests.surface import for_each

# Expressions, PRISM and JANI files as trees.


def test_the_same_queue_as_jani(tmp_path: Path, queue: Any) -> None:
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(jani_queue()))
    found = read_jani(path, constants={"N": 10})
    assert (found.chain.Q != queue.chain.Q).nnz == 0


def function(name: str, body: Any, *parameters: str) -> dict[str, Any]:
    """Return a function of a JANI file, of whole numbers."""
    of = [{"name": each, "type": "int"} for each in parameters]
    return {"name": name, "type": "int", "parameters": of, "body": body}


def call(name: str, *arguments: Any) -> dict[str, Any]:
    return {"op": "call", "function": name, "args": list(arguments)}


def test_functions_of_jani_are_their_bodies(tmp_path: Path, queue: Any) -> None:
    """A parameter hides the variable of its name, and arguments are those of the caller."""
    given = jani_queue()
    given["features"] = ["functions"]
    given["functions"] = [function("more", {"op": "+", "left": "n", "right": "step"}, "n", "step")]
    machine = given["automata"][0]
    machine["functions"] = [function("twice", call("more", call("more", "step", "n"), "n"), "n", "step")]
    rise, fall = (edge["destinations"][0]["assignments"][0] for edge in machine["edges"])
    rise["value"] = call("more", 1, "n")
    fall["value"] = call("twice", -1, {"op": "+", "left": "n", "right": 1})  # (n + 1) - 1 - 1
    given["properties"][0]["expression"]["values"]["exp"] = {
        "op": "=", "left": call("more", "n", 0), "right": "N",
    }  # fmt: skip
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(given))
    found = read_jani(path, constants={"N": 10})
    assert (found.chain.Q != queue.chain.Q).nnz == 0
    assert found.property("full").value == queue.property("S=? [ n=10 ]").value


@pytest.mark.parametrize(
    ("functions", "rate", "message"),
    [
        ([], call("f"), r"edges\[0\].rate: function 'f' is not defined"),
        ([function("f", "x", "x")], call("f"), r"'f' with 0 arguments: takes 1 argument \(x\)"),
        ([function("f", call("g")), function("g", call("f"))], call("f"),
         "f -> g -> f: functions in a circle"),
        ([function("f", 1), function("f", 2)], 1, r"functions\[1\]: function 'f'.* defined twice"),
        ([function("f", 1, "x", "x")], 1, "a parameter is defined twice"),
        ([{**function("f", 1), "type": "clock"}], 1, "type 'clock': must be int, real or bool"),
        ([{"name": "f", "type": "int", "parameters": []}], 1, "'body' is missing"),
        ([function("f", {"op": "+", "left": "x", "right": "x"}, "x")],
         reduce(lambda inner, _: call("f", inner), range(30), "n"),
         "'f': more than 100,000 nodes with all calls"),
    ],
    ids=["undefined", "arguments", "circle", "twice", "parameters", "type", "body", "size"],
)  # fmt: skip
def test_functions_of_jani_that_cannot_be_used_are_refused(
    tmp_path: Path, functions: Any, rate: Any, message: str
) -> None:
    given = jani_queue()
    given["functions"] = functions
    given["automata"][0]["edges"][0]["rate"]["exp"] = rate
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(given))
    with pytest.raises(FileError, match=rf"^queue\.jani: .*{message}"):
        read_jani(path, constants={"N": 10})


# The words of the PRISM language, and files as text.


def test_text_is_cut_into_the_longest_words(tmp_path: Path) -> None:
    text = """ctmc // größe
const double two=2.;
module m x1:[0..2]init 0;
[]x1<2->1.5e-3+.5:(x1'=x1+1);[]x1=2<=>true->two:(x1'=0);endmodule"""
    Q = model_of(tmp_path, text).chain.Q.toarray()
    assert Q[0].tolist() == [-0.5015, 0.5015, 0.0]
    assert Q[2].tolist() == [2.0, 0.0, -2.0]


# Properties of the PRISM language as trees.


N, M = Name("n", 1), Name("m", 1)


def number(value: Any) -> Literal:
    return Literal(value, 1)


@for_each([
    ("P=? [ F n ]", queries.Operator("P", None, None, queries.Path("F", right=N), 1)),
    ("P>0.5 [ X n ]", queries.Operator("P", ">", number(0.5), queries.Path("X", right=N), 1, written="0.5")),
    ("P=? [ n U<=2 m ]", queries.Operator("P", None, None, queries.Path("U", N, M, queries.Interval(high=number(2))), 1)),
    ("P=? [ G>=2 m ]", queries.Operator("P", None, None, queries.Path("G", None, M, queries.Interval(number(2))), 1)),
    ("P=? [ F[1,2] m ]",
     queries.Operator("P", None, None, queries.Path("F", None, M, queries.Interval(number(1), number(2))), 1)),
    ("P=? [ (n W m) ]", queries.Operator("P", None, None, queries.Path("W", N, M), 1)),
    ("P=? [ (n) U m ]", queries.Operator("P", None, None, queries.Path("U", N, M), 1)),
    ("S=? [ n ]", queries.Operator("S", None, None, N, 1)),
    ('R{"r"}=? [ C<=3 ]', queries.Operator("R", None, None, queries.Path("C", interval=queries.Interval(high=number(3))), 1, "r")),
    ("R{2}=? [ I=3 ]",
     queries.Operator("R", None, None, queries.Path("I", interval=queries.Interval(number(3), number(3))), 1, 2)),
    ("R=? [ S ]", queries.Operator("R", None, None, queries.Path("S"), 1)),
    ('R=? [ F "a" ]', queries.Operator("R", None, None, queries.Path("F", right=Label("a", 1)), 1)),
    ("P=? [ F n {m}{max} ]", queries.Operator("P", None, None, queries.Path("F", right=N), 1, None, M, ("max",))),
    ("filter(&, n, m)", queries.Filter("forall", N, M, 1)),
    ("filter(avg, n);", queries.Filter("avg", N, None, 1)),
    ("n & P=? [ F m ]",
     Chain(N, (("&", queries.Operator("P", None, None, queries.Path("F", right=M), 1)),), 1)),
])  # fmt: skip
def test_a_property_is_read_as_its_tree(text: str, expected: Any) -> None:
    assert parse_property(text) == expected


def test_one_wrong_property_of_a_file_leaves_the_others(tmp_path: File) -> None:
    path = tmp_path / "m.props"
    path.write_text(
        'const double T = 2;\nconst K;\nlabel "late" = n > 1;\n'
        '"a": P=? [ F n ];\nP=? [ F G n ];\n"c": S=? [ m ]\nP=? [ X n ]\n'
    )
    found = parse_properties(path)
    assert {name: (c.kind, c.value) for name, c in found.constants.items()} == {
        "T": ("double", Literal(2, 1)),
        "K": ("int", None),
    }
    assert list(found.labels) == ["late"]
    assert list(found.properties) == ["a", "#2", "c", "#4"]
    assert found.texts == {"#2": "P=? [ F G n ]", "#4": "P=? [ X n ]"}
    assert found.lines == {"a": 4, "#2": 5, "c": 6, "#4": 7}
    assert isinstance(found.properties["#2"], FileError)
    assert found.properties["c"] == queries.Operator("S", None, None, Name("m", 6), 6)
    path.write_text('"a": S=? [ n ];\n"a": S=? [ m ];')
    with pytest.raises(FileError, match='line 2: property "a" is defined twice'):
        parse_properties(path)


# Expressions of JANI are those of the PRISM language.


def op(sign: str, left: Any, right: Any) -> dict[str, Any]:
    return {"op": sign, "left": left, "right": right}


@for_each([
    (True, "true"), (2, "2"), (0.5, "0.5"), ("x", "x"),
    (op("≤", "x", op("*", 2, "y")), "x <= 2 * y"),
    (op("-", op("-", 5, 3), 1), "5 - 3 - 1"),
    (op("-", 5, op("-", 3, 1)), "5 - (3 - 1)"),
    (op("∧", "a", op("∧", "b", "c")), "a & b & c"),
    (op("∨", op("∨", "a", "b"), "c"), "a | b | c"),
    (op("⇒", "a", op("≠", "x", 1)), "a => x != 1"),
    (op("⇒", op("⇒", "a", "b"), "c"), "(a => b) => c"),
    ({"op": "¬", "exp": "a"}, "!a"),
    ({"op": "ite", "if": "a", "then": 1, "else": 2}, "a ? 1 : 2"),
    (op("%", "x", 3), "mod(x, 3)"),
    (op("min", "x", "y"), "min(x, y)"),
    ({"op": "floor", "exp": "x"}, "floor(x)"),
])  # fmt: skip
def test_an_expression_is_the_tree_of_the_same_text(value: Any, text: str) -> None:
    expected = ExpressionParser(Cursor(tokenize(text, "m"), "m")).expression()
    assert JaniReader("m.jani").expression(value, "guard") == expected


def test_constants_of_mathematics_have_names() -> None:
    reader = JaniReader("m.jani")
    assert reader.expression({"constant": "π"}, "rate") == Literal(math.pi, 1)
    with pytest.raises(FileError, match="constant 'i': must be e or π"):
        reader.expression({"constant": "i"}, "rate")


def test_nesting_has_an_end() -> None:
    value: Any = "x"
    for _ in range(200):
        value = {"op": "¬", "exp": value}
    with pytest.raises(FileError, match="nested more than 150 deep"):
        JaniReader("m.jani").expression(value, "guard")


def test_an_entry_must_be_there_and_of_its_type() -> None:
    reader = JaniReader("m.jani")
    assert reader.entry({"name": "q"}, "name", "automata[0]", str) == "q"
    for value in ({}, {"name": 3}, "name"):
        with pytest.raises(FileError, match=r"automata\[0\]: 'name' is missing or of a wrong type"):
            reader.entry(value, "name", "automata[0]", str)


# Properties of JANI are those of the PRISM language.


def read(values: Any, fun: str = "values") -> Any:
    given = {"op": "filter", "fun": fun, "values": values, "states": {"op": "initial"}}
    reader = JaniProperties("m.jani", {"r": "double"}, {"r"})
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
    time = queries.Interval(Literal(3, 1), Literal(3, 1))
    until = {"op": "Emax", "exp": "r", "reach": "n", "accumulate": ["time"]}
    at_three = {"op": "Emax", "exp": "r", "time-instant": 3}
    earned = queries.Accumulated
    assert read(until) == queries.Operator("R", None, None, queries.Path("F", right=Name("n", 1)), 1, earned(r))
    assert read(at_three).of == queries.Path("I", interval=time)
    both = read({**at_three, "accumulate": ["steps", "time"]})
    assert both.of == queries.Path("C", interval=queries.Interval(high=Literal(3, 1)))
    assert both.reward == earned(r, "r")
    assert read({**until, "accumulate": ["steps"]}).reward == earned(None, "r")
    assert read({**until, "accumulate": ["exit"]}).reward == earned(leaving=r)
    long_run = queries.Operator("SR", None, None, queries.Path("S"), 1, earned(r, "r"))
    assert read({"op": "Smin", "exp": "r"}) == long_run
    assert read({"op": "Smin", "exp": "r", "accumulate": ["time"]}).reward == earned(r)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"op": "Emin", "exp": "r", "reach": "n"}, "'accumulate' is missing: a value at the moment of 'reach'"),
        ({"op": "Emin", "exp": "r"}, "'accumulate' is missing"),
        ({"op": "Emin", "reach": "n", "accumulate": ["time"]}, "'Emin' without 'exp'"),
        ({"op": "Emin", "exp": "r", "reach": "n", "accumulate": []}, r"accumulate \[\]: must be a list of"),
        ({"op": "Smin", "exp": "r", "accumulate": []}, r"accumulate \[\]: must be a list of"),
        ({"op": "Smin", "exp": "r", "accumulate": ["time", "time"]}, "an entry stands there twice"),
        ({"op": "Emin", "exp": "r", "reach": "n", "time-instant": 3, "accumulate": ["time"]}, "must be one of them"),
        ({"op": "Pmin", "exp": {"op": "F", "exp": "n", "time-bounds": {}}}, "time-bounds without 'lower' and 'upper'"),
    ],
)
def test_what_a_property_leaves_out_is_not_made_up(values: Any, message: str) -> None:
    """An expected value without accumulation is that at the moment of reaching, not one over the time until then."""
    with pytest.raises(FileError, match=message):
        raise read(values)  # an error of one property is raised where it is asked for


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"op": "Pmin", "exp": {"op": "F", "exp": "n", "left": "m"}}, "'F' with 'left': takes exp, time-bounds"),
        ({"op": "Pmin", "exp": {"op": "U", "left": "n", "right": "m", "exp": "m"}}, "'U' with 'exp': takes left, right"),
        ({"op": "Pmin", "exp": {"op": "F", "exp": "n"}, "accumulate": ["time"]}, "'Pmin' with 'accumulate': takes exp"),
        ({"op": "≥", "left": {"op": "Smin", "exp": "n"}, "right": 0.5, "exp": "m"}, "'≥' with 'exp': takes left, right"),
        ({"op": "Smin", "exp": "n", "left": "m"}, "'Smin' with 'left': takes exp, accumulate"),
        ({"op": "Smin", "exp": {"op": "¬", "exp": "n", "left": "m"}}, "'¬' with 'left': takes exp"),
        ({"op": "Smin", "exp": {"op": "∧", "left": "n", "right": "m", "exp": "n"}}, "'∧' with 'exp': takes left, right"),
        ({"op": "Smin", "exp": {"op": "∧", "left": {"op": "∧", "left": "n", "right": "m", "args": []}, "right": "m"}},
         "'∧' with 'args': takes left, right"),
        ({"op": "Smin", "exp": {"op": "∧", "left": {"op": "∧", "left": "n", "right": "m", "unheard": 1}, "right": "m"}},
         "expression: 'unheard' is not read"),
        ({"op": "Smin", "exp": {"op": "ite", "if": "n", "then": "m", "else": "n", "exp": "m"}}, "'ite' with 'exp'"),
    ],
)  # fmt: skip
def test_keys_that_an_operator_does_not_use_are_refused(values: Any, message: str) -> None:
    """They are known keys of other operators, and were ignored."""
    found = read(values)
    assert isinstance(found, FileError)
    assert message in str(found)


def test_a_key_beside_the_initial_states_of_a_filter_is_refused() -> None:
    given = {
        "op": "filter",
        "fun": "max",
        "values": {"op": "Smin", "exp": "n"},
        "states": {"op": "initial", "exp": "n"},
    }
    (found,) = JaniProperties("m.jani", {}, set()).read([{"name": "p", "expression": given}]).properties.values()
    assert isinstance(found, FileError)
    assert "initial: 'exp' is not read" in str(found)


def test_filters_over_the_initial_states() -> None:
    inner = {"op": "Smin", "exp": "n"}
    assert read(inner, "∀") == queries.Filter("forall", read(inner), queries.InitialStates(), 1)
    assert read(inner, "max") == read(inner)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"op": "Pmax", "exp": {"op": "Q"}}, "path operator 'Q' is not read"),
        ({"op": "Pmax", "exp": {"op": "F", "exp": "n", "step-bounds": {}}}, "bounds on steps"),
        ({"op": "Emax", "exp": "r", "step-instant": 3}, "instants in steps"),
        ({"op": "Emax", "exp": "n", "accumulate": ["exits"]}, "accumulate ['exits']: must be a list of steps, time and exit"),
        ({"op": "Emax", "exp": True, "accumulate": ["time"]}, "a truth value is accumulated: must be a number"),
        ({"op": "Smax", "exp": "n", "accumulate": ["time"]}, "of a truth value: 'accumulate' is not read"),
        ("n", "operator None is not read"),
    ],
)  # fmt: skip
def test_what_is_not_read_says_why_when_it_is_asked_for(values: Any, message: str) -> None:
    found = read(values)
    assert isinstance(found, FileError)
    assert message in str(found)
    assert str(found).startswith("m.jani: properties[0]: ")


# Each construct of the PRISM language is read, or refused by name.

MODULES = """ctmc
module A x : [0..1]; [a] x=0 -> 1:(x'=1); [] x=1 -> 1:(x'=0); endmodule
module B y : [0..1]; [a] y=0 -> 2:(y'=1); [] y=1 -> 1:(y'=0); endmodule
"""


@pytest.mark.parametrize("construct", GRAMMAR, ids=lambda construct: construct.name)
def test_each_construct_of_the_prism_language(tmp_path: Path, construct: Construct) -> None:
    path, text, query = tmp_path / "m.prism", construct.example, "S=? [ x=1 ]"
    if construct.part == "property":
        query, text = text, 'rewards "r" true : 1; endrewards rewards "s" true : 1; endrewards'
    elif construct.part == "expression":
        text = f"formula f = {text};"
        query = "S=? [ f = f ]"
    path.write_text(MODULES + text)
    if construct.refused:
        with pytest.raises(FileError, match=re.escape(construct.refused)):
            read_prism(path).property(query)
    else:
        assert read_prism(path).property(query).value is not None


@pytest.mark.parametrize(("text", "message"), [
    ('rewards "r" [A] true : 1; endrewards', "m.prism, line 4: rewards of action [A], which no command has, are 0; the actions are a"),
    ("module C = A [x = z, a = c] endmodule rewards [d] true : 1; endrewards", "rewards of action [d], which no command has, are 0; the actions are a, c"),
])  # fmt: skip
def test_rewards_of_an_action_that_no_command_has_are_warned_of(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.prism"
    path.write_text(MODULES + text)
    with pytest.warns(UserWarning, match=re.escape(message)) as warned:
        model = read_prism(path)
    assert warned[0].filename == __file__
    assert model.property("R=? [ S ]").value == 0.0


def test_a_renamed_name_that_the_file_does_not_have_is_warned_of(tmp_path: Path) -> None:
    """Such as a misspelt constant; names of a copy of a copy are those of the copy."""
    path = tmp_path / "m.prism"
    path.write_text(f"{MODULES}const double q = 2; module C = A [x = z, a = c, r = q] endmodule")
    with pytest.warns(UserWarning, match=re.escape("'r' is renamed, but the file has no such name")) as warned:
        read_prism(path)
    assert warned[0].filename == __file__
    path.write_text(f"{MODULES}module C = A [x = z, a = c] endmodule module D = C [z = w, c = a] endmodule")
    assert read_prism(path).property("S=? [ w = 0 ]").value > 0.0


def test_rewards_of_renamed_actions_are_read(tmp_path: Path) -> None:
    """A and B move together at rate 2, as [c]."""
    path = tmp_path / "m.prism"
    path.write_text(f"{MODULES}system (A || B) {{a <- c}} endsystem rewards [c] true : 1; endrewards")
    both = stationary(read_prism(path))
    zero = (both.states.x == 0) & (both.states.y == 0)
    assert both["reward 1"] == pytest.approx(2.0 * both.pi[zero].sum(), rel=1e-12)


@pytest.mark.parametrize(("named", "plain"), [
    ('system "S" ||| "T" endsystem system "T" A endsystem system "S" B endsystem', "B ||| A"),
    ('system "S" || "T" endsystem system "T" A endsystem system "S" B endsystem', "A || B"),
    ('system "T" "S" endsystem system "S" A || B endsystem', "A || B"),
    ('system "S" B endsystem system "S" || A endsystem', "A || B"),
    ('system "S" / {a} || B endsystem system "S" A endsystem', "(A / {a}) || B"),
    ('system "S" endsystem system "S" A |[a]| "T" endsystem system "T" B endsystem', "A || B"),
])  # fmt: skip
def test_named_systems_are_those_that_they_name(tmp_path: Path, named: str, plain: str) -> None:
    path, chains = tmp_path / "m.prism", []
    for systems in (named, f"system {plain} endsystem"):
        path.write_text(MODULES + systems)
        chains.append(read_prism(path).chain)
    np.testing.assert_array_equal(chains[0].Q.toarray(), chains[1].Q.toarray())


def test_systems_on_given_actions_bind_more_tightly_than_others(tmp_path: Path) -> None:
    """A and B move together by ``a``, and C by itself; if ||| had come first, C would wait for ``a``."""
    path = tmp_path / "m.prism"
    third = "module C z : [0..1]; [a] z=0 -> 5:(z'=1); [] z=1 -> 1:(z'=0); endmodule\n"
    chains = []
    for systems in ("C ||| A |[a]| B", "C ||| (A |[a]| B)", "(C ||| A) |[a]| B"):
        path.write_text(f"{MODULES}{third}system {systems} endsystem")
        chains.append(read_prism(path).chain.Q.toarray())
    np.testing.assert_array_equal(chains[0], chains[1])
    assert not np.array_equal(chains[0], chains[2])


@pytest.mark.parametrize(("systems", "message"), [
    ('system "S" || A endsystem system "S" "T" || B endsystem system "T" "S" endsystem', "S -> T -> S: named systems in a circle"),
    ('system "S" || A endsystem', 'line 4: named system "S" is not defined'),
    ('system "S" A endsystem system "S" B endsystem', "a second system 'S'"),
    ("system A endsystem system B endsystem", "a second system without a name"),
    ('system "S" || A endsystem system "S" A endsystem', "system: module 'A' occurs twice"),
    ('system "S" endsystem system "S" A endsystem', "system: module 'B' does not occur"),
])  # fmt: skip
def test_named_systems_that_cannot_be_used_are_refused(tmp_path: Path, systems: str, message: str) -> None:
    path = tmp_path / "m.prism"
    path.write_text(MODULES + systems)
    with pytest.raises(FileError, match=re.escape(message)):
        read_prism(path).chain  # noqa: B018


# Transient variables: in a transition they have their initial value, or the one that an edge assigns.


def transient_model(
    query: Any,
    *,
    initial: Any = 1,
    kind: str = "real",
    up: Any = None,
    both: Any = None,
    upper: int | None = 2,
    **more: Any,
) -> dict[str, Any]:
    """Return n from 0 to 2, up at rate 2, down at rate 1, in JANI; ``up`` and ``both`` are assigned to r by edges.

    A second automaton synchronises with the edge up, and assigns ``both``.
    """

    def edge(rate: Any, guard: Any, action: str | None, assigned: list[Any]) -> dict[str, Any]:
        named = {} if action is None else {"action": action}
        return {"location": "l", "rate": {"exp": rate}, "guard": {"exp": guard},
                "destinations": [{"location": "l", "assignments": assigned}], **named}  # fmt: skip

    def step(sign: str) -> dict[str, Any]:
        return {"ref": "n", "value": {"op": sign, "left": "n", "right": 1}}

    def assigned(value: Any) -> list[Any]:
        return [] if value is None else [{"ref": "r", "value": value}]

    n = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": upper} if upper else "int"
    edges = [
        edge(2, {"op": "<", "left": "n", "right": 2}, "up", [step("+"), *assigned(up)]),
        edge(1, {"op": ">", "left": "n", "right": 0}, None, [step("-")]),
    ]
    location = {"name": "l", "transient-values": more.pop("in_states", [])}
    one: dict[str, Any] = {"name": "a", "locations": [location], "initial-locations": ["l"], "edges": edges}
    other = {
        "name": "b",
        "locations": [{"name": "l"}],
        "initial-locations": ["l"],
        "edges": [edge(1, True, "up", assigned(both))],
    }
    expression = {"op": "filter", "fun": "values", "values": query, "states": {"op": "initial"}}
    return {
        "jani-version": 1, "name": "three", "type": "ctmc", "actions": [{"name": "up"}],
        "variables": [{"name": "n", "type": n, "initial-value": 0},
                      {"name": "r", "type": kind, "transient": True, "initial-value": initial}],
        "properties": [{"name": "p", "expression": expression}], "automata": [one, other],
        "system": {"elements": [{"automaton": "a"}, {"automaton": "b"}], "syncs": [{"synchronise": ["up", "up"], "result": "up"}]}, **more,
    }  # fmt: skip


# From n = 0 until n = 2: 2.5 steps up, 0.5 down, 1.25 s. In the long run n has the weights 1, 2, 4 of 7.
UNTIL = {"op": "Emin", "reach": {"op": "=", "left": "n", "right": 2}}
LONG_RUN = {"op": "Smin"}
THREE_OR_ONE = {"op": "ite", "if": "r", "then": 3, "else": 1}


@pytest.mark.parametrize(("query", "options", "expected"), [
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {}, 3.0),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"initial": 0}, 0.0),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"up": 5}, 2.5 * 5 + 0.5),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"up": 0.1}, 2.5 * 0.1 + 0.5),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"both": 5}, 2.5 * 5 + 0.5),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"up": 5, "both": 5}, 2.5 * 5 + 0.5),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"up": 5, "initial": -2}, 2.5 * 5 - 1.0),
    # the values of an edge are those before it: n is 0 at 1.5 of the steps up, and 1 at the last one
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"up": "n"}, 1.5 * 0 + 1.0 + 0.5),
    (UNTIL | {"exp": "r", "accumulate": ["steps", "time"]}, {}, 4.25),
    (UNTIL | {"exp": "r", "accumulate": ["time"]}, {"up": 5}, 1.25),
    (UNTIL | {"exp": "r", "accumulate": ["steps"]}, {"in_states": [{"ref": "r", "value": 9}]}, 3.0),
    (UNTIL | {"exp": "r", "accumulate": ["exit"]}, {"up": 5}, 3.0),
    (UNTIL | {"exp": "r", "accumulate": ["exit"]}, {"in_states": [{"ref": "r", "value": 9}]}, 27.0),
    (UNTIL | {"exp": 1, "accumulate": ["steps"]}, {}, 3.0),
    # after all assignments n is 1 at 1.5 of the steps up, 2 at the last one and 0 at those down
    (UNTIL | {"exp": {"op": "*", "left": "r", "right": "n"}, "accumulate": ["steps"]}, {"up": 5}, 5 * 1.5 + 5 * 2),
    (UNTIL | {"exp": THREE_OR_ONE, "accumulate": ["steps"]}, {"kind": "bool", "initial": False, "up": True}, 2.5 * 3 + 0.5),
    (UNTIL | {"exp": THREE_OR_ONE, "accumulate": ["steps"]}, {"kind": "bool", "initial": True, "up": False}, 2.5 + 0.5 * 3),
    (LONG_RUN | {"exp": "r"}, {}, 1.0 + 12.0 / 7.0),
    (LONG_RUN | {"exp": "r", "accumulate": ["steps"]}, {"up": 5}, (6.0 * 5 + 6.0) / 7.0),
    (LONG_RUN | {"exp": "r", "accumulate": ["exit"]}, {"up": 5}, 12.0 / 7.0),
    (LONG_RUN | {"exp": {"op": "*", "left": 2, "right": "r"}, "accumulate": ["time"]}, {"initial": 3}, 6.0),
    (LONG_RUN | {"exp": "r"}, {"kind": "bool", "initial": False,
                               "in_states": [{"ref": "r", "value": {"op": "=", "left": "n", "right": 2}}]}, 4.0 / 7.0),
    ({"op": "Emin", "exp": "r", "accumulate": ["steps"], "time-instant": 1e-6}, {"up": 5}, 1e-5),
])  # fmt: skip
@pytest.mark.parametrize("upper", [2, None])
def test_a_transient_variable_in_all_accumulations(
    tmp_path: Path, query: Any, options: dict[str, Any], expected: float, upper: int | None
) -> None:
    """By hand, from the numbers above; without an upper bound the states are searched one by one."""
    path = tmp_path / "m.jani"
    path.write_text(json.dumps(transient_model(query, upper=upper, **options)))
    assert read_jani(path).property("p").value == pytest.approx(
        expected, rel=1e-5 if "time-instant" in query else 1e-12
    )


@pytest.mark.parametrize(("options", "message"), [
    ({"up": 5, "both": 4}, "transient variable in a transition .*: edges must assign it one finite value"),
    ({"up": {"op": "/", "left": 0, "right": "n"}}, "edges must assign it one finite value"),
    ({"kind": "int", "up": 0.5}, "'r' = a double: must be int"),
    ({"initial": "n"}, "initial value of 'r': must be a constant of type double, and finite"),
    ({"kind": "int", "initial": 0.5}, "initial value of 'r': must be a constant of type int"),
])  # fmt: skip
def test_a_transient_variable_without_one_value_is_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "m.jani"
    path.write_text(json.dumps(transient_model(UNTIL | {"exp": "r", "accumulate": ["steps"]}, **options)))
    with pytest.raises(FileError, match=message):
        read_jani(path).property("p")


@pytest.mark.parametrize(("syncs", "messages"), [
    (None, ["no entry has the action 'up' of automaton 'a': its edges never happen",
            "no entry has the action 'up' of automaton 'b': its edges never happen"]),
    ([{"synchronise": ["up", None], "result": "up"}],
     ["no entry has the action 'up' of automaton 'b': its edges never happen"]),
    ([{"synchronise": ["up", "up"]}, {"synchronise": ["up", "down"]}],
     ["automaton 'b' has no edge with the action 'down': its entries never happen"]),
    ([{"synchronise": ["up", "up"]}], []),
])  # fmt: skip
def test_actions_of_jani_that_never_happen_are_named(tmp_path: Path, syncs: Any, messages: list[str]) -> None:
    """Without syncs no edge with an action happens, of a single automaton either: the chain stood still."""
    contents = transient_model(LONG_RUN | {"exp": "n"}, upper=2)
    contents["actions"].append({"name": "down"})
    contents["system"].pop("syncs")
    contents["system"] |= {} if syncs is None else {"syncs": syncs}
    path = tmp_path / "m.jani"
    path.write_text(json.dumps(contents))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_jani(path)
    assert [str(warning.message) for warning in caught] == [f"m.jani: system.syncs: {text}" for text in messages]


AT_LEAST_ONE = {"op": "≥", "left": UNTIL | {"exp": 1, "accumulate": ["time"]}, "right": 1}
LESS_THAN_ONE = {"op": "<", "left": UNTIL | {"exp": 1, "accumulate": ["time"]}, "right": 1}


@pytest.mark.parametrize(("fun", "query", "expected"), [
    *((fun, UNTIL | {"exp": 1, "accumulate": ["time"]}, 1.25) for fun in ("values", "min", "max", "sum", "avg")),
    *((fun, UNTIL | {"exp": 1, "accumulate": ["time"]}, [0]) for fun in ("argmin", "argmax")),
    ("∀", AT_LEAST_ONE, True), ("∃", LESS_THAN_ONE, False), ("count", AT_LEAST_ONE, 1), ("count", LESS_THAN_ONE, 0),
])  # fmt: skip
def test_filters_of_jani_are_over_the_initial_states(tmp_path: Path, fun: str, query: Any, expected: Any) -> None:
    """From n = 0, 1, 2 the mean times until n = 2 are 1.25, 0.75 and 0 s; a variable called init changes nothing."""
    path = tmp_path / "m.jani"
    model = transient_model(query)
    model["properties"][0]["expression"]["fun"] = fun
    model["variables"].append({"name": "init", "type": "bool", "transient": True, "initial-value": False})
    path.write_text(json.dumps(model))
    value = read_jani(path).property("p").value
    assert value == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)


def test_two_values_of_a_transient_variable_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.jani"
    model = transient_model(UNTIL | {"exp": "r"}, in_states=[{"ref": "r", "value": 1}])
    model["automata"][1]["locations"][0]["transient-values"] = [{"ref": "r", "value": 2}]
    for change, message in (
        (model, "r: a value in several automata: not read"),
        (transient_model(UNTIL, in_states=[{"ref": "r", "value": 1}] * 2), "r: two values in one location"),
    ):
        path.write_text(json.dumps(change))
        with pytest.raises(FileError, match=message):
            read_jani(path)


@pytest.mark.parametrize(
    ("storm", "prism"),
    [
        ("LRA=? [ n ]", "S=? [ n ]"),
        ("LRA>0.5 [ n && m ]", "S>0.5 [ n & m ]"),
        ('R{"queue"}=? [ LRA ]', 'R{"queue"}=? [ S ]'),
        ("P=? [ n || m U m ]", "P=? [ n | m U m ]"),
    ],
)
def test_words_of_storm_are_those_of_prism(storm: str, prism: str) -> None:
    assert parse_property(storm) == parse_property(prism)


def test_a_constant_called_t_is_no_operator() -> None:
    assert parse_property("S=? [ T=2 ]") == parse_property("S=? [ (T=2) ]")
    assert parse_property("T=? [ F n ]").reward == queries.Accumulated(Literal(1, 1))
    with pytest.raises(FileError, match="expected"):
        parse_property("S=? [ n & & m ]")


def test_a_rate_missing_in_a_sum_is_warned_of(tmp_path: File) -> None:
    path = tmp_path / "m.sm"
    path.write_text("ctmc module m\nx:[0..2];\n[] x=0 -> 3:(x'=1) + (x'=2);\nendmodule")
    with pytest.warns(UserWarning, match="m.sm, line 3: an update without a rate"):
        parse_prism(path)
    path.write_text("ctmc module m\nx:[0..2];\n[] x=0 -> (x'=1) + (x'=2);\nendmodule")
    parse_prism(path)


@pytest.mark.parametrize("read", [read_prism, read_jani])
def test_a_file_that_gzip_has_compressed_is_named(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "m.prism.gz"
    path.write_bytes(gzip.compress(b"ctmc"))
    with pytest.raises(FileError, match="not UTF-8 text; it is compressed with gzip, and must be unpacked before"):
        read(path)


def test_keys_that_are_unknown_or_doubled_and_undeclared_actions_are_named(tmp_path: File) -> None:
    path, queue = tmp_path / "m.jani", jani_queue()
    text = json.dumps(queue)
    for old, new, said in (
        ('"name": "N"', '"name": "N", "unheard": 1', "constants.0.: constant: 'unheard' is not read"),
        ('"guard"', '"gaurd"', "edge: 'gaurd' is not read"),
        ('"destinations"', '"action": "go", "destinations"', "action 'go' is not declared"),
        ('"type": "ctmc"', '"type": "ctmc", "type": "ctmc"', "the key 'type' stands twice"),
        ('"op": "<"', '"op": "<", "unheard": 1', "expression: 'unheard' is not read"),
        ('"type": "ctmc"', '"type": "ctmc", "restrict_initial": {"exp": true}', "'restrict_initial' is not read"),
        ('"type": "ctmc"', '"type": "ctmc", "features": [[]]', "features: .*not read"),
        ('"jani-version": 1', '"jani-version": 2', "jani-version: 2: must be 1"),
        ('"destinations": [{', '"destinations": [{"probability": {"exp": 0.5}, ', "destinations: probabilities sum to 0.5: must be 1"),
        ('"elements"', '"unheard": 1, "elements"', "system: 'unheard' is not read"),
        ('"initial-value": 0', '"comment": "any"', "initial-value of 'n' is missing: several initial states are not read"),
        ('"elements": [', '"elements": [{"automaton": "queue"}, ', "automaton 'queue' stands there twice: must be copies"),
    ):  # fmt: skip
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(FileError, match=said):
            read_jani(path)
    path.write_text(json.dumps(queue | {"variables": 3}))
    with pytest.raises(FileError, match="'variables' is of a wrong type"):
        read_jani(path)


def test_a_negative_rate_is_refused_whatever_the_sign_of_its_probability(tmp_path: File) -> None:
    """The product of two negative numbers is no rate."""
    path, queue = tmp_path / "m.jani", jani_queue()
    queue["constants"].append({"name": "p", "type": "real", "value": -1})
    edge = queue["automata"][0]["edges"][0]
    (destination,) = edge["destinations"]
    for rate, probability, message in (
        (-2, "p", "rate -2 in state"),
        ({"op": "-", "left": "n", "right": 2}, "p", "rate -2 in state"),
        (2, "p", "rate -2 in state"),
        (-2, {"op": "*", "left": "p", "right": "p"}, "rate -2 in state"),
    ):
        edge["rate"], destination["probability"] = {"exp": rate}, {"exp": probability}
        path.write_text(json.dumps(queue))
        with pytest.raises(FileError, match=message):
            read_jani(path, constants={"N": 3}).chain  # noqa: B018
    edge["rate"], destination["probability"] = {"exp": "p"}, {"exp": "p"}
    path.write_text(json.dumps(queue))
    chain = read_jani(path, constants={"N": 3, "p": 1.0}).chain
    assert chain.Q[0, 1] == 1.0


# JANI files as Storm writes them and those of its tests (moves-rwth/storm, resources/examples/testfiles, GPL-3.0): their keys, in
# their order, and the results of src/test; the text is written here.


def of_storm(rates: dict[tuple[str, str, float], dict[str, float]], start: str) -> dict[str, Any]:
    """Return a model of locations only: edges by their location and rate, to locations with probabilities."""
    places = {place for source, _, _ in rates for place in (source,)} | {to for row in rates.values() for to in row}  # fmt: skip
    edges = [
        {"destinations": [{"location": to, "probability": {"exp": p}} for to, p in row.items()],
         "guard": {"exp": True}, "location": source, "rate": {"exp": rate}}
        for (source, _, rate), row in rates.items()
    ]  # fmt: skip
    bounded = {"base": "int", "kind": "bounded", "lower-bound": 0, "upper-bound": 1}
    return {
        "actions": [],
        "automata": [{"edges": edges, "initial-locations": [start], "locations": [{"name": place} for place in sorted(places)], "name": "element_name"}],
        "features": ["derived-operators", "functions", "state-exit-rewards"],
        "jani-version": 1, "name": "steadystatedistrtest", "system": {"elements": [{"automaton": "element_name"}]}, "type": "ctmc",
        "variables": [{"initial-value": 0, "name": "x", "transient": False, "type": bounded}],
    }  # fmt: skip


SEVERAL_ENDS = of_storm(
    {
        ("scc1-1", "a", 3): {"scc1-2": 1}, ("scc1-2", "a", 1): {"scc1-1": 0.5, "l-2": 0.5}, ("scc1-1", "b", 1): {"bscc1": 0.5, "bscc3-1": 0.5},
        ("l-2", "a", 2): {"bscc2": 0.3, "l-2": 0.7}, ("bscc2", "a", 4): {"bscc2": 1}, ("bscc3-3", "a", 1): {"bscc3-1": 1},
        ("bscc3-2", "a", 2): {"bscc3-3": 1}, ("bscc3-1", "a", 4): {"bscc3-2": 1},
    },
    "scc1-1",
)  # fmt: skip


def test_the_steady_state_of_a_jani_model_of_storm(tmp_path: Path) -> None:
    """ctmc/steadystatetest.jani: 8 states, three ends; its test states these values."""
    (tmp_path / "m.jani").write_text(json.dumps(SEVERAL_ENDS))
    chain = read_jani(tmp_path / "m.jani").chain
    assert chain.size == 8
    expected = [0, 0, 0, 1 / 35, 2 / 35, 4 / 35, 1 / 5, 3 / 5]
    assert sorted(transient(chain, 200.0).pi[0]) == pytest.approx(expected, abs=1e-10)


def test_a_queue_of_jani_has_the_results_of_prism(tmp_path: Path) -> None:
    """ctmc/lrarewards.sm of Storm, papers/KNP07a-SFM07/ctmc.sm of PRISM, as a converter writes it: one location, guards, rates as quotients."""

    def edge(guard: str, bound: int, rate: Any, sign: str) -> dict[str, Any]:
        moved = {"op": sign, "left": "s", "right": 1}
        return {"location": "l", "rate": {"exp": rate}, "guard": {"exp": {"op": guard, "left": "s", "right": bound}},
                "destinations": [{"location": "l", "probability": {"exp": 1}, "assignments": [{"ref": "s", "value": moved}]}]}  # fmt: skip

    bounded = {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 3}
    edges = [edge("<", 3, {"op": "/", "left": 3, "right": 2}, "+"), edge("≥", 1, 3, "-")]
    model = of_storm({("l", "a", 1): {"l": 1}}, "l") | {
        "variables": [{"name": "s", "type": bounded, "initial-value": 0}]
    }
    model["automata"][0]["edges"] = edges
    (tmp_path / "m.jani").write_text(json.dumps(model))
    read = read_jani(tmp_path / "m.jani")
    assert read.property("S=? [ s=3 ]").value == pytest.approx(1 / 15, rel=1e-12)
    assert read.property("P=? [ true U<=7.5 s=3 ]").value == pytest.approx(0.6404780884740766, rel=1e-12)  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_comment_ends_with_its_line_however_lines_end(tmp_path: Path, end: str) -> None:
    """As in PrismParser.jj. After a carriage return alone the command behind a comment was left out."""
    path = tmp_path / "m.sm"
    lines = [
        "ctmc",
        "module m x:[0..1] init 0;",
        "[] x=0 -> 1:(x'=1); // slow",
        "[] x=0 -> 9:(x'=1);",
        "[] x=1 -> 1:(x'=0);",
    ]
    path.write_bytes(end.join([*lines, "endmodule"]).encode())
    assert read_prism(path).property("S=? [ x=1 ]").value == pytest.approx(10 / 11, rel=1e-12)
    path.write_bytes(end.join([*lines, "y endmodule"]).encode())
    with pytest.raises(FileError, match=r"^m\.sm, line 6: "):
        read_prism(path)


@pytest.mark.parametrize(("change", "message"), [
    # dtmc/die_array.jani, ma/ftwc.jani, mdp/tiny_rewards.jani
    ({"type": "dtmc"}, "type: 'dtmc': must be 'ctmc'"),
    ({"type": "ma"}, "type: 'ma': must be 'ctmc'"),
    ({"type": "mdp"}, "type: 'mdp': must be 'ctmc'"),
    # ctmc/expvisittimes.jani
    ({"restrict-initial": {"exp": {"op": "=", "left": "x", "right": 0}}}, "restrict-initial: initial states by a condition are not read"),
])  # fmt: skip
def test_other_jani_models_of_storm_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "m.jani"
    path.write_text(json.dumps(SEVERAL_ENDS | change))
    with pytest.raises(FileError, match=rf"^m\.jani: {message}"):
        read_jani(path)
