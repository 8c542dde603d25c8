"""Status of a computation with advice on failure, and the errors that carry the partial result."""

from __future__ import annotations

import enum
from typing import Any, Literal

from hopflow.checks import choice

__all__ = ["ConvergenceError", "NotSolvedError", "OnFailure", "Status", "deliver"]

OnFailure = Literal["raise", "return"]


class Status(enum.Enum):
    """Outcome of a computation; ``remedy`` is advice on what to try next.

    >>> from hopflow import Status
    >>> Status.CONVERGED.ok, Status.NEGATIVE.ok
    (True, False)
    >>> print(Status.NEGATIVE)
    negative entries: rounding made probabilities negative: use method=GTH()
    """

    CONVERGED = "converged", ""
    INACCURATE = "inaccurate", "the tolerance was not reached: markov's GTH() is the most accurate"
    NEGATIVE = "negative entries", "rounding made probabilities negative: use method=GTH()"
    NOT_FINITE = "not finite", "the result overflowed: check the magnitudes of the rates"
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
    """A computation failed; ``result`` is its partial result, with the reason in ``result.status``.

    >>> from types import SimpleNamespace
    >>> from hopflow import NotSolvedError, Status
    >>> from hopflow.status import deliver
    >>> try:
    ...     deliver(SimpleNamespace(status=Status.NOT_FINITE), "raise")
    ... except NotSolvedError as error:
    ...     print(error.result.status)
    not finite: the result overflowed: check the magnitudes of the rates
    """

    def __init__(self, result: Any) -> None:
        self.result = result
        super().__init__(f"{type(result).__name__}: {result.status}")


class ConvergenceError(NotSolvedError):
    """An iteration did not reach its tolerance: it stagnated or ran out of iterations."""


def deliver(result: Any, on_failure: OnFailure) -> Any:
    """Return ``result``, or raise an error for a status that is not ok if ``on_failure`` says so.

    Raises
    ------
    ConvergenceError
        If the tolerance was not reached.
    NotSolvedError
        For any other status that is not ok.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    if on_failure == "raise" and not result.status.ok:
        raise (ConvergenceError if result.status is Status.INACCURATE else NotSolvedError)(result)
    return result
