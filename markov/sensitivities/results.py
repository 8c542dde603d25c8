"""Sensitivities of measures as results, and the error that states both sides of a kink."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from markov.sensitivities.differences import Side

__all__ = ["NoDerivativeError", "Sensitivity", "joined", "no_derivative", "shortest"]


@dataclass(frozen=True)
class Sensitivity:
    """The derivative of a measure by a parameter, or its difference for one more of a whole number.

    Attributes
    ----------
    parameter, of
        Names of the parameter and of the measure.
    value
        The measure, in its unit.
    derivative
        In the measure's unit over the parameter's.
    error
        Of the derivative: a bound on what the solutions leave, and an estimate of what differences
        do where derivatives are not exact (only rounding for polynomials in the parameter up
        to the sixth degree). Of a difference: a bound.
    elasticity
        Relative change of the measure for one of the parameter: parameter / measure * derivative.
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
    >>> found = stationary(model).sensitivity("repair", of="up")
    >>> round(found.value, 12), round(found.derivative, 12)  # 0.25 / 1.25^2
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
    """A measure has no derivative by a parameter: those from both sides differ, or it jumps.

    Attributes
    ----------
    left, right
        The `Sensitivity` from each side, a list of them for a measure of each queue; None where there
        is none.

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
        """Let an error come back from another process."""
        return type(self), (str(self), self.left, self.right)


def no_derivative(parameter: str, at: float, left: Any, right: Any, *, single: bool) -> NoDerivativeError:
    """Return the error that states the derivatives on both sides.

    Parameters
    ----------
    parameter, at
        Its name and its value.
    left, right
        A list of sensitivities each, or a string that says why there is none.
    single
        Whether the measure is one number and not one of each queue.
    """
    parts = []
    for found, where in ((left, "from below"), (right, "from above")):
        if isinstance(found, str):
            parts.append(found)
        else:
            numbers = ", ".join(f"{each.derivative:.4g}" for each in found)
            parts.append(f"{numbers if len(found) == 1 else f'[{numbers}]'} {where}")
    names: dict[str, Any] = {"left": left, "right": right}
    there = [f'side="{name}"' for name, found in names.items() if not isinstance(found, str)]
    said = f"no derivative at {parameter} = {shortest(at)}: {', '.join(parts)}"
    given = [None if isinstance(found, str) else found for found in (left, right)]
    if single:
        given = [None if found is None else found[0] for found in given]
    return NoDerivativeError(f"{said}; write {' or '.join(there)}", *given)


def shortest(number: float) -> str:
    """Return a number in the fewest digits that give it back."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def joined(a: Sensitivity, b: Sensitivity) -> Sensitivity | None:
    """Return the derivative that both sides agree on, or None."""
    apart = abs(a.derivative - b.derivative)
    if not apart <= a.error + b.error:
        return None
    error = max(a.error, b.error) + 0.5 * apart
    derivative, elasticity = (a.derivative + b.derivative) / 2, (a.elasticity + b.elasticity) / 2
    return replace(a, derivative=derivative, error=error, elasticity=elasticity, side=None)
