"""What is said of a user's rule that cannot be used: where, what was met, what to write instead."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["RuleError", "RuleWarning", "failed_rule", "place_of", "shown_place"]

_HINTS = {
    ZeroDivisionError: "guard the division with an if",
    UnboundLocalError: "assign the variable in every branch",
    NameError: "define the name in the rule's module, or make it a parameter",
    AttributeError: "the state has the fields of State, the parameters those of Params",
    IndexError: "guard the index with an if",
    KeyError: "guard the look-up with an if, or use .get with a default",
    OverflowError: "use a float, or a smaller exponent",
    TypeError: "a rule takes a state and the parameters, and yields (target, rate) pairs",
}


class RuleError(ValueError):
    """A user's rule cannot be used as it stands.

    The message names the rule, the state, what was met, the file and the line, and what to write
    instead. Where Python raised an error inside the rule, the exception is an instance of that
    error's class too, and has it as its cause.

    Attributes
    ----------
    file, line
        Where in the user's source; None where that is not known.
    """

    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # a KeyError would show quotes around it

    @classmethod
    def at(cls, place: tuple[str, int] | None, said: str, hint: str = "") -> RuleError:
        """Return an error about something met at a file and line.

        Parameters
        ----------
        place
            File and line, or None.
        said
            What was met.
        hint
            What to write instead.
        """
        error = cls("".join([said, shown_place(place), f"; {hint}" if hint else ""]))
        if place is not None:
            error.file, error.line = place
        return error


class RuleWarning(UserWarning):
    """A quicker way to run a rule was found not to do as Python does, and is not taken."""


def shown_place(place: tuple[str, int] | None) -> str:
    """Return a place in parentheses, with the text of its line."""
    if place is None:
        return ""
    file, line = place
    text = linecache.getline(file, line).strip()
    return f" ({Path(file).name}, line {line}{f': {text}' if text else ''})"


def place_of(function: Callable[..., Any]) -> tuple[str, int] | None:
    """Return the file and the line of a function's ``def``; None when it has no Python source."""
    function = inspect.unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return None
    line: int = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return code.co_filename, line


def failed_rule(error: Exception, rule: Callable[..., Any], said: str) -> RuleError:
    """Return the `RuleError` for what Python raised inside a rule.

    Parameters
    ----------
    error
        The exception, with its traceback.
    rule
        The user's function; the deepest line in its file is named.
    said
        Which rule, in which state.
    """
    if isinstance(error, RuleError):
        return error
    place = place_of(rule)
    trace = error.__traceback__
    while trace is not None:
        if place is None or trace.tb_frame.f_code.co_filename == place[0]:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    hint = next((text for kind, text in _HINTS.items() if isinstance(error, kind)), "")
    met = f"{said}: {type(error).__name__}: {error}".removesuffix(": ")
    found = _kind(type(error)).at(place, met, hint)  # type: ignore[arg-type]
    found.__cause__ = error
    return found


@functools.cache
def _kind(raised: type[Exception]) -> type[RuleError]:
    """Return a class of errors that are both a `RuleError` and what Python raised."""
    if issubclass(RuleError, raised):
        return RuleError
    try:
        both = types.new_class("RuleError", (RuleError, raised))
        both("said")
    except TypeError:  # classes of errors whose instances cannot be combined
        return RuleError
    both.__module__ = RuleError.__module__
    return both
