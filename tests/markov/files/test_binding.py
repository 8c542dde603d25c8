"""Constants, ranges and initial values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from markov.files import FileError
from tests.markov.files.conftest import QUEUE, model_of


def test_a_missing_constant_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="arrival"):
        model_of(tmp_path, QUEUE)


@pytest.mark.parametrize("count", [3, 35], ids=["bits", "mixed radix"])
def test_states_are_numbered_in_the_order_of_their_values(count: int, tmp_path: Path) -> None:
    variables = "\n".join(f"x{k} : [-1..1] init 0;" for k in range(count))
    owner = model_of(tmp_path, f"ctmc module m {variables} endmodule").bound
    assert (owner.shifts is None) == (count == 35)  # 2 bits each, of 62
    codes = np.zeros((count, 3), dtype=np.int64)
    codes[0], codes[-1] = [-1, 0, 0], [1, -1, 1]
    numbers = np.array(owner.weights) @ (codes + 1)
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(owner.codes(numbers), codes)
    assert numbers.max() < owner.span


def test_numbers_whose_bits_are_no_value_are_no_states(tmp_path: Path) -> None:
    text = "ctmc module m x : [0..2] init 0; y : [1..2] init 1; endmodule"
    owner = model_of(tmp_path, text).bound
    assert owner.valid(np.arange(8)).tolist() == [0, 1, 2, 3, 4, 5]
