"""Keywords shared by several functions: fields of option objects, or declared in a `TypedDict`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hopflow.checks import refuse_former
from hopflow.parameters import Parametrized
from hopflow.units import quantities_of

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["ELSEWHERE", "WithFields", "check_keywords", "takes_keywords"]


class _Elsewhere:
    def __repr__(self) -> str:
        return "..."


ELSEWHERE = _Elsewhere()
"""Default shown in the signature for a keyword that is passed on; the documentation states the value."""
REQUIRED = "Required["
"""Prefix of the annotation of a required keyword in a `TypedDict`."""


def takes_keywords(kind: Any, defaults: Mapping[str, Any] | None = None) -> Callable[[F], F]:
    """Return a decorator that lists the keys of ``**keywords: Unpack[kind]`` in the signature of a function.

    ``**keywords`` of another annotation stay in the signature. `help`, Jupyter, completion and the decorators of
    `hopflow.units` read it.

    Parameters
    ----------
    kind
        A `typing.TypedDict`.
    defaults
        Default by keyword; None: the functions to which the keywords are passed on have the defaults.

    Examples
    --------
    >>> import inspect
    >>> from hopflow import ensemble
    >>> str(inspect.signature(ensemble).parameters["level"])
    "level: 'Level | None' = None"
    """
    annotations = {name: getattr(t, "__forward_arg__", str(t)) for name, t in kind.__annotations__.items()}
    default_values = {} if defaults is None else dict(defaults)
    required = kind.__required_keys__ | {n for n in annotations if annotations[n].startswith(REQUIRED)}
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else default_values.get(name, ELSEWHERE),
            annotation=text[len(REQUIRED) : -1] if text.startswith(REQUIRED) else text,
        )
        for name, text in annotations.items()
    ]

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        parameters = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD or not str(parameter.annotation).startswith("Unpack")
        ]
        target: Any = function
        listed = sorted([*parameters, *keywords], key=_sort_key)
        target.__signature__ = signature.replace(parameters=listed)
        target.__shared__ = {name: name in required for name in annotations}
        target.__shared_defaults__ = default_values
        return function

    return decorate


def _sort_key(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Return the sort key of a parameter: its kind, then required before optional keywords."""
    keyword_only = parameter.kind is parameter.KEYWORD_ONLY
    return parameter.kind, keyword_only and parameter.default is not parameter.empty


def check_keywords(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared keywords of a call with defaults filled in; TypeError for an unknown or a missing keyword."""
    name = function.__name__
    is_required: Mapping[str, bool] = function.__shared__  # type: ignore[attr-defined]
    refuse_former(name, function, arguments)
    unknown = [f"got an unexpected keyword argument {n!r}" for n in arguments if n not in is_required]
    missing = [
        f"missing a required keyword argument: {n!r}" for n in is_required if is_required[n] and n not in arguments
    ]
    for fault in (*unknown, *missing):
        takes = ", ".join(inspect.signature(function).parameters)
        raise TypeError(f"{name}() {fault}; {name} takes {takes}")
    return {**function.__shared_defaults__, **arguments}  # type: ignore[attr-defined]


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

    def __call__(self, **arguments: Any) -> Any:
        """Call the function with the fields in its option objects."""
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
        return self.function(**arguments)
