"""Value of a property on a model, with an error bound and its display."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import Result
from hopflow.status import Status
from markov.files.filters import filtered
from markov.files.queries import Filter, Operator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.checking import Evaluation
    from markov.files.views import FileStates

__all__ = ["PropertyResult", "answered"]


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class PropertyResult(Result):
    """Value of a property, with an error bound.

    Attributes
    ----------
    text
        The property.
    value
        A number or a truth value: in the initial state, or as its filter says.
    error_bound
        Rigorous bound on the absolute error of a number; 0 of a truth value; inf where none is known,
        as for arithmetic on several operators.
    values, errors
        In each state, shape (states,).
    status
        CONVERGED; INACCURATE where an error bound does not decide a threshold, or is infinite.
    reason
        What is not decided.
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
    """

    text: str
    value: Any
    error_bound: float
    values: NDArray[Any]
    errors: NDArray[np.float64]
    status: Status
    reason: str = ""
    seconds: float = 0.0
    states: FileStates | None = None

    def summary(self) -> dict[str, object]:
        """Return the property, its value with the bound, and the cost."""
        about: dict[str, object] = {
            "status": f"{self.status}{f' ({self.reason})' if self.reason else ''}",
            "property": self.text,
            "value": self.value,
        }
        if not isinstance(self.value, (bool, list)):
            about["error bound"] = f"{self.error_bound:.1e}"
        return {**about, "states": len(self.values), "time": f"{self.seconds:.3f} s"}

    def plot(self, ax: Any = None) -> Any:
        """Draw the values over the states, sorted."""
        from hopflow.results import figure

        if ax is None:
            _, ax = figure()
        ax.plot(np.sort(np.asarray(self.values, dtype=float))[::-1], drawstyle="steps-mid")
        ax.set(xlabel="states, by descending value", ylabel="value", title=self.text)
        return ax


def answered(evaluation: Evaluation, query: Any, text: str) -> PropertyResult:
    """Return a property's value in each state, and the one that is asked for."""
    how, states, inner = "default", None, query
    if isinstance(query, Filter):
        how, states, inner = query.how, query.states, query.of
    operator = isinstance(inner, Operator)
    if operator and (inner.start is not None or inner.how):
        how, states = (inner.how or ("state",))[0], inner.start
    if operator and inner.sign is None:
        known = evaluation.known_values(inner)
        values, errors = known.values, known.error
    else:
        values = evaluation.over_states(inner, "a property")
        exact = values.dtype == bool or not _has_operator(inner)
        errors = np.zeros(len(values)) if exact else np.full(len(values), math.inf)
    chosen = None if states is None else evaluation.truth(states, "the states of a filter")
    line = getattr(query, "line", 1)
    value, error = filtered(
        how, values, errors, chosen, evaluation.explored.initial, (evaluation.file, line)
    )
    reason = "; ".join(evaluation.undecided)
    good = not reason and math.isfinite(error)
    return PropertyResult(
        text=text,
        value=value,
        error_bound=error,
        values=values,
        errors=errors,
        status=Status.CONVERGED if good else Status.INACCURATE,
        reason=reason or ("" if good else "no bound was found"),
    )


def _has_operator(expression: Any) -> bool:
    """Whether P, S, R or a name in quotes, which may stand for them, is part of an expression."""
    if isinstance(expression, Operator) or type(expression).__name__ == "Label":
        return True
    fields = getattr(expression, "__dataclass_fields__", {})
    parts: list[Any] = [getattr(expression, name) for name in fields]
    while parts:
        part = parts.pop()
        if isinstance(part, tuple):
            parts.extend(part)
        elif hasattr(part, "__dataclass_fields__") and _has_operator(part):
            return True
    return False
