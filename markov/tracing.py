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

__all__ = ["Repeating", "Span", "Traced", "repeating", "shift"]

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


class Span:
    """The values of a component for which everything that the rules asked has had the same answer."""

    def __init__(self, value: int, low: int, high: int) -> None:
        self.value, self.low, self.high = value, low, high
        self.read = False
        """Whether the rules used the value itself."""

    def below(self, bound: float) -> bool:
        """Answer whether the value is < bound, and keep the values with the same answer."""
        if not math.isfinite(bound):
            return self.value < bound
        if self.value < bound:
            self.high = min(self.high, math.ceil(bound) - 1)
            return True
        self.low = max(self.low, math.ceil(bound))
        return False

    def fixed(self) -> int:
        """Answer with the value itself, and keep no other."""
        self.low = self.high = self.value
        self.read = True
        return self.value


class Traced:
    """What stands for a component in the rules: its value plus an offset.

    Comparisons with numbers and sums with whole numbers hold for a span of values; whatever else is
    done with it uses its value, and then the rules are those of one value only.
    """

    __slots__ = ("offset", "span")

    def __init__(self, span: Span, offset: int = 0) -> None:
        self.span, self.offset = span, offset

    def _moved(self, other: Any, sign: int) -> Any:
        if isinstance(other, (int, np.integer)):
            return Traced(self.span, self.offset + sign * int(other))
        return int(self) + sign * (int(other) if isinstance(other, Traced) else other)

    def __add__(self, other: Any) -> Any:
        return self._moved(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._moved(other, -1)

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, Traced):
            alike = other.span is self.span
            return self.offset < other.offset if alike else int(self) < int(other)
        return self.span.below(other - self.offset)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __le__(self, other: Any) -> bool:
        if isinstance(other, Traced):
            alike = other.span is self.span
            return self.offset <= other.offset if alike else int(self) <= int(other)
        bound = math.floor(other) + 1 if math.isfinite(other) else other
        return self.span.below(bound - self.offset)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __eq__(self, other: object) -> bool:
        return self <= other and self >= other

    def __int__(self) -> int:
        return self.span.fixed() + self.offset

    __index__ = __hash__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __bool__(self) -> bool:
        return self != 0


def _by_value(operation: Any, *, reverse: bool = False) -> Any:
    def operate(self: Traced, *others: Any) -> Any:
        values = [int(self), *(int(o) if isinstance(o, Traced) else o for o in others)]
        return operation(*reversed(values) if reverse else values)

    return operate


_TWO_SIDED = ["mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
for _name in (*_TWO_SIDED, "neg", "pos", "abs"):
    setattr(Traced, f"__{_name}__", _by_value(getattr(operator, f"__{_name}__")))
for _name in (*_TWO_SIDED, "sub"):
    setattr(Traced, f"__r{_name}__", _by_value(getattr(operator, f"__{_name}__"), reverse=True))


def shift(target: Any, span: Span) -> int:
    """Return by how much a transition changes the component that a span is of."""
    if isinstance(target, Traced) and target.span is span:
        return target.offset
    return int(target) - span.fixed()


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
    found: list[tuple[Span, list[_Edge]]] = []
    low, top = space[component][0], space[component][-1]
    while low <= top:
        span = Span(low, low, top)
        found.append((span, _traced(model, component, span, phases, n)))
        low = span.high + 1
        predicted = 24.0 * len(found) * n * n
        if predicted > MEMORY:
            msg = f"at least {len(found)} levels of {n} states differ: {predicted:.2g} bytes"
            raise ValueError(f"component = {component!r}: {msg}, must be at most {MEMORY:.2g}")
    states = _entered(model, component, [edge for _, edges in found for edge in edges], n)
    place = np.full(n, -1)
    place[states] = np.arange(len(states))
    levels = []
    for span, edges in found:
        rows = Rows(*(np.zeros((len(states), len(states))) for _ in range(3)))
        for edge in edges:
            if place[edge.source] >= 0 and (edge.shift or edge.source != edge.target):
                rows[edge.shift + 1][place[edge.source], place[edge.target]] += edge.rate
        high = None if span.high >= NO_END - 1 else span.high
        levels.append(Repeating(span.low, high, rows))
    inside = {name: values[states] for name, values in phases.items()}
    return levels, model.State(**{component: np.zeros(len(states), dtype=np.int64), **inside})


def _traced(model: ChainModel, component: str, span: Span, phases: Any, n: int) -> list[_Edge]:
    """Return the transitions out of a level, and narrow ``span`` to the levels that have them."""
    q, space, edges = model.symbols(), model.space(), []
    others = [(name, space[name]) for name in phases]
    for source in range(n):
        values = {name: int(phase[source]) for name, phase in phases.items()}
        state = model.State(**{component: Traced(span), **values})
        for target, rate in model.rules(state, q):
            change = shift(getattr(target, component), span)
            rate = float(rate)
            places = [int(getattr(target, name)) - values.start for name, values in others]
            good = np.isfinite(rate) and rate >= 0
            inside = span.value + change in space[component] and all(
                0 <= p < len(values) for p, (_, values) in zip(places, others, strict=True)
            )
            if not good or not inside or abs(change) > 1:
                why = "must be finite and >= 0" if not good else "the target is outside the space"
                if good and inside:
                    why = f"a transition changes the component {component} by at most 1"
                shown = model.State(**{component: span.value, **values})
                to = target._replace(**{component: span.value + change})
                msg = f"{shown} -> {to} at rate {rate}: {why}"
                raise ValueError(f"{type(model).__name__}: {msg}")
            if rate > 0:
                place = 0
                for p, (_, allowed) in zip(places, others, strict=True):
                    place = place * len(allowed) + p
                edges.append(_Edge(source, place, change, rate))
    top = space[component][-1]
    if span.value < span.high == top < NO_END - 1 and any(edge.shift > 0 for edge in edges):
        span.high = top - 1  # nothing asked for the end: it is tried by itself, and refused
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
