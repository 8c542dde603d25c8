"""Sets of states and distributions over them, as users write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, shown
from hopflow.errors import failed_rule
from markov.chains import MarkovChain
from markov.models.measures import Mean, functionals
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["as_chain", "distribution", "selected"]

MASS = 1e-12
"""How far the sum of a distribution may be from one."""


def as_chain(model: Any) -> MarkovChain:
    """Return the chain of a model, a result of `explore`, a file, or a generator."""
    chain = getattr(model, "chain", model)
    if isinstance(chain, MarkovChain):
        return chain
    if isinstance(chain, ChainModel) or callable(chain):
        return MarkovChain(chain)
    if not hasattr(chain, "shape") and not isinstance(chain, (list, tuple)):
        said = "a model by rules, a MarkovChain, what explore found, or a generator matrix"
        raise TypeError(f"model = {shown(model)}: must be {said}")
    return MarkovChain(chain)


def selected(chain: MarkovChain, states: Any, name: str) -> NDArray[np.bool_]:
    """Return whether each state of a chain is in a set, shape (n,).

    Parameters
    ----------
    chain
        The states.
    states
        The name of a label of the model; a function of the states (a ``State`` of arrays) that
        returns truth values of shape (n,); truth values themselves; one state; or a list of states.
    name
        Of the parameter, in messages.

    Raises
    ------
    ValueError
        Naming the parameter, when it is none of these, or no state is in the set.
    """
    found = _members(chain, states, name)
    if not found.any():
        raise ValueError(f"{name} = {states!r}: no state of the chain is in it")
    return found


def _members(chain: MarkovChain, states: Any, name: str) -> NDArray[np.bool_]:
    if isinstance(states, str) and states not in _names(chain):
        named = {} if chain.model is None else functionals(chain.model, chain.states)
        labels = {key: np.asarray(mean.of) for key, mean in named.items() if _is_set(mean)}
        choice(name, states, tuple(labels))
        return np.asarray(labels[states] != 0.0)
    if callable(states):
        try:
            states = np.asarray(states(chain.states))
        except Exception as error:
            raise failed_rule(error, states, f"{name} = {shown(states)}, of all states") from error
    if isinstance(states, np.ndarray) and states.dtype == bool:
        if states.shape != (chain.size,):
            raise ValueError(f"{name} has shape {states.shape}: must have shape ({chain.size},)")
        return states
    if isinstance(states, np.ndarray):
        states = states.tolist()
    members = states if isinstance(states, (list, set)) else [states]
    found = np.zeros(chain.size, dtype=bool)
    for state in members:
        try:
            found[chain.number_of(state)] = True
        except KeyError:
            raise ValueError(f"{name}: {state!r} is no state of the chain") from None
    return found


def _is_set(mean: Mean) -> bool:
    """Whether a measure is a probability: rewards in other numbers are no sets of states."""
    values = np.asarray(mean.of)
    return mean.over is None and values.ndim == 1 and bool(np.isin(values, (0.0, 1.0)).all())


def _names(chain: MarkovChain) -> tuple[Any, ...]:
    states = chain.states
    return states if chain.model is None and isinstance(states, tuple) else ()


def distribution(chain: MarkovChain, start: Any) -> NDArray[np.float64]:
    """Return a distribution over the states, shape (n,).

    Parameters
    ----------
    chain
        The states.
    start
        None: the start of the model. A state; or probabilities of shape (n,).

    Raises
    ------
    ValueError
        When there is no such state, or the numbers are no probabilities.
    """
    if start is None:
        start = None if chain.model is None else chain.model.start()
        if start is None:
            raise ValueError("start: the chain has none of its own; give a state or probabilities")
    if isinstance(start, np.ndarray) and not start.ndim:
        start = start.item()
    if isinstance(start, np.ndarray):
        if start.shape != (chain.size,) or start.dtype.kind not in "iuf":
            raise ValueError(f"start: probabilities of shape ({chain.size},) are expected")
        given = start.astype(np.float64)
        if not (given.min() >= 0.0 and abs(given.sum() - 1.0) <= MASS):
            raise ValueError("start: probabilities must be >= 0 and sum to one")
        return given
    found = np.zeros(chain.size)
    try:
        found[chain.number_of(start)] = 1.0
    except KeyError:
        raise ValueError(f"start: {start!r} is no state of the chain") from None
    return found
