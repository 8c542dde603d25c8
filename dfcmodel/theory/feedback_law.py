"""The law of diffusion-type flow control, eqs. (1), (2) and (13) of takano2006: its one home.

The theory, the kernels of both levels, which compile this text with their own, and the JAX model call it, with numbers
or arrays.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

__all__ = ["diffusive_rate", "proportional_share"]


@inlined
def diffusive_rate(intensity: Any, told_rate: Any, gain: Any, told_backlog: Any, backlog: Any) -> Any:
    """Return alpha r - D/d (n' - n), eq. (2); a node sends what is positive of it."""
    return intensity * told_rate - gain * (told_backlog - backlog)


@inlined
def proportional_share(capacity: float, wanted: float) -> float:
    """Return the part of what flows want that each gets of a link, eq. (13)."""
    return capacity / wanted if wanted > capacity else 1.0
