"""Quantities of a run for the comparison of two levels: goodput shares, losses, times."""

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
MAX_FLOWS = 8
"""Largest number of flows with a quantity each."""

Measure = str | Callable[["Trajectory"], float]


@dataclass(frozen=True)
class Quantity:
    """A number computed from a run, with its name and unit; nan if it is undefined."""

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
    """Return the quantities of measures, names or functions; ``since``, s, is for "share" alone, otherwise 0.

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
    is_single = isinstance(several, str) or callable(several) or not isinstance(several, Iterable)
    listed = [several] if is_single else list(several)
    if not listed:
        raise ValueError(f"measures = {measures!r}: at least one is needed")
    quantities: list[Quantity] = []
    for measure in listed:
        if callable(measure):
            name = getattr(measure, "__name__", repr(measure))
            quantities.append(Quantity(name, "", _Function(name, measure)))
            continue
        choice("measures", measure, MEASURES)
        if measure == "share":
            quantities += _shares(scenario, since)
        else:
            quantities.append(_NAMED[measure])
    if since and not any(quantity.is_share for quantity in quantities):
        names = ", ".join(quantity.name for quantity in quantities)
        raise ValueError(
            f"since = {since:g}: is for the measure 'share', and measures are {names}; omit it, or add 'share'"
        )
    return tuple(quantities)


def _shares(scenario: Scenario, since: float) -> list[Quantity]:
    """Return a quantity for the share of each flow, or for many flows the mean and the smallest share."""
    names = [flow.name for flow in scenario.flows]
    if len(names) > MAX_FLOWS:
        return [Quantity(f"{kind} share", "1", _Share(since, kind)) for kind in ("mean", "smallest")]
    return [Quantity(f"share of {name}", "1", _Share(since, f)) for f, name in enumerate(names)]


@dataclass(frozen=True)
class _Function:
    """A function of the caller, of a run; a call raises an error unless it returns a number."""

    name: str
    function: Callable[[Trajectory], float]

    def __call__(self, run: Trajectory) -> float:
        label = f"measures: {self.name}"
        try:
            value = self.function(run)
        except Exception as error:
            raise rule_error(error, self.function, label) from error
        try:
            return float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{label} returned {format_value(value)}: must return a number") from None


@dataclass(frozen=True)
class _Share:
    """Function of a run: share of flow ``which``, or mean or smallest share, of the slowest link, from ``since``, s."""

    since: float
    which: int | str

    def __call__(self, run: Trajectory) -> float:
        shares = run.mean_goodput(self.since) / run.scenario.slowest_rates
        if isinstance(self.which, int):
            return float(shares[self.which])
        return float(shares.mean() if self.which == "mean" else shares.min())


def _losses(run: Trajectory) -> float:
    """Return the number of packets that a run lost."""
    return float(run.lost.sum())


def _pause_seconds(run: Trajectory) -> float:
    """Return the sum of the durations of all pauses, s."""
    return float(np.sum(run.pauses()["duration"].to_numpy()))


def _first_loss(run: Trajectory) -> float:
    """Return the time of the first loss, s; nan without losses."""
    times = run.first_loss[np.isfinite(run.first_loss)]
    return float(times.min()) if times.size else math.nan


def _completion(run: Trajectory) -> float:
    """Return when the last transfer of finite size was complete, s; nan if one was not, or none is finite."""
    finite = [f for f, flow in enumerate(run.scenario.flows) if math.isfinite(flow.size)]
    return float(run.finished[finite].max()) if finite else math.nan


_NAMED = {
    "losses": Quantity("packets lost", "packets", _losses),
    "first_loss": Quantity("first loss", "s", _first_loss),
    "completion": Quantity("last completion", "s", _completion),
    "paused": Quantity("time paused", "s", _pause_seconds),
}
