"""Limits of text files and of values read from them: the last value that is taken, and the first that is refused."""

from __future__ import annotations

import io
import re
from functools import partial
from pathlib import Path

import pytest

from dfcmodel import load_scenario, read_mahimahi
from dfcmodel.lossless import read_table
from hopflow.text_files import MAX_BYTES, parse_toml, read_text
from markov import read_prism
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


@pytest.mark.parametrize(
    "target",
    ["../Mellanox-SN4280-O28/pg_profile_lookup.ini", "buffers_defaults_t0.j2", "./a/b.prism\n", "/etc/sonic/x.json"],
)
def test_a_downloaded_link_is_refused_with_its_target(tmp_path: Path, target: str) -> None:
    """Raw downloads of a repository and checkouts on Windows have the path in place of the file."""
    path = tmp_path / "link.txt"
    path.write_text(target, encoding="utf-8")
    message = f"{re.escape(repr(target.strip()))} alone, as a downloaded symbolic link: read the file of that path$"
    for read in (
        partial(read_text, "source"),
        read_table,
        partial(read_mahimahi, link="a->b"),
        read_prism,
        load_scenario,
    ):
        with pytest.raises(ValueError, match=message):
            read(path)
    with pytest.raises(ValueError, match=f"^source = 'an open file': has the path {message}"):
        read_text("source", io.StringIO(target))


def test_a_pointer_to_a_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.qlog"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"is a pointer to a file in Git's large file storage: read that file$"):
        read_qlog(path)


@pytest.mark.parametrize("text", ["1.e5", "-0.5", "a b.c", "a.b c", "dtmc\n", "", "x", "1.5\n2.5\n", "{}", "a.b = 1"])
def test_other_short_texts_are_no_links(text: str) -> None:
    assert read_text("source", io.StringIO(text)) == text


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
