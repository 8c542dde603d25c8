"""Check a certificate of a stationary distribution, with exact integers and the standard library alone.

This module imports nothing of `markov`: copied elsewhere it runs as ``python checker.py FILE``. Its answers
follow from one theorem. Let Q be a generator on finitely many states, h >= 0, c > 0 and (Q h)(s) <= -c in all
states but one. Then there is exactly one stationary distribution pi, and for any vector y of mass m, with r = y Q,

    (1/2) sum |y - m pi|  <=  rest = max(sum r+ h, sum r- h) / c.

For functions f and g of the state and rho = f + Q g, pi f = pi rho. So m pi f differs from y rho by at most rest times
the range of rho, and pi f lies between the smallest and the largest rho.

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
    "compare_rows",
    "decimal_exponent",
    "drift",
    "format_decimal",
    "format_rounded_up",
    "net_flow",
    "prove_mean",
    "prove_rest",
    "read",
    "verify",
]

STATIONARY, LONG_RUN = "1", "2"
"""Schemas: of one stationary distribution, and of long-run means from a state."""
INFORMATION = ("made-by", "model", "sha256", "constants")
"""Keys of the header that are repeated without a check."""
KEYS = {
    STATIONARY: ("rate-unit", "scale", "reference", "bound", "columns", "states", *INFORMATION),
    LONG_RUN: ("rate-unit", "reference", "columns", "states", *INFORMATION),
}
"""Keys of the header, by schema."""
DIGITS = 3  # of a bound, rounded up
FRACTION, NATURAL = re.compile(r"-?[0-9]+(/[0-9]+)?"), re.compile(r"[0-9]+")
HEXADECIMAL, STATE = re.compile(r"-?[0-9a-f]+"), re.compile(r"[0-9a-f -]+")

MAX_CACHED_RATES = 1 << 16  # cached, so that equal rates are one object

Row = list[tuple[int, int]]
Interval = tuple[Fraction, Fraction]


class CertificateError(ValueError):
    """Error: a certificate does not prove its claims, or a file cannot be read."""


class Source(Protocol):
    """Interface of an origin of rows that is independent of the certificate, such as a model file."""

    name: str

    def compare(self, certificate: Contents) -> str:
        """Return a remark if the rows equal a certificate's; CertificateError where they differ."""


@dataclass
class Rows:
    """The transitions out of each state: a sequence of lists of (target, rate), of a few bytes per transition.

    Attributes
    ----------
    starts
        First transition of each state, shape (n + 1,).
    targets, rates
        Of all transitions.
    """

    starts: array[int] = field(default_factory=lambda: array("q", [0]))
    targets: array[int] = field(default_factory=lambda: array("q"))
    rates: list[int] = field(default_factory=list)

    def append(self, targets: Iterable[int], rates: Iterable[int]) -> None:
        """Append the transitions of the next state."""
        self.targets.extend(targets)
        self.rates.extend(rates)
        self.starts.append(len(self.rates))

    def parts(self) -> Iterator[tuple[array[int], list[int]]]:
        """Yield the targets (an array) and the rates (a list) of the transitions out of each state."""
        for begin, end in pairwise(self.starts):
            yield self.targets[begin:end], self.rates[begin:end]

    def pairs(self) -> Iterator[Iterator[tuple[int, int]]]:
        """Yield an iterator over the (target, rate) of each state, to be read in full before the next state."""
        pairs = zip(self.targets, self.rates, strict=True)
        for begin, end in pairwise(self.starts):
            yield islice(pairs, end - begin)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, s: int) -> Row:
        if not 0 <= s < len(self):
            raise IndexError(s)
        entries = slice(self.starts[s], self.starts[s + 1])
        return list(zip(self.targets[entries], self.rates[entries], strict=True))


@dataclass
class Function:
    """A function f = F / f_scale of the state with g = G / g_scale, and the interval claimed for its mean.

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
    """The contents of a certificate file: states, integer vectors, functions, transitions and claims.

    State s has the probability X[s] / scale, and Y[s] / scale in the better vector.

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
    """The statements that a certificate proves; ``str`` formats them for readers.

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
        Origin of the rows.
    information
        Unverified metadata.
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
                f"proved      total variation of the listed probabilities <= {format_rounded_up(self.bound)}",
                "            (largest error of the probability of any set of states)",
            ]
        lines += [
            f"proved      {kind} of {name} in {format_interval(*interval)}" for name, interval in self.means.items()
        ]
        lines.append(f"rows        {self.rows}")
        if self.means:
            lines.append("functions   as in the certificate")
        lines += [f"not checked {key}: {text}" for key, text in self.information.items()]
        return "\n".join(lines)


def check(path: str | Path, source: Source | None = None) -> Statement:
    """Return the statements that a certificate file proves; its rows are compared with a source, if any.

    Parameters
    ----------
    path
        The file; compressed where it ends in ``.gz``.
    source
        None: the rows of the certificate are not compared.

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
            contents = read(file)
    except (OSError, EOFError, UnicodeError) as error:
        raise CertificateError(f"path = {str(path)!r}: {error}") from None
    rows = "as in the certificate" if source is None else source.compare(contents)
    return verify(contents, rows)


# ---------------------------------------------------------------------- reading


def read(file: IO[str]) -> Contents:
    """Return the contents of a certificate file; CertificateError with the line where it cannot be read."""
    line_number = 0
    try:
        header: dict[str, str] = {}
        functions: list[Function] = []
        for line_number, line in enumerate(file, 1):
            key, _, value = _strip_line(line).strip().partition(" ")
            if line_number == 1 and (key != "hopflow-certificate" or value not in KEYS):
                allowed = " or ".join(f"'hopflow-certificate {schema}'" for schema in KEYS)
                raise ValueError(f"must begin with {allowed}")
            if key == "function":
                functions.append(_parse_function(value, header["hopflow-certificate"]))
                continue
            if key in header or (line_number > 1 and key not in KEYS[header["hopflow-certificate"]]):
                raise ValueError(f"{key!r} is unknown, or stands there twice")
            header[key] = value
            if key == "states":
                break
        schema = header["hopflow-certificate"]
        stationary = schema == STATIONARY
        contents = Contents(
            {key: header[key] for key in INFORMATION if key in header},
            Fraction(_match(FRACTION, header["rate-unit"])),
            int(_match(HEXADECIMAL, header["scale"]), 16) if stationary else 1,
            int(_match(NATURAL, header["reference"])),
            Fraction(_match(FRACTION, header["bound"])) if stationary else Fraction(0),
            tuple(header["columns"].split()),
            functions,
            schema=schema,
        )
        count = int(_match(NATURAL, header["states"]))
        rate_of = lru_cache(MAX_CACHED_RATES)(_hexadecimal)
        for line in file:
            line_number += 1
            _append_state(_match(STATE, _strip_line(line)).split(), contents, rate_of)
    except (ValueError, KeyError, IndexError, ArithmeticError) as error:
        raise CertificateError(f"line {line_number}: {error}") from None
    if len(contents.rows) != count:
        raise CertificateError(f"{len(contents.rows)} states: must be {count}")
    return contents


def _parse_function(text: str, schema: str) -> Function:
    """Return a function from its line of the header, without values."""
    f_scale, g_scale, text = text.split(" ", 2)
    scales = int(_match(HEXADECIMAL, f_scale), 16), int(_match(HEXADECIMAL, g_scale), 16)
    u_scale, text = text.split(" ", 1) if schema == LONG_RUN else ("1", text)
    low, high, name = text.split(" ", 2)
    claimed = Fraction(_match(FRACTION, low)), Fraction(_match(FRACTION, high))
    return Function(name, scales, claimed, u_scale=int(_match(HEXADECIMAL, u_scale), 16))


def _strip_line(line: str) -> str:
    """Return a line without its end; ValueError where it has other characters than printable ASCII."""
    line = line.removesuffix("\n").removesuffix("\r")
    if not (line.isascii() and line.isprintable()):
        raise ValueError("must be printable ASCII characters")
    return line


def _match(form: re.Pattern[str], text: str) -> str:
    """Return a text unchanged; ValueError unless it matches a regular expression in full."""
    if form.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} must be of the form {form.pattern}")
    return text


def _hexadecimal(word: str) -> int:
    """Return the value of a hexadecimal number."""
    return int(word, 16)


def _append_state(words: list[str], contents: Contents, rate_of: Callable[[str], int]) -> None:
    """Append a state from the words of its line: values, X, Y - X, H, F and G of each function, targets and rates.

    For long-run means there are no X, Y - X and H, and each function has F, G, U and E.
    """
    stationary = contents.schema == STATIONARY
    n_vectors, n_per_function = (3, 2) if stationary else (0, 4)
    n_values = len(contents.columns)
    n_fixed = n_values + n_vectors + n_per_function * len(contents.functions)
    if len(words) < n_fixed or (len(words) - n_fixed) % 2:
        raise ValueError(f"{len(words)} numbers: must be {n_fixed} and an even number more")
    contents.values.append(tuple(map(int, words[:n_values])))
    numbers = [int(word, 16) for word in words[n_values:n_fixed]]
    if stationary:
        contents.X.append(numbers[0])
        contents.Y.append(numbers[0] + numbers[1])
        contents.H.append(numbers[2])
    for n, function in enumerate(contents.functions):
        columns = (function.F, function.G) if stationary else (function.F, function.G, function.U, function.E)
        for k, column in enumerate(columns, n_vectors + n_per_function * n):
            column.append(numbers[k])
    targets, rates = words[n_fixed::2], words[n_fixed + 1 :: 2]
    contents.rows.append(map(_hexadecimal, targets), map(rate_of, rates))


# ---------------------------------------------------------------------- the theorem


def net_flow(rows: Rows, y: list[int]) -> list[int]:
    """Return y Q as integers: the flow into each state minus the flow out of it, in units of the rates and of y."""
    net = [0] * len(y)
    for s, (mass, row) in enumerate(zip(y, rows.pairs(), strict=True)):
        out = 0
        for target, rate in row:
            flow = mass * rate
            net[target] += flow
            out += flow
        net[s] -= out
    return net


def drift(rows: Rows, h: list[int]) -> list[int]:
    """Return Q h as integers: the mean rate of change of h in each state, in units of the rates and of h."""
    return [sum([a * (h[t] - value) for t, a in row]) for value, row in zip(h, rows.pairs(), strict=True)]


def prove_rest(rows: Rows, Y: list[int], H: list[int], reference: int) -> Fraction:
    """Return a proved bound on half of sum |Y - m pi|, m the sum of Y; CertificateError where H proves nothing."""
    if len(rows) == 1:
        return Fraction(0)
    drifts = drift(rows, H)
    drifts.pop(reference)
    c = -max(drifts)
    if c <= 0:
        raise CertificateError("the function h does not fall in every state but the reference")
    net = net_flow(rows, Y)
    positive = sum([r * h for r, h in zip(net, H, strict=True) if r > 0])
    negative = sum([-r * h for r, h in zip(net, H, strict=True) if r < 0])
    return Fraction(max(positive, negative), c)


def verify(contents: Contents, rows: str = "as in the certificate") -> Statement:
    """Return the statements that a certificate proves; CertificateError where they are weaker than its claims."""
    n, X, Y = len(contents.rows), contents.X, contents.Y
    if not (n and contents.scale > 0 and contents.unit > 0 and 0 <= contents.reference < n):
        raise CertificateError("states, scale, unit of the rates and reference must be positive, and in range")
    all_targets = contents.rows.targets
    if all_targets and not (
        min(contents.rows.rates) > 0
        and 0 <= min(all_targets) <= max(all_targets) < n
        and not any(s in targets for s, (targets, _) in enumerate(contents.rows.parts()))
    ):
        raise CertificateError("rates must be positive, and lead to other states of the list")
    if contents.columns and len(set(contents.values)) != n:
        raise CertificateError("a state stands there twice")
    if len({function.name for function in contents.functions}) != len(contents.functions):
        raise CertificateError("two functions have the same name")
    counts = n, len(all_targets)
    if contents.schema == LONG_RUN:
        means = {function.name: _long_run_mean(contents, function) for function in contents.functions}
        return Statement(*counts, None, means, rows, contents.information, contents.reference)
    if min(contents.H) < 0 or min(X) < 0:
        raise CertificateError("h and the listed probabilities must not be negative")
    rest, mass = prove_rest(contents.rows, Y, contents.H, contents.reference), sum(Y)
    differences = [x - y for x, y in zip(X, Y, strict=True)]
    distance = max(sum([d for d in differences if d > 0]), -sum([d for d in differences if d < 0]))
    bound = (distance + rest + abs(mass - contents.scale)) / contents.scale
    if bound > contents.bound:
        raise CertificateError(f"proved is a bound of {format_rounded_up(bound)}, claimed {float(contents.bound)}")
    means = {function.name: prove_mean(contents, function, rest, mass) for function in contents.functions}
    return Statement(*counts, bound, means, rows, contents.information)


def prove_mean(contents: Contents, function: Function, rest: Fraction, mass: int) -> Interval:
    """Return the proved interval of the mean of f; CertificateError where it is not within the claimed interval."""
    rho, scale = poisson_residual(contents, function)
    low, high = Fraction(min(rho)), Fraction(max(rho))
    if mass > 0:
        value = sum([y * r for y, r in zip(contents.Y, rho, strict=True)])
        half_width = rest * (high - low)
        low, high = max(low, (value - half_width) / mass), min(high, (value + half_width) / mass)
    return _check_claim(function, low / scale, high / scale)


def _long_run_mean(contents: Contents, function: Function) -> Interval:
    """Return the proved interval of the long-run mean of f; CertificateError unless the claimed interval holds it."""
    rho, scale = poisson_residual(contents, function)
    U, E, u_scale = function.U, function.E, function.u_scale
    if u_scale <= 0:
        raise CertificateError(f"{function.name}: scales must be positive")
    u_drift, e_drift = drift(contents.rows, U), drift(contents.rows, E)
    if any(abs(a) > -b for a, b in zip(u_drift, e_drift, strict=True)):
        raise CertificateError(f"{function.name}: e does not fall as fast as u changes")
    if any(abs(r * u_scale - u * scale) > e * scale for r, u, e in zip(rho, U, E, strict=True)):
        raise CertificateError(f"{function.name}: f + Q g differs from u by more than e")
    u, e = U[contents.reference], E[contents.reference]
    return _check_claim(function, Fraction(u - e, u_scale), Fraction(u + e, u_scale))


def poisson_residual(contents: Contents, function: Function) -> tuple[list[int], int]:
    """Return f + Q g in every state as a list of integers, and their common denominator."""
    f_scale, g_scale = function.scales
    if f_scale <= 0 or g_scale <= 0:
        raise CertificateError(f"{function.name}: scales must be positive")
    top, bottom = contents.unit.numerator, contents.unit.denominator
    f_factor, g_factor = g_scale * bottom, f_scale * top
    rho = [f_factor * a + g_factor * b for a, b in zip(function.F, drift(contents.rows, function.G), strict=True)]
    return rho, f_scale * g_scale * bottom


def _check_claim(function: Function, low: Fraction, high: Fraction) -> Interval:
    """Return the interval low .. high; CertificateError unless it is within the interval that a function claims."""
    if not function.claimed[0] <= low <= high <= function.claimed[1]:
        raise CertificateError(f"{function.name}: proved is {format_interval(low, high)}, less than claimed")
    return low, high


def compare_rows(name: str, contents: Contents, rows: Iterable[dict[int, Fraction]]) -> str:
    """Return a remark if rows derived elsewhere equal a certificate's; CertificateError where they differ.

    They agree exactly, or each rate of the certificate is the float64 next to the derived rate.
    """
    exact = True
    rate_of = lru_cache(MAX_CACHED_RATES)(contents.unit.__mul__)
    for s, (derived, (targets, rates)) in enumerate(zip(rows, contents.rows.parts(), strict=True)):
        listed = dict(zip(targets, map(rate_of, rates), strict=True))
        if len(listed) < len(targets):
            listed = dict.fromkeys(listed, Fraction(0))
            for target, rate in zip(targets, rates, strict=True):
                listed[target] += rate_of(rate)
        if listed == derived:
            continue
        exact = False
        if listed != {target: Fraction(float(rate)) for target, rate in derived.items()}:
            values = dict(zip(contents.columns, contents.values[s], strict=True))
            raise CertificateError(f"{name}: has other rates out of state number {s}, {values}")
    return f"re-derived from {name}, " + ("exactly" if exact else "rates rounded to float64")


# ---------------------------------------------------------------------- numbers for readers


def decimal_exponent(value: Fraction) -> int:
    """Return the largest e with 10^e <= value, for a positive value."""
    e = len(str(value.numerator)) - len(str(value.denominator))
    while Fraction(10) ** e > value:
        e -= 1
    return e


def format_rounded_up(value: Fraction) -> str:
    """Return a bound >= 0 as text with three digits, rounded up."""
    if value == 0:
        return "0"
    e = decimal_exponent(value) - DIGITS + 1
    digits = str(-(-value // Fraction(10) ** e))
    if len(digits) > DIGITS:  # 1000
        digits, e = digits[:DIGITS], e + 1
    return f"{digits[0]}.{digits[1:]}e{e + len(digits) - 1}"


def format_interval(low: Fraction, high: Fraction) -> str:
    """Return the text of an interval that holds [low, high], to three digits of its width; a point to 21 digits."""
    largest = max(abs(low), abs(high))
    e = decimal_exponent(high - low) - DIGITS + 1 if high > low else (decimal_exponent(largest) - 20 if largest else 0)
    unit = Fraction(10) ** e
    return f"[{format_decimal(low // unit, e)}, {format_decimal(-(-high // unit), e)}]"


def format_decimal(number: int, e: int) -> str:
    """Return number * 10^e as a decimal number in text."""
    if e >= 0:
        return str(number * 10**e)
    digits = str(abs(number)).rjust(1 - e, "0")
    return f"{'-' if number < 0 else ''}{digits[:e]}.{digits[e:]}"


if __name__ == "__main__":
    print(check(sys.argv[1]))  # noqa: T201
