"""How the functions of a model are called: with the state and the parameters, or the state alone."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from hopflow.errors import RuleError, place_of

__all__ = ["two_arguments"]


def two_arguments(
    function: Callable[..., Any], name: str, q: Any = ...
) -> Callable[[Any, Any], Any]:
    """Return a function of (state, parameters) as that, also where it takes the state alone.

    A second argument with a default, which is not called ``q``, keeps its default: in a loop,
    ``lambda s, k=k: ...`` is a function of the state.

    Parameters
    ----------
    function, name
        What the user wrote, and its name for messages.
    q
        The parameters, where they are known.

    Raises
    ------
    RuleError
        When it takes neither one nor two arguments; when a second argument has a default, and there
        are parameters that might be meant.
    """
    if not callable(function):
        raise RuleError(f"{name} = {function!r}: a function of the state is expected")
    bound = inspect.ismethod(function)
    count = _arguments(getattr(function, "__func__", function), bound)
    if count == 2 and (second := _default(getattr(function, "__func__", function), bound)):
        if not (q is None or (isinstance(q, tuple) and not q)):
            said = f"{name} takes {inspect.signature(function)}: {second} would be the parameters"
            hint = f"write (s, q, {second}=...), or call it q if it is the parameters"
            raise RuleError.at(place_of(function), said, hint)
        count = 1
    if count == 2:
        return function
    if count == 1:
        return functools.wraps(function)(lambda s, _q: function(s))
    hint = "write (s, q) below @staticmethod, (self, s, q), or (self, s)"
    said = f"{name} takes {inspect.signature(function)}"
    raise RuleError.at(place_of(function), said, hint)


@functools.lru_cache(maxsize=256)
def _default(function: Callable[..., Any], bound: bool) -> str | None:
    """Return the name of the second argument of a function of the state, if it has a default and is not ``q``."""
    try:
        given = list(inspect.signature(function).parameters.values())[int(bound) :]
    except (TypeError, ValueError):  # built in
        return None
    second = given[1] if len(given) > 1 else None
    if second is None or second.default is inspect.Parameter.empty or second.name == "q":
        return None
    return None if second.kind is inspect.Parameter.KEYWORD_ONLY else second.name


@functools.lru_cache(maxsize=256)
def _arguments(function: Callable[..., Any], bound: bool) -> int:
    """Return how many arguments a function of the state takes, 2 or 1; 0: something else."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built in
        return 2
    first = next(iter(signature.parameters), "")
    for count in (2, 1):
        with contextlib.suppress(TypeError):
            signature.bind(*(None,) * (count + bound))
            return count if count == 2 or not bound or first in ("self", "cls") else 0
    return 0
