"""Lyapunov functions of chains with infinitely many states, verified for all of them.

V >= 0 with finite sublevel sets, and with a drift QV <= -w in all states outside of a finite set, w >= 1. V is a sum of
terms (`Basis`): powers of components, and indicators of modes and of empty queues. For sums from simple to rich, and
finite sets from small to large:

1. The states outside of the finite set are covered by boxes, and a box is cut into parts in which the rules do the same
   (`markov.generators.unbounded`). In a part the drift of a term is a polynomial of the offsets y >= 0.
2. A drift is negative if all of its coefficients are negative, after products of facts of the part (polynomials >= 0 in
   it) with unknown factors >= 0 are added. That is a linear program in the coefficients of V and these factors.
3. Its solution is rounded to fractions and checked in exact arithmetic, so that no rounding of the solver enters.
4. In a sample of states of every part, the moves computed with polynomials are compared with plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.errors import RuleError
from markov.generators.hulls import bounds_at
from markov.generators.polynomials import Terms, Unfollowed, add_terms, multiply_terms, terms_of
from markov.generators.unbounded import Part, parts_of, polynomial_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.hulls import Hull
    from markov.generators.unbounded import Layout, Mode, Move

__all__ = ["Basis", "Drift", "Lyapunov", "find_lyapunov", "user_basis"]

SIDE_GROWTH = 1.5
MAX_SIDES = (100, 20_000)  # of the finite set: all bases are tried up to the first, then all up to the second
MAX_INNER_STATES = 300_000  # of the finite set
MAX_MODE_TERMS = 60
MIN_COEFFICIENT = 1e-3  # of a growing term of V, for a drift of -1

CONDITION_MARGIN = 1e-6  # relative to the largest coefficient of a row; rounding of the solution uses it up
COEFFICIENT_BITS = 30  # of a rounded solution, relative to its largest coefficient
MAX_VARIABLE = 1e9
MIN_MULTIPLIER = 1e-9
ZERO, ONE = Fraction(0), Fraction(1)

SAMPLES_PER_REACH = 8
SAMPLE_REACHES = (3, 40, 1_000_000)  # largest offsets of samples from the corner of a part
MAX_REACH_OF_FUNCTIONS = 10_000
"""Largest offset for rules that call functions of floats: n! and 1.01 ** n take long, or overflow, farther away."""
RATE_TOLERANCE = 1e-9  # relative rounding of a rate in plain Python

Cost = Callable[[Any], Any]
Stops = Callable[[Any], bool]
Growth = tuple[dict[int, float], dict[int, float], float]
"""Lower bound on a sum of coefficients: (factors, factors of absolute values to subtract, bound)."""
Rates = dict[tuple[Any, tuple[int, ...]], tuple[float, float]]


class Lyapunov(NamedTuple):
    """Verified Lyapunov function V of an infinite chain: QV <= -w outside of a finite set of states.

    Attributes
    ----------
    hull
        The states.
    basis, coefficients
        V, as a sum.
    side
        The finite set has the states whose unbounded components are below their minimum plus this.
    parts
        Number of parts of the other states in which the drift was verified.
    lower_bound
        A lower bound on V.
    """

    hull: Hull
    basis: Basis
    coefficients: tuple[Fraction, ...]
    side: int
    parts: int
    lower_bound: float

    def at(self, states: Sequence[Any]) -> NDArray[np.float64]:
        """Return V at each of ``states``, shape (states,)."""
        layout, basis = self.hull.layout, self.basis
        if basis.function is not None:
            scale = float(self.coefficients[0])
            return np.array([scale * float(basis.function(state)) for state in states])
        split = [layout.split(state) for state in states]
        free = np.array([components for _, components in split], dtype=np.float64).reshape(len(states), -1)
        total = np.zeros(len(states))
        for weight, term in zip(self.coefficients, basis.terms, strict=True):
            if not weight:
                continue
            part = np.full(len(states), float(weight))
            for column, power in zip(free.T, term.powers, strict=True):
                part *= column**power
            if term.mode_component is not None:
                part *= [mode[term.mode_component] == term.value for mode, _ in split]
            if term.empty is not None:
                part *= free[:, term.empty] == 0
            total += part
        return total

    def inner(self) -> list[tuple[Mode, tuple[range, ...]]]:
        """Return the finite set where the drift is not verified: pairs of a mode and a range per component."""
        boxes = []
        for mode, low in self.hull.low.items():
            limits = zip(low, self.hull.high[mode], strict=True)
            ranges = (range(a, a + self.side) if b == math.inf else range(a, int(b) + 1) for a, b in limits)
            boxes.append((mode, tuple(ranges)))
        return boxes

    def at_inner(self) -> float:
        """Return the largest value of V in the finite set where the drift is not verified."""
        layout = self.hull.layout
        states = [layout.state(mode, components) for mode, ranges in self.inner() for components in product(*ranges)]
        return float(self.at(states).max())

    def __str__(self) -> str:
        """Return V as a formula, such as "2 n + 0.5 [mode == 1]"."""
        layout = self.hull.layout
        if self.basis.function is not None:
            name = getattr(self.basis.function, "__name__", "lyapunov")
            return f"{float(self.coefficients[0]):.4g} {'' if name == '<lambda>' else name}(s)"
        others = [layout.space.names[k] for k in layout.others]
        pairs = zip(self.coefficients, self.basis.terms, strict=True)
        terms = [f"{float(a):.4g} {term.formula(layout.names, others)}" for a, term in pairs if a]
        return " + ".join(terms).replace("+ -", "- ")


class Drift(NamedTuple):
    """Requirement on a Lyapunov function V: QV <= -w in all states in which the chain has not stopped.

    Attributes
    ----------
    cost
        A function f of the state; w = 1 + |f|. None: w = 1.
    stops
        Whether the chain stops in a state, where the drift does not count. None: it never stops.
    """

    cost: Cost | None = None
    stops: Stops | None = None

    def stops_in(self, state: Any) -> bool:
        """Return whether the chain stops in all states of a box; False if that cannot be determined."""
        if self.stops is None:
            return False
        try:
            return bool(self.stops(state))
        except Unfollowed:
            return False


def find_lyapunov(hull: Hull, basis: Basis | None = None, required: Drift = Drift()) -> Lyapunov:  # noqa: B008
    """Return a verified Lyapunov function of a chain, the simplest that a linear program yields.

    Parameters
    ----------
    hull
        Its states.
    basis
        A user's function, from `user_basis`; None: powers of the components are tried.
    required
        The drift, and the states in which it counts.

    Raises
    ------
    Unfollowed
        If none is found, or the rules cannot be followed.
    """
    bases = candidate_bases(hull) if basis is None else [basis]
    for mode, parts in hull.parts.items():
        for part in parts:
            compare_moves(hull.layout, mode, part, part.result)
    first = 1
    for max_side in MAX_SIDES:
        for candidate in bases:
            side = 1
            while side <= max_side:
                if side > first or first == 1:
                    inner_states = sum(
                        math.prod(side if high == math.inf else high - low + 1 for low, high in zip(a, b, strict=True))
                        for a, b in zip(hull.low.values(), hull.high.values(), strict=True)
                    )
                    if inner_states > MAX_INNER_STATES:
                        break
                    lyapunov = _solve_for_side(hull, candidate, side, required)
                    if lyapunov is not None:
                        return lyapunov
                side = max(side + 1, int(side * SIDE_GROWTH))
        first = max_side
    if required.cost is not None:
        raise Unfollowed("no function of degree 2 or less was found whose drift is at most -(1 + |f|)")
    where = "outside of finitely many states"
    if basis is None:
        message = "no Lyapunov function of degree 2 or less was found"
        message += f": give one, lyapunov=, whose drift is at most -1 {where}"
    else:
        message = f"the drift of lyapunov= is not proved to be at most a negative number {where}"
    raise Unfollowed(f"{message}. An unstable chain has none")


class _PartDrift(NamedTuple):
    """Moves in a part of the states, drift of every basis function as polynomial, and the cost w."""

    moves: list[Any]
    drifts: tuple[Terms, ...]
    cost: Terms


def _solve_for_side(hull: Hull, basis: Basis, side: int, required: Drift) -> Lyapunov | None:
    """Return a verified V with this basis, for a finite set of side ``side``; None if there is none."""
    conditions: list[Condition] = []
    parts_by_mode: list[tuple[Mode, Part]] = []
    for mode, low in hull.low.items():
        for k, high in enumerate(hull.high[mode]):
            if high != math.inf:
                continue
            corner = [*low[:k], low[k] + side, *low[k + 1 :]]
            for part in parts_of(_drift_in_box(hull, mode, basis, required), corner, hull.sides(mode, corner)):
                if part.refused is not None:
                    raise Unfollowed(part.refused)
                if part.result is None:
                    assert required.stops is not None
                    compare_stops(hull.layout, mode, part, required.stops)
                    continue
                width = len(part.sides)
                facts = list(part.facts)
                for j, length in enumerate(part.sides):
                    if length:
                        unit = tuple(int(i == j) for i in range(width))
                        facts.append({(0,) * width: (Fraction(length), Fraction(length)), unit: (-ONE, -ONE)})
                conditions.append(Condition(part.result.drifts, part.result.cost, tuple(facts)))
                parts_by_mode.append((mode, part))
    # Sizes of the functions on the edge of the finite set: the program minimizes the sum of V's terms there.
    weights = [1.0] if basis.function is not None else [float(max(side, 2)) ** term.degree for term in basis.terms]
    coefficients = solve_program(Program(conditions, weights, _growth_bounds(hull, basis)))
    if coefficients is None:
        return None
    lower_bound = _lower_bound(hull, basis, coefficients)
    for mode, part in parts_by_mode:
        compare_moves(hull.layout, mode, part, part.result.moves)
    return Lyapunov(hull, basis, tuple(coefficients), side, len(conditions), lower_bound)


def _drift_in_box(hull: Hull, mode: Mode, basis: Basis, required: Drift) -> Callable[[list[Any]], _PartDrift | None]:
    """Return a function of a box of states that computes moves, drifts and cost in it."""
    layout, cost = hull.layout, required.cost

    def evaluate(components: list[Any]) -> _PartDrift | None:
        """Return moves, drifts and cost in a box; None if the chain stops there."""
        width = len(components)
        if required.stops_in(layout.state(mode, components)):
            return None
        moves = layout.moves(mode, components)
        values = basis.at(layout, mode, components)
        sums: list[Terms] = [{} for _ in values]
        for target_mode, targets, rate in moves:
            rate_terms = terms_of(rate, width) or {}
            for j, (before, after) in enumerate(zip(values, basis.at(layout, target_mode, targets), strict=True)):
                change = add_terms(_terms(after, width), _terms(before, width), -1)
                sums[j] = add_terms(sums[j], multiply_terms(rate_terms, change))
        w: Terms = {(0,) * width: (ONE, ONE)}
        if cost is None:
            return _PartDrift(moves, tuple(sums), add_terms(w, {}))
        size = {}  # a polynomial that is at least |f| for y >= 0
        for m, (low, high) in _terms(cost(layout.state(mode, components)), width).items():
            largest = max(abs(low), abs(high))
            size[m] = (largest, largest)
        return _PartDrift(moves, tuple(sums), add_terms(w, size))

    return evaluate


def _terms(number: Any, width: int) -> Terms:
    """Return the terms of a polynomial or number in ``width`` variables; Unfollowed for another value."""
    terms = terms_of(number, width)
    if terms is None:
        raise Unfollowed(f"a value of {type(number).__name__} where a number is expected")
    return terms


def _growth_bounds(hull: Hull, basis: Basis) -> list[Growth]:
    """Return lower bounds on sums of V's coefficients under which V grows with every unbounded component.

    With e_i the coefficient of x_i^2 less half the sizes of the coefficients of x_i x_j, and l_i the coefficient of x_i
    less the sizes of its coefficients in single modes, V >= sum e_i x_i^2 + l_i x_i less a constant: e_i and l_i are to
    be >= 0, and one of them > 0 if x_i is unbounded.
    """
    if basis.function is not None:
        return [({0: 1.0}, {}, MIN_COEFFICIENT)]
    index = {term: j for j, term in enumerate(basis.terms)}
    width = len(hull.layout.free)
    growth: list[Growth] = []
    for k in range(width):
        linear = {index[Term(_powers(width, (k,)))]: 1.0}
        modes = {
            j: 1.0
            for j, term in enumerate(basis.terms)
            if term.degree == 1 and term.powers[k] == 1 and term.mode_component is not None
        }
        square = index.get(Term(_powers(width, (k, k))))
        pure = {} if square is None else {square: 1.0}
        mixed = {index[Term(_powers(width, (k, other)))]: 0.5 for other in range(width) if pure and other != k}
        unbounded = any(high[k] == math.inf for high in hull.high.values())
        growth.append((linear, modes, 0.0))
        if pure:
            growth.append((pure, mixed, 0.0))
        if unbounded:
            growth.append(({**linear, **pure}, {**modes, **mixed}, MIN_COEFFICIENT))
    return growth


def _lower_bound(hull: Hull, basis: Basis, coefficients: Sequence[Fraction]) -> float:
    """Return a lower bound on V over all states of the hull.

    Raises
    ------
    Unfollowed
        Unless a user's function is proved to grow with all unbounded components.
    """
    if basis.function is None:
        total = 0.0
        for a, term in zip(coefficients, basis.terms, strict=True):
            if not term.degree:
                total -= abs(float(a))
            elif term.degree == 1:
                k = term.powers.index(1)
                lowest = min(low[k] for low in hull.low.values())
                total -= abs(float(a)) * max(-lowest, 0)
        return total * (1.0 + 1e-9)
    minimum = math.inf
    for mode, low in hull.low.items():

        def evaluate(components: list[Any], mode: Mode = mode) -> Any:
            """Return the user's function in a box of states."""
            return basis.at(hull.layout, mode, components)[0]

        for part in parts_of(evaluate, low, hull.sides(mode, low)):
            if part.refused is not None:
                raise Unfollowed(f"lyapunov: {part.refused}")
            terms = _terms(part.result, len(low))
            falls = any(bottom < 0 for m, (bottom, _) in terms.items() if any(m))
            grows = all(
                any(m[k] and sum(m) == m[k] and bottom > 0 for m, (bottom, _) in terms.items()) for k in part.unbounded
            )
            if falls or not grows:
                raise Unfollowed("lyapunov= is not proved to grow with every component without an end")
            minimum = min(minimum, float(polynomial_bounds(terms, part.sides)[0]))
    return float(coefficients[0]) * min(minimum, 0.0)


# Sums of terms


class Term(NamedTuple):
    """One summand of V: a product of powers of components, possibly zero outside of one mode or empty queue.

    Attributes
    ----------
    powers
        Powers of the unbounded components.
    mode_component, value
        Only in states in which the mode's component of this number has this value; None: in all states.
    empty
        Only in states in which this component is zero; None: in all states.
    """

    powers: tuple[int, ...]
    mode_component: int | None = None
    value: Any = None
    empty: int | None = None

    def at(self, mode: Mode, components: Sequence[Any]) -> Any:
        """Return the value of the term in a state; a polynomial if the components are polynomials."""
        if self.mode_component is not None and mode[self.mode_component] != self.value:
            return 0
        if self.empty is not None and components[self.empty] != 0:
            return 0
        total: Any = 1
        for component, power in zip(components, self.powers, strict=True):
            for _ in range(power):
                total = total * component
        return total

    @property
    def degree(self) -> int:
        """Sum of the powers of all components."""
        return sum(self.powers)

    def formula(self, names: Sequence[str], others: Sequence[str]) -> str:
        """Return the term as text, such as "n**2 [mode == 1]"."""
        parts = [
            name if power == 1 else f"{name}**{power}" for name, power in zip(names, self.powers, strict=True) if power
        ]
        if self.mode_component is not None:
            parts.append(f"[{others[self.mode_component]} == {self.value!r}]")
        if self.empty is not None:
            parts.append(f"[{names[self.empty]} == 0]")
        return " ".join(parts)


class Basis(NamedTuple):
    """Functions whose weighted sum is V: terms, or one function of a user."""

    terms: tuple[Term, ...]
    function: Callable[[Any], Any] | None = None

    def at(self, layout: Layout, mode: Mode, components: Sequence[Any]) -> list[Any]:
        """Return the value of each basis function in a state; polynomials if the components are polynomials."""
        if self.function is not None:
            return [self.function(layout.state(mode, components))]
        return [term.at(mode, components) for term in self.terms]


def candidate_bases(hull: Hull) -> list[Basis]:
    """Return the bases that are tried for a chain, the simplest first."""
    width = len(hull.layout.free)
    linear = [Term(_powers(width, (k,))) for k in range(width)]
    squares = [Term(_powers(width, pair)) for pair in combinations_with_replacement(range(width), 2)]
    modes, slopes, empty = [], [], []
    zero = (0,) * width
    for k_mode, column in enumerate(zip(*hull.low, strict=True)):
        values = list(dict.fromkeys(column))
        if len(values) > 1:
            modes += [Term(zero, k_mode, v) for v in values[1:]]
            slopes += [Term(_powers(width, (k,)), k_mode, v) for v in values for k in range(width)]
            empty += [Term(zero, k_mode, v, k) for v in values for k in range(width)]
    if len(modes) > MAX_MODE_TERMS:
        modes = []
    bases = [Basis(tuple(linear))]
    if modes:
        bases.append(Basis((*linear, *modes)))
    if modes and len(empty) <= MAX_MODE_TERMS:
        bases.append(Basis((*linear, *modes, *empty)))
    bases.append(Basis((*squares, *linear, *modes)))
    if modes and len(empty) + len(slopes) <= MAX_MODE_TERMS:
        bases.append(Basis((*squares, *linear, *modes, *slopes, *empty)))
    return bases


def _powers(width: int, factors: Sequence[int]) -> tuple[int, ...]:
    """Return the powers of ``width`` components in the product of the components with these numbers."""
    return tuple(factors.count(k) for k in range(width))


def user_basis(function: Any) -> Basis:
    """Return a user's function of the state as a basis; RuleError if it is not callable."""
    if not callable(function):
        msg = "must be a function of the state, such as lambda s: s.n, or None"
        raise RuleError(f"lyapunov = {function!r}: {msg}")
    return Basis((), function)


# The linear program and its exact check


class Condition(NamedTuple):
    """Condition on the coefficients a of V: sum a_j drifts_j + cost <= 0 wherever all facts are >= 0."""

    drifts: tuple[Terms, ...]
    cost: Terms
    facts: tuple[Terms, ...]

    def facts_to_add(self) -> list[Terms]:
        """Return the facts, with their products by each offset if a drift has a degree above one."""
        if not self.facts:
            return []
        degree = max((sum(m) for drift in self.drifts for m, pair in drift.items() if any(pair)), default=0)
        width = len(next(iter(self.facts[0])))
        terms = list(self.facts)
        if degree > 1:
            for k in range(width):
                y: Terms = {tuple(int(j == k) for j in range(width)): (ONE, ONE)}
                terms += [multiply_terms(fact, y) for fact in self.facts]
        return terms

    def holds(self, coefficients: Sequence[Fraction], multipliers: Sequence[Fraction]) -> bool:
        """Return whether the condition is proved by these coefficients and multipliers, in exact arithmetic."""
        total = dict(self.cost)
        for a, drift in zip(coefficients, self.drifts, strict=True):
            if a:
                scaled = {m: (min(a * low, a * high), max(a * low, a * high)) for m, (low, high) in drift.items()}
                total = add_terms(total, scaled)
        for factor, terms in zip(multipliers, self.facts_to_add(), strict=True):
            if factor:
                total = add_terms(total, {m: (factor * a, factor * b) for m, (a, b) in terms.items()})
        return all(high <= 0 for _, high in total.values())


class Program(NamedTuple):
    """Linear program for the coefficients of V: conditions on drifts, weights to minimize, growth of V.

    Attributes
    ----------
    conditions
        One per part of the states.
    weights
        Sizes of the functions: the sum of weights times |coefficients| is minimized.
    growth
        Lower bounds on sums of coefficients.
    """

    conditions: Sequence[Condition]
    weights: Sequence[float]
    growth: Sequence[Growth]


def solve_program(program: Program) -> list[Fraction] | None:
    """Return coefficients that meet all conditions, checked in exact fractions; None if none are found."""
    for margin in (CONDITION_MARGIN, 0.0):
        solution = _solve_in_floats(program, margin)
        if solution is None:
            continue
        coefficients, multipliers = solution
        # half of a lower bound above zero suffices for growth
        grows = all(
            sum((Fraction(f) * coefficients[j] for j, f in factors.items()), ZERO)
            - sum((Fraction(f) * abs(coefficients[j]) for j, f in sizes.items()), ZERO)
            >= Fraction(bound) / 2
            for factors, sizes, bound in program.growth
        )
        pairs = zip(program.conditions, multipliers, strict=True)
        if grows and all(condition.holds(coefficients, factors) for condition, factors in pairs):
            return coefficients
    return None


def _solve_in_floats(program: Program, margin: float) -> tuple[list[Fraction], list[list[Fraction]]] | None:
    """Return coefficients, and multipliers of the facts by condition, as rounded fractions; None if infeasible."""
    from scipy.optimize import linprog

    size = len(program.weights)
    rows: list[int] = []
    columns: list[int] = []
    data: list[float] = []
    right: list[float] = []
    count = 2 * size  # positive and negative parts of the coefficients
    spans = []

    def enter(row: dict[int, float], bound: float) -> None:
        """Add the inequality row x <= bound to the program, scaled to a largest coefficient of one."""
        largest = max(map(abs, row.values()), default=0.0)
        if not largest:
            if bound < 0:
                row = {0: 0.0}
            else:
                return
        scale = 1.0 / largest if largest else 1.0
        number = len(right)
        for column, entry in row.items():
            rows.append(number)
            columns.append(column)
            data.append(entry * scale)
        has_coefficients = min(row) < 2 * size and largest > 0.0
        right.append(bound * scale - (margin if has_coefficients else 0.0))

    for condition in program.conditions:
        facts = condition.facts_to_add()
        spans.append((count, facts))
        monomials = {m for drift in condition.drifts for m in drift} | set(condition.cost)
        monomials |= {m for fact in facts for m in fact}
        for m in monomials:
            row: dict[int, float] = {}
            for j, drift in enumerate(condition.drifts):
                low, high = drift.get(m, (ZERO, ZERO))
                if low or high:
                    row[j], row[size + j] = float(high), -float(low)
            for n, fact in enumerate(facts):
                if entry := fact.get(m, (ZERO, ZERO))[1]:
                    row[count + n] = float(entry)
            enter(row, -float(condition.cost.get(m, (ZERO, ZERO))[1]))
        count += len(facts)
    for factors, sizes, bound in program.growth:
        row = {j: -factor for j, factor in factors.items()}
        row |= {size + j: factor for j, factor in factors.items()}
        for j, factor in sizes.items():
            row[j] = row[size + j] = factor
        enter(row, -bound)
    costs = np.zeros(count)
    costs[:size] = costs[size : 2 * size] = program.weights
    if not np.isfinite([*data, *right]).all():
        return None
    matrix: Any = sp.csr_matrix((data, (rows, columns)), shape=(len(right), count))
    answer: Any = linprog(costs, method="highs", A_ub=matrix, b_ub=right, bounds=(0.0, MAX_VARIABLE))
    if answer.status != 0:
        return None
    values = answer.x[:size] - answer.x[size : 2 * size]
    unit = Fraction(2) ** (int(np.frexp(np.abs(values).max())[1]) - COEFFICIENT_BITS)
    coefficients = [round(Fraction(v) / unit) * unit for v in values.tolist()]
    multipliers = [
        [Fraction(float(v)) if v > MIN_MULTIPLIER else ZERO for v in answer.x[start : start + len(facts)]]
        for start, facts in spans
    ]
    return coefficients, multipliers


# Comparison with plain Python. Polynomials behave as numbers in arithmetic and comparisons. Rules that distinguish them
# from numbers in another way would be followed wrongly: a difference in a sample of states refuses them.


def compare_moves(layout: Layout, mode: Mode, part: Part, moves: list[Move]) -> None:
    """Raise Unfollowed if ``moves`` differ from plain calls of the rules in a sample of states of a part.

    Raises
    ------
    Unfollowed
        With a state in which they differ.
    """
    width = len(part.corner)
    for offsets in _sample(layout, part):
        components = part.state(offsets)
        sums: dict[Any, tuple[Fraction, Fraction]] = {}
        for target_mode, targets, rate in moves:
            low, high = bounds_at(terms_of(rate, width) or {}, offsets)
            target = tuple(int(bounds_at(terms_of(t, width) or {}, offsets)[0]) for t in targets)
            before = sums.get((target_mode, target), (ZERO, ZERO))
            sums[target_mode, target] = before[0] + low, before[1] + high
        rates: Rates = {key: (float(low), float(high)) for key, (low, high) in sums.items()}
        plain: dict[Any, float] = {}
        try:
            for state, rate in layout.calls.transitions(layout.state(mode, components)):
                key = layout.split(state)
                plain[key] = plain.get(key, 0.0) + rate
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            raise Unfollowed(f"they raise {type(error).__name__} in plain Python") from None
        plain = {key: rate for key, rate in plain.items() if rate > 0.0}
        if not plain.keys() <= rates.keys() or not all(
            low * (1 - RATE_TOLERANCE) <= plain.get(key, 0.0) <= high * (1 + RATE_TOLERANCE)
            for key, (low, high) in rates.items()
        ):  # a rate without a positive lower bound may be 0 in float64
            raise Unfollowed(f"they do otherwise in {layout.state(mode, components)!r} in plain Python")


def compare_stops(layout: Layout, mode: Mode, part: Part, stops: Stops) -> None:
    """Raise Unfollowed if the chain does not stop in a sample of states of a part, by plain calls.

    Raises
    ------
    Unfollowed
        With a state in which it does not.
    """
    for offsets in _sample(layout, part):
        state = layout.state(mode, part.state(offsets))
        if not stops(state):
            raise Unfollowed(f"the set to be entered is another in {state!r} in plain Python")


def _sample(layout: Layout, part: Part) -> Iterator[list[int]]:
    """Yield offsets from the corner of a part to states in it, near and far."""
    rng = np.random.default_rng(3)
    samples = [[0] * len(part.corner)]
    for reach in (min(reach, MAX_REACH_OF_FUNCTIONS) if layout.substitute else reach for reach in SAMPLE_REACHES):
        for _ in range(SAMPLES_PER_REACH):
            sides = (reach if side is None else min(side, reach) for side in part.sides)
            samples.append([int(rng.integers(side + 1)) for side in sides])
    for offsets in samples:
        if all(bounds_at(fact, offsets)[0] >= 0 for fact in part.facts):
            yield offsets
