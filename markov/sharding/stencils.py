"""Transitions of a model as changes of its components, without a matrix.

A chain on a box of whole numbers has few kinds of transitions: each changes the components by fixed
amounts, at a rate that is the same on large boxes of states (`markov.generators.regions`). Along the
component by which the states are spread over devices, its values fall into a few classes of equal rates;
for each class and each change the rates of one slice of the box are held, and no more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hopflow.checks import choice
from hopflow.errors import RuleError, location_of
from markov.generators.calls import Calls
from markov.generators.regions import find_regions
from markov.models.spaces import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.regions import Region
    from markov.models.rules import ChainModel

__all__ = ["Stencil", "stencil_of"]

SAMPLE = 200
"""States at random in which the transitions are compared with plain Python."""
AGREEMENT = 1e-14
"""Relative difference of rates that are summed in another order."""


class Stencil(NamedTuple):
    """Changes and rates of a chain on a box of C components, the spread one first.

    Attributes
    ----------
    order
        The places of the components in the model's state.
    shape
        Number of values of each, in that order.
    changes
        D different ones, (C,) whole numbers each.
    classes
        Of each value of the spread component: the class of its rates, shape (shape[0],).
    rates
        Of each change, in each class, over the other components, in 1/s; shape (D, classes + 1,
        *shape[1:]). The last class has none: it is for values beyond the box.
    """

    order: tuple[int, ...]
    shape: tuple[int, ...]
    changes: tuple[tuple[int, ...], ...]
    classes: NDArray[np.int64]
    rates: NDArray[np.float64]


def stencil_of(model: ChainModel, along: str | None = None) -> tuple[Space, Stencil]:
    """Return the space of a model, and its transitions.

    Parameters
    ----------
    model
        Its rules and its space of whole numbers.
    along
        The component whose values are spread over devices; None: the one with the most values for the
        longest change.

    Raises
    ------
    RuleError
        For a model without a space of whole numbers, or rules that are not alike on boxes.
    ValueError
        For a component that there is not.
    """
    where = location_of(model.rules)
    if not model.has_space:
        raise RuleError.at(where, f"{model.name} declares no space", "write space()")
    space = Space.of(model.State, model.space(), model.name)
    calls = Calls(model, space)
    found = find_regions(calls, space, most=max(space.size // 4, 64))
    if found is None or any(region.moves is None for region in found):
        said = f"{model.name}: its rules are not alike on large boxes of whole numbers"
        hint = "they compare the state with numbers and add to it, and rates do not depend on its values"
        raise RuleError.at(where, said, hint)
    changes = sorted({move for region in found for move, _ in region.moves or () if any(move)})
    if not changes:
        raise RuleError.at(where, f"{model.name}: its rules lead from no state to another")
    axis = _spread(space, changes, along)
    order = (axis, *(n for n in range(len(space.shape)) if n != axis))
    stencil = _stencil(space, found, changes, order)
    _compare(model, calls, space, stencil)
    return space, stencil


def _spread(space: Space, changes: list[tuple[int, ...]], along: str | None) -> int:
    if along is not None:
        return space.names.index(choice("along", along, space.names))
    longest = [max(1, *(abs(change[n]) for change in changes)) for n in range(len(space.shape))]
    ratios = [size / long for size, long in zip(space.shape, longest, strict=True)]
    return ratios.index(max(ratios))


def _stencil(space: Space, found: list[Region], changes: list[tuple[int, ...]], order: tuple[int, ...]) -> Stencil:
    axis, first = order[0], space.low[order[0]]
    begins = np.array(sorted({region.low[axis] - first for region in found}))
    classes = np.searchsorted(begins, np.arange(space.shape[axis]), side="right") - 1
    shape = tuple(space.shape[n] for n in order)
    rates = np.zeros((len(changes), len(begins) + 1, *shape[1:]))
    place = {change: n for n, change in enumerate(changes)}
    for region in found:
        low, high = region.low[axis] - first, region.high[axis] - first
        own = [slice(classes[low], classes[high] + 1)]
        own += [slice(region.low[n] - space.low[n], region.high[n] - space.low[n] + 1) for n in order[1:]]
        for change, rate in region.moves or ():
            if any(change):
                rates[place[change]][tuple(own)] += rate
    turned = tuple(tuple(change[n] for n in order) for change in changes)
    return Stencil(order, shape, turned, classes, rates)


def _compare(model: ChainModel, calls: Calls, space: Space, stencil: Stencil) -> None:
    """Compare the transitions out of some states, corners of the box among them, with plain Python."""
    rng = np.random.default_rng(0)
    some = [rng.integers(n, size=SAMPLE) for n in stencil.shape]
    ends = np.indices([min(n, 2) for n in stencil.shape]).reshape(len(stencil.shape), -1)
    corners = [np.where(e, n - 1, 0) for e, n in zip(ends, stencil.shape, strict=True)]
    for place in np.concatenate([np.array(some), np.array(corners)], axis=1).T:
        codes = np.empty(len(place), dtype=np.int64)
        codes[list(stencil.order)] = place
        codes += np.array(space.low)
        state = space.state(codes)
        expected: dict[tuple[int, ...], list[float]] = {}
        for target, rate in calls.transitions(calls.known(state)):
            change = tuple((space.codes([target])[:, 0] - codes)[list(stencil.order)].tolist())
            if any(change) and rate:
                expected.setdefault(change, []).append(rate)
        here = stencil.rates[(slice(None), stencil.classes[place[0]], *place[1:])]
        given = {change: rate for change, rate in zip(stencil.changes, here, strict=True) if rate > 0.0}
        sums = {change: math.fsum(rates) for change, rates in expected.items()}
        if set(sums) != set(given) or any(
            abs(given[change] - rate) > AGREEMENT * rate for change, rate in sums.items()
        ):
            said = f"{model.name}: {state}: the rules on boxes give other transitions than one by one"
            raise RuleError.at(location_of(model.rules), said)
