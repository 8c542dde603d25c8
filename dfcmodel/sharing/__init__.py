"""Window rules at one bottleneck, on the packet engine: comparisons and evaluations."""

from __future__ import annotations
