"""A continuous-time Markov chain by its generator: checked input, structure as lazy properties."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp

from hopflow.checks import count_of, format_value, refuse_unordered
from hopflow.errors import RuleError
from hopflow.fork_safety import cached_property
from hopflow.labels import label_order, square
from hopflow.parameters import param, validate_parameters
from hopflow.results import same, table_html
from markov.computing.matrices import reachable_from, transpose_advice, with_diagonal
from markov.elimination.bands import MAX_CACHED_ENTRIES, MAX_CACHED_LAYOUTS, Pattern
from markov.elimination.structure import absorption, closed_classes, period
from markov.generators.building import Built, build_chain
from markov.models.rules import ChainModel
from markov.models.state_tables import StateBlocks, StateTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from markov.models.spaces import Space

__all__ = ["MarkovChain"]


class _HasChain(Protocol):
    """A model read from a file, whose attribute ``chain`` is the Markov chain."""

    @property
    def chain(self) -> MarkovChain: ...


class InSteps:
    """Base of chains in discrete time, which functions of continuous time refuse."""


EXPECTED = "a model by rules, a MarkovChain or a generator is expected"
ROW_SUM_TOLERANCE = 1e-10
FEW_CELLS, CELLS_PER_STATE = 100_000, 10  # of a product of components that becomes a grid


@validate_parameters
class MarkovChain:
    """Finite continuous-time Markov chain with a validated generator, from a matrix, rules or a file.

    Parameters
    ----------
    Q
        Generator, shape (n, n), dense or any SciPy sparse format: rates >= 0 in 1/s off the
        diagonal, rows that sum to zero. Or a `ChainModel`, the model of a file, a result of `explore`, or a chain.
    states
        Names of the states of a matrix, n different ones: in results they stand for the numbers.
    like
        Another chain: where its transitions join the same states, and the models start in the same
        state, its classes are reused.
    reachable
        Of a model with a start: only the states that it leads to. False: the complete space.

    Attributes
    ----------
    Q
        CSR, the diagonal taken from the off-diagonals: solvers never see the rounding of the
        caller's diagonal.
    model
        The model of the chain, or None.
    how
        Description of the origin of states and rates.

    Raises
    ------
    ValueError
        For a matrix that is not square or not of real numbers, or naming the first row that has a
        negative or non-finite rate, or that does not sum to zero within 1e-10 of its largest entry;
        for names that are not as many as states, or not different.
    RuleError
        A ValueError: for an error in a model's rules, with the state, the file and the line.
    TooLargeError
        When the states would not fit into memory.

    Examples
    --------
    >>> chain = MarkovChain([[-0.1, 0.1], [2.0, -2.0]], states=["works", "fails"])
    >>> chain.states
    ('works', 'fails')
    >>> chain.exit_rates
    array([0.1, 2. ])
    """

    SWEPT_BY = "markov.sweeps"

    Q: sp.csr_matrix
    _names: tuple[Any, ...] | None
    _led_to: bool

    def __init__(
        self,
        Q: ChainModel | _HasChain | MarkovChain | ArrayLike | sp.spmatrix | sp.sparray,
        *,
        states: Sequence[Any] | None = None,
        like: MarkovChain | None = None,
        reachable: bool = param(True),
    ) -> None:
        if like is not None and not isinstance(like, MarkovChain):
            raise ValueError(f"like = {like!r}: must be a MarkovChain, or None")
        source = getattr(Q, "chain", Q)  # of the model of a file
        if isinstance(source, InSteps):
            raise ValueError(f"Q = {format_value(Q)}: {EXPECTED}{advice_for(source)}")  # noqa: TRY004
        if isinstance(source, MarkovChain):
            if states is not None or not reachable:
                name = "states" if states is not None else "reachable"
                raise ValueError(f"{name}: goes with a matrix or a model by rules; the states of {Q!r} are there")
            vars(self).update(vars(source))
        elif isinstance(Q, ChainModel):
            if states is not None:
                raise ValueError("states: the states of a model are named by its State")
            self._set_built(Q, build_chain(Q, reachable=reachable))
            if reachable:
                self._include_initial_states(Q)
        elif callable(Q):
            raise RuleError(f"Q = {Q!r}: {_advice_for_callable(Q)}")
        else:
            Q, states = labelled_matrix("Q", Q, states)
            matrix = _validate_generator(Q)
            self._set_built(None, (None, None, matrix, "given by its generator"))
            self._names = None if states is None else _validate_names(states, matrix.shape[0])
        if like is not None:
            self.take_over(like)

    def _set_built(self, model: ChainModel | None, built: tuple[Any, ...]) -> None:
        """Set model, state space, state codes, generator and description from a built chain."""
        self.model = model
        self._names = None
        self._space: Space | None
        self._space, self._codes, self.Q, self.how, self._led_to = (*built, False)[:5]

    def _include_initial_states(self, model: ChainModel) -> None:
        """Extend the chain to what all initial states of a model lead to, where ``start()`` never leads to some."""
        initial = model.start_probabilities() or {}
        try:
            for state in initial:
                self.number_of(state)
        except KeyError:
            complete = MarkovChain(model, reachable=False)
            entered = [reachable_from(complete.Q, complete.number_of(state)) for state in initial]
            vars(self).update(vars(complete.restricted(np.flatnonzero(np.any(entered, axis=0)))))

    @classmethod
    def of_built(cls, model: ChainModel, built: Built) -> MarkovChain:
        """Return a chain with the states and rates in ``built``, which belong to ``model``."""
        chain = cls.__new__(cls)
        chain._set_built(model, built)
        return chain

    def take_over(self, like: MarkovChain) -> None:
        """Reuse the recurrent classes of the chain ``like`` if both have equal starts and join the same states."""
        starts = [None if chain.model is None else chain.model.start() for chain in (self, like)]
        if (
            self.Q.shape == like.Q.shape
            and starts[0] == starts[1]
            and np.array_equal(self.Q.indptr, like.Q.indptr)
            and np.array_equal(self.Q.indices, like.Q.indices)
        ):
            self.__dict__["recurrent_classes"] = like.recurrent_classes
            self.__dict__["_parts"] = like._parts

    @cached_property
    def states(self) -> Any:
        """The states in the order of Q and of answers: a ``State`` of arrays, a tuple of names, or range(n).

        Of a model: its ``State`` with an array of shape (n,) for each field (a tuple of arrays for a
        vector), ascending by their components, the last varying fastest; components that are no
        whole numbers count in the order in which their values are listed or discovered. Of a
        matrix: its names, or ``range(n)``.
        """
        if self._space is not None and self._codes is not None:
            return self._space.columns(self._codes)
        return range(self.size) if self._names is None else self._names

    @cached_property
    def table(self) -> StateTable:
        """The states as a table from which functions of the state are evaluated."""
        if self._space is not None and self._codes is not None:
            return StateTable(self._space, self._codes)
        return StateTable.of(self.states)

    @property
    def space(self) -> Space | None:
        """State space of the model; None for a chain from a matrix."""
        return self._space

    @cached_property
    def components(self) -> Mapping[str, NDArray[np.int64]] | None:
        """Codes of each component of the states, shape (n,) each, by name; None for a chain from a matrix.

        Methods look for structure in them. None for a chain from a generator alone.
        """
        if self._space is None or self._codes is None:
            return None
        return dict(zip(self._space.names, self._codes, strict=True))

    def number_of(self, state: Any) -> int:
        """Return the index of a state in ``states``, in pi, and in Q.

        Raises
        ------
        KeyError
            When it is no state of this chain.
        """
        if self._space is None or self._codes is None:
            names = self.states
            try:
                index = int(names.index(state))
            except (ValueError, TypeError):  # of arrays and tables, which do not compare as one
                raise KeyError(state) from None
            refuse_truth_value(state, names[index])
            return index
        try:
            codes = self._space.codes([self._space.canonical_state(state)])
        except ValueError:
            raise KeyError(state) from None
        matches = np.flatnonzero((self._codes == codes).all(axis=0))
        if not len(matches):
            raise KeyError(state)
        refuse_truth_value(state, self._space.state(codes[:, 0]))
        return int(matches[0])

    def grid(self) -> tuple[dict[str, list[Any]], tuple[NDArray[np.int64], ...]] | None:
        """Return the values of each component, and for each component the index of every state's value; or None.

        None without components, or with far more combinations of them than states.
        """
        if self._space is None or self._codes is None:
            return None
        if self._space.size > max(FEW_CELLS, CELLS_PER_STATE * self.size):
            return None
        values = {c.name: list(c.values) for c in self._space.components}
        low = np.array(self._space.low)[:, None]
        return values, tuple(self._codes - low)

    def coordinates(self) -> dict[str, Any]:
        """Return coordinates of the states along an xarray dimension ``state``, by name of the component."""
        if self._space is None:
            return {} if self._names is None else {"state": list(map(str, self._names))}
        components = zip(self._space.components, self.components.values(), strict=True)  # type: ignore[union-attr]
        return {
            c.name: (
                "state",
                codes if isinstance(c.values, range) else [c.values[k] for k in codes],
            )
            for c, codes in components
        }

    def marginals(self, pi: NDArray[np.float64]) -> dict[str, tuple[Any, NDArray[np.float64]]] | None:
        """Return values and marginal probabilities of each component, by name; None for a chain from a matrix."""
        if self._space is None or self._codes is None:
            return None
        marginals: dict[str, tuple[Any, NDArray[np.float64]]] = {}
        for component, codes in zip(self._space.components, self._codes, strict=True):
            low, values = component.low, component.values
            if component.count > CELLS_PER_STATE * self.size:  # most of them never occur
                low = int(codes.min())
                values = values[low - component.low : int(codes.max()) - component.low + 1]
            sums = np.bincount(codes - low, pi, minlength=len(values)).astype(np.float64)
            marginals[component.name] = values, sums
        return marginals

    def state_blocks(self) -> StateTable | StateBlocks:
        """Return the table of states from which measures are evaluated."""
        return self.table

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.Q.shape[0])

    @cached_property
    def exit_rates(self) -> NDArray[np.float64]:
        """Total rate out of each state, shape (n,), 1/s."""
        return -np.asarray(self.Q.diagonal())

    @property
    def transitions(self) -> int:
        """Number of pairs of different states with a positive rate from one to the other."""
        return int(self.Q.nnz - np.count_nonzero(self.exit_rates))

    @cached_property
    def _reachable(self) -> NDArray[np.bool_]:
        """Whether the model's start leads to each state, shape (n,); all True without a start."""
        start = None if self.model is None or self._led_to else self.model.start()
        if start is None:
            return np.ones(self.size, dtype=bool)
        return reachable_from(self.Q, self.number_of(start))

    @cached_property
    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """Closed communicating classes that the model's start leads to, in the order of their first states.

        Each as the sorted indices of its states.
        """
        return [states for states in self.closed_classes if self._reachable[states[0]]]

    def irreducible(self, number: int) -> sp.csr_matrix:
        """Return the generator restricted to recurrent class ``number``, in the order of its states."""
        if len(self.recurrent_classes[number]) == self.size:
            return self.Q
        entries, pattern = self._parts[number]
        part = copy(pattern)  # shallow: chains with the same pattern share it
        part.data = self.Q.data[entries]
        return part

    @cached_property
    def _parts(self) -> list[tuple[NDArray[np.int64], sp.csr_matrix]]:
        """For each recurrent class the indices of its entries in Q's data, and its generator."""
        numbers = np.arange(self.Q.nnz)
        entry_numbers = sp.csr_matrix((numbers, self.Q.indices, self.Q.indptr), shape=self.Q.shape)
        parts = [entry_numbers[states][:, states] for states in self.recurrent_classes]
        return [(part.data, part) for part in parts]

    @cached_property
    def closed_classes(self) -> list[NDArray[np.int64]]:
        """All closed communicating classes, each as the sorted indices of its states."""
        if self.model is None or self.Q.nnz > MAX_CACHED_ENTRIES or not self.Q.data.all():
            return closed_classes(self.Q)
        return list(_classes_of(Pattern(self.Q)))

    @cached_property
    def transient_states(self) -> NDArray[np.int64]:
        """Indices of the states outside of all recurrent classes."""
        recurrent = np.zeros(self.size, dtype=bool)
        for states in self.recurrent_classes:
            recurrent[states] = True
        return np.flatnonzero(~recurrent)

    @cached_property
    def periods(self) -> list[int]:
        """Period of the jump chain on each recurrent class, as a list; 1 is aperiodic."""
        return [period(self.irreducible(k)) for k in range(len(self.recurrent_classes))]

    @cached_property
    def absorption_probabilities(self) -> NDArray[np.float64]:
        """Probability of ending in each recurrent class from each state, shape (states, classes).

        Columns are in the order of `recurrent_classes`, which is that of their first states.
        Rows sum to one, except for states that the model's start does not lead to: these may end in
        classes that do not count.
        """
        closed = self.closed_classes
        probabilities = np.zeros((self.size, len(closed)))
        for column, states in enumerate(closed):
            probabilities[states, column] = 1.0
        transient = np.flatnonzero(probabilities.sum(axis=1) == 0.0)
        if len(transient):
            probabilities[transient] = absorption(self.Q, transient, closed)
        return probabilities[:, [self._reachable[states[0]] for states in closed]]

    def restricted(self, states: NDArray[np.int64]) -> MarkovChain:
        """Return the chain on the closed set of states with these indices, with the model's names and measures.

        It is not checked that the set is closed: rates out of it would be dropped.
        """
        chain = MarkovChain(self.Q[states][:, states])
        codes = None if self._codes is None else self._codes[:, states]
        chain._set_built(self.model, (self._space, codes, chain.Q, self.how))
        if self._names is not None:
            chain._names = tuple(self._names[int(x)] for x in states)
        return chain

    def components_of(self, states: NDArray[np.int64]) -> dict[str, NDArray[np.int64]] | None:
        """Return the codes of each component in the states with these indices, by name; None without components."""
        if self.components is None:
            return None
        return {name: values[states] for name, values in self.components.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovChain):
            return NotImplemented
        if self is other:
            return True
        if self.Q.shape != other.Q.shape or self.model != other.model:
            return False
        return same(self.Q, other.Q) and same(self._names, other._names)

    def __hash__(self) -> int:
        return hash((self.size, self.transitions))

    def _repr_html_(self) -> str:
        return table_html("MarkovChain", {"chain": repr(self)}, ())

    def __repr__(self) -> str:
        origin = "" if self.model is None else f" of {self.model!r}"
        return (
            f"MarkovChain{origin}: {count_of(self.size, 'state')}, {count_of(self.transitions, 'transition')}, "
            f"{len(self.recurrent_classes)} recurrent class(es), "
            f"{count_of(len(self.transient_states), 'transient state')}"
        )


@lru_cache(maxsize=MAX_CACHED_LAYOUTS)
def _classes_of(pattern: Pattern) -> tuple[NDArray[np.int64], ...]:
    """Return the closed classes of a matrix pattern, sorted index arrays; cached for the last patterns."""
    indptr, indices = pattern.arrays
    n = len(indptr) - 1
    classes = closed_classes(sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n)))
    for states in classes:
        states.flags.writeable = False
    return tuple(classes)


def refuse_truth_value(state: Any, match: Any) -> None:
    """Raise KeyError for True or False where the state that it equals is a number, such as 1."""
    if isinstance(state, (bool, np.bool_)) and not isinstance(match, (bool, np.bool_)):
        raise KeyError(state)


def labelled_matrix(name: str, matrix: Any, states: Any) -> tuple[Any, Any]:
    """Return a matrix in the order of its states, and their names, from ``states`` or from labels of the matrix.

    Raises
    ------
    ValueError
        For rows and columns with other labels, or labels that are not the names of the states.
    """
    matrix, labels = square(name, matrix)
    if labels is None:
        return matrix, states
    if states is None:
        return matrix, labels
    names = _validate_names(states, len(labels))
    order = label_order(name, labels, names)
    return matrix[np.ix_(order, order)], names


def _validate_names(states: Any, count: int) -> tuple[Any, ...]:
    """Return ``states`` as a tuple; an error unless they are a list of ``count`` different hashable names."""
    refuse_unordered("states", states, "names")
    if not isinstance(states, Iterable) or isinstance(states, (str, bytes, Mapping)):
        raise ValueError(f"states = {states!r}: must be names, one for each state")  # noqa: TRY004
    names = tuple(states)
    if len(names) != count:
        raise ValueError(f"states has {count_of(len(names), 'name')}: must have {count}, one for each state")
    if any(not isinstance(name, Hashable) for name in names):
        raise ValueError(f"states = {names!r}: names must be texts, numbers, or tuples of them")
    if len(set(names)) != count:
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"states: {repeated!r} occurs twice: names must be different")
    return names


class StepChain(MarkovChain, InSteps):
    """Structure of a chain in discrete time, as that of the generator P - I: states and classes of its answers.

    Functions of times refuse it: that generator steps once per second on average, not once per second.
    """

    @classmethod
    def of(cls, chain: MarkovChain, periods: list[int]) -> StepChain:
        """Return the chain in discrete time with the generator P - I of ``chain``, and the periods of its classes."""
        steps = cls.__new__(cls)
        vars(steps).update(vars(chain), periods=periods)
        steps.how = "given by its probabilities of steps"
        return steps


def _advice_for_callable(rules: object) -> str:
    """Return what to write in place of rules, or of the class of a model, for messages."""
    if isinstance(rules, type) and issubclass(rules, ChainModel):
        return f"give a model, {rules.__name__}()"
    return "rules need a start: explore(rules, start=...)"


def advice_for(thing: object) -> str:
    """Return what to write in place of a chain in discrete time or a path, for messages; nothing for other things."""
    if isinstance(thing, (str, Path)):
        return "; read_prism, read_jani, read_sbml and read_explicit read files"
    if not isinstance(thing, InSteps):
        return ""
    methods = "a chain in discrete time has methods of its own: stationary(), passage() and after()"
    return f"; {methods}. MarkovChain(chain.P - I) of the same states, I the identity, steps once per second on average"


def _validate_generator(Q: Any) -> sp.csr_matrix:
    """Return Q as a CSR matrix with recomputed diagonal; ValueError if it is no generator."""
    if not sp.issparse(Q):
        matrix_like = Q
        try:
            Q = np.asarray(Q)
        except (ValueError, TypeError):
            msg = "a matrix of numbers is expected, with rows of one length"
            raise ValueError(f"Q = {format_value(matrix_like)}: {msg}") from None
        if Q.ndim == 0 and Q.dtype.kind in "OU":
            raise ValueError(f"Q = {format_value(matrix_like)}: {EXPECTED}{advice_for(matrix_like)}")
    if Q.dtype.kind not in "iuf":
        raise ValueError(f"Q has entries of type {Q.dtype}: real numbers are expected")
    if Q.ndim != 2 or Q.shape[0] != Q.shape[1] or Q.shape[0] == 0:
        raise ValueError(f"Q has shape {Q.shape}: a square matrix with at least one row is expected")
    matrix = sp.csr_matrix(Q, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    inner = coo.row != coo.col
    invalid = ~np.isfinite(coo.data) | (inner & (coo.data < 0))
    if invalid.any():
        k = int(np.flatnonzero(invalid)[0])
        entry = f"Q[{coo.row[k]}, {coo.col[k]}] = {coo.data[k]:g} (row {coo.row[k]})"
        rule = "off the diagonal must be finite and >= 0" if inner[k] else "must be finite"
        raise ValueError(f"{entry}: rates {rule}")
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    largest = np.asarray(abs(matrix).max(axis=1).todense()).ravel()
    unbalanced = ~(np.abs(sums) <= ROW_SUM_TOLERANCE * largest)
    if unbalanced.any():
        row = int(np.flatnonzero(unbalanced)[0])
        msg = f"row {row} of Q sums to {sums[row]:g}: must be 0 within 1e-10 of its largest entry"
        msg = f"{msg}, {largest[row]:g}"
        if (coo.data >= 0.0).all() and np.allclose(sums, 1.0, rtol=0.0, atol=1e-6):
            msg += "; of a matrix of probabilities P, whose rows sum to 1, P - I is the generator per step"
        else:
            msg += transpose_advice(matrix, 0.0, ROW_SUM_TOLERANCE * largest.max(), "Q", "rates out of state i")
        raise ValueError(msg)
    positive = inner & (coo.data > 0)
    rates = sp.csr_matrix((coo.data[positive], (coo.row[positive], coo.col[positive])), shape=Q.shape)
    return with_diagonal(rates)
