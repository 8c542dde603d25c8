"""pi Q = 0 beside seven other programs, one process per cell of the table (``make bench-peers``)."""

from __future__ import annotations
