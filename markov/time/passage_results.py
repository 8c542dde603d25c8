"""The result of `markov.passage`: probability, mean, variance, distribution and sensitivities of a first-passage time.

Derivatives by a parameter: since A m' = Q' m, the prime being the derivative, m' is the mean reward that Q' m earns
until the set is entered; so it is for probabilities, and for rewards with their derivative added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from hopflow.checks import ascending
from hopflow.fork_safety import cached_property
from hopflow.parameters import param, validate_parameters
from hopflow.results import Status, figure
from hopflow.units import WithUnit
from markov.computing.resources import MAX_SECONDS, time_limit
from markov.computing.rounding import U
from markov.models.measures import resolve_function, resolve_measure
from markov.models.rules import scope_of_bound
from markov.selections import refers_to_positions
from markov.sensitivities.perturbations import Perturbation, same_states
from markov.sensitivities.results import Sensitivity
from markov.sensitivities.stationary import derivatives, difference
from markov.time.passage_moments import mean_over
from markov.time.passage_times import Distribution, PassageTime
from markov.time.results import TimeResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain
    from markov.proofs.bounded import Bounded
    from markov.sensitivities.differences import Side
    from markov.time.passage_moments import Moments

    Bools = NDArray[np.bool_]

__all__ = ["Passage", "Question", "describe_start_in_set", "passage_status", "sensitivity_of"]

USEFUL_RELATIVE_ERROR = 1e-6  # of a mean, up to which the answer counts as converged
PLOT_TIMES = 200  # times in a plot


class Question(NamedTuple):
    """Arguments of a call of `markov.passage`, to repeat it for another model.

    Attributes
    ----------
    ask
        The function.
    model, to, start, lyapunov
        Its arguments.
    chain
        The chain to whose states ``to`` or ``start`` refer by position; None if neither does.
    """

    ask: Callable[..., Any]
    model: Any
    to: Any
    start: Any
    lyapunov: Callable[[Any], Any] | None
    chain: MarkovChain | None = None

    def about(self, chain: MarkovChain) -> Question:
        """Return the question about ``chain``, with its states if arguments refer to them by position."""
        refers = refers_to_positions(chain, self.to, "b") or refers_to_positions(chain, self.start, "iuf")
        return self._replace(chain=chain) if refers else self

    def again(self, model: Any) -> Any:
        """Return the `Passage` of another model into the same set, with the other arguments as before.

        Raises
        ------
        ValueError
            If ``to`` or ``start`` has a value for each state, and the other model has other states or another order.
        """
        answer = self.ask(model, self.to, start=self.start, lyapunov=self.lyapunov)
        if self.chain is not None and not same_states(self.chain, answer.chain):
            name = "to" if refers_to_positions(self.chain, self.to, "b") else "start"
            reason = "has a value for each state of the first chain, and the states or their order change"
            raise ValueError(f"{name}: {reason}: write a function of a state, states, or a table with their names")
        return answer


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
        reason = "is infinite, since" if of == "mean" else "has no derivative, since"
        raise ValueError(f'of = {of!r}: {reason} the set may never be entered; of="probability" has one')
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
        measure = resolve_measure(of, chain.model, chain.table, states)
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


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class Passage(TimeResult):
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

    target: Bools
    start: NDArray[np.float64]
    moments: Moments
    probability: float
    probability_error: float
    mean: float
    mean_error: float
    question: Question | None = None
    SWEPT_BY: ClassVar[str] = "markov.passage_sweeps"
    NOT_COMPARED: ClassVar[tuple[str, ...]] = ("seconds", "question")
    DIMENSIONS: ClassVar[Mapping[str, tuple[str, ...]]] = {"target": ("state",), "start": ("state",)}

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes to pickle, with None for ``question``, since functions may not be pickled."""
        return super().__getstate__() | {"question": None}

    @property
    def advice(self) -> str:
        """Which bound is infinite or useless, the range of the rates, and what to compute instead; "" if converged."""
        if self.status.ok:
            return ""
        quantity = "mean" if self.probability_error <= USEFUL_RELATIVE_ERROR else "probability"
        rates = self.moments.rates[~self.target].data
        decades = math.log10(rates.max() / rates.min())
        instead = (
            "leave out those that do not matter, or compute the distribution at given times, which has its own bound"
        )
        reason = f"rates outside of the set lie {decades:.0f} decades apart"
        return f"no useful bound on the {quantity} was proved: {reason}; {instead}"

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
        """Square root of the variance, in s; NaN if rounding makes the variance negative."""
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
        """E[T | T < inf], in s: of those paths alone that enter the set; NaN if there are none."""
        return self.moments.conditional_mean(self.start)

    def reward(self, rewards: str | ArrayLike) -> Bounded:
        """Return the expected reward earned until the set is entered, or for ever if it is never entered.

        It is infinite, with the sign of the rewards, where they go on for ever with a positive probability.

        Parameters
        ----------
        rewards
            Name of a label or reward of the model; or rewards per s in each state, shape (states,).
            Of a label it is the time spent in it.

        Raises
        ------
        ValueError
            For another name or shape; for rewards of both signs that go on for ever.
        """
        states = np.arange(self.chain.size)
        return self.moments.reward(
            resolve_function(rewards, self.chain.model, self.chain.table, states, "rewards"), self.start
        )

    @validate_parameters
    def sensitivity(
        self,
        parameter: str,
        of: str = "mean",
        *,
        side: Literal["left", "right"] | None = param(None, choices=("left", "right")),
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

    @validate_parameters
    def distribution(
        self,
        times: ArrayLike = param(unit="time"),
        *,
        max_seconds: WithUnit = param(MAX_SECONDS, "time", above=0.0),
    ) -> Distribution:
        """Return P(T <= t), P(T > t) and the density at times, with a bound.

        Parameters
        ----------
        times
            In s, >= 0, ascending, shape (times,); or one time.
        max_seconds
            In s: a computation that is predicted to take longer is refused, with the time that it would take.

        Raises
        ------
        ValueError
            For bad input; for a computation that is predicted, within its first seconds, to exceed ``max_seconds``.
        """
        checked_times = ascending("times", times)
        with time_limit(float(max_seconds)):
            return self._distribution(checked_times)

    def _distribution(self, times: NDArray[np.float64]) -> Distribution:
        """Return `distribution` at times that are checked already."""
        return self._passage_time.at(times)

    @validate_parameters
    def survival(
        self,
        times: ArrayLike = param(unit="time"),
        *,
        max_seconds: WithUnit = param(MAX_SECONDS, "time", above=0.0),
    ) -> NDArray[np.float64]:
        """Return P(T > t), shape (times,), as `distribution` has it: of a failure it is the reliability R(t)."""
        return self.distribution(times, max_seconds=max_seconds).survival

    @validate_parameters
    def quantile(
        self,
        q: float = param(above=0.0, below=1.0),
        *,
        max_seconds: WithUnit = param(MAX_SECONDS, "time", above=0.0),
    ) -> Bounded:
        """Return the time t with P(T <= t) = q, in s, with an interval that holds it.

        Parameters
        ----------
        q
            The probability. The time is inf where the set is entered with a probability of less than q.
        max_seconds
            As in `distribution`.
        """
        with time_limit(float(max_seconds)):
            return self._quantile(q)

    def _quantile(self, q: float) -> Bounded:
        """Return `quantile` of a number q that is checked already."""
        if self.probability + self.probability_error < q:
            return self._passage_time.never
        scale = self.conditional_mean.value
        return self._passage_time.quantile(q, scale if math.isfinite(scale) else 1.0)

    def _answers(self) -> dict[str, object]:
        """Return the rows of the summary on the set, probability, mean and standard deviation."""
        inside = math.fsum(self.start[self.target])
        return {
            "states": f"{self.chain.size}, {int(self.target.sum())} of them in the set",
            **({"start in the set": describe_start_in_set(inside, "time")} if inside > 0.0 else {}),
            "probability": f"{self.probability:.10g} +- {self.probability_error:.1e}",
            "mean": f"{self.mean:.10g} +- {self.mean_error:.1e}",
            "standard deviation": f"{self.standard_deviation:.6g}",
            **scope_of_bound(self.chain.model),
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


def describe_start_in_set(inside: float, quantity: str) -> str:
    """Return text on a start that is in the set already, with a probability; ``quantity`` is what is 0 there."""
    return f"with probability {inside:.6g}: the {quantity} is 0 then, not that of a return"


def passage_status(probability_error: float, mean: float, mean_error: float) -> Status:
    """Return CONVERGED if the bounds on the probability, and on a finite mean, are useful; otherwise INACCURATE."""
    useful = probability_error <= USEFUL_RELATIVE_ERROR
    useful = useful and (math.isinf(mean) or mean_error <= USEFUL_RELATIVE_ERROR * mean)
    return Status.CONVERGED if useful else Status.INACCURATE
