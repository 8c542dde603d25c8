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
from markov.generators.plain import Calls, Edges, by_source, difference, edges_by_python, refuse_changing
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
        return self._product(DRIFT, np.ascontiguousarray(x, dtype=np.float64).ravel())

    def _rmatvec(self, x: Any) -> NDArray[np.float64]:
        return self._product(NET_FLOW, np.ascontiguousarray(x, dtype=np.float64).ravel())

    @cached_property
    def _product(self) -> Callable[[int, NDArray[np.float64]], NDArray[np.float64]]:
        """Return the function that computes a product from its kind and the vector."""
        calls = Calls(self.model, self._space)
        numbers = np.random.default_rng(3).integers(self._space.size, size=REPEATED_STATES)
        refuse_changing(calls, map(self._space.state, self._space.unnumbered(numbers).T))
        regions = find_regions(calls, self._space)
        if regions is not None and all(region.moves is not None for region in regions):
            return _ProductByRegions(regions, self._space)
        return _ProductByRules(calls, self._space)


class _ProductByRegions:
    """Products by regions with the same transitions: sums over boxes, shifted by a step."""

    def __init__(self, regions: list[Region], space: Space) -> None:
        self.regions, self.low, self.shape = regions, space.low, space.shape

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        product = np.zeros(self.shape)
        x = vector.reshape(self.shape) if len(vector) else product
        for region in self.regions:
            source = self._box(region, (0,) * len(self.shape))
            for changes, rate in region.moves or ():
                target = self._box(region, changes)
                if kind == NET_FLOW:
                    product[target] += rate * x[source]
                    product[source] -= rate * x[source]
                elif kind == DRIFT:
                    product[source] += rate * (x[target] - x[source])
                elif any(changes):
                    product[source] += rate
        return product.ravel()

    def _box(self, region: Region, changes: tuple[int, ...]) -> tuple[slice, ...]:
        bounds = zip(region.low, region.high, self.low, changes, strict=True)
        return tuple(slice(a - low + by, b - low + by + 1) for a, b, low, by in bounds)


class _ProductByRules:
    """Products by the rules on arrays of states, or by plain Python if these are not possible."""

    def __init__(self, calls: Calls, space: Space) -> None:
        self.calls, self.space = calls, space
        self._rules = self._array_rules()

    def _array_rules(self) -> ArrayRules | None:
        """Return the rules on arrays; None if they have no translation, or differ from plain Python in a sample."""
        last = self.space.size - 1
        sample = np.random.default_rng(3).integers(last + 1, size=SAMPLE)
        numbers = np.unique([0, last, *sample.tolist()])
        try:
            rules = ArrayRules(self.calls, self.space)
            edges = _edges_of(rules, numbers)
        except NotOnArraysError:
            return None
        rows = by_source(edges, numbers)
        valid = np.setdiff1d(numbers, edges.deferred)
        expected = by_source(edges_by_python(self.calls, self.space, valid), valid)
        agrees = all(difference(rows[x], expected[x]) is None for x in valid.tolist())
        return rules if agrees else None

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        size = self.space.size
        product = np.zeros(size)
        for begin in range(0, size, CHUNK):
            numbers = np.arange(begin, min(begin + CHUNK, size))
            for edges in self._parts(numbers):
                _add_product(kind, edges, vector, product)
        return product

    def _parts(self, numbers: NDArray[np.int64]) -> Iterator[Edges]:
        """Yield the transitions out of the states with these numbers."""
        if self._rules is not None:
            with suppress(NotOnArraysError):
                edges = _edges_of(self._rules, numbers)
                yield edges
                numbers = edges.deferred
        yield edges_by_python(self.calls, self.space, numbers)


def _edges_of(rules: ArrayRules, numbers: NDArray[np.int64]) -> Edges:
    part = rules.transitions(numbers)
    return Edges(numbers[part.sources], part.targets, part.rates, numbers[part.invalid])


def _add_product(kind: int, edges: Edges, vector: NDArray[np.float64], product: NDArray[np.float64]) -> None:
    """Add the contribution of transitions to a product."""
    sources, targets, rates, _ = edges
    if kind == EXIT_RATES:
        np.add.at(product, sources, np.where(sources == targets, 0.0, rates))
    elif kind == DRIFT:
        np.add.at(product, sources, rates * (vector[targets] - vector[sources]))
    else:
        np.add.at(product, targets, rates * vector[sources])
        np.subtract.at(product, sources, rates * vector[sources])
