"""First passage times of a chain with infinitely many states: values in finitely many, with bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hopflow.fork_safety import cached_property
from markov.proofs.bounded import Bounded
from markov.time.passages.distributions import Distribution, PassageTime
from markov.time.passages.results import Passage

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.exploration import InfiniteChain

    Vector = NDArray[np.float64]

__all__ = ["InfiniteMoments", "InfinitePassage"]

ROUNDED = 2.0**-52


@dataclass(frozen=True, eq=False)
class InfiniteMoments:
    """Probabilities and means from each state that has values, shape (n,) each.

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
    def between(cls, probability: Vector, mean: Vector) -> InfiniteMoments:
        """Return the middles of lower and upper bounds, shape (2, n) each."""
        with np.errstate(invalid="ignore"):
            return cls(*_middle(probability), *_middle(mean))


def _middle(ends: Vector) -> tuple[Vector, Vector]:
    """Return the middles of intervals and half their widths, rounded up; inf, 0 for [inf, inf]."""
    low, high = ends
    value = np.where(np.isfinite(high), low + 0.5 * (high - low), low)
    error = np.maximum(high - value, value - low)
    error = np.where(low == high, 0.0, error + ROUNDED * np.abs(value))
    return value, error


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InfinitePassage(Passage):
    """The time T until a chain with infinitely many states first enters a set.

    ``chain`` has finitely many of the states, those of the set that are entered from them, and the rates between
    them. ``means`` and ``probabilities`` are of these states. ``variance`` and ``standard_deviation`` are not computed: NaN. In `distribution`
    ``cdf`` is a lower and ``survival`` an upper value; the density has no bound.

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
    >>> found = passage(explore(queue, start=0), to=0, start=5)
    >>> round(found.mean, 8), found.mean_error < 1e-8
    (5.0, True)
    """

    moments: InfiniteMoments  # type: ignore[assignment]
    infinite: InfiniteChain
    lyapunov: str
    left: float

    @cached_property
    def _spread(self) -> tuple[float, float]:
        return math.nan, math.inf

    @cached_property
    def conditional_mean(self) -> Bounded:
        """E[T | T < inf], in s, where the set is entered for sure.

        Raises
        ------
        ValueError
            Where it is not.
        """
        if self.probability != 1.0 or self.probability_error:
            self._refuse("conditional_mean of a set that may never be entered")
        return Bounded(self.mean, self.mean - self.mean_error, self.mean + self.mean_error)

    def reward(self, rewards: str | ArrayLike) -> Bounded:  # noqa: ARG002
        """Raise ValueError: not for infinitely many states."""
        self._refuse("reward")

    def sensitivity(self, *_: Any, **__: Any) -> Any:
        """Raise ValueError: not for infinitely many states."""
        self._refuse("sensitivity")

    def _distribution(self, times: Vector) -> Distribution:
        """Return it with what leaves the states of ``chain``."""
        found = super()._distribution(times)
        never = np.full_like(found.relative_error, math.inf)
        return replace(found, error_bound=found.error_bound + self.left, relative_error=never)

    def _quantile(self, q: float) -> Bounded:
        """Return it with an interval that is wider by what leaves the states of ``chain``."""
        upper = super()._quantile(q)
        if q <= self.left:
            return Bounded(upper.value, 0.0, upper.upper)
        if upper == PassageTime.never:
            return upper
        lower = self._time.quantile((q - self.left) * (1.0 - ROUNDED), max(upper.value, 1e-300))
        return Bounded(upper.value, min(lower.lower, upper.lower), upper.upper)

    def _refuse(self, what: str) -> NoReturn:
        raise ValueError(f"{what} is not computed for a chain with infinitely many states")

    def summary(self) -> dict[str, object]:
        """Return status, chain, probability and mean, and the cost."""
        found = super().summary()
        found["standard deviation"] = "not computed for infinitely many states"
        model = self.infinite.model
        more = {
            "chain": repr(model),
            "states": f"infinitely many; values in {self.chain.size}",
            "Lyapunov function": self.lyapunov,
        }
        return {**found, **more}
