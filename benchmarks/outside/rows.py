"""One reference result: the property, the suite's value, our value."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from hopflow.text_files import write_rows

VARIABLE = "HOPFLOW_SUITES"
MAX_DIGITS = 30


@dataclass(frozen=True)
class Question:
    """A reference result, not yet compared.

    Attributes
    ----------
    set, model, parameters, query
        What is asked; the property as text.
    low, high
        What the suite says, as an interval of exact numbers, infinities or texts.
    states
        Number of states that the suite gives; None: it gives none.
    ask
        Computes the answer: value, bound on its error (0 of truth values).
    exact
        Whether the suite's value is exact.
    tolerance
        Relative error that the suite itself allows.
    beyond
        What kind of property it is, where it is one that is not read here.
    """

    set: str
    model: str
    parameters: str
    query: str
    low: Any
    high: Any
    states: int | None
    ask: Callable[[], tuple[Any, float]]
    exact: bool = False
    tolerance: float = 0.0
    beyond: str = ""


@dataclass(frozen=True)
class Row:
    """A row of the table: see `Question`; ``status`` is the outcome of the comparison."""

    set: str
    model: str
    parameters: str
    property: str
    theirs: str
    ours: str
    bound: str
    status: str
    note: str = ""


def suites() -> Path | None:
    """Return the folder of the suites, by the variable HOPFLOW_SUITES; None where it is unset."""
    given = os.environ.get(VARIABLE)
    return None if not given else Path(given)


def answered(question: Question, most_states: int) -> Row:
    """Return the line of a question.

    Statuses: ``agrees`` (theirs lies within our bound, or ours and the bound within their interval),
    ``agrees to its digits`` (with the digits that theirs has), ``within its tolerance`` (theirs is off by
    no more than the suite allows a result to be), ``differs``, ``no bound`` (none was found here), ``refused as expected``,
    ``not stated`` (beyond what is read here), ``too large`` (more states than the run allows).
    """
    theirs = shown(question.low, question.high)
    line = question.set, question.model, question.parameters, question.query, theirs
    if question.states is not None and question.states > most_states:
        return Row(*line, "", "", "too large", f"{question.states} states")
    try:
        value, bound = question.ask()
    except MemoryError as error:
        return Row(*line, "", "", "too large", str(error))
    except ValueError as error:
        if isinstance(question.low, str) and question.low.startswith("Error"):
            return Row(*line, "", "", "refused as expected", str(error))
        kind = f"{question.beyond} ({error})" if question.beyond else str(error)
        return Row(*line, "", "", "not stated", kind)
    ours = str(value).lower() if isinstance(value, bool) else f"{value!r}"
    return Row(*line, ours, f"{bound:.1e}", *compared(question, value, bound))


def compared(question: Question, value: Any, bound: float) -> tuple[str, str]:
    """Return the status and a note."""
    low, high = question.low, question.high
    if value is None:
        return "undecided", f"within {bound:.1e} of the threshold"
    if isinstance(low, (bool, str)) or isinstance(value, bool):
        return ("agrees" if value == low else "differs"), ""
    if math.isinf(value) or math.isinf(low):
        return ("agrees" if value == low else "differs"), ""
    if not math.isfinite(bound):
        return "no bound", f"differs by {abs(value - float(low)):.1e}"
    ours_low, ours_high = Fraction(value) - Fraction(bound), Fraction(value) + Fraction(bound)
    if ours_low <= high and low <= ours_high:
        return "agrees", ""
    digits = question_digits(low, high)
    gap = max(float(low - ours_high), float(ours_low - high))
    if not question.exact and gap <= digits:
        return "agrees to its digits", f"off by {gap:.1e}"
    if gap <= question.tolerance * abs(float(low)):
        return "within its tolerance", f"off by {gap:.1e}; the suite allows {question.tolerance:g}"
    return "differs", f"off by {gap:.1e}, relative {gap / max(abs(float(low)), 1e-300):.1e}"


def question_digits(low: Fraction, high: Fraction) -> float:
    """Return the unit of the last digit of a printed decimal; 0 of intervals and other fractions."""
    if low != high:
        return 0.0
    digits = next((d for d in range(MAX_DIGITS) if (low * 10**d).denominator == 1), None)
    return 0.0 if digits is None else 10.0**-digits


def shown(low: Any, high: Any) -> str:
    """Return the suite's value as text."""
    if isinstance(low, bool):
        return str(low).lower()
    if isinstance(low, str):
        return low
    if low == high:
        return repr(float(low))
    return f"[{float(low)!r}, {float(high)!r}]"


def written(rows: Iterable[Row], path: Path) -> None:
    """Write the rows as comma-separated values."""
    write_rows(path, [f.name for f in fields(Row)], map(astuple, rows))
