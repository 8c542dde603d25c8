"""Rewards of transitions (JANI): expressions of the variables after all assignments.

In a transition a transient variable has its initial value unless an edge assigns another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.errors import FileError
from markov.files.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.binding import Instance
    from markov.files.columns import Columns
    from markov.files.program import Transient

__all__ = ["StepRewards", "initial_values", "with_transient_names"]


def initial_values(instance: Instance) -> list[Any]:
    """Return the initial values of the transient variables, which must be constants of their types."""
    return [_initial(variable, instance) for variable in instance.program.transient.values()]


def with_transient_names(instance: Instance) -> Instance:
    """Return an instance in which the names of transient variables mean their values in a transition."""
    variables = enumerate(instance.program.transient.values())
    return instance.with_names({variable.name: _variable(k, variable.kind) for k, variable in variables})


def _initial(variable: Transient, instance: Instance) -> Any:
    value = instance.scope.value(variable.start)
    allowed_kinds = {"double": ("double", "int")}.get(variable.kind, (variable.kind,))
    if not value.fixed or value.kind not in allowed_kinds or not np.isfinite(value.single()):
        message = f"initial value of {variable.name!r}: must be a constant of type {variable.kind}, and finite"
        raise FileError((instance.program.file, None), message)
    return value.single()


class StepRewards:
    """Rewards of many transitions at once.

    Parameters
    ----------
    instance
        The program.
    """

    def __init__(self, instance: Instance) -> None:
        self._starts = np.array(initial_values(instance), dtype=np.float64).reshape(-1, 1)
        after = with_transient_names(instance)
        self._values = {name: _number(after, name) for name in instance.program.steps}

    def __len__(self) -> int:
        return len(self._values)

    def rewards(
        self, assigned_values: NDArray[np.float64] | None, targets: Callable[[NDArray[np.float64]], Columns]
    ) -> NDArray[np.float64]:
        """Return the rewards of transitions, shape (rewards, transitions).

        Parameters
        ----------
        assigned_values
            Values of the transient variables, NaN without an assignment, shape (variables, transitions).
        targets
            Function from values of the transient variables to the batch of target states.
        """
        values = (
            np.zeros((0, 0))
            if assigned_values is None
            else np.where(np.isnan(assigned_values), self._starts, assigned_values)
        )
        c = targets(values)
        with np.errstate(all="ignore"):  # what is infinite or none is refused
            rewards = [np.broadcast_to(np.asarray(v.run(c), dtype=np.float64), c.count) for v in self._values.values()]
        return np.array(rewards)


def _variable(k: int, kind: str) -> Value:
    converted: dict[str, Callable[[Columns], Any]] = {
        "double": lambda c: c.transient(k),
        "int": lambda c: c.transient(k).astype(np.int64),
        "bool": lambda c: c.transient(k) != 0.0,
    }
    return Value(kind, converted[kind])


def _number(instance: Instance, name: str) -> Value:
    tree = instance.program.steps[name]
    value = instance.scope.value(tree)
    if value.kind == "bool":
        raise FileError(instance.location(tree.line), f"a reward {name} is a truth value: must be a number")
    return value
