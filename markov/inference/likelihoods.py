"""The log-likelihood of observations under a chain, with a bound on its error, and its gradient.

Of a path that is observed whole it is the sum of log q(x, y) over its jumps less exit rates times stays (P. Billingsley,
Statistical Inference for Markov Processes, 1961). Of a panel it is the sum of the logarithms of transition
probabilities (J. D. Kalbfleisch, J. F. Lawless, Journal of the American Statistical Association 80, 1985).

Transition probabilities come from uniformization: p(t) = sum_k P(N = k) p P^k, with terms that are not negative, so that
the error of each is relative. Their derivatives are those of the same sum: (p P^k)' follows p P^k from power to power.
Only states between the two that were observed take part, those that one leads to and that lead to the other: of an
epidemic, which never turns back, a few hundred of many thousands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.rounding import U
from markov.time.exponentials.poisson_probabilities import poisson_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.inference.observations import Statistics

    Vector = NDArray[np.float64]

__all__ = ["ImpossibleError", "LogLikelihood", "log_likelihood", "needed_states"]

FASTER = 1.1  # q over the largest exit rate
CUT = 1e-60  # of Poisson numbers
MIN_PROBABILITY = 1e-45  # transition probability that counts as possible
MAX_JUMPS = 1e6  # expected between two observations


class LogLikelihood(NamedTuple):
    """The log-likelihood, for densities in 1/s, a bound on its error, and its gradient, shape (parameters,).

    It is -inf where a jump or a transition has no probability.
    """

    value: float
    error: float
    gradient: Vector


IMPOSSIBLE = -math.inf


class ImpossibleError(ValueError):
    """Two states, by number, that are never observed one after the other."""


def log_likelihood(Q: sp.csr_matrix, slopes: list[sp.csr_matrix], observed: Statistics) -> LogLikelihood:
    """Return the log-likelihood of observations.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    slopes
        Its derivatives by each parameter, with their diagonals, shape (n, n) each.
    observed
        By the numbers of the same states.

    Raises
    ------
    ValueError
        For some 1e6 jumps and more between two observations.
    """
    parts = [_of_paths(Q, slopes, observed)]
    rates = off_diagonal(Q)
    backward = sp.csr_matrix(rates.T)
    for pair, gaps in observed.gaps.items():
        if not parts[-1].value > IMPOSSIBLE:
            break
        part = _Between(Q, slopes, _possible(rates, backward, *pair), pair)
        parts.append(part.of(gaps))
    total = math.fsum(part.value for part in parts) if parts[-1].value > IMPOSSIBLE else IMPOSSIBLE
    error = math.fsum(part.error for part in parts) + U * abs(total)
    return LogLikelihood(total, error, np.sum([part.gradient for part in parts], axis=0))


def needed_states(Q: sp.csr_matrix, observed: Statistics) -> NDArray[np.bool_]:
    """Return the states whose rates a likelihood depends on, shape (n,).

    Raises
    ------
    ImpossibleError
        With the first pair of states of which one never follows the other, or not directly in a path.
    """
    rates = off_diagonal(Q)
    needed = observed.stays > 0.0
    for s, t in observed.jumps:
        if not rates[s, t] > 0.0:
            raise ImpossibleError(s, t)
        needed[s] = True
    backward = sp.csr_matrix(rates.T)
    for s, t in observed.gaps:
        possible = _possible(rates, backward, s, t)
        if not possible.any():
            raise ImpossibleError(s, t)
        needed |= possible
    return needed


def _of_paths(Q: sp.csr_matrix, slopes: list[sp.csr_matrix], observed: Statistics) -> LogLikelihood:
    pairs = np.array(list(observed.jumps), dtype=np.int64).reshape(-1, 2)
    counts = np.array(list(observed.jumps.values()), dtype=np.float64)
    rates = _entries(Q, pairs)
    gradient = np.zeros(len(slopes))
    if len(rates) and not rates.min() > 0.0:
        return LogLikelihood(IMPOSSIBLE, 0.0, gradient)
    for k, slope in enumerate(slopes):
        gradient[k] = counts @ (_entries(slope, pairs) / rates) + observed.stays @ slope.diagonal()
    terms = np.append(counts * np.log(rates), observed.stays * Q.diagonal())
    most = int(np.diff(Q.indptr).max(initial=1))
    error = (most + 4) * U * (float(np.abs(terms).sum()) + float(counts.sum()))
    return LogLikelihood(math.fsum(terms), error, gradient)


def _entries(matrix: sp.csr_matrix, pairs: NDArray[np.int64]) -> Vector:
    if not len(pairs):
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def _possible(rates: sp.csr_matrix, backward: sp.csr_matrix, start: int, end: int) -> NDArray[np.bool_]:
    """Return the states on ways from one to another, shape (n,)."""
    one, other = np.zeros((2, rates.shape[0]), dtype=bool)
    one[start] = other[end] = True
    return leads_to(rates, one) & leads_to(backward, other)


class _Between:
    """Transition probabilities between two states, with their derivatives."""

    def __init__(
        self,
        Q: sp.csr_matrix,
        slopes: list[sp.csr_matrix],
        inside: NDArray[np.bool_],
        pair: tuple[int, int],
    ) -> None:
        self._inside = inside
        if not inside.any():
            return
        states = np.flatnonzero(inside)
        parts = [sp.csr_matrix(M[states][:, states]) for M in (Q, *slopes)]
        self.rate = FASTER * float(-parts[0].diagonal().min()) or 1.0
        steps = [sp.csr_matrix(part.T) / self.rate for part in parts]
        self._step = sp.csr_matrix(steps[0] + sp.identity(len(states), format="csr"))
        self._slopes = steps[1:]
        self._start, self._end = np.searchsorted(states, pair).tolist()
        terms = int(np.diff(self._step.indptr).max(initial=1))
        # 1 - exit rate / q loses the more digits, the smaller it is
        lost = FASTER / (FASTER - 1.0) * (int(np.diff(Q.indptr).max(initial=1)) + 2)
        self._rounding = (terms + 3 + lost) * U

    def of(self, gaps: dict[float, int]) -> LogLikelihood:
        """Return the log-likelihood of finding both so many times, by the time between, in s."""
        none = np.zeros(len(self._slopes) if self._inside.any() else 0)
        if not self._inside.any():
            return LogLikelihood(IMPOSSIBLE, 0.0, none)
        longest = max(gaps)
        if self.rate * longest > MAX_JUMPS:
            said = f"must be at most {MAX_JUMPS:.0e} between two observations"
            raise ValueError(f"data: about {self.rate * longest:.1e} jumps in {longest:g} s: {said}")
        weights = {gap: poisson_weights(self.rate * gap, CUT) for gap in gaps}
        values, slopes = self._powers(max(each.right for each in weights.values()) + 1)
        total, error, gradient = 0.0, 0.0, none
        for gap, count in gaps.items():
            kept = weights[gap]
            window = slice(kept.left, kept.right + 1)
            found = float(kept.weights @ values[window])
            if not found > MIN_PROBABILITY:
                return LogLikelihood(IMPOSSIBLE, 0.0, none)
            total += count * math.log(found)
            gradient = gradient + count * (slopes[:, window] @ kept.weights) / found
            relative = 2.0 * kept.error + (kept.right + 1) * (self._rounding + U) + kept.cut / found
            error += count * (relative + 2.0 * U * abs(math.log(found)))
        return LogLikelihood(total, error, gradient)

    def _powers(self, count: int) -> tuple[Vector, NDArray[np.float64]]:
        """Return the probability of the second state after 0, 1, ... jumps, and its derivatives."""
        m = self._step.shape[0]
        p, changes = np.zeros(m), np.zeros((len(self._slopes), m))
        p[self._start] = 1.0
        values, slopes = np.empty(count), np.empty((len(changes), count))
        for k in range(count):
            values[k], slopes[:, k] = p[self._end], changes[:, self._end]
            for j, slope in enumerate(self._slopes):
                changes[j] = self._step @ changes[j] + slope @ p
            p = np.asarray(self._step @ p)
        return values, slopes
