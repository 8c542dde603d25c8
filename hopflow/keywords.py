"""Keywords that several functions share: a `TypedDict` after the parameters of each."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from hopflow.checks import refuse_former

__all__ = ["check_keywords", "keywords_of"]


def _kind_of(function: Callable[..., Any]) -> Any:
    """Return the `TypedDict` that a function takes as keywords, None without any."""
    for each in inspect.signature(function).parameters.values():
        shared = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if shared and each.kind is each.VAR_KEYWORD:
            plain: Any = function
            while isinstance(plain, functools.partial):
                plain = plain.func
            return inspect.unwrap(plain).__globals__.get(shared[1])
    return None


_known_kind_of = functools.cache(_kind_of)


def keywords_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of the keywords by name that a function takes as ``**keywords: Unpack[...]``; empty without any.

    Examples
    --------
    >>> from hopflow import ensemble
    >>> "duration" in keywords_of(ensemble)
    True
    """
    kind = _kind_of(function)
    found: Mapping[str, Any] = {} if kind is None else kind.__annotations__
    return found


def check_keywords(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise TypeError for a keyword that is not among those of `keywords_of`, and for a missing one, with all there are."""
    name, kind = function.__name__, _known_kind_of(function)
    known, required = kind.__annotations__, kind.__required_keys__
    refuse_former(name, function, given)
    unknown = [f"got an unexpected keyword argument {n!r}" for n in given if n not in known]
    missing = [
        f"missing a required keyword argument: {n!r}"
        for n in known
        if n in required and n not in given
    ]
    for said in (*unknown, *missing):
        listed = inspect.signature(function).parameters.values()
        takes = [each.name for each in listed if each.kind is not each.VAR_KEYWORD]
        raise TypeError(f"{name}() {said}; {name} takes {', '.join([*takes, *known])}")
