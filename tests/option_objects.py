"""Keywords of tables of tests as option objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hopflow.keywords import WithFields

__all__ = ["grouped"]


def grouped(function: Callable[..., Any], *tables: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return keywords with those that are fields of the function's option objects as such objects."""
    return WithFields(function).grouped({name: value for table in (*tables, more) for name, value in table.items()})
