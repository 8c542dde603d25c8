"""What a file describes: shared actions under a renaming, and names that are taken."""

from __future__ import annotations

import pytest

from markov.errors import FileError
from markov.files.program import Command, Constant, Module, Program, Variable
from markov.files.syntax import Literal

TRUE = Literal(True, 1)


def test_the_alphabet_of_a_module_has_its_actions_renamed_and_no_empty_one() -> None:
    commands = tuple(Command(action, TRUE, (), 1) for action in ("", "go", "stop", "go"))
    assert Module("m", commands, 1).alphabet == {"go", "stop"}
    assert Module("m", commands, 1, renamed={"go": "run"}).alphabet == {"run", "stop"}


def test_a_name_is_taken_by_a_constant_a_variable_or_a_formula() -> None:
    program = Program(
        "m.sm",
        "ctmc",
        constants={"N": Constant("N", "int", None, 1)},
        variables={"x": Variable("x", "bool", None, None, None, 2)},
        formulas={"busy": TRUE},
    )
    assert program.names() == {"N", "x", "busy"}
    for name in ("N", "x", "busy"):
        with pytest.raises(FileError, match=rf"^m\.sm, line 7: '{name}' is defined twice"):
            program.check_new(name, 7)
    program.check_new("y", 7)
