"""Boxes of states with the same transitions, from runs of the rules on stand-ins for the state.

The rules run as plain Python on objects in place of the components (`markov.generators.standins`), which keep the
values with the same answers to every question of the rules. In that box of states the transitions are the same, from
each state by the same step. Grids without a matrix and derivatives of rates are made of such boxes.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.generators.plain import Edges
from markov.generators.standins import Counted, Span, Traced, as_rate, component_change, current_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.generators.plain import Calls
    from markov.models.spaces import Space

__all__ = ["Region", "edges_by_regions", "find_regions", "steps_of"]

STATES_PER_REGION = 20
"""Fewest states per region, on average: plain Python runs in this many states in the time of a run on stand-ins."""
FIRST_REGIONS = 8
"""Boxes after which their number is predicted: for chains of 1e5 to 2e7 states, below 7 % of the limit or 60 times."""
MAX_DEFERRED_SHARE, MIN_DEFERRED = 0.3, 64
"""Largest share of the states that is left to plain Python, and the number that always may be."""


class Region(NamedTuple):
    """A box of states, ``low`` to ``high`` in each component, that share the moves (component changes, rate).

    A rate may be a `Curve`. Without moves (None) plain Python computes them, or reports their error.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    moves: list[tuple[tuple[int, ...], Any]] | None

    @property
    def size(self) -> int:
        """Number of states of the region."""
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))


def find_regions(
    calls: Calls,
    space: Space,
    max_regions: int | None = None,
    read: Callable[[Any], float] = float,
    *,
    counts: bool = False,
    predict: bool = False,
) -> list[Region] | None:
    """Divide a space of integers into boxes in each of which the transitions are the same; return them as `Region`.

    Parameters
    ----------
    calls, space
        The rules and the states.
    max_regions
        Largest number of boxes; None: one for `STATES_PER_REGION` states.
    read
        Converts a rate to a float.
    counts
        Whether numbers that depend on one component are curves.
    predict
        Whether to stop after `FIRST_REGIONS` boxes if, at their mean size, more than ``max_regions`` would be needed.

    Returns
    -------
    list or None
        None if more boxes are needed or predicted, or too many states would be left to plain Python.
    """
    if not (space.has_only_integers and calls.takes_stand_ins):
        return None
    max_regions = space.size // STATES_PER_REGION if max_regions is None else max_regions
    max_deferred = max(MAX_DEFERRED_SHARE * space.size, MIN_DEFERRED)
    regions: list[Region] = []
    deferred = 0
    heap = [(-space.size, tuple((c.values[0], c.values[-1]) for c in space.components))]
    while heap:
        _, bounds = heappop(heap)  # the largest box: a component whose values are read shows soon
        spans = [Span(low, low, high) for low, high in bounds]
        moves = _run_in_corner(calls, space, spans, read, counts=counts)
        values_read = [high - low + 1 for (low, high), s in zip(bounds, spans, strict=True) if s.read]
        region = Region(tuple(s.low for s in spans), tuple(s.high for s in spans), moves)
        regions.append(region)
        deferred += region.size if moves is None else 0
        if len(regions) + math.prod(values_read) > max_regions or deferred > max_deferred:
            return None
        for k, (span, (_, high)) in enumerate(zip(spans, bounds, strict=True)):
            if span.high < high:
                inside = tuple((s.low, s.high) for s in spans[:k])
                remaining = (*inside, (span.high + 1, high), *bounds[k + 1 :])
                heappush(heap, (-math.prod(b - a + 1 for a, b in remaining), remaining))
        if len(regions) + len(heap) > max_regions:  # each remaining box is a region at least
            return None
        if predict and len(regions) == FIRST_REGIONS:
            covered = sum(each.size for each in regions)
            if len(regions) * space.size > max_regions * covered:
                return None
    return regions


def _run_in_corner(
    calls: Calls, space: Space, spans: list[Span], read: Callable[[Any], float], *, counts: bool
) -> list[tuple[tuple[int, ...], Any]] | None:
    """Return (component changes, rate) of the lowest state of ``spans``, narrowed to where they hold.

    None if stand-ins cannot give them, or if they are invalid or leave the space: they are left to plain Python.
    """
    components: list[Any] = list(map(Traced, spans))
    if counts:
        ranges: list[Any] = [component.values for component in space.components]
        components = [Counted(span, k, values) for k, (span, values) in enumerate(zip(spans, ranges, strict=True))]
        read = as_rate
    state = calls.name_fields(space.assemble(components))
    moves = []
    try:
        for target, rate in calls.rules(state, calls.q):
            values = space.flatten(space.as_tuple(target))
            if not all(type(v) in (Traced, Counted) or _is_integer(v, space.exact) for v in values):
                return None
            rate = int(rate) if type(rate) is Traced else rate
            if isinstance(rate, (str, bytes)) or not 0.0 <= rate < math.inf:
                return None
            if rate > 0.0:
                moves.append((tuple(map(component_change, values, spans)), read(rate)))
    except Exception:  # noqa: BLE001  # plain Python reports the error
        return None
    if not math.isfinite(sum(map(current_value, (rate for _, rate in moves)))):
        return None
    inside = [_narrow_to_targets(changes, space, spans) for changes, _ in moves]
    return None if False in inside else moves


def _is_integer(value: Any, exact: bool) -> bool:
    """Return whether a target's component is an integer of any type; with ``exact``, whether it is an ``int``."""
    return type(value) is int or (not exact and bool(value == int(value)))


def _narrow_to_targets(changes: tuple[int, ...], space: Space, spans: list[Span]) -> bool:
    """Narrow ``spans`` to states whose targets are all inside the space, or all outside; return whether inside."""
    for change, span, component in zip(changes, spans, space.components, strict=True):
        if not change:
            continue
        first, last = component.values[0], component.values[-1]
        if span.value + change > last:
            span.low = max(span.low, last - change + 1)
            return False
        if span.value + change < first:
            span.high = min(span.high, first - change - 1)
            return False
        span.low, span.high = max(span.low, first - change), min(span.high, last - change)
    return True


def steps_of(region: Region, space: Space) -> list[tuple[int, float]]:
    """Return (change of the state's number, rate) for each move of a region."""
    return [
        (sum(by * weight for by, weight in zip(changes, space.weights, strict=True)), rate)
        for changes, rate in region.moves or ()
    ]


def numbers_of(region: Region, space: Space) -> NDArray[np.int64]:
    """Return the numbers in the space of a region's states, ascending, shape (states,)."""
    numbers = np.zeros(1, dtype=np.int64)
    for low, high, first, size in zip(region.low, region.high, space.low, space.shape, strict=True):
        numbers = np.add.outer(numbers * size, np.arange(low - first, high - first + 1)).ravel()
    return numbers


def edges_by_regions(regions: list[Region], space: Space) -> Edges:
    """Return the transitions of all states of regions that fill a space; states without moves are deferred."""
    none = np.zeros(0, dtype=np.int64)
    sources, targets, rates, deferred = [none], [none], [np.zeros(0)], [none]
    for region in regions:
        numbers = numbers_of(region, space)
        if region.moves is None:
            deferred.append(numbers)
        for step, rate in steps_of(region, space):
            sources.append(numbers)
            targets.append(numbers + step)
            rates.append(np.full(len(numbers), rate))
    parts: Any = sources, targets, rates, deferred
    return Edges(*map(np.concatenate, parts))
