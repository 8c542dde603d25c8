"""Base class and driver of results over time: distributions, first passages, quasi-stationary distributions."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Result, Status, deliver, short_text
from markov.computing.resources import rates_in_range, time_limit
from markov.exploration import InfiniteChain
from markov.selections import as_any_chain, distribution

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["TimeResult", "answer_over_time"]

R = TypeVar("R", bound="TimeResult")


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TimeResult(Result):
    """Base class of results over time: chain, status, wall time, and the rows of the summary that all of them share.

    Attributes
    ----------
    chain
        The `MarkovChain`.
    status
        CONVERGED, or INACCURATE where a bound is useless.
    seconds
        Wall-clock time, in s.
    """

    chain: MarkovChain
    status: Status
    seconds: float = 0.0

    def _answers(self) -> dict[str, object]:
        """Return the rows of the summary between the chain and the time: states, values with bounds, method."""
        raise NotImplementedError

    def summary(self) -> dict[str, object]:
        """Return the rows of a printed summary: status, chain, values with their bounds, and cost."""
        model = self.chain.model
        return {
            "status": self.status,
            "chain": self.chain.how if model is None else short_text(model),
            **self._answers(),
            "time": f"{self.seconds:.3f} s",
        }


def answer_over_time(
    model: Any,
    start: Any,
    solve: Callable[[MarkovChain, Vector], R],
    solve_infinite: Callable[[InfiniteChain], R],
    *,
    on_failure: OnFailure,
    max_seconds: float | None = None,
) -> R:
    """Return the result of a question about a chain over time, with its wall time, or raise its failure.

    Parameters
    ----------
    model
        A model, a chain, a result of `explore`, or a generator matrix.
    start
        State or distribution at time 0; None: the start of the model.
    solve
        Returns the result for a finite chain and its distribution at time 0, shape (states,).
    solve_infinite
        Returns the result for a chain with infinitely many states.
    on_failure
        ``"raise"`` or ``"return"`` a result whose status is not ``ok``.
    max_seconds
        Computations that are predicted to take longer are refused, in s; None: no limit.
    """
    watch = Stopwatch()
    chain = as_any_chain(model)
    with nullcontext() if max_seconds is None else time_limit(max_seconds):
        if isinstance(chain, InfiniteChain):
            result = solve_infinite(chain)
        else:
            initial = distribution(chain, start)
            with rates_in_range(chain.Q):
                result = solve(chain, initial)
    return deliver(replace(result, seconds=watch.seconds()), on_failure)
