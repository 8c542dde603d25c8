"""Expressions, PRISM and JANI files as trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from markov import read_jani
from markov.errors import FileError
from tests.markov.files.conftest import jani_queue, model_of


def test_nothing_in_a_file_is_run_as_python(tmp_path: Path) -> None:
    text = "ctmc\nmodule m\nx : [0..2] init __import__('os').getpid();\nendmodule"
    with pytest.raises(FileError, match="line 3"):
        _ = model_of(tmp_path, text).chain


def test_the_same_queue_as_jani(tmp_path: Path, queue: Any) -> None:
    path = tmp_path / "queue.jani"
    path.write_text(json.dumps(jani_queue()))
    found = read_jani(path, constants={"N": 10})
    assert (found.chain.Q != queue.chain.Q).nnz == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ctmc\nmodule m\nx : [0..2] init 5;\nendmodule", "line 3: .*5"),
        ("ctmc\nmodule m\nx : [0..2] init 0;\n[] x < 3 -> 1 : (x' = x + 1);\nendmodule",
         "leaves its range"),
        ("ctmc\nmodule m\nx : [0..2] init 0;\n[] x < 2 -> 0 - 1 : (x' = x + 1);\nendmodule",
         "line 4: rate -1 in state"),
        ("ctmc\nconst int N = N + 1;\nmodule m x : [0..N]; endmodule", "line 2"),
        ("mdp\nmodule m x : [0..2]; endmodule", "mdp"),
        ("ctmc\nmodule m x : [0..2] init y; endmodule", "'y'"),
        ("ctmc\nmodule m x : [0..2] init 0;", "line 2"),
        ("ctmc\nmodule m x : [0..2] init " + "(" * 500 + "0" + ")" * 500 + "; endmodule", "nested"),
        ("", "line 1"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used_are_refused_with_line_and_reason(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(FileError, match=f"(?s)model.sm.*{message}"):
        _ = model_of(tmp_path, text).chain
