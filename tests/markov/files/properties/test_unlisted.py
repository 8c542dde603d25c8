"""Properties of models with infinitely many states, or too many: those of finite ones lie within the bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopflow import Status
from markov import read_prism
from markov.errors import FileError
from tests.markov.files.conftest import model_of

TEXT = """ctmc
const int most;
module m
  x : [0..most]; y : [0..most];
  [] x < most -> 1 : (x' = x + 1);
  [move] x > 0 & y < most -> 1.5 : (x' = x - 1) & (y' = y + 1);
  [] y > 0 -> 2 : (y' = y - 1);
endmodule
label "empty" = x + y = 0;
rewards "jobs" true : x + y; endrewards
rewards [move] true : 2; endrewards
"""
OPEN = TEXT.replace("[0..most]", "int").replace(" < most", " >= 0")
UNTIL = (
    "P=? [ F<=2 x=4 ]", "P=? [ x<3 U<=2 y>=2 ]", "P=? [ G<=2 y<3 ]", 'P=? [ F[2,2] "empty" ]', "P=? [ F<=0 x=0 ]",
    "P=? [ x<2 U[2,2] y=1 ]", "P=? [ F<=0 y=1 ]", "P=? [ x>0 U<=2 y=1 ]",
)  # fmt: skip


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("pair")
    found = []
    for name, text in (("open", OPEN), ("finite", TEXT)):
        path = folder / f"{name}.sm"
        path.write_text(text)
        found.append(read_prism(path, constants={"most": 40}))
    return found[0], found[1]


@pytest.mark.parametrize("text", UNTIL)
def test_probabilities_until_a_time(text: str, pair: tuple[Any, Any]) -> None:
    own, other = (model.property(text) for model in pair)
    assert own.error_bound < 2e-9
    assert abs(own.value - other.value) <= own.error_bound + other.error_bound


def test_long_run_means(pair: tuple[Any, Any]) -> None:
    """Jackson: two queues at loads 2/3 and 1/2, in product form; two per job that moves on."""
    for text, value in (
        ('S=? [ "empty" ]', 1 / 6), ('R{"jobs"}=? [ S ]', 3.0), ("R{2}=? [ S ]", 2.0)
    ):  # fmt: skip
        found = pair[0].property(text)
        assert abs(found.value - value) <= found.error_bound < 1e-6


@pytest.mark.parametrize(
    "text", ["P=? [ F x=9 ]", "P>0.5 [ F<=2 x=4 ]", "S=? [ P>0.5 [ F<=2 x=4 ] ]", "R=? [ F x=9 ]"]
)
def test_other_properties_are_refused_by_name(text: str, pair: tuple[Any, Any]) -> None:
    with pytest.raises(FileError, match=r"infinitely many, or too many|operator of properties"):
        pair[0].property(text)


def test_too_few_states_leave_an_interval(tmp_path: Path) -> None:
    """A finite model of 6,561 states, in 150 of them, which do not hold the flow until 40."""
    text = "P=? [ F<=40 x=25 ]"
    truth = model_of(tmp_path, TEXT, most=80).property(text)
    few = read_prism(tmp_path / "model.sm", constants={"most": 80}, most=150)
    found = few.property(text, on_failure="return")
    assert found.status is Status.INACCURATE
    assert abs(found.value - truth.value) <= found.error_bound + truth.error_bound
    assert 1e-6 < found.error_bound < 0.5
