"""Independent runs: their seeds, Student's t intervals of their mean and of a further run, and intervals of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import random_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["clopper_pearson", "half_width", "prediction_half_width", "spawn_seeds", "t_quantile"]


def spawn_seeds(seed: Any, runs: int) -> NDArray[np.int64]:
    """Return seeds of independent runs, shape (runs,), each from 1 to 2**31 - 2.

    More runs begin with the seeds of fewer. Neighbouring seeds share no run, unlike ``range(seed, seed + runs)``:
    the calls with ``seed=0`` and ``seed=1`` are independent.

    Parameters
    ----------
    seed
        Integer >= 0, or a `numpy.random.Generator`, which is advanced.
    runs
        Number of runs.

    Examples
    --------
    >>> spawn_seeds(0, 3).tolist() == spawn_seeds(0, 5)[:3].tolist()
    True
    >>> len(set(spawn_seeds(0, 50)) & set(spawn_seeds(1, 50)))
    0
    """
    source = random_source("seed", seed)
    root = np.random.SeedSequence(source.integers(2**63) if isinstance(source, np.random.Generator) else source)
    return np.array([1 + int(child.generate_state(1, np.uint64)[0]) % (2**31 - 2) for child in root.spawn(runs)])


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


def prediction_half_width(values: Any, level: float = 0.95) -> Any:
    """Return the half-width of Student's t interval of one further run, shape (...); NaN for one run.

    The interval lies around the mean of the R runs and contains the value of the next run with probability ``level``
    if the values are normally distributed: ``t s sqrt(1 + 1 / R)``, ``sqrt(R + 1)`` times that of the mean.

    Parameters
    ----------
    values
        One entry per run, shape (R, ...).
    level
        Probability; see `t_quantile`.

    Examples
    --------
    >>> round(float(prediction_half_width([1.0, 2.0, 3.0])), 3)
    4.968
    """
    values = np.asarray(values, dtype=np.float64)
    return half_width(values, level) * (len(values) + 1) ** 0.5


def clopper_pearson(hits: int, misses: int, level: float) -> tuple[float, float]:
    """Return the limits of Clopper and Pearson for the part of all draws that hit.

    Parameters
    ----------
    hits, misses
        Numbers of draws of each kind.
    level
        Probability, at most, with which the part is beyond one limit; for each of the two.

    Examples
    --------
    >>> low, high = clopper_pearson(5, 0, 0.05)
    >>> round(low, 3), high
    (0.549, 1.0)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(hits, misses + 1, level)) if hits else 0.0
    return low, float(betaincinv(hits + 1, misses, 1.0 - level)) if misses else 1.0
