"""Interpolation of simulated numbers between the settings that were run, by Gaussian processes.

The cells of a row share a covariance: a linear part, a smooth part and noise, whose sizes are those of a grid
with the largest marginal likelihood. What the interpolation is worth is taken from each run left out in turn
(Rasmussen and Williams 2006, Sect. 5.4.2), which includes the noise of a single run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

Values = NDArray[np.float64]
LINEAR, SMOOTH = (0.1, 0.5, 2.0), (0.0, 0.3, 1.0)
LENGTHS, NOISE = (0.7, 1.5, 3.0), (0.003, 0.03, 0.1, 0.3, 1.0)
"""Variances of the parts and length of the smooth one, for cells of variance 1 and parameters in [0, 1]."""


@dataclass(frozen=True)
class Emulator:
    """Cells as functions of the parameters.

    Attributes
    ----------
    points
        Runs, shape (n, parameters).
    mean, scale
        Of each cell over the runs, shape (cells,).
    solved
        Inverse covariance times the cells in these units, shape (n, cells).
    sizes
        Linear, smooth, length, noise.
    left_out
        Of each run, what the others make of it less what it is; shape (n, cells).
    """

    points: Values
    mean: Values
    scale: Values
    solved: Values
    sizes: tuple[float, float, float, float]
    left_out: Values

    @property
    def error(self) -> Values:
        """Root mean square of the prediction of a run by the others, shape (cells,)."""
        found: Values = np.sqrt((self.left_out**2).mean(axis=0))
        return found

    def at(self, points: Values) -> Values:
        """Return the cells at other points, shape (points, cells)."""
        found: Values = self.mean + self.scale * (_covariance(points, self.points, self.sizes) @ self.solved)
        return found


def fit(points: Values, cells: Values) -> Emulator:
    """Return an interpolation.

    Parameters
    ----------
    points
        Parameters of the runs in [0, 1], shape (n, parameters).
    cells
        What was simulated, shape (n, cells).

    Examples
    --------
    >>> import numpy as np
    >>> from validation.inference.emulator import fit
    >>> x = np.linspace(0, 1, 12)[:, None]
    >>> line = fit(x, 3.0 + 2.0 * x)
    >>> bool(abs(line.at(np.array([[0.45]]))[0, 0] - 3.9) < 0.05)
    True
    """
    mean, scale = cells.mean(axis=0), np.maximum(cells.std(axis=0), 1e-9)
    units = (cells - mean) / scale
    best = max(
        itertools.product(LINEAR, SMOOTH, LENGTHS, NOISE),
        key=lambda sizes: _log_likelihood(points, units, sizes),
    )
    factor = _factor(points, best)
    solved = cho_solve(factor, units)
    inverse = cho_solve(factor, np.eye(len(points)))
    left_out = -scale * solved / np.diag(inverse)[:, None]
    return Emulator(points, mean, scale, solved, best, left_out)


def _covariance(one: Values, other: Values, sizes: tuple[float, float, float, float]) -> Values:
    linear, smooth, length, _ = sizes
    count = one.shape[1]
    found: Values = linear * (one - 0.5) @ (other - 0.5).T * 12.0 / count
    if smooth:
        distance = cdist(one, other, "sqeuclidean") * 6.0 / count
        found = found + smooth * np.exp(-0.5 * distance / length**2)
    return found


def _factor(points: Values, sizes: tuple[float, float, float, float]) -> tuple[Values, bool]:
    covariance = _covariance(points, points, sizes) + sizes[3] * np.eye(len(points))
    factor: tuple[Values, bool] = cho_factor(covariance, lower=True)
    return factor


def _log_likelihood(points: Values, units: Values, sizes: tuple[float, float, float, float]) -> float:
    factor = _factor(points, sizes)
    determinant = 2.0 * np.log(np.diag(factor[0])).sum()
    squares = (units * cho_solve(factor, units)).sum()
    return float(-0.5 * (squares + units.shape[1] * determinant))
