"""Constants of error bounds: each is in the table with the inequality of its proof, and half of it breaks that.

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

from benchmarks.halved_constants import (
    Bound,
    bounds,
    constants_of,
    decisive_halves,
    problem_of,
    source_texts,
    unlisted_bounds,
)
from markov import stationary
from markov.computing.double_double import DoubleDouble, excess, mean
from markov.computing.matrices import exit_errors, with_diagonal
from markov.computing.rounding import WIDE_U, U
from markov.files.enclosures import Estimate, calculate
from markov.infinite.bounds import max_merged_rates
from markov.methods.gth import MIN_ENTRY, MIN_PRODUCT
from markov.models.functions import Mean
from markov.proofs.certificates import Certificate
from markov.proofs.means import asymptotic_variance
from markov.time.chebyshev import chebyshev_weights
from markov.time.passage_times import CLOSED_FORM_JUMPS, RARE_JUMPS_DECAY
from markov.time.squaring import BLOCKS, FACTORS, MAX_MADE_JUMPS_PER_STEP, TRUNCATION_ERROR
from markov.time.uniformization import Uniformized, max_jumps, poisson_weights

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
    assert constants or not any(character in "123456789" for character in row.bound)
    for constant in constants:
        assert problem_of(row, {**TEXTS, row.file: constant.halved(source)}), constant


@pytest.mark.parametrize("row", BOUNDS, ids=lambda row: f"{row.file}:{row.function}:{row.bound}")
def test_half_of_each_constant_breaks_its_proof(row: Bound) -> None:
    """The others are choices, or a test here notices another number, as `benchmarks.halved_constants` confirms."""
    broken, count = decisive_halves(row, TEXTS)
    assert broken == count or row.test in globals() or row.choice
    assert row.needed or row.test in globals() or row.choice


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
    assert Fraction(MAX_MADE_JUMPS_PER_STEP) ** degree / math.factorial(degree) <= Fraction(TRUNCATION_ERROR[words])


def test_what_poisson_and_chebyshev_weights_cut_off() -> None:
    """The exponents of Bernstein's inequality at the numbers of terms, evaluated without rounding of the numbers."""
    for jumps in (1e-3, 1.0, 50.0, 1e4, 1e8):
        for needed, count in (
            (320.0 * math.log(10.0), max_jumps(jumps) - 1.0 - jumps),
            (88.0, len(chebyshev_weights(jumps).weights) - 1.0),
        ):
            variance = jumps + count / 3.0
            assert count**2 / (2.0 * variance) >= needed


def test_how_rare_many_and_few_jumps_are() -> None:
    """A Poisson number is c times its mean m, or beyond, with a probability of at most e^(-m (1 - c + c log c)) (H. Chernoff, 1952)."""
    for times in (2.0, 1.0 / CLOSED_FORM_JUMPS[0]):
        assert 1.0 - times + times * math.log(times) >= RARE_JUMPS_DECAY


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
    result = calculate(sign, Estimate(np.array([a]), np.zeros(1)), Estimate(np.array([b]), np.zeros(1)))
    assert result is not None
    assert near(abs(Fraction(float(result.values[0])) - exact(Fraction(a), Fraction(b))), float(result.error[0]))


def tied_rates(terms: int) -> sp.csr_matrix:
    """Return a generator of two states with so many transitions each, whose exit rates lose all but the first in float64."""
    n = terms + 1
    rates = np.zeros((n, n))
    for state, other in ((0, 1), (1, 0)):
        rates[state, other] = 1.0
        rates[state, 2:] = U
    rates[2:, 0] = 1.0
    return with_diagonal(sp.csr_matrix(rates))


def test_diagonal_entries_are_off_by_their_bound() -> None:
    Q = tied_rates(200)
    exact = -sum(map(Fraction, Q[0, 1:].toarray()[0].tolist()))
    assert near(abs(Fraction(float(Q[0, 0])) - exact), float(exit_errors(Q)[0]))


def test_uniformization_is_off_by_its_bound_where_exit_rates_are_rounded_at_each_term() -> None:
    """The exact mass is one."""
    Q = tied_rates(200)
    start = np.zeros(Q.shape[0])
    start[0] = 1.0
    evaluated = Uniformized(Q).distribution(start, 100.0, 1e-16)
    mass = sum(map(Fraction, evaluated.values.tolist()), Fraction(0))
    assert near(abs(mass - 1) / 2, evaluated.error)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_variances_of_ratios_are_off_by_their_bound_where_the_ratio_is(size: float) -> None:
    """By a vector that is off by ``size``, against the variance by the exact one."""
    Q = sp.csr_matrix(np.array([[-1.0, 1.0, 0.0], [2.0, -5.0, 3.0], [0.5, 4.0, -4.5]]))
    ratio = Mean(np.array([1.0, 5.0, 2.0]), np.array([3.0, 1.0, 1.0]))
    pi = stationary(Q).pi
    (exact,) = asymptotic_variance(Certificate(Q, pi), ratio, 1e-12)
    moved = pi * (1.0 + size * np.array([1.0, -1.0, 0.5]))
    (variance,) = asymptotic_variance(Certificate(Q, moved / moved.sum()), ratio, 1e-12)
    assert near(abs(Fraction(variance.value) - Fraction(exact.value)), variance.upper - variance.value)


def test_rates_that_were_added_up_are_off_by_their_bound() -> None:
    """A rate to the anchor and 199 that leave the set become one rate, by sums in the order of the transitions."""
    sources, count = np.zeros(200, dtype=np.int64), 200
    rates = np.append(1.0, np.full(count - 1, U))
    out = np.arange(count) > 0
    assert max_merged_rates(sources, np.ones(count, dtype=bool), out) == count
    total = float(np.bincount(sources, rates)[0])
    assert near(abs(sum(map(Fraction, rates.tolist())) - Fraction(total)), count * U * total)


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
