"""On which values of one component the rules of a model are alike, without trying them all."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from markov.reduction import Rows
from markov.rules import NO_END, ChainModel, check_space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Repeating", "repeating"]

MEMORY = 4e9


class Repeating(NamedTuple):
    """Levels of a model whose rules are alike.

    Attributes
    ----------
    low, high
        The first and last of them, as values of the component; no last one where they have no end.
    rows
        The rates out of each.
    """

    low: int
    high: int | None
    rows: Rows

    @property
    def length(self) -> int | None:
        """How many; None where they have no end."""
        return None if self.high is None else self.high - self.low + 1


class _Range:
    """The levels for which everything that the rules asked has had the same answer."""

    def __init__(self, level: int, low: int, high: int) -> None:
        self.level, self.low, self.high = level, low, high

    def below(self, bound: float) -> bool:
        """Answer whether the level is < bound, and keep the levels with the same answer."""
        if self.level < bound:
            self.high = self.high if bound == math.inf else min(self.high, math.ceil(bound) - 1)
            return True
        self.low = self.low if bound == -math.inf else max(self.low, math.ceil(bound))
        return False

    def fixed(self) -> int:
        """Answer with the level itself, and keep no other."""
        self.low = self.high = self.level
        return self.level


class _Level:
    """What stands for the component in the rules: the level plus an offset.

    Comparisons with numbers and sums with whole numbers hold for a range of levels; whatever else
    is done with it uses its value, and then the rules are those of one level only.
    """

    __slots__ = ("offset", "range")

    def __init__(self, range_: _Range, offset: int = 0) -> None:
        self.range, self.offset = range_, offset

    def _moved(self, other: Any, sign: int) -> Any:
        if isinstance(other, (int, np.integer)):
            return _Level(self.range, self.offset + sign * int(other))
        return int(self) + sign * (int(other) if isinstance(other, _Level) else other)

    def __add__(self, other: Any) -> Any:
        return self._moved(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._moved(other, -1)

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, _Level):
            return self.offset < other.offset
        return self.range.below(other - self.offset)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __le__(self, other: Any) -> bool:
        if isinstance(other, _Level):
            return self.offset <= other.offset
        return self.range.below(math.floor(other) + 1 - self.offset)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __eq__(self, other: object) -> bool:
        return self <= other and self >= other

    def __int__(self) -> int:
        return self.range.fixed() + self.offset

    __index__ = __hash__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __bool__(self) -> bool:
        return self != 0


def _by_value(operation: Any, *, reverse: bool = False) -> Any:
    def operate(self: _Level, *others: Any) -> Any:
        values = [int(self), *(int(o) if isinstance(o, _Level) else o for o in others)]
        return operation(*reversed(values) if reverse else values)

    return operate


for _name in ("mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "neg", "pos", "abs"):
    setattr(_Level, f"__{_name}__", _by_value(getattr(operator, f"__{_name}__")))
for _name in ("sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(_Level, f"__r{_name}__", _by_value(getattr(operator, f"__{_name}__"), reverse=True))


class _Edge(NamedTuple):
    source: int
    target: int
    shift: int
    rate: float


def repeating(model: ChainModel, component: str) -> tuple[list[Repeating], Any]:
    """Return the rows of a model's levels, equal ones together, and the states of a level.

    Where the component has no last value (`NO_END`), neither has the last of the levels.

    The rules run as plain Python with an object in place of the component's value. It answers
    comparisons for one level and keeps the range of levels with the same answers: for these the
    rules are alike, since they saw nothing else. The next level tried is the one after that range.

    Parameters
    ----------
    model
        A model on a product space.
    component
        The name of a component that transitions change by at most one.

    Returns
    -------
    tuple
        The levels from the lowest to the highest. The values of the other components in a level, as
        a NamedTuple of int arrays of shape (m,), the component itself zero: without those that the
        model's start does not lead to, whatever the levels on the way.

    Raises
    ------
    ValueError
        For an unknown component; a transition that skips a level or leaves the space; blocks that are
        predicted to take more than 4 GB.
    """
    check_space(model)
    space = model.space()
    if component not in space:
        raise ValueError(f"component = {component!r}: must be one of {', '.join(space)}")
    others = {name: values for name, values in space.items() if name != component}
    shape = tuple(len(values) for values in others.values())
    grids = np.meshgrid(*(np.arange(v.start, v.stop) for v in others.values()), indexing="ij")
    phases = dict(zip(others, (grid.ravel() for grid in grids), strict=True))
    n = int(np.prod(shape))
    found: list[tuple[_Range, list[_Edge]]] = []
    low, top = space[component][0], space[component][-1]
    while low <= top:
        range_ = _Range(low, low, top)
        found.append((range_, _traced(model, component, range_, phases, n)))
        low = range_.high + 1
        predicted = 24.0 * len(found) * n * n
        if predicted > MEMORY:
            msg = f"at least {len(found)} levels of {n} states differ: {predicted:.2g} bytes"
            raise ValueError(f"component = {component!r}: {msg}, must be at most {MEMORY:.2g}")
    states = _entered(model, component, [edge for _, edges in found for edge in edges], n)
    place = np.full(n, -1)
    place[states] = np.arange(len(states))
    levels = []
    for range_, edges in found:
        rows = Rows(*(np.zeros((len(states), len(states))) for _ in range(3)))
        for edge in edges:
            if place[edge.source] >= 0 and (edge.shift or edge.source != edge.target):
                rows[edge.shift + 1][place[edge.source], place[edge.target]] += edge.rate
        high = None if range_.high >= NO_END - 1 else range_.high
        levels.append(Repeating(range_.low, high, rows))
    inside = {name: values[states] for name, values in phases.items()}
    return levels, model.State(**{component: np.zeros(len(states), dtype=np.int64), **inside})


def _traced(model: ChainModel, component: str, range_: _Range, phases: Any, n: int) -> list[_Edge]:
    """Return the transitions out of a level, and narrow ``range_`` to the levels that have them."""
    q, space, edges = model.symbols(), model.space(), []
    others = [(name, space[name]) for name in phases]
    for source in range(n):
        values = {name: int(phase[source]) for name, phase in phases.items()}
        state = model.State(**{component: _Level(range_), **values})
        for target, rate in model.rules(state, q):
            to = getattr(target, component)
            shift = to.offset if isinstance(to, _Level) else int(to) - range_.fixed()
            rate = float(rate)
            places = [int(getattr(target, name)) - values.start for name, values in others]
            good = np.isfinite(rate) and rate >= 0
            inside = range_.level + shift in space[component] and all(
                0 <= p < len(values) for p, (_, values) in zip(places, others, strict=True)
            )
            if not good or not inside or abs(shift) > 1:
                why = "must be finite and >= 0" if not good else "the target is outside the space"
                if good and inside:
                    why = f"a transition changes the component {component} by at most 1"
                shown = model.State(**{component: range_.level, **values})
                to = target._replace(**{component: range_.level + shift})
                msg = f"{shown} -> {to} at rate {rate}: {why}"
                raise ValueError(f"{type(model).__name__}: {msg}")
            if rate > 0:
                place = 0
                for p, (_, allowed) in zip(places, others, strict=True):
                    place = place * len(allowed) + p
                edges.append(_Edge(source, place, shift, rate))
    top = space[component][-1]
    if range_.level < range_.high == top < NO_END - 1 and any(edge.shift > 0 for edge in edges):
        range_.high = top - 1  # nothing asked for the end: it is tried by itself, and refused
    return edges


def _entered(model: ChainModel, component: str, edges: list[_Edge], n: int) -> NDArray[np.int64]:
    """Return the states that the start leads to when the level is left out of account."""
    start = model.start()
    if start is None:
        return np.arange(n)
    pairs = np.array([(edge.source, edge.target) for edge in edges]).reshape(-1, 2).T
    graph = sp.csr_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(n, n))
    first = 0
    for name, values in model.space().items():
        if name != component:
            first = first * len(values) + values.index(getattr(start, name))
    return np.sort(breadth_first_order(graph, first, return_predecessors=False)).astype(np.int64)
