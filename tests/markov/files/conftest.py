"""A queue in the PRISM language, and models of given texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from markov import read_prism

QUEUE = """
ctmc  // M/M/1/N
const int N = 10;
const double arrival;
const double service = 10;
formula busy = n > 0;
module queue
  n : [0..N] init 0;
  [enter] n < N -> arrival : (n' = n + 1);
  [leave] busy -> service : (n' = n - 1);
endmodule
label "full" = n = N;
rewards "length" true : n; endrewards
rewards "served" [leave] true : 1; endrewards
"""


@pytest.fixture
def queue(tmp_path: Path) -> Any:
    path = tmp_path / "queue.sm"
    path.write_text(QUEUE)
    return read_prism(path, constants={"arrival": 7.0})


def model_of(tmp_path: Path, text: str, **constants: Any) -> Any:
    path = tmp_path / "model.sm"
    path.write_text(text)
    return read_prism(path, constants=constants)
