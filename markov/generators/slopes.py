"""Derivatives of a model's rates, by running its rules on numbers that carry their derivatives.

Forward-mode differentiation (A. Griewank and A. Walther, Evaluating Derivatives, SIAM 2008, chapter 3):
the rules run as plain Python, once for each region of states or state by state, and their parameters are
stand-ins that keep the derivative of every sum and product. What a rule may not do with them (ask for an
integer, call a function of `math`) and what has no derivative (a comparison of equals) is left to
differences.
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

SPREAD = 20  # times the states: a space beyond is not cut into regions for them
MOST_BY_PYTHON = 20_000  # states that the rules run on one by one
AGREE = 1e-12  # relative difference of the rates from those of the chain: sums in another order


def _comparison(ask: Any) -> Any:
    def compare(self: Any, other: Any) -> bool:
        return bool(ask(*self._against(other)))

    return compare


class Comparison(Enum):
    """What numbers with derivatives cannot be compared with."""

    EQUAL = "a number equal to them"


class KinkError(ArithmeticError):
    """A number is compared with its equal, from which it differs after a small change."""


class Varying:
    """A number and its derivatives by some others, in the arithmetic of the rules.

    Parameters
    ----------
    value
        The number.
    slopes
        Its derivatives, by the places of what it varies with; those left out are zero.

    Raises
    ------
    KinkError
        When it is compared with an equal number of other derivatives: there is a kink.
    TypeError
        When it is used as an integer, or in a function that asks for a `float`.
    """

    __slots__ = ("slopes", "value")
    __array_ufunc__ = None  # NumPy's scalars leave the arithmetic to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, slopes: Mapping[int, float]) -> None:
        self.value, self.slopes = value, slopes

    def _linear(self, value: float, own: float, other: Any = None, its: float = 0.0) -> Varying:
        """Return a result whose derivatives by the two operands are given."""
        slopes = {k: own * slope for k, slope in self.slopes.items()}
        if isinstance(other, Varying):
            for k, slope in other.slopes.items():
                slopes[k] = slopes.get(k, 0.0) + its * slope
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

    def _against(self, other: Any) -> tuple[float, float]:
        """Return the two values for a comparison that small changes would not turn."""
        value = _value(other)
        if self.value == value:
            slopes = other.slopes if isinstance(other, Varying) else {}
            if any(self.slopes.get(k, 0.0) != slopes.get(k, 0.0) for k in {*self.slopes, *slopes}):
                raise KinkError(f"a comparison of {value} with its equal has no derivative")
        return self.value, value


def _value(number: Any) -> Any:
    return number.value if isinstance(number, Varying) else number


class _Rates:
    """The different rates that were met, with their derivatives; called with a rate, its number."""

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
        found = np.array(parts, dtype=np.float64).reshape(-1, 3).T
        places = found[0].astype(np.int64), found[1].astype(np.int64)
        return values, sp.csr_matrix((found[2], places), shape=(len(values), width))


@dataclass(frozen=True)
class RateSlopes:
    """The transitions between some states, and how their rates change with the symbols of the rules.

    Attributes
    ----------
    varied
        Places of the symbols, among `flat_numbers`, that rates are differentiated by.
    sources, targets
        Places of the states among those given, shape (transitions,).
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
        """Return Q', shape (size, size), for given derivatives of the symbols, shape (symbols,)."""
        rates = np.asarray(self.slopes @ change).ravel()[self.kinds]
        kept = (rates != 0.0) & (self.sources != self.targets)
        ends = self.sources[kept], self.targets[kept]
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[kept], ends), shape=shape)
        return (moves - sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()

    def spread(self, error: Vector) -> sp.csr_matrix:
        """Return the error of Q', shape (size, size), for given errors of the derivatives."""
        rates = np.asarray(abs(self.slopes) @ error).ravel()[self.kinds]
        kept = (rates != 0.0) & (self.sources != self.targets)
        shape = self.size, self.size
        moves = sp.csr_matrix((rates[kept], (self.sources[kept], self.targets[kept])), shape=shape)
        return (moves + sp.diags(np.asarray(moves.sum(axis=1)).ravel())).tocsr()


def flat_numbers(q: Any) -> list[Any] | None:
    """Return the values in the symbols of the rules, in order; None unless these are plain tuples.

    A symbol is a number, a text, None or a tuple of such: anything else may hide a number.
    """
    if isinstance(q, tuple):
        parts = [flat_numbers(part) for part in q]
        return None if None in parts else [value for part in parts for value in part or ()]
    plain = q is None or isinstance(q, (bool, int, float, str, np.number))
    return [q] if plain else None


def _rebuilt(q: Any, values: Iterator[Any]) -> Any:
    """Return the symbols with other values, in the order of `flat_numbers`."""
    if not isinstance(q, tuple):
        return next(values)
    parts = [_rebuilt(part, values) for part in q]
    make = getattr(type(q), "_make", None)
    return tuple(parts) if make is None else make(parts)


def rate_slopes(
    model: ChainModel,
    space: Space,
    places: NDArray[np.int64],
    Q: sp.csr_matrix,
    varied: frozenset[int],
) -> RateSlopes | Comparison | None:
    """Return the derivatives of the rates between states of a closed class by symbols of the rules.

    Parameters
    ----------
    model
        Whose rules see nothing but the state and their symbols.
    space, places
        What states are made of, and the numbers of those of the class in it, shape (n,).
    Q
        The generator between them, shape (n, n).
    varied
        Places of the symbols among `flat_numbers`.

    Returns
    -------
    RateSlopes, Comparison or None
        The latter where rules do not allow it, by a comparison with an equal number or by anything
        else: they are to be differentiated by differences.
    """
    if hasattr(model.rules, "__self__"):
        return None  # a method may look at the model itself
    calls, read = Calls(model, space), _Rates()
    q = calls.q
    symbols = flat_numbers(q)
    if symbols is None:
        return None
    calls.q = _rebuilt(q, (Varying(x, {k: 1.0}) if k in varied else x for k, x in enumerate(symbols)))
    try:
        edges = _edges(calls, space, places, read)
    except KinkError:
        return Comparison.EQUAL
    except Exception:  # noqa: BLE001  # whatever the rules did that cannot be differentiated
        return None
    if edges is None:
        return None
    order = np.argsort(places)
    inside = np.isin(edges.sources, places)
    sources, targets = (
        order[np.searchsorted(places, part[inside], sorter=order)] for part in (edges.sources, edges.targets)
    )
    kinds = edges.rates[inside].astype(np.int64)
    values, slopes = read.tables(len(symbols))
    made = RateSlopes(varied, sources, targets, kinds, slopes, len(places))
    return made if _agree(made, values, Q) else None


def plain_rates(
    model: ChainModel, space: Space, places: NDArray[np.int64], some: NDArray[np.int64]
) -> sp.csr_matrix | None:
    """Return the rates out of some states of a closed class by the rules as they stand.

    Parameters
    ----------
    space, places
        What states are made of, and the numbers of those of the class in it, shape (n,).
    some
        Places of the states among these, shape (m,).

    Returns
    -------
    scipy.sparse.csr_matrix or None
        Shape (m, n); None where they lead out of the class.
    """
    found = edges_by_python(Calls(model, space), space, places[some])
    if not np.isin(found.targets, places).all():
        return None
    order = np.argsort(places)
    columns = order[np.searchsorted(places, found.targets, sorter=order)]
    own = np.argsort(places[some])
    rows = own[np.searchsorted(places[some], found.sources, sorter=own)]
    moved = columns != some[rows]
    ends = rows[moved], columns[moved]
    return sp.csr_matrix((found.rates[moved], ends), shape=(len(some), len(places)))


def _edges(calls: Calls, space: Space, numbers: NDArray[np.int64], read: _Rates) -> Edges | None:
    """Return the transitions out of some states, the number of its rate in place of each rate."""
    found = None
    if space.whole and space.size <= SPREAD * len(numbers):
        found = find_regions(calls, space, read=read)
    if found is None:
        few = len(numbers) <= MOST_BY_PYTHON
        return edges_by_python(calls, space, numbers, read) if few else None
    edges = edges_by_regions(found, space)
    late = edges.deferred[np.isin(edges.deferred, numbers)]
    rest = edges_by_python(calls, space, late, read)
    return Edges.joined([edges._replace(deferred=rest.deferred), rest])


def _agree(made: RateSlopes, values: Vector, Q: sp.csr_matrix) -> bool:
    """Whether the rates found are those of the chain."""
    moved = made.sources != made.targets
    ends = made.sources[moved], made.targets[moved]
    rates = sp.csr_matrix((values[made.kinds[moved]], ends), shape=Q.shape)
    exits = Q.diagonal()
    apart = abs(rates + sp.diags(exits) - Q).max(axis=1).toarray().ravel()
    return bool((apart <= AGREE * np.abs(exits)).all())
