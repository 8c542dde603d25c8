"""The generator of a model as a linear operator: products with it by the rules, without a matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from markov.memory import check_room
from markov.rules import ChainModel, check_space, refuse
from markov.splicing import spliced

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GeneratorOperator"]

DRIFT, NET_FLOW, EXIT_RATES = range(3)


class GeneratorOperator(LinearOperator):
    """The generator Q of a model over its product space; the rules run at every product.

    ``operator @ h`` is Q h, ``operator.T @ pi`` is pi Q, each in memory for two vectors.

    Parameters
    ----------
    model
        The chain's rules and parameters.

    Raises
    ------
    ValueError
        For a space that is not one of ranges with step 1 over the fields of ``State``; in products,
        when a rule leaves the space or gives a rate that is negative or not finite, with the state.
    KernelError
        In products, when a rule cannot be compiled; with the file and line.
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

    def __init__(self, model: ChainModel) -> None:
        check_space(model)
        check_room(f"{type(model).__name__}: vectors of {model.size} states", 16.0 * model.size)
        super().__init__(np.dtype(np.float64), (model.size, model.size))  # type: ignore[call-arg]
        self.model = model

    @property
    def exit_rates(self) -> NDArray[np.float64]:
        """Total rate out of each state, shape (states,), 1/s: the diagonal with its sign changed."""
        return self._product(EXIT_RATES, np.empty(0))

    def _matvec(self, x: Any) -> NDArray[np.float64]:
        return self._product(DRIFT, x)

    def _rmatvec(self, x: Any) -> NDArray[np.float64]:
        return self._product(NET_FLOW, x)

    def _product(self, kind: int, x: Any) -> NDArray[np.float64]:
        model, space = self.model, self.model.space().values()
        low, size = tuple(values.start for values in space), tuple(map(len, space))
        q, vector = tuple(model.symbols()), np.ascontiguousarray(x, dtype=np.float64).ravel()
        product = np.zeros(model.size)
        done = spliced(multiply, model, q)(q, low, size, kind, vector, product)
        if done < model.size:
            refuse(model, np.add(low, np.unravel_index(done, size)))
        return product


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
            encode()  # type: ignore[name-defined]  # noqa: F821
            if not (inside and 0.0 <= rate < math.inf):  # type: ignore[name-defined]  # noqa: F821
                return x
            y = x + step  # type: ignore[name-defined]  # noqa: F821
            if kind == NET_FLOW:
                product[y] += rate * vector[x]
                product[x] -= rate * vector[x]
            elif kind == DRIFT:
                total += rate * (vector[y] - vector[x])
            elif y != x:
                total += rate
        if kind != NET_FLOW:
            product[x] = total
        x += 1
        advance()  # type: ignore[name-defined]  # noqa: F821
    return x
