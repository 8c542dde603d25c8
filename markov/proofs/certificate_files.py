"""Write the proof of a stationary distribution into a file that others can check without this package.

Vectors of float64 become integers: the printed probabilities and the rates exactly, the better vector, h and g to
more digits than matter. `markov.proofs.checker` then computes every claim from these integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.matrices import inner
from markov.proofs.certificate_writing import (
    UNCLAIMED,
    add_steps,
    binary_digits,
    integer_rows,
    integer_values,
    outward,
    scale_to_integer,
    write,
)
from markov.proofs.certificates import solve_balance, solve_poisson
from markov.proofs.checker import (
    Contents,
    Function,
    drift,
    net_flow,
    prove_rest,
    verify,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Rows
    from markov.proofs.listings import Listing

    Vector = NDArray[np.float64]

__all__ = ["contents_of", "integer_proof", "with_poisson_solution", "write_certificate"]

MIN_PROBABILITY_BITS = 140
"""Of the fractions of probabilities: their rounding is far below the residual of a refined vector."""
DRIFT_BITS = 11  # of h beyond the fastest exit rate: c changes by about 2^-10 of itself
FUNCTION_BITS = 60  # of g, relative to its largest size
REFINEMENTS = 3


def write_certificate(path: str | Path, proof: Certificate, listing: Listing) -> Contents:
    """Write the certificate of a proved vector, and return its contents.

    Parameters
    ----------
    path
        The file; compressed where it ends in ``.gz``.
    proof
        Certificate of a vector with a finite bound.
    listing
        Names of the states, functions, and metadata.

    Raises
    ------
    ValueError
        Without a proof.
    """
    contents = contents_of(proof, listing)
    write(path, contents)
    return contents


def contents_of(proof: Certificate, listing: Listing) -> Contents:
    """Return a certificate whose claims follow from its integers, rounded outwards."""
    contents = integer_proof(proof, listing)
    for name, f in listing.functions.items():
        contents.functions.append(with_poisson_solution(proof, contents, Function(name, *integer_values(f)), f))
    statement = verify(contents)
    assert statement.bound is not None
    contents.bound = Fraction(outward(statement.bound, statement.bound, up=True))
    for function in contents.functions:
        low, high = statement.means[function.name]
        width = high - low or max(abs(low), abs(high)) * Fraction(1, 10**20)
        function.claimed = Fraction(outward(low, width)), Fraction(outward(high, width, up=True))
    return contents


def integer_proof(proof: Certificate, listing: Listing) -> Contents:
    """Return a certificate without functions: the chain, both vectors and h as integers, and no claim.

    Raises
    ------
    ValueError
        Without a proof.
    """
    n = len(proof.pi)
    if n > 1 and (proof.supersolution is None or proof.solver is None):
        raise ValueError("nothing was proved: no function h with a negative drift was found")
    unit, rows = integer_rows(proof.Q, listing.rates)
    bits = max(MIN_PROBABILITY_BITS, *(binary_digits(v) for v in proof.pi.tolist()))
    X = [scale_to_integer(v, bits) for v in proof.pi.tolist()]
    reference = int(np.argmax(proof.pi)) if proof.solver is None else proof.solver.reference
    contents = Contents(dict(listing.information), unit, 1 << bits, reference, UNCLAIMED, tuple(listing.columns), [])
    contents.values = list(zip(*(v.tolist() for v in listing.columns.values()), strict=True)) or [()] * n
    contents.rows, contents.X, contents.H = rows, X, _heights(proof, rows, reference)
    refined = [a + scale_to_integer(b, bits) for a, b in zip(X, proof.low.tolist(), strict=True)]
    contents.Y = _refine(proof, contents, refined)
    return contents


def _heights(proof: Certificate, rows: Rows, reference: int) -> list[int]:
    """Return h as whole numbers, with as many bits as c needs to stay nearly the same."""
    heights = proof.supersolution
    if heights is None:
        return [0] * len(rows)
    largest_rate = float(np.abs(proof.Q.diagonal()).max())
    bits = max(0, math.ceil(math.log2(largest_rate / heights.c))) + DRIFT_BITS
    for extra_bits in (0, 10, 20, 40):
        H = [max(0, -scale_to_integer(-v, bits + extra_bits)) for v in heights.h.tolist()]
        drifts = drift(rows, H)
        drifts[reference] = -1
        if max(drifts) < 0:
            return H
    raise ValueError("nothing was proved: the function h does not fall for the exact rates")


def _refine(proof: Certificate, contents: Contents, Y: list[int]) -> list[int]:
    """Return a better vector by corrections of the exact residual, as long as they gain."""
    if proof.solver is None:
        return Y
    smallest = prove_rest(contents.rows, Y, contents.H, contents.reference)
    for _ in range(REFINEMENTS):
        corrected = _correct(proof, contents, Y)
        bound = prove_rest(contents.rows, corrected, contents.H, contents.reference)
        if not 2 * bound < smallest:
            break
        Y, smallest = corrected, bound
    return Y


def _correct(proof: Certificate, contents: Contents, Y: list[int]) -> list[int]:
    """Return Y + d with d Q = -(Y Q), nearly, and the mass of a distribution."""
    exact = net_flow(contents.rows, Y)
    size = max(1, max(map(abs, exact)))
    net = np.array([r / size for r in exact])  # a whole number over another is rounded once
    unit = Fraction(size) * contents.unit
    h = proof.supersolution.h  # type: ignore[union-attr]
    goal = inner(np.abs(net), h) * 1e-2
    step = solve_balance(proof.solver, net, lambda rest: inner(np.abs(rest), h) <= goal)  # type: ignore[arg-type]
    if not np.all(np.isfinite(step)):
        return Y
    Y = add_steps(Y, step, unit)
    excess, scale = sum(Y) - contents.scale, contents.scale
    return [y - excess * x // scale for y, x in zip(Y, contents.X, strict=True)]


def with_poisson_solution(proof: Certificate, contents: Contents, function: Function, f: Vector) -> Function:
    """Return a function with the solution g of its Poisson equation, as integers.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.
    found
        The chain.
    each
        The function as integers; g is replaced.
    f
        The function in float64, shape (n,).
    """
    function.G = [0] * len(contents.rows)
    if proof.solver is None:
        return function
    right = f - inner(proof.pi, f)
    goal = 1e-14 * float(np.abs(f).max())
    high, low = solve_poisson(proof.solver, right, lambda rest: float(np.ptp(rest)) <= goal)
    size = float(np.abs(high).max())
    if 0.0 < size < math.inf and np.all(np.isfinite(low)):
        bits = max(0, FUNCTION_BITS - math.frexp(size)[1])
        function.scales = function.scales[0], 1 << bits
        function.G = [
            scale_to_integer(a, bits) + scale_to_integer(b, bits)
            for a, b in zip(high.tolist(), low.tolist(), strict=True)
        ]
    return function
