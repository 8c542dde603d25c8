"""The states of a file, as many as allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.files import read_prism


def test_more_states_than_allowed_are_refused_before_memory_runs_out(tmp_path: Path) -> None:
    from markov import TooLargeError

    text = "ctmc\nmodule m\nx : int init 0;\n[] true -> 1 : (x' = x + 1);\nendmodule"
    path = tmp_path / "model.sm"
    path.write_text(text)
    with pytest.raises(TooLargeError, match="more than 1000 states"):
        _ = read_prism(path, most=1000).chain
