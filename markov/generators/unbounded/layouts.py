"""How the states of a model are taken apart into components without an end, and a mode of all others."""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from markov.generators.unbounded.polynomials import Polynomial, Unfollowed, is_whole, terms_of
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

    Attributes
    ----------
    names
        Of the components that may have no end.
    """

    def __init__(self, calls: Calls, states: Sequence[Any], promoted: frozenset[int]) -> None:
        self.calls, self.states = calls, states
        self._rules = _with_exponential(calls.rules)
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
        for target, rate in self._rules(self.state(mode, places), self.calls.q):
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


def _with_exponential(rules: Callable[..., Any]) -> Callable[..., Any]:
    """Return rules whose own calls of `math.exp` take polynomials as well."""
    if isinstance(rules, types.MethodType):
        return types.MethodType(_with_exponential(rules.__func__), rules.__self__)
    if not isinstance(rules, types.FunctionType) or "exp" not in rules.__code__.co_names:
        return rules
    module = types.SimpleNamespace(**{**vars(math), "exp": _exponential})
    replaced: dict[str, Any] = {name: module for name, value in rules.__globals__.items() if value is math}
    replaced |= {name: _exponential for name, value in rules.__globals__.items() if value is math.exp}
    scope = {**rules.__globals__, **replaced}
    return types.FunctionType(rules.__code__, scope, rules.__name__, rules.__defaults__, rules.__closure__)


def _exponential(exponent: Any) -> Any:
    return math.e**exponent if type(exponent) is Polynomial else math.exp(exponent)
