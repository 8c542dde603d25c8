"""Many states at a time: one array per variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hopflow.fork_safety import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["Columns", "Numbering"]


class Numbering(Protocol):
    """Numbers of states, from which the values of variables follow."""

    def codes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of the variables in states, shape (variables, states)."""

    def code(self, k: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of one variable in states, shape (states,)."""


class Columns:
    """Values of the variables in a batch of states.

    Parameters
    ----------
    codes
        Values, shape (variables, states), integers; None: computed from the numbers of the states on first use.
    states
        Numbers of the states in the product space, shape (states,), or None.
    numbering
        Decoder of the numbers; required without ``codes``.
    transient
        Values of the transient variables in the transitions into the states, shape (transient variables, states).
    """

    def __init__(
        self,
        codes: NDArray[np.int64] | None,
        states: NDArray[np.int64] | None = None,
        numbering: Numbering | None = None,
        transient: NDArray[np.float64] | None = None,
    ) -> None:
        self.states, self._numbering, self._transient = states, numbering, transient
        if codes is not None:
            self.codes = codes
            self.count = codes.shape[1]
        else:
            self.count = len(self._numbers()[1])
        self._variables: dict[int, NDArray[np.int64]] = {}
        self._cache: dict[Callable[[Columns], Any], Any] = {}

    def _numbers(self) -> tuple[Numbering, NDArray[np.int64]]:
        assert self._numbering is not None
        assert self.states is not None
        return self._numbering, self.states

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """The values of all variables, shape (variables, states)."""
        numbering, states = self._numbers()
        return numbering.codes(states)

    def variable(self, k: int) -> NDArray[np.int64]:
        """Return the values of one variable, shape (states,)."""
        if "codes" in self.__dict__:
            values: NDArray[np.int64] = self.codes[k]
            return values
        if k not in self._variables:
            numbering, states = self._numbers()
            self._variables[k] = numbering.code(k, states)
        return self._variables[k]

    def take(self, indices: NDArray[np.int64]) -> Columns:
        """Return the batch of the states at these indices."""
        if len(indices) == self.count:
            return self
        states = None if self.states is None else self.states[indices]
        transient = None if self._transient is None else self._transient[:, indices]
        if self._numbering is not None:
            return Columns(None, states, self._numbering, transient)
        return Columns(self.codes[:, indices], states, None, transient)

    def transient(self, k: int) -> NDArray[np.float64]:
        """Return the values of a transient variable in the transitions into the states, shape (states,)."""
        assert self._transient is not None
        values: NDArray[np.float64] = self._transient[k]
        return values

    def memoize(self, rule: Callable[[Columns], Any]) -> Any:
        """Return the values of a formula in these states; later calls read them from a cache."""
        if rule not in self._cache:
            self._cache[rule] = rule(self)
        return self._cache[rule]
