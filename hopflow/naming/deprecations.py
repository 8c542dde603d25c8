"""Old names of parameters and attributes: they work for one release, with a warning that shows the new call."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from hopflow.checks import shown

__all__ = ["advice", "renamed", "renamed_attribute", "warn_deprecated"]

F = TypeVar("F", bound=Callable[..., Any])


def warn_deprecated(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a form is deprecated, and show what to write instead.

    Parameters
    ----------
    old, new
        The calls or attributes, as the caller would write them.
    stacklevel
        As for `warnings.warn`: 3 is the caller of the function that calls this one.
    """
    warnings.warn(advice(old, new), DeprecationWarning, stacklevel=stacklevel)


def advice(old: str, new: str) -> str:
    """Return what is said of a form that is deprecated."""
    return f"{old} is deprecated and will be removed in the next release; write {new}"


def renamed(**names: str) -> Callable[[F], F]:
    """Return a decorator of a function or class: keywords under their old names are passed under the new ones.

    Parameters
    ----------
    names
        The new name by the old one.

    Raises
    ------
    TypeError
        From the decorated function, when a parameter is given under both names.

    Examples
    --------
    >>> import warnings
    >>> @renamed(rng="seed")
    ... def draw(seed=0):
    ...     return seed
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     draw(rng=3)
    3
    >>> print(said[0].message)
    draw(rng=3) is deprecated and will be removed in the next release; write draw(seed=3)
    """

    def decorate(function: F) -> F:
        called = function.__name__
        kind: Any = function
        of_class = inspect.isclass(function)
        inner = kind.__init__ if of_class else kind

        @functools.wraps(inner)
        def call(*args: Any, **options: Any) -> Any:
            for old in names.keys() & options.keys():
                new = names[old]
                if new in options:
                    raise TypeError(f"{called}: {old} is the old name of {new}; both were given")
                value = options[new] = options.pop(old)
                text = shown(value)
                warn_deprecated(f"{called}({old}={text})", f"{called}({new}={text})")
            return inner(*args, **options)

        if of_class:
            kind.__init__ = call
            return function
        return cast("F", call)

    return decorate


def renamed_attribute(old: str, new: str) -> property:
    """Return a property that reads an attribute under its old name.

    Examples
    --------
    >>> class Run:
    ...     duration = 2.0
    ...     horizon = renamed_attribute("horizon", "duration")
    """

    def read(self: Any) -> Any:
        kind = type(self).__name__
        warn_deprecated(f"{kind}.{old}", f"{kind}.{new}")
        return getattr(self, new)

    return property(read, doc=f"Deprecated: use `{new}`.")
