"""First passage times: probability, moments, distribution and quantiles, each with a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hopflow.checks import ascending, choice, number
from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from hopflow.units import quantities
from markov.models.measures import chosen
from markov.models.rules import scope_of_bound
from markov.time.passages.distributions import PassageTime
from markov.time.passages.moments import Moments
from markov.time.passages.sensitivities import Question, sensitivity_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hopflow.results import Status
    from markov.chains import MarkovChain
    from markov.proofs.bounded import Bounded
    from markov.sensitivities.results import Sensitivity
    from markov.time.passages.distributions import Distribution

    Bools = NDArray[np.bool_]

__all__ = ["Passage"]

CURVE = 200  # times in a plot


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Passage(Result):
    """The time T until a chain first enters a set of states; zero in the set itself.

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
    >>> found = passage(MM1K(capacity=10), to=(10,), start=(0,))
    >>> round(found.mean, 3), found.mean_error < 1e-9, found.quantile(0.5).error < 1e-9
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
        return super().__getstate__() | {"question": None}

    @cached_property
    def _spread(self) -> tuple[float, float]:
        return self.moments.variance_from(self.start)

    @cached_property
    def variance(self) -> float:
        """Var[T], in s^2; inf where the set may never be entered."""
        return self._spread[0]

    @cached_property
    def variance_error(self) -> float:
        """Bound on the error of the variance, in s^2."""
        return self._spread[1]

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

        A whole number (``servers=3``, not 3.0, unless the model declares it as a float) has no derivative: the result is
        the difference to one more, and its ``kind`` says so.

        Parameters
        ----------
        parameter
            Its name; of one that has several entries ``"arrival_rates[0]"``.
        of
            ``"mean"`` (E[T], in s), ``"probability"`` (of ever entering the set), or the name of a label or reward, for `reward`.
        side
            ``"left"`` or ``"right"``: the derivative from below or above, at a kink; the difference to one less or to one more.

        Returns
        -------
        Sensitivity
            Its ``error`` bounds what the solutions leave, as for `Stationary.sensitivity`.

        Raises
        ------
        NoDerivativeError
            Where the derivatives from both sides differ, or a rate jumps; it states both.
        ValueError
            For an unknown name; for a parameter that is no number, is zero, or changes the states; for an infinite mean.

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
        >>> found = passage(machines, to=lambda s: s.up == 0)
        >>> round(found.sensitivity("repair").derivative, 9)
        50.0
        """
        choice("side", side, (None, "left", "right"))
        return sensitivity_of(self, parameter, of, side)

    def asked(self) -> Question:
        """Return the question; ValueError in a copy that was pickled."""
        if self.question is None:
            raise ValueError("passage: a pickled one is not asked again; call `passage`")
        return self.question

    @cached_property
    def _time(self) -> PassageTime:
        return PassageTime(self.chain, self.target, self.start)

    @quantities(times="time")
    def distribution(self, times: ArrayLike) -> Distribution:
        """Return P(T <= t), P(T > t) and the density at some times, with a bound.

        Parameters
        ----------
        times
            In s, >= 0, ascending, shape (times,); or one time.
        """
        return self._distribution(ascending("times", times))

    def _distribution(self, times: NDArray[np.float64]) -> Distribution:
        """Return `distribution` at checked times."""
        return self._time.at(times)

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
        """Return `quantile` of a checked number."""
        if self.probability + self.probability_error < q:
            return self._time.never
        scale = self.conditional_mean.value
        return self._time.quantile(q, scale if math.isfinite(scale) else 1.0)

    def summary(self) -> dict[str, object]:
        """Return status, chain, probability, mean and standard deviation, and the cost."""
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
        found = self.distribution(np.linspace(0.0, end or 1.0, CURVE))
        ax.plot(found.times, found.cdf)
        if math.isfinite(self.mean):
            ax.axvline(self.mean, color="black", ls=":", lw=1, label="mean")
            ax.legend(frameon=False)
        ax.set(xlabel="time (s)", ylabel="P(T <= t)", ylim=(0.0, 1.0))
        return ax
