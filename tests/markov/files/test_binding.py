"""Constants, ranges and initial values."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.files import FileError
from tests.markov.files.conftest import QUEUE, model_of


def test_a_missing_constant_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="arrival"):
        model_of(tmp_path, QUEUE)
