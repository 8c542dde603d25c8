"""Models of JANI files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markov.files import read_jani


def jani_queue() -> dict[str, Any]:
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
        "variables": [
            {
                "name": "n",
                "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 10},
                "initial-value": 0,
            }
        ],
        "automata": [
            {
                "name": "queue",
                "locations": [{"name": "l"}],
                "initial-locations": ["l"],
                "edges": [edge(at("<", "n", 10), 7.0, "+"), edge(at("<", 0, "n"), 10.0, "-")],
            }
        ],
        "system": {"elements": [{"automaton": "queue"}]},
        "properties": [],
    }


def test_the_same_queue_as_jani(tmp_path: Path, queue: Any) -> None:
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(jani_queue()))
    found = read_jani(path)
    assert (found.chain.Q != queue.chain.Q).nnz == 0
