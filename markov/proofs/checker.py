"""Check a certificate of a stationary distribution, with exact integers and the standard library alone.

This module imports nothing of `markov`: copied elsewhere it runs as ``python checker.py FILE``. What it computes
follows from one theorem. Let Q be a generator on finitely many states, h >= 0, c > 0 and (Q h)(s) <= -c in all
states but one. Then there is exactly one stationary distribution pi, and for any vector y of mass m, with r = y Q,

    (1/2) sum |y - m pi|  <=  rest = max(sum r+ h, sum r- h) / c.

For functions f and g of the state and rho = f + Q g, pi f = pi rho. So m pi f differs from y rho by at most rest times the
range of rho, and pi f lies between the least and the largest rho.

A chain with several recurrent classes has no such h. Its certificate has functions u and e beside f and g with
|Q u| <= -Q e and |f + Q g - u| <= e: the long-run mean of f from each state s is then within e(s) of u(s)
(``docs/markov-bound.md`` has the proofs).
"""

from __future__ import annotations

import gzip
import re
import sys
from array import array
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "CertificateError",
    "Contents",
    "Function",
    "Rows",
    "Source",
    "Statement",
    "check",
    "compared",
    "decade",
    "decimal",
    "drift",
    "net_flow",
    "proved_mean",
    "proved_rest",
    "read",
    "rounded_up",
    "verified",
]

STATIONARY, LONG_RUN = "1", "2"
"""Schemas: of one stationary distribution, and of long-run means from a state."""
INFORMATION = ("made-by", "model", "sha256", "constants")
"""Keys of the header that are repeated and not checked."""
KEYS = {
    STATIONARY: ("rate-unit", "scale", "reference", "bound", "columns", "states", *INFORMATION),
    LONG_RUN: ("rate-unit", "reference", "columns", "states", *INFORMATION),
}
"""Keys of the header, by schema."""
DIGITS = 3  # of a bound, rounded up
FRACTION, NATURAL = re.compile(r"-?[0-9]+(/[0-9]+)?"), re.compile(r"[0-9]+")
HEXADECIMAL, STATE = re.compile(r"-?[0-9a-f]+"), re.compile(r"[0-9a-f -]+")

RATES = 1 << 16  # that are kept, so that equal ones are one object

Row = list[tuple[int, int]]
Interval = tuple[Fraction, Fraction]


class CertificateError(ValueError):
    """The certificate does not prove what it says, or cannot be read."""


class Source(Protocol):
    """Where rows are derived from, independently of the certificate."""

    name: str

    def compare(self, certificate: Contents) -> str:
        """Return a remark; CertificateError where the rows differ from those of the certificate."""


@dataclass
class Rows:
    """The transitions out of each state: a sequence of lists of (target, rate), of a few bytes per transition.

    Attributes
    ----------
    starts
        Where those of each state begin in the others, shape (n + 1,).
    targets, rates
        Of all transitions.
    """

    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    targets: array[int] = field(default_factory=lambda: array("q"))
    rates: list[int] = field(default_factory=list)

    def append(self, targets: Iterable[int], rates: Iterable[int]) -> None:
        """Append a state."""
        self.targets.extend(targets)
        self.rates.extend(rates)
        self.starts.append(len(self.rates))

    def parts(self) -> Iterator[tuple[array[int], list[int]]]:
        """Yield the targets and the rates of each state."""
        for begin, end in pairwise(self.starts):
            yield self.targets[begin:end], self.rates[begin:end]

    def flows(self) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield (target, rate) of each state, to be read in full before the next state."""
        pairs = zip(self.targets, self.rates, strict=True)
        for begin, end in pairwise(self.starts):
            yield islice(pairs, end - begin)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, s: int) -> Row:
        if not 0 <= s < len(self):
            raise IndexError(s)
        own = slice(self.starts[s], self.starts[s + 1])
        return list(zip(self.targets[own], self.rates[own], strict=True))


@dataclass
class Function:
    """A function f = F / f_scale with g = G / g_scale, and the interval claimed for its mean.

    For a long-run mean also u = U / u_scale and e = E / u_scale.
    """

    name: str
    scales: tuple[int, int]
    claimed: Interval
    F: list[int] = field(default_factory=list)
    G: list[int] = field(default_factory=list)
    u_scale: int = 1
    U: list[int] = field(default_factory=list)
    E: list[int] = field(default_factory=list)


@dataclass
class Contents:
    """A certificate as read: state s has the probability X[s] / scale, and Y[s] / scale in the better vector.

    ``rows[s]`` has (target, a) for the rate a * unit; h is H up to a factor, which cancels. For long-run means,
    ``reference`` is the state that paths begin in, and X, Y and H are empty.
    """

    information: dict[str, str]
    unit: Fraction
    scale: int
    reference: int
    bound: Fraction
    columns: tuple[str, ...]
    functions: list[Function]
    values: list[tuple[int, ...]] = field(default_factory=list)
    X: list[int] = field(default_factory=list)
    Y: list[int] = field(default_factory=list)
    H: list[int] = field(default_factory=list)
    rows: Rows = field(default_factory=Rows)
    schema: str = STATIONARY


@dataclass(frozen=True)
class Statement:
    """What was proved: ``str`` of it is for readers.

    Attributes
    ----------
    states, transitions
        Of the chain.
    bound
        Largest error of the probability of any set of states, for the listed probabilities; None: long-run
        means alone are proved.
    means
        The interval of the mean of each function, or of its long-run mean from the state ``start``.
    rows
        Where the rows were derived from.
    information
        What the certificate says and nobody has checked.
    start
        Number of the state that paths begin in, for long-run means.
    """

    states: int
    transitions: int
    bound: Fraction | None
    means: dict[str, Interval]
    rows: str
    information: dict[str, str]
    start: int | None = None

    def __str__(self) -> str:
        size = f"{self.states} listed states ({self.transitions} transitions)"
        if self.bound is None:
            kind = "long-run mean"
            lines = [f"proved      long-run means from state number {self.start} on the {size}"]
        else:
            kind = "mean"
            lines = [
                f"proved      exactly one stationary distribution on the {size}",
                f"proved      total variation of the listed probabilities <= {rounded_up(self.bound)}",
                "            (largest error of the probability of any set of states)",
            ]
        lines += [f"proved      {kind} of {name} in {shown(*ends)}" for name, ends in self.means.items()]
        lines.append(f"rows        {self.rows}")
        if self.means:
            lines.append("functions   as in the certificate")
        lines += [f"not checked {key}: {text}" for key, text in self.information.items()]
        return "\n".join(lines)


def check(path: str | Path, source: Source | None = None) -> Statement:
    """Check a certificate file, and that its rows are those of a source.

    Parameters
    ----------
    path
        The file; compressed where it ends in ``.gz``.
    source
        None: the rows of the certificate are taken as they are.

    Raises
    ------
    CertificateError
        Where the file cannot be read, or does not prove its claims.
    """
    path = Path(path)
    try:
        with (
            gzip.open(path, "rt", encoding="ascii", newline="\n")
            if path.suffix == ".gz"
            else path.open(encoding="ascii", newline="\n") as file
        ):
            found = read(file)
    except (OSError, EOFError, UnicodeError) as error:
        raise CertificateError(f"path = {str(path)!r}: {error}") from None
    rows = "as in the certificate" if source is None else source.compare(found)
    return verified(found, rows)


# ---------------------------------------------------------------------- reading


def read(file: IO[str]) -> Contents:
    """Return the contents of a certificate; CertificateError with the line where it cannot be read."""
    number = 0
    try:
        header: dict[str, str] = {}
        functions: list[Function] = []
        for number, line in enumerate(file, 1):
            key, _, rest = _plain(line).strip().partition(" ")
            if number == 1 and (key != "hopflow-certificate" or rest not in KEYS):
                said = " or ".join(f"'hopflow-certificate {schema}'" for schema in KEYS)
                raise ValueError(f"must begin with {said}")
            if key == "function":
                functions.append(_function(rest, header["hopflow-certificate"]))
                continue
            if key in header or (number > 1 and key not in KEYS[header["hopflow-certificate"]]):
                raise ValueError(f"{key!r} is unknown, or stands there twice")
            header[key] = rest
            if key == "states":
                break
        schema = header["hopflow-certificate"]
        one = schema == STATIONARY
        found = Contents(
            {key: header[key] for key in INFORMATION if key in header},
            Fraction(_like(FRACTION, header["rate-unit"])),
            int(_like(HEXADECIMAL, header["scale"]), 16) if one else 1,
            int(_like(NATURAL, header["reference"])),
            Fraction(_like(FRACTION, header["bound"])) if one else Fraction(0),
            tuple(header["columns"].split()),
            functions,
            schema=schema,
        )
        count = int(_like(NATURAL, header["states"]))
        rate_of = lru_cache(RATES)(_hexadecimal)
        for line in file:
            number += 1
            _state(_like(STATE, _plain(line)).split(), found, rate_of)
    except (ValueError, KeyError, IndexError, ArithmeticError) as error:
        raise CertificateError(f"line {number}: {error}") from None
    if len(found.rows) != count:
        raise CertificateError(f"{len(found.rows)} states: must be {count}")
    return found


def _function(text: str, schema: str) -> Function:
    f_scale, g_scale, text = text.split(" ", 2)
    scales = int(_like(HEXADECIMAL, f_scale), 16), int(_like(HEXADECIMAL, g_scale), 16)
    u_scale, text = text.split(" ", 1) if schema == LONG_RUN else ("1", text)
    low, high, name = text.split(" ", 2)
    claimed = Fraction(_like(FRACTION, low)), Fraction(_like(FRACTION, high))
    return Function(name, scales, claimed, u_scale=int(_like(HEXADECIMAL, u_scale), 16))


def _plain(line: str) -> str:
    """Return a line without its end; ValueError where it has other characters than printable ASCII."""
    line = line.removesuffix("\n").removesuffix("\r")
    if not (line.isascii() and line.isprintable()):
        raise ValueError("must be printable ASCII characters")
    return line


def _like(form: re.Pattern[str], text: str) -> str:
    if form.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} must be of the form {form.pattern}")
    return text


def _hexadecimal(word: str) -> int:
    return int(word, 16)


def _state(words: list[str], found: Contents, rate_of: Callable[[str], int]) -> None:
    """Append a state: its values, X, Y - X, H, F and G of each function, then targets and rates.

    For long-run means there are no X, Y - X and H, and each function has F, G, U and E.
    """
    one = found.schema == STATIONARY
    own, each_has = (3, 2) if one else (0, 4)
    first = len(found.columns)
    begin = first + own + each_has * len(found.functions)
    if len(words) < begin or (len(words) - begin) % 2:
        raise ValueError(f"{len(words)} numbers: must be {begin} and an even number more")
    found.values.append(tuple(map(int, words[:first])))
    numbers = [int(word, 16) for word in words[first:begin]]
    if one:
        found.X.append(numbers[0])
        found.Y.append(numbers[0] + numbers[1])
        found.H.append(numbers[2])
    for n, each in enumerate(found.functions):
        columns = (each.F, each.G) if one else (each.F, each.G, each.U, each.E)
        for k, column in enumerate(columns, own + each_has * n):
            column.append(numbers[k])
    targets, rates = words[begin::2], words[begin + 1 :: 2]
    found.rows.append(map(_hexadecimal, targets), map(rate_of, rates))


# ---------------------------------------------------------------------- the theorem


def net_flow(rows: Rows, y: list[int]) -> list[int]:
    """Return y Q, in units of the rates and of y; shape (n,)."""
    net = [0] * len(y)
    for s, (here, row) in enumerate(zip(y, rows.flows(), strict=True)):
        out = 0
        for target, rate in row:
            flow = here * rate
            net[target] += flow
            out += flow
        net[s] -= out
    return net


def drift(rows: Rows, h: list[int]) -> list[int]:
    """Return Q h, in units of the rates and of h; shape (n,)."""
    return [sum([a * (h[t] - here) for t, a in row]) for here, row in zip(h, rows.flows(), strict=True)]


def proved_rest(rows: Rows, Y: list[int], H: list[int], reference: int) -> Fraction:
    """Return ``rest`` times the scale of Y, by the theorem; CertificateError where H proves nothing."""
    if len(rows) == 1:
        return Fraction(0)
    falls = drift(rows, H)
    falls.pop(reference)
    c = -max(falls)
    if c <= 0:
        raise CertificateError("the function h does not fall in every state but the reference")
    net = net_flow(rows, Y)
    up = sum([r * h for r, h in zip(net, H, strict=True) if r > 0])
    down = sum([-r * h for r, h in zip(net, H, strict=True) if r < 0])
    return Fraction(max(up, down), c)


def verified(found: Contents, rows: str = "as in the certificate") -> Statement:
    """Return what the contents of a certificate prove; CertificateError where that is less than they claim."""
    n, X, Y = len(found.rows), found.X, found.Y
    if not (n and found.scale > 0 and found.unit > 0 and 0 <= found.reference < n):
        raise CertificateError("states, scale, unit of the rates and reference must be positive, and in range")
    ends = found.rows.targets
    if ends and not (
        min(found.rows.rates) > 0
        and 0 <= min(ends) <= max(ends) < n
        and not any(s in targets for s, (targets, _) in enumerate(found.rows.parts()))
    ):
        raise CertificateError("rates must be positive, and lead to other states of the list")
    if found.columns and len(set(found.values)) != n:
        raise CertificateError("a state stands there twice")
    if len({each.name for each in found.functions}) != len(found.functions):
        raise CertificateError("two functions have the same name")
    size = n, len(ends)
    if found.schema == LONG_RUN:
        means = {each.name: _long_run_mean(found, each) for each in found.functions}
        return Statement(*size, None, means, rows, found.information, found.reference)
    if min(found.H) < 0 or min(X) < 0:
        raise CertificateError("h and the listed probabilities must not be negative")
    rest, mass = proved_rest(found.rows, Y, found.H, found.reference), sum(Y)
    moved = [x - y for x, y in zip(X, Y, strict=True)]
    distance = max(sum([d for d in moved if d > 0]), -sum([d for d in moved if d < 0]))
    bound = (distance + rest + abs(mass - found.scale)) / found.scale
    if bound > found.bound:
        raise CertificateError(f"proved is a bound of {rounded_up(bound)}, claimed {float(found.bound)}")
    means = {each.name: proved_mean(found, each, rest, mass) for each in found.functions}
    return Statement(*size, bound, means, rows, found.information)


def proved_mean(found: Contents, each: Function, rest: Fraction, mass: int) -> Interval:
    """Return the interval of pi f; CertificateError where it is not within the one that is claimed."""
    rho, scale = corrected(found, each)
    low, high = Fraction(min(rho)), Fraction(max(rho))
    if mass > 0:
        value = sum([y * r for y, r in zip(found.Y, rho, strict=True)])
        half = rest * (high - low)
        low, high = max(low, (value - half) / mass), min(high, (value + half) / mass)
    return _claimed(each, low / scale, high / scale)


def _long_run_mean(found: Contents, each: Function) -> Interval:
    """Return the interval of the long-run mean of f; CertificateError where it is not within the one that is claimed."""
    rho, scale = corrected(found, each)
    U, E, u_scale = each.U, each.E, each.u_scale
    if u_scale <= 0:
        raise CertificateError(f"{each.name}: scales must be positive")
    rises, falls = drift(found.rows, U), drift(found.rows, E)
    if any(abs(a) > -b for a, b in zip(rises, falls, strict=True)):
        raise CertificateError(f"{each.name}: e does not fall as fast as u changes")
    if any(abs(r * u_scale - u * scale) > e * scale for r, u, e in zip(rho, U, E, strict=True)):
        raise CertificateError(f"{each.name}: f + Q g differs from u by more than e")
    u, e = U[found.reference], E[found.reference]
    return _claimed(each, Fraction(u - e, u_scale), Fraction(u + e, u_scale))


def corrected(found: Contents, each: Function) -> tuple[list[int], int]:
    """Return f + Q g in every state, as integers over a scale."""
    f_scale, g_scale = each.scales
    if f_scale <= 0 or g_scale <= 0:
        raise CertificateError(f"{each.name}: scales must be positive")
    top, bottom = found.unit.numerator, found.unit.denominator
    f, g = g_scale * bottom, f_scale * top
    rho = [f * a + g * b for a, b in zip(each.F, drift(found.rows, each.G), strict=True)]
    return rho, f_scale * g_scale * bottom


def _claimed(each: Function, low: Fraction, high: Fraction) -> Interval:
    """Return a proved interval; CertificateError where it is not within the one that is claimed."""
    if not each.claimed[0] <= low <= high <= each.claimed[1]:
        raise CertificateError(f"{each.name}: proved is {shown(low, high)}, less than claimed")
    return low, high


def compared(name: str, found: Contents, rows: Iterable[dict[int, Fraction]]) -> str:
    """Return how rows by target, derived elsewhere, agree; CertificateError where they differ.

    They agree exactly, or each rate of the certificate is the float64 next to the derived one.
    """
    exact = True
    rate_of = lru_cache(RATES)(found.unit.__mul__)
    for s, (derived, (targets, rates)) in enumerate(zip(rows, found.rows.parts(), strict=True)):
        listed = dict(zip(targets, map(rate_of, rates), strict=True))
        if len(listed) < len(targets):
            listed = dict.fromkeys(listed, Fraction(0))
            for target, rate in zip(targets, rates, strict=True):
                listed[target] += rate_of(rate)
        if listed == derived:
            continue
        exact = False
        if listed != {target: Fraction(float(rate)) for target, rate in derived.items()}:
            values = dict(zip(found.columns, found.values[s], strict=True))
            raise CertificateError(f"{name}: has other rates out of state number {s}, {values}")
    return f"re-derived from {name}, " + ("exactly" if exact else "rates rounded to float64")


# ---------------------------------------------------------------------- numbers for readers


def decade(value: Fraction) -> int:
    """Return the largest e with 10^e <= value, for a positive value."""
    e = len(str(value.numerator)) - len(str(value.denominator))
    while Fraction(10) ** e > value:
        e -= 1
    return e


def rounded_up(value: Fraction) -> str:
    """Return a bound with three digits, not below it."""
    if value == 0:
        return "0"
    e = decade(value) - DIGITS + 1
    digits = str(-(-value // Fraction(10) ** e))
    if len(digits) > DIGITS:  # 1000
        digits, e = digits[:DIGITS], e + 1
    return f"{digits[0]}.{digits[1:]}e{e + len(digits) - 1}"


def shown(low: Fraction, high: Fraction) -> str:
    """Return an interval that holds [low, high], to three digits of its width."""
    largest = max(abs(low), abs(high))
    e = decade(high - low) - DIGITS + 1 if high > low else (decade(largest) - 20 if largest else 0)
    unit = Fraction(10) ** e
    return f"[{decimal(low // unit, e)}, {decimal(-(-high // unit), e)}]"


def decimal(number: int, e: int) -> str:
    """Return number * 10^e in decimals."""
    if e >= 0:
        return str(number * 10**e)
    digits = str(abs(number)).rjust(1 - e, "0")
    return f"{'-' if number < 0 else ''}{digits[:e]}.{digits[e:]}"


if __name__ == "__main__":
    print(check(sys.argv[1]))  # noqa: T201
