"""Write the proof of a stationary distribution into a file that others can check without this package.

Vectors of float64 become integers: the printed probabilities and the rates exactly, the better vector, h and g to
more digits than matter. Everything that is claimed is then computed by `markov.proofs.checker` from these integers.
"""

from __future__ import annotations

import gzip
import math
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from markov.computing.vectors import inner
from markov.proofs.checker import (
    SCHEMA,
    Contents,
    Function,
    decade,
    drift,
    net_flow,
    proved_rest,
    verified,
)
from markov.proofs.poisson import balanced, solved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Rows
    from markov.proofs.listings import Listing

    Vector = NDArray[np.float64]

__all__ = ["write_certificate"]

MIN_BITS = 140
"""Of the fractions of probabilities: what is lost below is far below the residual of a refined vector."""
DRIFT_BITS = 11  # of h beyond the fastest exit rate: c moves by some 2^-10 of itself
FUNCTION_BITS = 60  # of g, relative to its largest size
REFINEMENTS = 3
CLAIMED_DIGITS = 6
UNLIMITED = Fraction(10) ** 400


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
    path = Path(path)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        _write(file, found)
    return found


def contents_of(proof: Certificate, listing: Listing) -> Contents:
    """Return a certificate whose claims are what its own integers prove, rounded outwards."""
    n = len(proof.pi)
    if n > 1 and (proof.supersolution is None or proof.solver is None):
        raise ValueError("nothing was proved: no function h with a negative drift was found")
    unit, rows = _rows(proof, listing.rates)
    bits = max(MIN_BITS, *(_bits(v) for v in proof.pi.tolist()))
    X = [_scaled(v, bits) for v in proof.pi.tolist()]
    reference = int(np.argmax(proof.pi)) if proof.solver is None else proof.solver.reference
    found = Contents(
        dict(listing.information), unit, 1 << bits, reference, UNLIMITED, tuple(listing.columns), []
    )
    found.values = (
        list(zip(*(v.tolist() for v in listing.columns.values()), strict=True)) or [()] * n
    )
    found.rows, found.X, found.H = rows, X, _heights(proof, rows, reference)
    better = [a + _scaled(b, bits) for a, b in zip(X, proof.low.tolist(), strict=True)]
    found.Y = _refined(proof, found, better)
    found.functions = [_function(proof, found, *each) for each in listing.functions.items()]
    proved = verified(found)
    found.bound = Fraction(_outward(proved.bound, proved.bound, up=True))
    for each in found.functions:
        low, high = proved.means[each.name]
        width = high - low or max(abs(low), abs(high)) * Fraction(1, 10**20)
        each.claimed = Fraction(_outward(low, width)), Fraction(_outward(high, width, up=True))
    return found


def _rows(proof: Certificate, rates: Sequence[Fraction] | None) -> tuple[Fraction, Rows]:
    """Return the unit of the rates, and the transitions out of each state in that unit."""
    Q = proof.Q
    ends, exact = [], []
    for s in range(len(proof.pi)):
        row = slice(Q.indptr[s], Q.indptr[s + 1])
        off = [
            (t, v)
            for t, v in zip(Q.indices[row].tolist(), Q.data[row].tolist(), strict=True)
            if t != s
        ]
        ends.append([t for t, _ in off])
        exact += [Fraction(v) for _, v in off] if rates is None else []
    given = iter(exact if rates is None else rates)
    rows = [[(t, next(given)) for t in row] for row in ends]
    denominator = math.lcm(*(a.denominator for row in rows for _, a in row))
    whole = [[(t, a.numerator * (denominator // a.denominator)) for t, a in row] for row in rows]
    common = math.gcd(*(a for row in whole for _, a in row)) or 1
    return Fraction(common, denominator), [[(t, a // common) for t, a in row] for row in whole]


def _heights(proof: Certificate, rows: Rows, reference: int) -> list[int]:
    """Return h as whole numbers, with as many bits as leave c nearly what it was."""
    proved = proof.supersolution
    if proved is None:
        return [0] * len(rows)
    fastest = float(np.abs(proof.Q.diagonal()).max())
    bits = max(0, math.ceil(math.log2(fastest / proved.c))) + DRIFT_BITS
    for more in (0, 10, 20, 40):
        H = [max(0, -_scaled(-v, bits + more)) for v in proved.h.tolist()]
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
    change = (Fraction(v) * shift for v in step.tolist())
    Y = [y + round(d) for y, d in zip(Y, change, strict=True)]
    excess, scale = sum(Y) - found.scale, found.scale
    return [y - excess * x // scale for y, x in zip(Y, found.X, strict=True)]


def _function(proof: Certificate, found: Contents, name: str, f: Vector) -> Function:
    """Return f with the solution g of its Poisson equation, as whole numbers."""
    f_bits = max(0, *(_bits(v) for v in f.tolist()))
    each = Function(name, (1 << f_bits, 1), (-UNLIMITED, UNLIMITED))
    each.F, each.G = [_scaled(v, f_bits) for v in f.tolist()], [0] * len(f)
    if proof.solver is None:
        return each
    wanted = f - inner(proof.pi, f)
    goal = 1e-14 * float(np.abs(f).max())
    high, low = solved(proof.solver, wanted, lambda rest: float(np.ptp(rest)) <= goal)
    size = float(np.abs(high).max())
    if 0.0 < size < math.inf and np.all(np.isfinite(low)):
        g_bits = max(0, FUNCTION_BITS - math.frexp(size)[1])
        each.scales = 1 << f_bits, 1 << g_bits
        each.G = [
            _scaled(a, g_bits) + _scaled(b, g_bits)
            for a, b in zip(high.tolist(), low.tolist(), strict=True)
        ]
    return each


# ---------------------------------------------------------------------- numbers


def _bits(value: float) -> int:
    """Return how many binary digits a float64 has behind the point."""
    return value.as_integer_ratio()[1].bit_length() - 1


def _scaled(value: float, bits: int) -> int:
    """Return value times 2^bits, rounded down."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else top >> -shift


def _outward(value: Fraction, width: Fraction, *, up: bool = False) -> str:
    """Return a number with six digits of ``width``, not above the value, or not below it."""
    if width <= 0:
        return str(value)
    e = decade(width) - CLAIMED_DIGITS + 1
    unit = Fraction(10) ** e
    return f"{-(-value // unit) if up else value // unit}e{e}"


def _printable(text: str) -> str:
    """Return a text in one line of printable ASCII characters, others escaped."""
    line = " ".join(str(text).split())
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in line)


def _write(file: IO[str], found: Contents) -> None:
    print("hopflow-certificate", SCHEMA, file=file)
    for key, text in found.information.items():
        print(key, _printable(text), file=file)
    print("rate-unit", found.unit, file=file)
    print(f"scale {found.scale:x}", file=file)
    print("reference", found.reference, file=file)
    print("bound", found.bound, file=file)
    print("columns", *map(_printable, found.columns), file=file)
    for each in found.functions:
        scales = (f"{scale:x}" for scale in each.scales)
        print("function", *scales, *each.claimed, _printable(each.name), file=file)
    print("states", len(found.X), file=file)
    for s, row in enumerate(found.rows):
        numbers = [found.X[s], found.Y[s] - found.X[s], found.H[s]]
        for each in found.functions:
            numbers += each.F[s], each.G[s]
        for pair in row:
            numbers += pair
        print(*found.values[s], *(f"{number:x}" for number in numbers), file=file)
