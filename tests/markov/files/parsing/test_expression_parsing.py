"""Expressions of the PRISM language."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.files import FileError
from tests.markov.files.conftest import model_of


def test_nothing_in_a_file_is_run_as_python(tmp_path: Path) -> None:
    text = "ctmc\nmodule m\nx : [0..2] init __import__('os').getpid();\nendmodule"
    with pytest.raises(FileError, match="line 3"):
        _ = model_of(tmp_path, text).chain
