"""The cases of zheng2002: TCP(a, b) and TFRC under imposed loss and over a bottleneck (ns-2)."""

from __future__ import annotations
