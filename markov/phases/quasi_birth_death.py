"""Quasi-birth-death chains: many levels or infinitely many, without listing their states.

They come from blocks, or from the rules of a model: `find_level_runs` runs the rules once per range of levels that have
the same transitions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.checks import format_value, integer, number
from hopflow.errors import RuleError, location_of
from hopflow.labels import refuse_labels
from markov.chains import ROW_SUM_TOLERANCE, MarkovChain
from markov.computing.matrices import breadth_first_order, transpose_advice
from markov.generators.plain import Calls, indices_to_repeat, refuse_changing_rules
from markov.generators.standins import Span, Traced, component_change
from markov.methods.gth import GTH
from markov.methods.level_reduction import Rows
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END, Space

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["LevelRun", "QuasiBirthDeath", "find_level_runs"]

MAX_BLOCK_BYTES = 4e9


class QuasiBirthDeath:
    """Chain on levels 0, 1, 2, ... whose transitions change the level by at most one, by blocks of its generator.

    Parameters
    ----------
    down, local, up
        The blocks of the generator for a step to the level below, within the level and to the level
        above (A2, A1, A0), in 1/s, shape (m, m) each; together their rows sum to zero.
    boundary
        ``(local, up, down)``: the blocks of level 0, with b states of its own, shapes (b, b) and
        (b, m), and the block from level 1 down to it, shape (m, b). None: level 0 is like the other levels,
        without the steps down.
    levels
        Number of levels; the highest has no steps up. None: infinitely many.

    Attributes
    ----------
    levels
        Runs of levels with equal rows, from the lowest to the highest.
    model, component
        The model of the levels, and its component that counts them; None for a chain made of blocks.
    space, codes
        The space of the model's states, and the codes of the states of a level in it.

    Raises
    ------
    ValueError
        The message names the block, its first bad entry or row and the allowed values. Also for infinitely many
        levels with a mean drift up that is not below the mean drift down: such a chain has no stationary
        distribution.

    Notes
    -----
    M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981; D. A. Bini, G. Latouche,
    B. Meini, Numerical Methods for Structured Markov Chains, 2005.

    Examples
    --------
    An M/M/1 queue:

    >>> from markov import stationary_by_level
    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> stationary_by_level(queue).mean_level  # doctest: +ELLIPSIS
    2.3333...
    """

    def __init__(
        self,
        down: ArrayLike,
        local: ArrayLike,
        up: ArrayLike,
        boundary: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        levels: int | None = None,
    ) -> None:
        A2, A1, A0 = _block("down", down), _block("local", local), _block("up", up)
        m = len(A1)
        for name, block in (("down", A2), ("local", A1), ("up", A0)):
            _check_rates(name, block, (m, m))
        _check_row_sums("down, local and up", A2, A1, A0, is_level=True)
        inner = Rows(A2, _off_diagonal(A1), A0)
        low = [LevelRun(0, 0, inner._replace(down=np.zeros((m, 0))))]
        if boundary is not None:
            blocks: Any = boundary
            if not isinstance(blocks, (tuple, list)) or len(blocks) != 3:
                raise ValueError(f"boundary = {format_value(boundary)}: must be three matrices, (B1, B0, B2)")
            B1, B0, B2 = (_block(f"boundary[{k}]", block) for k, block in enumerate(blocks))
            b = len(B1)
            _check_rates("boundary[0]", B1, (b, b))
            _check_rates("boundary[1]", B0, (b, m))
            _check_rates("boundary[2]", B2, (m, b))
            _check_row_sums("boundary[0] and boundary[1]", B1, B0)
            _check_row_sums("boundary[2], local and up", B2, A1, A0)
            lowest = Rows(np.zeros((b, 0)), _off_diagonal(B1), B0)
            low = [LevelRun(0, 0, lowest), LevelRun(1, 1, inner._replace(down=B2))]
        first = len(low)
        if levels is None:
            self.levels = (*low, LevelRun(first, None, inner))
            _check_drift(Rows(A2, inner.local, A0))
        else:
            high = integer("levels", levels, first + 2, NO_END) - 1
            highest = LevelRun(high, high, inner._replace(up=np.zeros((m, 0))))
            self.levels = (*low, LevelRun(first, high - 1, inner), highest)
        self.model: ChainModel | None = None
        self.component: str | None = None
        self.space: Any = None
        self.codes: Any = None

    @classmethod
    def of(cls, model: Any, component: str | None = None) -> QuasiBirthDeath:
        """Return the levels of a model on a product space; one component of its states counts the level.

        Its rules are run once per range of levels with the same transitions; see
        `markov.phases.quasi_birth_death.find_level_runs`.

        Parameters
        ----------
        model
            A model by rules, with any number of states.
        component
            Name of the component that counts the levels. Transitions change it by at most one. None: the component
            with the largest number of values.

        Raises
        ------
        ValueError
            See `markov.phases.quasi_birth_death.find_level_runs`. Also for infinitely many levels with a mean drift
            up that is not below the mean drift down.
        """
        if not isinstance(model, ChainModel):
            msg = "must be a model by rules; for blocks there is QuasiBirthDeath(down, local, up)"
            raise ValueError(f"model = {format_value(model)}: {msg}")  # noqa: TRY004
        space = model.space()
        chain = cls.__new__(cls)
        chain.component = max(space, key=lambda k: len(space[k])) if component is None else component
        levels, chain.space, chain.codes = find_level_runs(model, chain.component)
        chain.levels, chain.model = tuple(levels), model
        if levels[-1].high is None:
            _check_drift(levels[-1].rows)
        return chain

    @property
    def phases(self) -> Any:
        """The states of one level as a ``State`` of arrays of shape (m,), with 0 for the component that counts levels.

        None for a chain made of blocks.
        """
        return None if self.space is None else self.space.columns(self.codes)

    @property
    def size(self) -> float:
        """Number of states; infinite without a last level."""
        return sum(len(run.rows.local) * (run.length or math.inf) for run in self.levels)

    def rows(self, k: int) -> Rows:
        """Return the rates out of the states of level k: blocks to the level below, within it, and above."""
        return next(r.rows for r in self.levels if r.high is None or k <= r.high)

    def __repr__(self) -> str:
        states = max(len(run.rows.local) for run in self.levels)
        count = sum(run.length or math.inf for run in self.levels)
        number_of_levels = "infinitely many" if count == math.inf else f"{count:.0f}"
        origin = "" if self.model is None else f" of {self.model!r} by {self.component}"
        return f"QuasiBirthDeath{origin}: {number_of_levels} levels of {states} states, {len(self.levels)} kinds"


def _block(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a block of the generator as a float64 matrix; ValueError if it is empty or not two-dimensional."""
    refuse_labels(name, value)
    block = number(name, value)
    if block.ndim != 2 or not block.size:
        raise ValueError(f"{name} has shape {block.shape}: a matrix with at least one row is expected")
    return block


def _check_rates(name: str, block: NDArray[np.float64], shape: tuple[int, int]) -> None:
    """Raise ValueError for a block with another shape than ``shape``, or with a negative off-diagonal rate."""
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}: must be {shape}")
    inner = ~np.eye(*shape, dtype=bool) if name in ("local", "boundary[0]") else np.ones(shape, bool)
    bad = np.argwhere((block < 0) & inner)
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"{name}[{row}, {column}] = {block[row, column]:g}: rates must be >= 0")


def _check_row_sums(names: str, *blocks: NDArray[np.float64], is_level: bool = False) -> None:
    """Raise ValueError unless the rows of these blocks, side by side, sum to zero, with advice for those of a level."""
    rows = np.hstack(blocks)
    wrong = np.abs(rows.sum(axis=1)) > ROW_SUM_TOLERANCE * np.abs(rows).max(axis=1)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        total = rows[row].sum()
        tolerance = ROW_SUM_TOLERANCE * np.abs(rows).max()
        advice = transpose_advice(sum(blocks), 0.0, tolerance, "each", "rates out of phase i") if is_level else ""
        raise ValueError(f"row {row} of {names} sums to {total:g}: must be 0, as of a generator{advice}")


def _off_diagonal(local: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy of the block ``local`` with a zero diagonal."""
    rates = local.copy()
    np.fill_diagonal(rates, 0.0)
    return rates


def _check_drift(inner: Rows) -> None:
    """Raise ValueError unless the mean drift of infinitely many levels is down, in every recurrent class of phases."""
    jumps = inner.down + inner.local + inner.up
    np.fill_diagonal(jumps, 0.0)
    phases = MarkovChain(jumps - np.diag(jumps.sum(axis=1)))
    for states in phases.recurrent_classes:
        alpha = GTH().solve(phases.restricted(states).Q).pi
        up, down = (float(alpha @ block[states].sum(axis=1)) for block in (inner.up, inner.down))
        if not up < down:
            msg = f"the mean drift is {up:.6g} up and {down:.6g} down (levels/s)"
            raise ValueError(f"{msg}: not positive recurrent, up must be < down")


class LevelRun(NamedTuple):
    """A run of consecutive levels with equal transition rates.

    Attributes
    ----------
    low, high
        First and last level, as values of the component; None: no last level.
    rows
        Rates out of every level of the run.
    """

    low: int
    high: int | None
    rows: Rows

    @property
    def length(self) -> int | None:
        """Number of levels of the run; None for infinitely many."""
        return None if self.high is None else self.high - self.low + 1


class _Edge(NamedTuple):
    """A transition: indices of source and target phase, change of the level (-1, 0, 1), and rate in 1/s."""

    source: int
    target: int
    shift: int
    rate: float


def find_level_runs(model: ChainModel, component: Any) -> tuple[list[LevelRun], Space, NDArray[np.int64]]:
    """Return the runs of a model's levels with equal rows, its space, and the state codes of one level.

    If the component has no last value (`NO_END`), the last run has no end.

    The rules run as plain Python with an object in place of the component's value. It answers
    comparisons for one level and records the range of levels with the same answers. In that range the
    transitions are the same, since the rules depend on nothing else. The search goes on behind that range.

    Parameters
    ----------
    model
        A model on a product space.
    component
        Name of a component that transitions change by at most one.

    Returns
    -------
    tuple
        The runs from the lowest level to the highest; the model's space; the codes of the states of a
        level, shape (components, m), zero for the component itself. States that the model's start does not lead to
        on any levels are left out.

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
    transitions = _LevelTransitions(calls, space, axis)
    n = transitions.phases.size
    spans: list[tuple[Span, list[_Edge]]] = []
    low, top = space.components[axis].values[0], space.components[axis].values[-1]
    while low <= top:
        span = Span(low, low, top)
        spans.append((span, transitions.edges(span)))
        low = span.high + 1
        predicted = 24.0 * len(spans) * n * n
        if predicted > MAX_BLOCK_BYTES:
            msg = f"at least {len(spans)} levels of {n} states differ: {predicted:.2g} bytes"
            raise ValueError(f"component = {component!r}: {msg}, must be at most {MAX_BLOCK_BYTES:.2g}")
    refuse_changing_rules(calls, (transitions.state(phase, spans[0][0].low) for phase in indices_to_repeat(n)))
    states = transitions.reachable([edge for _, edges in spans for edge in edges])
    for phase in states.tolist():
        if phase in transitions.errors:
            raise transitions.errors[phase]
    index = np.full(n, -1)
    index[states] = np.arange(len(states))
    runs = []
    for span, edges in spans:
        rows = Rows(*(np.zeros((len(states), len(states))) for _ in range(3)))
        for edge in edges:
            if index[edge.source] >= 0 and (edge.shift or edge.source != edge.target):
                rows[edge.shift + 1][index[edge.source], index[edge.target]] += edge.rate
        high = None if span.high >= NO_END - 1 else span.high
        runs.append(LevelRun(span.low, high, rows))
    codes = np.insert(transitions.codes[:, states], axis, 0, axis=0)
    return runs, space, codes


class _LevelTransitions:
    """Transitions of a model out of the levels that component number ``axis`` counts, by calls of its rules.

    A combination of the other components is a phase, numbered in the product of their spaces. ``errors`` has the first
    error of the rules by phase, since a phase that the start does not lead to may raise any.
    """

    def __init__(self, calls: Calls, space: Space, axis: int) -> None:
        self.calls, self.space, self.axis = calls, space, axis
        others = {c.name: c.values for k, c in enumerate(space.components) if k != axis}
        self.phases = Space(None, others)
        self.codes = self.phases.codes_of_numbers(np.arange(self.phases.size))
        self.errors: dict[int, Exception] = {}

    def edges(self, span: Span) -> list[_Edge]:
        """Return the transitions out of level ``span.value``, and narrow ``span`` to the levels that share them."""
        edges: list[_Edge] = []
        for phase in range(self.phases.size):
            try:
                edges += self._edges_of_phase(phase, span)
            except Exception as error:  # noqa: BLE001  # a rule may raise anything
                self.errors.setdefault(phase, self._plain_error(phase, span.value, error))
        top = self.space.components[self.axis].values[-1]
        if span.value < span.high == top < NO_END - 1 and any(edge.shift > 0 for edge in edges):
            span.high = top - 1  # no comparison involved the last level: it gets a span of its own, and is refused
        return edges

    def state(self, phase: int, level: Any) -> Any:
        """Return the model's state with this phase, the other components, and this level."""
        values = [
            code if isinstance(c.values, range) else c.values[code]
            for c, code in zip(self.phases.components, self.codes[:, phase].tolist(), strict=True)
        ]
        return self.calls.name_fields(self.space.assemble([*values[: self.axis], level, *values[self.axis :]]))

    def _edges_of_phase(self, phase: int, span: Span) -> list[_Edge]:
        """Return the transitions out of one phase, and narrow ``span`` to the levels that share them."""
        edges = []
        levels = self.space.components[self.axis].values
        for target, rate in self.calls.rules(self.state(phase, Traced(span)), self.calls.q):
            if isinstance(rate, (str, bytes)) or not 0.0 <= float(rate) < np.inf:
                raise ValueError("a rate must be finite and >= 0")
            if float(rate) == 0.0:
                continue
            values = list(self.space.flatten(self.space.as_tuple(target)))
            change = component_change(values.pop(self.axis), span)
            if span.value + change not in levels:
                raise ValueError("the target is outside the space")
            if abs(change) > 1:
                name = self.space.names[self.axis]
                raise ValueError(f"a transition changes the component {name} by at most 1")
            codes = self.phases.codes([self.phases.canonical_state(tuple(values))])
            edges.append(_Edge(phase, int(self.phases.numbers(codes)[0]), change, float(rate)))
        return edges

    def _plain_error(self, phase: int, level: int, error: Exception) -> Exception:
        """Return the error that the rules raise in a state when called with plain numbers."""
        state = self.state(phase, level)
        try:
            self.calls.transitions(state)
        except RuleError as plain:
            return plain
        return RuleError(f"{self.calls.name}: {state}: {error}")

    def reachable(self, edges: list[_Edge]) -> NDArray[np.int64]:
        """Return the phases that the model's start leads to at any level, ascending, shape (phases,)."""
        start, n = self.calls.model.start(), self.phases.size
        if start is None:
            return np.arange(n)
        pairs = np.array([(edge.source, edge.target) for edge in edges]).reshape(-1, 2).T
        graph = sp.csr_matrix((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(n, n))
        values = list(self.space.flatten(self.space.canonical_state(start)))
        values.pop(self.axis)
        first = int(self.phases.numbers(self.phases.codes([tuple(values)]))[0])
        return np.sort(breadth_first_order(graph, first)).astype(np.int64)
