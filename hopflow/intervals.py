"""Student's interval of the mean of independent runs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["half_width", "reach"]


def reach(dof: Any, level: float = 0.95) -> Any:
    """Return how many standard errors Student's interval reaches to either side of the mean.

    Parameters
    ----------
    dof
        Degrees of freedom of the error, any shape.
    level
        Probability that the interval covers the mean of normally distributed values.

    Examples
    --------
    >>> round(float(reach(19)), 3)
    2.093
    """
    from scipy.special import stdtrit

    return stdtrit(dof, 0.5 + level / 2)


def half_width(values: Any, level: float = 0.95) -> Any:
    """Return half of Student's interval of the mean over the runs, shape (...); NaN of one run.

    Parameters
    ----------
    values
        One entry per run, shape (R, ...).
    level
        As for `reach`.

    Examples
    --------
    >>> round(float(half_width([1.0, 2.0, 3.0])), 3)
    2.484
    """
    values = np.asarray(values, dtype=np.float64)
    runs = len(values)
    if runs < 2:
        return np.full(values.shape[1:], np.nan)
    return reach(runs - 1, level) * np.std(values, axis=0, ddof=1) / runs**0.5
