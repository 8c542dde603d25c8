"""Fields of option objects as keywords of a function."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from hopflow.parameters import Parametrized
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
        """Return arguments of the function, with the fields in its option objects."""
        arguments = dict(arguments)
        for into, kind in self.kinds.items():
            names = inspect.signature(kind).parameters
            fields = {name: arguments.pop(name) for name in [*arguments] if name in names}
            if fields:
                options = arguments.get(into)
                if options is None:
                    arguments[into] = kind(**fields)
                elif isinstance(options, Parametrized):
                    arguments[into] = options.replace(**fields)
                else:
                    arguments[into] = dataclasses.replace(options, **fields)
        return arguments

    def __call__(self, **arguments: Any) -> Any:
        """Call the function with the fields in its option objects."""
        return self.function(**self.grouped(arguments))
