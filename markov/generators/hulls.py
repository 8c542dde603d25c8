"""A set of states that no transition leaves: a range of each component in each mode, which may be unbounded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from markov.generators.polynomials import Terms, Unfollowed, is_positive, terms_of
from markov.generators.unbounded import Layout, Mode, Move, Part, parts_of

if TYPE_CHECKING:
    from markov.generators.plain import Calls

__all__ = ["Hull", "hull_of"]

MAX_MODES = 400
MAX_MODE_VALUES = 24
"""Values of a component of a mode; with more, the component is a range."""
MAX_STEPS = 24
"""Steps by which an upper limit grows before it counts as infinite, and a lower one before the search is refused."""
MAX_CYCLE_STARTS, MAX_CYCLE_STATES = 8, 400
"""States from which a cycle of moves through several modes is searched, and states that one search visits."""
Range = tuple[int, float]


class Hull:
    """A set of states that no rule leaves: for each value of the few-valued components, a range of all others.

    A mode is a tuple of values of the components with few values.

    Parameters
    ----------
    layout
        Division of the states into components and modes.

    Attributes
    ----------
    low, high
        First and last value of each component in each mode; inf: unbounded.
    parts
        Parts of the states of each mode, with the moves out of them.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.low: dict[Mode, list[int]] = {}
        self.high: dict[Mode, list[float]] = {}
        self.parts: dict[Mode, list[Part]] = {}
        for state in layout.states:
            mode, values = layout.split(state)
            self.widen(mode, [(v, v) for v in values])
        self._close()

    def widen(self, mode: Mode, ranges: Sequence[Range]) -> bool:
        """Widen the ranges of the hull in a mode to include ``ranges``; return whether they grew."""
        if mode not in self.low:
            if len(self.low) >= MAX_MODES:
                raise Unfollowed(f"more than {MAX_MODES} combinations of components with few values")
            self.low[mode] = [low for low, _ in ranges]
            self.high[mode] = [high for _, high in ranges]
            return True
        before = list(self.low[mode]), list(self.high[mode])
        self.low[mode] = [min(a, low) for a, (low, _) in zip(before[0], ranges, strict=True)]
        self.high[mode] = [max(b, high) for b, (_, high) in zip(before[1], ranges, strict=True)]
        return (self.low[mode], self.high[mode]) != before

    def sides(self, mode: Mode, corner: Sequence[int]) -> tuple[int | None, ...]:
        """Return each component's largest offset from ``corner`` in the hull of a mode; None: unbounded."""
        bounds = zip(corner, self.high[mode], strict=True)
        return tuple(None if high == math.inf else int(high) - low for low, high in bounds)

    def contains(self, state: Any) -> bool:
        """Return whether ``state`` belongs to the hull; False for a value that is no state."""
        try:
            mode, values = self.layout.split(self.layout.space.as_tuple(state))
            low = self.low.get(mode)
        except (TypeError, ValueError):
            return False
        if low is None or any(type(value) is not int for value in values):
            return False
        bounds = zip(low, values, self.high[mode], strict=True)
        return all(first <= value <= last for first, value, last in bounds)

    def _close(self) -> None:
        """Widen the ranges until no rule leaves the hull, and set ``parts``; Unfollowed if that cannot be done."""
        growth: dict[Mode, int] = dict.fromkeys(self.low, 0)
        stack = list(self.low)
        while stack:
            mode = stack.pop()
            open_box = (None,) * len(self.layout.free)
            moves = self.layout.moves
            self.parts[mode] = parts_of(partial(moves, mode), self.low[mode], open_box)
            for target_mode, ranges in self._target_ranges(mode):
                lower = target_mode in self.low and any(
                    a < b for (a, _), b in zip(ranges, self.low[target_mode], strict=True)
                )
                steps = growth.get(target_mode, 0)
                if lower and steps > MAX_STEPS:
                    raise Unfollowed(f"{self._falling_component(target_mode, ranges)} may have no least value")
                if steps > MAX_STEPS:
                    before = self.high.get(target_mode, [math.inf] * len(ranges))
                    ranges = [
                        (low, math.inf if high > end else high) for (low, high), end in zip(ranges, before, strict=True)
                    ]
                if self.widen(target_mode, ranges):
                    growth[target_mode] = steps + 1
                    if target_mode not in stack:
                        stack.append(target_mode)
        for mode in self.parts:
            self.parts[mode] = [part for part in self.parts[mode] if self._offset_ranges(mode, part)]

    def _falling_component(self, mode: Mode, ranges: Sequence[Range]) -> str:
        """Return the name of the first component whose range begins below its range in the hull; there must be one."""
        pairs = zip(self.layout.names, ranges, self.low[mode], strict=True)
        return next(name for name, (a, _), b in pairs if a < b)

    def _offset_ranges(self, mode: Mode, part: Part) -> list[tuple[int, float]] | None:
        """Return (first, last) offset of each component from a part's corner in the hull; None if they do not meet."""
        ranges = []
        pairs = zip(*part[:3], self.low[mode], self.high[mode], strict=True)
        for corner, side, step, low, high in pairs:
            first = max(0, -((corner - low) // step))
            last = high if high == math.inf else (high - corner) // step
            if side is not None:
                last = min(last, side)
            if first > last:
                return None
            ranges.append((first, last))
        for fact in part.facts:
            if bounds_in_ranges(fact, ranges)[1] < 0:
                return None
            ranges = _narrow_ranges(fact, ranges)
        return ranges

    def _target_ranges(self, mode: Mode) -> list[tuple[Mode, list[Range]]]:
        """Return (target mode, range of each target component) for each move out of the hull's states of a mode."""
        targets_of_moves = []
        for part in self.parts[mode]:
            inside = self._offset_ranges(mode, part)
            if inside is None:
                continue
            if part.refused is not None:
                raise Unfollowed(part.refused)
            for target_mode, targets, _ in part.result:
                ranges: list[Range] = []
                for k, target in enumerate(targets):
                    terms = terms_of(target, len(targets)) or {}
                    low, high = bounds_in_ranges(terms, inside)
                    if low == -math.inf:
                        raise Unfollowed(f"{self.layout.names[k]} may have no least value")
                    if target_mode == mode and high > self.high[mode][k] and _adds_to_component(terms, k, part):
                        side = part.sides[k]  # repeated up to the boundary of this part
                        last = math.inf
                        if side is not None:
                            last = float(part.corner[k] + side * part.steps[k])
                        high = max(high, last + high - self.high[mode][k])
                    ranges.append((int(low), high if high == math.inf else int(high)))
                targets_of_moves.append((target_mode, ranges))
        return targets_of_moves

    def component_changes(self, move: Move, part: Part) -> list[int]:
        """Return the change of each component by a move; all 1 if the changes differ between states of the part."""
        shift = _constant_shift(move, part)
        return [1] * len(part.corner) if shift is None else [int(by) for by in shift]

    # Infinitely many states

    @property
    def unbounded(self) -> bool:
        """Whether a component of the hull has no largest value."""
        return any(math.inf in bounds for bounds in self.high.values())

    @property
    def is_infinite(self) -> bool:
        """Whether infinitely many states can be reached for certain; False if that is not proved.

        Either all states have a move that increases the sum of the unbounded components, or the start leads to a state
        with a move, or a cycle of moves through several modes, that is possible again and again along an infinite ray.
        """
        return self.unbounded and (self._always_grows() or self._has_ray())

    def _always_grows(self) -> bool:
        """Return whether every part has a move with a positive rate that increases the sum of the components."""
        for parts in self.parts.values():
            for part in parts:
                if not any(_increases_sum(move, part) for move in part.result):
                    return False
            if not parts:
                return False
        return True

    def _has_ray(self) -> bool:
        starts = [self.layout.split(state) for state in reversed(self.layout.states)]
        for mode, values in starts:
            for move, part, offsets in self._moves_from(mode, values):
                shift = _constant_shift(move, part)
                if move[0] == mode and shift is not None and _is_open_along(move, part, offsets, shift):
                    return True
        return any(self._has_cycle(mode, values) for mode, values in starts[:MAX_CYCLE_STARTS])

    def _moves_from(self, mode: Mode, values: Sequence[int]) -> Iterator[tuple[Move, Part, Sequence[int]]]:
        """Yield the moves from a state, each with its part and the state's offsets in it."""
        for part in self.parts[mode]:
            offsets = part.offsets(values)
            if offsets is not None and all(bounds_at(fact, offsets)[0] >= 0 for fact in part.facts):
                for move in part.result:
                    yield move, part, offsets

    def _has_cycle(self, start_mode: Mode, start: Sequence[int]) -> bool:
        """Return whether moves through other modes lead back to a mode, further along a ray on which they repeat.

        Phases of arrivals are such modes. Each move must be possible, with the same change, at all states of its part
        along the change of the whole cycle.
        """
        stack: list[tuple[Mode, tuple[Fraction, ...], tuple[tuple[Move, Part, Sequence[int]], ...], frozenset[Mode]]]
        stack = [(start_mode, tuple(map(Fraction, start)), (), frozenset())]
        for _ in range(MAX_CYCLE_STATES):
            if not stack:
                return False
            mode, values, path, modes = stack.pop()
            for move, part, offsets in self._moves_from(mode, [int(v) for v in values]):
                shift = _constant_shift(move, part)
                if shift is None or move[0] not in self.parts:
                    continue
                next_values = tuple(v + by for v, by in zip(values, shift, strict=True))
                steps = (*path, (move, part, offsets))
                if move[0] == start_mode:
                    total = [v - first for v, first in zip(next_values, start, strict=True)]
                    if all(_is_open_along(*step, total) for step in steps):
                        return True
                elif move[0] not in modes:
                    stack.append((move[0], next_values, steps, modes | {move[0]}))
        return False


def hull_of(calls: Calls, states: Sequence[Any]) -> Hull:
    """Return a `Hull` that contains the searched ``states`` of a model: a set of states that no rule leaves.

    Raises
    ------
    Unfollowed
        When the rules cannot be followed for all states of the set.
    """
    if not calls.takes_stand_ins:
        raise Unfollowed("they ask for the type or the identity of numbers")
    try:
        return _build_hull(calls, states, substitute=False)
    except Unfollowed as stop:
        try:
            return _build_hull(calls, states, substitute=True)
        except Unfollowed as second:
            raise second from stop


def _build_hull(calls: Calls, states: Sequence[Any], *, substitute: bool) -> Hull:
    """Return the hull of ``states``; integer components with many values in it are promoted to ranges.

    ``substitute`` replaces functions of `math` in the rules, as for `Layout`.
    """
    promoted: frozenset[int] = frozenset()
    while True:
        layout = Layout(calls, states, promoted, substitute=substitute)
        try:
            hull = Hull(layout)
            modes = list(hull.low)
            more = {
                k
                for column, k in zip(zip(*modes, strict=True), layout.others, strict=False)
                if len(set(column)) > MAX_MODE_VALUES and all(type(v) is int for v in column)
            }
            if not more:
                return hull
        except Unfollowed:
            more = set() if promoted else {k for k in layout.others if _has_several_integers(layout, k)}
            if not more:
                raise
        promoted |= more


def _has_several_integers(layout: Layout, k: int) -> bool:
    """Return whether component ``k`` has more than two values in the searched states, all of them ``int``."""
    column = {layout.space.flatten(state)[k] for state in layout.states}
    return len(column) > 2 and all(type(v) is int for v in column)


def bounds_in_ranges(terms: Terms, inside: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Return a lower and an upper bound on a polynomial whose offsets lie in the ranges ``inside``."""
    low = high = 0.0
    for m, (a, b) in terms.items():
        smallest = largest = 1.0
        for power, (first, last) in zip(m, inside, strict=True):
            if power:
                smallest = smallest * first**power
                largest = largest * last**power if largest and last else 0.0
        low += float(a) * (smallest if a > 0 else largest) if a else 0.0
        high += float(b) * (largest if b > 0 else smallest) if b else 0.0
    return low, high


def bounds_at(terms: Terms, offsets: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return bounds on a polynomial, whose coefficients are intervals, at one state's offsets >= 0 from a corner."""
    low = high = Fraction(0)
    for m, (a, b) in terms.items():
        size = math.prod(y**power for y, power in zip(offsets, m, strict=True))
        low, high = low + a * size, high + b * size
    return low, high


def _narrow_ranges(fact: Terms, inside: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the offset ranges in which a linear polynomial can be >= 0; ``inside`` if it is not linear."""
    if any(sum(m) > 1 for m in fact):
        return inside
    narrowed = list(inside)
    _, total = bounds_in_ranges(fact, inside)
    for m, (slope, _) in fact.items():
        if not any(m) or not slope:
            continue
        k = m.index(1)
        first, last = narrowed[k]
        term = float(slope) * (last if slope > 0 else first)
        if term == math.inf or (total == math.inf and not math.isfinite(term)):
            others = {key: coefficients for key, coefficients in fact.items() if key != m}
            remaining = bounds_in_ranges(others, inside)[1]
        else:
            remaining = total - term
        if remaining == math.inf:
            continue
        limit = -remaining / float(slope)
        if slope > 0:
            first = max(first, math.ceil(limit - 1e-9))
        else:
            last = min(last, math.floor(limit + 1e-9))
        narrowed[k] = first, last
    return narrowed


def _adds_to_component(terms: Terms, k: int, part: Part) -> bool:
    """Return whether component ``k`` of a target is that of the source state plus a polynomial in other offsets."""
    linear = tuple(int(j == k) for j in range(len(next(iter(terms), ()))))
    return linear in terms and terms[linear][0] == part.steps[k]


def _constant_shift(move: Move, part: Part) -> list[Fraction] | None:
    """Return the change of each component by a move; None if it is not the same in all states of a part."""
    shift = []
    for k, (target, corner) in enumerate(zip(move[1], part.corner, strict=True)):
        terms = dict(terms_of(target, len(move[1])) or {})
        linear = tuple(int(j == k) for j in range(len(move[1])))
        constant = terms.pop((0,) * len(move[1]), (Fraction(0), Fraction(0)))
        slope = terms.pop(linear, (Fraction(0), Fraction(0)))[0]
        if terms or slope != (part.steps[k] if part.sides[k] != 0 else 0):
            return None
        shift.append(constant[0] - corner)
    return shift


def _increases_sum(move: Move, part: Part) -> bool:
    """Return whether a move has a positive rate in all states of a part and increases the sum of the components."""
    shift = _constant_shift(move, part)
    return bool(is_positive(move[2]) and shift is not None and sum(shift) > 0)


def _is_open_along(move: Move, part: Part, offsets: Sequence[int], shift: Sequence[Fraction]) -> bool:
    """Whether a move from a state is possible in all states that follow by adding a change, again and again."""
    if not any(shift) or min(shift) < 0:
        return False
    if any(by and side is not None for by, side in zip(shift, part.sides, strict=True)):
        return False
    if any(by % step for by, step in zip(shift, part.steps, strict=True)):
        return False  # leads to states with other remainders
    shift = [by / step for by, step in zip(shift, part.steps, strict=True)]
    width = len(part.corner)
    for fact in part.facts:
        if any(sum(m) > 1 for m in fact):
            return False
        slopes = (fact.get(tuple(int(j == k) for j in range(width)), (0, 0)) for k in range(width))
        if sum(slope[0] * by for slope, by in zip(slopes, shift, strict=True)) < 0:
            return False
    if is_positive(move[2]):
        return True
    rate = terms_of(move[2], width) or {}
    rising = all(low >= 0 for m, (low, _) in rate.items() if any(m))
    return rising and bounds_at(rate, offsets)[0] > 0
