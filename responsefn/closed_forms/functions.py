"""Functions of closed forms, in plain Python that also compiles: Lambert's W, and the root of CUBIC's mixed cycle."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["excess", "lambert_w", "solve_plateau"]


def lambert_w(x: Any) -> Any:
    """Return the w > 0 with w e^w = x > 0.

    Newton's method for w + log w = log x from the approximation of Iacono and Boyd (Advances in
    Computational Mathematics 43, 2017), whose largest error is 0.7 %. Three steps leave 1e-16.
    """
    m = math.log1p(x)
    w0 = m * (1.0 - math.log1p(m) / (2.0 + m))
    w1 = w0 / (1.0 + w0) * (1.0 + math.log(x / w0))
    w2 = w1 / (1.0 + w1) * (1.0 + math.log(x / w1))
    return w2 / (1.0 + w2) * (1.0 + math.log(x / w2))


def solve_plateau(u: Any, beta: Any) -> Any:
    """Return the x with g(x) = u of `cubic_region`, for u between g(1/sqrt(3)) and g(1).

    Newton's method starts at the power law between both ends, whose error is at most 2 %. Four steps leave 1e-15.
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
    cube, line_factor, cubic_factor = x * x * x, beta / (1.0 - beta), 1.0 / (1.0 - beta)
    behind = met - x
    value = (
        0.25 * (behind * behind * behind * behind - cube * x)
        + cubic_factor * cube * met
        + line_factor * cube * (cube - met)
        + 0.5 * (cube * cube - met * met)
    )
    slope = (
        behind * behind * behind * (change - 1.0)
        - cube
        + cubic_factor * (3.0 * x * x * met + cube * change)
        + line_factor * (6.0 * cube * x * x - 3.0 * x * x * met - cube * change)
        + 3.0 * cube * x * x
        - met * change
    )
    return (value - u) / slope
