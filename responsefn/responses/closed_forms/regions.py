"""The range of loss event rates in which a closed form holds, from the bounds in its condition."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from responsefn.responses.base import Response

__all__ = ["range_of"]

BORDER = 1e-12
"""Relative distance from the end of a range within which each p is looked at."""


@lru_cache(maxsize=1024)
def range_of(response: Response, rtt: float) -> tuple[float, float] | None:
    """Return two p between which the closed form of a response holds surely; None: not known.

    They are `BORDER` within the ends of its condition. That must consist of bounds of p, of which all or, where they
    are upper bounds, one must hold.

    Examples
    --------
    >>> from responsefn import HSTCP
    >>> low, high = range_of(HSTCP(), 0.1)
    >>> round(low, 9), round(high, 9)
    (1e-07, 0.166666667)
    """
    bounds = response.closed_form().bounds()
    if bounds is None:
        return None
    one_suffices, ends = bounds
    lows: list[float] = [0.0]
    highs: list[float] = []
    for lower, code in ends:
        end = float(response.value_of(code, R=np.asarray(rtt)))
        (lows if lower else highs).append(end * (1.0 + BORDER if lower else 1.0 - BORDER))
    return max(lows), (max if one_suffices else min)(highs, default=math.inf)
