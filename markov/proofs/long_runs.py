"""Write the proof of long-run means from a state of a chain with several recurrent classes into a file.

The long-run mean of f from a state s is u(s): in a recurrent class the mean of f, in a transient state that of the
class that is entered, on average. With g that solves Q g = u - f, and e that falls where u is not exactly harmonic,

    |Q u| <= -Q e  and  |f + Q g - u| <= e

prove that it is within e(s) of u(s) (``docs/markov-bound.md``). Solutions of float64 become integers and are corrected
by their exact residuals; e is then computed from the remaining residuals. Rounding enters nowhere else.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from markov.proofs.certificate_writing import (
    add_steps,
    integer_rows,
    integer_values,
    outward,
    scale_to_integer,
    write,
)
from markov.proofs.checker import LONG_RUN, Contents, Function, drift, poisson_residual, verify
from markov.proofs.listings import listing_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]
    States = NDArray[np.int64]

__all__ = ["write_long_run"]

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
    """Write a certificate of long-run means from a state, and return its contents.

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
    solver = _Solver.of(Q, classes)
    contents.functions = [_function(solver, contents, *function) for function in listing.functions.items()]
    for name, (low, high) in verify(contents).means.items():
        function = next(function for function in contents.functions if function.name == name)
        width = high - low or max(abs(low), abs(high)) * Fraction(1, 10**20)
        function.claimed = Fraction(outward(low, width)), Fraction(outward(high, width, up=True))
    write(path, contents)
    return contents


class _Solver(NamedTuple):
    """Factors of a generator.

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
    def of(cls, Q: sp.csr_matrix, classes: list[States]) -> _Solver:
        """Return the factors of a generator with these recurrent classes."""
        n = Q.shape[0]
        transient = np.setdiff1d(np.arange(n), np.concatenate(classes))
        free_states = np.setdiff1d(np.arange(n), [states[0] for states in classes])
        free, passing = _factors(Q, free_states), _factors(Q, transient)
        return cls(Q, classes, transient, free, passing, free(np.ones(n)))


def _factors(Q: sp.csr_matrix, states: States) -> Callable[[Vector], Vector]:
    """Return the solution of Q x = b in ``states``, x = 0 in all others, as a function of b."""
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


def _function(solver: _Solver, contents: Contents, name: str, f: Vector) -> Function:
    """Return f with u, g and e as integers."""
    size = float(np.abs(f).max()) or 1.0
    largest_integral = size * max(1.0, float(np.abs(solver.lengths).max()))
    u_bits, g_bits = (max(0, VALUE_BITS - math.frexp(v)[1]) for v in (size, largest_integral))
    function = Function(name, *integer_values(f), u_scale=1 << u_bits)
    function.scales = function.scales[0], 1 << g_bits
    function.G, function.U = [0] * len(f), [0] * len(f)
    for _ in range(CORRECTIONS):
        _correct(solver, contents, function)
    function.E = _slack(solver, contents, function)
    return function


def _correct(solver: _Solver, contents: Contents, function: Function) -> None:
    """Correct u, then g, by the exact residuals."""
    residual, unit = _floats(*_residual(contents, function))
    integral, correction = solver.free(-residual), np.zeros(len(residual))
    for states in solver.classes:  # the residual in the reference, spread over a cycle
        row = solver.Q[states[:1]]
        correction[states] = (residual[states[0]] + row @ integral) / (1.0 - row @ solver.lengths)
    function.U = add_steps(function.U, correction, unit * function.u_scale)
    slopes, unit = _floats(drift(contents.rows, function.U), contents.unit)
    function.U = add_steps(function.U, solver.passing(-slopes), unit)
    residual, unit = _floats(*_residual(contents, function))
    function.G = add_steps(function.G, solver.free(-residual), unit * function.scales[1])


def _residual(contents: Contents, function: Function) -> tuple[list[int], Fraction]:
    """Return f + Q g - u in every state, as integers and their unit."""
    rho, scale = poisson_residual(contents, function)
    residual = [r * function.u_scale - u * scale for r, u in zip(rho, function.U, strict=True)]
    return residual, Fraction(1, scale * function.u_scale)


def _floats(values: list[int], unit: Fraction) -> tuple[Vector, Fraction]:
    """Return numbers of at most 1 and their unit, from integers and their unit."""
    size = max(1, max(map(abs, values)))
    return np.array([value / size for value in values]), unit * size


def _slack(solver: _Solver, contents: Contents, function: Function) -> list[int]:
    """Return e in the unit of u: constant where u is, and falling in transient states as fast as u changes."""
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
