"""Branch-free functions for rules: the same text runs as plain Python, compiled and vectorized."""

from __future__ import annotations

from typing import Any

__all__ = ["maximum", "minimum", "where"]


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` where ``condition`` holds, else ``no``; both are evaluated."""
    return yes if condition else no


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two numbers."""
    return x if x > y else y


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two numbers."""
    return x if x < y else y
