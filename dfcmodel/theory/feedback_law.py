"""The law of diffusion-type flow control, eqs. (1), (2) and (13) of takano2006: the only implementation.

It is called with numbers or arrays by the theory, by the JAX model, and by the kernels of both levels, which compile
its text with their own.
"""

from __future__ import annotations

from typing import Any

from hopflow.kernels.marks import inlined

__all__ = ["diffusive_rate", "proportional_share"]


@inlined
def diffusive_rate(intensity: Any, target_rate: Any, gain: Any, next_backlog: Any, backlog: Any) -> Any:
    """Return alpha r - D/d (n' - n), eq. (2); a node sends at this rate if it is positive, otherwise not.

    ``target_rate`` r and ``next_backlog`` n' are reported by the next node; ``backlog`` n is that of the node itself.
    """
    return intensity * target_rate - gain * (next_backlog - backlog)


@inlined
def proportional_share(capacity: float, demand: float) -> float:
    """Return the fraction of their unconstrained rates, in all ``demand``, that the flows of a link get, eq. (13)."""
    return capacity / demand if demand > capacity else 1.0
