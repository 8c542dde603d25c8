"""Deprecated names of parameters and attributes: valid for one release, with a warning that shows the new call."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from hopflow.checks import format_value, refuse_former

__all__ = [
    "accept_old_names",
    "advice",
    "attribute_alias",
    "collect_options",
    "states_options",
    "takes_options",
    "warn_deprecated",
    "with_new_names",
]

F = TypeVar("F", bound=Callable[..., Any])


def warn_deprecated(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a call is deprecated, and show its replacement.

    Parameters
    ----------
    old, new
        The calls or attributes, as the caller would write them.
    stacklevel
        As for `warnings.warn`: 3 is the caller of the function that calls this one.
    """
    warnings.warn(advice(old, new), DeprecationWarning, stacklevel=stacklevel)


def advice(old: str, new: str) -> str:
    """Return the text of a deprecation warning."""
    return f"{old} is deprecated and will be removed in the next release; write {new}"


def accept_old_names(**names: str) -> Callable[[F], F]:
    """Return a decorator of a function or class that passes old keywords under their new names.

    `hopflow.units.quantities` applies the names itself when a call does not match the signature.

    Parameters
    ----------
    names
        The new name by the old one.

    Raises
    ------
    TypeError
        From the decorated function, if a parameter is given under both names.

    Examples
    --------
    >>> import warnings
    >>> @accept_old_names(rng="seed")
    ... def draw(seed=0):
    ...     return seed
    >>> with warnings.catch_warnings(record=True) as messages:
    ...     warnings.simplefilter("always")
    ...     draw(rng=3)
    3
    >>> print(messages[0].message)
    draw(rng=3) is deprecated and will be removed in the next release; write draw(seed=3)
    """

    def decorate(function: F) -> F:
        name = function.__name__
        kind: Any = function
        of_class = inspect.isclass(function)
        inner = kind.__init__ if of_class else kind

        if not of_class and hasattr(kind, "__quantities__"):
            kind.__old_names__ = names  # read when a call does not match
            return function

        @functools.wraps(inner)
        def call(*args: Any, **options: Any) -> Any:
            if not names.keys().isdisjoint(options):
                options = with_new_names(name, names, options)
            return inner(*args, **options)

        if of_class:
            kind.__init__ = call
            return function
        return cast("F", call)

    return decorate


def with_new_names(function: str, names: Mapping[str, str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Rename old keywords of a call, each with a warning at the caller of the decorated function."""
    keywords = dict(options)
    for old in names.keys() & options.keys():
        new = names[old]
        if new in options:
            raise TypeError(f"{function}: {old} is the old name of {new}; both were given")
        value = keywords[new] = keywords.pop(old)
        text = format_value(value)
        warn_deprecated(f"{function}({old}={text})", f"{function}({new}={text})", stacklevel=4)
    return keywords


def takes_options(
    kind: Callable[..., Any], into: str = "options", by_position: tuple[str, ...] = (), **former: str
) -> Callable[[F], F]:
    """Return a decorator that collects keywords into the option object that a function takes.

    The keywords work for one release, with a warning that shows the call with an object. The signature omits them.
    A function with two option objects has the decorator twice.

    Parameters
    ----------
    kind
        Class of the options.
    into
        Parameter of the function that takes the object.
    by_position
        Fields that were positional parameters behind those of the function, in their order.
    former
        New parameter names by old name. A name that the function still has as a parameter is passed on.

    Raises
    ------
    TypeError
        From the decorated function, if both the object and one of its parameters are given.

    Examples
    --------
    >>> import dataclasses, warnings
    >>> @dataclasses.dataclass(frozen=True)
    ... class Drawing:
    ...     seed: int = 0
    >>> @takes_options(Drawing)
    ... def draw(*, options=Drawing()):
    ...     return options.seed
    >>> with warnings.catch_warnings(record=True) as messages:
    ...     warnings.simplefilter("always")
    ...     draw(seed=3)
    3
    >>> print(messages[0].message)
    draw(seed=3) is deprecated and will be removed in the next release; write draw(options=Drawing(seed=3))
    """
    parameters = inspect.signature(kind).parameters

    def decorate(function: F) -> F:
        called = function.__name__
        signature = inspect.signature(function)
        kinds: dict[str, Any] = {**getattr(function, "__option_objects__", {}), into: kind}
        known = {*signature.parameters, *parameters, *former, *getattr(function, "__known_keywords__", ())}
        known |= {*getattr(function, "__old_names__", ())}
        takes_all = any(entry.kind is entry.VAR_KEYWORD for entry in signature.parameters.values())
        fields = {name: former.get(name, name) for name in (*parameters, *former) if name not in signature.parameters}
        positions = sum(entry.kind is entry.POSITIONAL_OR_KEYWORD for entry in signature.parameters.values())

        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not (takes_all or keywords.keys() <= known):
                refuse_former(called, function, keywords)
                unknown = next(name for name in keywords if name not in known)
                texts = "".join(f", {name}={of.__name__}({_fields_text(of)})" for name, of in kinds.items())
                listed = ", ".join(name for name in signature.parameters if name not in kinds)
                message = f"{called}() got an unexpected keyword argument {unknown!r}; {called} takes {listed}{texts}"
                raise TypeError(message)
            if by_position and len(args) > positions:
                keywords = {**dict(zip(by_position, args[positions:], strict=False)), **keywords}
                args = args[:positions] + args[positions + len(by_position) :]
            old = {name: value for name, value in keywords.items() if name in fields}
            if not old:
                return function(*args, **keywords)
            if keywords.get(into) is not None:
                conflict = f"{into} and {', '.join(old)}"
                raise TypeError(f"{called}: {conflict} were given; {kind.__name__} has the parameters")
            options = collect_options(called, kind, into, old, **former)
            others = {name: value for name, value in keywords.items() if name not in old}
            return function(*args, **{**others, into: options})

        call.__known_keywords__ = known  # type: ignore[attr-defined]
        return states_options(**{into: kind})(cast("F", call))

    return decorate


def _fields_text(kind: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(kind).parameters)


def states_options(**kinds: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that states the classes of the option objects of a function, which `sweep` fills in.

    Parameters
    ----------
    kinds
        The class by the parameter that takes the object.
    """

    def decorate(function: F) -> F:
        target: Any = function
        target.__option_objects__ = {**getattr(function, "__option_objects__", {}), **kinds}
        return function

    return decorate


def collect_options(called: str, kind: Callable[..., Any], into: str, old: Mapping[str, Any], **former: str) -> Any:
    """Return the option object of deprecated keywords, with a warning at the caller of the function.

    Parameters
    ----------
    called
        Name of the function.
    kind, into, **former
        As for `takes_options`.
    old
        The keywords with their values.
    """
    options = kind(**{former.get(name, name): value for name, value in old.items()})
    texts = ", ".join(f"{name}={format_value(value)}" for name, value in old.items())
    frame, distance = sys._getframe(1), 3
    while frame.f_back is not None and frame.f_back.f_code.co_filename == __file__:  # one wrapper around another
        frame, distance = frame.f_back, distance + 1
    warn_deprecated(f"{called}({texts})", f"{called}({into}={options!r})", stacklevel=distance + 1)
    return options


def attribute_alias(old: str, new: str) -> property:
    """Return a property that reads an attribute under its old name.

    Examples
    --------
    >>> class Run:
    ...     duration = 2.0
    ...     horizon = attribute_alias("horizon", "duration")
    """

    def read(self: Any) -> Any:
        kind = type(self).__name__
        warn_deprecated(f"{kind}.{old}", f"{kind}.{new}")
        return getattr(self, new)

    return property(read, doc=f"Deprecated: use `{new}`.")
