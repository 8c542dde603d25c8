"""Status of a computation with advice on failure, and the errors that carry the partial result."""

from __future__ import annotations

import enum
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from hopflow.checks import choice, counted

__all__ = [
    "ConvergenceError",
    "Interrupted",
    "NotSolvedError",
    "OnFailure",
    "Status",
    "UndecidedError",
    "deliver",
]

OnFailure = Literal["raise", "return"]
R = TypeVar("R", bound="HasStatus")
RESULT_LOCATION = " complete, kept as `result` of this error (sys.last_value.result)"


class Status(enum.Enum):
    """Outcome of a computation; ``remedy`` is advice on what to try next.

    Among the statuses that are ``ok``, only ``CONVERGED`` guarantees a small error: if a result has
    an error bound, the bound was requested and is small enough to be useful. ``COMPLETED`` is said of
    simulations: the run went to its end, every packet is accounted for, no lossless class lost packets for want of
    room, and no packets wait for each other for ever.

    >>> from hopflow import Status
    >>> Status.CONVERGED.ok, Status.NEGATIVE.ok
    (True, False)
    >>> print(Status.NEGATIVE)
    negative entries: rounding made probabilities negative: use method=GTH()
    """

    CONVERGED = "converged", ""
    COMPLETED = "completed", ""
    SOLVED = "solved, error unknown", "the equations are met; no bound on the error was computed"
    UNPROVED = (
        "unproved",
        "the equations are met, but no useful bound on the error was found: try markov's GTH()",
    )
    INACCURATE = (
        "inaccurate",
        "the tolerance was not reached",
    )
    UNDECIDED = "undecided", "a number lies within its error of the threshold: ask for it with =?"
    NEGATIVE = "negative entries", "rounding made probabilities negative: use method=GTH()"
    NOT_FINITE = "not finite", "the result overflowed: check the magnitudes of the rates"
    NOT_MEASURED = "nothing measured", "nothing arrived in the measured time: simulate longer"
    DEADLOCKED = (
        "deadlocked",
        "links pause each other and stand still for ever: other routes (dfcmodel.lossless.up_down)",
    )
    STORM = (
        "storm",
        "a port with a fault pauses others for ever: all that waits for it stands still",
    )
    LOST_LOSSLESS = (
        "lost in a lossless class",
        "a buffer had too little room above the threshold of its pauses: give it more headroom",
    )
    UNBALANCED = "unbalanced", "more packets than float64 counts exactly: simulate a shorter time"

    def __init__(self, label: str, remedy: str) -> None:
        self.label = label
        self.remedy = remedy

    @property
    def ok(self) -> bool:
        """Whether the result may be used: the equations are met to the tolerance.

        This includes networks that deadlock, have a failed port, or lose packets of a lossless class.
        """
        return self in (
            Status.CONVERGED,
            Status.COMPLETED,
            Status.SOLVED,
            Status.UNPROVED,
            Status.DEADLOCKED,
            Status.STORM,
            Status.LOST_LOSSLESS,
        )

    def __str__(self) -> str:
        return f"{self.label}: {self.remedy}" if self.remedy else self.label


def worst(statuses: Sequence[Status]) -> Status:
    """Return the status of several runs: the first failure, else the first other than COMPLETED, else COMPLETED.

    >>> worst([Status.COMPLETED, Status.DEADLOCKED, Status.NOT_FINITE]).label
    'not finite'
    >>> worst([Status.COMPLETED, Status.LOST_LOSSLESS]).label
    'lost in a lossless class'
    """
    others = [status for status in statuses if status is not Status.COMPLETED]
    failed = [status for status in others if not status.ok]
    return next(iter([*failed, *others]), Status.COMPLETED)


def of_several(statuses: Sequence[Status]) -> str:
    """Describe the status of several runs, with the number of runs that have it.

    >>> print(of_several([Status.COMPLETED, Status.COMPLETED]))
    completed
    >>> print(of_several([Status.COMPLETED, Status.STORM]))
    storm, in 1 of 2 runs: a port with a fault pauses others for ever: all that waits for it stands still
    """
    status = worst(statuses)
    if status is Status.COMPLETED:
        return str(status)
    count = f"in {statuses.count(status)} of {counted(len(statuses), 'run')}"
    return ": ".join(filter(None, (f"{status.label}, {count}", status.remedy)))


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
        advice = getattr(result, "advice", "")
        super().__init__(f"{type(result).__name__}: {result.status}{advice and f': {advice}'}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the error, so that it can be raised in another process."""
        return type(self), (self.result,)


class ConvergenceError(NotSolvedError):
    """An iteration did not reach its tolerance: it stagnated or ran out of iterations.

    Examples
    --------
    >>> from markov import PauseTandem, Power, stationary
    >>> from markov.errors import ConvergenceError
    >>> try:
    ...     stationary(PauseTandem(), Power(max_iterations=5))
    ... except ConvergenceError as error:
    ...     print(error.result.status.label)
    inaccurate
    """


class UndecidedError(NotSolvedError):
    """A property is neither true nor false: a number lies within its error of the threshold.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> from markov.errors import UndecidedError
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] x = 0 -> 3 : (x' = 1); endmodule"
    ...     _ = path.write_text(text)
    ...     model = read_prism(path)
    >>> exact = model.property("P=? [ F<=1 x=1 ]").value
    >>> try:
    ...     model.property(f"P>={exact!r} [ F<=1 x=1 ]")
    ... except UndecidedError as error:
    ...     print(error.result.value, error.result.status.label)
    None undecided
    """

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.args = (f"{result.text}: undecided ({result.reason})",)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended an ensemble or a sweep; ``result`` is the complete part.

    Where nothing catches it, the message is printed without a traceback; an interactive session has the error as
    ``sys.last_value``.

    Parameters
    ----------
    result
        The ensemble of the complete runs, at least two; the sweep with NaN (None for strings) where nothing is
        complete; None if the sweep has a store.
    progress
        Number of complete runs or points.
    location
        End of the message: where the complete part is.

    Examples
    --------
    >>> from hopflow import Interrupted
    >>> try:
    ...     raise Interrupted([1.5], "1 of 3 points")
    ... except KeyboardInterrupt as error:
    ...     print(error, error.result)
    1 of 3 points complete, kept as `result` of this error (sys.last_value.result) [1.5]
    """

    def __init__(self, result: Any, progress: str, location: str = RESULT_LOCATION) -> None:
        self.result = result
        super().__init__(f"{progress}{location}")
        if getattr(sys.excepthook, "func", None) is not _print_uncaught:
            sys.excepthook = functools.partial(_print_uncaught, sys.excepthook)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints."""
        return [f"hopflow.Interrupted: {self}"]


def _print_uncaught(
    previous_hook: Callable[..., Any], kind: type[BaseException], error: BaseException, trace: Any
) -> None:
    """Print an error that nothing caught; only its message if Ctrl-C ended a computation."""
    if isinstance(error, Interrupted):
        print(*error._render_traceback_(), file=sys.stderr)  # noqa: T201
    else:
        previous_hook(kind, error, trace)


class HasStatus(Protocol):
    """Argument of `deliver`."""

    @property
    def status(self) -> Status:
        """Outcome of the computation."""


def deliver(result: R, on_failure: OnFailure) -> R:
    """Return ``result``, or raise an error for a status that is not ok if ``on_failure`` says so.

    Raises
    ------
    ConvergenceError
        If the tolerance was not reached.
    UndecidedError
        If a property is neither true nor false.
    NotSolvedError
        For any other status that is not ok.
    """
    choice("on_failure", on_failure, ("raise", "return"))
    if on_failure == "raise" and not result.status.ok:
        errors = {Status.INACCURATE: ConvergenceError, Status.UNDECIDED: UndecidedError}
        raise errors.get(result.status, NotSolvedError)(result)
    return result
