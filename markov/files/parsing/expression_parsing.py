"""Expressions of the PRISM language and of properties, from words to trees."""

from __future__ import annotations

import math
from typing import Any

from markov.files.functions import names
from markov.files.parsing.tokens import Cursor
from markov.files.syntax import Call, Chain, Choice, Expression, Label, Literal, Name, Negation

__all__ = ["ExpressionParser"]

DEEPEST = 60  # parentheses and the like inside of each other
LONGEST_NUMBER = 400  # characters
RANKS = (
    ("=>",),
    ("<=>",),
    ("|",),
    ("&",),
    ("!",),
    ("=", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
    ("^",),
)
NOT = RANKS.index(("!",))
_RANK_OF = {sign: rank for rank, signs in enumerate(RANKS) for sign in signs if rank != NOT}
POWER = RANKS.index(("^",))
FUNCTIONS = names("prism")


class ExpressionParser:
    """Parser of expressions.

    Parameters
    ----------
    cursor
        Where to read; it is moved on.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._depth = 0

    def expression(self) -> Any:
        """Read an expression.

        Raises
        ------
        FileError
            With the line where it cannot go on, or where it is nested too deeply.
        """
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.cursor.error(f"expressions nested more than {DEEPEST} deep")
        line, cases = self.cursor.token.line, []
        found: Expression = self._ranked(0)
        while self.cursor.accept("?"):
            value = self.expression()
            self.cursor.expect(":")
            cases.append((found, value))
            found = self._ranked(0)
        self._depth -= 1
        return Choice(tuple(cases), found, line) if cases else found

    def _ranked(self, lowest: int) -> Expression:
        """Read operands joined by operators of this rank or stronger ones."""
        line = self.cursor.token.line
        found = self._prefixed()
        while (rank := self._rank()) >= lowest:
            rest = []
            while self._rank() == rank:
                sign = self.cursor.take().text
                rest.append((sign, self._ranked(rank + 1)))
            if rank == POWER:
                for _, exponent in rest:
                    found = Call("pow", (found, exponent), line)
            else:
                found = Chain(found, tuple(rest), line)
        return found

    def _rank(self) -> int:
        """Return the rank of the operator that comes next; -1: there is none."""
        token = self.cursor.token
        if token.kind != "sign" or (token.text == "=" and self.cursor.peek().text == "?"):
            return -1  # =? belongs to a property
        return _RANK_OF.get(token.text, -1)

    def _prefixed(self) -> Expression:
        """Parse an expression with prefix operators: ! on comparisons, - on factors."""
        line, sign, count = self.cursor.token.line, "", 0
        while self.cursor.at("!", "-", "+"):
            if sign and (self.cursor.token.text == "!") != (sign == "!"):
                break
            taken = self.cursor.take().text
            sign, count = ("!" if taken == "!" else "-"), count + (taken != "+")
        if not sign:
            return self.primary()  # type: ignore[no-any-return]
        found = self._ranked(NOT + 1) if sign == "!" else self._prefixed_once()
        return Negation(sign, found, line) if count % 2 else found

    def _prefixed_once(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.cursor.error(f"expressions nested more than {DEEPEST} deep")
        found = self._prefixed()
        self._depth -= 1
        return found

    def primary(self) -> Any:
        """Parse a number, a name, a function, a label or an expression in parentheses."""
        cursor = self.cursor
        line = cursor.token.line
        if cursor.accept("("):
            found = self.expression()
            cursor.expect(")")
            return found
        if cursor.token.kind == "number":
            return Literal(self._number(cursor.take().text), line)
        if cursor.token.kind == "text":
            return Label(cursor.take().text[1:-1], line)
        name = cursor.kind("name", "an expression").text
        if name in ("true", "false"):
            return Literal(name == "true", line)
        if name == "func":  # an older way to write functions
            cursor.expect("(")
            name = cursor.kind("name", "a function").text
            cursor.expect(",")
            return Call(self._function(name), self._arguments(), line)
        if name in FUNCTIONS and cursor.accept("("):  # F<=T (a | b) calls no function T
            return Call(FUNCTIONS[name], self._arguments(), line)
        return Name(name, line)

    def _function(self, name: str) -> str:
        if name not in FUNCTIONS:
            raise self.cursor.error(f"{name!r} is no function: must be one of {', '.join(FUNCTIONS)}")
        return FUNCTIONS[name]

    def check_no_call(self) -> None:
        """Raise FileError where the next word is the parenthesis of an unknown function."""
        before = self.cursor.tokens[max(self.cursor.place - 1, 0)]
        if self.cursor.at("(") and before.kind == "name":
            self._function(before.text)

    def _arguments(self) -> tuple[Expression, ...]:
        found = [self.expression()]
        while self.cursor.accept(","):
            found.append(self.expression())
        self.cursor.expect(")")
        return tuple(found)

    def _number(self, text: str) -> int | float:
        if len(text) > LONGEST_NUMBER:
            raise self.cursor.error(f"a number of more than {LONGEST_NUMBER} characters")
        if text.isdigit():
            whole = int(text)
            if whole < 2**62:
                return whole
            raise self.cursor.error(f"{text}: whole numbers must be below 2^62")
        value = float(text)
        if not math.isfinite(value):
            raise self.cursor.error(f"{text}: beyond the range of numbers")
        return value
