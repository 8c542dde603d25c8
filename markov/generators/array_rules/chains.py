"""The chain of a model whose rules run on arrays: its states, its generator, and what to compare with plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markov.generators.array_rules.batches import ArrayRules
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.array_rules.patterns import EdgePattern, pattern_of
from markov.generators.array_rules.search import (
    WHOLE_SPACE,
    InvalidTransitionError,
    edges_of_space,
    reached,
)

if TYPE_CHECKING:
    from markov.generators.calls import Calls
    from markov.generators.edges import Edges
    from markov.models.spaces import Space

__all__ = ["ArrayChain", "chain_on_arrays"]


class ArrayChain(NamedTuple):
    """A chain found on arrays, which is to be compared with plain Python.

    Attributes
    ----------
    edges
        Its transitions; None where they are not known.
    pattern
        Where they go; None where a state counts whose transitions are left to plain Python.
    invalid
        The number of such a state, or None.
    """

    edges: Edges | None
    pattern: EdgePattern | None
    invalid: int | None = None


def chain_on_arrays(
    calls: Calls,
    space: Space,
    first: int | None,
    most: int,
    room: bool,
    *,
    whole: bool = True,
) -> ArrayChain | None:
    """Return the chain of some rules; None where they cannot run on arrays.

    Without edges where a search met a state with an invalid transition.

    Parameters
    ----------
    calls, space
        The rules and the states.
    first
        The start, or None: the whole space.
    most
        Largest number of states that the start leads to.
    room
        Whether the transitions of the whole space fit into memory.
    whole
        Whether the rules may run in states that the start does not lead to, where that is quicker.

    Raises
    ------
    TooLargeError
        When there are more states than ``most``, or more would not fit into memory.
    """
    try:
        rules = ArrayRules(calls, space)
        found = None
        if first is not None and space.size > WHOLE_SPACE:
            found = reached(rules, first, most, calls.name, always=not whole)
        if found is None and not room:
            return None
        edges = edges_of_space(rules) if found is None else found.edges
    except InvalidTransitionError as error:
        return ArrayChain(None, None, error.number)
    except NotOnArraysError:
        return None
    function = getattr(calls.model.rules, "__func__", calls.model.rules)
    key = function, calls.model.State, space.low, space.shape, first
    pattern = pattern_of(key, edges, space, None if found is None else found.numbers, first)
    if pattern.enters_deferred:
        return ArrayChain(edges, None, pattern.first_deferred)
    return ArrayChain(edges, pattern)
