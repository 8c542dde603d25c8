"""Errors in user-defined rules, with the source location and a suggested remedy."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "DamagedDataError",
    "KernelError",
    "RuleError",
    "RuleWarning",
    "format_location",
    "location_of",
    "rule_error",
]

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
        Location in the user's source; None if unknown.

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
        """Pickle the error, so that it can be raised in another process."""
        raised = next((base for base in type(self).__bases__ if not issubclass(base, RuleError)), ValueError)
        return _rebuild, (type(self) if raised is ValueError else raised, self.args, self.__dict__)

    @classmethod
    def at(cls, location: tuple[str, int] | None, problem: str, hint: str = "") -> RuleError:
        """Return an error for a location in the user's source.

        Parameters
        ----------
        location
            File and line, or None.
        problem
            Description of the problem.
        hint
            Suggested remedy.
        """
        error = cls("".join([problem, format_location(location), f"; {hint}" if hint else ""]))
        if location is not None:
            error.file, error.line = location
        return error


class KernelError(TypeError):
    """A rule cannot be compiled; the message names its file and line.

    Examples
    --------
    >>> issubclass(KernelError, TypeError)
    True
    """


class RuleWarning(UserWarning):
    """A faster way of running a rule would differ from plain Python and is not used.

    Examples
    --------
    >>> from markov.errors import RuleWarning
    >>> issubclass(RuleWarning, UserWarning)
    True
    """


def format_location(location: tuple[str, int] | None) -> str:
    """Format a source location in parentheses, with the text of the line."""
    if location is None:
        return ""
    file, line = location
    text = linecache.getline(file, line).strip()
    return f" ({Path(file).name}, line {line}{f': {text}' if text else ''})"


def location_of(function: Callable[..., Any]) -> tuple[str, int] | None:
    """Return the file and the line of a function's ``def``; None if it has no Python source."""
    function = inspect.unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return None
    line: int = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return code.co_filename, line


def rule_error(error: Exception, rule: Callable[..., Any], context: str, remedy: str | None = None) -> RuleError:
    """Return the `RuleError` for an exception raised inside a rule.

    Parameters
    ----------
    error
        The exception, with its traceback.
    rule
        The user's function; the error names the innermost line in its file.
    context
        Name of the rule and the state.
    remedy
        Code to write instead; None: a hint by the class of the exception.
    """
    if isinstance(error, RuleError):
        return error
    location = location_of(rule)
    trace = error.__traceback__
    while trace is not None:
        if location is None or trace.tb_frame.f_code.co_filename == location[0]:
            location = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    hints = (text for cls, text in _HINTS.items() if isinstance(error, cls))
    hint = next(hints, "") if remedy is None else remedy
    message = f"{context}: {type(error).__name__}: {error}".removesuffix(": ")
    rule_error = _class_for(type(error)).at(location, message, hint)  # type: ignore[arg-type]
    rule_error.__cause__ = error
    return rule_error


def _rebuild(kind: type[Exception], args: tuple[Any, ...], fields: dict[str, Any]) -> RuleError:
    error = (kind if issubclass(kind, RuleError) else _class_for(kind))(*args)  # type: ignore[arg-type]
    error.__dict__.update(fields)
    return error


@functools.cache
def _class_for(raised: type[Exception]) -> type[RuleError]:
    """Return a subclass of both `RuleError` and the class of the exception."""
    if issubclass(RuleError, raised):
        return RuleError
    try:
        combined = types.new_class("RuleError", (RuleError, raised))
        combined("problem")
    except TypeError:  # incompatible layouts of the two classes
        return RuleError
    combined.__module__ = RuleError.__module__
    return combined
