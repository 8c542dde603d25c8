"""Properties of the PRISM language as trees."""

from __future__ import annotations

from pathlib import Path as File
from typing import Any

import pytest

from markov.errors import FileError
from markov.files.parsing.property_parsing import parse_properties, parse_property
from markov.files.properties.queries import Filter, Interval, Operator, Path
from markov.files.syntax import Chain, Label, Literal, Name

N, M = Name("n", 1), Name("m", 1)


def number(value: Any) -> Literal:
    return Literal(value, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P=? [ F n ]", Operator("P", None, None, Path("F", right=N), 1)),
        ("P>0.5 [ X n ]", Operator("P", ">", number(0.5), Path("X", right=N), 1, written="0.5")),
        ("P=? [ n U<=2 m ]", Operator("P", None, None, Path("U", N, M, Interval(high=number(2))), 1)),
        ("P=? [ G>=2 m ]", Operator("P", None, None, Path("G", None, M, Interval(number(2))), 1)),
        ("P=? [ F[1,2] m ]",
         Operator("P", None, None, Path("F", None, M, Interval(number(1), number(2))), 1)),
        ("P=? [ (n W m) ]", Operator("P", None, None, Path("W", N, M), 1)),
        ("P=? [ (n) U m ]", Operator("P", None, None, Path("U", N, M), 1)),
        ("S=? [ n ]", Operator("S", None, None, N, 1)),
        ('R{"r"}=? [ C<=3 ]', Operator("R", None, None, Path("C", interval=Interval(high=number(3))), 1, "r")),
        ("R{2}=? [ I=3 ]",
         Operator("R", None, None, Path("I", interval=Interval(number(3), number(3))), 1, 2)),
        ("R=? [ S ]", Operator("R", None, None, Path("S"), 1)),
        ('R=? [ F "a" ]', Operator("R", None, None, Path("F", right=Label("a", 1)), 1)),
        ("P=? [ F n {m}{max} ]", Operator("P", None, None, Path("F", right=N), 1, None, M, ("max",))),
        ("filter(&, n, m)", Filter("forall", N, M, 1)),
        ("filter(avg, n);", Filter("avg", N, None, 1)),
        ("n & P=? [ F m ]",
         Chain(N, (("&", Operator("P", None, None, Path("F", right=M), 1)),), 1)),
    ],
)  # fmt: skip
def test_a_property_is_read_as_its_tree(text: str, expected: Any) -> None:
    assert parse_property(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Pmax=? [ F n ]", "'Pmax' is not of Markov chains"),
        ("P=? [ F G n ]", "beyond CSL"),
        ("R=? [ n U m ]", r"R \[ U ... \]"),
        ("filter(median, n)", "'median' is no filter: must be one of min"),
        ("P=? [ F n ] m", "'m' after the end of the property"),
        ("P=? [ " + "(" * 90 + "n" + ")" * 90 + " ]", "nested more than 60 deep"),
        ("R{-1}=? [ S ]", "'-': a name in quotes or a number of rewards"),
    ],
)
def test_what_is_no_property_is_refused(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        parse_property(text)


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
    assert found.lines == {"a": 4, "#2": 5, "c": 6, "#4": 7}
    assert isinstance(found.properties["#2"], FileError)
    assert found.properties["c"] == Operator("S", None, None, Name("m", 6), 6)
    path.write_text('"a": S=? [ n ];\n"a": S=? [ m ];')
    with pytest.raises(FileError, match='line 2: property "a" is defined twice'):
        parse_properties(path)
