"""The kinds of levels of a model: runs of values of one component with the same transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.errors import RuleError, location_of
from markov.computing.graphs import breadth_first_order
from markov.generators.calls import Calls
from markov.generators.enumeration import refuse_changing, some_of
from markov.generators.tracing import Span, Traced, shift
from markov.methods.block_reduction import Rows
from markov.models.spaces import NO_END, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel

__all__ = ["Repeating", "repeating"]

MEMORY = 4e9


class Repeating(NamedTuple):
    """Levels of a model with the same transitions.

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


class _Edge(NamedTuple):
    source: int
    target: int
    shift: int
    rate: float


def repeating(model: ChainModel, component: Any) -> tuple[list[Repeating], Space, NDArray[np.int64]]:
    """Return the rows of a model's levels, equal ones together, and the states of a level.

    Where the component has no last value (`NO_END`), neither has the last of the levels.

    The rules run as plain Python with an object in place of the component's value. It answers
    comparisons for one level and keeps the range of levels with the same answers: for these the
    transitions are the same, since the rules depend on nothing else. The next level tried is the one after that range.

    Parameters
    ----------
    model
        A model on a product space.
    component
        The name of a component that transitions change by at most one.

    Returns
    -------
    tuple
        The levels from the lowest to the highest; the model's space; the codes of the states of a
        level, shape (components, m), zero for the component itself: without those that the model's
        start does not lead to, whatever the levels on the way.

    Raises
    ------
    ValueError
        For an unknown component; a transition that skips a level or leaves the space; blocks that are
        predicted to take more than 4 GB.
    """
    if not model.has_space:
        raise RuleError(f"{model.name}: levels need a space(): the values of every component")
    space = Space.of(model.State, model.space(), model.name)
    if not isinstance(component, str) or component not in space.names:
        raise ValueError(f"component = {component!r}: must be one of {', '.join(space.names)}")
    axis = space.names.index(component)
    if not isinstance(space.components[axis].values, range):
        msg = "its values are no range, and count no levels"
        raise ValueError(f"component = {component!r}: {msg}")  # noqa: TRY004
    calls = Calls(model, space)
    if not calls.takes_stand_ins:
        msg = "for levels the rules may not compare numbers by `is`, nor ask for their type: write == or isinstance"
        raise RuleError.at(location_of(model.rules), f"{model.name}: {msg}")
    level = _Levels(calls, space, axis)
    n = level.phases.size
    found: list[tuple[Span, list[_Edge]]] = []
    low, top = space.components[axis].values[0], space.components[axis].values[-1]
    while low <= top:
        span = Span(low, low, top)
        found.append((span, level.edges(span)))
        low = span.high + 1
        predicted = 24.0 * len(found) * n * n
        if predicted > MEMORY:
            msg = f"at least {len(found)} levels of {n} states differ: {predicted:.2g} bytes"
            raise ValueError(f"component = {component!r}: {msg}, must be at most {MEMORY:.2g}")
    refuse_changing(calls, (level.state(phase, found[0][0].low) for phase in some_of(n)))
    states = level.entered([edge for _, edges in found for edge in edges])
    level.refuse(states)
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
    codes = np.insert(level.codes[:, states], axis, 0, axis=0)
    return levels, space, codes


class _Levels:
    """The transitions of a model out of the levels of one component, number ``axis``.

    The other components together make the phase; phases are numbered in the product of their spaces.
    """

    def __init__(self, calls: Calls, space: Space, axis: int) -> None:
        self.calls, self.space, self.axis = calls, space, axis
        others = {c.name: c.values for k, c in enumerate(space.components) if k != axis}
        self.phases = Space(None, others)
        self.codes = self.phases.unnumbered(np.arange(self.phases.size))
        self._wrong: dict[int, Exception] = {}

    def edges(self, span: Span) -> list[_Edge]:
        """Return the transitions out of a level, and narrow ``span`` to the levels that have them."""
        found: list[_Edge] = []
        for phase in range(self.phases.size):
            try:
                found += self._edges(phase, span)
            except Exception as error:  # noqa: BLE001  # a rule may raise anything
                self._wrong.setdefault(phase, self._named(phase, span.value, error))
        top = self.space.components[self.axis].values[-1]
        if span.value < span.high == top < NO_END - 1 and any(edge.shift > 0 for edge in found):
            span.high = top - 1  # nothing asked for the end: it is tried by itself, and refused
        return found

    def state(self, phase: int, level: Any) -> Any:
        """Return the state of a phase and a level."""
        values = [
            code if isinstance(c.values, range) else c.values[code]
            for c, code in zip(self.phases.components, self.codes[:, phase].tolist(), strict=True)
        ]
        return self.calls.with_names(self.space.joined([*values[: self.axis], level, *values[self.axis :]]))

    def _edges(self, phase: int, span: Span) -> list[_Edge]:
        found = []
        levels = self.space.components[self.axis].values
        for target, rate in self.calls.rules(self.state(phase, Traced(span)), self.calls.q):
            if isinstance(rate, (str, bytes)) or not 0.0 <= float(rate) < np.inf:
                raise ValueError("a rate must be finite and >= 0")
            if float(rate) == 0.0:
                continue
            values = list(self.space.flat(self.space.checked(target)))
            change = shift(values.pop(self.axis), span)
            if span.value + change not in levels:
                raise ValueError("the target is outside the space")
            if abs(change) > 1:
                name = self.space.names[self.axis]
                raise _SkipError(f"a transition changes the component {name} by at most 1")
            codes = self.phases.codes([self.phases.canonical(tuple(values))])
            found.append(_Edge(phase, int(self.phases.numbers(codes)[0]), change, float(rate)))
        return found

    def _named(self, phase: int, level: int, error: Exception) -> Exception:
        """Return the error of a state as plain Python meets it."""
        state = self.state(phase, level)
        try:
            self.calls.transitions(state)
        except RuleError as found:
            return found
        return RuleError(f"{self.calls.name}: {state}: {error}")

    def entered(self, edges: list[_Edge]) -> NDArray[np.int64]:
        """Return the phases that the start leads to when the level is left out of account."""
        start, n = self.calls.model.start(), self.phases.size
        if start is None:
            return np.arange(n)
        pairs = np.array([(edge.source, edge.target) for edge in edges]).reshape(-1, 2).T
        graph = sp.csr_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(n, n))
        values = list(self.space.flat(self.space.canonical(start)))
        values.pop(self.axis)
        first = int(self.phases.numbers(self.phases.codes([tuple(values)]))[0])
        found = breadth_first_order(graph, first)
        return np.sort(found).astype(np.int64)

    def refuse(self, phases: NDArray[np.int64]) -> None:
        """Raise the error recorded for one of these phases, if any."""
        for phase in phases.tolist():
            if phase in self._wrong:
                raise self._wrong[phase]


class _SkipError(ValueError):
    """A transition that skips a level: right as a rule, but not for levels."""
