"""Window rules of Linux, by the files of its congestion controls."""

from __future__ import annotations

from hopflow.naming.public_names import collect

__getattr__, __dir__, __all__ = collect(__name__, __file__)
