"""Limits of text files and of values read from them: the last value that is taken, and the first that is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from hopflow.text_files import MAX_BYTES, parse_toml, read_text
from responsefn import read_qlog

LONGEST_PATH, LARGEST_FILE, MOST_KEY_PARTS, MOST_VALUES = 4096, 67108864, 256, 2_500_000


def test_the_longest_path_is_looked_up_and_a_longer_one_is_text() -> None:
    """Linux refuses the longest itself: PATH_MAX counts the NUL."""
    with pytest.raises(OSError, match="File name too long"):
        read_text("source", "a" * LONGEST_PATH)
    with pytest.raises(ValueError, match=r"^source = 'a+ \.\.\.: must be the path of a file$"):
        read_text("source", "a" * (LONGEST_PATH + 1))


def test_a_text_has_at_most_its_bytes(tmp_path: Path) -> None:
    assert MAX_BYTES == LARGEST_FILE
    path = tmp_path / "a.txt"
    for content in ("12345", "\ufeff12"):
        path.write_text(content, encoding="utf-8")
        assert read_text("source", path, 5) == content.removeprefix("\ufeff")
        with pytest.raises(ValueError, match=r"a\.txt': must have at most 4 bytes$"):
            read_text("source", path, 4)
    assert read_text("source", io.StringIO("1234"), 4) == "1234"
    with pytest.raises(ValueError, match=r"^source = 'an open file': must have at most 4 characters$"):
        read_text("source", io.StringIO("12345"), 4)


def test_a_key_has_at_most_its_parts() -> None:
    value: object = parse_toml(".".join(["a"] * MOST_KEY_PARTS) + " = 1")
    for _ in range(MOST_KEY_PARTS):
        assert isinstance(value, dict)
        value = value["a"]
    assert value == 1
    with pytest.raises(ValueError, match="line 2: a key of more than 256 parts"):
        parse_toml("b = 1\n" + ".".join(["a"] * (MOST_KEY_PARTS + 1)) + " = 1")


def test_a_trace_has_at_most_its_values() -> None:
    """240 bytes for each object."""
    with pytest.raises(ValueError, match="too many values"):
        read_qlog("{" * (MOST_VALUES + 1))
    with pytest.raises(ValueError, match="must be JSON"):
        read_qlog("{" * MOST_VALUES)
