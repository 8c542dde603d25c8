"""Lossless fabrics: headroom, shared pools, deadlock and pause storms of pause-controlled links."""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
