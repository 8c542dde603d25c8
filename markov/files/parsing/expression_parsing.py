"""Expressions of the PRISM language and of properties, from tokens to trees."""

from __future__ import annotations

import math
from typing import Any

from markov.files.functions import names_of_language
from markov.files.parsing.tokens import Cursor
from markov.files.syntax import Call, Chain, Choice, Expression, Label, Literal, Name, Negation

__all__ = ["ExpressionParser"]

MAX_DEPTH = 60  # parentheses and the like inside of each other
MAX_NUMBER_LENGTH = 400  # characters
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
NOT_RANK = RANKS.index(("!",))
_RANK_OF = {sign: rank for rank, signs in enumerate(RANKS) for sign in signs if rank != NOT_RANK}
POWER_RANK = RANKS.index(("^",))
FUNCTIONS = names_of_language("prism")


class ExpressionParser:
    """Parser of expressions.

    Parameters
    ----------
    cursor
        Position in the tokens; it advances.
    """

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self._depth = 0

    def expression(self) -> Any:
        """Read an expression.

        Raises
        ------
        FileError
            With the line of the first unexpected token, or of an expression that is nested too deeply.
        """
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.cursor.error(f"expressions nested more than {MAX_DEPTH} deep")
        line, cases = self.cursor.token.line, []
        value: Expression = self._binary(0)
        while self.cursor.accept("?"):
            case_value = self.expression()
            self.cursor.expect(":")
            cases.append((value, case_value))
            value = self._binary(0)
        self._depth -= 1
        return Choice(tuple(cases), value, line) if cases else value

    def _binary(self, lowest: int) -> Expression:
        """Read operands joined by operators of at least this rank."""
        line = self.cursor.token.line
        tree = self._unary()
        while (rank := self._rank()) >= lowest:
            operands = []
            while self._rank() == rank:
                sign = self.cursor.take().text
                operands.append((sign, self._binary(rank + 1)))
            if rank == POWER_RANK:
                for _, exponent in operands:
                    tree = Call("pow", (tree, exponent), line)
            else:
                tree = Chain(tree, tuple(operands), line)
        return tree

    def _rank(self) -> int:
        """Return the rank of the next operator; -1 if another token follows."""
        token = self.cursor.token
        if token.kind != "sign" or (token.text == "=" and self.cursor.peek().text == "?"):
            return -1  # =? belongs to a property
        return _RANK_OF.get(token.text, -1)

    def _unary(self) -> Expression:
        """Parse an expression with prefix operators: ! on comparisons, - on factors."""
        line, sign, count = self.cursor.token.line, "", 0
        while self.cursor.at("!", "-", "+"):
            if sign and (self.cursor.token.text == "!") != (sign == "!"):
                break
            prefix = self.cursor.take().text
            sign, count = ("!" if prefix == "!" else "-"), count + (prefix != "+")
        if not sign:
            return self.primary()  # type: ignore[no-any-return]
        operand = self._binary(NOT_RANK + 1) if sign == "!" else self._nested_unary()
        return Negation(sign, operand, line) if count % 2 else operand

    def _nested_unary(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.cursor.error(f"expressions nested more than {MAX_DEPTH} deep")
        operand = self._unary()
        self._depth -= 1
        return operand

    def primary(self) -> Any:
        """Parse a number, a name, a function, a label or an expression in parentheses."""
        cursor = self.cursor
        line = cursor.token.line
        if cursor.accept("("):
            inner = self.expression()
            cursor.expect(")")
            return inner
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
        """Raise FileError if the next token is the parenthesis of an unknown function."""
        before = self.cursor.tokens[max(self.cursor.index - 1, 0)]
        if self.cursor.at("(") and before.kind == "name":
            self._function(before.text)

    def _arguments(self) -> tuple[Expression, ...]:
        arguments = [self.expression()]
        while self.cursor.accept(","):
            arguments.append(self.expression())
        self.cursor.expect(")")
        return tuple(arguments)

    def _number(self, text: str) -> int | float:
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
