"""Constants, ranges and initial values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markov import read_prism
from tests.markov.files.conftest import model_of


@pytest.mark.parametrize("count", [3, 35], ids=["bits", "mixed radix"])
def test_states_are_numbered_in_the_order_of_their_values(count: int, tmp_path: Path) -> None:
    variables = "\n".join(f"x{k} : [-1..1] init 0;" for k in range(count))
    reset = " & ".join(f"(x{k}'=0)" for k in range(count))
    owner = model_of(tmp_path, f"ctmc module m {variables} [] true -> 1 : {reset}; endmodule").instance
    assert (owner.shifts is None) == (count == 35)  # 2 bits each, of 62
    codes = np.zeros((count, 3), dtype=np.int64)
    codes[0], codes[-1] = [-1, 0, 0], [1, -1, 1]
    numbers = np.array(owner.weights) @ (codes + 1)
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(owner.codes(numbers), codes)
    assert numbers.max() < owner.span


def test_numbers_whose_bits_are_no_value_are_no_states(tmp_path: Path) -> None:
    text = """ctmc module m x : [0..2] init 0; y : [1..2] init 1;
    [] true -> 1 : (x' = 0) & (y' = 2); endmodule"""
    owner = model_of(tmp_path, text).instance
    assert owner.valid(np.arange(8)).tolist() == [0, 1, 2, 3, 4, 5]


MANY = "\n".join(f"  x{n} : [0..1000] init {n};" for n in range(21))


def test_variables_that_nothing_changes_take_no_room(tmp_path):
    """Twenty-one variables of 1,001 values have 1e63 combinations; one of them changes."""
    path = tmp_path / "many.sm"
    path.write_text(
        f"ctmc\nmodule m\n{MANY}\n  free : int init 7; on : bool init true;\n"
        "  [] on & x1 = 1 & x0 < free -> x2 : (x0' = x0 + 1);\n  [] x0 > 0 -> 1 : (x0' = x0 - 1);\nendmodule\n"
    )
    model = read_prism(path)
    assert model.chain.size == 8
    assert model.instance.size == 1001
    assert set(model.chain.states.x20.tolist()) == {20}
    assert set(model.chain.states.on.tolist()) == {True}
    assert model.property("S=? [ x0 = 0 & x20 = 20 & free = 7 ]").value == pytest.approx(1 / 255)


def test_renamed_modules_and_initial_conditions_keep_their_ranges(tmp_path):
    path = tmp_path / "two.sm"
    text = "ctmc\nmodule a x : [0..3]; [] x < 3 -> 1 : (x' = x + 1); [] x = 3 -> 2 : (x' = 0); endmodule\n"
    path.write_text(text + "module b = a [x = y] endmodule\n")
    assert read_prism(path).chain.size == 16
    path.write_text(text + "module c z : [0..2]; endmodule init x = 0 endinit\n")
    assert read_prism(path).instance.size == 12


STEPS = """ctmc
const int burst = 10;
formula more = x + burst;
module m
  x : [-5..205] init 5;
  [] x < 195 -> 1 : (x' = x + burst);
  [] x > 14 -> 2 : (x' = x - 2 * burst + burst);
  [] x > 14 -> 0.1 : (x' = 5 - burst);
endmodule
module n = m [x = y] endmodule
module z
  z : [0..9]; free : int init 3;
  [] z < 9 & free < 20 -> 1 : (z' = z + 1) & (free' = free + 4);
  [] z > 0 -> 1 : (z' = max(0, z - 3)) & (free' = 3);
endmodule
label "low" = x < 0;
"""


def test_common_steps_are_divided_out(tmp_path):
    """Changes by ten leave one value in ten; the assignment of another function leaves all."""
    model = model_of(tmp_path, STEPS)
    steps = {r.name: (r.low, r.high, r.step, r.count) for r in model.instance.ranges[:3]}
    assert steps == {"x": (-5, 205, 10, 22), "y": (-5, 205, 10, 22), "z": (0, 9, 1, 10)}
    assert model.instance.ranges[3].step == 4
    chain = model.chain
    assert set(chain.states.x.tolist()) == {-5, *range(5, 196, 10)}
    plain = model_of(tmp_path, STEPS.replace("x' = x + burst", "x' = max(x + burst, 0)"))
    assert plain.instance.ranges[0].step == 1
    assert plain.chain.size == chain.size
    assert (plain.chain.Q != chain.Q).nnz == 0
    assert plain.property('S=? [ "low" ]').value == model.property('S=? [ "low" ]').value
    given = model_of(tmp_path, STEPS, burst=7)
    assert [r.step for r in given.instance.ranges[:2]] == [7, 7]


def test_initial_states_by_a_condition_keep_all_values(tmp_path):
    text = STEPS.replace(" init 5", "").replace("free : int init 3", "free : [0..30]")
    text += "init mod(x, 7) = 0 & y = 5 & z = 0 & free = 3 endinit\n"
    model = model_of(tmp_path, text)
    assert {r.step for r in model.instance.ranges} == {1}
