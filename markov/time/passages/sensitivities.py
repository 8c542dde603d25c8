"""How the mean time until a set is entered, its probability or a reward change with a parameter.

With A = -Q outside of the set, the means are m = A^-1 1. Since A m' = Q' m, the prime being the derivative by the
parameter, m' is the mean reward that Q' m earns until the set is entered; so it is for probabilities, and for rewards with their
own derivative added.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.computing.rounding import U
from markov.models.measures import chosen
from markov.sensitivities.perturbations import Perturbation
from markov.sensitivities.results import Sensitivity
from markov.sensitivities.stationary import derivatives, difference
from markov.time.passages.moments import mean_over

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.sensitivities.differences import Side

    Vector = NDArray[np.float64]

__all__ = ["Question", "sensitivity_of"]


class Question(NamedTuple):
    """What `markov.passage` was asked.

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
        """Return the same `Passage` of another model."""
        return self.ask(model, self.to, start=self.start, lyapunov=self.lyapunov)


def sensitivity_of(passage: Any, parameter: str, of: str, side: Side | None) -> Sensitivity:
    """Return the derivative of a quantity of a passage, or its difference for one more of a whole number.

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
    near = Perturbation(chain, states, parameter, {})
    if of != "probability" and start[~moments.certain].sum() > 0.0:
        raise ValueError(f'of = {of!r}: is infinite, since the set may never be entered; of="probability" is not')
    if near.counted:
        there = passage.asked().again(near.model_at(-1 if side == "left" else 1))
        return difference(near, of, _quantity(passage, of), _quantity(there, of), side or "right")
    value, _ = _quantity(passage, of)
    certain, measure = of != "probability", None
    if of == "mean":
        values, wrong = np.where(moments.certain, moments.mean, 0.0), moments.mean_error  # others are infinite
    elif of == "probability":
        values, wrong = moments.probability, moments.probability_error
    else:
        measure = chosen(of, chain.model, chain.table, states)
        values, wrong = moments.rewards(np.asarray(measure.of, dtype=np.float64))

    def at(one: Side | None) -> list[Sensitivity]:
        Q, apart = near.generator(one)
        earned, missing = Q @ values, apart @ np.abs(values)
        most = int(np.diff(Q.indptr).max(initial=0))
        rounding = abs(Q) @ (wrong + (most + 3) * U * np.abs(values))
        if measure is not None:
            change, estimate = near.measure(of, 0, measure, None, one)
            earned, missing = earned + change, missing + estimate
        derivative, error = mean_over(start, *moments.rewards(earned, certain=certain))
        more, off = mean_over(start, *moments.rewards(missing + rounding, certain=certain))
        elasticity = derivative * near.at / value if value else math.nan
        return [Sensitivity(parameter, of, value, derivative, error + more + off, elasticity, side=one)]

    return derivatives(near, at, lambda _: "a rate or reward jumps", side)[0]


def _quantity(passage: Any, of: str) -> tuple[float, float]:
    """Return a quantity of a passage and the bound on its error."""
    if of == "mean":
        return passage.mean, passage.mean_error
    if of == "probability":
        return passage.probability, passage.probability_error
    found = passage.reward(of)
    return found.value, max(found.upper - found.value, found.value - found.lower)
