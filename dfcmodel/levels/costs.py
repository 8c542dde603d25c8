"""The predicted cost of a run: a warning before a long one, a refusal of one that takes hours."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.levels.predictions import (
    length_factor,
    measured,
    measured_discipline,
    packet_work,
    predicted_seconds,
)
from dfcmodel.methods import Fluid, Packets
from dfcmodel.network.arrivals import ArrivalProcess, Replay
from dfcmodel.network.flows import CBR, OnOff
from dfcmodel.packets.refusals import check_scenario
from hopflow.checks import one_number
from hopflow.units import in_units

if TYPE_CHECKING:
    from dfcmodel.network.flows import Source
    from dfcmodel.network.networks import Scenario

__all__ = ["check_cost"]

LONG_RUN = 60.0
"""CPU seconds above which a run warns before it starts."""
LONGEST_RUN = 3.0 * 3600.0
"""CPU seconds above which a run is refused unless it was asked for."""


def check_cost(
    scenario: Scenario,
    method: Fluid | Packets,
    duration: float,
    max_cpu_time: float | str | None = None,
) -> None:
    """Warn of a run of more than a minute, and raise ValueError for one of more than three hours.

    ``max_cpu_time``, in s, replaces both: ValueError above it, no warning. Runs with random loss, which keeps flows from
    filling their links, are not predicted.
    """
    limit = LONGEST_RUN
    if max_cpu_time is not None:
        given: Any = in_units("max_cpu_time", max_cpu_time, "time")
        no_limit = isinstance(given, float) and given == math.inf
        limit = math.inf if no_limit else one_number("max_cpu_time", given, above=0.0)
    if limit == math.inf or (isinstance(method, Packets) and method.loss):
        return
    smallest = LONG_RUN if max_cpu_time is None else limit
    if isinstance(method, Packets) and _at_most(scenario, duration) <= smallest:
        return
    seconds = predicted_seconds(scenario, method, duration)
    if seconds <= smallest:
        return
    about = f"{scenario.name!r} with {_cause(scenario, method, duration)}"
    said = f"about {_shown(seconds)} of CPU time predicted for {about}"
    if seconds > limit:
        hint = "give max_cpu_time= (math.inf: no limit) to run it"
        raise ValueError(f"{said}: must be at most {_shown(limit)}; {hint}")
    warnings.warn(f"{said}; max_cpu_time= sets another limit", stacklevel=4)


def _at_most(scenario: Scenario, duration: float) -> float:
    """Return an upper bound of the prediction for packets, which takes no paths: all links full of other packets.

    A packet that crosses a path of n links counts n times here, which is more than `length_factor`; what sources send
    beside that is taken to cross all links.
    """
    rates = float(scenario.by_link(lambda link: link.rate).sum())
    longest = float(length_factor(np.array(max(2, len(scenario.link_table)))))
    rates += longest * float(scenario.table.each("source", _own_rate).sum())
    table = measured(measured_discipline(scenario) or "FIFO")
    return float(table.packet_nanoseconds.max()) * 1e-9 * rates * duration


def _own_rate(source: Source) -> float:
    """Return the mean rate of a source without feedback, packets/s; 0 of others, and where it is not finite."""
    if isinstance(source, (CBR, OnOff)):
        return source.rate
    if isinstance(source, (ArrivalProcess, Replay)) and math.isfinite(source.mean_rate):
        return source.mean_rate
    return 0.0


def _cause(scenario: Scenario, method: Fluid | Packets, duration: float) -> str:
    """Return how many steps or packets that is, and what makes the step short."""
    if isinstance(method, Packets):
        return f"{packet_work(scenario, duration):.2g} packets"
    h = method.step_of(scenario)
    shortest = min(scenario.link_table.kinds, key=lambda link: link.delay)
    said = f"{duration / h:.2g} steps of {h:.3g} s for each flow (shortest delay: {shortest.delay:.3g} s, link {shortest.name})"
    try:
        check_scenario(scenario, Packets())
    except ValueError:
        return said
    packets = _shown(predicted_seconds(scenario, Packets(), duration))
    return f"{said}, where method=Packets() takes about {packets}"


def _shown(seconds: float) -> str:
    """Return a time in s, minutes or hours."""
    if seconds >= 3600.0:
        return f"{seconds / 3600.0:.2g} hours"
    return f"{seconds / 60.0:.2g} minutes" if seconds >= 60.0 else f"{seconds:.2g} s"
