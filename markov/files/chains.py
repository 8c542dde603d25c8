"""The chain model of a file: states, labels and rewards from a search (`FileModel`), or from lists (`ListedStates`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import ByValue
from markov.chains import MarkovChain
from markov.generators.building import Built
from markov.models.functions import elementwise
from markov.models.rules import ChainModel, estimates_in, reduced_with_estimates, with_estimates

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.models.spaces import Space

    Vector = NDArray[np.float64]

__all__ = ["FileChain", "ListedStates", "chain_of", "measure_of_reward", "reward_of_measure"]

_REWARD = re.compile(r'R\{"(.*)"\}', re.DOTALL)


def measure_of_reward(name: str, labels: Container[str]) -> str:
    """Return the name of the measure of a reward structure: its own, or ``R{"x"}`` where a label is called ``x`` too.

    Labels and reward structures of files have names of their own. Measures have one name each, and that of a label is
    the label's.
    """
    return f'R{{"{name}"}}' if name in labels else name


def reward_of_measure(measure: str) -> str:
    """Return the name of the reward structure whose measure `measure_of_reward` has named.

    >>> reward_of_measure(measure_of_reward("up", {"up"})), reward_of_measure("length")
    ('up', 'length')
    """
    match = _REWARD.fullmatch(measure)
    return match[1] if match else measure


class Source(Protocol):
    """Interface of a file's contents to `FileChain`: states, initial states, labels, rewards and constants."""

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def space(self) -> Space:
        """The components of a state: their names and values."""

    @property
    def chain(self) -> MarkovChain:
        """The `MarkovChain` of the states."""

    @property
    def codes(self) -> NDArray[np.int64]:
        """The components' integer codes in the states, ascending by state, shape (components, states)."""

    @property
    def initial_states(self) -> NDArray[np.int64]:
        """Indices of the initial states."""

    @property
    def label_arrays(self) -> Mapping[str, NDArray[np.bool_]]:
        """Whether each state has each label: boolean arrays of shape (states,), by label."""

    @property
    def reward_arrays(self) -> Mapping[str, Vector]:
        """Reward rates per second, with transition rewards: arrays of shape (states,), by reward structure."""

    @property
    def constants(self) -> Mapping[str, Any]:
        """Values of the constants by name."""

    def indices_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of states from the codes of their components, shape (components, ...)."""

    def with_constants(self, changes: dict[str, Any]) -> Any:
        """Return the contents with changed values of constants."""

    def unproved_limits(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return a note on limits of the states that the error bound of an answer does not cover; empty without."""

    @property
    def state_outside(self) -> int | None:
        """Index of the state that stands for all beyond limits (SBML), with amounts of 0; None without one."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ListedStates(ByValue):
    """The contents of a file that lists its states one by one, with labels and rewards as arrays.

    Attributes
    ----------
    name
        Name of the file.
    space
        Components of a state.
    codes
        The states, ascending, shape (components, states).
    Q
        Generator, shape (states, states).
    label_arrays, reward_arrays
        Values in the states, shape (states,), by name.
    is_initial
        Whether the chain may start in each state, shape (states,).
    loops
        Rate from each state to itself, shape (states,).
    variables
        Values of further variables, which are no components of the states, shape (states,), by name.
    state_rewards
        As ``reward_arrays``, without rewards of transitions.
    default_start
        Whether the first state is the initial one of properties where none is marked.
    """

    name: str
    space: Space
    codes: NDArray[np.int64]
    Q: sp.csr_matrix
    label_arrays: Mapping[str, NDArray[np.bool_]]
    reward_arrays: Mapping[str, Vector]
    is_initial: NDArray[np.bool_]
    loops: Vector
    variables: Mapping[str, NDArray[Any]]
    state_rewards: Mapping[str, Vector]
    default_start: bool

    @cached_property
    def chain(self) -> MarkovChain:
        """The `MarkovChain` on these states; labels and rewards are its measures."""
        chain = chain_of(self, self.Q)
        names = self.space.components[0].values
        if self.space.is_single and not isinstance(names, range):
            chain.__dict__["states"] = tuple(names)
        return chain

    @property
    def initial_states(self) -> NDArray[np.int64]:
        """Indices of the initial states."""
        return np.flatnonzero(self.is_initial)

    @property
    def constants(self) -> Mapping[str, Any]:
        """An empty mapping: a list of transitions has no constants."""
        return {}

    def with_constants(self, changes: Mapping[str, Any]) -> Any:
        """Raise ValueError: a list of transitions has no constants."""
        raise ValueError(f"constants: {self.name} has none, but {', '.join(changes)} is given")

    def unproved_limits(self, measures: Mapping[str, Any]) -> tuple[str, ...]:  # noqa: ARG002
        """Return an empty tuple: a list of transitions has no limits."""
        return ()

    @property
    def state_outside(self) -> None:
        """None: a list of transitions has no limits."""

    def indices_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of states from the codes of their components, shape (components, ...).

        KeyError for a state that is not listed.
        """
        if np.array_equal(codes, self.codes):
            return np.arange(codes.shape[1])
        rows = codes.reshape(len(codes), -1).T.tolist()
        return np.array([self._index_by_code[tuple(row)] for row in rows]).reshape(codes.shape[1:])

    @cached_property
    def _index_by_code(self) -> dict[tuple[int, ...], int]:
        """Index of each state by the tuple of its components' codes."""
        return {tuple(row): k for k, row in enumerate(self.codes.T.tolist())}

    def __repr__(self) -> str:
        return f"ListedStates({self.name!r})"


class FileChain(ChainModel):
    """Chain model of a file's finite states: it looks up labels and rewards in the contents of the file.

    Parameters
    ----------
    source
        Contents of the file.
    space
        Components of a state, those of the source: with them a pickled model is not explored before its first use.
    """

    source: Source

    def __init__(self, source: Source, space: Space | None = None) -> None:
        space = source.space if space is None else space
        attributes = {"source": source, "_components": space, "State": space.make, "params": None}
        for key, value in attributes.items():
            object.__setattr__(self, key, value)

    @property
    def _space(self) -> Space:
        """The components of a state."""
        space: Space = self._components
        return space

    @property
    def chain(self) -> MarkovChain:
        """The `MarkovChain` of the file's states, with the notes about estimated parameters of this model."""
        chain = self.source.chain
        if chain.model is not None:
            with_estimates(chain.model, estimates_in(self))
        return chain

    def space(self) -> Mapping[str, Any]:
        """Return the values of each component in the states of the file, by name."""
        return {component.name: component.values for component in self._space.components}

    def start(self) -> Any:
        """Return the initial state; None unless there is exactly one."""
        initial = self.source.initial_states
        return self.state_of(int(initial[0])) if len(initial) == 1 else None

    def state_of(self, index: int) -> Any:
        """Return a state of the file from its index."""
        return self._space.state(self.source.codes[:, index])

    @property
    def constants(self) -> dict[str, Any]:
        """Values of the file's constants by name."""
        return dict(self.source.constants)

    def unproved_inputs(self, measures: Mapping[str, Any]) -> tuple[str, ...]:
        """Return estimates of parameters, and limits of species (SBML)."""
        return (*super().unproved_inputs(measures), *self.source.unproved_limits(measures))

    @property
    def state_outside(self) -> int | None:
        """Index of the state that stands for all beyond limits (SBML), with amounts of 0; None without one."""
        return self.source.state_outside

    def replace(self, **changes: Any) -> Any:
        """Return a new model of the file with changed values of constants."""
        return self.source.with_constants(changes)

    @elementwise
    def labels(self, s: Any) -> Mapping[str, Any]:
        """Return whether states have each label of the file, by label; states may be arrays."""
        indices = self._indices(s)
        return {name: values[indices] for name, values in self.source.label_arrays.items()}

    @elementwise
    def rewards(self, s: Any) -> Mapping[str, Any]:
        """Return each reward structure's rate per second in states, with transition rewards, by measure."""
        indices, labels = self._indices(s), self.source.label_arrays
        arrays = self.source.reward_arrays.items()
        return {measure_of_reward(name, labels): values[indices] for name, values in arrays}

    def _indices(self, s: Any) -> Any:
        """Return the indices of a ``State`` of numbers or of arrays; ValueError for states that are not reached."""
        values = s if isinstance(s, tuple) else (s,)
        parts = zip(self._space.components, values, strict=True)
        codes = np.array(np.broadcast_arrays(*(_codes_of(c.values, v) for c, v in parts)))
        try:
            return self.source.indices_of(codes)
        except KeyError:
            raise ValueError(f"s = {s!r}: must be states of the chain, which are those that can be reached") from None

    @property
    def name(self) -> str:
        """The file's name."""
        return self.source.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileChain):
            return NotImplemented
        return self is other or self.source == other.source

    def __hash__(self) -> int:
        return hash((FileChain, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced_with_estimates(self, (FileChain, (self.source, self._space)))

    def __repr__(self) -> str:
        return repr(self.source)


def _codes_of(names: Any, values: Any) -> NDArray[np.int64]:
    """Return the integer codes of a component's values: integers unchanged, other values by index in ``names``."""
    values = np.asarray(values)
    if values.dtype.kind not in "UO" or isinstance(names, range):
        numbers: NDArray[np.int64] = values.astype(np.int64)
        return numbers
    by_name = {name: k for k, name in enumerate(names)}
    codes = np.array([by_name[name] for name in values.ravel().tolist()], dtype=np.int64)
    return codes.reshape(values.shape)


def chain_of(source: Source, Q: sp.csr_matrix) -> MarkovChain:
    """Return the `MarkovChain` of a file from its contents and its generator; labels and rewards are its measures."""
    built = Built(source.space, source.codes, Q, f"read from {source.name}")
    return MarkovChain.of_built(FileChain(source), built)
