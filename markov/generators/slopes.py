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
    "KinkError",
    "RateSlopes",
    "Varying",
    "flat_numbers",
    "plain_rates",
    "rate_slopes",
]

MAX_SPACE_RATIO = 20
"""Largest size of a space that is divided into regions, as a multiple of the number of states."""
MAX_PYTHON_STATES = 20_000
"""States up to which the rules run state by state."""
RATE_TOLERANCE = 1e-12
"""Relative difference from the rates of the chain: sums in another order."""


def _comparison(ask: Any) -> Any:
    def compare(self: Any, other: Any) -> bool:
        return bool(ask(*self._comparable(other)))

    return compare


class Comparison(Enum):
    """Reasons why rates have no derivative."""

    EQUAL = "a number equal to them"


class KinkError(ArithmeticError):
    """A comparison of two equal numbers with different derivatives."""


class Varying:
    """A number and its partial derivatives, in the arithmetic of the rules.

    Parameters
    ----------
    value
        The number.
    slopes
        Its derivatives that are not zero, by the index of the variable.

    Raises
    ------
    KinkError
        When it is compared with an equal number of other derivatives, at a kink.
    TypeError
        When it is used as an integer, or in a function of a `float`.
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # NumPy's scalars leave the arithmetic to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, slopes: Mapping[int, float]) -> None:
        self.value, self.slopes = value, slopes

    def _linear(self, value: float, slope_of_self: float, other: Any = None, slope_of_other: float = 0.0) -> Varying:
        """Return a result from its derivatives by the two operands."""
        slopes = {k: slope_of_self * slope for k, slope in self.slopes.items()}
        if isinstance(other, Varying):
            for k, slope in other.slopes.items():
                slopes[k] = slopes.get(k, 0.0) + slope_of_other * slope
        return Varying(value, slopes)

    def __add__(self, other: Any) -> Varying:
        return self._linear(self.value + _value(other), 1.0, other, 1.0)

    def __sub__(self, other: Any) -> Varying:
        return self._linear(self.value - _value(other), 1.0, other, -1.0)

    def __rsub__(self, other: Any) -> Varying:
        return self._linear(_value(other) - self.value, -1.0)

    def __mul__(self, other: Any) -> Varying:
        by = _value(other)
        return self._linear(self.value * by, by, other, self.value)

    def __truediv__(self, other: Any) -> Varying:
        by = _value(other)
        return self._linear(self.value / by, 1.0 / by, other, -self.value / by**2)

    def __rtruediv__(self, other: Any) -> Varying:
        above = _value(other)
        return self._linear(above / self.value, -above / self.value**2)

    def __pow__(self, power: Any) -> Varying:
        if isinstance(power, Varying):
            return NotImplemented
        by = _value(power)
        return self._linear(self.value**by, by * self.value ** (by - 1.0) if by else 0.0)

    __radd__, __rmul__ = __add__, __mul__
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def __neg__(self) -> Varying:
        return self._linear(-self.value, -1.0)

    def __pos__(self) -> Varying:
        return self

    def __abs__(self) -> Varying:
        return self if self > 0.0 else -self

    def __bool__(self) -> bool:
        return bool(self != 0.0)

    def _comparable(self, other: Any) -> tuple[float, float]:
        """Return the two values for a comparison with the same answer after small changes."""
        value = _value(other)
        if self.value == value:
            slopes = other.slopes if isinstance(other, Varying) else {}
            if any(self.slopes.get(k, 0.0) != slopes.get(k, 0.0) for k in {*self.slopes, *slopes}):
                raise KinkError(f"a comparison of {value} with its equal has no derivative")
        return self.value, value


def _value(number: Any) -> Any:
    return number.value if isinstance(number, Varying) else number


class _Rates:
    """A table of distinct rates with their derivatives; a call returns the index of a rate."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def __call__(self, rate: Any) -> float:
        varies = isinstance(rate, Varying)
        key = (rate.value, tuple(rate.slopes.items())) if varies else (float(rate), ())
        return float(self._numbers.setdefault(key, len(self._numbers)))

    def tables(self, width: int) -> tuple[Vector, sp.csr_matrix]:
        """Return the values, shape (rates,), and the derivatives, shape (rates, width)."""
        values = np.array([float(value) for value, _ in self._numbers])
        parts = [(n, k, s) for n, (_, slopes) in enumerate(self._numbers) for k, s in slopes]
        columns = np.array(parts, dtype=np.float64).reshape(-1, 3).T
        indices = columns[0].astype(np.int64), columns[1].astype(np.int64)
        return values, sp.csr_matrix((columns[2], indices), shape=(len(values), width))


@dataclass(frozen=True)
class RateSlopes:
    """Transitions between states, and the derivatives of their rates by the symbols of the rules.

    Attributes
    ----------
    varied
        Indices in `flat_numbers` of the symbols by which rates are differentiated.
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

    def along(self, change: Vector) -> sp.csr_matrix:
        """Return Q', shape (size, size), from the derivatives of the symbols, shape (symbols,)."""
        rates = np.asarray(self.slopes @ change).ravel()[self.kinds]
        changes = (rates != 0.0) & (self.sources != self.targets)
        pairs = self.sources[changes], self.targets[changes]
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[changes], pairs), shape=shape)
        return (moves - sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()

    def spread(self, error: Vector) -> sp.csr_matrix:
        """Return the error of Q', shape (size, size), from the errors of the derivatives."""
        rates = np.asarray(abs(self.slopes) @ error).ravel()[self.kinds]
        changes = (rates != 0.0) & (self.sources != self.targets)
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[changes], (self.sources[changes], self.targets[changes])), shape=shape)
        return (moves + sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()


def flat_numbers(q: Any) -> list[Any] | None:
    """Return the values in the symbols of the rules, in order; None for any other object than nested tuples.

    A symbol is a number, a string, None or a tuple of these: any other object may contain a number.
    """
    if isinstance(q, tuple):
        parts = [flat_numbers(part) for part in q]
        return None if None in parts else [value for part in parts for value in part or ()]
    plain = q is None or isinstance(q, (bool, int, float, str, np.number))
    return [q] if plain else None


def _rebuild(q: Any, values: Iterator[Any]) -> Any:
    """Return the symbols with new values, in the order of `flat_numbers`."""
    if not isinstance(q, tuple):
        return next(values)
    parts = [_rebuild(part, values) for part in q]
    make = getattr(type(q), "_make", None)
    return tuple(parts) if make is None else make(parts)


def rate_slopes(
    model: ChainModel,
    space: Space,
    numbers: NDArray[np.int64],
    Q: sp.csr_matrix,
    varied: frozenset[int],
) -> RateSlopes | Comparison | None:
    """Return the derivatives of the rates between states of a closed class by symbols of the rules.

    Parameters
    ----------
    model
        The rules, which use only the state and their symbols.
    space, numbers
        The components of a state, and the numbers of the states of the class, shape (n,).
    Q
        The generator between them, shape (n, n).
    varied
        Indices of the symbols in `flat_numbers`.

    Returns
    -------
    RateSlopes, Comparison or None
        `Comparison` after a comparison of equal numbers, and None after any other unsupported operation of the rules:
        then the caller uses differences.
    """
    if hasattr(model.rules, "__self__"):
        return None  # a method may use the model itself
    calls, read = Calls(model, space), _Rates()
    q = calls.q
    symbols = flat_numbers(q)
    if symbols is None:
        return None
    calls.q = _rebuild(q, (Varying(x, {k: 1.0}) if k in varied else x for k, x in enumerate(symbols)))
    try:
        edges = _edges(calls, space, numbers, read)
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
    return result if _agree(result, values, Q) else None


def plain_rates(
    model: ChainModel, space: Space, numbers: NDArray[np.int64], indices: NDArray[np.int64]
) -> sp.csr_matrix | None:
    """Return the rates out of states of a closed class, by a call of the rules for each.

    Parameters
    ----------
    space, numbers
        The components of a state, and the numbers of the states of the class, shape (n,).
    indices
        Indices of states of the class, shape (m,).

    Returns
    -------
    scipy.sparse.csr_matrix or None
        Shape (m, n); None if they lead out of the class.
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


def _edges(calls: Calls, space: Space, numbers: NDArray[np.int64], read: _Rates) -> Edges | None:
    """Return the transitions out of states, with the index of each rate instead of the rate."""
    regions = None
    if space.whole and space.size <= MAX_SPACE_RATIO * len(numbers):
        regions = find_regions(calls, space, read=read)
    if regions is None:
        few = len(numbers) <= MAX_PYTHON_STATES
        return edges_by_python(calls, space, numbers, read) if few else None
    edges = edges_by_regions(regions, space)
    deferred = edges.deferred[np.isin(edges.deferred, numbers)]
    more = edges_by_python(calls, space, deferred, read)
    return Edges.concatenate([edges._replace(deferred=more.deferred), more])


def _agree(result: RateSlopes, values: Vector, Q: sp.csr_matrix) -> bool:
    """Whether the rates agree with the generator."""
    moves = result.sources != result.targets
    pairs = result.sources[moves], result.targets[moves]
    rates = sp.csr_matrix((values[result.kinds[moves]], pairs), shape=Q.shape)
    exits = Q.diagonal()
    deviations = abs(rates + sp.diags(exits) - Q).max(axis=1).toarray().ravel()
    return bool((deviations <= RATE_TOLERANCE * np.abs(exits)).all())
