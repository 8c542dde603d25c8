"""Numbers of a certificate as integers, and the file that has them."""

from __future__ import annotations

import gzip
import io
import math
from array import array
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.whole_files import replacing
from markov.computing.matrices import row_numbers
from markov.proofs.checker import STATIONARY, Contents, Rows, decade

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.checker import Interval

__all__ = [
    "UNLIMITED",
    "Rates",
    "binary_digits",
    "moved",
    "outward",
    "scaled",
    "whole_rows",
    "whole_values",
    "write",
]

CLAIMED_DIGITS = 6
UNLIMITED = Fraction(10) ** 400  # of what is not yet claimed
LEVEL = 6  # of compression: 9 takes three times as long for 2 percent


class Rates(NamedTuple):
    """The rates of a chain's transitions.

    Attributes
    ----------
    values
        Distinct rates.
    which
        The place in ``values`` for each entry off the diagonal of the generator, in its order; shape (transitions,).
    """

    values: list[Fraction]
    which: NDArray[np.int64]


def whole_rows(Q: sp.csr_matrix, rates: Rates | None) -> tuple[Fraction, Rows]:
    """Return the unit of the rates, and the transitions out of each state in that unit.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    rates
        Exact rates; None: those of Q.
    """
    sources = row_numbers(Q.indptr)
    off = sources != Q.indices
    if rates is None:
        distinct, which = np.unique(Q.data[off], return_inverse=True)
        rates = Rates(list(map(Fraction, distinct.tolist())), which)
    denominator = math.lcm(*(a.denominator for a in rates.values))
    whole = [a.numerator * (denominator // a.denominator) for a in rates.values]
    common = math.gcd(*whole) or 1
    numbers = np.array([a // common for a in whole], dtype=object)
    ends = np.cumsum(np.bincount(sources[off], minlength=Q.shape[0]))
    rows = Rows(_array(np.append(0, ends)), _array(Q.indices[off]), numbers[rates.which].tolist())
    return Fraction(common, denominator), rows


def _array(numbers: NDArray[np.integer]) -> array[int]:
    return array("q", numbers.astype(np.int64).tobytes())


def binary_digits(value: float) -> int:
    """Return how many binary digits a float64 has behind the point."""
    return value.as_integer_ratio()[1].bit_length() - 1


def whole_values(f: NDArray[np.float64]) -> tuple[tuple[int, int], Interval, list[int]]:
    """Return the scales, the claim and the values of a function of the state, shape (n,): nothing is claimed of its mean."""
    bits = max(0, *(binary_digits(v) for v in f.tolist()))
    return (1 << bits, 1), (-UNLIMITED, UNLIMITED), [scaled(v, bits) for v in f.tolist()]


def scaled(value: float, bits: int) -> int:
    """Return value times 2^bits, rounded down."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else top >> -shift


def moved(values: list[int], steps: NDArray[np.float64], unit: Fraction) -> list[int]:
    """Return integers, each with a step added that is rounded; steps have another unit and shape (n,)."""
    found, factor, divisor = [], 2 * unit.numerator, unit.denominator
    for value, step in zip(values, steps.tolist(), strict=True):
        top, bottom = step.as_integer_ratio()
        bottom *= divisor
        found.append(value + (top * factor + bottom) // (2 * bottom))
    return found


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
    with replacing(path) as scratch, scratch.open("wb") as raw:
        packed = gzip.GzipFile(path.name, "wb", LEVEL, raw) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(packed, encoding="ascii", newline="\n") as file:
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
        print("function", *map("{:x}".format, scales), *each.claimed, _printable(each.name), file=file)
    print("states", len(found.rows), file=file)
    for s, (targets, rates) in enumerate(found.rows.parts()):
        numbers = [found.X[s], found.Y[s] - found.X[s], found.H[s]] if one else []
        for each in found.functions:
            numbers += (each.F[s], each.G[s]) if one else (each.F[s], each.G[s], each.U[s], each.E[s])
        numbers += chain.from_iterable(zip(targets, rates, strict=True))
        values = map(str, found.values[s])
        file.write(" ".join((*values, *map("{:x}".format, numbers))) + "\n")
