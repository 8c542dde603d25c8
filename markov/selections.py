"""Sets of states and distributions over them, as users write them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import contextmanager
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.callers import warn_caller
from hopflow.checks import check_sum_of_one, choice, count_of, format_value, refuse_masked
from hopflow.labels import aligned, labels_of
from markov.chains import InSteps, MarkovChain, advice_for
from markov.computing.resources import InfiniteStatesError
from markov.computing.rounding import differs_from_one
from markov.exploration import InfiniteChain
from markov.models.functions import Mean, evaluate_condition, name_of
from markov.models.measures import functionals
from markov.models.rules import ChainModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "among_states_with_values",
    "as_any_chain",
    "as_chain",
    "describe_unknown_state",
    "distribution",
    "refers_to_positions",
    "select_states",
    "select_target",
]

SUM_TOLERANCE = 1e-12
"""Largest difference of the sum of a distribution from one."""
MAX_LISTED = 20
"""States that a message lists."""


def as_chain(model: Any) -> MarkovChain:
    """Return the `MarkovChain` of a model by rules, a model of a file, a result of `explore`, or a generator matrix."""
    chain = getattr(model, "chain", model)
    in_steps = isinstance(chain, InSteps)
    if isinstance(chain, MarkovChain) and not in_steps:
        return chain
    if isinstance(chain, ChainModel) or callable(chain):
        return MarkovChain(chain)
    if in_steps or (not hasattr(chain, "shape") and not isinstance(chain, (list, tuple))):
        allowed = "a model by rules, a MarkovChain, what explore found, or a generator matrix"
        raise TypeError(f"model = {format_value(model)}: must be {allowed}{advice_for(chain)}")
    return MarkovChain(chain)


def as_any_chain(model: Any) -> MarkovChain | InfiniteChain:
    """Return the `MarkovChain` of a model as `as_chain` does, or an `InfiniteChain` for infinitely many states."""
    if isinstance(model, InfiniteChain):
        return model
    try:
        return as_chain(model)
    except InfiniteStatesError as error:
        return InfiniteChain.of_error(error)


def select_states(chain: MarkovChain, states: Any, name: str, *, allow_empty_label: bool = False) -> NDArray[np.bool_]:
    """Return which states of a chain a user's selection contains, a boolean array of shape (n,).

    Parameters
    ----------
    chain
        The states.
    states
        A function of a state that returns whether it is in the set, as Python reads conditions; the
        name of a label of the model; truth values of shape (n,), not numbers, also a series of pandas labelled by the
        states; one state; or a list or set of states.
    name
        Name of the parameter, for messages.
    allow_empty_label
        Whether a label may be empty: it is declared in the model, and the reachable states depend on numbers.
        A function that is false in all states is refused, as a mistake of the user.

    Raises
    ------
    ValueError
        Naming the parameter, when it is none of these, or no state is in the set.
    """
    members = _mark_states(chain, states, name)
    if not members.any() and not (allow_empty_label and isinstance(states, str)):
        never = ": it has probability 0 and is never entered" if isinstance(states, str) else ""
        raise ValueError(f"{name} = {_format_states(states)}: no state of the chain is in it{never}")
    return members


@contextmanager
def among_states_with_values(chain: MarkovChain, bound: float) -> Iterator[None]:
    """Context in which errors say that ``chain`` has some of infinitely many states, the rest below ``bound``."""
    try:
        yield
    except (KeyError, ValueError) as error:
        if type(error) not in (KeyError, ValueError):
            raise
        remark = f"of infinitely many states {chain.size} have values, and all others together at most {bound:.1e}"
        raise type(error)(f"{error.args[0]}; {remark}") from None


def select_target(chain: MarkovChain, to: Any) -> NDArray[np.bool_]:
    """Return the states of a target set, shape (n,), as `select_states` does.

    It warns of a function of amounts that holds in the state outside of the limits (SBML), where amounts are 0.
    """
    members = select_states(chain, to, "to")
    outside = None if chain.model is None else chain.model.state_outside
    if outside is not None and members[outside] and callable(to) and _holds_by_amounts(chain, to, outside):
        message = "holds in the state outside of the limits too, where amounts are 0, so that exceeding them arrives"
        remedy = "add `and not s.outside`, or raise the limits"
        warn_caller(UserWarning(f"to = {_format_states(to)}: {message}: {remedy}"), "markov")
    return members


def _holds_by_amounts(chain: MarkovChain, condition: Any, outside: int) -> bool:
    """Return whether a condition holds in a state with the amounts of the state ``outside``, but within the limits."""
    (state,) = chain.table.plain([outside])
    return bool(condition(state._replace(outside=False)))


def _mark_states(chain: MarkovChain, states: Any, name: str) -> NDArray[np.bool_]:
    """Return which states a selection contains, booleans of shape (n,), without the check that there are any."""
    if callable(states) and not _is_state(chain, states):
        return evaluate_condition(states, chain.table, f"{name} = {name_of(states)}")
    if isinstance(states, str):
        return _states_by_name(chain, states, name)
    if hasattr(states, "__array__") and np.ndim(states):
        refuse_masked(name, states)
        states = np.asarray(aligned(name, states, chain.table.plain()) if labels_of(states) else states)
    if isinstance(states, np.ndarray) and states.dtype == bool:
        if states.shape != (chain.size,):
            raise ValueError(f"{name} has shape {states.shape}: must have shape ({chain.size},)")
        return states
    if isinstance(states, np.ndarray):
        states = states.tolist()
    if _are_truths(chain, states):
        return _mark_states(chain, np.array(states), name)
    listed = isinstance(states, (list, set))
    if isinstance(states, (tuple, frozenset)):
        listed = not _is_state(chain, states) and all(_is_state(chain, item) for item in states)
    members = states if listed else [states]
    _refuse_numeric_truths(chain, members, name)
    marks = np.zeros(chain.size, dtype=bool)
    for state in members:
        try:
            marks[chain.number_of(state)] = True
        except KeyError:
            raise ValueError(f"{name}: {describe_unknown_state(chain, state)}") from None
    return marks


def refers_to_positions(chain: MarkovChain, selection: Any, kinds: str) -> bool:
    """Return whether a user's argument has one entry per state of ``chain``, without labels, as truth values have.

    ``kinds`` are the kinds of NumPy types of such arrays: "b" for `select_states`, "iuf" for `distribution`.
    """
    if hasattr(selection, "__array__") and np.ndim(selection):
        return labels_of(selection) is None and np.asarray(selection).dtype.kind in kinds
    return kinds == "b" and _are_truths(chain, selection)


def describe_unknown_state(chain: MarkovChain, value: Any, hint: str = "") -> str:
    """Return text for messages on a value that is no state, with a state of the chain as an example."""
    example = next(iter(chain.table.plain([0])))
    return f"{format_value(value)} is no state of the chain{hint}; the first state is {format_value(example)}"


def _are_truths(chain: MarkovChain, states: Any) -> bool:
    """Return whether a list has one truth value per state, instead of states that are themselves truth values."""
    if not isinstance(states, list) or not states or any(type(item) is not bool for item in states):
        return False
    return not any(isinstance(state, bool) for state in chain.table.plain([0, chain.size - 1]))


def _refuse_numeric_truths(chain: MarkovChain, members: Any, name: str) -> None:
    """Raise ValueError for one 0 or 1 per state: truth values as numbers, which would be read as the states 0 and 1."""
    if isinstance(members, (set, frozenset)) or not 1 < len(members) == chain.size:
        return
    if any(isinstance(member, bool) for member in members):
        return
    if all(isinstance(member, Real) and member in (0, 1) for member in members):
        advice = "one 0 or 1 per state: truth values must be bool, .astype(bool), and a set of states {0, 1}"
        raise ValueError(f"{name} = {format_value(members)}: {advice}")


def _states_by_name(chain: MarkovChain, text: str, name: str) -> NDArray[np.bool_]:
    """Return the states, booleans of shape (n,), that have the label ``text`` or are called ``text``."""
    measures = {} if chain.model is None else functionals(chain.model, chain.table)
    one = np.zeros(chain.size, dtype=bool)
    if _is_state(chain, text):
        one[chain.number_of(text)] = True
    if text not in measures and one.any():
        return one
    if text not in measures or not _is_indicator(measures[text]):
        labels = tuple(key for key, mean in measures.items() if _is_indicator(mean))
        states = () if text in measures else chain.table.plain()
        names = tuple(itertools.islice((state for state in states if isinstance(state, str)), MAX_LISTED))
        if not labels and not names:
            message = "there are no labels; give a state, a list of states, or a function of the state"
            raise ValueError(f"{name} = {text!r}: {message}")
        choice(name, text, tuple(dict.fromkeys((*labels, *names))))
    members = np.asarray(measures[text].of != 0.0)
    if one.any() and not np.array_equal(one, members):
        message = "a label and a state"
        raise ValueError(f"{name} = {text!r}: is {message}; write {name}=[{text!r}] for the state")
    return members


def _is_state(chain: MarkovChain, value: Any) -> bool:
    """Return whether the value is a state of the chain."""
    try:
        chain.number_of(value)
    except (KeyError, TypeError, ValueError):
        return False
    return True


def _is_indicator(mean: Mean) -> bool:
    """Return whether a measure is 0 or 1 in every state: then it is the indicator of a set of states."""
    values = np.asarray(mean.of)
    return mean.over is None and values.ndim == 1 and bool(np.isin(values, (0.0, 1.0)).all())


def _format_states(states: Any) -> str:
    """Return a user's selection of states as text for an error message."""
    return name_of(states) if callable(states) else repr(states)


def distribution(chain: MarkovChain, start: Any) -> NDArray[np.float64]:
    """Return the initial distribution that a user's ``start`` describes: probabilities of the states, shape (n,).

    Parameters
    ----------
    chain
        The states.
    start
        None: the start of the model, a state or probabilities. A state; a function or a label that selects one state;
        or probabilities of shape (n,).

    Raises
    ------
    ValueError
        When there is no such state, or there are several, or the numbers are no probabilities.
    """
    if start is None and chain.model is not None:
        if (initial := chain.model.start_probabilities()) is not None:
            return _mass_at_start(chain, initial)
        start = chain.model.start()
    if start is None:
        raise ValueError("start: the chain has none of its own; give a state or probabilities")
    if isinstance(start, np.ndarray) and not start.ndim:
        start = start.item()
    if labels_of(start) is not None:
        start = aligned("start", start, chain.table.plain())
    elif hasattr(start, "__array__") and np.ndim(start):
        refuse_masked("start", start)
        start = np.asarray(start)
    if isinstance(start, np.ndarray):
        if start.shape != (chain.size,) or start.dtype.kind not in "iuf":
            raise ValueError(f"start: probabilities of shape ({chain.size},) are expected")
        probabilities = start.astype(np.float64)
        if not (minimum := probabilities.min()) >= 0.0:
            raise ValueError(f"start: probability {minimum:g}: must be >= 0")
        total = probabilities.sum()
        check_sum_of_one("start: probabilities sum", total, SUM_TOLERANCE)
        return probabilities / total if differs_from_one(total, chain.size) else probabilities
    if not _is_state(chain, start) and (callable(start) or _is_label(chain, start)):
        members = select_states(chain, start, "start")
        if (count := int(members.sum())) > 1:
            message = f"selects {count_of(count, 'state')}: must be one, or probabilities of shape ({chain.size},)"
            raise ValueError(f"start = {_format_states(start)}: {message}")
        return members.astype(np.float64)
    mass = np.zeros(chain.size)
    try:
        mass[chain.number_of(start)] = 1.0
    except KeyError:
        is_vector = isinstance(start, Mapping) or (isinstance(start, list | tuple) and len(start) == chain.size)
        hint = f"; probabilities are a NumPy array of shape ({chain.size},)" if is_vector else ""
        raise ValueError(f"start: {describe_unknown_state(chain, start, hint)}") from None
    return mass


def _mass_at_start(chain: MarkovChain, initial: Mapping[Any, float]) -> NDArray[np.float64]:
    """Return the initial distribution of a model, shape (n,), from the probabilities of its states."""
    mass = np.zeros(chain.size)
    for state, probability in initial.items():
        mass[chain.number_of(state)] = probability
    return mass


def _is_label(chain: MarkovChain, start: Any) -> bool:
    """Return whether ``start`` is the name of a label or a reward of the chain's model."""
    if not isinstance(start, str) or chain.model is None:
        return False
    return start in functionals(chain.model, chain.table)
