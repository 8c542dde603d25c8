"""Signs of kinetic laws, read off their formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from markov.files.syntax import Call, Chain, Choice, Expression, Literal, Name, Negation, names_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markov.files.binding import Instance

__all__ = ["LawSigns", "vanishes"]

NOT_NEGATIVE = {"abs", "arccos", "arccosh", "cosh", "exp", "factorial", "mod", "sqrt"}
KEEP_SIGN = {"arcsin", "arcsinh", "arctan", "arctanh", "ceil", "floor", "round", "sgn", "sinh", "tanh", "trc", "whole"}
"""Functions whose value has the sign of their argument, or is 0."""


@dataclass(frozen=True)
class Signs:
    """Whether a value may be negative, and whether it may be positive."""

    negative: bool
    positive: bool

    def __neg__(self) -> Signs:
        """Return the signs of the negated value."""
        return Signs(self.positive, self.negative)

    def __or__(self, other: Signs) -> Signs:
        """Return the signs of a sum, or of either of two values."""
        return Signs(self.negative or other.negative, self.positive or other.positive)

    def __mul__(self, other: Signs) -> Signs:
        """Return the signs of a product."""
        return Signs(
            (self.negative and other.positive) or (self.positive and other.negative),
            (self.negative and other.negative) or (self.positive and other.positive),
        )


POSITIVE, ANY = Signs(negative=False, positive=True), Signs(negative=True, positive=True)
ROUNDING = 1e-9  # of amounts at which a factor is 0


class Line(NamedTuple):
    """``slope * amount + offset``; the amount ``""``: a number, with the slope 0."""

    amount: str
    slope: float
    offset: float


class LawSigns:
    """Signs of formulas in states whose amounts are unbounded integers from 0 on.

    A formula that may be negative is a difference, or a function that has both signs. Limits of amounts play no part:
    they truncate a model, and do not change the meaning of its laws.

    Parameters
    ----------
    instance
        The program with its constants.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._signs: dict[int, Signs] = {}  # by the identity of a tree, since parts are shared

    def of(self, tree: Expression) -> Signs:
        """Return the possible signs of a formula; both if they are not evident."""
        if id(tree) not in self._signs:
            signs = self._of(tree)
            value = self._constant(tree) if signs == ANY else None
            self._signs[id(tree)] = signs if value is None else _of_number(value)
        return self._signs[id(tree)]

    def _of(self, tree: Expression) -> Signs:
        match tree:
            case Literal(value):
                return _of_number(value)
            case Name(name):
                if name in self.instance.program.formulas:
                    return self.of(self.instance.program.formulas[name])
                constants = self.instance.constants
                return _of_number(constants[name]) if name in constants else POSITIVE
            case Negation("-", of):
                return -self.of(of)
            case Chain(first, rest) if all(sign in ("+", "-") for sign, _ in rest):
                signs = self.of(first)
                for sign, term in rest:
                    signs |= self.of(term) if sign == "+" else -self.of(term)
                return signs
            case Chain() if _is_product(tree):
                return self._product(*_factors(tree))
            case Choice(cases, otherwise):
                signs = self.of(otherwise)
                for _, branch in cases:
                    signs |= self.of(branch)
                return signs
            case Call(name, of):
                return self._call(name, of)
        return ANY

    def _product(self, factors: Iterable[Expression], divisors: Iterable[Expression]) -> Signs:
        """Return the signs of a product: X (X - 1) (X - 2) is never negative, as X is a whole number."""
        signs = POSITIVE
        roots: dict[str, list[float]] = {}  # by amount, of factors that grow with it
        for factor in factors:
            line = self._line(factor)
            if line is not None and line.slope > 0.0:
                roots.setdefault(line.amount, []).append(-line.offset / line.slope)
            else:
                signs *= self.of(factor)
        for zeros in roots.values():
            integer_zeros = {round(zero) for zero in zeros if math.isclose(zero, round(zero), abs_tol=ROUNDING)}
            below = range(math.ceil(max(zeros) - ROUNDING))  # amounts at which some factor is negative
            if not integer_zeros.issuperset(below):
                signs *= ANY
        for divisor in divisors:
            signs *= self.of(divisor)
        return signs

    def _line(self, tree: Expression) -> Line | None:
        """Return a formula that is linear in at most one amount; None for other formulas."""
        value = self._constant(tree)
        if value is not None:
            return Line("", 0.0, value)
        match tree:
            case Name(name) if name not in self.instance.program.formulas:
                return Line(name, 1.0, 0.0)
            case Chain(first, rest):
                line = self._line(first)
                for sign, part in rest:
                    operand = self._line(part)
                    line = None if line is None or operand is None else _combine(line, sign, operand)
                return line
        return None

    def _constant(self, tree: Expression) -> float | None:
        """Return the value of a formula without amounts and rules; None for other formulas."""
        if any(name not in self.instance.constants for name in names_in(tree)):
            return None
        return float(self.instance.scope.value(tree).single())

    def _call(self, name: str, of: tuple[Expression, ...]) -> Signs:
        signs = [self.of(part) for part in of]
        match name:
            case "max":
                return Signs(all(s.negative for s in signs), any(s.positive for s in signs))
            case "min":
                return Signs(any(s.negative for s in signs), all(s.positive for s in signs))
            case "power":
                exponent = self._constant(of[1])
                return POSITIVE if not signs[0].negative or (exponent is not None and exponent % 2 == 0) else ANY
            case "ln" | "log10" | "log":
                return POSITIVE if self._is_from_one(of[0]) else ANY
        if name in NOT_NEGATIVE:
            return POSITIVE
        return signs[0] if name in KEEP_SIGN else ANY

    def _is_from_one(self, tree: Expression) -> bool:
        """Whether a formula is a sum of a number >= 1 and terms that are never negative."""
        if not isinstance(tree, Chain) or any(sign != "+" for sign, _ in tree.rest):
            return False
        terms = [tree.first, *(term for _, term in tree.rest)]
        return not self.of(tree).negative and any((self._constant(term) or 0.0) >= 1.0 for term in terms)


def _of_number(value: float) -> Signs:
    return ANY if math.isnan(value) else Signs(negative=value < 0, positive=value > 0)


def _combine(a: Line, sign: str, b: Line) -> Line | None:
    """Return the sum, difference, product or quotient of two formulas where it is linear in one amount."""
    if a.amount and b.amount:
        return None
    amount = a.amount or b.amount
    match sign:
        case "+":
            return Line(amount, a.slope + b.slope, a.offset + b.offset)
        case "-":
            return Line(amount, a.slope - b.slope, a.offset - b.offset)
        case "*":
            factor, line = (a.offset, b) if b.amount else (b.offset, a)
            return Line(amount, line.slope * factor, line.offset * factor)
        case "/" if not b.amount and b.offset != 0.0:
            return Line(amount, a.slope / b.offset, a.offset / b.offset)
    return None


def _factors(tree: Expression) -> tuple[list[Expression], list[Expression]]:
    """Return the factors and the divisors of a product, of nested products as well."""
    if not _is_product(tree):
        return [tree], []
    assert isinstance(tree, Chain)
    factors, divisors = _factors(tree.first)
    for sign, part in tree.rest:
        if sign == "*":
            more, fewer = _factors(part)
            factors += more
            divisors += fewer
        else:
            divisors.append(part)
    return factors, divisors


def _is_product(tree: Expression) -> bool:
    return isinstance(tree, Chain) and all(sign in ("*", "/") for sign, _ in tree.rest)


def vanishes(tree: Expression, name: str) -> bool:
    """Whether a law certainly vanishes without molecules of a species: a product with the species as a factor."""
    match tree:
        case Name(other):
            return other == name
        case Chain() if _is_product(tree):
            return any(vanishes(factor, name) for factor in _factors(tree)[0])
        case Call("power", (base, Literal(exponent))):
            return exponent > 0 and vanishes(base, name)
    return False
