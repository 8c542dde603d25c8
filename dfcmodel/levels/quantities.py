"""Quantities of a run in which two levels are compared: goodput shares, losses, times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, format_value
from hopflow.errors import rule_error

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario
    from dfcmodel.results.trajectories import Trajectory

__all__ = ["MEASURES", "Measure", "Quantity", "quantities_of"]

MEASURES = ("share", "losses", "first_loss", "completion", "paused")
"""Measures by name; see `quantities_of`."""
MOST_FLOWS = 8
"""Number of flows up to which each has a quantity of its own."""

Measure = str | Callable[["Trajectory"], float]


@dataclass(frozen=True)
class Quantity:
    """A number taken from a run, with its name and unit; nan where it is not defined."""

    name: str
    units: str
    of: Callable[[Trajectory], float]

    @property
    def is_share(self) -> bool:
        """Whether it is the measure ``"share"``, of a flow or of many, and no function of the caller's."""
        return isinstance(self.of, _Share)


def quantities_of(
    scenario: Scenario, measures: Measure | Sequence[Measure], since: float = 0.0
) -> tuple[Quantity, ...]:
    """Return the quantities of some measures on a scenario.

    Parameters
    ----------
    scenario
        The simulated scenario.
    measures
        ``"share"``: goodput of each flow over the rate of the slowest link of its path (of more than 8
        flows their mean, and the smallest); ``"losses"``: packets lost, in all; ``"first_loss"``: time of
        the first loss in s, nan without any; ``"completion"``: when the last transfer was complete, s,
        nan where one was not; ``"paused"``: seconds that links stood paused, in all. Or a function of a
        `Trajectory`, named by its ``__name__``. One, or several.
    since
        Start of the measurement of shares, s.

    Raises
    ------
    ValueError
        For an unknown name, or none, and for ``since`` without shares.
    """
    several: Any = measures
    one = isinstance(several, str) or callable(several) or not isinstance(several, Iterable)
    given = [several] if one else list(several)
    if not given:
        raise ValueError(f"measures = {measures!r}: at least one is needed")
    found: list[Quantity] = []
    for each in given:
        if callable(each):
            name = getattr(each, "__name__", repr(each))
            found.append(Quantity(name, "", _Given(name, each)))
            continue
        choice("measures", each, MEASURES)
        if each == "share":
            found += _shares(scenario, since)
        else:
            found.append(_NAMED[each])
    if since and not any(quantity.is_share for quantity in found):
        names = ", ".join(quantity.name for quantity in found)
        raise ValueError(
            f"since = {since:g}: is for the measure 'share', and measures are {names}; omit it, or add 'share'"
        )
    return tuple(found)


def _shares(scenario: Scenario, since: float) -> list[Quantity]:
    """Return the shares of the flows, or of many flows their mean and the smallest."""
    names = [flow.name for flow in scenario.flows]
    if len(names) > MOST_FLOWS:
        return [Quantity(f"{which} share", "1", _Share(since, which)) for which in ("mean", "smallest")]
    return [Quantity(f"share of {name}", "1", _Share(since, f)) for f, name in enumerate(names)]


@dataclass(frozen=True)
class _Given:
    """A function of the caller, which must return a number."""

    name: str
    function: Callable[[Trajectory], float]

    def __call__(self, run: Trajectory) -> float:
        said = f"measures: {self.name}"
        try:
            value = self.function(run)
        except Exception as error:
            raise rule_error(error, self.function, said) from error
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{said} returned {format_value(value)}: must return a number") from None


@dataclass(frozen=True)
class _Share:
    """The share of a flow by its index, or the mean or smallest share, measured from ``since`` on."""

    since: float
    which: int | str

    def __call__(self, run: Trajectory) -> float:
        shares = run.mean_goodput(self.since) / run.scenario.slowest_rates
        if isinstance(self.which, int):
            return float(shares[self.which])
        return float(shares.mean() if self.which == "mean" else shares.min())


def _losses(run: Trajectory) -> float:
    return float(run.lost.sum())


def _paused(run: Trajectory) -> float:
    return float(np.sum(run.pauses()["duration"].to_numpy()))


def _first_loss(run: Trajectory) -> float:
    known = run.first_loss[np.isfinite(run.first_loss)]
    return float(known.min()) if known.size else math.nan


def _completion(run: Trajectory) -> float:
    finite = [f for f, flow in enumerate(run.scenario.flows) if math.isfinite(flow.size)]
    return float(run.finished[finite].max()) if finite else math.nan


_NAMED = {
    "losses": Quantity("packets lost", "packets", _losses),
    "first_loss": Quantity("first loss", "s", _first_loss),
    "completion": Quantity("last completion", "s", _completion),
    "paused": Quantity("time paused", "s", _paused),
}
