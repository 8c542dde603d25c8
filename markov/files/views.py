"""The states of a file as a `ChainModel`: names, labels and rewards as measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain
from markov.files.measures_by_place import MeasuredByPlace
from markov.files.names import field_names
from markov.generators.building import Built
from markov.models.bare import named_state
from markov.models.spaces import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.binding import Instance
    from markov.files.program import Program
    from markov.files.states.explored import StateSpace
    from markov.files.values import Value

__all__ = ["chain_of"]


class Source(Protocol):
    """Interface of `FileModel` used by a chain."""

    program: Program
    instance: Instance

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def state_space(self) -> StateSpace:
        """The states and the rates between them."""

    def label_values(self, name: str) -> Value | None:
        """Return the values of a label of the file in the states."""

    def with_constants(self, changes: dict[str, Any]) -> Any:
        """Return the model with changed values of constants."""

    def rewards(self, name: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rewards per second, without and with rewards of transitions."""


class FileChain(MeasuredByPlace):
    """Chain model of a file: start, labels and rewards.

    Parameters
    ----------
    source
        The model of the file.
    """

    def __init__(self, source: Source) -> None:
        ranges = source.state_space.instance.ranges
        fields = field_names([r.name for r in ranges])
        codes = source.state_space.columns.codes
        values = {
            field: [False, True] if r.kind == "bool" else range(int(c.min()), int(c.max()) + 1)
            for field, r, c in zip(fields, ranges, codes, strict=True)
        }
        self._set(source, values)

    def _set(self, source: Source, values: Mapping[str, Any]) -> None:
        state = named_state("State", tuple(values))
        attributes = {"State": state, "source": source, "params": None, "_values": values}
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def space(self) -> Mapping[str, Any]:
        """Return the values of the variables in reachable states."""
        values: Mapping[str, Any] = self._values
        return values

    def start(self) -> Any:
        """Return the initial state; None if there are several."""
        state_space = self.source.state_space
        if len(state_space.initial) != 1:
            return None
        codes = state_space.columns.codes[:, state_space.initial[0]]
        ranges = state_space.instance.ranges
        return self.State(*(bool(c) if r.kind == "bool" else int(c) for r, c in zip(ranges, codes, strict=True)))

    @property
    def constants(self) -> dict[str, Any]:
        """The constants of the file by name."""
        return dict(self.source.instance.constants)

    def replace(self, **changes: Any) -> Any:
        """Return the model of the file with changed values of constants."""
        return self.source.with_constants(changes)

    def _indices(self, s: Any) -> Any:
        """Return the indices of states in the file, from a ``State`` of numbers or arrays."""
        codes = np.array(np.broadcast_arrays(*(np.asarray(v, dtype=np.int64) for v in s)))
        return self.source.state_space.indices_of(codes)

    @cached_property
    def _labels(self) -> dict[str, NDArray[np.bool_]]:
        source, c = self.source, self.source.state_space.columns
        labels = {}
        for name in source.program.labels:
            value = source.label_values(name)
            labels[name] = np.broadcast_to(np.asarray(value.run(c), dtype=bool), c.count)
        return labels

    @cached_property
    def _rewards(self) -> dict[str, NDArray[np.float64]]:
        names = enumerate(self.source.program.rewards, start=1)
        return {name or f"reward {k}": self.source.rewards(name)[1] for k, name in names}

    @property
    def name(self) -> str:
        """The file's name."""
        name: str = self.source.name
        return name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileChain):
            return NotImplemented
        return self is other or self.source == other.source

    def __hash__(self) -> int:
        return hash((FileChain, self.name))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_of, (self.source, self._values)

    def __repr__(self) -> str:
        return repr(self.source)


def _made_of(source: Source, values: Mapping[str, Any]) -> FileChain:
    """Return the unpickled model; its states are explored again on first use."""
    model = FileChain.__new__(FileChain)
    model._set(source, values)
    return model


def chain_of(source: Source) -> MarkovChain:
    """Return the chain of a file's model."""
    state_space, model = source.state_space, FileChain(source)
    codes = state_space.columns.codes
    built = Built(Space(model.State, model.space()), codes, state_space.Q, f"read from {source.name}")
    return MarkovChain.of_built(model, built)
