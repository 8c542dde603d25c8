"""Keywords of tables of tests as option objects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["grouped"]


def grouped(function: Callable[..., Any], *tables: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return keywords with those that are fields of the function's option objects as such objects."""
    keywords = {name: value for table in (*tables, more) for name, value in table.items()}
    kinds: Mapping[str, Any] = function.__option_objects__  # type: ignore[attr-defined]
    for into, kind in kinds.items():
        names = inspect.signature(kind).parameters
        fields = {name: keywords.pop(name) for name in [*keywords] if name in names}
        if fields:
            keywords[into] = kind(**fields)
    return keywords
