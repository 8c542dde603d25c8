"""Window rules packet by packet: alone, and sharing a bottleneck."""

from __future__ import annotations
