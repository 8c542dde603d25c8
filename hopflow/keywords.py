"""Fields of option objects as keywords of a function."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hopflow.checks import instance
from hopflow.parameters import Options, Parametrized
from hopflow.units import quantities_of

__all__ = ["ELSEWHERE", "WithFields"]


class _Elsewhere:
    def __repr__(self) -> str:
        return "..."


ELSEWHERE = _Elsewhere()
"""Default of an option that has the default of another class or object, which the documentation names."""


class WithFields:
    """A function with the fields of its option objects as keywords, for `hopflow.sweep`.

    Parameters
    ----------
    function
        A function with `hopflow.deprecations.takes_options`.

    Examples
    --------
    >>> from dfcmodel import coexist_sweep
    >>> by_field = WithFields(coexist_sweep)
    >>> [name for name in inspect.signature(by_field).parameters if name in ("rtt", "loss", "duration")]
    ['rtt', 'loss', 'duration']
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__name__ = function, function.__name__
        self.kinds: Mapping[str, Any] = function.__option_objects__  # type: ignore[attr-defined]
        signature = inspect.signature(function)
        entries = dict(signature.parameters)
        variable = {name: entries.pop(name) for name in [*entries] if entries[name].kind is entries[name].VAR_KEYWORD}
        self.__quantities__ = dict(quantities_of(function))
        for kind in self.kinds.values():
            fields = inspect.signature(kind).parameters
            entries |= {name: entry.replace(kind=entry.KEYWORD_ONLY) for name, entry in fields.items()}
            self.__quantities__ |= quantities_of(kind)
        self.__signature__ = signature.replace(parameters=[*(entries | variable).values()])

    def __reduce__(self) -> tuple[Any, ...]:
        return WithFields, (self.function,)

    def grouped(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments of the function, with the fields in its option objects.

        Raises
        ------
        TypeError
            For an option object of another class, by the name of its parameter.
        """
        arguments = dict(arguments)
        for into, kind in self.kinds.items():
            names = inspect.signature(kind).parameters
            fields = {name: arguments.pop(name) for name in [*arguments] if name in names}
            if fields:
                arguments[into] = _with_fields(kind, into, arguments.get(into), fields)
        return arguments

    def __call__(self, **arguments: Any) -> Any:
        """Call the function with the fields in its option objects."""
        return self.function(**self.grouped(arguments))


def _with_fields(kind: Any, into: str, options: Any, fields: Mapping[str, Any]) -> Any:
    """Return the option object of a parameter ``into`` with other values of some fields."""
    if options is None:
        return kind(**fields)
    if issubclass(kind, Options):
        options = kind.of(options, into)
    options = instance(into, options, kind)
    return options.replace(**fields) if isinstance(options, Parametrized) else dataclasses.replace(options, **fields)
