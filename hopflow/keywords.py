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
def keywords_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of the keywords by name that a function takes as ``**keywords: Unpack[...]``; empty without any.

    Examples
    --------
    >>> from hopflow import ensemble
    >>> "duration" in keywords_of(ensemble)
    True
    """
    for each in inspect.signature(function).parameters.values():
        shared = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if shared and each.kind is each.VAR_KEYWORD:
            kind = inspect.unwrap(function).__globals__[shared[1]]
            found: Mapping[str, Any] = kind.__annotations__
            return found
    return {}


def check_keywords(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise TypeError for a keyword that is not among those of `keywords_of`, with all that the function takes."""
    name, known = function.__name__, keywords_of(function)
    refuse_former(name, function, given)
    for option in given.keys() - known.keys():
        listed = inspect.signature(function).parameters.values()
        takes = [each.name for each in listed if each.kind is not each.VAR_KEYWORD]
        said = f"got an unexpected keyword argument {option!r}"
        raise TypeError(f"{name}() {said}; {name} takes {', '.join([*takes, *known])}")
