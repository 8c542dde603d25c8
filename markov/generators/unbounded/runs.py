"""Runs of rules on a box of states: cuts where a comparison has two answers, or both ways are followed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from markov.generators.unbounded.polynomials import (
    Monomial,
    Polynomial,
    Terms,
    Unfollowed,
    added,
    is_whole,
    negated,
)

__all__ = ["Part", "Run", "bounds", "parts_of"]

MAX_PARTS = 600  # of a box
MAX_WAYS = 64  # through the rules in one box
MAX_VALUES = 60
"""Values of a component, less one, that are taken one by one where the rules need the number itself."""
Sides = tuple[int | None, ...]
Bound = Fraction | float


class _Cut(BaseException):
    """The box is to be cut where an offset is ``at``."""

    def __init__(self, variable: int, at: int) -> None:
        self.variable, self.at = variable, at


class _Split(BaseException):
    """The box is to be split by the remainders of an offset."""

    def __init__(self, variable: int, divisor: int) -> None:
        self.variable, self.divisor = variable, divisor


class Box(NamedTuple):
    """States whose components are those of a corner plus multiples y >= 0 of steps.

    Attributes
    ----------
    corner
        The components where ``y = 0``.
    sides
        Largest y of each component; None: no end.
    steps
        By how much each component grows with its y, >= 1.
    """

    corner: tuple[int, ...]
    sides: Sides
    steps: tuple[int, ...]

    def replaced(self, k: int, corner: int, side: int | None, step: int) -> Box:
        """Return the box with another range of one component."""

        def with_one(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
            return (*values[:k], value, *values[k + 1 :])

        return Box(with_one(self.corner, corner), with_one(self.sides, side), with_one(self.steps, step))

    def halves(self, cut: _Cut) -> list[Box]:
        """Return the states below a cut, and the others."""
        k, side, step = cut.variable, self.sides[cut.variable], self.steps[cut.variable]
        rest = None if side is None else side - cut.at
        return [
            self.replaced(k, self.corner[k], cut.at - 1, step),
            self.replaced(k, self.corner[k] + cut.at * step, rest, step),
        ]

    def remainders(self, split: _Split) -> list[Box]:
        """Return the states with each remainder of one offset."""
        k, side, step = split.variable, self.sides[split.variable], self.steps[split.variable]
        found = []
        for first in range(split.divisor if side is None else min(split.divisor, side + 1)):
            last = None if side is None else (side - first) // split.divisor
            corner = self.corner[k] + first * step
            found.append(self.replaced(k, corner, last, step * split.divisor))
        return found


class Part(NamedTuple):
    """States of a box for which the rules take one way.

    Attributes
    ----------
    corner, sides, steps
        As those of a `Box`.
    facts
        Polynomials that are >= 0 in these states.
    result
        What was computed, or None.
    refused
        Why the rules could not be followed; None where they could.
    """

    corner: tuple[int, ...]
    sides: Sides
    steps: tuple[int, ...]
    facts: tuple[Terms, ...]
    result: Any
    refused: str | None = None

    @property
    def unbounded(self) -> tuple[int, ...]:
        """The components without an end."""
        return tuple(k for k, side in enumerate(self.sides) if side is None)

    def state(self, offsets: Sequence[int]) -> tuple[int, ...]:
        """Return the components at some y."""
        triples = zip(self.corner, offsets, self.steps, strict=True)
        return tuple(low + y * step for low, y, step in triples)

    def offsets(self, values: Sequence[int]) -> list[int] | None:
        """Return the y of some components; None where they are not in the box."""
        found = []
        for value, low, side, step in zip(values, *self[:3], strict=True):
            y, rest = divmod(value - low, step)
            if rest or y < 0 or (side is not None and y > side):
                return None
            found.append(y)
        return found


class Run:
    """One run in a box, which answers comparisons of polynomials.

    Parameters
    ----------
    sides
        Largest offset of each component; None: no end.
    choices
        Answers to the first comparisons that both answers are followed of.
    """

    def __init__(self, sides: Sides, choices: Sequence[bool]) -> None:
        self.sides, self.width = sides, len(sides)
        self.choices = list(choices)
        self.asked = 0
        self.facts: list[Terms] = []

    def components(self, box: Box) -> list[Any]:
        """Return the components of the state: whole numbers where they have one value."""
        found: list[Any] = []
        for k, (low, side, step) in enumerate(zip(*box, strict=True)):
            if side == 0:
                found.append(low)
                continue
            own = tuple(int(k == j) for j in range(self.width))
            terms = {own: (Fraction(step), Fraction(step))}
            if low:
                terms[(0,) * self.width] = (Fraction(low), Fraction(low))
            found.append(Polynomial(self, terms))
        return found

    def nonnegative(self, d: Terms, *, strict: bool = False) -> bool:
        """Answer whether d >= 0, or d > 0, in all states; raise _Cut where the answers differ."""
        if strict and is_whole(d):
            one = {(0,) * self.width: (Fraction(-1), Fraction(-1))}
            return self.nonnegative(added(d, one))
        low, high = bounds(d, self.sides)
        if low > 0 or (low == 0 and not strict):
            return True
        if high < 0 or (high == 0 and strict):
            return False
        if any(a != b for a, b in d.values()):
            raise Unfollowed("a comparison of numbers that are known within bounds only")
        return self._undecided({m: a for m, (a, _) in d.items() if a}, strict)

    def bounds(self, d: Terms) -> tuple[Bound, Bound]:
        """Return bounds on d in the box; infinite where there is none."""
        return bounds(d, self.sides)

    def remainder(self, d: Terms, divisor: int) -> int:
        """Return the remainder of whole numbers, the same in all states; raise _Split where they differ."""
        constant = (0,) * self.width
        for m, (a, _) in d.items():
            if m != constant and a % divisor:
                raise _Split(next(k for k, power in enumerate(m) if power), divisor)
        return int(d.get(constant, (Fraction(0),))[0] % divisor)

    def isolate(self, d: Terms) -> None:
        """Raise _Cut where the components of d have few values, until each of them has one."""
        sides = {k: self.sides[k] for m in d for k, power in enumerate(m) if power}
        counts = {k: side for k, side in sides.items() if side is not None and side <= MAX_VALUES}
        if counts and len(counts) == len(sides):
            k, side = max(counts.items(), key=lambda pair: pair[1])
            raise _Cut(k, (side + 1) // 2)

    def _undecided(self, d: dict[Monomial, Fraction], strict: bool) -> bool:
        constant = d.get((0,) * self.width, Fraction(0))
        used = sorted({k for m in d for k, power in enumerate(m) if power})
        linear = all(sum(m) <= 1 for m in d)
        if not linear:
            signs = {a > 0 for m, a in d.items() if any(m)}
            if len(used) > 1 and len(signs) > 1:
                raise Unfollowed("a comparison of products of components")
            powers = [m for m in d if any(m)]
            raise _Cut(max(used, key=lambda k: sum(m[k] > 0 for m in powers)), 1)
        slopes = {k: d[tuple(int(j == k) for j in range(self.width))] for k in used}
        ends = [k for k in used if self.sides[k] is None]
        if len(used) == 1 or (ends and len({slope > 0 for slope in slopes.values()}) == 1):
            k = ends[0] if ends else used[0]
            at = -constant / slopes[k]
            rising = slopes[k] > 0
            closed = rising != strict  # where d is zero belongs above the cut
            raise _Cut(k, max(1, math.ceil(at) if closed else math.floor(at) + 1))
        return self._both(d, strict)

    def _both(self, d: dict[Monomial, Fraction], strict: bool) -> bool:
        """Follow both answers, each with what it says as a fact."""
        yes: Terms = {m: (a, a) for m, a in d.items()}
        no = negated(yes)
        if is_whole(yes) and not strict:  # d < 0 means -d >= 1
            no = added(no, {(0,) * self.width: (Fraction(-1), Fraction(-1))})
        if self._implied(yes):
            return True
        if self._implied(no) and (is_whole(yes) or strict):
            return False
        if self.asked == len(self.choices):
            self.choices.append(True)
        answer = self.choices[self.asked]
        self.asked += 1
        self.facts.append(yes if answer else no)
        return answer

    def _implied(self, d: Terms) -> bool:
        """Whether d >= 0 follows from a fact, or from two."""
        sums = [*self.facts, *(added(a, b) for a, b in combinations(self.facts, 2))]
        return any(bounds(added(d, fact, -1), self.sides)[0] >= 0 for fact in sums)


def bounds(d: Terms, sides: Sides) -> tuple[Bound, Bound]:
    """Return bounds on a polynomial in a box."""
    low: Bound = Fraction(0)
    high: Bound = Fraction(0)
    for m, (a, b) in d.items():
        largest: Bound = Fraction(1)
        for power, side in zip(m, sides, strict=True):
            if power:
                largest = math.inf if side is None else largest * side**power
        if not any(m):
            low, high = low + a, high + b
        else:
            low += _times(min(a, Fraction(0)), largest)
            high += _times(max(b, Fraction(0)), largest)
    return low, high


def _times(a: Fraction, b: Bound) -> Bound:
    return Fraction(0) if a == 0 else a * b if isinstance(b, Fraction) else math.copysign(b, a)


def parts_of(
    evaluate: Callable[[list[Any]], Any],
    corner: Sequence[int],
    sides: Sides,
    most: int = MAX_PARTS,
) -> list[Part]:
    """Return the parts of a box, and what a function of the components is in each.

    Parameters
    ----------
    evaluate
        Takes the components of a state, and may compare them.
    corner, sides
        The box.
    most
        Largest number of parts.

    Raises
    ------
    Unfollowed
        Where there are more parts.
    """
    found: list[Part] = []
    left = [Box(tuple(corner), tuple(sides), (1,) * len(sides))]
    while left:
        if len(found) + len(left) > most:
            raise Unfollowed(f"comparisons that cut the states into more than {most} parts")
        box = left.pop()
        try:
            found += _ways(evaluate, box)
        except _Cut as cut:
            left += box.halves(cut)
        except _Split as split:
            left += box.remainders(split)
    return found


def _ways(evaluate: Callable[[list[Any]], Any], box: Box) -> list[Part]:
    found = []
    choices: list[bool] = []
    while True:
        run = Run(box.sides, choices)
        result, refused = None, None
        try:
            result = evaluate(run.components(box))
        except Unfollowed as stop:
            refused = str(stop)
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            refused = f"{type(error).__name__}: {error}"
        found.append(Part(*box, tuple(run.facts), result, refused))
        if len(found) > MAX_WAYS:
            raise Unfollowed(f"more than {MAX_WAYS} ways through the comparisons of components")
        choices = run.choices[: run.asked]
        while choices and not choices[-1]:
            choices.pop()
        if not choices:
            return found
        choices[-1] = False
