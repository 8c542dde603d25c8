"""How the states of a model are taken apart into components without an end, and a mode of all others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markov.generators.unbounded.polynomials import Polynomial, Unfollowed, is_whole, terms_of
from markov.generators.unbounded.substitution import Substitution
from markov.models.spaces import Space

if TYPE_CHECKING:
    from markov.generators.calls import Calls

__all__ = ["Layout", "Mode", "Move"]

MODES = 4  # values of a component that is taken for one without an end if it has more

Mode = tuple[Any, ...]
Move = tuple[Mode, tuple[Any, ...], Any]
"""The mode and the other components of a target, and the rate."""


class Layout:
    """The components of the states, some of which may have no end.

    Parameters
    ----------
    calls
        The rules.
    states
        Some that the start leads to.
    promoted
        Numbers of components that have no end, whatever their values among these states.
    substitute
        Whether `math.exp` and other functions of floats are replaced, wherever the rules call them.

    Attributes
    ----------
    names
        Of the components that may have no end.
    """

    def __init__(
        self, calls: Calls, states: Sequence[Any], promoted: frozenset[int], *, substitute: bool = False
    ) -> None:
        self.calls, self.states, self.substitute = calls, states, substitute
        value = Substitution().value if substitute else lambda v: v
        self._rules, self._q = value(calls.rules), value(calls.q)
        self.space = Space.found(calls.model.State, states)
        self.free = tuple(
            k
            for k, column in enumerate(zip(*map(self.space.flat, states), strict=True))
            if k in promoted or (len(set(column)) > MODES and all(type(v) is int for v in column))
        )
        self.width = len(self.space.components)
        self.others = tuple(k for k in range(self.width) if k not in self.free)
        self.names = tuple(self.space.names[k] for k in self.free)

    def split(self, state: Any) -> tuple[Mode, tuple[int, ...]]:
        """Return the mode of a state and its other components."""
        values = self.space.flat(state)
        return tuple(values[k] for k in self.others), tuple(values[k] for k in self.free)

    def state(self, mode: Mode, places: Sequence[Any]) -> Any:
        """Return the state of a mode and the other components, as the rules take it."""
        values: list[Any] = [None] * self.width
        for k, value in itertools.chain(zip(self.others, mode, strict=True), zip(self.free, places, strict=True)):
            values[k] = value
        return self.calls.with_names(self.space.joined(values))

    def moves(self, mode: Mode, places: Sequence[Any]) -> list[Move]:
        """Return the transitions out of a state, whose components may be polynomials.

        Raises
        ------
        Unfollowed
            For a target that is not known, or a rate that may be negative.
        """
        found: list[Move] = []
        for target, rate in self._rules(self.state(mode, places), self._q):
            if type(rate) is not Polynomial and not 0.0 <= rate < float("inf"):
                raise Unfollowed(f"a rate of {rate}")
            if rate < 0:
                raise Unfollowed("a rate may be negative")
            if type(rate) is not Polynomial:
                if not rate:
                    continue
            elif not rate.may_be_positive():
                continue
            values = self.space.flat(self.space.checked(target))
            there = tuple(values[k] for k in self.others)
            if any(type(value) is Polynomial for value in there):
                raise Unfollowed("a component with few values is computed from one without an end")
            to = tuple(values[k] for k in self.free)
            width = len(places)
            if any((terms := terms_of(v, width)) is None or not is_whole(terms) for v in to):
                raise Unfollowed("a target that is no whole number")
            hash(there)
            found.append((there, to, rate))
        return found
