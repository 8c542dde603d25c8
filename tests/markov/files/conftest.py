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


def jani_queue() -> dict[str, Any]:
    """Return the queue as a JANI file, whose constant N is open, with a property."""

    def at(sign: str, left: Any, right: Any) -> dict[str, Any]:
        return {"op": sign, "left": left, "right": right}

    def edge(guard: Any, rate: float, change: str) -> dict[str, Any]:
        value = at(change, "n", 1)
        return {
            "location": "l",
            "rate": {"exp": rate},
            "guard": {"exp": guard},
            "destinations": [{"location": "l", "assignments": [{"ref": "n", "value": value}]}],
        }

    return {
        "jani-version": 1,
        "name": "queue",
        "type": "ctmc",
        "constants": [{"name": "N", "type": "int"}],
        "variables": [
            {
                "name": "n",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": "N"},
                "initial-value": 0,
            }
        ],
        "automata": [
            {
                "name": "queue",
                "locations": [{"name": "l"}],
                "initial-locations": ["l"],
                "edges": [edge(at("<", "n", "N"), 7.0, "+"), edge(at("<", 0, "n"), 10.0, "-")],
            }
        ],
        "system": {"elements": [{"automaton": "queue"}]},
        "properties": [
            {
                "name": "full",
                "expression": {
                    "op": "filter",
                    "fun": "values",
                    "states": {"op": "initial"},
                    "values": {"op": "Smin", "exp": at("=", "n", "N")},
                },
            }
        ],
    }


QUEUE_BESIDE = """ctmc
const int M;
module queue
  x : [0..40] init 0;
  [] x < 40 -> 1 : (x' = x + 1);
  [] x > 0 & x < 40 -> 1.3 : (x' = x - 1);
endmodule
module beside
  y : [0..M] init 0;
  [] y < M -> 0.7 : (y' = y + 1);
  [] y > 0 -> 0.9 : (y' = y - 1);
endmodule
"""
"""A queue until it is full, and beside it one that has no influence."""
