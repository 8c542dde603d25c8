"""Value of a property on a model, with an error bound and its display."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import Result, Status, UndecidedError
from markov.files.properties.enclosures import Truth
from markov.files.properties.queries import Filter, Operator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.properties.checking import Evaluation

__all__ = ["PropertyResult", "answer_property"]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PropertyResult(Result):
    """Value of a property, with an error bound.

    Attributes
    ----------
    text
        The property.
    value
        A number or a truth value, in the initial state or by the filter. None if it is
        undecided: the number lies within its error of the threshold.
    error_bound
        Rigorous bound on the absolute error of a number; 0 for a decided truth value; the error of the compared number
        for an undecided one; inf if no bound is proved. `relative_bound` is the relative error.
    values, errors, undecided
        In each state, shape (states,): numbers with their errors; or whether a property surely holds, and whether it is
        undecided. The probability that a set is reached within a time of many jumps is computed for the initial state
        alone: other states have 0.5 with an error of 0.5.
    status
        CONVERGED; UNDECIDED; INACCURATE where the error bound is infinite.
    reason
        Distance from the threshold and number of undecided states; or the number of states followed at once and of
        jumps.
    seconds
        Wall-clock time, in s.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from markov import read_prism
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     text = "ctmc module m x : [0..1] init 0; [] x = 0 -> 3 : (x' = 1); endmodule"
    ...     _ = path.write_text(text)
    ...     found = read_prism(path).property("P=? [ F<=1 x=1 ]")
    >>> round(found.value, 12), found.error_bound < 1e-12  # 1 - exp(-3)
    (0.950212931632, True)

    The truth value of a result is that of a property with a threshold:

    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "light.sm")
    ...     _ = path.write_text(text)
    ...     found = read_prism(path).property("P>=0.95 [ F<=1 x=1 ]")
    >>> bool(found)
    True
    """

    text: str
    value: Any
    error_bound: float
    values: NDArray[Any]
    errors: NDArray[np.float64]
    undecided: NDArray[np.bool_]
    status: Status
    reason: str = ""
    seconds: float = 0.0

    @property
    def relative_bound(self) -> float:
        """Bound on the relative error of a number, which may be small for rare events as well.

        inf if the number may be zero; nan for a property that is no number.
        """
        if isinstance(self.value, (bool, list)) or self.value is None:
            return math.nan
        minimum = abs(self.value) - self.error_bound
        return self.error_bound / minimum if minimum > 0.0 else (math.inf if self.error_bound else 0.0)

    def __bool__(self) -> bool:
        """Return the truth value of the property.

        Raises
        ------
        UndecidedError
            If it is undecided.
        TypeError
            For a property whose value is a number or a list.
        """
        if self.status is Status.UNDECIDED:
            raise UndecidedError(self)
        if not isinstance(self.value, bool):
            message = "has no truth value: compare its value"
            raise TypeError(f"{self.text}: {type(self.value).__name__} {message}")
        return self.value

    def summary(self) -> dict[str, object]:
        """Return the property, its value with the bound, and the cost."""
        undecided = self.status is Status.UNDECIDED
        shown: Any = f"undecided ({self.reason})" if undecided else self.value
        if undecided and isinstance(self.value, list):
            shown = f"{['undecided' if value is None else value for value in self.value]}, {shown}"
        note = f" ({self.reason})" if self.reason and not undecided else ""
        rows = {"status": f"{self.status}{note}", "property": self.text, "value": shown}
        if not undecided and not isinstance(self.value, (bool, list)):
            rows["error bound"] = f"{self.error_bound:.1e}, {self.relative_bound:.1e} of the value"
        states = len(self.values) or "infinitely many, or too many for a list: the value is that of the initial one"
        return {**rows, "states": states, "time": f"{self.seconds:.3f} s"}

    def plot(self, ax: Any = None) -> Any:
        """Draw the values over the states, sorted."""
        from hopflow.results import figure

        if ax is None:
            _, ax = figure()
        ax.plot(np.sort(np.asarray(self.values, dtype=float))[::-1], drawstyle="steps-mid")
        ax.set(xlabel="states, by descending value", ylabel="value", title=self.text)
        return ax


def answer_property(evaluation: Evaluation, query: Any, text: str) -> PropertyResult:
    """Return a property's value in each state, and the requested value."""
    how, states, inner = "default", None, query
    if isinstance(query, Filter):
        how, states, inner = query.how, query.states, query.of
    if isinstance(inner, Operator) and (inner.start is not None or inner.how):
        how, states = (inner.how or ("state",))[0], inner.start
    initial = evaluation.state_space.initial
    if isinstance(inner, Operator) and how in ("default", "state") and states is None and len(initial) == 1:
        evaluation.requested = inner, int(initial[0])
    evaluation.checker.settled = False
    enclosure = evaluation.enclosure(inner)
    value, error, cause = evaluation.filter_value(Filter(how, inner, states, getattr(query, "line", 1)))
    undecided = value is None or (isinstance(value, list) and None in value)
    n, notes = evaluation.n, evaluation.undecided
    reason = "" if math.isfinite(error) else "no bound was found"
    if evaluation.checker.settled and not reason:
        reason = "long-run values, which are reached within the bound before the time"
    if undecided:
        several = len(notes) > 1
        causes = [f"{note.operator}: {note.text(n)}" if several else note.text(n) for note in notes]
        reason = "; ".join([cause, *causes] if cause else causes)
        error = max([error, *(note.error for note in notes)])
    good = not undecided and math.isfinite(error)
    return PropertyResult(
        text=text,
        value=value,
        error_bound=error,
        values=enclosure.surely if isinstance(enclosure, Truth) else enclosure.values,
        errors=np.zeros(n) if isinstance(enclosure, Truth) else enclosure.error,
        undecided=enclosure.undecided if isinstance(enclosure, Truth) else np.zeros(n, dtype=bool),
        status=_status(undecided=undecided, good=good),
        reason=reason,
    )


def _status(*, undecided: bool, good: bool) -> Status:
    if undecided:
        return Status.UNDECIDED
    return Status.CONVERGED if good else Status.INACCURATE
