"""Loss recoveries of the packet level, and the steps of which a recovery of one's own is made."""

from __future__ import annotations

from hopflow.public_names import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
