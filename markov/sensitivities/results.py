"""Sensitivities of measures as results, and the error that states both sides of a kink."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from markov.sensitivities.differences import Side

__all__ = ["NoDerivativeError", "Sensitivity", "combine_sides", "format_shortest", "no_derivative"]


@dataclass(frozen=True)
class Sensitivity:
    """Derivative of a measure by a parameter; of an integer parameter f(n + 1) - f(n), or f(n) - f(n - 1) (left).

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        The measure, in its unit.
    derivative
        In the measure's unit over the parameter's.
    error
        Of the derivative: a bound on the errors of the solutions, and an estimate of the errors of differences
        where derivatives are not exact (only rounding for polynomials in the parameter up
        to the sixth degree). Of a difference: a bound.
    elasticity
        Relative change of the measure for one of the parameter: parameter / measure * derivative. NaN if the measure
        is 0.
    kind
        ``"derivative"``; of a whole number ``"difference"``: the change of the measure for one more, or
        from one less.
    side
        ``"left"``: from below, from one less; ``"right"``: from above, to one more; None: both agree.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> def rules(up, q):
    ...     yield not up, q.fails if up else q.repair
    >>> model = explore(
    ...     rules, start=True, params={"fails": 0.25, "repair": 1.0}, labels=lambda up: {"up": up}
    ... )
    >>> result = stationary(model).sensitivity("repair", of="up")
    >>> round(result.value, 12), round(result.derivative, 12)  # 0.25 / 1.25^2
    (0.8, 0.16)
    """

    parameter: str
    of: str
    value: float
    derivative: float
    error: float
    elasticity: float
    kind: Literal["derivative", "difference"] = "derivative"
    side: Side | None = None


class NoDerivativeError(ValueError):
    """Error: a measure has no derivative by a parameter, since both sides differ or it jumps.

    Attributes
    ----------
    left, right
        The `Sensitivity` from each side, a list of them for a measure of each queue; None: no
        derivative.

    Examples
    --------
    >>> from markov import explore, stationary
    >>> from markov.errors import NoDerivativeError
    >>> def rules(up, q):
    ...     yield not up, 1.0 if up else max(q.repair, 2.0)
    >>> model = explore(rules, start=True, params={"repair": 2.0}, labels=lambda up: {"up": up})
    >>> try:
    ...     stationary(model).sensitivity("repair", of="up")
    ... except NoDerivativeError as error:
    ...     print(error)
    no derivative at repair = 2: 0 from below, 0.1111 from above; write side="left" or side="right"
    """

    def __init__(self, message: str, left: Any = None, right: Any = None) -> None:
        super().__init__(message)
        self.left, self.right = left, right

    def __reduce__(self) -> tuple[Any, ...]:
        """Return class and arguments, so that the error can be pickled."""
        return type(self), (str(self), self.left, self.right)


def no_derivative(parameter: str, at: float, left: Any, right: Any, *, single: bool) -> NoDerivativeError:
    """Return a `NoDerivativeError` whose message has the derivatives, or obstacles, on both sides.

    Parameters
    ----------
    parameter, at
        Its name and its value.
    left, right
        A list of sensitivities each, or the reason why no derivative exists.
    single
        Whether the measure is a single number, not a number for each queue.
    """
    parts = []
    for side, direction in ((left, "from below"), (right, "from above")):
        if isinstance(side, str):
            parts.append(side)
        else:
            numbers = ", ".join(f"{row.derivative:.4g}" for row in side)
            parts.append(f"{numbers if len(side) == 1 else f'[{numbers}]'} {direction}")
    by_name: dict[str, Any] = {"left": left, "right": right}
    options = [f'side="{name}"' for name, side in by_name.items() if not isinstance(side, str)]
    message = f"no derivative at {parameter} = {format_shortest(at)}: {', '.join(parts)}"
    arguments = [None if isinstance(side, str) else side for side in (left, right)]
    if single:
        arguments = [None if side is None else side[0] for side in arguments]
    return NoDerivativeError(f"{message}; write {' or '.join(options)}", *arguments)


def format_shortest(number: float) -> str:
    """Return a number as text: with six digits if they are exact, otherwise in full."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def combine_sides(a: Sensitivity, b: Sensitivity) -> Sensitivity | None:
    """Return the mean of a left and a right derivative if they agree within their errors, otherwise None."""
    difference = abs(a.derivative - b.derivative)
    if not difference <= a.error + b.error:
        return None
    error = max(a.error, b.error) + 0.5 * difference
    derivative, elasticity = (a.derivative + b.derivative) / 2, (a.elasticity + b.elasticity) / 2
    return replace(a, derivative=derivative, error=error, elasticity=elasticity, side=None)
