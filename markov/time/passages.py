"""First-passage times of a chain into a set of states: from a model and a set to a result with bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hopflow.results import OnFailure
from markov.computing.resources import rates_in_range
from markov.selections import distribution, select_target
from markov.time.infinite_passages import finite_until, passage_of_infinite
from markov.time.passage_moments import Moments
from markov.time.passage_results import Passage, Question, passage_status
from markov.time.results import answer_over_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.exploration import InfiniteChain

    Vector = NDArray[np.float64]

__all__ = ["passage"]


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
    question = Question(passage, model, to, start, lyapunov)

    def solve(chain: MarkovChain, initial: Vector) -> Passage:
        """Return the result for a finite chain and its distribution at time 0."""
        if lyapunov is not None:
            requirement = "goes with chains that have infinitely many states; this one has"
            raise ValueError(f"lyapunov: {requirement} {chain.size}")
        return _passage_of_finite(chain, select_target(chain, to), initial, question)

    def solve_infinite(infinite: InfiniteChain) -> Passage:
        """Return the result for an infinite chain; that of a finite one if it passes finitely many states."""
        finite = finite_until(infinite, to, start)
        if finite is None:
            return passage_of_infinite(infinite, question)
        chain, target, first = finite
        with rates_in_range(chain.Q):
            return _passage_of_finite(chain, target, distribution(chain, first), question)

    return answer_over_time(model, start, solve, solve_infinite, on_failure=on_failure)


def _passage_of_finite(chain: MarkovChain, target: NDArray[np.bool_], initial: Vector, question: Question) -> Passage:
    """Return the passage of a finite chain into the states marked in ``target``, from the distribution ``initial``."""
    moments = Moments(chain.Q, target)
    answers = moments.from_start(initial)
    if math.isinf(answers["mean"]) and answers["probability"] == 1.0 and answers["probability_error"] == 0.0:
        raise OverflowError
    return Passage(
        chain=chain,
        target=target,
        start=initial,
        moments=moments,
        status=passage_status(answers["probability_error"], answers["mean"], answers["mean_error"]),
        question=question.about(chain),
        **answers,
    )
