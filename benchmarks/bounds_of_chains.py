"""What bounds the figures of chains in the table of daily use, and what was tried, by the beginning of a row's name."""

from __future__ import annotations

__all__ = ["BOUNDS_OF_CHAINS"]

BOUNDS_OF_CHAINS: dict[str, str] = {}
