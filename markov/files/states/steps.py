"""Rewards that transitions earn (JANI): expressions of the variables after all assignments.

In a transition a transient variable has its initial value, or the one that an edge assigns to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markov.files.errors import FileError
from markov.files.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.files.binding import Bound
    from markov.files.columns import Columns
    from markov.files.program import Transient

__all__ = ["StepRewards", "initial_values", "with_transient_names"]


def initial_values(bound: Bound) -> list[Any]:
    """Return the initial values of the transient variables, which must be constants of their types."""
    return [_initial(variable, bound) for variable in bound.program.transient.values()]


def with_transient_names(bound: Bound) -> Bound:
    """Return a program in which the names of transient variables are their values in a transition."""
    variables = enumerate(bound.program.transient.values())
    return bound.with_names({variable.name: _variable(k, variable.kind) for k, variable in variables})


def _initial(variable: Transient, bound: Bound) -> Any:
    value = bound.scope.value(variable.start)
    kinds = {"double": ("double", "int")}.get(variable.kind, (variable.kind,))
    if not value.fixed or value.kind not in kinds or not np.isfinite(value.single()):
        said = f"initial value of {variable.name!r}: must be a constant of type {variable.kind}, and finite"
        raise FileError((bound.program.file, None), said)
    return value.single()


class StepRewards:
    """Rewards of many transitions at once.

    Parameters
    ----------
    bound
        The program.
    """

    def __init__(self, bound: Bound) -> None:
        self._starts = np.array(initial_values(bound), dtype=np.float64).reshape(-1, 1)
        after = with_transient_names(bound)
        self._values = {name: _number(after, name) for name in bound.program.steps}

    def __len__(self) -> int:
        return len(self._values)

    def earned(
        self, assigned: NDArray[np.float64] | None, ends: Callable[[NDArray[np.float64]], Columns]
    ) -> NDArray[np.float64]:
        """Return the rewards of some transitions, shape (rewards, transitions).

        Parameters
        ----------
        assigned
            Values of the transient variables, NaN where no edge assigns one, shape (variables, transitions).
        ends
            Returns the states to which the transitions lead, with given values of the transient variables.
        """
        values = np.zeros((0, 0)) if assigned is None else np.where(np.isnan(assigned), self._starts, assigned)
        c = ends(values)
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


def _number(bound: Bound, name: str) -> Value:
    tree = bound.program.steps[name]
    value = bound.scope.value(tree)
    if value.kind == "bool":
        raise FileError(bound.place(tree.line), f"a reward {name} is a truth value: must be a number")
    return value
