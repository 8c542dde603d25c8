"""Discrete-time Markov chains: probabilities of steps in place of rates.

The chain with generator P - I jumps at rate one as the discrete chain steps (staying included): their
stationary distributions, absorption probabilities and mean first-passage times are the same, and the
variance of a number of steps is that of the passage time less its mean (the law of total variance: a
time of N steps is a sum of N exponential times of mean one). So every bound of `stationary` and `passage`
serves here too. J. G. Kemeny, J. L. Snell, Finite Markov Chains, 1960.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.checks import check_sum_of_one, count_of, format_value, integer, number, one_number
from hopflow.fork_safety import cached_property
from markov.chains import ROW_SUM_TOLERANCE, InSteps, MarkovChain, StepChain, labelled_matrix
from markov.computing.matrices import transpose_advice
from markov.computing.rounding import U, differs_from_one
from markov.driver import stationary
from markov.models.spaces import Space, refuse_unhashable, warn_of_unintended_states
from markov.proofs.bounded import Bounded
from markov.selections import distribution, select_states
from markov.time.passage_results import describe_start_in_set
from markov.time.passages import passage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.results.stationary_results import Stationary

    Vector = NDArray[np.float64]

__all__ = ["DiscreteChain", "Steps"]

MAX_STATES = 1_000_000
MIN_SQUARED_STEPS = 10_000
MAX_SQUARED_STATES = 500


@dataclass(frozen=True, eq=False)
class Steps:
    """Number of steps N of a discrete-time chain until a set of states is entered; zero in the set itself.

    Attributes
    ----------
    probability
        Of ever entering the set, `Bounded`.
    mean, variance
        E[N] and Var[N], `Bounded`; infinite where the set may never be entered.

    Examples
    --------
    >>> from markov import DiscreteChain
    >>> result = DiscreteChain([[0.5, 0.5], [0.0, 1.0]]).passage(to=1, start=0)
    >>> result.mean.value, round(result.variance.value, 12), result.survival([0, 1, 2]).tolist()
    (2.0, 2.0, [1.0, 0.5, 0.25])
    """

    probability: Bounded
    mean: Bounded
    variance: Bounded
    _inside: sp.csr_matrix = field(repr=False)
    _start: Vector = field(repr=False)

    def __repr__(self) -> str:
        outside = float(self._start.sum())
        within = describe_start_in_set(1.0 - outside, "number of steps")
        note = f", start in the set {within}" if differs_from_one(outside, self._start.size) else ""
        return f"Steps(probability={self.probability}, mean={self.mean}, variance={self.variance}{note})"

    def survival(self, steps: ArrayLike) -> Vector:
        """Return P(N > n) for ascending integers n >= 0, shape (steps,).

        Rounding errors are at most (m + 2) n 2^-53, with at most m transitions into a state, or m states where
        the matrix is squared, as in `DiscreteChain.after`, but sums are the answer here.
        """
        return np.array([float(v.sum()) for v in _powers(self._inside, self._start, steps)])


class DiscreteChain(InSteps):
    """A finite Markov chain in discrete time.

    Parameters
    ----------
    P
        Probabilities of steps, shape (n, n), dense or any SciPy sparse format: rows that sum to one within 1e-10. Rows
        that differ from one by more than rounding are divided by their sum; if it stays with more than 1/2, staying is
        what the others leave. A table of pandas or xarray with labels has the same labels for rows and columns, in any
        order.
    states
        Names of the states, n different values; None: the labels of P, otherwise their numbers.

    Raises
    ------
    ValueError
        Naming the first bad entry or row and what is allowed.

    Examples
    --------
    Weather in three kinds of days:

    >>> from markov import DiscreteChain
    >>> weather = DiscreteChain(
    ...     [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.4, 0.4]], states=["sun", "clouds", "rain"]
    ... )
    >>> weather.stationary().pi.round(4).tolist()
    [0.4615, 0.3077, 0.2308]
    >>> round(weather.passage(to="rain", start="sun").mean.value, 9)
    6.666666667
    """

    def __init__(self, P: Any, states: Any = None) -> None:
        P, states = labelled_matrix("P", P, states)
        self.P = _validate_matrix(P)
        self._chain = MarkovChain(_generator(self.P), states=states)

    @classmethod
    def of_rules(cls, rules: Callable[[Any], Iterable[tuple[Any, float]]], start: Any) -> Any:
        """Return the chain of all states that ``start`` leads to by ``rules``, in the order of their discovery.

        Parameters
        ----------
        rules
            A function of a state that yields pairs (next state, probability), staying included;
            probabilities of the same state are added up.
        start
            A state: any value that can be hashed.

        Raises
        ------
        ValueError
            Naming the state where probabilities do not sum to one, or rules yield something else than pairs of a state
            and a number >= 0; beyond a million states.

        Examples
        --------
        >>> from markov import DiscreteChain
        >>> def gambler(n):
        ...     return [(n, 1.0)] if n in (0, 4) else [(n + 1, 0.4), (n - 1, 0.6)]
        >>> game = DiscreteChain.of_rules(gambler, start=2)
        >>> round(game.passage(to=4, start=2).probability.value, 9)  # 1 / (1 + 1.5^2)
        0.307692308
        """
        try:
            refuse_unhashable(start)
        except TypeError as error:
            raise ValueError(f"start = {format_value(start)}: {error}") from None
        numbers: dict[Hashable, int] = {start: 0}
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        order = [start]
        for state in order:
            pairs = [_validate_pair(state, pair) for pair in rules(state)]
            total = math.fsum(p for _, p in pairs)
            hint = "; what stays must be among them"
            check_sum_of_one(f"state {state!r}: probabilities sum", total, ROW_SUM_TOLERANCE, hint)
            for target, p in pairs:
                if p > 0.0:
                    if target not in numbers:
                        if len(order) >= MAX_STATES:
                            raise ValueError(f"rules: more than {MAX_STATES} states are reached")
                        numbers[target] = len(order)
                        order.append(target)
                    rows.append(numbers[state])
                    columns.append(numbers[target])
                    values.append(p)
        warn_of_unintended_states("rules", Space.of_states(None, order))
        shape = len(order), len(order)
        return cls(sp.csr_matrix((values, (rows, columns)), shape=shape), states=order)

    @property
    def size(self) -> int:
        """Number of states."""
        return self._chain.size

    @property
    def states(self) -> Any:
        """Names of the states, or their numbers."""
        return self._chain.states

    @cached_property
    def periods(self) -> list[int]:
        """Period of each recurrent class, as a list; 1 if the class is aperiodic."""
        stays = self.P.diagonal() > 0.0
        classes = zip(self._chain.recurrent_classes, self._chain.periods, strict=True)
        return [1 if stays[states].any() else jumps for states, jumps in classes]

    def stationary(self, **how: Any) -> Stationary:
        """Return the fractions of steps spent in each state in the long run; see `markov.stationary`.

        Of a periodic chain they are means over a period: the distribution after n steps does not
        converge. The answer's `variance` is that of means over n steps, times n.

        Raises
        ------
        ValueError
            For several recurrent classes, which have a distribution each.
        """
        if len(self._chain.recurrent_classes) > 1:
            counted = count_of(len(self._chain.recurrent_classes), "recurrent class", "recurrent classes")
            weights = "chain.passage(to=CLASS, start=STATE).probability is the weight of a class from a start"
            by_class = "stationary_by_class(MarkovChain(chain.P - I, states=chain.states)), I the identity"
            advice = f"{weights}; {by_class}, has their distributions"
            raise ValueError(f"{self!r}: {counted}: the stationary distribution is not unique; {advice}")
        answer = stationary(self._chain, **how)
        return replace(answer, chain=StepChain.of(answer.chain, self.periods))

    def after(self, steps: ArrayLike, start: Any) -> Vector:
        """Return the distributions after each number of ``steps``, shape (steps, states).

        Parameters
        ----------
        steps
            Whole numbers >= 0 that ascend, or one.
        start
            A state, or a distribution of shape (states,).

        Notes
        -----
        Distributions are divided by their sums, which rounding errors change most. In total variation these errors are
        at most 2 (m + 2) n 2^-53 after n steps, with at most m transitions into a state. From 10,000 steps on, the
        matrix of a chain of at most 500 states is squared instead of multiplied step by step, and m is the number of
        states: its squares are off by twice what they are the squares of, and m 2^-53.
        """
        distributions = np.array(list(_powers(self.P, distribution(self._chain, start), steps)))
        return np.asarray(distributions / distributions.sum(axis=1, keepdims=True))

    def passage(self, to: Any, start: Any) -> Steps:
        """Return probability, mean and variance of the number of steps until a set of states is entered.

        Parameters
        ----------
        to
            A state, a list of states, or truth values of shape (states,).
        start
            A state, or a distribution of shape (states,).

        Raises
        ------
        ValueError
            For unknown states.
        ConvergenceError
            Where a bound is useless.
        """
        target = select_states(self._chain, to, "to")
        times = passage(self._chain, target, start=start)
        outside = sp.diags((~target).astype(float))
        probability = _interval(times.probability, times.probability_error, 1.0)
        mean = _interval(times.mean, times.mean_error)
        variance_of_steps = times.variance - times.mean if math.isfinite(times.mean) else math.inf
        variance = _interval(variance_of_steps, times.variance_error + times.mean_error)
        initial = distribution(self._chain, start)
        inside = sp.csr_matrix(outside @ self.P @ outside)
        return Steps(probability, mean, variance, inside, initial * ~target)

    def __repr__(self) -> str:
        return f"DiscreteChain: {count_of(self.size, 'state')}, {count_of(self.P.nnz, 'transition')}"


def _validate_pair(state: Hashable, pair: Any) -> tuple[Hashable, float]:
    """Return the next state and the probability that rules yield in ``state``; ValueError if they are none."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ValueError(f"state {state!r}: rules yield {format_value(pair)}: must be pairs (next state, probability)")
    target, value = pair
    try:
        refuse_unhashable(target)
    except TypeError as error:
        raise ValueError(f"state {state!r}: next state {format_value(target)}: {error}") from None
    if isinstance(value, (bool, np.bool_)):  # of a condition
        return target, float(value)
    return target, one_number(f"state {state!r}: probability of next state {target!r}", value, at_least=0.0)


def _powers(P: sp.csr_matrix, vector: Vector, steps: ArrayLike) -> Iterable[Vector]:
    """Yield vector P^n for each n in ``steps``, which must be ascending integers."""
    requested = np.atleast_1d(np.asarray(steps))
    counts = [integer("steps", n, 0, 10**9) for n in requested.tolist()] if requested.ndim == 1 else []
    if not counts or (np.diff(counts) < 0).any():
        raise ValueError(f"steps = {steps!r}: must be ascending whole numbers, at least one")
    transposed, n_done = sp.csr_matrix(P.T), 0
    squares: list[Vector] = []  # P to the powers 1, 2, 4, ...
    for n in counts:
        remaining = n - n_done
        if remaining < MIN_SQUARED_STEPS or P.shape[0] > MAX_SQUARED_STATES:
            for _ in range(remaining):
                vector = transposed @ vector
        else:
            for bit in range(remaining.bit_length()):
                if bit == len(squares):
                    squares.append(squares[-1] @ squares[-1] if squares else P.toarray())
                if remaining >> bit & 1:
                    vector = vector @ squares[bit]
        n_done = n
        yield vector


def _interval(value: float, error: float, maximum: float = math.inf) -> Bounded:
    """Return ``value`` with the interval of its error, within 0 and ``maximum``; infinite values have no interval."""
    if not math.isfinite(value):
        return Bounded(value, value, value)
    half_width = (error + U * abs(value)) * (1.0 + 4.0 * U)
    return Bounded(value, max(value - half_width, 0.0), min(value + half_width, maximum))


def _validate_matrix(P: Any) -> sp.csr_matrix:
    """Return P as a sparse matrix; ValueError if it is not square or a row is no distribution."""
    values: Any = P if sp.issparse(P) else _dense(P)
    matrix = sp.csr_matrix(values, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    if matrix.shape[0] != matrix.shape[1] or not matrix.shape[0]:
        raise ValueError(f"P has shape {matrix.shape}: a square matrix is expected")
    bad = ~((matrix.data >= 0.0) & (matrix.data <= 1.0 + ROW_SUM_TOLERANCE))
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(matrix.indptr, k, side="right")) - 1
        entry = f"P[{row}, {matrix.indices[k]}] = {matrix.data[k]:g}"
        raise ValueError(f"{entry}: probabilities must be in 0 .. 1")
    sums: Vector = np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
    row = int(np.argmax(np.abs(sums - 1.0)))
    advice = transpose_advice(matrix, 1.0, ROW_SUM_TOLERANCE, "P", "probabilities out of state i")
    check_sum_of_one(f"row {row} of P sums", sums[row], ROW_SUM_TOLERANCE, advice)
    matrix.eliminate_zeros()
    return _normalize(matrix, sums)


def _normalize(matrix: sp.csr_matrix, sums: Vector) -> sp.csr_matrix:
    """Return the matrix with rows that sum to one within rounding, given its row sums.

    Many steps would lose what a row lacks. Small probabilities of leaving keep all of their digits, and no probability
    of staying is added, which would change the period.
    """
    differs = differs_from_one(sums, np.diff(matrix.indptr))
    if not differs.any():
        return matrix
    often_stays = matrix.diagonal() > 0.5  # then the others sum to less than staying, and need not be changed
    scaled = sp.diags(np.where(differs & ~often_stays, 1.0 / sums, 1.0)) @ matrix
    normalized = sp.csr_matrix(scaled + sp.diags(np.where(differs & often_stays, 1.0 - sums, 0.0)))
    normalized.eliminate_zeros()
    return normalized


def _dense(P: Any) -> Vector:
    """Return P as a float64 array; ValueError if it does not have two dimensions."""
    if not hasattr(P, "__array__") and not isinstance(P, (list, tuple)):
        raise ValueError(f"P = {format_value(P)}: a matrix of probabilities is expected")
    array = number("P", P)
    if array.ndim != 2:
        raise ValueError(f"P has shape {array.shape}: a square matrix is expected")
    return array


def _generator(P: sp.csr_matrix) -> sp.csr_matrix:
    """Return the generator P - I, whose diagonal is minus the sum of the other entries of its row."""
    off_diagonal = P.tolil()
    off_diagonal.setdiag(0.0)
    rates = off_diagonal.tocsr()
    return sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel()))
