"""The log-likelihood of observations under a chain, with a bound on its error, and its gradient.

For a complete path it is the sum of log q(x, y) over its jumps less exit rates times stays (P. Billingsley,
Statistical Inference for Markov Processes, 1961). For a panel it is the sum of the logarithms of transition
probabilities (J. D. Kalbfleisch, J. F. Lawless, Journal of the American Statistical Association 80, 1985).

Transition probabilities come from uniformization: p(t) = sum_k P(N = k) p P^k, with non-negative terms, so that their
errors are relative. Their derivatives are the derivatives of the same sum: (p P^k)' follows p P^k from power to power.
Only states on paths from the first observed state to the second take part: in an epidemic, which never turns back, a
few hundred of many thousands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.matrices import leads_to, off_diagonal
from markov.computing.rounding import U
from markov.time.uniformization import poisson_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.inference.observations import Statistics

    Vector = NDArray[np.float64]

__all__ = ["ImpossibleError", "LogLikelihood", "log_likelihood", "relevant_states"]

UNIFORMIZATION_FACTOR = 1.1  # q over the largest exit rate
POISSON_TAIL = 1e-60
MIN_PROBABILITY = 1e-45  # transition probability that counts as possible
MAX_JUMPS = 1e6  # expected number between two observations
BLOCK = 256  # powers at once, a power of two
MIN_POWERS_IN_BLOCKS = 4096
MAX_BLOCK_STATES = 128  # times one more than there are parameters: at most BLOCK


class LogLikelihood(NamedTuple):
    """Log-likelihood of observations, a bound on its error, and its gradient by the parameters, shape (parameters,).

    It is -inf if a jump or a transition has no probability.
    """

    value: float
    error: float
    gradient: Vector


IMPOSSIBLE = -math.inf


class ImpossibleError(ValueError):
    """Two states, by number, of which the second cannot follow the first as observed."""


def log_likelihood(Q: sp.csr_matrix, slopes: list[sp.csr_matrix], observed: Statistics) -> LogLikelihood:
    """Return the log-likelihood of observations under a generator, with its error bound and gradient.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    slopes
        Derivatives of Q by the parameters, with their diagonals, matrices of shape (n, n).
    observed
        Statistics by the numbers of the same states.

    Raises
    ------
    ValueError
        For about 1e6 jumps or more between two observations.
    """
    parts = [_log_likelihood_of_paths(Q, slopes, observed)]
    rates = off_diagonal(Q)
    backward = sp.csr_matrix(rates.T)
    for pair, gaps in observed.gaps.items():
        if not parts[-1].value > IMPOSSIBLE:
            break
        inside = _states_between(rates, backward, *pair)
        if inside.any():
            parts.append(_Transition(Q, slopes, inside, pair).log_likelihood(gaps))
        else:
            parts.append(LogLikelihood(IMPOSSIBLE, 0.0, np.zeros(len(slopes))))
    total = math.fsum(part.value for part in parts) if parts[-1].value > IMPOSSIBLE else IMPOSSIBLE
    error = math.fsum(part.error for part in parts) + U * abs(total)
    return LogLikelihood(total, error, np.sum([part.gradient for part in parts], axis=0))


def relevant_states(Q: sp.csr_matrix, observed: Statistics) -> NDArray[np.bool_]:
    """Return the mask of states whose exit rates influence the likelihood of the observations, shape (n,).

    Raises
    ------
    ImpossibleError
        With the first pair of states of which the second never follows the first, or not directly in a path.
    """
    rates = off_diagonal(Q)
    relevant = observed.stays > 0.0
    for s, t in observed.jumps:
        if not rates[s, t] > 0.0:
            raise ImpossibleError(s, t)
        relevant[s] = True
    backward = sp.csr_matrix(rates.T)
    for s, t in observed.gaps:
        inside = _states_between(rates, backward, s, t)
        if not inside.any():
            raise ImpossibleError(s, t)
        relevant |= inside
    return relevant


def _log_likelihood_of_paths(Q: sp.csr_matrix, slopes: list[sp.csr_matrix], observed: Statistics) -> LogLikelihood:
    """Return the log-likelihood of completely observed paths, with its gradient."""
    pairs = np.array(list(observed.jumps), dtype=np.int64).reshape(-1, 2)
    counts = np.array(list(observed.jumps.values()), dtype=np.float64)
    rates = _entries(Q, pairs)
    gradient = np.zeros(len(slopes))
    if len(rates) and not rates.min() > 0.0:
        return LogLikelihood(IMPOSSIBLE, 0.0, gradient)
    for k, slope in enumerate(slopes):
        gradient[k] = counts @ (_entries(slope, pairs) / rates) + observed.stays @ slope.diagonal()
    terms = np.append(counts * np.log(rates), observed.stays * Q.diagonal())
    row_length = int(np.diff(Q.indptr).max(initial=1))
    error = (row_length + 4) * U * (float(np.abs(terms).sum()) + float(counts.sum()))
    return LogLikelihood(math.fsum(terms), error, gradient)


def _entries(matrix: sp.csr_matrix, pairs: NDArray[np.int64]) -> Vector:
    """Return the entries of a sparse matrix at pairs of indices, shape (pairs,)."""
    if not len(pairs):
        return np.zeros(0)
    return np.asarray(matrix[pairs[:, 0], pairs[:, 1]], dtype=np.float64).ravel()


def _states_between(rates: sp.csr_matrix, backward: sp.csr_matrix, source: int, target: int) -> NDArray[np.bool_]:
    """Return the mask of states on paths from ``source`` to ``target``, shape (n,)."""
    sources, targets = np.zeros((2, rates.shape[0]), dtype=bool)
    sources[source] = targets[target] = True
    return leads_to(rates, sources) & leads_to(backward, targets)


class _Transition:
    """Transition probabilities between two states over time by uniformization, with derivatives by the parameters."""

    def __init__(
        self,
        Q: sp.csr_matrix,
        slopes: list[sp.csr_matrix],
        inside: NDArray[np.bool_],
        pair: tuple[int, int],
    ) -> None:
        states = np.flatnonzero(inside)
        parts = [sp.csr_matrix(M[states][:, states]) for M in (Q, *slopes)]
        self.rate = UNIFORMIZATION_FACTOR * float(-parts[0].diagonal().min()) or 1.0
        steps = [sp.csr_matrix(part.T) / self.rate for part in parts]
        self._step = sp.csr_matrix(steps[0] + sp.identity(len(states), format="csr"))
        self._slopes = steps[1:]
        self._source, self._target = np.searchsorted(states, pair).tolist()
        terms = int(np.diff(self._step.indptr).max(initial=1))
        # the smaller 1 - exit rate / q is, the more digits it loses
        lost_digits = (
            UNIFORMIZATION_FACTOR / (UNIFORMIZATION_FACTOR - 1.0) * (int(np.diff(Q.indptr).max(initial=1)) + 2)
        )
        self._rounding = (terms + 3 + lost_digits) * U
        self._rounding_in_blocks = (len(states) + 4 + lost_digits) * U
        self._is_small = len(states) * len(parts) <= MAX_BLOCK_STATES

    def log_likelihood(self, gaps: dict[float, int]) -> LogLikelihood:
        """Return the log-likelihood of panel transitions between the two states, from counts by time gap in s."""
        longest = max(gaps)
        if self.rate * longest > MAX_JUMPS:
            allowed = f"must be at most {MAX_JUMPS:.0e} between two observations"
            raise ValueError(f"data: about {self.rate * longest:.1e} jumps in {longest:g} s: {allowed}")
        poisson = {gap: poisson_weights(self.rate * gap, POISSON_TAIL) for gap in gaps}
        count = max(weights.right for weights in poisson.values()) + 1
        in_blocks = self._is_small and count >= MIN_POWERS_IN_BLOCKS
        rounding = self._rounding_in_blocks if in_blocks else self._rounding
        values, slopes = (self._powers_in_blocks if in_blocks else self._powers)(count)
        total, error, gradient = 0.0, 0.0, np.zeros(len(self._slopes))
        for gap, count in gaps.items():
            weights = poisson[gap]
            window = slice(weights.left, weights.right + 1)
            probability = float(weights.weights @ values[window])
            if not probability > MIN_PROBABILITY:
                return LogLikelihood(IMPOSSIBLE, 0.0, np.zeros(len(self._slopes)))
            total += count * math.log(probability)
            gradient = gradient + count * (slopes[:, window] @ weights.weights) / probability
            relative = 2.0 * weights.error + (weights.right + 1) * (rounding + U) + weights.cut / probability
            error += count * (relative + 2.0 * U * abs(math.log(probability)))
        return LogLikelihood(total, error, gradient)

    def _powers(self, count: int) -> tuple[Vector, NDArray[np.float64]]:
        """Return P(in the target after k jumps) for k < count, and its derivatives, shape (parameters, count)."""
        m = self._step.shape[0]
        p, changes = np.zeros(m), np.zeros((len(self._slopes), m))
        p[self._source] = 1.0
        values, slopes = np.empty(count), np.empty((len(changes), count))
        for k in range(count):
            values[k], slopes[:, k] = p[self._target], changes[:, self._target]
            for j, slope in enumerate(self._slopes):
                changes[j] = self._step @ changes[j] + slope @ p
            p = np.asarray(self._step @ p)
        return values, slopes

    def _powers_in_blocks(self, count: int) -> tuple[Vector, NDArray[np.float64]]:
        """Return what `_powers` returns, for a few states and many powers.

        It differs from step by step: one matrix M moves p and its derivatives together, rows of the targets times the
        powers of M below BLOCK give so many values at once, and M^BLOCK leads from block to block. That is one more
        product per block, of at most BLOCK / 2 terms: half a rounding error per step.
        """
        m, parts = self._step.shape[0], len(self._slopes) + 1
        M = np.asarray(np.kron(np.eye(parts), self._step.toarray()), dtype=np.float64)
        for j, slope in enumerate(self._slopes, start=1):
            M[j * m : (j + 1) * m, :m] = slope.toarray()
        rows = np.zeros((BLOCK, parts, m * parts))
        rows[0, np.arange(parts), np.arange(parts) * m + self._target] = 1.0
        for k in range(1, BLOCK):
            rows[k] = rows[k - 1] @ M
        for _ in range(BLOCK.bit_length() - 1):
            M = M @ M
        vector = np.zeros(m * parts)
        vector[self._source] = 1.0
        blocks = np.empty((math.ceil(count / BLOCK), BLOCK, parts))
        for block in blocks:
            block[:] = rows @ vector
            vector = M @ vector
        table = blocks.reshape(-1, parts)[:count]
        return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:].T)
