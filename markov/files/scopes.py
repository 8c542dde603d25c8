"""Scopes: values of constants, variables and formulas, and of expressions with renamed names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from markov.files.errors import FileError
from markov.files.functions import function
from markov.files.syntax import Call, Chain, Choice, Expression, Label, Literal, Name, Negation
from markov.files.values import Value, chain, choose, constant, negate

__all__ = ["Scope"]

MAX_PARTS = 5_000_000
"""Maximum number of parts of expressions, formulas counted under each renaming."""


class Scope:
    """Names and their meaning.

    Parameters
    ----------
    file
        Name of the file, in messages.
    symbols
        Meanings of constants and variables. May grow.
    formulas
        Expressions by name.
    labels
        Function from a name in quotes to its meaning; None: no labels.
    """

    def __init__(
        self,
        file: str,
        symbols: dict[str, Value],
        formulas: Mapping[str, Expression] | None = None,
        labels: Any = None,
    ) -> None:
        self.file, self.symbols = file, symbols
        self.formulas, self.labels = formulas or {}, labels
        self._formula_values: dict[Any, Value] = {}
        self._open_formulas: list[str] = []
        self._parts = [0]

    def value(self, expression: Any, renamed: Mapping[str, str] | None = None) -> Value:
        """Return the value of an expression after renaming.

        Raises
        ------
        FileError
            With the line, for unknown names, circular formulas and wrong types.
        """
        location = self.file, expression.line
        self._parts[0] += 1
        if self._parts[0] > MAX_PARTS:
            raise FileError(location, f"expressions of more than {MAX_PARTS} parts")
        match expression:
            case Literal(literal):
                return constant(literal)
            case Name(name):
                return self._name_value((renamed or {}).get(name, name), location, renamed)
            case Label(name):
                return self._label_value(name, location)
            case Negation(sign, of):
                return negate(sign, self.value(of, renamed), location)
            case Chain(first, rest):
                parts = [(sign, self.value(part, renamed)) for sign, part in rest]
                return chain(self.value(first, renamed), parts, location)
            case Choice(cases, otherwise):
                pairs = [(self.value(c, renamed), self.value(v, renamed)) for c, v in cases]
                return choose(pairs, self.value(otherwise, renamed), location)
            case Call(name, of):
                return function(name, [self.value(part, renamed) for part in of], location)
        raise FileError(location, "an operator of properties where a value is expected")

    def _name_value(self, name: str, location: Any, renamed: Mapping[str, str] | None) -> Value:
        if name in self.symbols:
            return self.symbols[name]
        if name not in self.formulas:
            raise FileError(location, f"{name!r} is not defined")
        key = name, tuple(sorted((renamed or {}).items()))
        if key in self._formula_values:
            return self._formula_values[key]
        if name in self._open_formulas:
            raise FileError(location, f"{' -> '.join([*self._open_formulas, name])}: formulas in a circle")
        if len(self._open_formulas) > 100:
            raise FileError(location, "formulas nested more than 100 deep")
        self._open_formulas.append(name)
        plain = self.value(self.formulas[name], renamed)
        self._open_formulas.pop()
        self._formula_values[key] = _memoized(plain)
        return self._formula_values[key]

    def _label_value(self, name: str, location: Any) -> Value:
        meaning = None if self.labels is None else self.labels(name)
        if meaning is None:
            raise FileError(location, f'"{name}" is not defined')
        value: Value = meaning
        return value


def _memoized(value: Value) -> Value:
    """Return the value with a cache per batch of states."""
    if value.fixed:
        return value
    run = value.run
    return replace(value, run=lambda c: c.memoize(run))
