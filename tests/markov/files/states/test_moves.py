"""Modules joined by their actions."""

from __future__ import annotations

from pathlib import Path

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
