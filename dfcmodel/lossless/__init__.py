"""Lossless fabrics: headroom, shared pools, deadlock and pause storms of pause-controlled links."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
