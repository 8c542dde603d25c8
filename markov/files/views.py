"""A file's states as those of a `ChainModel`: names, labels and rewards as measures."""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from markov.chains import MarkovChain
from markov.generators.ways import Built
from markov.models.rules import ChainModel
from markov.models.spaces import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.program import Program
    from markov.files.state_space import Explored
    from markov.files.values import Value

__all__ = ["FileStates", "chain_of"]


@dataclass(frozen=True)
class FileStates:
    """The states of a file's model: names of the variables and their values."""

    names: tuple[str, ...]
    codes: NDArray[np.int64]


class Source(Protocol):
    """What a chain needs of a `FileModel`."""

    program: Program

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def explored(self) -> Explored:
        """The states and the rates between them."""

    def bound_labels(self, name: str) -> Value | None:
        """Return what a label of the file means."""

    def rewards(self, name: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rewards per second, of states, and of transitions besides."""


class FileChain(ChainModel):
    """What a chain from a file has of a model: its start, labels and rewards.

    Parameters
    ----------
    source
        The model of the file.
    """

    def __init__(self, source: Source) -> None:
        ranges = source.explored.bound.ranges
        fields = [_field(r.name) for r in ranges]
        state: Any = namedtuple("State", fields)  # type: ignore[misc]  # noqa: PYI024
        codes = source.explored.columns.codes
        values = {
            field: [False, True] if r.kind == "bool" else range(int(c.min()), int(c.max()) + 1)
            for field, r, c in zip(fields, ranges, codes, strict=True)
        }
        object.__setattr__(self, "State", state)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "params", None)
        object.__setattr__(self, "_values", values)

    def space(self) -> Mapping[str, Any]:
        """Return the values that the variables have in reachable states."""
        values: Mapping[str, Any] = self._values
        return values

    def start(self) -> Any:
        """Return the initial state; None where there are several."""
        found = self.source.explored
        if len(found.initial) != 1:
            return None
        codes = found.columns.codes[:, found.initial[0]]
        ranges = found.bound.ranges
        return self.State(
            *(bool(c) if r.kind == "bool" else int(c) for r, c in zip(ranges, codes, strict=True))
        )

    def measures(self, pi: NDArray[np.float64], s: Any = None) -> dict[str, Any]:
        """Return the probability of each label and the mean of each reward of the file."""
        del s
        source = self.source
        found: dict[str, Any] = {}
        for name, values in members(source).items():
            found[name] = (), float(values @ pi), {}
        return found

    @property
    def name(self) -> str:
        """The file's name."""
        name: str = self.source.name
        return name

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return repr(self.source)


def members(source: Source) -> dict[str, NDArray[np.float64]]:
    """Return labels (0 or 1) and rewards per second in each state, by name."""
    found, c = {}, source.explored.columns
    for name in source.program.labels:
        value = source.bound_labels(name)
        assert value is not None
        found[name] = np.broadcast_to(np.asarray(value.run(c), dtype=float), c.count)
    for number, name in enumerate(source.program.rewards, start=1):
        found[name or f"reward {number}"] = source.rewards(name)[1]
    return found


def chain_of(source: Source) -> MarkovChain:
    """Return the chain of a file's model."""
    explored, model = source.explored, FileChain(source)
    codes = explored.columns.codes
    built = Built(Space(model.State, model.space()), codes, explored.Q, f"read from {source.name}")
    return MarkovChain.of_built(model, built)


def _field(name: str) -> str:
    """Return a name that fields of a NamedTuple may have."""
    return f"v{name}" if name.startswith("_") or keyword.iskeyword(name) else name
