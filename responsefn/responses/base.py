"""What window rules and laws share: the rate that follows from a loss event rate and an RTT."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hopflow.checks import number
from hopflow.parameters import Parametrized

if TYPE_CHECKING:
    import sympy
    from numpy.typing import ArrayLike, NDArray

    from responsefn.responses.references import Reference
    from responsefn.responses.symbolic import Formula

__all__ = ["Response", "formula_of", "plain", "round_trip", "same_shape"]

LONGEST_RTT = 30.0
"""Round-trip times from here on, in s, are taken for milliseconds."""


class Response(Parametrized):
    """A rate in packets/s as a function of the loss event rate p and the round-trip time.

    Subclasses say what is known in closed form (`formula`) and which numbers stand for the
    symbols of their parameters (`bindings`).

    Attributes
    ----------
    reference
        Where it comes from; `cite` prints it.
    domain
        The loss event rates (smallest, largest) for which the response is meant.
    monotone
        Whether the rate falls with p everywhere, so that there is an inverse.
    why_no_inverse
        What `invert` says otherwise.
    """

    reference: ClassVar[Reference | None] = None
    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)
    monotone: ClassVar[bool] = True
    why_no_inverse: ClassVar[str] = "its rate does not fall with p everywhere"

    def cite(self) -> str:
        """Return where the rule or law comes from, and whether the source itself was read."""
        if self.reference is None:
            return f"{type(self).__name__}: no source stated"
        return str(self.reference)

    def formula(self) -> Formula | None:
        """Return the closed forms in the symbols of `responsefn.responses.symbolic`, None without one."""
        return None

    def closed_form(self) -> Formula:
        """Return `formula`, or raise TypeError when there is none."""
        formula = formula_of(self)
        if formula is None:
            name = type(self).__name__
            raise TypeError(f"{name} states no closed form: define {name}.formula()")
        return formula

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
        return self.closed_form().rate

    def rate(
        self,
        p: ArrayLike,
        rtt: ArrayLike,
        bandwidth: float | None = None,  # noqa: ARG002
        *,
        unit_check: bool = True,
    ) -> float | NDArray[np.float64]:
        """Return the rate in packets/s.

        Parameters
        ----------
        p
            Loss event rate, 0 < p <= 1, any shape.
        rtt
            Round-trip time in s, any shape that broadcasts with ``p``.
        bandwidth
            Capacity in packets/s; only rules that see the queue use it.
        unit_check
            Whether to refuse an ``rtt`` of 30 s or more, which was probably meant in ms.

        Returns
        -------
        A float for two numbers, else an array of the broadcast shape.

        Raises
        ------
        ValueError
            Naming the parameter, its value and what is allowed.
        """
        p, rtt = number("p", p, above=0.0, at_most=1.0), round_trip(rtt, unit_check)
        same_shape(p=p, rtt=rtt)
        return plain(self.value_of(self.expression, p=p, R=rtt))

    def elasticity(
        self,
        p: ArrayLike,
        rtt: ArrayLike,
        bandwidth: float | None = None,
        *,
        unit_check: bool = True,
    ) -> float | NDArray[np.float64]:
        """Return d log T / d log p: -1/2 for a square-root law, -3/4 for CUBIC's.

        By SymPy where there is a closed form, else a central difference of the numerical cycle
        over 1 % in p to either side. Parameters and shapes as for `rate`.
        """
        p, rtt = number("p", p, above=0.0, at_most=1.0), round_trip(rtt, unit_check)
        shape = same_shape(p=p, rtt=rtt)
        if self.uses_closed_form(bandwidth):
            from responsefn.responses.symbolic import log_slope

            slope = self.value_of(log_slope(self.expression), p=p, R=rtt)
            return plain(np.broadcast_to(slope, shape).copy())
        up, down = np.minimum(p * 1.01, 1.0), p / 1.01
        rates = [np.log(self.rate(at, rtt, bandwidth, unit_check=unit_check)) for at in (up, down)]
        return plain(np.asarray((rates[0] - rates[1]) / np.log(up / down)))

    def uses_closed_form(self, bandwidth: float | None = None) -> bool:  # noqa: ARG002
        """Return whether `rate` evaluates the closed form (or else the numerical cycle)."""
        return True

    def value_of(self, expression: sympy.Expr, **values: Any) -> NDArray[np.float64]:
        """Evaluate an expression of this object's formula; ``values`` as checked arrays by symbol."""
        from responsefn.responses.symbolic import evaluate

        return evaluate(expression, self.bindings(values.get("R")) | values)


@lru_cache(maxsize=1024)
def formula_of(response: Response) -> Formula | None:
    """Return ``response.formula()``, derived once for equal objects."""
    return response.formula()


def round_trip(rtt: ArrayLike, unit_check: bool = True) -> NDArray[np.float64]:
    """Check a round-trip time in s; 30 s or more are refused unless ``unit_check`` is False."""
    hint = "in seconds: ms(48) is 0.048; unit_check=False allows long ones"
    if unit_check:
        return number("rtt", rtt, above=0.0, below=LONGEST_RTT, hint=hint)
    return number("rtt", rtt, above=0.0, hint="in seconds: ms(48) is 0.048")


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
