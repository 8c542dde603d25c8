"""What was inferred about a paper: its parameters, the check on cells set aside, the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from validation.inference.parameters import Choice, Open, Value

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Marginal:
    """An open parameter before and after.

    Attributes
    ----------
    name, unit, meaning, before
        Of the parameter; ``before`` is its range in words.
    after
        Its alternatives with their weights, or the weighted 5 %, 50 % and 95 % quantiles.
    """

    name: str
    unit: str
    meaning: str
    before: str
    after: str


@dataclass(frozen=True)
class Weight:
    """The weight of the compatible settings in which statements of a claim hold.

    Attributes
    ----------
    claim
        Its id.
    statements
        The weight by statement, 0 to 1.
    every
        The weight in which all of them hold.
    before
        The part of all settings in which all of them hold, without the paper's numbers.
    """

    claim: str
    statements: Mapping[str, float]
    every: float
    before: float


@dataclass(frozen=True)
class Inference:
    """What the printed numbers of a paper say about what it leaves open.

    Attributes
    ----------
    paper
        Its name.
    runs, settings
        Settings that were run, and settings that were weighted (more where runs are interpolated).
    used, aside, covered
        Printed numbers and sentences used, set aside, and those of the latter that agree: numbers inside of their
        90 % intervals, sentences that are kept in more than half of the weight.
    effective
        Effective number of the settings that were weighted; of settings drawn from the posterior, how many differ.
    model_errors
        Standard deviations of the model's error, of a cell and of a group of cells, in logarithms.
    best
        Root mean square of the logarithm of simulated over printed at the best setting.
    noise
        The same of the known noise alone.
    parameters, claims
        What was inferred.
    further
        Printed numbers that take no part and are predicted, and how many of these agree.
    """

    paper: str
    runs: int
    settings: int
    used: int
    aside: int
    covered: int
    effective: float
    model_errors: tuple[float, float]
    best: float
    noise: float
    parameters: tuple[Marginal, ...]
    claims: tuple[Weight, ...]
    further: tuple[int, int] = (0, 0)

    @property
    def compatible(self) -> bool:
        """Whether any setting agrees with the numbers without an error of the model.

        The best one's root mean square is at most twice the known noise.
        """
        return self.best <= 2.0 * self.noise


def percent(part: float) -> str:
    """Return a part in words, without pretending to know more than a weight of a hundredth.

    Examples
    --------
    >>> from validation.inference.results import percent
    >>> percent(0.937), percent(0.999), percent(0.0001)
    ('94 %', 'more than 99 %', 'less than 1 %')
    """
    if part > 0.99:
        return "more than 99 %"
    return "less than 1 %" if part < 0.01 else f"{100 * part:.0f} %"


def marginals(
    parameters: Sequence[Open], settings: Sequence[Mapping[str, Value]], weights: Values
) -> tuple[Marginal, ...]:
    """Return what is known of each parameter from weighted settings."""
    found = []
    for each in parameters:
        own = [setting[each.name] for setting in settings]
        if isinstance(each, Choice):
            parts = [
                (value, sum(w for w, v in zip(weights, own, strict=True) if v == value)) for value in each.alternatives
            ]
            after = ", ".join(f"{_shown(value)}: {100 * part:.0f} %" for value, part in parts)
        else:
            numbers = np.array(own, dtype=float)
            order = np.argsort(numbers)
            cumulative = np.cumsum(weights[order])
            at = (numbers[order][np.searchsorted(cumulative, q * cumulative[-1])] for q in QUANTILES)
            low, middle, high = (f"{value:.3g}" for value in at)
            after = f"{middle} ({low} to {high})"
        found.append(Marginal(each.name, each.unit, each.meaning, each.span, after))
    return tuple(found)


QUANTILES = (0.05, 0.5, 0.95)


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"
