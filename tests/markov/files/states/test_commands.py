"""Rows of commands, and the variables that they depend on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from markov.files.columns import Columns
from markov.files.states.commands import Rows, joined, together
from markov.files.states.moves import moves_of
from tests.markov.files.conftest import model_of
from tests.markov.files.states.conftest import LINE


def test_a_command_depends_on_what_it_reads_and_on_what_it_writes(tmp_path: Path) -> None:
    first, second = moves_of(model_of(tmp_path, LINE).bound).parts
    (module,) = second.parts
    reads = {action: [c.reads for c in commands] for action, commands in module.commands.items()}
    x, y, up = 0, 1, 2
    assert reads["pass"] == [{y, up}, {y, up}]
    assert reads[""] == [{x, y}, {up}, {up}, {y, up}]
    assert first.parts[0].commands["lost"][0].reads == {x}


def test_rows_of_a_command_are_those_of_the_states_where_it_is_enabled(tmp_path: Path) -> None:
    first, _ = moves_of(model_of(tmp_path, LINE).bound).parts
    (command,) = first.parts[0].commands["pass"]
    codes = np.array([[0, 2, 3], [0, 0, 0], [0, 0, 0]])
    rows = together(command.rows(Columns(codes), np.arange(3)))
    assert rows.source.tolist() == [1, 1, 2, 2]
    assert rows.rate.tolist() == [1.0, 0.25, 1.5, 0.25]


def test_rates_of_joined_rows_multiply() -> None:
    a = Rows(np.array([0, 1, 1]), np.array([2.0, 3.0, 5.0]), np.array([1, 1, 2]))
    b = Rows(np.array([1, 1, 2]), np.array([7.0, 11.0, 1.0]), np.array([10, 20, 30]))
    both = joined(a, b, 3)
    assert both.source.tolist() == [1, 1, 1, 1]
    assert both.rate.tolist() == [21.0, 33.0, 35.0, 55.0]
    assert both.change.tolist() == [11, 21, 12, 22]
    assert both.at(both.source + 4).source.tolist() == [5, 5, 5, 5]
