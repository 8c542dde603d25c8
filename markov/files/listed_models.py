"""Properties of chains whose files list states: their labels and rewards under the language of properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.columns import Columns
from markov.files.errors import FileError
from markov.files.models import FileModel
from markov.files.program import Program, Variable
from markov.files.states.explored import StateSpace
from markov.files.syntax import Literal
from markov.files.values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from markov.chains import MarkovChain

__all__ = ["model_from_chain"]


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

        def run(c: Columns) -> NDArray[Any]:
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
        model.instance, Columns(codes, numbers), chain.Q, listed.loops, initial if len(initial) else np.zeros(1, np.int64),
        {}, np.zeros((0, chain.size)),
    )  # fmt: skip
    model.__dict__["chain"] = chain
    return model
