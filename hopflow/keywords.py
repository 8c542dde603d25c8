"""Keywords that several functions share: a `TypedDict` after the parameters of each."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from hopflow.checks import refuse_former

__all__ = ["check_keywords", "keywords_of"]


@functools.cache
def _kind_of(function: Callable[..., Any]) -> Any:
    """Return the `TypedDict` that a function takes as keywords, None without any."""
    for each in inspect.signature(function).parameters.values():
        shared = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if shared and each.kind is each.VAR_KEYWORD:
            return inspect.unwrap(function).__globals__[shared[1]]
    return None


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
    name, known = function.__name__, keywords_of(function)
    refuse_former(name, function, given)
    unknown = [
        f"got an unexpected keyword argument {each!r}" for each in given if each not in known
    ]
    missing = [
        f"missing a required keyword argument: {each!r}"
        for each in known
        if each in _kind_of(function).__required_keys__ and each not in given
    ]
    for said in (*unknown, *missing):
        listed = inspect.signature(function).parameters.values()
        takes = [each.name for each in listed if each.kind is not each.VAR_KEYWORD]
        raise TypeError(f"{name}() {said}; {name} takes {', '.join([*takes, *known])}")
