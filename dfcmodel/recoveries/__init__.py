"""Loss recoveries of the packet level, and the steps of which a recovery of one's own is made."""

from __future__ import annotations

from hopflow.naming.public_names import collect

__getattr__, __dir__, __all__ = collect(__name__, __file__)
