"""How a solver ended: a status whose text says what to try, and the error that carries the result."""

from __future__ import annotations

import enum
from typing import Any, Literal

from hopflow.checks import choice

__all__ = ["ConvergenceError", "NotSolvedError", "OnFailure", "Status", "deliver"]

OnFailure = Literal["raise", "return"]


class Status(enum.Enum):
    """How a computation ended; ``.remedy`` says what to try next."""

    CONVERGED = "converged", ""
    INACCURATE = "inaccurate", "the tolerance was not reached: markov's GTH() is the most accurate"
    NEGATIVE = "negative entries", "rounding made probabilities negative: use method=GTH()"
    NOT_FINITE = "not finite", "the result overflowed: check the magnitudes of the rates"
    NOT_MEASURED = "nothing measured", "nothing arrived in the measured time: simulate longer"
    UNBALANCED = "unbalanced", "more packets than float64 counts exactly: simulate a shorter time"

    def __init__(self, label: str, remedy: str) -> None:
        self.label = label
        self.remedy = remedy

    @property
    def ok(self) -> bool:
        """Whether the result may be used."""
        return self is Status.CONVERGED

    def __str__(self) -> str:
        return f"{self.label}: {self.remedy}" if self.remedy else self.label


class NotSolvedError(ArithmeticError):
    """A solver failed. ``.result`` is what it had reached, ``.result.status`` says why."""

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__(f"{type(result).__name__}: {result.status}")


class ConvergenceError(NotSolvedError):
    """A solver stopped short of its tolerance: it stagnated, or had no iterations left."""


def deliver(result: Any, on_failure: OnFailure) -> Any:
    """Return ``result``, or raise when its status is bad and that is asked for.

    Raises
    ------
    ConvergenceError
        Where the tolerance was not reached.
    NotSolvedError
        For any other bad status.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    if on_failure == "raise" and not result.status.ok:
        raise (ConvergenceError if result.status is Status.INACCURATE else NotSolvedError)(result)
    return result
