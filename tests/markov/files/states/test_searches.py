"""Moves, and the states that they lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov import read_prism
from tests.markov.files.conftest import model_of

PAIR = """
ctmc
module first
  x : [0..2] init 0;
  [tick] x < 2 -> 2 : (x' = x + 1);
endmodule
module second = first [x = y] endmodule
"""


def test_modules_synchronize_and_are_renamed(tmp_path: Path) -> None:
    found = model_of(tmp_path, PAIR)
    assert found.chain.size == 3  # both step together
    # rates multiply: 2 * 2
    assert found.chain.exit_rates.tolist() == [4.0, 4.0, 0.0]


def test_more_states_than_allowed_are_refused_before_memory_runs_out(tmp_path: Path) -> None:
    from markov.errors import TooLargeError

    text = "ctmc\nmodule m\nx : int init 0;\n[] true -> 1 : (x' = x + 1);\nendmodule"
    path = tmp_path / "model.sm"
    path.write_text(text)
    with pytest.raises(TooLargeError, match="more than 1000 reachable states"):
        _ = read_prism(path, most=1000).chain
