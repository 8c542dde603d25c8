"""The delay of which the fluid's time step is a part: short access links do not set it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.network.links import buffer_in_packets
from dfcmodel.network.queueing.disciplines import FIFO

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dfcmodel.network.networks import Scenario

__all__ = [
    "ROUNDING",
    "contracted_delay",
    "nearest_steps",
    "passes_at_once",
    "shortest_delay",
    "whole_and_part",
]

ROUNDING = 1e-6
"""Part of a step: times that are this near to whole steps are."""
LARGEST_ROUNDING = 0.01
"""Part of a feedback period by which it may be rounded."""

PART_OF_TRIP = 64
"""The delay is at most this part of a round trip: 256 steps in one, with four steps per delay.

`python -m benchmarks.time_steps` has the shares and losses of TCP with this step, and with that of access links of 0.1 ms.
"""


def passes_at_once(scenario: Scenario, n: int) -> bool:
    """Return whether a FIFO link can never queue in a fluid: it is no slower than all links that feed it.

    Links that a host feeds are kept: there packets enter the network.
    """
    feeders, link = scenario.feeders(n), scenario.links[n]
    plain = type(link.discipline) is FIFO and min(feeders, default=-1) >= 0
    plain = plain and all(element.link != link.name for element in scenario.elements)
    return plain and sum(scenario.links[u].rate for u in feeders) <= link.rate


def shortest_delay(scenario: Scenario) -> float:
    """Return the delay of the shortest link, s."""
    return min(link.delay for link in scenario.link_table.kinds)


def nearest_steps(name: str, time: float, step: float) -> int:
    """Return a feedback period ``time`` of a link in whole steps, at least one.

    Raises
    ------
    ValueError
        Naming it, where it is more than 1 % away from a multiple of the step.

    Examples
    --------
    >>> nearest_steps("delay", 0.01003, 0.001)
    10
    """
    steps = max(1, round(time / step))
    if abs(steps * step / time - 1.0) > LARGEST_ROUNDING:
        msg = f"must be a multiple of the step {step:g} s to 1 %, is {time / step:.4g} steps"
        raise ValueError(f"{name} = {time:g} s: {msg}; increase steps_per_delay")
    return steps


def whole_and_part(steps: Any) -> tuple[Any, Any]:
    """Return times in steps as whole ones and the parts of one that are left, numbers or arrays.

    Examples
    --------
    >>> [each.tolist() for each in whole_and_part([2.9999999, 3.25])]
    [[3, 3], [0.0, 0.25]]
    """
    whole = np.floor(np.asarray(steps) + ROUNDING).astype(np.int64)
    part = steps - whole
    return whole, np.where(part < ROUNDING, 0.0, part)


def contracted_delay(scenario: Scenario) -> float:
    """Return the delay in s of which the fluid's time step is a part.

    It is the shortest of the links' delays, or, where that is longer, the shortest of these times: delays of links
    that are not at the ends of paths, of links with a discipline other than FIFO, and of those that feed them; a
    `PART_OF_TRIP` of the round trips; the times in which full buffers of the flows' slowest links empty.

    Examples
    --------
    An access link of 10 us does not set the step of a dumbbell:

    >>> from dfcmodel import Flow, Scenario, dumbbell
    >>> from responsefn import NewReno
    >>> ends = {"access_rate": 1e5, "access_delay": 1e-5, "buffer": 100}
    >>> links = dumbbell(2, rate=1e4, delay=0.02, **ends)
    >>> flows = [Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), NewReno()) for n in (1, 2)]
    >>> round(contracted_delay(Scenario("two", links, flows)), 6)
    0.000626
    """
    return max(shortest_delay(scenario), min(_times(scenario)))


def _times(scenario: Scenario) -> Iterator[float]:
    """Yield the times that a step has to resolve, s."""
    for n, link in enumerate(scenario.links):
        if type(link.discipline) is not FIFO:
            yield from (scenario.links[u].delay for u in (n, *scenario.feeders(n)) if u >= 0)
    routes, size = scenario.routes, scenario.packet_size
    slowest = routes.first_least(scenario.by_link(lambda link: link.rate))
    emptied = scenario.by_link(lambda link: buffer_in_packets(link, size) / link.rate)
    yield float(emptied[slowest].min())
    yield float(scenario.base_rtts().min()) / PART_OF_TRIP
    inner = np.ones(len(routes.places), dtype=np.bool_)
    inner[routes.begin] = inner[routes.begin + routes.counts - 1] = False
    if inner.any():
        yield float(scenario.by_link(lambda link: link.delay)[routes.places[inner]].min())
