"""Functions of which Lyapunov functions are sums: powers of components, and what a mode or an empty queue adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.errors import RuleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.unbounded.hulls import Hull
    from markov.generators.unbounded.layouts import Layout, Mode

__all__ = ["Basis", "Term", "bases_of", "given_basis"]

MAX_FEATURES = 60


class Term(NamedTuple):
    """A product of components, in some states only.

    Attributes
    ----------
    powers
        Of the components without an end.
    place, value
        Only where the component of the mode with this number has this value; None: everywhere.
    empty
        Only where this component is zero; None: everywhere.
    """

    powers: tuple[int, ...]
    place: int | None = None
    value: Any = None
    empty: int | None = None

    def at(self, mode: Mode, places: Sequence[Any]) -> Any:
        """Return its value in a state, whose components may be polynomials."""
        if self.place is not None and mode[self.place] != self.value:
            return 0
        if self.empty is not None and places[self.empty] != 0:
            return 0
        found: Any = 1
        for value, power in zip(places, self.powers, strict=True):
            for _ in range(power):
                found = found * value
        return found

    @property
    def degree(self) -> int:
        """Sum of the powers."""
        return sum(self.powers)

    def written(self, names: Sequence[str], others: Sequence[str]) -> str:
        """Return the term as a formula."""
        parts = [
            name if power == 1 else f"{name}**{power}" for name, power in zip(names, self.powers, strict=True) if power
        ]
        if self.place is not None:
            parts.append(f"[{others[self.place]} == {self.value!r}]")
        if self.empty is not None:
            parts.append(f"[{names[self.empty]} == 0]")
        return " ".join(parts)


class Basis(NamedTuple):
    """Terms, or one function of a user."""

    terms: tuple[Term, ...]
    function: Callable[[Any], Any] | None = None

    @property
    def size(self) -> int:
        """Number of functions."""
        return 1 if self.function is not None else len(self.terms)

    def at(self, layout: Layout, mode: Mode, places: Sequence[Any]) -> list[Any]:
        """Return the value of each function in a state, whose components may be polynomials."""
        if self.function is not None:
            return [self.function(layout.state(mode, places))]
        return [term.at(mode, places) for term in self.terms]

    @property
    def degree(self) -> int:
        """Largest degree; that of a user's function is taken for two."""
        return max((term.degree for term in self.terms), default=2)


def bases_of(hull: Hull) -> list[Basis]:
    """Return the sums that are tried for a chain, the simplest first."""
    width = len(hull.layout.free)
    linear = [Term(_powers(width, (k,))) for k in range(width)]
    squares = [Term(_powers(width, pair)) for pair in combinations_with_replacement(range(width), 2)]
    modes, slopes, empty = [], [], []
    zero = (0,) * width
    for place, column in enumerate(zip(*hull.low, strict=True)):
        values = list(dict.fromkeys(column))
        if len(values) > 1:
            modes += [Term(zero, place, value) for value in values[1:]]
            slopes += [Term(_powers(width, (k,)), place, v) for v in values for k in range(width)]
            empty += [Term(zero, place, v, k) for v in values for k in range(width)]
    if len(modes) > MAX_FEATURES:
        modes = []
    found = [Basis(tuple(linear))]
    if modes:
        found.append(Basis((*linear, *modes)))
    if modes and len(empty) <= MAX_FEATURES:
        found.append(Basis((*linear, *modes, *empty)))
    found.append(Basis((*squares, *linear, *modes)))
    if modes and len(empty) + len(slopes) <= MAX_FEATURES:
        found.append(Basis((*squares, *linear, *modes, *slopes, *empty)))
    return found


def _powers(width: int, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(places.count(k) for k in range(width))


def given_basis(function: Any) -> Basis:
    """Return the basis of a user's function of the state."""
    if not callable(function):
        msg = "must be a function of the state, such as lambda s: s.n, or None"
        raise RuleError(f"lyapunov = {function!r}: {msg}")
    return Basis((), function)


def values_at(
    basis: Basis, layout: Layout, coefficients: Sequence[Fraction], states: Sequence[Any]
) -> NDArray[np.float64]:
    """Return a sum in some states, shape (states,)."""
    if basis.function is not None:
        scale = float(coefficients[0])
        return np.array([scale * float(basis.function(state)) for state in states])
    split = [layout.split(state) for state in states]
    free = np.array([places for _, places in split], dtype=np.float64).reshape(len(states), -1)
    found = np.zeros(len(states))
    for weight, term in zip(coefficients, basis.terms, strict=True):
        if not weight:
            continue
        part = np.full(len(states), float(weight))
        for column, power in zip(free.T, term.powers, strict=True):
            part *= column**power
        if term.place is not None:
            part *= [mode[term.place] == term.value for mode, _ in split]
        if term.empty is not None:
            part *= free[:, term.empty] == 0
        found += part
    return found
