"""The ways to the chain of a model without a space, within a box of states that its rules do not leave.

The box is what following the rules for all states at once gives (`markov.generators.unbounded.hulls`); where they cannot be
followed, one around the first states that grows. Whether they leave it is seen again in every transition; where they do, or
a component is no ``int``, plain Python goes on.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hopflow.errors import RuleError
from markov.generators.calls import Calls
from markov.generators.ways import Ways
from markov.models.spaces import NUMBERED, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from markov.generators.array_rules.chains import ArrayChain
    from markov.generators.built_chains import Built
    from markov.generators.unbounded.hulls import Hull

__all__ = ["WaysInBox", "WaysInGrowingBox"]

FIRST_BOX = 1 << 24  # states: a search costs a byte for each of them


class WaysInBox(Ways):
    """The ways by regions and by arrays, over the box of a closed set of states."""

    @classmethod
    def of(cls, ways: Ways, hull: Hull) -> Self | None:
        """Return the ways over the box of a hull; None where it has no end, or other values than whole numbers."""
        box = _box_of(hull)
        return None if box is None or not _fits(box) else cls._over(ways, box)

    @classmethod
    def _over(cls, ways: Ways, box: Space) -> Self:
        found = cls.__new__(cls)
        found.__dict__.update(copy(ways.__dict__))
        found.declared, found.calls = box, Calls(ways.model, box)
        return found

    def by_regions(self) -> Built | None:
        """Run the rules once for each region of states with the same transitions."""
        return self._within(super().by_regions)

    def by_arrays(self) -> Built | None:
        """Run the rules on arrays of states."""
        return self._within(super().by_arrays)

    def _within(self, way: Callable[[], Built | None]) -> Built | None:
        """Return the chain on the smallest space that has its states; None where plain Python is to go on."""
        try:
            found = way()
        except RuleError:  # a state outside of the box: plain Python says whether anything is wrong
            return None
        if found is None:
            return None
        ends = zip(found.codes.min(axis=1).tolist(), found.codes.max(axis=1).tolist(), strict=True)
        space = found.space.within([range(low, high + 1) for low, high in ends])
        return found._replace(space=space)


class WaysInGrowingBox(WaysInBox):
    """The way by arrays, over a box around the first states that grows where the rules leave it."""

    asks_everywhere = False

    @classmethod
    def around(cls, ways: Ways, states: Sequence[Any]) -> Self | None:
        """Return the ways over a box that has some states; None where they have other values than whole numbers."""
        space = Space.found(ways.model.State, states)
        if not space.whole or not _fits(space):
            return None
        ranges: list[Any] = [c.values for c in space.components]
        while space.size <= FIRST_BOX:
            ranges = [_longer(values) for values in ranges]
            space = space.within(ranges)
        return cls._over(ways, space.within(ranges, exact=True)) if _fits(space) else None

    def by_regions(self) -> Built | None:
        """Return None: regions reach to the ends of the box."""
        return None

    def _with_invalid(self, found: ArrayChain) -> Built | None:
        """Try again over a box that has the targets of the state with an invalid transition."""
        assert found.invalid is not None
        code = self.space.unnumbered(np.array([found.invalid]))[:, 0]
        state = self.calls.with_names(self.space.state(code))
        ranges: list[Any] = [c.values for c in self.space.components]
        grown = list(ranges)
        with suppress(Exception):  # what is wrong with the rules plain Python says
            for target, rate in self.calls.rules(state, self.calls.q):
                if rate > 0.0:
                    values = self.space.flat(self.space.checked(target))
                    grown = [_longer_to(r, v) for r, v in zip(grown, values, strict=True)]
        box = self.space.within(grown, exact=True)
        if grown == ranges or not _fits(box):
            return None
        self.declared, self.calls = box, Calls(self.model, box)
        return Ways.by_arrays(self)


def _longer(values: range) -> range:
    return range(values.start, values.stop + len(values))


def _longer_to(values: range, target: Any) -> range:
    """Return a range that is at least twice as long and has a whole number outside of it, or the same range."""
    if type(target) is not int or target in values:
        return values
    size = len(values)
    if target < values.start:
        return range(min(target, values.start - size), values.stop)
    return range(values.start, max(target + 1, values.stop + size))


def _fits(box: Space) -> bool:
    return box.size < NUMBERED and box.coded


def _box_of(hull: Hull) -> Space | None:
    """Return the smallest product of ranges that has the states of a hull."""
    layout = hull.layout
    if hull.unbounded or not layout.space.whole:
        return None
    values: list[list[Any]] = [[] for _ in range(layout.width)]
    for mode, low in hull.low.items():
        for k, value in zip(layout.others, mode, strict=True):
            values[k].append(value)
        for k, first, last in zip(layout.free, low, hull.high[mode], strict=True):
            values[k] += [first, int(last)]
    if any(type(value) is not int for column in values for value in column):
        return None
    return layout.space.within([range(min(v), max(v) + 1) for v in values], exact=True)
