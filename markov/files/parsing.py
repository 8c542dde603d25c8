"""Tokens and expressions of the PRISM language and of properties."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from hopflow.text_files import compression_hint, stand_in_hint
from markov.files.language import (
    NEGATION_RANK,
    OPERATORS,
    POWER_RANK,
    Call,
    Chain,
    Choice,
    Expression,
    FileError,
    Label,
    Literal,
    Location,
    Name,
    Negation,
    names_of_language,
)

__all__ = [
    "EXPRESSION_GRAMMAR",
    "MAX_BYTES",
    "Construct",
    "Cursor",
    "ExpressionParser",
    "Token",
    "check_label_name",
    "decimal",
    "read_text",
    "tokenize",
]

# --------------------------------------------------------------------------------------------- grammar


class Construct(NamedTuple):
    """A row of the documentation's table of the language: a construct, an example, and whether it is refused.

    Attributes
    ----------
    part
        ``"model"`` (a declaration), ``"expression"`` or ``"property"``.
    name
        Description.
    example
        Text that a test reads; declarations stand beside two modules A and B (`tests/markov/files/test_parsers.py`).
    refused
        Part of the error message for a refused construct; empty if it is read.
    """

    part: str
    name: str
    example: str
    refused: str = ""


# ---------------------------------------------------------------------------------------------- tokens


MAX_BYTES = 64 * 2**20
"""Maximum size of a file."""

LONGEST_NUMBER = 400
"""Maximum number of characters of a number."""
MAX_EXPONENT = 400
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WORDS = re.compile(
    r"""
    (?P<blank>[ \t\f]+|//[^\r\n]*)
  | (?P<line>\r\n?|\n)
  | (?P<number>(?:[0-9]+\.(?!\.)[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
  | (?P<text>"[^"\r\n]*")
  | (?P<sign><=>|<=|>=|!=|=>|->|\.\.|[-+*/^=<>!&|?:;,.(){}\[\]'])
    """,
    re.VERBOSE,
)


FOREIGN_WORDS = {
    "and": "&", "or": "|", "not": "!", "xor": "!=", "in": "x=1 | x=2", "mod": "mod(x, y)", "==": "=", "**": "^",
}  # fmt: skip
"""What the language writes for words of other languages, by the word, which is a name or two signs here."""
FOREIGN_SIGNS = {
    "%": "mod(x, y)", "≤": "<=", "≥": ">=", "≠": "!=", "∧": "&", "∨": "|", "¬": "!", "“": "\"", "”": "\"",
}  # fmt: skip
"""What the language writes for signs that it does not have."""


class Token(NamedTuple):
    """A token: its kind (number, name, text, sign or end), its line, and the offset of its first character."""

    kind: str
    text: str
    line: int
    start: int


def read_text(path: str | Path) -> str:
    """Return the content of a UTF-8 file of at most 64 MiB as a string.

    A byte-order mark is skipped, and lines end in a line feed, also those that end in a carriage return in the file.

    Raises
    ------
    FileError
        If the file is larger than 64 MiB, not UTF-8, or stands in for another file.
    """
    path = Path(path)
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise FileError((path.name, None), f"larger than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileError((path.name, line), f"not UTF-8 text{compression_hint(content)}") from None
    if hint := stand_in_hint(text):
        raise FileError((path.name, None), hint)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def decimal(text: str) -> Fraction | None:
    """Return the decimal number in a string as an exact fraction; None for other strings and for overflow of float64.

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
    """Return the tokens of a text in the PRISM language; the last has the kind ``end``.

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
            sign = text[offset]
            hint = f": write {FOREIGN_SIGNS[sign]}" if sign in FOREIGN_SIGNS else ""
            raise FileError((file, line), f"{sign!r} begins no word of the language{hint}")
        kind = match.lastgroup or ""
        if kind == "line":
            line += 1
        elif kind != "blank":
            tokens.append(Token(kind, match[0], line, offset))
        offset = match.end()
    tokens.append(Token("end", "end of file", line, len(text)))
    return tokens


class Cursor:
    """A position in a list of tokens, with methods that inspect or consume the next token.

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
        """The next token, which is not consumed."""
        return self.tokens[self.index]

    @property
    def location(self) -> Location:
        """File and line of the next token."""
        return self.file, self.token.line

    def peek(self, ahead: int = 1) -> Token:
        """Return the token ``ahead`` positions after the next token, at most the last, without consuming any."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Consume the next token and return it."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Return whether the next token is one of these signs or names."""
        token = self.tokens[self.index]
        return token.text in texts and token.kind in ("sign", "name")

    def accept(self, *texts: str) -> Token | None:
        """Consume the next token and return it if it is one of these signs or names; otherwise return None."""
        return self.take() if self.at(*texts) else None

    def expect(self, *texts: str) -> Token:
        """Consume the next token and return it; FileError unless it is one of these signs or names."""
        if not self.at(*texts):
            wanted = " or ".join(map(repr, texts))
            raise self.error(f"{self.token.text!r} where {wanted} is expected")
        return self.take()

    def expect_kind(self, kind: str, expected: str) -> Token:
        """Consume the next token and return it; FileError unless it is of this kind, which ``expected`` describes."""
        if self.token.kind != kind:
            raise self.error(f"{self.token.text!r} where {expected} is expected")
        return self.take()

    def error(self, reason: str) -> FileError:
        """Return a FileError at the line of the next token; it names a word of another language there or before."""
        before, token = self.tokens[max(self.index - 1, 0)], self.token
        words = [word.text for word in (token, before) if word.kind == "name"]
        if token.kind == before.kind == "sign" and before.start + len(before.text) == token.start:
            words.append(before.text + token.text)
        word = next((word for word in words if word in FOREIGN_WORDS), None)
        hint = "" if word is None else f"; for {word!r} the language has {FOREIGN_WORDS[word]}"
        return FileError(self.location, f"{reason}{hint}")


# ----------------------------------------------------------------------------------------- expressions


MAX_DEPTH = 60  # of nested parentheses and operators
MAX_NUMBER_LENGTH = 400  # characters
RANKS = {"^": POWER_RANK, **{sign: entry.rank for sign, entry in OPERATORS.items()}}
RIGHT_RANKS = (RANKS["=>"], POWER_RANK)  # of operators that associate to the right, as in PRISM's grammar
FUNCTIONS = names_of_language("prism")


EXPRESSION_GRAMMAR = (
    Construct("expression", "Choices", "x = 0 ? 1 : y = 0 ? 2 : 3"),
    Construct("expression", "Logic", "(x = 0 => y = 0) & !(x = 1 | y = 1) <=> true"),
    Construct("expression", "Comparisons", "x <= 1 & x >= 0 & x < 2 & x > -1 & x = y & x != 2"),
    Construct("expression", "Arithmetic; 1 / 2 is 0.5", "-x + 2 * y - 1 / 2 + 2 ^ 3"),
    Construct(
        "expression",
        "Functions, listed in [Functions of expressions](#functions-of-expressions)",
        "pow(2, x) + max(x, y, 1)",
    ),
    Construct("expression", "Functions in the older form", "func(min, x, y)"),
    Construct("expression", "Other functions", "sqrt(x)", "'sqrt' is no function"),
)
"""Constructs that `ExpressionParser` reads or refuses."""


def check_label_name(token: Token, file: str) -> None:
    """Raise FileError for a label whose name, a text in quotes, is one that PRISM defines itself."""
    if token.text in ('"init"', '"deadlock"'):
        raise FileError((file, token.line), f"label {token.text} is built in: must have another name")


class ExpressionParser:
    """Recursive-descent parser of expressions of the PRISM language.

    Parameters
    ----------
    cursor
        Position in the tokens; it advances.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._depth = 0

    def expression(self) -> Any:
        """Consume an expression and return its tree.

        Raises
        ------
        FileError
            With the line of the first unexpected token, or of an expression that is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.cursor.error(f"expressions nested more than {MAX_DEPTH} deep")
        line, cases = self.cursor.token.line, []
        value: Expression = self._read_binary(0)
        while self.cursor.accept("?"):
            case_value = self.expression()
            self.cursor.expect(":")
            cases.append((value, case_value))
            value = self._read_binary(0)
        self._depth -= 1
        return Choice(tuple(cases), value, line) if cases else value

    def _read_binary(self, lowest: int) -> Expression:
        """Consume operands joined by operators of at least the rank ``lowest`` and return their tree."""
        line = self.cursor.token.line
        tree = self._read_unary()
        while (rank := self._next_rank()) >= lowest:
            operands = []
            while self._next_rank() == rank:
                sign = self.cursor.take().text
                operands.append((sign, self._read_binary(rank + 1)))
            if rank not in RIGHT_RANKS:
                tree = Chain(tree, tuple(operands), line)
                continue
            right = operands.pop()[1]
            for left in (*(operand for _, operand in reversed(operands)), tree):
                right = Call("pow", (left, right), line) if rank == POWER_RANK else Chain(left, (("=>", right),), line)
            tree = right
        return tree

    def _next_rank(self) -> int:
        """Return the rank of the binary operator that follows; -1 if none follows."""
        token = self.cursor.token
        if token.kind != "sign" or (token.text == "=" and self.cursor.peek().text == "?"):
            return -1  # =? belongs to a property
        return RANKS.get(token.text, -1)

    def _read_unary(self) -> Expression:
        """Consume an expression with prefix operators and return its tree: ! on comparisons, - on factors."""
        line, sign, count = self.cursor.token.line, "", 0
        while self.cursor.at("!", "-", "+"):
            if sign and (self.cursor.token.text == "!") != (sign == "!"):
                break
            prefix = self.cursor.take().text
            sign, count = ("!" if prefix == "!" else "-"), count + (prefix != "+")
        if not sign:
            return self.read_primary()  # type: ignore[no-any-return]
        operand = self._read_binary(NEGATION_RANK + 1) if sign == "!" else self._read_operand()
        return Negation(sign, operand, line) if count % 2 else operand

    def _read_operand(self) -> Expression:
        """Consume the operand of a minus sign, one level deeper, and return its tree."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.cursor.error(f"expressions nested more than {MAX_DEPTH} deep")
        operand = self._read_unary()
        self._depth -= 1
        return operand

    def read_primary(self) -> Any:
        """Consume a number, name, function, label or expression in parentheses and return its tree."""
        cursor = self.cursor
        line = cursor.token.line
        if cursor.accept("("):
            inner = self.expression()
            cursor.expect(")")
            return inner
        if cursor.token.kind == "number":
            return Literal(self._parse_number(cursor.take().text), line)
        if cursor.token.kind == "text":
            return Label(cursor.take().text[1:-1], line)
        name = cursor.expect_kind("name", "an expression").text
        if name in ("true", "false"):
            return Literal(name == "true", line)
        if name == "func":  # an older way to write functions
            cursor.expect("(")
            name = cursor.expect_kind("name", "a function").text
            cursor.expect(",")
            return Call(self._function_name(name), self._read_arguments(), line)
        if name in FUNCTIONS and cursor.accept("("):  # F<=T (a | b) calls no function T
            return Call(FUNCTIONS[name], self._read_arguments(), line)
        return Name(name, line)

    def _function_name(self, name: str) -> str:
        """Return the name in `FUNCTIONS` of a function of PRISM; FileError for other names."""
        if name not in FUNCTIONS:
            raise self.cursor.error(f"{name!r} is no function: must be one of {', '.join(FUNCTIONS)}")
        return FUNCTIONS[name]

    def check_no_call(self) -> None:
        """Raise FileError if the next token begins the arguments of an unknown function."""
        before = self.cursor.tokens[max(self.cursor.index - 1, 0)]
        if self.cursor.at("(") and before.kind == "name":
            self._function_name(before.text)

    def _read_arguments(self) -> tuple[Expression, ...]:
        """Consume expressions separated by commas, and the closing parenthesis, and return their trees."""
        arguments = [self.expression()]
        while self.cursor.accept(","):
            arguments.append(self.expression())
        self.cursor.expect(")")
        return tuple(arguments)

    def _parse_number(self, text: str) -> int | float:
        """Return the int or float that a token denotes; FileError beyond 2^62, or beyond float64."""
        if len(text) > MAX_NUMBER_LENGTH:
            raise self.cursor.error(f"a number of more than {MAX_NUMBER_LENGTH} characters")
        if text.isdigit():
            integer = int(text)
            if integer < 2**62:
                return integer
            raise self.cursor.error(f"{text}: whole numbers must be below 2^62")
        value = float(text)
        if not math.isfinite(value):
            raise self.cursor.error(f"{text}: beyond the range of numbers")
        return value
