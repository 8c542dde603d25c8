"""The root that CUBIC's mixed cycle needs: plain Python that also compiles (see `cubic_region`)."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["excess", "solve_plateau"]


def solve_plateau(u: Any, beta: Any) -> Any:
    """Return the x with g(x) = u, for u between those at x = 1/sqrt(3) and 1; Newton's method, to round-off.

    From the power law between the ends, which is at most 2 % off, four steps leave 1e-15.
    """
    top, low = 1.0 / (1.0 - beta) - 0.25, (beta / (1.0 - beta) + 0.5) / 27.0
    x = (u / top) ** (0.5493061443340549 / math.log(top / low))  # log(3)/2
    x = x - excess(x, u, beta)
    x = x - excess(x, u, beta)
    x = x - excess(x, u, beta)
    return x - excess(x, u, beta)


def excess(x: Any, u: Any, beta: Any) -> Any:
    """Return (g(x) - u)/g'(x)."""
    root = abs(4.0 - 3.0 * x * x) ** 0.5
    met, change = 0.5 * (3.0 * x - root), 1.5 * (1.0 + x / root)
    cube, kept, rest = x * x * x, beta / (1.0 - beta), 1.0 / (1.0 - beta)
    behind = met - x
    value = (
        0.25 * (behind * behind * behind * behind - cube * x)
        + rest * cube * met
        + kept * cube * (cube - met)
        + 0.5 * (cube * cube - met * met)
    )
    slope = (
        behind * behind * behind * (change - 1.0)
        - cube
        + rest * (3.0 * x * x * met + cube * change)
        + kept * (6.0 * cube * x * x - 3.0 * x * x * met - cube * change)
        + 3.0 * cube * x * x
        - met * change
    )
    return (value - u) / slope
