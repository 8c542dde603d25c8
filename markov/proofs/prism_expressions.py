"""Exact evaluation of expressions of the PRISM language; operators and functions of both exact readers.

With the standard library alone, and without the readers of `markov.files`.
"""

from __future__ import annotations

import operator
import re
from fractions import Fraction
from math import ceil, floor, trunc
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.proofs.checker import CertificateError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXACT", "OPERATORS", "ExactFunction", "ExactOperator", "Tokens", "always", "exact", "strict"]

TOKEN = re.compile(
    r"\s+|//[^\r\n]*|(?P<number>\d+\.\d*(?:[eE][+-]?\d+)?|\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<text>\"[^\"]*\")|(?P<sign>\.\.|->|<=>|=>|<=|>=|!=|[-+*/()\[\]{}<>=?:;,&|!'])"
)
MAX_EXPONENT = 1000


class Tokens:
    """Tokens of a PRISM file, and parser of its expressions into functions of a state."""

    def __init__(self, text: str) -> None:
        self.words: list[tuple[str, int]] = []
        # 0..3 is split, so that the number 0. does not take a dot of the range
        offset, text = 0, re.sub(r"(\d)\.\.", r"\1 ..", text)
        while offset < len(text):
            match = TOKEN.match(text, offset)
            if match is None:
                line = text.count("\n", 0, offset) + 1
                raise CertificateError(f"line {line}: {text[offset]!r} is unknown")
            if match.lastgroup:
                self.words.append((match.group(), text.count("\n", 0, offset) + 1))
            offset = match.end()
        self.index = 0

    def parser_of(self, words: list[tuple[str, int]]) -> Tokens:
        """Return a parser of other tokens, pairs of text and line number."""
        tokens = Tokens("")
        tokens.words = words
        return tokens

    @property
    def next_token(self) -> str:
        """Text of the next token; empty at the end."""
        return self.words[self.index][0] if self.index < len(self.words) else ""

    def refuse(self, reason: str) -> None:
        """Raise CertificateError with a reason and the line of the next token."""
        line = self.words[min(self.index, len(self.words) - 1)][1] if self.words else 0
        raise CertificateError(f"line {line}: {reason}")

    def word(self) -> str:
        """Return the text of the next token, and advance past it."""
        token = self.next_token
        if not token:
            self.refuse("the file ends here")
        self.index += 1
        return token

    def take(self, expected: str) -> None:
        """Advance past the next token; CertificateError unless it is the expected text."""
        if self.next_token != expected:
            self.refuse(f"{self.next_token!r}: must be {expected!r}")
        self.index += 1

    def skip(self, last: str) -> None:
        """Advance past all tokens up to and including the token ``last``."""
        while self.word() != last:
            pass

    def is_update(self) -> bool:
        """Return whether an update ``(x'=`` or ``true`` comes next, without a rate before it."""
        ahead = [word for word, _ in self.words[self.index : self.index + 3]]
        return (ahead[:1] == ["("] and ahead[2:] == ["'"]) or (ahead[:1] == ["true"] and ahead[1:2] in (["+"], [";"]))

    def expression(self, look: Any) -> Any:
        """Parse an expression into a function of the state; ``look(name, state)`` is the value of a name."""
        condition = self._implied(look)
        if self.next_token != "?":
            return condition
        self.take("?")
        yes = self.expression(look)
        self.take(":")
        no = self.expression(look)
        return lambda s: yes(s) if condition(s) is True else no(s)

    def _implied(self, look: Any) -> Any:
        """Parse an implication or equivalence (``=>``, ``<=>``), or an operand of it."""
        left = self._any(look)
        if self.next_token not in ("=>", "<=>"):
            return left
        sign, right = self.word(), self._any(look)
        if self.next_token in ("=>", "<=>"):
            self.refuse(f"{self.next_token!r}: needs parentheses here")
        return (lambda s: not left(s) or right(s)) if sign == "=>" else (lambda s: left(s) == right(s))

    def _any(self, look: Any) -> Any:
        """Parse a disjunction (``|``), or an operand of it."""
        parts = [self._all(look)]
        while self.next_token == "|":
            self.take("|")
            parts.append(self._all(look))
        return parts[0] if len(parts) == 1 else lambda s: any(p(s) for p in parts)

    def _all(self, look: Any) -> Any:
        """Parse a conjunction (``&``), or an operand of it."""
        parts = [self._not(look)]
        while self.next_token == "&":
            self.take("&")
            parts.append(self._not(look))
        return parts[0] if len(parts) == 1 else lambda s: all(p(s) for p in parts)

    def _not(self, look: Any) -> Any:
        """Parse a negation (``!``) or a comparison, or an operand of it."""
        if self.next_token == "!":
            self.take("!")
            inner = self._not(look)
            return lambda s: not inner(s)
        left = self._sum(look)
        if self.next_token not in _COMPARISONS:
            return left
        compare, right = _COMPARISONS[self.word()], self._sum(look)
        if self.next_token in _COMPARISONS:
            self.refuse(f"{self.next_token!r}: needs parentheses here")
        return lambda s: compare(left(s), right(s))

    def _sum(self, look: Any) -> Any:
        """Parse a sum or difference, or an operand of it."""
        left = self._product(look)
        while self.next_token in _SUMS:
            left = strict(_SUMS[self.word()], left, self._product(look))
        return left

    def _product(self, look: Any) -> Any:
        """Parse a product or quotient, or an operand of it."""
        left = self._signed(look)
        while self.next_token in _PRODUCTS:
            left = strict(_PRODUCTS[self.word()], left, self._signed(look))
        return left

    def _signed(self, look: Any) -> Any:
        """Parse an operand: a signed number, a name, a call, or an expression in parentheses."""
        if self.next_token == "-":
            self.take("-")
            inner = self._signed(look)
            return lambda s: -inner(s)
        word = self.word()
        if word == "(":
            inner = self.expression(look)
            self.take(")")
            return inner
        if word in ("true", "false"):
            return always(word == "true")
        if word[0].isdigit() or word[0] == ".":
            return always(exact(word))
        if not (word[0].isalpha() or word[0] == "_"):
            self.index -= 1
            self.refuse(f"{word!r}: an expression is expected")
        return self._call(word, look) if self.next_token == "(" else lambda s: look(word, s)

    def _call(self, name: str, look: Any) -> Any:
        """Parse a call of a function by its name."""
        if name not in FUNCTIONS:
            self.refuse(f"{name!r}: this reader knows {', '.join(FUNCTIONS)}")
        self.take("(")
        arguments = [self.expression(look)]
        while self.next_token == ",":
            self.take(",")
            arguments.append(self.expression(look))
        self.take(")")
        function = FUNCTIONS[name]
        return lambda s: function(*(argument(s) for argument in arguments))


def strict(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Return the expression ``operation(left, right)``, which always evaluates both operands."""
    return lambda s: operation(left(s), right(s))


def power(base: Any, exponent: Any) -> Any:
    """Return base to a whole power, exactly.

    CertificateError for a fraction as exponent, one beyond `MAX_EXPONENT` in size, or a negative one of a whole base.
    """
    if exponent != int(exponent) or abs(exponent) > MAX_EXPONENT:
        raise CertificateError(f"pow(..., {exponent}): must have a whole exponent of at most {MAX_EXPONENT}")
    if exponent < 0 and isinstance(base, int):
        raise CertificateError(f"pow({base}, {exponent}): a whole base must have an exponent of at least 0")
    return base ** int(exponent)


def remainder(value: Any, modulus: Any) -> Any:
    """Return the remainder of a whole number by a positive whole number, at least 0."""
    if value != int(value) or modulus != int(modulus) or modulus <= 0:
        raise CertificateError("mod: must have whole numbers, the second positive")
    return value % modulus


def exact(value: Any) -> Any:
    """Return a truth value, a whole number or a fraction, exactly, from a number or its text."""
    if isinstance(value, bool) or value in ("true", "false"):
        return value in (True, "true")
    if isinstance(value, str):
        return int(value) if value.lstrip("+-").isdigit() else Fraction(value)
    return value if isinstance(value, int) else Fraction(str(value))


def sign(value: Any) -> int:
    """Return the sign of a number: -1, 0 or 1."""
    return int(value > 0) - int(value < 0)


def round_half_up(value: Any) -> int:
    """Return the whole number nearest to a number, halves upwards."""
    nearest: int = floor(value + Fraction(1, 2))
    return nearest


class ExactOperator(NamedTuple):
    """A binary operator in exact arithmetic, with its signs in the languages."""

    call: Callable[[Any, Any], Any]
    prism: str
    jani: str


class ExactFunction(NamedTuple):
    """A function in exact arithmetic, with its names in the languages and the number of arguments, None: any."""

    call: Callable[..., Any]
    prism: str
    jani: str
    arguments: int | None


COMPARISONS = (
    ExactOperator(operator.eq, "=", "="), ExactOperator(operator.ne, "!=", "≠"), ExactOperator(operator.lt, "<", "<"),
    ExactOperator(operator.le, "<=", "≤"), ExactOperator(operator.gt, ">", ">"), ExactOperator(operator.ge, ">=", "≥"),
)  # fmt: skip
SUMS = ExactOperator(operator.add, "+", "+"), ExactOperator(operator.sub, "-", "-")
PRODUCTS = ExactOperator(operator.mul, "*", "*"), ExactOperator(lambda a, b: Fraction(a) / b, "/", "/")
OPERATORS = (*COMPARISONS, *SUMS, *PRODUCTS)
"""Operators of exact readers, by rank in the PRISM language; &, | and => decide from the left, in each reader."""

EXACT = (
    ExactFunction(min, "min", "min", None),
    ExactFunction(max, "max", "max", None),
    ExactFunction(floor, "floor", "floor", 1),
    ExactFunction(ceil, "ceil", "ceil", 1),
    ExactFunction(round_half_up, "round", "", 1),
    ExactFunction(trunc, "", "trc", 1),
    ExactFunction(abs, "", "abs", 1),
    ExactFunction(sign, "", "sgn", 1),
    ExactFunction(remainder, "mod", "%", 2),
    ExactFunction(power, "pow", "pow", 2),
)
"""All functions of exact readers; like these readers, it is independent of `markov.files.language`."""
FUNCTIONS = {entry.prism: entry.call for entry in EXACT if entry.prism}
_COMPARISONS, _SUMS, _PRODUCTS = ({entry.prism: entry.call for entry in rank} for rank in (COMPARISONS, SUMS, PRODUCTS))


def always(value: Any) -> Callable[[Any], Any]:
    """Return an expression, a function of the state, with the same value in all states."""
    return lambda _: value
