"""The range of loss event rates in which a closed form holds, from the bounds in its condition."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from responsefn.responses.closed_forms.symbolic import p as loss

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
    condition = response.closed_form().condition
    if not _is_range(condition):
        return None
    lows: list[float] = [0.0]
    highs: list[float] = []
    for part in _parts(condition):
        lower = part.gts == loss
        end = float(response.value_of(part.lts if lower else part.gts, R=np.asarray(rtt)))
        (lows if lower else highs).append(end * (1.0 + BORDER if lower else 1.0 - BORDER))
    least = max if isinstance(condition, sp.Or) else min
    return max(lows), least(highs, default=math.inf)


def _parts(condition: Any) -> tuple[Any, ...]:
    return condition.args if isinstance(condition, (sp.And, sp.Or)) else (condition,)


@cache  # SymPy looks for the symbols of an expression again each time
def _is_range(condition: Any) -> bool:
    """Return whether a condition that holds for two p holds for those between."""
    parts = _parts(condition)
    if not all(map(_is_bound, parts)):
        return False
    return not (isinstance(condition, sp.Or) and any(part.gts == loss for part in parts))


def _is_bound(condition: Any) -> bool:
    """Return whether a condition is an inequality between p and an expression without it."""
    if not hasattr(condition, "lts"):
        return False
    one, two = condition.lts, condition.gts
    return (one == loss) != (two == loss) and not (
        loss in one.free_symbols and loss in two.free_symbols
    )
