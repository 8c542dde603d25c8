"""The words of the PRISM language, and a cursor over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.errors import FileError
from markov.files.parsing import tokens
from markov.files.parsing.tokens import Cursor, read_text, tokens_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[0..2]", ["[", "0", "..", "2", "]"]),
        ("1.5e-3+.5", ["1.5e-3", "+", ".5"]),
        ("x'=x1<=>y", ["x", "'", "=", "x1", "<=>", "y"]),
        ("a // b c\n=> d", ["a", "=>", "d"]),
        ('"a b" -> 2.', ['"a b"', "->", "2."]),
    ],
)
def test_text_is_cut_into_the_longest_words(text: str, words: list[str]) -> None:
    found = tokens_of(text, "m")
    assert [token.text for token in found[:-1]] == words
    assert found[-1].kind == "end"


def test_words_know_their_kind_and_line() -> None:
    found = tokens_of('x\n// nothing\n3.5 "n"', "m")
    assert [(t.kind, t.line) for t in found] == [
        ("name", 1), ("number", 3), ("text", 3), ("end", 3),
    ]  # fmt: skip


def test_a_character_that_begins_no_word_is_refused_with_its_line() -> None:
    with pytest.raises(FileError, match=r"^m, line 2: '\$' begins no word"):
        tokens_of("x\n$", "m")


def test_a_cursor_takes_only_what_is_expected() -> None:
    cursor = Cursor(tokens_of('P "P"', "m"), "m")
    assert cursor.peek().text == '"P"'
    assert cursor.accept("S") is None
    assert cursor.expect("P", "S").text == "P"
    assert not cursor.at('"P"')  # a text is no sign
    with pytest.raises(FileError, match=r"""'"P"' where '=' is expected"""):
        cursor.expect("=")
    assert cursor.kind("text", "a name").text == '"P"'
    assert cursor.take().kind == cursor.take().kind == cursor.peek(9).kind == "end"


def test_files_too_large_or_not_text_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.sm"
    path.write_bytes(b"ctmc\n\nx \xff")
    with pytest.raises(FileError, match=r"^m\.sm, line 3: not UTF-8"):
        read_text(path)
    path.write_text("größe")
    assert read_text(path) == "größe"
    monkeypatch.setattr(tokens, "MAX_BYTES", 6)
    with pytest.raises(FileError, match=r"^m\.sm: larger than 6 bytes"):
        read_text(path)
