"""Boxes of states with the same transitions, found by running the rules on stand-ins for the state.

The rules run as plain Python on objects in place of the state (`markov.generators.tracing`), which keep
for each component the values with the same answers to all that the rules asked: in that box of states
the transitions are the same, from each state by the same step.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from markov.generators.curves import Counted, kept, now
from markov.generators.edges import Edges
from markov.generators.tracing import Span, Traced, shift

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["Region", "edges_by_regions", "find_regions", "predicted_count", "steps_of"]

STATES_PER_RUN = 20  # that plain Python does in the time of a run on stand-ins
PROBED = 48  # states at random by which the number of regions is predicted
STAND_INS = Traced, Counted
DEFERRED = 0.3  # of the states: more are not left to plain Python


class Region(NamedTuple):
    """A box of states, ``low`` to ``high`` in each component, with the same ``(changes, rate)``.

    A rate may be a `Curve`. No moves but None: plain Python is to say what they are, or what is wrong.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    moves: list[tuple[tuple[int, ...], Any]] | None

    @property
    def size(self) -> int:
        """Number of states."""
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))


def predicted_count(calls: Calls, space: Space, *, counts: bool = False) -> float:
    """Return about how many regions a space has, as `find_regions` would find them; inf where there are none.

    Of states at random, the mean of one over the size of the region around each is the number of
    regions per state.
    """
    if not (space.whole and calls.takes_stand_ins):
        return math.inf
    share = 0.0
    numbers = np.random.default_rng(5).integers(space.size, size=PROBED)
    for code in space.unnumbered(numbers).T.tolist():
        ends = zip(code, space.low, space.shape, strict=True)
        spans = [Span(value, low, low + n - 1) for value, low, n in ends]
        _moves(calls, space, spans, counts=counts)
        share += 1.0 / math.prod(span.high - span.low + 1 for span in spans) / PROBED
    return share * space.size


def find_regions(
    calls: Calls,
    space: Space,
    most: int | None = None,
    read: Callable[[Any], float] = float,
    *,
    counts: bool = False,
) -> list[Region] | None:
    """Return boxes that fill a space of whole numbers, in each of which the transitions are the same.

    None where more than ``most`` boxes are needed (None: one for 20 states), or too many states would
    be left to plain Python. ``read`` gives the number that is kept of a rate; where ``counts`` is set,
    what depends on one component is kept as a curve.
    """
    if not (space.whole and calls.takes_stand_ins):
        return None
    most = space.size // STATES_PER_RUN if most is None else most
    found: list[Region] = []
    deferred = 0
    whole = tuple((c.values[0], c.values[-1]) for c in space.components)
    left = [(-space.size, whole)]
    while left:
        _, bounds = heappop(left)  # the largest: where values are read, it shows soon
        spans = [Span(low, low, high) for low, high in bounds]
        moves = _moves(calls, space, spans, read, counts=counts)
        used = [high - low + 1 for (low, high), s in zip(bounds, spans, strict=True) if s.read]
        region = Region(tuple(s.low for s in spans), tuple(s.high for s in spans), moves)
        found.append(region)
        deferred += region.size if moves is None else 0
        if len(found) + math.prod(used) > most or deferred > max(DEFERRED * space.size, 64):
            return None
        for n, (span, (_, high)) in enumerate(zip(spans, bounds, strict=True)):
            if span.high < high:
                inside = tuple((s.low, s.high) for s in spans[:n])
                rest = (*inside, (span.high + 1, high), *bounds[n + 1 :])
                heappush(left, (-math.prod(b - a + 1 for a, b in rest), rest))
    return found


def _moves(
    calls: Calls,
    space: Space,
    spans: list[Span],
    read: Callable[[Any], float] = float,
    *,
    counts: bool = False,
) -> list[tuple[tuple[int, ...], Any]] | None:
    """Return the transitions out of the lowest state of some spans, and narrow these."""
    places: list[Any] = list(map(Traced, spans))
    if counts:
        ranges: list[Any] = [component.values for component in space.components]
        pairs = zip(spans, ranges, strict=True)
        places, read = [Counted(span, n, own) for n, (span, own) in enumerate(pairs)], kept
    state = calls.with_names(space.joined(places))
    moves = []
    try:
        for target, rate in calls.rules(state, calls.q):
            values = space.flat(space.checked(target))
            if not all(type(v) in STAND_INS or _is_whole(v, space.exact) for v in values):
                return None
            rate = int(rate) if type(rate) is Traced else rate
            if isinstance(rate, (str, bytes)) or not 0.0 <= rate < math.inf:
                return None
            if rate > 0.0:
                moves.append((tuple(map(shift, values, spans)), read(rate)))
    except Exception:  # noqa: BLE001  # plain Python is to say what is wrong
        return None
    if not math.isfinite(sum(map(now, (rate for _, rate in moves)))):
        return None
    outside = [_inside(changes, space, spans) for changes, _ in moves]
    return None if False in outside else moves


def _is_whole(value: Any, exact: bool) -> bool:
    """Whether a component of a target is a whole number; ``exact``: an ``int``."""
    return type(value) is int or (not exact and bool(value == int(value)))


def _inside(changes: tuple[int, ...], space: Space, spans: list[Span]) -> bool:
    """Narrow spans to the states for which a target is inside of the space, or all are outside."""
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
    """Return by how much each transition changes a state's number, and its rate."""
    return [
        (sum(by * weight for by, weight in zip(changes, space.weights, strict=True)), rate)
        for changes, rate in region.moves or ()
    ]


def numbers_of(region: Region, space: Space) -> NDArray[np.int64]:
    """Return the numbers of the states of a region, ascending."""
    found = np.zeros(1, dtype=np.int64)
    parts = zip(region.low, region.high, space.low, space.shape, strict=True)
    for low, high, first, size in parts:
        found = np.add.outer(found * size, np.arange(low - first, high - first + 1)).ravel()
    return found


def edges_by_regions(found: list[Region], space: Space) -> Edges:
    """Return the transitions of regions that fill a space."""
    none = np.zeros(0, dtype=np.int64)
    sources, targets, rates, deferred = [none], [none], [np.zeros(0)], [none]
    for region in found:
        own = numbers_of(region, space)
        if region.moves is None:
            deferred.append(own)
        for step, rate in steps_of(region, space):
            sources.append(own)
            targets.append(own + step)
            rates.append(np.full(len(own), rate))
    parts: Any = sources, targets, rates, deferred
    return Edges(*map(np.concatenate, parts))
