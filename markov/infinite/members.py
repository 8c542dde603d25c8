"""Sets of states of an infinite chain, as conditions on one state: from functions, labels, states and lists of them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import format_value
from markov.generators.polynomials import Polynomial
from markov.models.functions import INSTEAD_OF_INVERTED, is_inverted, name_of

if TYPE_CHECKING:
    from markov.exploration import InfiniteChain
    from markov.models.rules import ChainModel

__all__ = ["NamedFunction", "membership", "start_of"]


class NamedFunction:
    """A label or reward of a model as a function of one state."""

    def __init__(self, model: ChainModel, kind: str, name: str) -> None:
        self.name, self.model, self.q = name, model, model.symbols()
        self.functions = model.function_of_state(kind, self.q)

    @property
    def is_defined(self) -> bool:
        """Whether the model has a label or reward of this name."""
        return self.name in self.functions(self.model.start(), self.q)

    def __call__(self, state: Any) -> Any:
        """Return the value of the label or reward in ``state``."""
        return self.functions(state, self.q)[self.name]


def membership(infinite: InfiniteChain, states: Any, name: str) -> Callable[[Any], bool]:
    """Return a predicate on states: whether a state is in the set that ``states`` describes.

    Parameters
    ----------
    infinite
        The chain.
    states
        A function of a state that returns whether it is in the set, as Python reads conditions; the name of
        a label of the model; a state; or a list or set of states.
    name
        Name of the parameter, for messages.

    Raises
    ------
    ValueError
        For other values of the parameter, which the message names.
    """
    if isinstance(states, np.ndarray):
        expected = "must be a function of the state, a label, a state or a list of states"
        raise ValueError(f"{name} is an array: {expected}: there are infinitely many")  # noqa: TRY004
    if isinstance(states, str):
        label = NamedFunction(infinite.model, "labels", states)
        if label.is_defined:
            return _condition(label, f"{name} = {states!r}")
    if callable(states):
        return _condition(states, f"{name} = {name_of(states)}")
    members = set()
    for state in states if isinstance(states, (list, set)) else [states]:
        member = _normal_state(infinite, state)
        if member is None:
            expected = "must be a function of the state, a label, a state of the chain or a list of them"
            raise ValueError(f"{name} = {format_value(states)}: {expected}")
        members.add(member)
    if not members:
        raise ValueError(f"{name} = {format_value(states)}: no state of the chain is in it")
    return members.__contains__


def _normal_state(infinite: InfiniteChain, state: Any) -> Any:
    """Return a state in the form that the rules take; None for another value or a state outside the chain's hull."""
    try:
        normal = infinite.hull.layout.calls.as_state(state)
    except (TypeError, ValueError):
        return None
    return normal if infinite.hull.contains(normal) else None


def _condition(function: Callable[[Any], Any], name: str) -> Callable[[Any], bool]:
    """Return a user's condition as a predicate that raises ValueError for values other than numbers or booleans."""

    def holds(state: Any) -> bool:
        """Return whether the condition holds in ``state``."""
        value = function(state)
        if isinstance(value, (bool, np.bool_)) or type(value) is Polynomial:
            return bool(value)
        if is_inverted(value, function):
            raise ValueError(f"{name}: is {value} in {state!r}: {INSTEAD_OF_INVERTED}")
        if not isinstance(value, numbers.Real) or math.isnan(value):
            raise ValueError(f"{name}: is {value!r} in {state!r}: must be True or False")
        return bool(value)

    return holds


def start_of(infinite: InfiniteChain, start: Any) -> Any:
    """Return the state at time 0, in the form that the rules take, from ``start`` or (None) from the model.

    Raises
    ------
    ValueError
        For a state outside of the chain's hull.
    """
    if start is None:
        return infinite.hull.layout.calls.as_state(infinite.model.start())
    state = _normal_state(infinite, start)
    if state is None:
        expected = "must be one state that the start of the model may lead to"
        raise ValueError(f"start = {format_value(start)}: {expected}: the chain has infinitely many states")
    return state
