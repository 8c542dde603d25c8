"""Formulas in MathML."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from markov.errors import FileError
from markov.files.reactions.formulas import CLOCK, Formulas
from markov.files.syntax import Chain, Literal, Name, Negation, names_in

TIME = '<csymbol definitionURL="http://www.sbml.org/sbml/symbols/time">t</csymbol>'


def refuse(where: str, reason: str) -> FileError:
    return FileError(("f", None), f"{where}: {reason}")


def read(text: str, *, timed: bool = False) -> object:
    element = ET.fromstring(f"<law><math>{text}</math></law>")
    return Formulas({"X": Name("x", 1)}, refuse, timed=timed).read(element, "here", {"k": "r.k"})


def test_names_numbers_and_operators_become_an_expression() -> None:
    found = read("<apply><and/><apply><not/><ci>b</ci></apply><apply><leq/><ci>X</ci>"
                 "<apply><times/><ci>k</ci><cn type='e-notation'>2<sep/>3</cn></apply></apply></apply>")  # fmt: skip
    product = Chain(Name("r.k", 1), (("*", Literal(2000.0, 1)),), 1)
    below = Chain(Name("x", 1), (("<=", product),), 1)
    assert found == Chain(Negation("!", Name("b", 1), 1), (("&", below),), 1)
    assert names_in(found) == ["b", "x", "r.k"]


def test_the_time_is_read_only_where_it_may_be() -> None:
    assert read(TIME, timed=True) == Name(CLOCK, 1)
    with pytest.raises(FileError, match="here: csymbol is not read"):
        read(TIME)


def test_what_is_nested_too_deep_is_refused() -> None:
    deep = "<apply><minus/>" * 62 + "<cn>1</cn>" + "</apply>" * 62
    with pytest.raises(FileError, match="nested more than 60 deep"):
        read(deep)
