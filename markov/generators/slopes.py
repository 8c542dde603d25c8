"""Derivatives of a model's rates, by running its rules on numbers that carry their derivatives.

Forward-mode differentiation (A. Griewank and A. Walther, Evaluating Derivatives, SIAM 2008, chapter 3):
the rules run as plain Python, once for each region of states or state by state, and their parameters are
stand-ins that carry the derivative of every sum and product. Unsupported operations (conversion to an integer,
functions of `math`) and comparisons of equal numbers, which have no derivative, are left to differences.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from markov.generators.plain import Calls, Edges, edges_by_python
from markov.generators.regions import edges_by_regions, find_regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel
    from markov.models.spaces import Space

    Vector = NDArray[np.float64]

__all__ = [
    "Comparison",
    "DualNumber",
    "KinkError",
    "RateSlopes",
    "flatten_symbols",
    "plain_rates",
    "rate_slopes",
]

MAX_SPACE_RATIO = 20
"""Largest size of a space that is divided into regions, as a multiple of the number of states."""
MAX_PYTHON_STATES = 20_000
"""States up to which the rules run state by state."""
RATE_TOLERANCE = 1e-12
"""Relative difference from the rates of the chain: sums in another order."""


def _comparison(operation: Any) -> Any:
    """Return a comparison method of `DualNumber` for an operator such as ``operator.lt``."""

    def compare(self: Any, other: Any) -> bool:
        """Return the comparison of the two values; KinkError where it may change."""
        value = _value(other)
        if self.value == value:
            slopes = other.slopes if isinstance(other, DualNumber) else {}
            if any(self.slopes.get(k, 0.0) != slopes.get(k, 0.0) for k in {*self.slopes, *slopes}):
                raise KinkError(f"a comparison of {value} with its equal has no derivative")
        return bool(operation(self.value, value))

    return compare


class Comparison(Enum):
    """Reason why the rates of a model have no derivative: the rules compare two equal numbers."""

    EQUAL = "a number equal to them"


class KinkError(ArithmeticError):
    """Raised when rules compare two equal numbers with different derivatives: the answer may change nearby."""


class DualNumber:
    """A number with its partial derivatives, which every arithmetic operation of the rules carries along.

    Parameters
    ----------
    value
        The number.
    slopes
        Derivatives of the number that are not zero, by the index of the variable.

    Raises
    ------
    KinkError
        When the number is compared with an equal one of other derivatives, at a kink.
    TypeError
        When the number is used as an integer, or in a function of a `float`.
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # NumPy's scalars leave the arithmetic to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, slopes: Mapping[int, float]) -> None:
        self.value, self.slopes = value, slopes

    def _chain_rule(
        self, value: float, slope_of_self: float, other: Any = None, slope_of_other: float = 0.0
    ) -> DualNumber:
        """Return the result ``value`` of an operation, from its partial derivatives by this number and ``other``."""
        slopes = {k: slope_of_self * slope for k, slope in self.slopes.items()}
        if isinstance(other, DualNumber):
            for k, slope in other.slopes.items():
                slopes[k] = slopes.get(k, 0.0) + slope_of_other * slope
        return DualNumber(value, slopes)

    def __add__(self, other: Any) -> DualNumber:
        return self._chain_rule(self.value + _value(other), 1.0, other, 1.0)

    def __sub__(self, other: Any) -> DualNumber:
        return self._chain_rule(self.value - _value(other), 1.0, other, -1.0)

    def __rsub__(self, other: Any) -> DualNumber:
        return self._chain_rule(_value(other) - self.value, -1.0)

    def __mul__(self, other: Any) -> DualNumber:
        by = _value(other)
        return self._chain_rule(self.value * by, by, other, self.value)

    def __truediv__(self, other: Any) -> DualNumber:
        by = _value(other)
        return self._chain_rule(self.value / by, 1.0 / by, other, -self.value / by**2)

    def __rtruediv__(self, other: Any) -> DualNumber:
        above = _value(other)
        return self._chain_rule(above / self.value, -above / self.value**2)

    def __pow__(self, power: Any) -> DualNumber:
        if isinstance(power, DualNumber):
            return NotImplemented
        by = _value(power)
        return self._chain_rule(self.value**by, by * self.value ** (by - 1.0) if by else 0.0)

    __radd__, __rmul__ = __add__, __mul__
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def __neg__(self) -> DualNumber:
        return self._chain_rule(-self.value, -1.0)

    def __pos__(self) -> DualNumber:
        return self

    def __abs__(self) -> DualNumber:
        """Return the absolute value; KinkError at zero, where it has no derivative."""
        return self if self > 0.0 else -self

    def __bool__(self) -> bool:
        return bool(self != 0.0)


def _value(number: Any) -> Any:
    """Return the value of a `DualNumber`; a plain number is returned unchanged."""
    return number.value if isinstance(number, DualNumber) else number


class _RateTable:
    """Table of distinct rates with their derivatives; a call adds a rate and returns its index as a float."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def __call__(self, rate: Any) -> float:
        """Return the index of a rate, a number or a `DualNumber`, in the table; a new rate is added."""
        varies = isinstance(rate, DualNumber)
        key = (rate.value, tuple(rate.slopes.items())) if varies else (float(rate), ())
        return float(self._numbers.setdefault(key, len(self._numbers)))

    def tables(self, width: int) -> tuple[Vector, sp.csr_matrix]:
        """Return the values of the rates, shape (rates,), and their derivatives, shape (rates, ``width``)."""
        values = np.array([float(value) for value, _ in self._numbers])
        parts = [(n, k, s) for n, (_, slopes) in enumerate(self._numbers) for k, s in slopes]
        columns = np.array(parts, dtype=np.float64).reshape(-1, 3).T
        indices = columns[0].astype(np.int64), columns[1].astype(np.int64)
        return values, sp.csr_matrix((columns[2], indices), shape=(len(values), width))


@dataclass(frozen=True)
class RateSlopes:
    """Transitions of a chain, and the derivatives of their rates by the symbols (parameters) of the rules.

    Attributes
    ----------
    varied
        Indices in `flatten_symbols` of the symbols by which rates are differentiated.
    sources, targets
        Indices of the states, shape (transitions,).
    kinds
        Row of each transition in ``slopes``, shape (transitions,).
    slopes
        Derivatives of the different rates, shape (rates, symbols).
    size
        Number of states.
    """

    varied: frozenset[int]
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    kinds: NDArray[np.int64]
    slopes: sp.csr_matrix
    size: int

    def generator_slope(self, change: Vector) -> sp.csr_matrix:
        """Return Q', the generator's derivative, shape (size, size), from the derivatives of the symbols."""
        rates = np.asarray(self.slopes @ change).ravel()[self.kinds]
        changes = (rates != 0.0) & (self.sources != self.targets)
        pairs = self.sources[changes], self.targets[changes]
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[changes], pairs), shape=shape)
        return (moves - sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()

    def slope_error(self, error: Vector) -> sp.csr_matrix:
        """Return bounds on the errors of Q', shape (size, size), from those on the symbols' derivatives."""
        rates = np.asarray(abs(self.slopes) @ error).ravel()[self.kinds]
        changes = (rates != 0.0) & (self.sources != self.targets)
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[changes], (self.sources[changes], self.targets[changes])), shape=shape)
        return (moves + sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()


def flatten_symbols(q: Any) -> list[Any] | None:
    """Return all values in the nested tuples ``q``, in order; None if another object is among them.

    A symbol is a number, a string, None or a tuple of these: any other object may contain a number.
    """
    if isinstance(q, tuple):
        parts = [flatten_symbols(part) for part in q]
        return None if None in parts else [value for part in parts for value in part or ()]
    plain = q is None or isinstance(q, (bool, int, float, str, np.number))
    return [q] if plain else None


def _rebuild_symbols(q: Any, values: Iterator[Any]) -> Any:
    """Return nested tuples like ``q`` with other values, in the order of `flatten_symbols`."""
    if not isinstance(q, tuple):
        return next(values)
    parts = [_rebuild_symbols(part, values) for part in q]
    make = getattr(type(q), "_make", None)
    return tuple(parts) if make is None else make(parts)


def rate_slopes(
    model: ChainModel,
    space: Space,
    numbers: NDArray[np.int64],
    Q: sp.csr_matrix,
    varied: frozenset[int],
) -> RateSlopes | Comparison | None:
    """Return the derivatives, by symbols of the rules, of all rates between states of a closed class.

    Parameters
    ----------
    model
        The rules, which use only the state and their symbols.
    space, numbers
        The components of a state, and the numbers of the states of the class, shape (n,).
    Q
        The generator between them, shape (n, n).
    varied
        Indices of the symbols in `flatten_symbols`.

    Returns
    -------
    RateSlopes, Comparison or None
        `Comparison` after a comparison of equal numbers, and None after any other unsupported operation of the rules:
        then the caller uses differences.
    """
    if hasattr(model.rules, "__self__"):
        return None  # a method may use the model itself
    calls, read = Calls(model, space), _RateTable()
    q = calls.q
    symbols = flatten_symbols(q)
    if symbols is None:
        return None
    calls.q = _rebuild_symbols(q, (DualNumber(x, {k: 1.0}) if k in varied else x for k, x in enumerate(symbols)))
    try:
        edges = _edges_with_rate_indices(calls, space, numbers, read)
    except KinkError:
        return Comparison.EQUAL
    except Exception:  # noqa: BLE001  # an operation that cannot be differentiated
        return None
    if edges is None:
        return None
    order = np.argsort(numbers)
    inside = np.isin(edges.sources, numbers)
    sources, targets = (
        order[np.searchsorted(numbers, part[inside], sorter=order)] for part in (edges.sources, edges.targets)
    )
    rows = edges.rates[inside].astype(np.int64)
    values, slopes = read.tables(len(symbols))
    result = RateSlopes(varied, sources, targets, rows, slopes, len(numbers))
    return result if _rates_agree(result, values, Q) else None


def plain_rates(
    model: ChainModel, space: Space, numbers: NDArray[np.int64], indices: NDArray[np.int64]
) -> sp.csr_matrix | None:
    """Return the rates out of the states ``indices`` of a closed class as rows of a matrix, by plain Python.

    Parameters
    ----------
    space, numbers
        The components of a state, and the numbers of the states of the class, shape (n,).
    indices
        Indices of states of the class, shape (m,).

    Returns
    -------
    scipy.sparse.csr_matrix or None
        Shape (m, n); None if a transition leads out of the class.
    """
    edges = edges_by_python(Calls(model, space), space, numbers[indices])
    if not np.isin(edges.targets, numbers).all():
        return None
    order = np.argsort(numbers)
    columns = order[np.searchsorted(numbers, edges.targets, sorter=order)]
    order_of_sources = np.argsort(numbers[indices])
    rows = order_of_sources[np.searchsorted(numbers[indices], edges.sources, sorter=order_of_sources)]
    moves = columns != indices[rows]
    pairs = rows[moves], columns[moves]
    return sp.csr_matrix((edges.rates[moves], pairs), shape=(len(indices), len(numbers)))


def _edges_with_rate_indices(calls: Calls, space: Space, numbers: NDArray[np.int64], read: _RateTable) -> Edges | None:
    """Return the transitions out of the states ``numbers``, whose rates are indices in ``read``; None if too many."""
    regions = None
    if space.has_only_integers and space.size <= MAX_SPACE_RATIO * len(numbers):
        regions = find_regions(calls, space, read=read)
    if regions is None:
        few = len(numbers) <= MAX_PYTHON_STATES
        return edges_by_python(calls, space, numbers, read) if few else None
    edges = edges_by_regions(regions, space)
    deferred = edges.deferred[np.isin(edges.deferred, numbers)]
    more = edges_by_python(calls, space, deferred, read)
    return Edges.concatenate([edges._replace(deferred=more.deferred), more])


def _rates_agree(result: RateSlopes, values: Vector, Q: sp.csr_matrix) -> bool:
    """Return whether the rates ``values`` of the transitions agree with the generator Q, relative to exit rates."""
    moves = result.sources != result.targets
    pairs = result.sources[moves], result.targets[moves]
    rates = sp.csr_matrix((values[result.kinds[moves]], pairs), shape=Q.shape)
    exits = Q.diagonal()
    deviations = abs(rates + sp.diags(exits) - Q).max(axis=1).toarray().ravel()
    return bool((deviations <= RATE_TOLERANCE * np.abs(exits)).all())
