"""A file that is replaced is there whole, before and after an error."""

from __future__ import annotations

import pytest

from hopflow.whole_files import replacing


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")
    with pytest.raises(TypeError), replacing(path) as scratch:
        scratch.write_text(1)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_as_before_until_all_is_written(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("before")
    with replacing(path) as scratch:
        scratch.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]
