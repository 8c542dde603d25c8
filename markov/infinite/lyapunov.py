"""Lyapunov functions of chains with infinitely many states, verified for all of them.

V >= 0 with finite sublevel sets, and with a drift QV <= -w in all states outside of a finite set, w >= 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from markov.generators.unbounded.polynomials import (
    Terms,
    Unfollowed,
    added,
    multiplied,
    terms_of,
)
from markov.generators.unbounded.runs import Part, bounds, parts_of
from markov.infinite.bases import Basis, Term, bases_of, values_at
from markov.infinite.programs import Condition, Program, solve_program
from markov.infinite.samples import compare, compare_stops

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from markov.generators.unbounded.hulls import Hull
    from markov.generators.unbounded.layouts import Layout, Mode

__all__ = ["Lyapunov", "Wanted", "find_lyapunov"]

GROWTH = 1.5
PASSES = (100, 20_000)  # sides of the finite set, up to which all sums are tried
MAX_INNER = 300_000  # states of the finite set
SLOPE = 1e-3  # of V, where its drift is -1
ONE = Fraction(1)
Cost = Callable[[Any], Any]
Stops = Callable[[Any], bool]


class Lyapunov(NamedTuple):
    """V with QV <= -w outside of a finite set of states.

    Attributes
    ----------
    hull
        The states.
    basis, coefficients
        V, as a sum.
    side
        The finite set has the states whose components without an end are below their least values plus
        this.
    parts
        Number of parts of the other states in which the drift was verified.
    least
        A lower bound on V.
    """

    hull: Hull
    basis: Basis
    coefficients: tuple[Fraction, ...]
    side: int
    parts: int
    least: float

    def at(self, states: Sequence[Any]) -> NDArray[np.float64]:
        """Return V in some states, shape (states,)."""
        return values_at(self.basis, self.hull.layout, self.coefficients, states)

    def inner(self) -> list[tuple[Mode, tuple[range, ...]]]:
        """Return the finite set, as ranges of the components in each mode."""
        found = []
        for mode, low in self.hull.low.items():
            ends = zip(low, self.hull.high[mode], strict=True)
            ranges = (range(a, a + self.side) if b == math.inf else range(a, int(b) + 1) for a, b in ends)
            found.append((mode, tuple(ranges)))
        return found

    def at_inner(self) -> float:
        """Return the largest V in the finite set."""
        layout = self.hull.layout
        states = [layout.state(mode, places) for mode, ranges in self.inner() for places in product(*ranges)]
        return float(self.at(states).max())

    def __str__(self) -> str:
        """Write V as a formula."""
        layout = self.hull.layout
        if self.basis.function is not None:
            name = getattr(self.basis.function, "__name__", "lyapunov")
            return f"{float(self.coefficients[0]):.4g} {'' if name == '<lambda>' else name}(s)"
        others = [layout.space.names[k] for k in layout.others]
        pairs = zip(self.coefficients, self.basis.terms, strict=True)
        terms = [f"{float(a):.4g} {term.written(layout.names, others)}" for a, term in pairs if a]
        return " + ".join(terms).replace("+ -", "- ")


class Wanted(NamedTuple):
    """What a drift is to be in a state: at most -w, unless the chain has stopped.

    Attributes
    ----------
    cost
        A function f of the state; w = 1 + |f|. None: w = 1.
    stops
        Whether the chain stops in a state: there the drift does not count. None: it stops nowhere.
    """

    cost: Cost | None = None
    stops: Stops | None = None

    def stops_in(self, state: Any) -> bool:
        """Return whether the chain stops in all states of a box; False where that cannot be followed."""
        if self.stops is None:
            return False
        try:
            return bool(self.stops(state))
        except Unfollowed:
            return False


def find_lyapunov(hull: Hull, given: Basis | None = None, wanted: Wanted = Wanted()) -> Lyapunov:  # noqa: B008
    """Return a Lyapunov function of a chain.

    Parameters
    ----------
    hull
        Its states.
    given
        A user's own function; None: powers of the components are tried.
    wanted
        What its drift is to be, and where.

    Raises
    ------
    Unfollowed
        Where none was found, or the rules cannot be followed.
    """
    bases = bases_of(hull) if given is None else [given]
    for mode, parts in hull.parts.items():
        for part in parts:
            compare(hull.layout, mode, part, part.result)
    first = 1
    for most in PASSES:
        for basis in bases:
            for side in _sides(first, most):
                if _inner_size(hull, side) > MAX_INNER:
                    break
                found = _with_basis(hull, basis, side, wanted)
                if found is not None:
                    return found
        first = most
    if wanted.cost is not None:
        raise Unfollowed("no function of degree 2 or less was found whose drift is at most -(1 + |f|)")
    where = "outside of finitely many states"
    if given is None:
        said = "no Lyapunov function of degree 2 or less was found"
        said += f": give one, lyapunov=, whose drift is at most -1 {where}"
    else:
        said = f"the drift of lyapunov= is not proved to be at most a negative number {where}"
    raise Unfollowed(f"{said}. An unstable chain has none")


def _sides(first: int, most: int) -> list[int]:
    found, side = [], 1
    while side <= most:
        if side > first or first == 1:
            found.append(side)
        side = max(side + 1, int(side * GROWTH))
    return found


def _inner_size(hull: Hull, side: int) -> float:
    return sum(
        math.prod(side if high == math.inf else high - low + 1 for low, high in zip(a, b, strict=True))
        for a, b in zip(hull.low.values(), hull.high.values(), strict=True)
    )


def _with_basis(hull: Hull, basis: Basis, side: int, wanted: Wanted) -> Lyapunov | None:
    conditions: list[Condition] = []
    checked: list[tuple[Mode, Part]] = []
    for mode, corner, sides in outer_boxes(hull, side):
        parts = parts_of(_evaluated(hull, mode, basis, wanted), corner, sides)
        for part in parts:
            if part.refused is not None:
                raise Unfollowed(part.refused)
            if part.result is None:
                compare_stops(hull.layout, mode, part, wanted.stops)
                continue
            conditions.append(_condition(part))
            checked.append((mode, part))
    found = solve_program(Program(conditions, _weights(basis, side), _growth(hull, basis)))
    if found is None:
        return None
    least = _least(hull, basis, found)
    for mode, part in checked:
        compare(hull.layout, mode, part, part.result.moves)
    return Lyapunov(hull, basis, tuple(found), side, len(conditions), least)


def outer_boxes(hull: Hull, side: int) -> list[tuple[Mode, list[int], tuple[int | None, ...]]]:
    """Return boxes that cover the states outside of the finite set with this side."""
    found = []
    for mode, low in hull.low.items():
        for k, high in enumerate(hull.high[mode]):
            if high == math.inf:
                corner = [*low[:k], low[k] + side, *low[k + 1 :]]
                found.append((mode, corner, hull.sides(mode, corner)))
    return found


class Drift(NamedTuple):
    """What is computed in a part: the moves, the drift of each function, and w."""

    moves: list[Any]
    drifts: tuple[Terms, ...]
    cost: Terms


def _evaluated(hull: Hull, mode: Mode, basis: Basis, wanted: Wanted) -> Callable[[list[Any]], Drift | None]:
    """Return a function that computes the drifts in a box of states; None: the chain stops there."""
    layout, cost = hull.layout, wanted.cost

    def evaluate(places: list[Any]) -> Drift | None:
        width = len(places)
        if wanted.stops_in(layout.state(mode, places)):
            return None
        moves = layout.moves(mode, places)
        here = basis.at(layout, mode, places)
        sums: list[Terms] = [{} for _ in here]
        for there, targets, rate in moves:
            own = terms_of(rate, width) or {}
            for j, (before, after) in enumerate(zip(here, basis.at(layout, there, targets), strict=True)):
                change = added(_known(after, width), _known(before, width), -1)
                sums[j] = added(sums[j], multiplied(own, change))
        one: Terms = {(0,) * width: (ONE, ONE)}
        more = {} if cost is None else _size(_known(cost(layout.state(mode, places)), width))
        return Drift(moves, tuple(sums), added(one, more))

    return evaluate


def _known(value: Any, width: int) -> Terms:
    terms = terms_of(value, width)
    if terms is None:
        raise Unfollowed(f"a value of {type(value).__name__} where a number is expected")
    return terms


def _size(terms: Terms) -> Terms:
    """Return a polynomial that is at least |f| for y >= 0."""
    found = {}
    for m, (low, high) in terms.items():
        size = max(abs(low), abs(high))
        found[m] = (size, size)
    return found


def _condition(part: Part) -> Condition:
    drift: Drift = part.result
    facts = list(part.facts)
    width = len(part.sides)
    for k, side in enumerate(part.sides):
        if side:
            own = tuple(int(j == k) for j in range(width))
            end = Fraction(side)
            facts.append({(0,) * width: (end, end), own: (-ONE, -ONE)})
    return Condition(drift.drifts, drift.cost, tuple(facts))


def _weights(basis: Basis, side: int) -> list[float]:
    """Return the size of each function on the edge of the finite set."""
    if basis.function is not None:
        return [1.0]
    return [float(max(side, 2)) ** term.degree for term in basis.terms]


def _growth(hull: Hull, basis: Basis) -> list[tuple[dict[int, float], dict[int, float], float]]:
    """Return lower bounds on sums of coefficients, by which V grows: (factors, factors of sizes, bound).

    With e_i the coefficient of x_i^2 less half the sizes of those of x_i x_j, and l_i that of x_i less the
    sizes of those in single modes, V >= sum e_i x_i^2 + l_i x_i less a constant: e_i and l_i are to be >= 0,
    and one of them > 0 where x_i has no end.
    """
    if basis.function is not None:
        return [({0: 1.0}, {}, SLOPE)]
    index = {term: j for j, term in enumerate(basis.terms)}
    width = len(hull.layout.free)
    found = []
    for k in range(width):
        linear = {index[_power(width, k)]: 1.0}
        modes = {
            j: 1.0
            for j, term in enumerate(basis.terms)
            if term.degree == 1 and term.powers[k] == 1 and term.place is not None
        }
        square = index.get(_power(width, k, k))
        pure = {} if square is None else {square: 1.0}
        mixed = {index[_power(width, k, other)]: 0.5 for other in range(width) if pure and other != k}
        endless = any(high[k] == math.inf for high in hull.high.values())
        found.append((linear, modes, 0.0))
        if pure:
            found.append((pure, mixed, 0.0))
        if endless:
            found.append(({**linear, **pure}, {**modes, **mixed}, SLOPE))
    return found


def _power(width: int, *places: int) -> Term:
    return Term(tuple(places.count(k) for k in range(width)))


def _least(hull: Hull, basis: Basis, found: Sequence[Fraction]) -> float:
    """Return a lower bound on V, in the states of the hull."""
    if basis.function is not None:
        return float(found[0]) * min(_least_given(hull, basis), 0.0)
    least = 0.0
    for a, term in zip(found, basis.terms, strict=True):
        if not term.degree:
            least -= abs(float(a))
        elif term.degree == 1:
            k = term.powers.index(1)
            lowest = min(low[k] for low in hull.low.values())
            least -= abs(float(a)) * max(-lowest, 0)
    return least * (1.0 + 1e-9)


def _given_at(basis: Basis, layout: Layout, mode: Mode, places: list[Any]) -> Any:
    return basis.at(layout, mode, places)[0]


def _least_given(hull: Hull, basis: Basis) -> float:
    """Return a lower bound on a user's function.

    Raises
    ------
    Unfollowed
        Unless it is proved to grow with each component without an end.
    """
    least = math.inf
    for mode, low in hull.low.items():
        parts = parts_of(partial(_given_at, basis, hull.layout, mode), low, hull.sides(mode, low))
        for part in parts:
            if part.refused is not None:
                raise Unfollowed(f"lyapunov: {part.refused}")
            terms = _known(part.result, len(low))
            falls = any(bottom < 0 for m, (bottom, _) in terms.items() if any(m))
            grows = all(
                any(m[k] and sum(m) == m[k] and bottom > 0 for m, (bottom, _) in terms.items()) for k in part.unbounded
            )
            if falls or not grows:
                raise Unfollowed("lyapunov= is not proved to grow with every component without an end")
            least = min(least, float(bounds(terms, part.sides)[0]))
    return least
