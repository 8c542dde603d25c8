"""Scopes: values of constants, variables and formulas, and of expressions with renamed names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markov.files.errors import FileError
from markov.files.functions import function
from markov.files.syntax import Call, Chain, Choice, Expression, Label, Literal, Name, Negation
from markov.files.values import Value, chained, chosen, constant, negated

__all__ = ["Scope"]

MAX_PARTS = 5_000_000
"""Parts of expressions, with those of formulas under each renaming."""


class Scope:
    """Names and their meaning.

    Parameters
    ----------
    file
        In messages.
    known
        Meanings of constants and variables. May grow.
    formulas
        Expressions that names stand for.
    labels
        Meanings of names in quotes; a function that is asked for them, or None: there are none.
    """

    def __init__(
        self,
        file: str,
        known: dict[str, Value],
        formulas: Mapping[str, Expression] | None = None,
        labels: Any = None,
    ) -> None:
        self.file, self.known = file, known
        self.formulas, self.labels = formulas or {}, labels
        self._found: dict[Any, Value] = {}
        self._open: list[str] = []
        self._parts = [0]

    def value(self, expression: Any, renamed: Mapping[str, str] | None = None) -> Value:
        """Return the value of an expression after renaming.

        Raises
        ------
        FileError
            With the line, for unknown names, formulas in a circle and wrong types.
        """
        place = self.file, expression.line
        self._parts[0] += 1
        if self._parts[0] > MAX_PARTS:
            raise FileError(place, f"expressions of more than {MAX_PARTS} parts")
        match expression:
            case Literal(literal):
                return constant(literal)
            case Name(name):
                return self._named((renamed or {}).get(name, name), place, renamed)
            case Label(name):
                return self._labelled(name, place)
            case Negation(sign, of):
                return negated(sign, self.value(of, renamed), place)
            case Chain(first, rest):
                parts = [(sign, self.value(part, renamed)) for sign, part in rest]
                return chained(self.value(first, renamed), parts, place)
            case Choice(cases, otherwise):
                pairs = [(self.value(c, renamed), self.value(v, renamed)) for c, v in cases]
                return chosen(pairs, self.value(otherwise, renamed), place)
            case Call(name, of):
                return function(name, [self.value(part, renamed) for part in of], place)
        raise FileError(place, "an operator of properties where a value is expected")

    def _named(self, name: str, place: Any, renamed: Mapping[str, str] | None) -> Value:
        if name in self.known:
            return self.known[name]
        if name not in self.formulas:
            raise FileError(place, f"{name!r} is not defined")
        key = name, tuple(sorted((renamed or {}).items()))
        if key in self._found:
            return self._found[key]
        if name in self._open:
            raise FileError(place, f"{' -> '.join([*self._open, name])}: formulas in a circle")
        if len(self._open) > 100:
            raise FileError(place, "formulas nested more than 100 deep")
        self._open.append(name)
        plain = self.value(self.formulas[name], renamed)
        self._open.pop()
        self._found[key] = _once(plain)
        return self._found[key]

    def _labelled(self, name: str, place: Any) -> Value:
        found = None if self.labels is None else self.labels(name)
        if found is None:
            raise FileError(place, f'"{name}" is not defined')
        value: Value = found
        return value


def _once(value: Value) -> Value:
    """Return the same value, remembered over the states that it was evaluated in."""
    if value.fixed:
        return value
    run = value.run
    return replace(value, run=lambda c: c.remembered(run))
