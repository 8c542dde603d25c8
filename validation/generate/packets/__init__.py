"""Networks on which the packet level is compared with ns-2 packet by packet."""

from __future__ import annotations
