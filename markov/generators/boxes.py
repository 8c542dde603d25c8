"""The ways to the chain of a model without a space, within a box of states that its rules do not leave.

The box is what following the rules for all states at once gives (`markov.generators.unbounded.hulls`). Whether they leave
it is seen again in every transition; where they do, or a component is no ``int``, plain Python goes on.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from hopflow.errors import RuleError
from markov.generators.calls import Calls
from markov.generators.closures import NUMBERED
from markov.generators.ways import Ways

if TYPE_CHECKING:
    from collections.abc import Callable

    from markov.generators.built_chains import Built
    from markov.generators.unbounded.hulls import Hull
    from markov.models.spaces import Space

__all__ = ["WaysInBox"]


class WaysInBox(Ways):
    """The ways by regions and by arrays, over the box of a closed set of states."""

    @classmethod
    def of(cls, ways: Ways, hull: Hull) -> Self | None:
        """Return the ways over the box of a hull; None where it has no end, or other values than whole numbers."""
        box = _box_of(hull)
        if box is None or ways.start is None or box.size >= NUMBERED or not box.coded:
            return None
        found = cls.__new__(cls)
        found.__dict__.update(copy(ways.__dict__))
        found.declared = box
        found.calls = Calls(ways.model, box)
        return found

    def by_regions(self, seconds: float = np.inf) -> Built | None:
        """Run the rules once for each region of states with the same transitions."""
        return self._within(super().by_regions, seconds)

    def by_arrays(self, seconds: float = np.inf) -> Built | None:
        """Run the rules on arrays of states."""
        return self._within(super().by_arrays, seconds)

    def _within(self, way: Callable[[float], Built | None], seconds: float) -> Built | None:
        """Return the chain on the smallest space that has its states; None where plain Python is to go on."""
        try:
            found = way(seconds)
        except RuleError:  # a state outside of the box: plain Python says whether anything is wrong
            return None
        if found is None:
            return None
        ends = zip(found.codes.min(axis=1).tolist(), found.codes.max(axis=1).tolist(), strict=True)
        space = found.space.within([range(low, high + 1) for low, high in ends])
        return found._replace(space=space)


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
