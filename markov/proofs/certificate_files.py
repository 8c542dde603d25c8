"""Write the proof of a stationary distribution, or of long-run means, into a file for independent checkers.

Vectors of float64 become integers: the printed probabilities and the rates exactly, the better vector, h and g to
more digits than matter. `markov.proofs.checker` then computes every claim from these integers. In this order: the
listing (names of the states, functions, exact rates), the integers, and the file.

The long-run mean of f from a state s of a chain with several recurrent classes is u(s): in a recurrent class the mean
of f, in a transient state the average of these means by the class that is entered. With g that solves Q g = u - f, and
e that falls where u is not exactly harmonic,

    |Q u| <= -Q e  and  |f + Q g - u| <= e

prove that it is within e(s) of u(s) (``docs/markov-bound.md``). Solutions of float64 become integers and are corrected
by their exact residuals; e is then computed from the remaining residuals. Rounding enters nowhere else.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import hopflow
from hopflow.whole_files import replacing
from markov.computing.matrices import inner, row_numbers
from markov.models.measures import functionals, resolve_measure
from markov.proofs.certificates import REFINEMENTS, solve_balance, solve_poisson
from markov.proofs.checker import (
    LONG_RUN,
    STATIONARY,
    CertificateError,
    Contents,
    Function,
    Rows,
    decimal_exponent,
    drift,
    net_flow,
    poisson_residual,
    prove_rest,
    verify,
)
from markov.proofs.sources import model_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.certificates import Certificate
    from markov.proofs.checker import Interval, Statement
    from markov.proofs.model_rows import ModelRows

    Vector = NDArray[np.float64]
    States = NDArray[np.int64]

__all__ = [
    "UNCLAIMED",
    "Listing",
    "Rates",
    "add_steps",
    "binary_digits",
    "contents_of",
    "describe_model_file",
    "exact_rates",
    "functions_of",
    "integer_proof",
    "integer_rows",
    "integer_values",
    "listing_of",
    "round_outward",
    "scale_to_integer",
    "with_poisson_solution",
    "write",
    "write_certificate",
    "write_long_run",
]

CLAIMED_DIGITS = 6
UNCLAIMED = Fraction(10) ** 400  # interval of a mean without a claim
COMPRESSION_LEVEL = 6  # of compression: 9 takes three times as long for 2 percent


class Rates(NamedTuple):
    """The exact rates of a chain's transitions: distinct values, and the index of each transition's value.

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
    """Return the unit of the rates, and the transitions out of each state with rates as multiples of it.

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
    """Return whole numbers as an `array` of 64-bit integers."""
    return array("q", numbers.astype(np.int64).tobytes())


def binary_digits(value: float) -> int:
    """Return the number of binary digits of a float64 after the point."""
    return value.as_integer_ratio()[1].bit_length() - 1


def integer_values(f: NDArray[np.float64]) -> tuple[tuple[int, int], Interval, list[int]]:
    """Return the scales, an unbounded claim and the integer values of a function of the state, shape (n,)."""
    bits = max(0, *(binary_digits(v) for v in f.tolist()))
    return (1 << bits, 1), (-UNCLAIMED, UNCLAIMED), [scale_to_integer(v, bits) for v in f.tolist()]


def scale_to_integer(value: float, bits: int) -> int:
    """Return value times 2^bits, rounded down to an integer."""
    top, bottom = value.as_integer_ratio()
    shift = bits - bottom.bit_length() + 1
    return top << shift if shift >= 0 else top >> -shift


def add_steps(values: list[int], steps: NDArray[np.float64], unit: Fraction) -> list[int]:
    """Return integers plus float64 steps that have another unit, rounded to integers; shape (n,) each."""
    sums, factor, divisor = [], 2 * unit.numerator, unit.denominator
    for value, step in zip(values, steps.tolist(), strict=True):
        top, bottom = step.as_integer_ratio()
        bottom *= divisor
        sums.append(value + (top * factor + bottom) // (2 * bottom))
    return sums


def round_outward(value: Fraction, width: Fraction, *, up: bool = False) -> str:
    """Return a value as text, rounded down (or up) to six significant digits of ``width``."""
    if width <= 0:
        return str(value)
    e = decimal_exponent(width) - CLAIMED_DIGITS + 1
    unit = Fraction(10) ** e
    return f"{-(-value // unit) if up else value // unit}e{e}"


def write(path: str | Path, contents: Contents) -> None:
    """Write the contents of a certificate to a file, compressed if its name ends in ``.gz``."""
    path = Path(path)
    with replacing(path) as scratch, scratch.open("wb") as raw:
        binary = gzip.GzipFile(path.name, "wb", COMPRESSION_LEVEL, raw) if path.suffix == ".gz" else raw
        with io.TextIOWrapper(binary, encoding="ascii", newline="\n") as file:
            _write(file, contents)


def _printable(text: str) -> str:
    """Return a string as one line of printable ASCII characters, others escaped."""
    line = " ".join(str(text).split())
    return "".join(c if " " <= c <= "~" else f"\\u{ord(c):04x}" for c in line)


def _write(file: IO[str], contents: Contents) -> None:
    """Write the header and the states of a certificate as lines of text."""
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


@dataclass(frozen=True)
class Listing:
    """The unproved part of a certificate: names of the states, functions, metadata and exact rates.

    Attributes
    ----------
    columns
        Whole numbers of shape (n,) that name the states, by the name of the variable.
    functions
        Functions of the state, shape (n,), whose means are to be proved, by name.
    information
        Text by key, repeated by the checker without a check.
    rates
        Exact rates of the entries off the diagonal of Q; None: the rates of Q.
    """

    columns: Mapping[str, NDArray[np.int64]]
    functions: Mapping[str, Vector] = field(default_factory=dict)
    information: Mapping[str, str] = field(default_factory=dict)
    rates: Rates | None = None


def listing_of(
    chain: Any,
    states: NDArray[np.int64],
    Q: sp.csr_matrix,
    measures: Sequence[str] | Mapping[str, Any] | None,
    model: str | Path | None,
    constants: Mapping[str, Any] | None,
) -> Listing:
    """Return the names, functions, metadata and exact rates of a chain's states for a certificate.

    Parameters
    ----------
    states, Q
        Their numbers, and the generator on them.
    measures
        As for `functions_of`.
    model, constants
        The chain's file, which has the exact rates, and its constants; None: the rates of Q.

    Raises
    ------
    CertificateError
        Where the file has other transitions.
    """
    columns = chain.components_of(states) or {"state": states}
    state_space = getattr(getattr(chain.model, "source", None), "state_space", None)
    if state_space is not None:  # of a program; listed states have their components already
        names = (r.name for r in state_space.instance.ranges)
        columns = dict(zip(names, columns.values(), strict=True))
    information, rates = {"made-by": f"hopflow {hopflow.__version__}"}, None
    if model is not None:
        information |= describe_model_file(model, constants or {})
        rates = exact_rates(model_rows(model, constants), columns, Q)
    return Listing(columns, functions_of(chain, states, measures), information, rates)


def functions_of(
    chain: Any, states: NDArray[np.int64], measures: Sequence[str] | Mapping[str, Any] | None
) -> dict[str, Vector]:
    """Return functions of ``states`` by name; None: all labels and rewards with one number per state."""
    if measures is None:
        by_name = {} if chain.model is None else functionals(chain.model, chain.table)
        measures = [name for name, f in by_name.items() if f.over is None and np.ndim(f.of) == 1]
    functions = {}
    named = measures if isinstance(measures, Mapping) else {name: name for name in measures}
    for name, measure in named.items():
        mean = resolve_measure(measure, chain.model, chain.table, states)
        if mean.over is not None or mean.of.ndim != 1:
            requirement = "must be one number for each state, no ratio and no vector"
            raise ValueError(f"measures = {name!r}: {requirement}")
        functions[" ".join(name.split())] = mean.of
    return functions


def describe_model_file(path: str | Path, constants: Mapping[str, Any]) -> dict[str, str]:
    """Return the name, hash and constants of a model's file, as metadata of a certificate."""
    path = Path(path)
    information = {"model": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    text = ",".join(f"{name}={value}" for name, value in constants.items())
    return information | ({"constants": text} if text else {})


def exact_rates(source: ModelRows, columns: Mapping[str, NDArray[np.int64]], Q: sp.csr_matrix) -> Rates:
    """Return the exact rates that a model's file gives for the off-diagonal entries of Q.

    Raises
    ------
    CertificateError
        Where the file has other transitions.
    """
    numbers_of = source.numbers_of_states(columns, zip(*(c.tolist() for c in columns.values()), strict=True))
    numbers: dict[tuple[int, int], int] = {}
    indices = array("q")
    for (values, s), derived in zip(numbers_of.items(), source.rows(numbers_of), strict=True):
        targets = [t for t in Q.indices[Q.indptr[s] : Q.indptr[s + 1]].tolist() if t != s]
        if len(targets) != len(derived) or not all(t in derived for t in targets):
            state = dict(zip(source.ranges, values, strict=True))
            raise CertificateError(f"{source.name}: has other transitions out of {state}")
        for target in targets:
            key = derived[target].as_integer_ratio()
            indices.append(numbers.setdefault(key, len(numbers)))
    return Rates([Fraction(*key) for key in numbers], np.array(indices, dtype=np.int64))


MIN_PROBABILITY_BITS = 140
"""Of the fractions of probabilities: their rounding is far below the residual of a refined vector."""
DRIFT_BITS = 11  # of h beyond the fastest exit rate: c changes by about 2^-10 of itself
FUNCTION_BITS = 60  # of g, relative to its largest size


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
    """Return the contents of a certificate whose claims follow from its integers, rounded outward."""
    contents = integer_proof(proof, listing)
    for name, f in listing.functions.items():
        contents.functions.append(with_poisson_solution(proof, contents, Function(name, *integer_values(f)), f))
    statement = verify(contents)
    assert statement.bound is not None
    contents.bound = Fraction(round_outward(statement.bound, statement.bound, up=True))
    _claim_means(contents, statement)
    return contents


def _claim_means(contents: Contents, statement: Statement) -> None:
    """Set the interval that each function claims to the verified interval of its mean, rounded outward."""
    for function in contents.functions:
        low, high = statement.means[function.name]
        width = high - low or max(abs(low), abs(high)) * Fraction(1, 10**20)
        function.claimed = Fraction(round_outward(low, width)), Fraction(round_outward(high, width, up=True))


def integer_proof(proof: Certificate, listing: Listing) -> Contents:
    """Return the contents of a certificate without functions and claims: rates, both vectors and h as integers.

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
    """Return the supersolution's h times a power of 2, rounded up: its drift is < 0 except in state ``reference``."""
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
    """Return the integer vector Y corrected by its exact residual, as long as its proved bound halves."""
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
    """Return the integer vector Y + d, d Q = -(Y Q) approximately, scaled to the mass of a distribution."""
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
    """Return a function with the solution g of its Poisson equation as integers; it is changed in place.

    Parameters
    ----------
    proof
        Certificate of the distribution; its solver is used again.
    contents
        The chain in integers.
    function
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


VALUE_BITS = 150  # of u and g, relative to their largest sizes
CORRECTIONS = 4
UNPROVED = "nothing was proved: float64 does not resolve how recurrent states are reached"


def write_long_run(
    path: str | Path,
    chain: Any,
    start: int,
    *,
    measures: Sequence[str] | Mapping[str, Any] | None = None,
    model: str | Path | None = None,
    constants: Mapping[str, Any] | None = None,
) -> Contents:
    """Write a certificate of long-run means from a start state to a file, and return its contents.

    Parameters
    ----------
    path
        The file; compressed where its name ends in ``.gz``.
    chain
        A `MarkovChain` with any number of recurrent classes.
    start
        Number of the initial state.
    measures, model, constants
        As for `Stationary.certificate`.

    Raises
    ------
    ValueError
        For a measure that is a ratio or a vector, or a model that has other transitions.
    """
    from scipy.sparse.csgraph import breadth_first_order

    order = breadth_first_order(chain.Q, start, return_predecessors=False)
    visited = np.sort(order).astype(np.int64)
    Q = chain.Q[visited][:, visited].tocsr()
    listing = listing_of(chain, visited, Q, measures, model, constants)
    unit, rows = integer_rows(Q, listing.rates)
    start_index = int(np.searchsorted(visited, start))
    contents = Contents(
        dict(listing.information), unit, 1, start_index, Fraction(0), tuple(listing.columns), [],
        list(zip(*(v.tolist() for v in listing.columns.values()), strict=True)),
        rows=rows, schema=LONG_RUN,
    )  # fmt: skip
    classes = [np.searchsorted(visited, c) for c in chain.recurrent_classes if c[0] in visited]
    solver = _LongRunSolver.of(Q, classes)
    contents.functions = [_long_run_function(solver, contents, *function) for function in listing.functions.items()]
    _claim_means(contents, verify(contents))
    write(path, contents)
    return contents


class _LongRunSolver(NamedTuple):
    """Factors of a generator for long-run means: solves of Q x = b with x = 0 in one state of each recurrent class.

    Attributes
    ----------
    Q
        The generator, shape (n, n).
    classes
        The states of each recurrent class; the first is its reference.
    transient
        All others.
    free
        Q x = b in all states but references, where x is 0.
    passing
        Q x = b in transient states, where x is 0 in all others.
    lengths
        Mean time until a reference is entered, with the sign changed.
    """

    Q: sp.csr_matrix
    classes: list[States]
    transient: States
    free: Callable[[Vector], Vector]
    passing: Callable[[Vector], Vector]
    lengths: Vector

    @classmethod
    def of(cls, Q: sp.csr_matrix, classes: list[States]) -> _LongRunSolver:
        """Return the factors of a generator with these recurrent classes, arrays of states."""
        n = Q.shape[0]
        transient = np.setdiff1d(np.arange(n), np.concatenate(classes))
        free_states = np.setdiff1d(np.arange(n), [states[0] for states in classes])
        free, passing = _factors(Q, free_states), _factors(Q, transient)
        return cls(Q, classes, transient, free, passing, free(np.ones(n)))


def _factors(Q: sp.csr_matrix, states: States) -> Callable[[Vector], Vector]:
    """Return a function of b that solves Q x = b in ``states``, with x = 0 in all others."""
    from scipy.sparse.linalg import splu

    if not len(states):
        return np.zeros_like
    try:
        factors = splu(Q[states][:, states].tocsc())
    except RuntimeError:  # exactly singular
        raise ValueError(UNPROVED) from None

    def solution(b: Vector) -> Vector:
        x = np.zeros(len(b))
        x[states] = factors.solve(b[states])
        return x

    return solution


def _long_run_function(solver: _LongRunSolver, contents: Contents, name: str, f: Vector) -> Function:
    """Return a function f of the state as integers, with u, g and e that prove its long-run mean (see the module)."""
    size = float(np.abs(f).max()) or 1.0
    largest_integral = size * max(1.0, float(np.abs(solver.lengths).max()))
    u_bits, g_bits = (max(0, VALUE_BITS - math.frexp(v)[1]) for v in (size, largest_integral))
    function = Function(name, *integer_values(f), u_scale=1 << u_bits)
    function.scales = function.scales[0], 1 << g_bits
    function.G, function.U = [0] * len(f), [0] * len(f)
    for _ in range(CORRECTIONS):
        _correct_function(solver, contents, function)
    function.E = _slack(solver, contents, function)
    return function


def _correct_function(solver: _LongRunSolver, contents: Contents, function: Function) -> None:
    """Correct the u, then the g, of a function by their exact residuals, in place."""
    residual, unit = _scaled_floats(*_residual(contents, function))
    integral, correction = solver.free(-residual), np.zeros(len(residual))
    for states in solver.classes:  # the residual in the reference, spread over a cycle
        row = solver.Q[states[:1]]
        correction[states] = (residual[states[0]] + row @ integral) / (1.0 - row @ solver.lengths)
    function.U = add_steps(function.U, correction, unit * function.u_scale)
    slopes, unit = _scaled_floats(drift(contents.rows, function.U), contents.unit)
    function.U = add_steps(function.U, solver.passing(-slopes), unit)
    residual, unit = _scaled_floats(*_residual(contents, function))
    function.G = add_steps(function.G, solver.free(-residual), unit * function.scales[1])


def _residual(contents: Contents, function: Function) -> tuple[list[int], Fraction]:
    """Return f + Q g - u in every state as integers, and their unit."""
    rho, scale = poisson_residual(contents, function)
    residual = [r * function.u_scale - u * scale for r, u in zip(rho, function.U, strict=True)]
    return residual, Fraction(1, scale * function.u_scale)


def _scaled_floats(values: list[int], unit: Fraction) -> tuple[Vector, Fraction]:
    """Return integers as float64 of at most 1, shape (n,), and their unit."""
    size = max(1, max(map(abs, values)))
    return np.array([value / size for value in values]), unit * size


def _slack(solver: _LongRunSolver, contents: Contents, function: Function) -> list[int]:
    """Return e, the bound on the error of u in each state, as integers in the unit of u.

    Constant where u is, and falling in transient states as fast as u changes.
    """
    residual, unit = _residual(contents, function)
    base = math.ceil(max(map(abs, residual)) * unit * function.u_scale)
    slopes = drift(contents.rows, function.U)
    times = -solver.passing(np.ones(len(residual)))
    largest_rate = float(np.abs(solver.Q.diagonal()).max())
    for extra_bits in (10, 20, 40):
        heights = [max(0, -scale_to_integer(-v, extra_bits + math.frexp(largest_rate)[1])) for v in times.tolist()]
        falls = drift(contents.rows, heights)
        if all(falls[s] < 0 for s in solver.transient.tolist()):
            ratios = (-(-abs(slopes[s]) // -falls[s]) for s in solver.transient.tolist())
            steepest = max(ratios, default=0)
            return [base + steepest * h for h in heights]
    raise ValueError(UNPROVED)
