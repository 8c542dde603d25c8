"""The generator of a model as a linear operator: products with it by the rules, without a matrix."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from hopflow.errors import RuleError
from markov.computing.memory import check_room
from markov.generators.calls import Calls
from markov.generators.compilation.compiled import RAISED, compilable
from markov.generators.compilation.splicing import spliced
from markov.generators.edges import Edges, edges_by_python
from markov.generators.enumeration import refuse_changing
from markov.generators.regions import Region, find_regions
from markov.generators.sets import CHUNK, edges_of
from markov.models.rules import ChainModel
from markov.models.spaces import Space

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["GeneratorOperator"]

DRIFT, NET_FLOW, EXIT_RATES = range(3)
SAMPLE = 100  # states on which compiled products are compared with plain Python
AGAIN = 8  # states that are asked twice
ROUNDING = 1e-12


class GeneratorOperator(LinearOperator):
    """The generator Q of a model over its whole space; the rules run at every product.

    ``operator @ h`` is Q h, ``operator.T @ pi`` is pi Q, each in memory for two vectors: box by box
    where the space has few regions with the same transitions, otherwise compiled, where that does as
    plain Python does, otherwise on sets of states.

    Parameters
    ----------
    model
        The chain's rules and parameters, with a space.

    Raises
    ------
    RuleError
        For a model without a space, or one of other values than whole numbers; in products, when a
        rule goes wrong in a state of the space, entered or not, with the state.
    TooLargeError
        When two vectors would not fit into memory.

    Examples
    --------
    >>> import numpy as np
    >>> from markov import MM1K, GeneratorOperator, generator
    >>> model = MM1K()
    >>> pi = np.full(model.size, 1 / model.size)
    >>> np.abs(GeneratorOperator(model).T @ pi - pi @ generator(model)).max() < 1e-15
    np.True_
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, ChainModel) or not model.has_space:
            raise RuleError(f"model = {model!r}: must be a ChainModel with a space()")
        self._space = Space.of(model.State, model.space(), model.name)
        check_room(f"{model.name}: vectors of {model.size} states", 16.0 * model.size)
        super().__init__(np.dtype(np.float64), (model.size, model.size))  # type: ignore[call-arg]
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
        """Return the function that computes a product, given its kind and the vector."""
        calls = Calls(self.model, self._space)
        numbers = np.random.default_rng(3).integers(self._space.size, size=AGAIN)
        refuse_changing(calls, map(self._space.state, self._space.unnumbered(numbers).T))
        found = find_regions(calls, self._space)
        if found is not None and all(region.moves is not None for region in found):
            return _Boxes(found, self._space)
        kernel = _Compiled(calls, self._space)
        return kernel if kernel.agrees() else _Sets(calls, self._space)


class _Boxes:
    """Products by regions with the same transitions: sums over boxes, moved by a step."""

    def __init__(self, found: list[Region], space: Space) -> None:
        self.regions, self.low, self.shape = found, space.low, space.shape

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        product = np.zeros(self.shape)
        x = vector.reshape(self.shape) if len(vector) else product
        for region in self.regions:
            here = self._box(region, (0,) * len(self.shape))
            for changes, rate in region.moves or ():
                there = self._box(region, changes)
                if kind == NET_FLOW:
                    product[there] += rate * x[here]
                    product[here] -= rate * x[here]
                elif kind == DRIFT:
                    product[here] += rate * (x[there] - x[here])
                elif any(changes):
                    product[here] += rate
        return product.ravel()

    def _box(self, region: Region, by: tuple[int, ...]) -> tuple[slice, ...]:
        ends = zip(region.low, region.high, self.low, by, strict=True)
        return tuple(slice(a - low + k, b - low + k + 1) for a, b, low, k in ends)


class _Compiled:
    """Products by compiled rules, state by state."""

    def __init__(self, calls: Calls, space: Space) -> None:
        self.calls, self.space = calls, space

    def agrees(self) -> bool:
        """Whether the rules can be compiled, and then do as plain Python does on a sample."""
        if not compilable(self.calls, self.space):
            return False
        rng = np.random.default_rng(3)
        x = rng.uniform(0.5, 1.5, self.space.size)
        try:
            product = self(DRIFT, x)
        except RuleError:
            raise
        except Exception:  # noqa: BLE001  # what a compiler cannot do is left to Python
            return False
        numbers = np.unique([0, len(x) - 1, *rng.integers(len(x), size=SAMPLE).tolist()])
        edges = edges_by_python(self.calls, self.space, numbers)
        expected, size = np.zeros_like(x), np.zeros_like(x)
        _add(DRIFT, edges, x, expected)
        np.add.at(size, edges.sources, edges.rates)
        off = np.abs(product[numbers] - expected[numbers])
        return bool(np.all(off <= ROUNDING * size[numbers]))

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        space, product = self.space, np.zeros(self.space.size)
        run = spliced(multiply, self.calls.model)
        try:
            done = run(tuple(self.calls.q), space.low, space.shape, kind, vector, product)
        except RAISED:
            return _Sets(self.calls, space)(kind, vector)
        if done < space.size:
            state = space.state(space.unnumbered(np.array([done]))[:, 0])
            self.calls.transitions(self.calls.known(state))
            return _Sets(self.calls, space)(kind, vector)
        return product


class _Sets:
    """Products by the rules on sets of states, and as plain Python where that does not pay."""

    def __init__(self, calls: Calls, space: Space) -> None:
        self.calls, self.space = calls, space

    def __call__(self, kind: int, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        size = self.space.size
        product = np.zeros(size)
        for first in range(0, size, CHUNK):
            numbers = np.arange(first, min(first + CHUNK, size))
            edges = edges_of(self.calls, self.space, numbers)
            left = numbers if edges is None else edges.deferred
            parts = [edges_by_python(self.calls, self.space, left)]
            for part in parts if edges is None else [edges, *parts]:
                _add(kind, part, vector, product)
        return product


def _add(
    kind: int, edges: Edges, vector: NDArray[np.float64], product: NDArray[np.float64]
) -> None:
    """Add the contribution of some transitions to a product."""
    sources, targets, rates, _ = edges
    if kind == EXIT_RATES:
        np.add.at(product, sources, np.where(sources == targets, 0.0, rates))
    elif kind == DRIFT:
        np.add.at(product, sources, rates * (vector[targets] - vector[sources]))
    else:
        np.add.at(product, targets, rates * vector[sources])
        np.subtract.at(product, sources, rates * vector[sources])


def multiply(parameters, low, size, kind, vector, product):  # type: ignore[no-untyped-def]
    """Add the product of Q with a vector, from the left or the right, or the exit rates (the template).

    Returns the first state with a transition that is not allowed, or one more than the last.
    """
    unpack()  # type: ignore[name-defined]  # noqa: F821
    x = 0
    decode()  # type: ignore[name-defined]  # noqa: F821
    while x < len(product):
        total = 0.0
        for target, rate in rules(s, q):  # type: ignore[name-defined]  # noqa: B007, F821
            if rate > 0.0:
                encode()  # type: ignore[name-defined]  # noqa: F821
                if not (inside and rate < math.inf):  # type: ignore[name-defined]  # noqa: F821
                    return x
                y = x + step  # type: ignore[name-defined]  # noqa: F821
                if kind == NET_FLOW:
                    product[y] += rate * vector[x]
                    product[x] -= rate * vector[x]
                elif kind == DRIFT:
                    total += rate * (vector[y] - vector[x])
                elif y != x:
                    total += rate
            elif rate != 0.0:
                return x
        if kind != NET_FLOW:
            product[x] = total
        x += 1
        advance()  # type: ignore[name-defined]  # noqa: F821
    return x
