"""Keywords that several functions share: a `TypedDict` after the parameters of each."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hopflow.checks import refuse_former

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["ELSEWHERE", "check_keywords", "keywords_of", "show_keywords"]


class _Elsewhere:
    def __repr__(self) -> str:
        return "..."


ELSEWHERE = _Elsewhere()
"""The default that a signature shows of a shared keyword."""


@functools.cache
def _kind_of(function: Callable[..., Any]) -> Any:
    """Return the `TypedDict` that a function takes as keywords, None without any."""
    inner = inspect.unwrap(function)
    for annotation in getattr(inner, "__annotations__", {}).values():
        if shared := re.fullmatch(r"Unpack\[(\w+)\]", str(annotation)):
            return inner.__globals__[shared[1]]
    return None


def show_keywords(function: F) -> F:
    """Let the signature of a function name each of its shared keywords, for `help`, Jupyter and completion.

    The default of one that need not be given is shown as ``...``: the documentation says it.

    Examples
    --------
    >>> import inspect
    >>> from hopflow import ensemble
    >>> str(inspect.signature(ensemble).parameters["duration"])
    "duration: 'float | str | None' = ..."
    """
    function.__signature__ = _with_keywords(function)  # type: ignore[attr-defined]
    return function


def _with_keywords(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with its shared keywords in place of ``**keywords``."""
    signature, required = inspect.signature(function), _required(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    shared = []
    for name, kind in keywords_of(function).items():
        text = re.sub(r"^Required\[(.*)\]$", r"\1", getattr(kind, "__forward_arg__", str(kind)))
        default = inspect.Parameter.empty if name in required else ELSEWHERE
        of_keyword = inspect.Parameter.KEYWORD_ONLY
        shared.append(inspect.Parameter(name, of_keyword, default=default, annotation=text))
    return signature.replace(
        parameters=[*own, *sorted(shared, key=lambda each: each.default is ELSEWHERE)]
    )


def _required(function: Callable[..., Any]) -> set[str]:
    """Return the shared keywords that must be given; what is ``Required`` in the text of an annotation is among them."""
    marked = {
        name
        for name, kind in keywords_of(function).items()
        if getattr(kind, "__forward_arg__", "").startswith("Required[")
    }
    return marked | _kind_of(function).__required_keys__


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
        if each in _required(function) and each not in given
    ]
    for said in (*unknown, *missing):
        takes = ", ".join(_with_keywords(inspect.unwrap(function)).parameters)
        raise TypeError(f"{name}() {said}; {name} takes {takes}")
