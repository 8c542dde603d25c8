"""The loops over a closed form: rates from loss event rates, and back. Templates; they run only compiled."""
# mypy: ignore-errors
# ruff: noqa: F821, F841

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from responsefn.responses.dynamics import Floats

__all__ = ["evaluate_all", "invert_all"]


def evaluate_all(p_values: Floats, constants: Floats, out: Floats) -> None:
    """Template: ``before()`` computes the terms without p, ``inside()`` sets ``value``."""
    before()
    for n in range(p_values.shape[0]):
        p = p_values[n]
        inside()
        out[n] = value


def invert_all(
    rates: Floats, constants: Floats, table: Floats, first: float, per_step: float, out: Floats
) -> None:
    """Template: p from a cubic in a table of log p over log rate, then corrected by its slope there.

    The rows of ``table``, at even steps from ``first`` on, are log p and its change per step. Where
    the cubic is as good as it is away from kinks, the second evaluation only confirms the first;
    elsewhere the slope becomes that of the last two points.
    """
    before()
    cells = table.shape[0] - 1
    for n in range(rates.shape[0]):
        rate = rates[n]
        at = (math.log(rate) - first) * per_step
        found = math.nan
        if -1e-9 < at < cells + 1e-9:  # the rates at the ends are inside
            k = min(int(max(at, 0.0)), cells - 1)
            t = at - k
            low = table[k, 1]
            rise = table[k + 1, 0] - table[k, 0]
            bend = 3.0 * rise - 2.0 * low - table[k + 1, 1]
            twist = low + table[k + 1, 1] - 2.0 * rise
            p = min(1.0, math.exp(table[k, 0] + t * (low + t * (bend + t * twist))))
            slope = (low + t * (2.0 * bend + t * 3.0 * twist)) * per_step  # of log p over log rate
            last = 0.0
            step = 0.0
            for _ in range(60):
                inside()
                excess = value / rate - 1.0
                if abs(step) > 1e-6:
                    slope = -step / (excess - last)
                last = excess
                step = slope * excess
                p = min(1.0, p - p * step)
                if abs(step) < 1e-12:
                    found = p
                    break
        out[n] = found
