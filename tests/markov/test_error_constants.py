"""Constants of error bounds: each is in the table with the inequality of its proof, and half of it is noticed.

The table is ``docs/error-constants.toml``. Inequalities are evaluated in fractions with the constants of the code. Below are
bounds that true errors come near to.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.halved_constants import Bound, bounds, constants_of, problem_of, source_texts, unlisted_bounds
from markov.computing.double_double import DoubleDouble, excess, mean
from markov.computing.rounding import WIDE_U, U
from markov.files.properties.enclosures import Known, calculated
from markov.methods.gth import MIN_ENTRY, MIN_PRODUCT
from markov.time.exponentials.chebyshev import chebyshev_weights
from markov.time.exponentials.poisson_probabilities import most_jumps, poisson_weights
from markov.time.exponentials.squaring import BLOCKS, FACTORS, MOST_PER_STEP, TRUNCATED

BOUNDS = bounds()
USES = re.compile(r"\b(WIDE_)?U\b")
TEXTS = source_texts()


def by_file() -> dict[str, list[Bound]]:
    """Return the rows of each file."""
    return {file: [row for row in BOUNDS if row.file == file] for file in sorted({row.file for row in BOUNDS})}


@pytest.mark.parametrize("file", by_file())
def test_bounds_are_at_least_what_their_proofs_need(file: str) -> None:
    assert [problem for row in by_file()[file] if (problem := problem_of(row, TEXTS))] == []


@pytest.mark.parametrize("row", BOUNDS, ids=lambda row: f"{row.file}:{row.function}:{row.bound}")
def test_half_of_each_constant_is_noticed(row: Bound) -> None:
    source = TEXTS[row.file]
    constants = constants_of(row, source)
    assert constants or not any(character.isdigit() for character in row.bound)
    for constant in constants:
        assert problem_of(row, {**TEXTS, row.file: constant.halved(source)}), constant


def test_every_use_of_a_unit_roundoff_has_a_row() -> None:
    assert [
        text for file, source in TEXTS.items() if USES.search(source) for text in unlisted_bounds(file, source, BOUNDS)
    ] == []


def test_unit_roundoffs_are_half_the_distance_to_the_next_number() -> None:
    assert np.nextafter(1.0, 2.0) - 1.0 == 2.0 * U
    assert np.nextafter(np.longdouble(1.0), np.longdouble(2.0)) - np.longdouble(1.0) == 2.0 * WIDE_U
    assert abs(Fraction(1.0 + U) - (1 + Fraction(U))) == Fraction(U)  # the sum of a tie is off by all of u


@pytest.mark.parametrize("words", FACTORS)
def test_what_a_taylor_polynomial_lacks(words: int) -> None:
    degree = FACTORS[words] * BLOCKS[words]
    assert Fraction(MOST_PER_STEP) ** degree / math.factorial(degree) <= Fraction(TRUNCATED[words])


def test_what_poisson_and_chebyshev_weights_cut_off() -> None:
    """The exponents of Bernstein's inequality at the numbers of terms, evaluated without rounding of the numbers."""
    for jumps in (1e-3, 1.0, 50.0, 1e4, 1e8):
        for needed, count in (
            (320.0 * math.log(10.0), most_jumps(jumps) - 1.0 - jumps),
            (88.0, len(chebyshev_weights(jumps).weights) - 1.0),
        ):
            variance = jumps + count / 3.0
            assert count**2 / (2.0 * variance) >= needed


def test_no_operation_on_numbers_that_gth_admits_is_subnormal() -> None:
    smallest = 2.0**-1022 / U
    assert smallest <= MIN_PRODUCT
    assert smallest <= MIN_ENTRY


def near(error: Fraction, bound: float) -> bool:
    """Whether a bound holds, and is less than four times the error."""
    return error <= Fraction(bound) < 4 * error


def test_products_in_double_double_are_off_by_their_bound() -> None:
    chain = sp.csr_matrix(np.array([[-1.0, 1.0], [1.0, -1.0]]))
    products = DoubleDouble(chain)
    high, low = np.array([0.0, 1.0]), np.array([0.0, U])
    drift, flow = products.drift(high, low), products.net_flow(high, low)
    assert near(abs(Fraction(float(drift.value[0])) - (1 + Fraction(U))), float(drift.error[0]))
    assert near(abs(Fraction(float(flow.value[0])) - (1 + Fraction(U))), float(flow.error[0]))


def test_means_in_double_double_are_off_by_their_bound() -> None:
    value, error = mean(np.array([1.0, U]), np.zeros(2), np.ones(2))
    assert near(abs(Fraction(value) - (1 + Fraction(U))), error)
    above, error = excess(np.array([1.0, 1.0]), np.array([0.0, U]))
    assert near(abs(Fraction(above) - (1 + Fraction(U))), error)


@pytest.mark.parametrize(
    ("sign", "a", "b"),
    [("+", 1.0, U), ("-", 1.0, -U), ("*", 1.0 + 2.0**-26, 1.0 + 2.0**-27), ("/", 1.0, 1.0 - 2.0**-27)],
)
def test_expressions_of_properties_are_off_by_their_bound(sign: str, a: float, b: float) -> None:
    exact = {"+": Fraction.__add__, "-": Fraction.__sub__, "*": Fraction.__mul__, "/": Fraction.__truediv__}[sign]
    result = calculated(sign, Known(np.array([a]), np.zeros(1)), Known(np.array([b]), np.zeros(1)))
    assert result is not None
    assert near(abs(Fraction(float(result.values[0])) - exact(Fraction(a), Fraction(b))), float(result.error[0]))


def test_poisson_weights_are_off_by_a_quarter_of_their_bound() -> None:
    ratios = []
    for jumps in (0.3, 0.7, 1.1, 1.7, 2.3, 3.1, 4.7):
        weights = poisson_weights(jumps, 1e-30)
        with localcontext(prec=60):
            mean_jumps = Decimal(jumps)
            exact = [
                (-mean_jumps).exp() * mean_jumps**k / math.factorial(k) for k in range(weights.left, weights.right + 1)
            ]
            errors = [abs(Decimal(float(w)) / e - 1) for w, e in zip(weights.weights, exact, strict=True)]
            ratios.append(float(max(errors)) / weights.error)
    assert 0.25 <= max(ratios) <= 1.0
