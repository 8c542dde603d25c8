"""Branch-free functions for rules: the same source runs as plain Python, compiled and vectorized."""

from __future__ import annotations

from typing import Any

__all__ = ["maximum", "minimum", "where"]


def where(condition: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` if ``condition`` holds, else ``no``; both are evaluated.

    >>> from hopflow import where
    >>> where(3 > 2, 1.0, 0.0)
    1.0
    """
    return yes if condition else no


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two numbers.

    >>> from hopflow import maximum
    >>> maximum(2.0, 3.0)
    3.0
    """
    return x if x > y else y


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two numbers.

    >>> from hopflow import minimum
    >>> minimum(2.0, 3.0)
    2.0
    """
    return x if x < y else y
