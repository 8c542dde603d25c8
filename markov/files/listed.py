"""States, labels and rewards that a file lists, as a chain model and as a model with properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.results import same
from markov.files.language import Batch, FileError, Literal, Value
from markov.files.models import FileModel, MeasuredByPlace
from markov.files.program import Program, Variable
from markov.files.search import StateSpace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain
    from markov.models.spaces import Space

    Vector = NDArray[np.float64]

__all__ = ["ListedChain", "model_from_chain"]

# ----------------------------------------------------------------------------------------- chain model


class ListedChain(MeasuredByPlace):
    """States, labels and rewards that a file lists.

    Parameters
    ----------
    name
        Name of the file.
    space
        Components of a state.
    codes
        The states, ascending, shape (components, states).
    labels, rewards
        Values in the states, shape (states,), by name.
    initial
        Whether the chain may start in each state, shape (states,).
    loops
        Rate from each state to itself, shape (states,); None: zeros.
    variables
        Values of further variables, which are no components of the states, shape (states,), by name.
    state_rewards
        As ``rewards``, without rewards of transitions; None: transitions have no rewards.
    """

    initial: NDArray[np.bool_]
    loops: Vector
    variables: Mapping[str, NDArray[Any]]
    state_rewards: Mapping[str, Vector]

    def __init__(
        self,
        name: str,
        space: Space,
        codes: NDArray[np.int64],
        labels: Mapping[str, NDArray[np.bool_]],
        rewards: Mapping[str, Vector],
        initial: NDArray[np.bool_],
        loops: Vector | None = None,
        variables: Mapping[str, NDArray[Any]] | None = None,
        state_rewards: Mapping[str, Vector] | None = None,
    ) -> None:
        attributes = {
            "_name": name, "_listed": space, "State": space.make, "_codes": codes, "params": None,
            "_labels": dict(labels), "_rewards": dict(rewards), "initial": initial,
            "loops": np.zeros(codes.shape[1]) if loops is None else loops, "variables": dict(variables or {}),
            "state_rewards": dict(rewards if state_rewards is None else state_rewards),
        }  # fmt: skip
        for key, value in attributes.items():
            object.__setattr__(self, key, value)

    @property
    def _space(self) -> Space:
        space: Space = self._listed
        return space

    def space(self) -> Mapping[str, Any]:
        """Return the values of the variables in the listed states."""
        return {component.name: component.values for component in self._space.components}

    def start(self) -> Any:
        """Return the initial state; None unless there is exactly one."""
        indices = np.flatnonzero(self.initial)
        return None if len(indices) != 1 else self._space.state(self._codes[:, indices[0]])

    @property
    def name(self) -> str:
        """The file's name."""
        name: str = self._name
        return name

    def _indices(self, s: Any) -> Any:
        """Return the indices of states in the file, from a ``State`` of numbers or arrays."""
        values = s if isinstance(s, tuple) else (s,)
        parts = zip(self._space.components, values, strict=True)
        codes = np.array(np.broadcast_arrays(*(_codes_of(c.values, v) for c, v in parts)))
        if np.array_equal(codes, self._codes):
            return np.arange(codes.shape[1])
        index_by_values = self.__dict__.get("_by_values")
        if index_by_values is None:
            index_by_values = {tuple(row): k for k, row in enumerate(self._codes.T.tolist())}
            object.__setattr__(self, "_by_values", index_by_values)
        rows = codes.reshape(len(codes), -1).T.tolist()
        return np.array([index_by_values[tuple(row)] for row in rows]).reshape(codes.shape[1:])

    def _content(self) -> tuple[Any, ...]:
        return (
            self._name,
            self.space(),
            self._codes,
            self._labels,
            self._rewards,
            self.initial,
            self.loops,
            self.variables,
            self.state_rewards,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListedChain):
            return NotImplemented
        return self is other or same(self._content(), other._content())

    def __reduce__(self) -> tuple[Any, ...]:
        name, _, *others = self._content()
        return ListedChain, (name, self._space, *others)

    def __hash__(self) -> int:
        return hash((ListedChain, self._name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


def _codes_of(names: Any, values: Any) -> NDArray[np.int64]:
    """Return the codes of a component's values: integers unchanged, names by their position."""
    values = np.asarray(values)
    if values.dtype.kind not in "UO":
        numbers: NDArray[np.int64] = values.astype(np.int64)
        return numbers
    by_name = {name: k for k, name in enumerate(names)}
    codes = np.array([by_name[name] for name in values.ravel().tolist()], dtype=np.int64)
    return codes.reshape(values.shape)


# ------------------------------------------------------------------------------------------ properties


class ListedModel(FileModel):
    """A chain of listed states as the model of a file, whose labels and rewards are arrays."""

    def with_constants(self, changes: Mapping[str, Any]) -> FileModel:
        """Refuse values of constants: a list of transitions has none."""
        raise ValueError(f"constants: {self.name} has none, but {', '.join(changes)} is given")

    def rewards(self, name: Any, location: Any = ("model", None)) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return rewards per second without and with rewards of transitions, shape (states,) each.

        By name, by number from one, or the first reward structure for None.
        """
        listed: Any = self.chain.model
        rewards: dict[str, NDArray[np.float64]] = listed._rewards
        names = list(rewards)
        if name is None and names:
            name = names[0]
        if isinstance(name, int) and 1 <= name <= len(names):
            name = names[name - 1]
        if name not in rewards:
            choices = ", ".join(map(repr, names)) or "none"
            raise FileError(location, f"rewards {name!r}: must be one of {choices}")
        return listed.state_rewards[name], rewards[name]


def model_from_chain(chain: MarkovChain) -> FileModel:
    """Return the model of a chain that a file lists, with its states, labels, rewards and loops."""
    listed: Any = chain.model
    if listed is None:
        message = "has no labels and no rewards: properties are of .tra and .umb files"
        raise FileError(("matrix", None), message)
    codes = chain._codes
    assert codes is not None
    variables = {}
    for component, values in zip(listed._space.components, codes, strict=True):
        truth = not isinstance(component.values, range) and list(component.values) == [False, True]
        name, kind = component.name, "bool" if truth else "int"
        low, high = (Literal(int(end), 1) for end in (values.min(), values.max()))
        variables[name] = (
            Variable(name, kind, None, None, Literal(False, 1), 1) if truth else Variable(name, kind, low, high, low, 1)
        )
    program = Program(
        listed.name, "ctmc", variables=variables, start=Literal(True, 1),
        labels=dict.fromkeys(listed._labels, Literal(False, 1)), rewards=dict.fromkeys(listed._rewards, ()),
    )  # fmt: skip
    model = ListedModel(program)
    numbers = model.instance.numbers(codes)
    assert (np.diff(numbers) > 0).all()

    def value_of(values: NDArray[Any]) -> Value:
        """Return a value that is listed for each state."""

        def run(c: Batch) -> NDArray[Any]:
            assert c.states is not None
            selected: NDArray[Any] = values[np.searchsorted(numbers, c.states)]
            return selected

        return Value("bool" if values.dtype == bool else "int", run, reads=frozenset(range(len(variables))))

    def label_value(name: str) -> Value | None:
        return value_of(listed._labels[name]) if name in listed._labels else None

    model.instance.scope.labels = label_value
    model.instance.scope.symbols |= {name: value_of(values) for name, values in listed.variables.items()}
    initial = np.flatnonzero(listed.initial)
    model.__dict__["state_space"] = StateSpace(
        model.instance, Batch(codes, numbers), chain.Q, listed.loops, initial if len(initial) else np.zeros(1, np.int64),
        {}, np.zeros((0, chain.size)),
    )  # fmt: skip
    model.__dict__["chain"] = chain
    return model
