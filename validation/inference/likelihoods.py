"""Weights of settings from printed numbers, with an error of the model that is estimated with them.

The difference of a printed number from the simulated one is, in logarithms, the sum of three independent
parts: the noise of both, which is known; an error of the model for the cell, of standard deviation tau; and
one that all cells of a group share, of standard deviation omega. All settings are equally probable before,
tau and omega log-uniform, and all three are inferred together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaln, logsumexp, ndtr

Values = NDArray[np.float64]
ERRORS: Values = np.geomspace(0.01, 1.5, 16)
"""Standard deviations of the model's errors that are tried, in logarithms."""
COVERAGE = 0.9
"""Of the intervals that cells set aside are compared with."""
EVERY = 5
"""One cell of so many is set aside."""


def held_out(number: int, seed: int) -> NDArray[np.bool_]:
    """Return which of some cells are set aside: one of five, drawn by a seed.

    Examples
    --------
    >>> from validation.inference.likelihoods import held_out
    >>> int(held_out(21, seed=1).sum())
    4
    """
    aside = np.zeros(number, dtype=bool)
    aside[np.random.default_rng(seed).permutation(number)[: number // EVERY]] = True
    return aside


@dataclass(frozen=True)
class Posterior:
    """What is inferred from cells.

    Attributes
    ----------
    logs
        Logarithm of the marginal likelihood of each setting and pair of errors, shape (S, E).
    errors
        tau and omega of each pair, shape (E, 2).
    """

    logs: Values
    errors: Values

    @property
    def joint(self) -> Values:
        """Weight of each setting and pair of errors; their sum is 1."""
        weights = np.exp(self.logs - self.logs.max())
        found: Values = weights / weights.sum()
        return found

    @property
    def weights(self) -> Values:
        """Weight of each setting, shape (S,)."""
        found: Values = self.joint.sum(axis=1)
        return found

    @property
    def effective(self) -> float:
        """Effective number of settings, 1 / sum of the squared weights."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def model_errors(self) -> tuple[float, float]:
        """Posterior means of tau and omega, in logarithms."""
        tau, omega = self.joint.sum(axis=0) @ self.errors
        return float(tau), float(omega)

    def positions(self, residuals: Values, noise: Values) -> Values:
        """Return where other cells lie in their predictive distributions, 0 to 1; shape (C,).

        Parameters
        ----------
        residuals
            Logarithm of simulated over printed, shape (S, C).
        noise
            Standard deviation of the known noise of each, shape (C,).
        """
        found = np.zeros(residuals.shape[1])
        for weights, (tau, omega) in zip(self.joint.T, self.errors, strict=True):
            found += weights @ ndtr(-residuals / np.sqrt(noise**2 + tau**2 + omega**2))
        return found

    def covered(self, residuals: Values, noise: Values) -> int:
        """Return how many other cells lie in the central intervals of `COVERAGE`."""
        at = self.positions(residuals, noise)
        return int((abs(at - 0.5) <= COVERAGE / 2).sum())


def infer(
    residuals: Values,
    noise: Values,
    groups: Sequence[str] | None = None,
    known: Mapping[str, float] | None = None,
    tried: Values = ERRORS,
) -> Posterior:
    """Return the weights of settings, and the errors of the model.

    Parameters
    ----------
    residuals
        Logarithm of simulated over printed, shape (S, C).
    noise
        Standard deviation of the known noise of each cell, in logarithms, shape (C,).
    groups
        Group of each cell; None: no cells share an error.
    known
        Standard deviation of the known error that the cells of a group share, by group; None: there is none.
    tried
        Standard deviations of the errors of the model that are tried.

    Examples
    --------
    >>> import numpy as np
    >>> from validation.inference.likelihoods import infer
    >>> posterior = infer(np.array([[0.01, -0.01, 0.02], [0.5, 0.6, 0.4]]), np.full(3, 0.01))
    >>> bool(posterior.weights[0] > 0.9)
    True
    """
    names = np.array(groups if groups is not None else [""] * residuals.shape[1])
    omegas = tried if groups is not None else np.zeros(1)
    errors = np.array([(tau, omega) for tau in tried for omega in omegas])
    logs = np.zeros((len(residuals), len(errors)))
    for name in dict.fromkeys(names):
        own, common = names == name, (known or {}).get(str(name), 0.0)
        for n, (tau, omega) in enumerate(errors):
            shared = omega**2 + common**2
            logs[:, n] += _log_density(residuals[:, own], noise[own] ** 2 + tau**2, shared)
    return Posterior(logs, errors)


def _log_density(residuals: Values, own: Values, shared: float) -> Values:
    """Return the log density of correlated normal residuals: variances ``own``, covariance ``shared``; (S,).

    The matrix diag(own) + shared 1 1' is inverted by the formula of Sherman and Morrison.
    """
    precision = (1.0 / own).sum()
    squares = (residuals**2 / own).sum(axis=1)
    sums = (residuals / own).sum(axis=1)
    squares = squares - shared * sums**2 / (1.0 + shared * precision)
    determinant = np.log(own).sum() + np.log1p(shared * precision)
    found: Values = -0.5 * (squares + determinant + residuals.shape[1] * np.log(2.0 * np.pi))
    return found


def of_words(kept: NDArray[np.bool_]) -> Values:
    """Return the log likelihood of settings from sentences that they keep or not, shape (S,).

    Each sentence is wrong with the same probability, which is uniform up to one half before.

    Parameters
    ----------
    kept
        Whether a setting keeps a sentence, shape (S, sentences).

    Examples
    --------
    >>> import numpy as np
    >>> from validation.inference.likelihoods import of_words
    >>> one, none = of_words(np.array([[True], [False]]))
    >>> float(np.exp(one).round(6)), float(np.exp(none).round(6))
    (0.75, 0.25)
    """
    right = kept.sum(axis=1)
    wrong = kept.shape[1] - right
    found: Values = np.log(2.0) + betaln(wrong + 1, right + 1) + np.log(betainc(wrong + 1, right + 1, 0.5))
    return found


def joined(posterior: Posterior, logs: Values) -> Posterior:
    """Return a posterior with further independent evidence, the log likelihood of each setting; shape (S,)."""
    return Posterior(posterior.logs + logs[:, None], posterior.errors)


def evidence_of(posterior: Posterior) -> Values:
    """Return the log likelihood of each setting with the errors of the model averaged over, shape (S,)."""
    found: Values = logsumexp(posterior.logs, axis=1) - np.log(len(posterior.errors))
    return found
