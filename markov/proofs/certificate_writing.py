"""Numbers of a certificate as integers, and the file that has them."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction
from pathlib import Path
from typing import IO, TYPE_CHECKING

from markov.proofs.checker import STATIONARY, Contents, decade

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.sparse as sp

    from markov.proofs.checker import Rows

__all__ = ["binary_digits", "outward", "scaled", "whole_rows", "write"]

CLAIMED_DIGITS = 6


def whole_rows(Q: sp.csr_matrix, rates: Sequence[Fraction] | None) -> tuple[Fraction, Rows]:
    """Return the unit of the rates, and the transitions out of each state in that unit.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    rates
        Exact rates in the order of the entries off the diagonal; None: those of Q.
    """
    ends, exact = [], []
    for s in range(Q.shape[0]):
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


def binary_digits(value: float) -> int:
    """Return how many binary digits a float64 has behind the point."""
    return value.as_integer_ratio()[1].bit_length() - 1


def scaled(value: float, bits: int) -> int:
    """Return value times 2^bits, rounded down."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else top >> -shift


def outward(value: Fraction, width: Fraction, *, up: bool = False) -> str:
    """Return a number with six digits of ``width``, not above the value, or not below it."""
    if width <= 0:
        return str(value)
    e = decade(width) - CLAIMED_DIGITS + 1
    unit = Fraction(10) ** e
    return f"{-(-value // unit) if up else value // unit}e{e}"


def write(path: str | Path, found: Contents) -> None:
    """Write a certificate; compressed where the name of the file ends in ``.gz``."""
    path = Path(path)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        _write(file, found)


def _printable(text: str) -> str:
    """Return a text in one line of printable ASCII characters, others escaped."""
    line = " ".join(str(text).split())
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in line)


def _write(file: IO[str], found: Contents) -> None:
    one = found.schema == STATIONARY
    print("hopflow-certificate", found.schema, file=file)
    for key, text in found.information.items():
        print(key, _printable(text), file=file)
    print("rate-unit", found.unit, file=file)
    if one:
        print(f"scale {found.scale:x}", file=file)
        print("bound", found.bound, file=file)
    print("reference", found.reference, file=file)
    print("columns", *map(_printable, found.columns), file=file)
    for each in found.functions:
        scales = each.scales if one else (*each.scales, each.u_scale)
        print(
            "function", *map("{:x}".format, scales), *each.claimed, _printable(each.name), file=file
        )
    print("states", len(found.rows), file=file)
    for s, row in enumerate(found.rows):
        numbers = [found.X[s], found.Y[s] - found.X[s], found.H[s]] if one else []
        for each in found.functions:
            numbers += (
                (each.F[s], each.G[s]) if one else (each.F[s], each.G[s], each.U[s], each.E[s])
            )
        for pair in row:
            numbers += pair
        print(*found.values[s], *(f"{number:x}" for number in numbers), file=file)
