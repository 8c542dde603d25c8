"""Write the proof of a stationary distribution into a file that others can check without this package.

Vectors of float64 become integers: the printed probabilities and the rates exactly, the better vector, h and g to
more digits than matter. Everything that is claimed is then computed by `markov.proofs.checker` from these integers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from markov.computing.matrices import inner
from markov.proofs.certificate_writing import (
    UNLIMITED,
    binary_digits,
    moved,
    outward,
    scaled,
    whole_rows,
    whole_values,
    write,
)
from markov.proofs.certificates import balanced, solved
from markov.proofs.checker import (
    Contents,
    Function,
    drift,
    net_flow,
    proved_rest,
    verified,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Rows
    from markov.proofs.listings import Listing

    Vector = NDArray[np.float64]

__all__ = ["contents_of", "whole_proof", "with_gain", "write_certificate"]

MIN_BITS = 140
"""Of the fractions of probabilities: what is lost below is far below the residual of a refined vector."""
DRIFT_BITS = 11  # of h beyond the fastest exit rate: c moves by some 2^-10 of itself
FUNCTION_BITS = 60  # of g, relative to its largest size
REFINEMENTS = 3


def write_certificate(path: str | Path, proof: Certificate, listing: Listing) -> Contents:
    """Write the certificate of a proved vector, and return what it contains.

    Parameters
    ----------
    path
        The file; compressed where it ends in ``.gz``.
    proof
        Of a vector with a finite bound.
    listing
        Names of the states, functions, and what else is said.

    Raises
    ------
    ValueError
        Where nothing was proved.
    """
    found = contents_of(proof, listing)
    write(path, found)
    return found


def contents_of(proof: Certificate, listing: Listing) -> Contents:
    """Return a certificate whose claims are what its own integers prove, rounded outwards."""
    found = whole_proof(proof, listing)
    for name, f in listing.functions.items():
        found.functions.append(with_gain(proof, found, Function(name, *whole_values(f)), f))
    proved = verified(found)
    assert proved.bound is not None
    found.bound = Fraction(outward(proved.bound, proved.bound, up=True))
    for each in found.functions:
        low, high = proved.means[each.name]
        width = high - low or max(abs(low), abs(high)) * Fraction(1, 10**20)
        each.claimed = Fraction(outward(low, width)), Fraction(outward(high, width, up=True))
    return found


def whole_proof(proof: Certificate, listing: Listing) -> Contents:
    """Return a certificate without functions: the chain, both vectors and h as integers, and no claim.

    Raises
    ------
    ValueError
        Where nothing was proved.
    """
    n = len(proof.pi)
    if n > 1 and (proof.supersolution is None or proof.solver is None):
        raise ValueError("nothing was proved: no function h with a negative drift was found")
    unit, rows = whole_rows(proof.Q, listing.rates)
    bits = max(MIN_BITS, *(binary_digits(v) for v in proof.pi.tolist()))
    X = [scaled(v, bits) for v in proof.pi.tolist()]
    reference = int(np.argmax(proof.pi)) if proof.solver is None else proof.solver.reference
    found = Contents(dict(listing.information), unit, 1 << bits, reference, UNLIMITED, tuple(listing.columns), [])
    found.values = list(zip(*(v.tolist() for v in listing.columns.values()), strict=True)) or [()] * n
    found.rows, found.X, found.H = rows, X, _heights(proof, rows, reference)
    better = [a + scaled(b, bits) for a, b in zip(X, proof.low.tolist(), strict=True)]
    found.Y = _refined(proof, found, better)
    return found


def _heights(proof: Certificate, rows: Rows, reference: int) -> list[int]:
    """Return h as whole numbers, with as many bits as leave c nearly what it was."""
    proved = proof.supersolution
    if proved is None:
        return [0] * len(rows)
    fastest = float(np.abs(proof.Q.diagonal()).max())
    bits = max(0, math.ceil(math.log2(fastest / proved.c))) + DRIFT_BITS
    for more in (0, 10, 20, 40):
        H = [max(0, -scaled(-v, bits + more)) for v in proved.h.tolist()]
        falls = drift(rows, H)
        falls[reference] = -1
        if max(falls) < 0:
            return H
    raise ValueError("nothing was proved: the function h does not fall for the exact rates")


def _refined(proof: Certificate, found: Contents, Y: list[int]) -> list[int]:
    """Return a better vector by corrections of the exact residual, as long as they gain."""
    if proof.solver is None:
        return Y
    best = proved_rest(found.rows, Y, found.H, found.reference)
    for _ in range(REFINEMENTS):
        tried = _corrected(proof, found, Y)
        rest = proved_rest(found.rows, tried, found.H, found.reference)
        if not 2 * rest < best:
            break
        Y, best = tried, rest
    return Y


def _corrected(proof: Certificate, found: Contents, Y: list[int]) -> list[int]:
    """Return Y + d with d Q = -(Y Q), nearly, and the mass of a distribution."""
    exact = net_flow(found.rows, Y)
    size = max(1, max(map(abs, exact)))
    net = np.array([r / size for r in exact])  # a whole number over another is rounded once
    shift = Fraction(size) * found.unit
    h = proof.supersolution.h  # type: ignore[union-attr]
    goal = inner(np.abs(net), h) * 1e-2
    step = balanced(proof.solver, net, lambda rest: inner(np.abs(rest), h) <= goal)  # type: ignore[arg-type]
    if not np.all(np.isfinite(step)):
        return Y
    Y = moved(Y, step, shift)
    excess, scale = sum(Y) - found.scale, found.scale
    return [y - excess * x // scale for y, x in zip(Y, found.X, strict=True)]


def with_gain(proof: Certificate, found: Contents, each: Function, f: Vector) -> Function:
    """Return a function with the solution g of its Poisson equation, as integers.

    Parameters
    ----------
    proof
        Of the distribution; its solver is used again.
    found
        The chain.
    each
        The function as integers; g is replaced.
    f
        The same rounded to float64, shape (n,).
    """
    each.G = [0] * len(found.rows)
    if proof.solver is None:
        return each
    wanted = f - inner(proof.pi, f)
    goal = 1e-14 * float(np.abs(f).max())
    high, low = solved(proof.solver, wanted, lambda rest: float(np.ptp(rest)) <= goal)
    size = float(np.abs(high).max())
    if 0.0 < size < math.inf and np.all(np.isfinite(low)):
        bits = max(0, FUNCTION_BITS - math.frexp(size)[1])
        each.scales = each.scales[0], 1 << bits
        each.G = [scaled(a, bits) + scaled(b, bits) for a, b in zip(high.tolist(), low.tolist(), strict=True)]
    return each
