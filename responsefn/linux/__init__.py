"""Window rules of Linux, by the files of its congestion controls."""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
