"""The generator of a model as a linear operator: products with it by the rules, without a matrix."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from markov.computing.arrays import NotOnArraysError
from markov.computing.resources import check_room
from markov.generators.array_chains import CHUNK, ArrayRules
from markov.generators.plain import (
    Calls,
    Edges,
    describe_difference,
    edges_by_python,
    rates_by_source,
    refuse_changing_rules,
)
from markov.generators.regions import Region, find_regions
from markov.models.rules import ChainModel
from markov.models.spaces import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

__all__ = ["GeneratorOperator"]

DRIFT, NET_FLOW, EXIT_RATES = range(3)
SAMPLE = 100
"""States in which arrays are compared with plain Python."""
REPEATED_STATES = 8
"""States in which the rules are called twice."""


class GeneratorOperator(LinearOperator):
    """The generator Q of a model over its whole space; the rules run at every product.

    ``operator @ h`` is Q h, ``operator.T @ pi`` is pi Q, each in memory for two vectors: box by box
    if the space has few regions with the same transitions, otherwise by the rules on arrays of states, if
    their transitions agree with plain Python.

    Parameters
    ----------
    model
        The chain's rules and parameters, with a space.

    Raises
    ------
    RuleError
        For a model without a space, or one of other values than whole numbers; in products, when a
        rule fails in a state of the space, entered or not, with the state.
    TooLargeError
        When two vectors would not fit into memory.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import MM1K, GeneratorOperator, generator
    >>> model = MM1K()
    >>> pi = np.full(model.space_size, 1 / model.space_size)
    >>> np.abs(GeneratorOperator(model).T @ pi - pi @ generator(model)).max() < 1e-15
    np.True_
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, ChainModel) or not model.has_space:
            raise RuleError(f"model = {model!r}: must be a ChainModel with a space()")
        self._space = Space.of(model.State, model.space(), model.name)
        check_room(f"{model.name}: vectors of {model.space_size} states", 16.0 * model.space_size)
        super().__init__(np.dtype(np.float64), (model.space_size, model.space_size))  # type: ignore[call-arg]
        self.model: ChainModel = model

    @property
    def exit_rates(self) -> NDArray[np.float64]:
        """Total rate out of each state, shape (states,), 1/s: the diagonal with its sign changed."""
        return self._product(EXIT_RATES, np.zeros(0))

    def _matvec(self, x: Any) -> NDArray[np.float64]:
        """Return Q x, shape (states,)."""
        return self._product(DRIFT, np.ascontiguousarray(x, dtype=np.float64).ravel())

    def _rmatvec(self, x: Any) -> NDArray[np.float64]:
        """Return x Q, the transposed of Q times x, shape (states,)."""
        return self._product(NET_FLOW, np.ascontiguousarray(x, dtype=np.float64).ravel())

    @cached_property
    def _product(self) -> Callable[[int, NDArray[np.float64]], NDArray[np.float64]]:
        """Function of (kind, x) that returns Q x, x Q or the exit rates; computed by regions or by the rules."""
        calls = Calls(self.model, self._space)
        numbers = np.random.default_rng(3).integers(self._space.size, size=REPEATED_STATES)
        refuse_changing_rules(calls, map(self._space.state, self._space.codes_of_numbers(numbers).T))
        regions = find_regions(calls, self._space)
        if regions is not None and all(region.moves is not None for region in regions):
            return _ProductByRegions(regions, self._space)
        return _ProductByRules(calls, self._space)


class _ProductByRegions:
    """Computes products of the generator and a vector box by box, from regions of states with equal transitions."""

    def __init__(self, regions: list[Region], space: Space) -> None:
        self.regions, self.low, self.shape = regions, space.low, space.shape

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of this ``kind`` (Q x, x Q or exit rates), shape (states,)."""
        product = np.zeros(self.shape)
        x = vector.reshape(self.shape) if len(vector) else product
        for region in self.regions:
            source = self._slices(region, (0,) * len(self.shape))
            for changes, rate in region.moves or ():
                target = self._slices(region, changes)
                if kind == NET_FLOW:
                    product[target] += rate * x[source]
                    product[source] -= rate * x[source]
                elif kind == DRIFT:
                    product[source] += rate * (x[target] - x[source])
                elif any(changes):
                    product[source] += rate
        return product.ravel()

    def _slices(self, region: Region, changes: tuple[int, ...]) -> tuple[slice, ...]:
        """Return the slices, into an array over the space, of the states of a region shifted by ``changes``."""
        bounds = zip(region.low, region.high, self.low, changes, strict=True)
        return tuple(slice(a - low + by, b - low + by + 1) for a, b, low, by in bounds)


class _ProductByRules:
    """Computes products of the generator and a vector by the rules, on arrays of states or by plain Python."""

    def __init__(self, calls: Calls, space: Space) -> None:
        self.calls, self.space = calls, space
        self._rules = self._array_rules()

    def _array_rules(self) -> ArrayRules | None:
        """Return the rules translated to arrays; None if they cannot be, or differ from plain Python in a sample."""
        last = self.space.size - 1
        sample = np.random.default_rng(3).integers(last + 1, size=SAMPLE)
        numbers = np.unique([0, last, *sample.tolist()])
        try:
            rules = ArrayRules(self.calls, self.space)
            edges = rules.edges(numbers)
        except NotOnArraysError:
            return None
        rows = rates_by_source(edges, numbers)
        valid = np.setdiff1d(numbers, edges.deferred)
        expected = rates_by_source(edges_by_python(self.calls, self.space, valid), valid)
        agrees = all(describe_difference(rows[x], expected[x]) is None for x in valid.tolist())
        return rules if agrees else None

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the product of this ``kind`` (Q x, x Q or exit rates), shape (states,)."""
        size = self.space.size
        product = np.zeros(size)
        for begin in range(0, size, CHUNK):
            numbers = np.arange(begin, min(begin + CHUNK, size))
            for edges in self._edges_in_parts(numbers):
                _add_product(kind, edges, vector, product)
        return product

    def _edges_in_parts(self, numbers: NDArray[np.int64]) -> Iterator[Edges]:
        """Yield the transitions out of the states ``numbers``: from arrays, then the remaining ones by plain Python."""
        if self._rules is not None:
            with suppress(NotOnArraysError):
                edges = self._rules.edges(numbers)
                yield edges
                numbers = edges.deferred
        yield edges_by_python(self.calls, self.space, numbers)


def _add_product(kind: int, edges: Edges, vector: NDArray[np.float64], product: NDArray[np.float64]) -> None:
    """Add in place the contribution of transitions to a product: Q x, x Q or the exit rates, by ``kind``."""
    sources, targets, rates, _ = edges
    if kind == EXIT_RATES:
        np.add.at(product, sources, np.where(sources == targets, 0.0, rates))
    elif kind == DRIFT:
        np.add.at(product, sources, rates * (vector[targets] - vector[sources]))
    else:
        np.add.at(product, targets, rates * vector[sources])
        np.subtract.at(product, sources, rates * vector[sources])
