"""From a model and a set of states to the time until it is entered."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver
from markov.computing.rate_range import rates_in_range
from markov.exploration import InfiniteChain
from markov.selections import as_any_chain, distribution, selected
from markov.time.passages.infinite import finite_until, passage_of_infinite
from markov.time.passages.moments import Moments
from markov.time.passages.results import Passage
from markov.time.passages.sensitivities import Question

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["passage"]

USEFUL = 1e-6  # relative error of a mean that counts as known


def passage(
    model: Any,
    to: Any,
    *,
    start: Any = None,
    on_failure: OnFailure = "raise",
    lyapunov: Callable[[Any], Any] | None = None,
) -> Passage:
    """Return the time until a chain first enters a set of states.

    Parameters
    ----------
    model
        A `ChainModel`, a `MarkovChain`, what `explore` found, a model read from a file, or a
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
    it, and that of a variance to what such means allow. The bounds rest on the maximum principle (M-matrices)
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
    >>> found = passage(explore(rules, start={"up": 2}), to=lambda s: s.up == 0)
    >>> round(found.mean, 6)  # (3 * 0.1 + 1) / (2 * 0.1**2)
    65.0
    """
    watch, question = Stopwatch(), Question(passage, model, to, start, lyapunov)
    chain = as_any_chain(model)
    if isinstance(chain, InfiniteChain):
        endless = chain
        found_until = finite_until(endless, to, start)
        if found_until is None:
            return passage_of_infinite(endless, question, on_failure)
        chain, to, start = found_until
    elif lyapunov is not None:
        said = "goes with chains that have infinitely many states; this one has"
        raise ValueError(f"lyapunov: {said} {chain.size}")
    target = selected(chain, to, "to")
    first = distribution(chain, start)
    with rates_in_range(chain.Q):
        moments = Moments(chain.Q, target)
        found = moments.from_start(first)
        if math.isinf(found["mean"]) and found["probability"] == 1.0 and found["probability_error"] == 0.0:
            raise OverflowError
    good = found["probability_error"] <= USEFUL and (
        math.isinf(found["mean"]) or found["mean_error"] <= USEFUL * found["mean"]
    )
    result = Passage(
        chain=chain,
        target=target,
        start=first,
        moments=moments,
        status=Status.CONVERGED if good else Status.INACCURATE,
        seconds=watch.seconds(),
        question=question,
        **found,
    )
    return deliver(result, on_failure)
