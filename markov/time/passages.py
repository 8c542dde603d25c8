"""First-passage times of a chain into a set of states, and rewards accumulated until then, each with a bound.

T has the mean m = A^-1 1, A being -Q on the states that lead to the set for sure. The martingale
m(X(t)) + t has quadratic variation at the rate G(m)(x) = sum_y q(x, y) (m(y) - m(x))^2, so that
Var[T] = A^-1 G(m): no difference of large numbers, as in E[T^2] - E[T]^2, is taken.

Of an m that is off by e = m - x, with r = 1 - A x = A e: since G(f, g) = Q(f g) - f Q g - g Q f,
    Var[T] = A^-1 G(x) - 2 x e - e^2 + 2 A^-1 (x r + e).
With |r| <= s drift and |e| <= s w, where A w >= drift > 0, and A^-1 being positive, the change is at most
    2 x s w + (s w)^2 + 2 s w max(x + w / drift).

Derivatives by a parameter: since A m' = Q' m, the prime being the derivative, m' is the mean reward that Q' m earns
until the set is entered; so it is for probabilities, and for rewards with their derivative added.

Of infinitely many states, with T the time until a set B is entered, and A finitely many states: a chain that is stopped
where it leaves A gives a lower bound on E[T]. With V as for `stationary`, QV <= -1 outside of A and B, and u = V + b
there, u >= E[T] wherever Qu <= -1 outside of B (Foster). In A that is u = m + v + b o, with m the mean time until B is
entered or A is left, v the mean of V where A is left, zero in B, and o the probability to leave A before B; b is the
smallest number with u <= V + b in A. The probability to enter B lies between that without leaving A, and that plus o.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from hopflow.checks import ascending, choice, format_value, number
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Result, Status, WithoutCaches, deliver, figure
from hopflow.units import quantities
from markov.chains import MarkovChain
from markov.computing.graphs import leads_to
from markov.computing.matrices import off_diagonal
from markov.computing.resources import TooLargeError, rates_in_range
from markov.computing.rounding import U
from markov.exploration import InfiniteChain
from markov.generators.polynomials import Unfollowed
from markov.infinite.lyapunov import Drift, find_lyapunov, user_basis
from markov.infinite.members import membership, start_of
from markov.infinite.truncations import (
    FIRST_STATES,
    LEVEL_GROWTH,
    MIN_SET_GROWTH,
    Truncations,
    include_inner,
    next_level,
)
from markov.models.measures import chosen
from markov.models.rules import scope_of_bound
from markov.proofs.bounded import Bounded
from markov.selections import as_any_chain, distribution, select_states
from markov.sensitivities.perturbations import Perturbation
from markov.sensitivities.results import Sensitivity
from markov.sensitivities.stationary import derivatives, difference
from markov.time.absorbing import Absorbing
from markov.time.passage_times import Distribution, PassageTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from markov.infinite.lyapunov import Basis, Lyapunov
    from markov.infinite.truncations import Projection
    from markov.sensitivities.differences import Side
    from markov.time.absorbing import Refined

    Vector = NDArray[np.float64]
    Truth = NDArray[np.bool_]
    Bools = NDArray[np.bool_]

__all__ = [
    "InfiniteMoments",
    "InfinitePassage",
    "Moments",
    "Passage",
    "Question",
    "finite_until",
    "mean_over",
    "passage",
    "passage_of_infinite",
    "sensitivity_of",
]

VARIANCE_SOLVE_SHARE = 0.3  # of the error that the means cause: tolerance of the variance
ROUNDING_UP = 1.0 + 2.0**-40  # more than the roundings of a sum of errors
USEFUL_RELATIVE_ERROR = 1e-6  # of a mean, up to which the answer counts as converged


@dataclass(frozen=True, eq=False)
class Moments(WithoutCaches):
    """Probability, mean and variance of the time until a chain enters a set, from every state, with bounds.

    Parameters
    ----------
    Q
        Generator, shape (n, n).
    target
        The set, shape (n,).
    """

    Q: sp.csr_matrix
    target: Truth

    @cached_property
    def rates(self) -> sp.csr_matrix:
        """Rates between different states, shape (n, n): the generator without its diagonal."""
        return off_diagonal(self.Q)

    @cached_property
    def _backward(self) -> sp.csr_matrix:
        """Transpose of ``rates``."""
        return sp.csr_matrix(self.rates.T)

    @cached_property
    def possible(self) -> Truth:
        """Whether the set can be entered from each state, shape (n,)."""
        return leads_to(self._backward, self.target)

    @cached_property
    def certain(self) -> Truth:
        """Whether the set is entered from each state with probability one, shape (n,)."""
        running = self.possible & ~self.target
        return self.possible & ~leads_to(self._backward, ~self.possible, running)

    @cached_property
    def _open(self) -> Truth:
        """Whether each state is outside of the set and `certain`, shape (n,)."""
        return self.certain & ~self.target

    @cached_property
    def _system_of_certain(self) -> Absorbing:
        """Equations on the states outside of the set from which it is entered with probability one."""
        return Absorbing(self.Q, self._open)

    @cached_property
    def _system_of_possible(self) -> Absorbing:
        """Equations on all states outside of the set from which it can be entered."""
        inside = self.possible & ~self.target
        same = np.array_equal(inside, self._open)
        return self._system_of_certain if same else Absorbing(self.Q, inside)

    @cached_property
    def _entry_probabilities(self) -> tuple[Vector, Vector]:
        """Probability of ever entering the set from each state, and bounds on the errors, shape (n,) each."""
        values, error = self.certain.astype(float), np.zeros(len(self.target))
        open_ = self.possible & ~self.certain
        if open_.any():
            system = Absorbing(self.Q, open_)
            values[open_], error[open_] = system.solve(system.rates_into(self.certain))
            values = np.clip(values, 0.0, 1.0)
        return values, error

    @property
    def probability(self) -> Vector:
        """Probability of ever entering the set from each state, shape (n,)."""
        return self._entry_probabilities[0]

    @property
    def probability_error(self) -> Vector:
        """Bound on the error of each probability, shape (n,); 0 for probabilities 0 and 1."""
        return self._entry_probabilities[1]

    @cached_property
    def _mean_times(self) -> Refined:
        """Mean times until the set is entered, from the `certain` states outside of it."""
        return self._system_of_certain.refine(np.ones(int(self._open.sum())))

    @cached_property
    def _means(self) -> tuple[Vector, Vector]:
        """E[T] from each state, in s, and bounds on the errors, shape (n,) each."""
        values, error = np.where(self.certain, 0.0, np.inf), np.zeros(len(self.target))
        if self._open.any():
            values[self._open], error[self._open] = self._mean_times.high, self._mean_times.error
        return values, error

    @property
    def mean(self) -> Vector:
        """E[T] from each state, in s, shape (n,); inf where the set may never be entered."""
        return self._means[0]

    @property
    def mean_error(self) -> Vector:
        """Bound on the error of each mean, in s, shape (n,)."""
        return self._means[1]

    @cached_property
    def _variances(self) -> tuple[Vector, Vector]:
        """Var[T] from each state, in s^2, and bounds on the errors, shape (n,) each."""
        values, error = np.where(self.certain, 0.0, np.inf), np.zeros(len(self.target))
        if self._open.any():
            means = self._mean_times
            with np.errstate(all="ignore"):
                square, n_roundings, low_part_error = self._quadratic_variation(means)
                x, error_of_means = np.abs(means.high), means.w * means.scaled
                largest = float(np.max(x + means.w / means.drift))
                mean_term = 2.0 * error_of_means * (x + largest) + error_of_means**2
                mean_term += means.w * float(np.max(low_part_error / means.drift))
                solution = self._system_of_certain.refine(square, VARIANCE_SOLVE_SHARE * mean_term)
                bound = solution.error + mean_term
                bound += n_roundings * U * (np.abs(solution.high) + solution.error)
            values[self._open] = solution.high
            error[self._open] = np.where(np.isfinite(bound), bound, np.inf) * ROUNDING_UP
        return values, error

    def _quadratic_variation(self, mean: Refined) -> tuple[Vector, int, Vector]:
        """Return G(m) in the open states for their means m, its number of roundings, and the error of m's low part.

        The error of the rate is at most as many roundings of itself, and the error of the low part, in open states.
        """
        m, low = np.zeros((2, len(self.target)))
        m[self._open], low[self._open] = mean.high, mean.low
        edges = sp.coo_matrix(self.rates[self._open])
        source, count = np.flatnonzero(self._open)[edges.row], int(self._open.sum())
        difference = (m[edges.col] - m[source]) + (low[edges.col] - low[source])
        low_rounding = 2.0 * U * (np.abs(low[edges.col]) + np.abs(low[source]))
        square = _by_row(edges.row, edges.data * difference**2, count)
        low_part_error = _by_row(
            edges.row, edges.data * (3.0 * np.abs(difference) + low_rounding) * low_rounding, count
        )
        return square, int(np.bincount(edges.row, minlength=1).max()) + 10, low_part_error * ROUNDING_UP

    @property
    def variance(self) -> Vector:
        """Var[T] from each state, in s^2, shape (n,); inf where the set may never be entered."""
        return self._variances[0]

    @property
    def variance_error(self) -> Vector:
        """Bound on the error of each variance, in s^2, shape (n,)."""
        return self._variances[1]

    def conditional_mean(self, start: Vector) -> Bounded:
        """Return E[T | T < inf] from the distribution ``start``, shape (n,): A^-1 h / h with h = P(T < inf)."""
        h, h_error = self._entry_probabilities
        inside = self.possible & ~self.target
        total, error = np.zeros(len(h)), np.zeros(len(h))
        if inside.any():
            total[inside], error[inside] = self._system_of_possible.solve(h[inside])
            if h_error.any():
                shift, shift_error = self._system_of_possible.solve(h_error[inside])
                error[inside] += np.abs(shift) + shift_error
        return _ratio(mean_over(start, total, error), mean_over(start, h, h_error))

    def rewards(self, rewards: Vector, *, certain: bool = True) -> tuple[Vector, Vector]:
        """Return mean rewards until the set is entered, from each state, and bounds on the errors, shape (n,) each.

        ``certain``: from the states that enter it for sure; False: from all that lead to it, until it is entered or
        never can be. 0 from others.
        """
        system, states = (
            (self._system_of_certain, self._open)
            if certain
            else (self._system_of_possible, self.possible & ~self.target)
        )
        values, error = np.zeros(len(rewards)), np.zeros(len(rewards))
        if states.any():
            values[states], error[states] = system.solve(rewards[states])
        return values, error

    def reward(self, rewards: Vector, start: Vector) -> Bounded:
        """Return the mean reward from the distribution ``start`` until the set is entered; inf if it may never be."""
        if start[~self.certain].sum() > 0.0:
            return Bounded(math.inf, -math.inf, math.inf)
        value, bound = mean_over(start, *self.rewards(rewards))
        return Bounded(value, value - bound, value + bound)

    def from_start(self, start: Vector) -> dict[str, float]:
        """Return the probability to enter the set from ``start`` and the mean time, with error bounds, by name."""
        answers: dict[str, float] = {}
        answers["probability"], answers["probability_error"] = mean_over(start, *self._entry_probabilities)
        if start[~self.certain].sum() > 0.0:
            return {**answers, "mean": math.inf, "mean_error": 0.0}
        mean, mean_error = mean_over(start, *self._means)
        return {**answers, "mean": mean, "mean_error": mean_error}

    def variance_from(self, start: Vector) -> tuple[float, float]:
        """Return Var[T] from the distribution ``start``, shape (n,), in s^2, and a bound on its error."""
        if start[~self.certain].sum() > 0.0:
            return math.inf, 0.0
        mean, mean_error = mean_over(start, *self._means)
        inner, error = mean_over(start, *self._variances)
        positive = start > 0.0
        gap, gap_error = self.mean[positive] - mean, self.mean_error[positive] + mean_error
        with np.errstate(over="ignore", invalid="ignore"):
            between, slack = mean_over(start[positive], gap**2, (2.0 * np.abs(gap) + gap_error) * gap_error)
        bound = error + slack
        return (
            inner + between,
            bound if bound < math.inf else math.inf,
        )  # of a variance beyond float64


def mean_over(start: Vector, values: Vector, error: Vector) -> tuple[float, float]:
    """Return the mean of ``values`` over the distribution ``start``, and its error bound from that of each value."""
    positive = start > 0.0
    terms = start[positive] * values[positive]
    bound = float(start[positive] @ error[positive]) * ROUNDING_UP
    rounding = 0.0 if len(terms) == 1 and start[positive][0] == 1.0 else 2.0 * U
    return math.fsum(terms), bound + rounding * float(np.abs(terms).sum())


def _by_row(rows: NDArray[np.int32], values: Vector, count: int) -> Vector:
    """Return the sum of ``values`` per row number, shape (count,)."""
    return np.asarray(np.bincount(rows, values, minlength=count), dtype=np.float64)


def _ratio(above: tuple[float, float], below: tuple[float, float]) -> Bounded:
    """Return the interval of the ratio of two positive numbers, each a pair of a value and an error bound."""
    value = above[0] / below[0] if below[0] > 0.0 else math.nan
    if below[0] - below[1] <= 0.0:
        return Bounded(value, -math.inf, math.inf)
    low = (above[0] - above[1]) / (below[0] + below[1])
    high = (above[0] + above[1]) / (below[0] - below[1])
    return Bounded(value, low * (1.0 - 4 * U), high * (1.0 + 4 * U))


class Question(NamedTuple):
    """Arguments of a call of `markov.passage`, to repeat it for another model.

    Attributes
    ----------
    ask
        The function.
    model, to, start, lyapunov
        Its arguments.
    """

    ask: Callable[..., Any]
    model: Any
    to: Any
    start: Any
    lyapunov: Callable[[Any], Any] | None

    def again(self, model: Any) -> Any:
        """Return the `Passage` of another model into the same set, with the other arguments as before."""
        return self.ask(model, self.to, start=self.start, lyapunov=self.lyapunov)


def sensitivity_of(passage: Any, parameter: str, of: str, side: Side | None) -> Sensitivity:
    """Return the derivative of a quantity of a passage by a parameter, or its difference if that is a whole number.

    Parameters
    ----------
    passage
        A `Passage` of a chain with finitely many states.
    parameter
        A name, or one with the number of an entry: ``"arrival_rates[0]"``.
    of
        ``"mean"``, ``"probability"``, or the name of a label or reward.
    side
        ``"left"``, ``"right"``, or None: both, where they agree.
    """
    chain, moments, start = passage.chain, passage.moments, passage.start
    if chain.model is None:
        raise ValueError("parameter: the chain is given by its matrix and has no parameters")
    states = np.arange(chain.size)
    perturbation = Perturbation(chain, states, parameter, {})
    if of != "probability" and start[~moments.certain].sum() > 0.0:
        raise ValueError(f'of = {of!r}: is infinite, since the set may never be entered; of="probability" is not')
    if perturbation.counted:
        other = passage.asked().again(perturbation.model_at(-1 if side == "left" else 1))
        return difference(perturbation, of, _quantity(passage, of), _quantity(other, of), side or "right")
    value, _ = _quantity(passage, of)
    certain, measure = of != "probability", None
    if of == "mean":
        values, errors = np.where(moments.certain, moments.mean, 0.0), moments.mean_error  # others are infinite
    elif of == "probability":
        values, errors = moments.probability, moments.probability_error
    else:
        measure = chosen(of, chain.model, chain.table, states)
        values, errors = moments.rewards(np.asarray(measure.of, dtype=np.float64))

    def at(side_: Side | None) -> list[Sensitivity]:
        """Return the sensitivity by the derivative from one side, as a list of one."""
        Q, rate_errors = perturbation.generator(side_)
        earned, earned_error = Q @ values, rate_errors @ np.abs(values)
        max_transitions = int(np.diff(Q.indptr).max(initial=0))
        rounding = abs(Q) @ (errors + (max_transitions + 3) * U * np.abs(values))
        if measure is not None:
            change, estimate = perturbation.measure(of, 0, measure, None, side_)
            earned, earned_error = earned + change, earned_error + estimate
        derivative, error = mean_over(start, *moments.rewards(earned, certain=certain))
        deviation, deviation_error = mean_over(start, *moments.rewards(earned_error + rounding, certain=certain))
        elasticity = derivative * perturbation.at / value if value else math.nan
        return [
            Sensitivity(parameter, of, value, derivative, error + deviation + deviation_error, elasticity, side=side_)
        ]

    return derivatives(perturbation, at, lambda _: "a rate or reward jumps", side)[0]


def _quantity(passage: Any, of: str) -> tuple[float, float]:
    """Return the mean, probability or expected reward of a passage, by its name, and a bound on its error."""
    if of == "mean":
        return passage.mean, passage.mean_error
    if of == "probability":
        return passage.probability, passage.probability_error
    reward = passage.reward(of)
    return reward.value, max(reward.upper - reward.value, reward.value - reward.lower)


PLOT_TIMES = 200  # times in a plot


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Passage(Result):
    """Result of `passage`: the time T until a chain first enters a set of states, zero in the set, with bounds.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    target
        Whether each state is in the set, shape (states,).
    start
        The distribution at time 0, shape (states,).
    moments
        Probabilities and moments of T from every state.
    probability, probability_error
        Of ever entering the set, and a rigorous bound on its error.
    mean, mean_error
        E[T], in s, and a rigorous bound on its error; inf where the set may never be entered.
    variance, variance_error
        Var[T], in s^2, and a rigorous bound on its error; computed when one of them is first read.
    status
        CONVERGED; INACCURATE where a bound is infinite or useless.
    seconds
        Wall-clock time, in s.
    question
        The arguments of `passage`; None in a copy that was pickled, since functions may not be.

    Examples
    --------
    >>> from markov import MM1K, passage
    >>> result = passage(MM1K(capacity=10), to=(10,), start=(0,))
    >>> round(result.mean, 3), result.mean_error < 1e-9, result.quantile(0.5).error < 1e-9
    (34.89, True, True)
    """

    chain: MarkovChain
    target: Bools
    start: NDArray[np.float64]
    moments: Moments
    probability: float
    probability_error: float
    mean: float
    mean_error: float
    status: Status
    seconds: float
    question: Question | None = None
    SWEPT_BY: ClassVar[str] = "markov.passage_sweeps"
    NOT_COMPARED: ClassVar[tuple[str, ...]] = ("seconds", "question")

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, with None for ``question``, since functions may not be pickled."""
        return super().__getstate__() | {"question": None}

    @cached_property
    def _variance_and_error(self) -> tuple[float, float]:
        """Var[T] from the start, in s^2, and a bound on its error."""
        return self.moments.variance_from(self.start)

    @cached_property
    def variance(self) -> float:
        """Var[T], in s^2; inf where the set may never be entered."""
        return self._variance_and_error[0]

    @cached_property
    def variance_error(self) -> float:
        """Bound on the error of the variance, in s^2."""
        return self._variance_and_error[1]

    @property
    def standard_deviation(self) -> float:
        """Square root of the variance, in s."""
        return math.sqrt(self.variance) if self.variance >= 0.0 else math.nan

    @property
    def means(self) -> NDArray[np.float64]:
        """E[T] from each state, in s, shape (states,); bounds in ``moments.mean_error``."""
        return self.moments.mean

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability to enter the set from each state, shape (states,)."""
        return self.moments.probability

    @cached_property
    def conditional_mean(self) -> Bounded:
        """E[T | T < inf], in s: of those paths alone that enter the set."""
        return self.moments.conditional_mean(self.start)

    def reward(self, rewards: str | ArrayLike) -> Bounded:
        """Return the expected reward earned until the set is entered.

        Parameters
        ----------
        rewards
            Name of a label or reward of the model; or rewards per s in each state, shape (states,).
            Of a label it is the time spent in it.

        Raises
        ------
        ValueError
            For another name or shape.
        """
        mean = chosen(rewards, self.chain.model, self.chain.table, np.arange(self.chain.size))
        if mean.over is not None or np.ndim(mean.of) != 1:
            raise ValueError(f"rewards = {rewards!r}: must be one number for each state")
        return self.moments.reward(np.asarray(mean.of, dtype=np.float64), self.start)

    def sensitivity(
        self, parameter: str, of: str = "mean", *, side: Literal["left", "right"] | None = None
    ) -> Sensitivity:
        """Return the derivative and the elasticity of the mean, or another quantity, by a parameter of the model.

        A whole number (``servers=3``, not 3.0, unless the model declares it as a float) has no derivative: the result
        is the difference to one more, and its ``kind`` says so.

        Parameters
        ----------
        parameter
            Its name; of one that has several entries ``"arrival_rates[0]"``.
        of
            ``"mean"`` (E[T], in s), ``"probability"`` (of ever entering the set), or the name of a label or reward, for
            `reward`.
        side
            ``"left"`` or ``"right"``: the derivative from below or above, at a kink; the difference to one less or to
            one more.

        Returns
        -------
        Sensitivity
            Its ``error`` covers the errors of the solutions, as for `Stationary.sensitivity`.

        Raises
        ------
        NoDerivativeError
            Where the derivatives from both sides differ, or a rate jumps; it states both.
        ValueError
            For an unknown name; for a parameter that is no number, is zero, or changes the states; for an infinite
            mean.

        Examples
        --------
        The mean time to failure of two machines by the repair rate, (3 f + r) / (2 f^2) in all:

        >>> from markov import explore, passage
        >>> def rules(s, q):
        ...     if s.up > 0:
        ...         yield s._replace(up=s.up - 1), q.fails * s.up
        ...     if s.up < 2:
        ...         yield s._replace(up=s.up + 1), q.repair
        >>> machines = explore(rules, start={"up": 2}, params={"fails": 0.1, "repair": 1.0})
        >>> result = passage(machines, to=lambda s: s.up == 0)
        >>> round(result.sensitivity("repair").derivative, 9)
        50.0
        """
        choice("side", side, (None, "left", "right"))
        return sensitivity_of(self, parameter, of, side)

    def asked(self) -> Question:
        """Return the arguments of the call of `passage`; ValueError in a copy that was pickled."""
        if self.question is None:
            raise ValueError("passage: a pickled one is not asked again; call `passage`")
        return self.question

    @cached_property
    def _passage_time(self) -> PassageTime:
        """Distribution of T from the start, which stores its powers between calls."""
        return PassageTime(self.chain, self.target, self.start)

    @quantities(times="time")
    def distribution(self, times: ArrayLike) -> Distribution:
        """Return P(T <= t), P(T > t) and the density at times, with a bound.

        Parameters
        ----------
        times
            In s, >= 0, ascending, shape (times,); or one time.
        """
        return self._distribution(ascending("times", times))

    def _distribution(self, times: NDArray[np.float64]) -> Distribution:
        """Return `distribution` at times that are checked already."""
        return self._passage_time.at(times)

    @quantities(times="time")
    def survival(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return P(T > t), shape (times,): of a failure it is the reliability R(t)."""
        return self.distribution(times).survival

    def quantile(self, q: float) -> Bounded:
        """Return the time t with P(T <= t) = q, in s, with an interval that holds it.

        Parameters
        ----------
        q
            0 < q < 1. The time is inf where the set is entered with a probability of less than q.
        """
        return self._quantile(float(number("q", q, above=0.0, below=1.0)))

    def _quantile(self, q: float) -> Bounded:
        """Return `quantile` of a number q that is checked already."""
        if self.probability + self.probability_error < q:
            return self._passage_time.never
        scale = self.conditional_mean.value
        return self._passage_time.quantile(q, scale if math.isfinite(scale) else 1.0)

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, probability, mean, standard deviation and cost."""
        model = self.chain.model
        return {
            "status": self.status,
            "chain": self.chain.how if model is None else repr(model),
            "states": f"{self.chain.size}, {int(self.target.sum())} of them in the set",
            "probability": f"{self.probability:.10g} +- {self.probability_error:.1e}",
            "mean": f"{self.mean:.10g} +- {self.mean_error:.1e}",
            "standard deviation": f"{self.standard_deviation:.6g}",
            **scope_of_bound(model),
            "time": f"{self.seconds:.3f} s",
        }

    def plot(self, ax: Any = None) -> Any:
        """Draw P(T <= t) up to the time that 99 % of the paths that enter the set need."""
        if ax is None:
            _, ax = figure()
        end = self.quantile(0.99 * self.probability).value if self.probability > 0.0 else 1.0
        curve = self.distribution(np.linspace(0.0, end or 1.0, PLOT_TIMES))
        ax.plot(curve.times, curve.cdf)
        if math.isfinite(self.mean):
            ax.axvline(self.mean, color="black", ls=":", lw=1, label="mean")
            ax.legend(frameon=False)
        ax.set(xlabel="time (s)", ylabel="P(T <= t)", ylim=(0.0, 1.0))
        return ax


RELATIVE_ROUNDING = 2.0**-52


@dataclass(frozen=True, eq=False)
class InfiniteMoments:
    """Probability and mean time to enter a set from each state of a finite part of an infinite chain, with bounds.

    Attributes
    ----------
    probability, probability_error
        To ever enter the set.
    mean, mean_error
        E[T], in s; inf where the set may never be entered.
    """

    probability: Vector
    probability_error: Vector
    mean: Vector
    mean_error: Vector

    @classmethod
    def from_bounds(cls, probability: Vector, mean: Vector) -> InfiniteMoments:
        """Return the midpoints of lower and upper bounds, shape (2, n) each, with half their distances as errors."""
        with np.errstate(invalid="ignore"):
            return cls(*_midpoints(probability), *_midpoints(mean))


def _midpoints(intervals: Vector) -> tuple[Vector, Vector]:
    """Return the midpoints of intervals, shape (2, n), and half their widths rounded up; inf and 0 for [inf, inf]."""
    low, high = intervals
    value = np.where(np.isfinite(high), low + 0.5 * (high - low), low)
    error = np.maximum(high - value, value - low)
    error = np.where(low == high, 0.0, error + RELATIVE_ROUNDING * np.abs(value))
    return value, error


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfinitePassage(Passage):
    """Result of `passage` for a chain with infinitely many states: T is the time until it first enters a set.

    ``chain`` has finitely many of the states, the states of the set entered from them, and the rates between
    them. ``means`` and ``probabilities`` are of these states. ``variance`` and ``standard_deviation`` are not computed:
    NaN. In `distribution` ``cdf`` is a lower and ``survival`` an upper value; the density has no bound.

    Attributes
    ----------
    moments
        Probabilities and means from the states of ``chain``.
    infinite
        The chain.
    lyapunov
        V, whose drift was verified in all states but finitely many.
    left
        Upper bound on the probability to leave the states of ``chain`` before the set is entered.

    Examples
    --------
    >>> from markov import explore, passage
    >>> def queue(n):
    ...     yield n + 1, 1.0
    ...     if n > 0:
    ...         yield n - 1, 2.0
    >>> result = passage(explore(queue, start=0), to=0, start=5)
    >>> round(result.mean, 8), result.mean_error < 1e-8
    (5.0, True)
    """

    moments: InfiniteMoments  # type: ignore[assignment]
    infinite: InfiniteChain
    lyapunov: str
    left: float

    @cached_property
    def _variance_and_error(self) -> tuple[float, float]:
        """NaN and an infinite error, since no variance is computed for infinitely many states."""
        return math.nan, math.inf

    @cached_property
    def conditional_mean(self) -> Bounded:
        """E[T | T < inf], in s; ValueError if the set may never be entered.

        Raises
        ------
        ValueError
            Where it is not.
        """
        if self.probability != 1.0 or self.probability_error:
            self._refuse("conditional_mean of a set that may never be entered")
        return Bounded(self.mean, self.mean - self.mean_error, self.mean + self.mean_error)

    def reward(self, rewards: str | ArrayLike) -> Bounded:  # noqa: ARG002
        """Raise ValueError: rewards are not computed for infinitely many states."""
        self._refuse("reward")

    def sensitivity(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: sensitivities are not computed for infinitely many states."""
        self._refuse("sensitivity")

    def _distribution(self, times: Vector) -> Distribution:
        """Return `distribution` with bounds that include the mass that leaves the states of ``chain``."""
        inside = super()._distribution(times)
        unproved = np.full_like(inside.relative_error, math.inf)
        return replace(inside, error_bound=inside.error_bound + self.left, relative_error=unproved)

    def _quantile(self, q: float) -> Bounded:
        """Return `quantile` with an interval that includes the mass that leaves the states of ``chain``."""
        upper = super()._quantile(q)
        if q <= self.left:
            return Bounded(upper.value, 0.0, upper.upper)
        if upper == PassageTime.never:
            return upper
        lower = self._passage_time.quantile((q - self.left) * (1.0 - RELATIVE_ROUNDING), max(upper.value, 1e-300))
        return Bounded(upper.value, min(lower.lower, upper.lower), upper.upper)

    def _refuse(self, what: str) -> NoReturn:
        """Raise ValueError: ``what`` is not computed for infinitely many states."""
        raise ValueError(f"{what} is not computed for a chain with infinitely many states")

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, probability, mean and cost."""
        rows = super().summary()
        rows["standard deviation"] = "not computed for infinitely many states"
        model = self.infinite.model
        infinite_rows = {
            "chain": repr(model),
            "states": f"infinitely many; values in {self.chain.size}",
            "Lyapunov function": self.lyapunov,
        }
        return {**rows, **infinite_rows}


TOLERANCE = 1e-9  # half the distance of the bounds, relative to the mean
MAX_STATES_FOR_FINITE = 2_000  # of the search for finitely many states in which the chain stops
MAX_LEVEL_GROWTH = 2.5
MAX_STAGNANT_STEPS = 4
LYAPUNOV_ROUNDING = 1e-9  # relative, of V: more than its rounding
MIN_ROUNDED_UP = 1.0 + 1e-12  # at least


class Bracket(NamedTuple):
    """Lower and upper bounds on the probability and mean time to enter a target, in n states of an infinite chain.

    Attributes
    ----------
    projection
        The set.
    probability, mean
        Lower and upper bounds, shape (2, n).
    left
        Upper bounds on the probability to leave the set before the target is entered, shape (n,).
    """

    projection: Projection
    probability: Vector
    mean: Vector
    left: Vector

    def width(self, state: int) -> float:
        """Return half the distance of the bounds from a state: of the mean, relative to it, or of the probability."""
        low, high = self.mean[:, state]
        if high == 0.0:
            return 0.0
        relative = math.inf if high == math.inf else 0.5 * (high - low) / low
        if low == math.inf:
            low, high = self.probability[:, state]
            return float(0.5 * (high - low))
        return float(relative)


def bracket(projection: Projection, V: Vector, lyapunov: Lyapunov | None) -> Bracket:
    """Return bounds on a passage from the states of a finite set, outside of which the drift of V is verified.

    Parameters
    ----------
    projection
        The set and the k states beside it.
    V
        In all n + k states, shape (n + k,).
    lyapunov
        V; None: no state is beside the set.
    """
    Q, n = projection.Q, projection.size
    size = Q.shape[0]
    up = max(MIN_ROUNDED_UP, 1.0 + (int(np.diff(Q.indptr).max(initial=0)) + 16) * U)
    inside = np.append(projection.inside, np.zeros(size - n, dtype=bool))
    outside = np.arange(size) >= n
    target = ~inside & ~outside
    backward = sp.csr_matrix(off_diagonal(Q).T)
    open_ = leads_to(backward, ~inside) & inside
    leaving = np.where(outside, 1.0, 0.0)
    probability = np.tile(np.where(target, 1.0, 0.0), (2, 1))
    if open_.any():
        system = Absorbing(Q, open_)
        reached, error = system.solve(system.rates_into(target))
        leaving_values, gone_error = system.solve(system.rates_into(outside))
        leaving[open_] = np.clip((leaving_values + gone_error) * up, 0.0, 1.0)
        probability[:, open_] = (reached - error) / up, (reached + error) * up + leaving[open_]
    mean = np.where(inside, np.inf, np.zeros((2, size)))
    certain = open_ & ~leads_to(backward, inside & ~open_, inside)
    if certain.any():
        system = Absorbing(Q, certain)
        times, error = system.solve(np.ones(int(certain.sum())))
        mean[0, certain] = np.maximum((times - error) / up, 0.0)
        top = V + LYAPUNOV_ROUNDING * np.abs(V)
        means = system.solve(_sum_rates(Q, certain, np.where(outside, top, 0.0)))
        upper_times = (times + error + means[0] + means[1]) * up
        mean[1, certain] = _upper_means(upper_times, leaving[certain], (V[certain], lyapunov), up)
    if outside.any() and not certain[inside].all():
        mean[1, inside & (leaving > 0.0)] = (
            math.inf
        )  # mass that left may return to states from which B is never entered
    never_left = certain & np.isfinite(mean[1])
    probability[:, never_left] = 1.0
    return Bracket(projection, np.clip(probability[:, :n], 0.0, 1.0), mean[:, :n], leaving[:n])


def _sum_rates(Q: sp.csr_matrix, rows: NDArray[np.bool_], values: Vector) -> Vector:
    """Return the sum of rate times target's value over the transitions out of each state marked in ``rows``."""
    sums: Vector = np.asarray(sp.csr_matrix(Q[np.flatnonzero(rows)]) @ values)
    return sums


def _upper_means(
    upper_times: Vector, leaving: Vector, lyapunov_values: tuple[Vector, Lyapunov | None], up: float
) -> Vector:
    """Return upper bounds m + v + b o on mean times, times ``up``; inf where no b exists.

    ``lyapunov_values`` is V in the states, and the function itself.
    """
    V, lyapunov = lyapunov_values
    if lyapunov is None or not leaving.any():
        return upper_times
    if leaving.max() >= 1.0:
        return np.full_like(upper_times, np.inf)
    low = V - LYAPUNOV_ROUNDING * np.abs(V)
    b = max(float(np.max((upper_times - low) / (1.0 - leaving))), -lyapunov.lower_bound, 0.0) * (
        1.0 + LYAPUNOV_ROUNDING
    )
    return (upper_times + b * leaving) * up


class _Search(NamedTuple):
    """Search for bounds on a passage of an infinite chain, from a start until the condition ``stops`` holds."""

    infinite: InfiniteChain
    stops: Callable[[Any], bool]
    start: Any

    def truncations(
        self, seeds: Sequence[Any], heights: Callable[[Sequence[Any]], Vector], max_states: int
    ) -> Truncations:
        """Return finite sets of states that grow by ``heights`` from ``seeds`` and end where the chain stops."""
        calls = self.infinite.hull.layout.calls
        return Truncations(calls, seeds, heights, max_states, self.stops)

    def enclose_finite(self, max_states: int) -> Bracket | None:
        """Return bounds if the chain passes at most ``max_states`` states before it stops; otherwise None."""
        sets = self.truncations([self.start], lambda states: np.zeros(len(states)), max_states)
        try:
            sets.reach(0.0)
        except TooLargeError:
            return None
        projection = sets.projection()
        return bracket(projection, np.zeros(len(projection.numbers)), None)

    def enclose(self, lyapunov: Lyapunov) -> Bracket:
        """Return bounds in a set below a level of V, which grows until they are tight or improve no more."""
        sets = self.truncations([self.start], lyapunov.at, self.infinite.most)
        include_inner(sets, lyapunov)
        level = max(float(lyapunov.at([self.start])[0]), lyapunov.at_inner(), 1.0)
        while sets.reach(level) < FIRST_STATES and not sets.is_closed:
            level *= LEVEL_GROWTH
        best_step: Bracket | None = None
        history: list[tuple[float, float]] = []
        width, stagnant = math.inf, 0
        while True:
            projection = sets.projection()
            V = lyapunov.at([sets.states[number] for number in projection.numbers])
            step = bracket(projection, V, lyapunov)
            step_width = step.width(self.start_index(sets, projection))
            stagnant = stagnant + 1 if step_width >= width else 0
            if best_step is None or step_width < width:
                best_step, width = step, step_width
            if step_width <= TOLERANCE or sets.is_closed or (stagnant >= MAX_STAGNANT_STEPS):
                return best_step
            history.append((level, step_width))
            level = next_level(history, TOLERANCE, useful=math.inf, largest=MAX_LEVEL_GROWTH)
            count = len(projection.inside)
            while sets.reach(level) < MIN_SET_GROWTH * count and not sets.is_closed:
                level *= LEVEL_GROWTH

    def solve(self, basis: Basis | None) -> tuple[Bracket, Lyapunov]:
        """Return the bounds, and the Lyapunov function that proves them; its drift counts outside of the target.

        Raises
        ------
        RuleError
            Without such a function, or where the rules cannot be followed.
        """
        hull = self.infinite.hull
        try:
            lyapunov = find_lyapunov(hull, basis, Drift(stops=self.stops))
        except Unfollowed:
            try:  # the target may be the reason, and not the rules
                lyapunov = find_lyapunov(hull, basis)
            except Unfollowed as stop:
                message = f"{self.infinite.model.name}: the states have no end: {stop}"
                raise RuleError(message) from None
        return self.enclose(lyapunov), lyapunov

    def start_index(self, sets: Truncations, projection: Projection) -> int:
        """Return the index of the start state among the states of ``projection``."""
        number = sets.number_of(self.start)
        return int(np.flatnonzero(projection.numbers[: projection.size] == number)[0])


def finite_until(
    infinite: InfiniteChain, to: Any, start: Any, max_states: int = MAX_STATES_FOR_FINITE
) -> tuple[MarkovChain, NDArray[np.bool_], Any] | None:
    """Return chain, target mask and start if the chain enters a set within ``max_states`` states; otherwise None.

    Returns
    -------
    MarkovChain, numpy.ndarray, object
        The chain that stops in the set, the set, and the start; None of more than ``max_states`` states.
    """
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    bracket_ = search.enclose_finite(max_states)
    if bracket_ is None:
        return None
    built = bracket_.projection.built
    return MarkovChain.of_built(infinite.model, built), ~bracket_.projection.inside, search.start


def _status(probability_error: float, mean: float, mean_error: float) -> Status:
    """Return CONVERGED if the bounds on probability and mean are useful, otherwise INACCURATE."""
    useful = probability_error <= USEFUL_RELATIVE_ERROR
    useful = useful and (math.isinf(mean) or mean_error <= USEFUL_RELATIVE_ERROR * mean)
    return Status.CONVERGED if useful else Status.INACCURATE


def passage_of_infinite(infinite: InfiniteChain, question: Question, on_failure: OnFailure) -> InfinitePassage:
    """Return the time until an infinite chain first enters a set, with bounds by a Lyapunov function.

    Raises
    ------
    RuleError
        Without a Lyapunov function, or where the rules cannot be followed.
    """
    watch = Stopwatch()
    _, _, to, start, function = question
    basis = None if function is None else user_basis(function)
    search = _Search(infinite, membership(infinite, to, "to"), start_of(infinite, start))
    step, lyapunov = search.solve(basis)
    projection = step.projection
    chain = MarkovChain.of_built(infinite.model, projection.built)
    moments = InfiniteMoments.from_bounds(step.probability, step.mean)
    state = chain.number_of(search.start)
    first = np.zeros(chain.size)
    first[state] = 1.0
    mean, error = float(moments.mean[state]), float(moments.mean_error[state])
    probability_error = float(moments.probability_error[state])
    if not (math.isfinite(error) and (math.isfinite(mean) or mean == math.inf)):
        reason = "it was not proved that the set is entered within a finite mean time"
        hint = f"{reason}, or that it may never be: values in {chain.size} states"
        raise RuleError(f"to = {format_value(to)}: {infinite.model.name}: {hint}")
    result = InfinitePassage(
        chain=chain,
        target=~projection.inside,
        start=first,
        moments=moments,
        probability=float(moments.probability[state]),
        probability_error=probability_error,
        mean=mean,
        mean_error=error,
        status=_status(probability_error, mean, error),
        seconds=watch.seconds(),
        infinite=infinite,
        lyapunov=str(lyapunov),
        left=float(step.left[state]),
        question=question,
    )
    return deliver(result, on_failure)


def passage(
    model: Any,
    to: Any,
    *,
    start: Any = None,
    on_failure: OnFailure = "raise",
    lyapunov: Callable[[Any], Any] | None = None,
) -> Passage:
    """Return probability, mean, variance and distribution of the time until a chain first enters a set of states.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, a result of `explore`, a model read from a file, or a
        generator matrix.
    to
        The set: a function of a state that returns whether it is in the set, as Python reads conditions;
        a state; a list of states; the name of a label of the model; or truth values of shape (states,).
    start
        The state at time 0; a function or label that selects one state; or a distribution of shape
        (states,); None: the start of the model.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose bounds are infinite, or above a
        millionth of the mean.
    lyapunov
        Of a chain with infinitely many states: as for `stationary`.

    Returns
    -------
    Passage
        Probability, mean and variance, with ``quantile``, ``distribution`` and ``reward``.

    Raises
    ------
    ValueError
        For bad input.
    ConvergenceError
        Carrying the partial result.

    Notes
    -----
    Up to 3,000 states by one sparse factorization, to rounding, and up to 30,000 where the graph is nearly a
    tree or Numba is not loaded; beyond by multigrid, until the error of each mean is proved below 1e-10 of
    it, and that of a variance as far as such means allow. The bounds rest on the maximum principle (M-matrices)
    and are evaluated in double-double.

    Of infinitely many states as many are used as needed, until the bounds on the mean are within 2e-9 of it.
    A chain that stops in the set after finitely many states is solved as a finite one.

    Examples
    --------
    Two machines fail at 0.1/h each and one is repaired at 1/h; the first moment that both are down:

    >>> from markov import explore, passage
    >>> def rules(s, q):
    ...     if s.up > 0:
    ...         yield s._replace(up=s.up - 1), 0.1 * s.up
    ...     if s.up < 2:
    ...         yield s._replace(up=s.up + 1), 1.0
    >>> result = passage(explore(rules, start={"up": 2}), to=lambda s: s.up == 0)
    >>> round(result.mean, 6)  # (3 * 0.1 + 1) / (2 * 0.1**2)
    65.0
    """
    watch, question = Stopwatch(), Question(passage, model, to, start, lyapunov)
    chain = as_any_chain(model)
    if isinstance(chain, InfiniteChain):
        infinite = chain
        finite = finite_until(infinite, to, start)
        if finite is None:
            return passage_of_infinite(infinite, question, on_failure)
        chain, to, start = finite
    elif lyapunov is not None:
        requirement = "goes with chains that have infinitely many states; this one has"
        raise ValueError(f"lyapunov: {requirement} {chain.size}")
    target = select_states(chain, to, "to")
    first = distribution(chain, start)
    with rates_in_range(chain.Q):
        moments = Moments(chain.Q, target)
        answers = moments.from_start(first)
        if math.isinf(answers["mean"]) and answers["probability"] == 1.0 and answers["probability_error"] == 0.0:
            raise OverflowError
    result = Passage(
        chain=chain,
        target=target,
        start=first,
        moments=moments,
        status=_status(answers["probability_error"], answers["mean"], answers["mean_error"]),
        seconds=watch.seconds(),
        question=question,
        **answers,
    )
    return deliver(result, on_failure)
