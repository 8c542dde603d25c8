"""``hopflow solve``: models in files, properties and constants, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from markov._cli import commands, constants_of

MACHINE = """ctmc
const double fails;
module machine
  up : bool init true;
  [] up -> fails : (up' = false);
  [] !up -> 1 : (up' = true);
endmodule
"""

RULES = """
from typing import NamedTuple
from markov import ChainModel

class Machine(ChainModel):
    class State(NamedTuple):
        up: int
    class Params(NamedTuple):
        fails: float = 0.25
    def start(self):
        return self.State(1)
    @staticmethod
    def rules(s, q):
        yield s._replace(up=1 - s.up), q.fails if s.up else 1.0
    def labels(self, s):
        return {"works": s.up == 1}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "machine.prism"
    path.write_text(MACHINE)
    return path


def call(*arguments: object) -> str:
    given = ["solve", *map(str, arguments)]
    return CliRunner().invoke(commands, given, catch_exceptions=False).output


def test_a_property_of_a_prism_model_is_printed_with_its_bound(machine: Path) -> None:
    said = call(machine, "--property", "S=? [ up ]", "--const", "fails=0.25")
    assert "value        0.8" in said
    assert "error bound" in said
    assert "converged" in said


def test_without_a_property_the_chain_is_solved(machine: Path) -> None:
    assert "error bound (TV)" in call(machine, "--const", "fails=0.25")


def test_a_file_of_properties_is_evaluated_whole(machine: Path, tmp_path: Path) -> None:
    props = tmp_path / "machine.props"
    props.write_text('const double T;\n"once": P=? [ F<=T !up ];\n"often": S=? [ !up ];\n')
    said = call(machine, "--properties", props, "--const", "fails=0.25,T=1")
    assert "0.2211992" in said  # 1 - exp(-0.25)
    assert said.count("converged") == 2
    assert "0.2" in call(machine, "--properties", props, "--property", "often",
                         "--const", "fails=0.25,T=1")  # fmt: skip


def test_a_users_own_python_file_is_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULES)
    assert re.search(r"works +0\.8\n", call(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--const", "fails"], "const = 'fails'"),
        (["--const", "fails=x"], "const = 'fails=x': must be a number"),
        (["--property", "S=? [ down ]", "--const", "fails=1"], "'down'"),
        ([], "fails"),
    ],
)
def test_bad_input_is_named(machine: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(machine, *arguments)


def test_a_python_file_takes_no_properties(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RULES)
    with pytest.raises(ValueError, match="const = 'N=5'"):
        call(path, "--const", "N=5")
    path.write_text("x = 1")
    with pytest.raises(ValueError, match="0 models"):
        call(path)


def test_constants_are_read_as_what_they_are() -> None:
    found = constants_of("N=5,rate=1e-3,fast=true, k=-2")
    assert found == {"N": 5, "rate": 1e-3, "fast": True, "k": -2}
    assert [type(v) for v in found.values()] == [int, float, bool, int]
