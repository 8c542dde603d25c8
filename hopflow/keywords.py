"""Keywords that several functions share: a `TypedDict` after the parameters of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hopflow.checks import refuse_former

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["ELSEWHERE", "check_keywords", "takes_keywords"]


class _Elsewhere:
    def __repr__(self) -> str:
        return "..."


ELSEWHERE = _Elsewhere()
"""The default that a signature shows of a shared keyword that is handed on; the documentation says it."""
REQUIRED = "Required["
"""How the text of an annotation in a `TypedDict` begins whose keyword must be given."""


def takes_keywords(kind: Any, defaults: Mapping[str, Any] | None = None) -> Callable[[F], F]:
    """Return a decorator: the signature of a function with ``**keywords: Unpack[kind]`` names each of them.

    Keywords of another annotation remain in it: the function takes these and any others. The signature is what `help`, Jupyter, completion and the decorators of `hopflow.units` read.

    Parameters
    ----------
    kind
        A `typing.TypedDict`.
    defaults
        Of its keywords; None: they are where the function hands them on.

    Examples
    --------
    >>> import inspect
    >>> from hopflow import ensemble
    >>> str(inspect.signature(ensemble).parameters["level"])
    "level: 'Level | None' = None"
    """
    texts = {
        name: getattr(t, "__forward_arg__", str(t)) for name, t in kind.__annotations__.items()
    }
    known = {} if defaults is None else dict(defaults)
    required = kind.__required_keys__ | {n for n in texts if texts[n].startswith(REQUIRED)}
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in required else known.get(name, ELSEWHERE),
            annotation=text[len(REQUIRED) : -1] if text.startswith(REQUIRED) else text,
        )
        for name, text in texts.items()
    ]  # fmt: skip

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [
            each
            for each in signature.parameters.values()
            if each.kind is not each.VAR_KEYWORD or not str(each.annotation).startswith("Unpack")
        ]
        shown: Any = function
        listed = sorted([*own, *shared], key=_place)
        shown.__signature__ = signature.replace(parameters=listed)
        shown.__shared__ = {name: name in required for name in texts}
        shown.__shared_defaults__ = known
        return function

    return decorate


def _place(parameter: inspect.Parameter) -> tuple[int, bool]:
    """Return by what parameters are ordered: their kinds, and of keywords first those that must be given."""
    alone = parameter.kind is parameter.KEYWORD_ONLY
    return parameter.kind, alone and parameter.default is not parameter.empty


def check_keywords(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shared keywords of a function with their defaults; TypeError for an unknown or a missing one, with all there are."""
    name = function.__name__
    known: Mapping[str, bool] = function.__shared__  # type: ignore[attr-defined]
    refuse_former(name, function, given)
    unknown = [f"got an unexpected keyword argument {n!r}" for n in given if n not in known]
    missing = [
        f"missing a required keyword argument: {n!r}" for n in known if known[n] and n not in given
    ]
    for said in (*unknown, *missing):
        takes = ", ".join(inspect.signature(function).parameters)
        raise TypeError(f"{name}() {said}; {name} takes {takes}")
    return {**function.__shared_defaults__, **given}  # type: ignore[attr-defined]
