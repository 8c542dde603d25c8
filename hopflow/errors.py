"""Errors in user-defined rules, with the place in the source and a hint at the remedy."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["DamagedDataError", "RuleError", "RuleWarning", "failed_rule", "place_of", "shown_place"]

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


class DamagedDataError(ValueError):
    """A bundled file is missing, changed or not in the manifest; the message names it.

    Examples
    --------
    >>> issubclass(DamagedDataError, ValueError)
    True
    """


class RuleError(ValueError):
    """An error in a user-defined rule, of a chain or of a congestion window.

    The message names the rule, the state, the problem, the file and the line, and suggests a remedy.
    If Python raised an exception inside the rule, the error is also an instance of that exception's
    class, with the exception as its cause.

    Attributes
    ----------
    file, line
        Place in the user's source; None if unknown.

    Examples
    --------
    >>> from markov import explore
    >>> from markov.errors import RuleError
    >>> try:
    ...     explore(lambda n: [(n + 1, -1.0)], start=0)
    ... except RuleError as error:
    ...     print("-1.0" in str(error))
    True

    >>> from responsefn import WindowRule
    >>> class Shrinking(WindowRule):
    ...     @staticmethod
    ...     def on_ack(s, q, e): return s._replace(cwnd=s.cwnd + 1.0 / s.cwnd)
    ...     @staticmethod
    ...     def on_loss(s, q, e): return s._replace(cwnd=s.cwnd - 50.0)
    >>> try:
    ...     Shrinking().rate(2e-3, 0.1)
    ... except RuleError as error:
    ...     print(str(error).partition(": ")[2].partition("; ")[0])
    Shrinking.on_loss returns cwnd = -48: must be 1 to 1e+15 packets
    """

    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""  # a KeyError would show quotes around it

    def __reduce__(self) -> tuple[Any, ...]:
        """Let an error come back from another process."""
        raised = next((k for k in type(self).__bases__ if not issubclass(k, RuleError)), ValueError)
        return _rebuilt, (type(self) if raised is ValueError else raised, self.args, self.__dict__)

    @classmethod
    def at(cls, place: tuple[str, int] | None, said: str, hint: str = "") -> RuleError:
        """Return an error for a place in the user's source.

        Parameters
        ----------
        place
            File and line, or None.
        said
            Description of the problem.
        hint
            Suggested remedy.
        """
        error = cls("".join([said, shown_place(place), f"; {hint}" if hint else ""]))
        if place is not None:
            error.file, error.line = place
        return error


class RuleWarning(UserWarning):
    """A faster way of running a rule would differ from plain Python and is not used.

    Examples
    --------
    >>> from markov.errors import RuleWarning
    >>> issubclass(RuleWarning, UserWarning)
    True
    """


def shown_place(place: tuple[str, int] | None) -> str:
    """Return a place in parentheses, with its source line."""
    if place is None:
        return ""
    file, line = place
    text = linecache.getline(file, line).strip()
    return f" ({Path(file).name}, line {line}{f': {text}' if text else ''})"


def place_of(function: Callable[..., Any]) -> tuple[str, int] | None:
    """Return the file and the line of a function's ``def``; None if it has no Python source."""
    function = inspect.unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return None
    line: int = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return code.co_filename, line


def failed_rule(
    error: Exception, rule: Callable[..., Any], said: str, remedy: str | None = None
) -> RuleError:
    """Return the `RuleError` for an exception raised inside a rule.

    Parameters
    ----------
    error
        The exception, with its traceback.
    rule
        The user's function; the error names the innermost line in its file.
    said
        Name of the rule and the state.
    remedy
        What to write instead; None: by the class of the exception.
    """
    if isinstance(error, RuleError):
        return error
    place = place_of(rule)
    trace = error.__traceback__
    while trace is not None:
        if place is None or trace.tb_frame.f_code.co_filename == place[0]:
            place = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    known = (text for kind, text in _HINTS.items() if isinstance(error, kind))
    hint = next(known, "") if remedy is None else remedy
    met = f"{said}: {type(error).__name__}: {error}".removesuffix(": ")
    found = _kind(type(error)).at(place, met, hint)  # type: ignore[arg-type]
    found.__cause__ = error
    return found


def _rebuilt(kind: type[Exception], args: tuple[Any, ...], fields: dict[str, Any]) -> RuleError:
    error = (kind if issubclass(kind, RuleError) else _kind(kind))(*args)  # type: ignore[arg-type]
    error.__dict__.update(fields)
    return error


@functools.cache
def _kind(raised: type[Exception]) -> type[RuleError]:
    """Return a subclass of both `RuleError` and the class of the exception."""
    if issubclass(RuleError, raised):
        return RuleError
    try:
        both = types.new_class("RuleError", (RuleError, raised))
        both("said")
    except TypeError:  # incompatible layouts of the two classes
        return RuleError
    both.__module__ = RuleError.__module__
    return both
