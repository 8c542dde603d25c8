"""Confidence intervals by SciPy, beside those of the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

__all__ = ["student_interval"]


def student_interval(values: Any, level: float = 0.95) -> tuple[Any, Any]:
    """Return the ends of Student's interval for the mean of independent runs, the first axis."""
    runs, middle = len(values), np.mean(values, axis=0)
    half = stats.t.ppf((1.0 + level) / 2.0, runs - 1) * stats.sem(values, axis=0)
    return middle - half, middle + half
