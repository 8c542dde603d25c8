"""Tokenizer for the PRISM language and for properties."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from hopflow.text_files import compression_hint
from markov.files.errors import FileError, Location

__all__ = ["MAX_BYTES", "Cursor", "Token", "decimal", "read_text", "tokenize"]

MAX_BYTES = 64 * 2**20
"""Maximum size of a file."""

LONGEST_NUMBER = 400
"""Maximum number of characters of a number."""
MAX_EXPONENT = 400
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = re.compile(
    r"""
    (?P<blank>[ \t\r\f]+|//[^\n]*)
  | (?P<line>\n)
  | (?P<number>(?:[0-9]+\.(?!\.)[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<text>"[^"\n]*")
  | (?P<sign><=>|<=|>=|!=|=>|->|\.\.|[-+*/^=<>!&|?:;,.(){}\[\]'])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """A token: ``kind`` is number, name, text, sign or end; it begins at the character ``start`` of the text."""

    kind: str
    text: str
    line: int
    start: int


def read_text(path: str | Path) -> str:
    """Return the text of a file.

    A byte-order mark is skipped.

    Raises
    ------
    FileError
        If the file is larger than 64 MiB, or not UTF-8.
    """
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FileError((path.name, None), f"larger than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError((path.name, line), f"not UTF-8 text{compression_hint(content)}") from None


def decimal(text: str) -> Fraction | None:
    """Return a decimal number in ASCII digits as a fraction; None for other strings and numbers beyond float64.

    A number that float64 rounds to zero is zero.
    """
    if len(text) > LONGEST_NUMBER or not _DECIMAL.fullmatch(text):
        return None
    value = float(text)
    if not math.isfinite(value):
        return None
    exponent = text.lower().partition("e")[2]
    return Fraction(value if abs(int(exponent or 0)) > MAX_EXPONENT else text)


def tokenize(text: str, file: str) -> list[Token]:
    """Return the tokens of a text; the last has the kind ``end``.

    Raises
    ------
    FileError
        At the first character that begins no token.
    """
    tokens: list[Token] = []
    offset, line = 0, 1
    while offset < len(text):
        match = _WORDS.match(text, offset)
        if match is None:
            raise FileError((file, line), f"{text[offset]!r} begins no word of the language")
        kind = match.lastgroup or ""
        if kind == "line":
            line += 1
        elif kind != "blank":
            tokens.append(Token(kind, match[0], line, offset))
        offset = match.end()
    tokens.append(Token("end", "end of file", line, len(text)))
    return tokens


class Cursor:
    """A position in a list of tokens.

    Parameters
    ----------
    tokens
        Result of `tokenize`.
    file
        Name of the file, in messages.
    """

    def __init__(self, tokens: list[Token], file: str) -> None:
        self.tokens, self.file = tokens, file
        self.index = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    @property
    def location(self) -> Location:
        """File and line of the next token."""
        return self.file, self.token.line

    def peek(self, ahead: int = 1) -> Token:
        """Return a token behind the next one, without advancing."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Return the next token and advance."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these signs or names."""
        token = self.tokens[self.index]
        return token.text in texts and token.kind in ("sign", "name")

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these."""
        return self.take() if self.at(*texts) else None

    def expect(self, *texts: str) -> Token:
        """Take the next token, which must be one of these."""
        if not self.at(*texts):
            wanted = " or ".join(map(repr, texts))
            raise self.error(f"{self.token.text!r} where {wanted} is expected")
        return self.take()

    def kind(self, kind: str, expected: str) -> Token:
        """Take the next token, which must have a kind."""
        if self.token.kind != kind:
            raise self.error(f"{self.token.text!r} where {expected} is expected")
        return self.take()

    def error(self, reason: str) -> FileError:
        """Return an error at the next token."""
        return FileError(self.location, reason)
