"""What window rules and laws share: the rate that follows from a loss event rate and an RTT."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import number, seconds
from hopflow.parameters import Parametrized

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from responsefn.symbolic import Formula

__all__ = ["Response", "formula_of", "plain", "same_shape"]


class Response(Parametrized):
    """A rate in packets/s as a function of the loss event rate p and the round-trip time.

    Subclasses say what is known in closed form (`formula`) and which numbers stand for the
    symbols of their parameters (`bindings`).
    """

    def formula(self) -> Formula:
        """Return the closed forms in the symbols of `responsefn.symbolic`."""
        name = type(self).__name__
        raise TypeError(f"{name} states no closed form: define {name}.formula()")

    def bindings(self, rtt: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return the numbers that stand for the parameters' symbols, by the symbols' names.

        Parameters
        ----------
        rtt
            Round-trip time in s, for parameters whose default follows from it.
        """
        fields = self.params._asdict().items()
        return {name: value for name, value in fields if not isinstance(value, str)}

    def check_inverse(self, rtt: NDArray[np.float64]) -> None:
        """Raise ValueError where the rate does not fall with p everywhere; called by `invert`."""

    @property
    def expression(self) -> sympy.Expr:
        """The rate in packets/s as a SymPy expression, from which the numbers are computed too."""
        return formula_of(self).rate

    def rate(self, p: ArrayLike, rtt: ArrayLike) -> float | NDArray[np.float64]:
        """Return the rate in packets/s.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time in s, any shape that broadcasts with ``p``.

        Returns
        -------
        A float for two numbers, else an array of the broadcast shape.

        Raises
        ------
        ValueError
            Naming the parameter, its value and what is allowed.
        """
        p, rtt = number("p", p, above=0.0, at_most=1.0), seconds("rtt", rtt)
        same_shape(p=p, rtt=rtt)
        return plain(self.value_of(self.expression, p=p, R=rtt))

    def value_of(self, expression: sympy.Expr, **values: Any) -> NDArray[np.float64]:
        """Evaluate an expression of this object's formula; ``values`` as checked arrays by symbol."""
        from responsefn.symbolic import evaluate

        return evaluate(expression, self.bindings(values.get("R")) | values)


@lru_cache(maxsize=1024)
def formula_of(response: Response) -> Formula:
    """Return ``response.formula()``, derived once for equal objects."""
    return response.formula()


def same_shape(**arrays: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the common shape of arrays that broadcast, or raise ValueError with their names."""
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} has shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{shapes}: must broadcast to one shape") from None


def plain(array: NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Return an array as it is, or the Python float that it holds when it has no dimension."""
    return array if array.ndim else float(array)
