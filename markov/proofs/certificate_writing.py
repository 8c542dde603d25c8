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
from markov.proofs.checker import STATIONARY, Contents, Rows, decimal_exponent

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.checker import Interval

__all__ = [
    "UNCLAIMED",
    "Rates",
    "add_steps",
    "binary_digits",
    "integer_rows",
    "integer_values",
    "outward",
    "scale_to_integer",
    "write",
]

CLAIMED_DIGITS = 6
UNCLAIMED = Fraction(10) ** 400  # interval of a mean without a claim
COMPRESSION_LEVEL = 6  # of compression: 9 takes three times as long for 2 percent


class Rates(NamedTuple):
    """The rates of a chain's transitions.

    Attributes
    ----------
    values
        Distinct rates.
    which
        The index in ``values`` for each entry off the diagonal of the generator, in its order; shape (transitions,).
    """

    values: list[Fraction]
    which: NDArray[np.int64]


def integer_rows(Q: sp.csr_matrix, rates: Rates | None) -> tuple[Fraction, Rows]:
    """Return the unit of the rates, and the transitions out of each state in that unit.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    rates
        Exact rates; None: the rates of Q.
    """
    sources = row_numbers(Q.indptr)
    off_diagonal = sources != Q.indices
    if rates is None:
        distinct, which = np.unique(Q.data[off_diagonal], return_inverse=True)
        rates = Rates(list(map(Fraction, distinct.tolist())), which)
    denominator = math.lcm(*(a.denominator for a in rates.values))
    numerators = [a.numerator * (denominator // a.denominator) for a in rates.values]
    divisor = math.gcd(*numerators) or 1
    numbers = np.array([a // divisor for a in numerators], dtype=object)
    stops = np.cumsum(np.bincount(sources[off_diagonal], minlength=Q.shape[0]))
    rows = Rows(
        _integer_array(np.append(0, stops)), _integer_array(Q.indices[off_diagonal]), numbers[rates.which].tolist()
    )
    return Fraction(divisor, denominator), rows


def _integer_array(numbers: NDArray[np.integer]) -> array[int]:
    return array("q", numbers.astype(np.int64).tobytes())


def binary_digits(value: float) -> int:
    """Return the number of binary digits of a float64 behind the point."""
    return value.as_integer_ratio()[1].bit_length() - 1


def integer_values(f: NDArray[np.float64]) -> tuple[tuple[int, int], Interval, list[int]]:
    """Return the scales, an open claim and the values of a function of the state, shape (n,)."""
    bits = max(0, *(binary_digits(v) for v in f.tolist()))
    return (1 << bits, 1), (-UNCLAIMED, UNCLAIMED), [scale_to_integer(v, bits) for v in f.tolist()]


def scale_to_integer(value: float, bits: int) -> int:
    """Return value times 2^bits, rounded down."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else top >> -shift


def add_steps(values: list[int], steps: NDArray[np.float64], unit: Fraction) -> list[int]:
    """Add rounded steps to integers; steps have another unit and shape (n,)."""
    sums, factor, divisor = [], 2 * unit.numerator, unit.denominator
    for value, step in zip(values, steps.tolist(), strict=True):
        top, bottom = step.as_integer_ratio()
        bottom *= divisor
        sums.append(value + (top * factor + bottom) // (2 * bottom))
    return sums


def outward(value: Fraction, width: Fraction, *, up: bool = False) -> str:
    """Return a number with six digits of ``width``, not above the value, or not below it."""
    if width <= 0:
        return str(value)
    e = decimal_exponent(width) - CLAIMED_DIGITS + 1
    unit = Fraction(10) ** e
    return f"{-(-value // unit) if up else value // unit}e{e}"


def write(path: str | Path, contents: Contents) -> None:
    """Write a certificate; compressed where the name of the file ends in ``.gz``."""
    path = Path(path)
    with replacing(path) as scratch, scratch.open("wb") as raw:
        binary = gzip.GzipFile(path.name, "wb", COMPRESSION_LEVEL, raw) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(binary, encoding="ascii", newline="\n") as file:
            _write(file, contents)


def _printable(text: str) -> str:
    """Return a string in one line of printable ASCII characters, others escaped."""
    line = " ".join(str(text).split())
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in line)


def _write(file: IO[str], contents: Contents) -> None:
    stationary = contents.schema == STATIONARY
    print("hopflow-certificate", contents.schema, file=file)
    for key, text in contents.information.items():
        print(key, _printable(text), file=file)
    print("rate-unit", contents.unit, file=file)
    if stationary:
        print(f"scale {contents.scale:x}", file=file)
        print("bound", contents.bound, file=file)
    print("reference", contents.reference, file=file)
    print("columns", *map(_printable, contents.columns), file=file)
    for function in contents.functions:
        scales = function.scales if stationary else (*function.scales, function.u_scale)
        print("function", *map("{:x}".format, scales), *function.claimed, _printable(function.name), file=file)
    print("states", len(contents.rows), file=file)
    for s, (targets, rates) in enumerate(contents.rows.parts()):
        numbers = [contents.X[s], contents.Y[s] - contents.X[s], contents.H[s]] if stationary else []
        for function in contents.functions:
            numbers += (
                (function.F[s], function.G[s])
                if stationary
                else (function.F[s], function.G[s], function.U[s], function.E[s])
            )
        numbers += chain.from_iterable(zip(targets, rates, strict=True))
        values = map(str, contents.values[s])
        file.write(" ".join((*values, *map("{:x}".format, numbers))) + "\n")
