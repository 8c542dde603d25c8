"""Student's t confidence intervals of the mean of independent runs."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["half_width", "t_quantile"]


def t_quantile(dof: Any, level: float = 0.95) -> Any:
    """Return the half-width of Student's t interval in standard errors of the mean.

    Parameters
    ----------
    dof
        Degrees of freedom of the error, any shape.
    level
        Probability that the interval covers the mean of normally distributed values.

    Examples
    --------
    >>> round(float(t_quantile(19)), 3)
    2.093
    """
    from scipy.special import stdtrit

    return stdtrit(dof, 0.5 + level / 2)


def half_width(values: Any, level: float = 0.95) -> Any:
    """Return the half-width of Student's t interval of the mean over runs, shape (...); NaN for one run.

    Parameters
    ----------
    values
        One entry per run, shape (R, ...).
    level
        Confidence level; see `t_quantile`.

    Examples
    --------
    >>> round(float(half_width([1.0, 2.0, 3.0])), 3)
    2.484
    """
    values = np.asarray(values, dtype=np.float64)
    runs = len(values)
    if runs < 2:
        return np.full(values.shape[1:], np.nan)
    return t_quantile(runs - 1, level) * np.std(values, axis=0, ddof=1) / runs**0.5
