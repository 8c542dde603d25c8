"""pi Q = 0 by eight programs, one process per cell of the table (``make bench-peers``)."""

from __future__ import annotations
