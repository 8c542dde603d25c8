"""The cases of kaneko2007: TCP-Fusion and the congestion controls beside it (ns-2 and ns-3)."""

from __future__ import annotations
