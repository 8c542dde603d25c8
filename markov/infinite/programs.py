"""Linear programs over the coefficients of a Lyapunov function, and their check in fractions.

In a part of a box a drift is a polynomial of the offsets y >= 0. It is negative where all of its coefficients
are, once products of facts of the part (polynomials that are >= 0 there) with unknown factors >= 0 were added.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.generators.unbounded.polynomials import Terms, added, multiplied

__all__ = ["Condition", "Program", "satisfies", "solve_program"]

MARGIN = 1e-6  # of the largest coefficient of a row: what rounding of the solution may take
BITS = 30  # of the coefficients of a solution, relative to the largest
LARGEST = 1e9
TINY = 1e-9  # of a factor
ZERO = Fraction(0)


Growth = tuple[dict[int, float], dict[int, float], float]


class Condition(NamedTuple):
    """Sum a_j drifts_j + cost <= 0 for all y where the facts are >= 0."""

    drifts: tuple[Terms, ...]
    cost: Terms
    facts: tuple[Terms, ...]


class Program(NamedTuple):
    """Conditions on the coefficients of a sum, and how it grows.

    Attributes
    ----------
    conditions
        One for each part of the states.
    weights
        Sizes of the functions: the sum of weights times |coefficients| is made small.
    growth
        Lower bounds on sums of coefficients: (factors, factors of sizes that are subtracted, bound).
    """

    conditions: Sequence[Condition]
    weights: Sequence[float]
    growth: Sequence[Growth]


def facts_with_multipliers(condition: Condition, *, products: bool) -> list[Terms]:
    """Return what may be added: facts, and their products with offsets."""
    if not condition.facts:
        return []
    width = len(next(iter(condition.facts[0])))
    found = list(condition.facts)
    if products:
        for k in range(width):
            y: Terms = {tuple(int(j == k) for j in range(width)): (Fraction(1), Fraction(1))}
            found += [multiplied(fact, y) for fact in condition.facts]
    return found


def solve_program(program: Program) -> list[Fraction] | None:
    """Return coefficients that meet the conditions, checked in fractions; None where none were found."""
    for margin in (MARGIN, 0.0):
        found = _solved(program, margin)
        if found is None:
            continue
        coefficients, multipliers = found
        pairs = zip(program.conditions, multipliers, strict=True)
        if _grows(program.growth, coefficients) and all(
            satisfies(condition, coefficients, own) for condition, own in pairs
        ):
            return coefficients
    return None


def _solved(program: Program, margin: float) -> tuple[list[Fraction], list[list[Fraction]]] | None:
    from scipy.optimize import linprog

    size = len(program.weights)
    rows: list[int] = []
    columns: list[int] = []
    data: list[float] = []
    right: list[float] = []
    count = 2 * size  # positive and negative parts of the coefficients
    spans = []

    def enter(row: dict[int, float], bound: float) -> None:
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
        own = min(row) < 2 * size and largest > 0.0
        right.append(bound * scale - (margin if own else 0.0))

    for condition in program.conditions:
        products = facts_with_multipliers(condition, products=_degree(condition) > 1)
        spans.append((count, products))
        places = {m for drift in condition.drifts for m in drift} | set(condition.cost)
        places |= {m for product in products for m in product}
        for m in places:
            row: dict[int, float] = {}
            for j, drift in enumerate(condition.drifts):
                low, high = drift.get(m, (ZERO, ZERO))
                if low or high:
                    row[j], row[size + j] = float(high), -float(low)
            for n, product in enumerate(products):
                if entry := product.get(m, (ZERO, ZERO))[1]:
                    row[count + n] = float(entry)
            enter(row, -float(condition.cost.get(m, (ZERO, ZERO))[1]))
        count += len(products)
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
    matrix = sp.csr_matrix((data, (rows, columns)), shape=(len(right), count))
    given: Any = {"A_ub": matrix, "b_ub": right, "bounds": (0.0, LARGEST)}
    answer: Any = linprog(costs, method="highs", **given)
    if answer.status != 0:
        return None
    values = answer.x[:size] - answer.x[size : 2 * size]
    unit = Fraction(2) ** (int(np.frexp(np.abs(values).max())[1]) - BITS)
    coefficients = [round(Fraction(v) / unit) * unit for v in values.tolist()]
    multipliers = [
        [Fraction(float(v)) if v > TINY else ZERO for v in answer.x[start : start + len(products)]]
        for start, products in spans
    ]
    return coefficients, multipliers


def _degree(condition: Condition) -> int:
    return max((sum(m) for drift in condition.drifts for m, ends in drift.items() if any(ends)), default=0)


def _grows(growth: Sequence[Growth], coefficients: Sequence[Fraction]) -> bool:
    """Whether the lower bounds hold, those above zero for half of them."""
    for factors, sizes, bound in growth:
        total = sum((Fraction(f) * coefficients[j] for j, f in factors.items()), ZERO)
        total -= sum((Fraction(f) * abs(coefficients[j]) for j, f in sizes.items()), ZERO)
        if total < Fraction(bound) / 2:
            return False
    return True


def satisfies(condition: Condition, coefficients: Sequence[Fraction], multipliers: Sequence[Fraction]) -> bool:
    """Whether a condition is met, in exact arithmetic."""
    total = dict(condition.cost)
    for a, drift in zip(coefficients, condition.drifts, strict=True):
        if a:
            ends = {m: (min(a * low, a * high), max(a * low, a * high)) for m, (low, high) in drift.items()}
            total = added(total, ends)
    products = facts_with_multipliers(condition, products=_degree(condition) > 1)
    for factor, product in zip(multipliers, products, strict=True):
        if factor:
            total = added(total, {m: (factor * a, factor * b) for m, (a, b) in product.items()})
    return all(high <= 0 for _, high in total.values())
