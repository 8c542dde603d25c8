"""The chain of a model whose rules run on arrays: its states, its generator, and what to compare with plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from markov.computing.graphs import led_to
from markov.generators.array_rules.batches import ArrayRules
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.array_rules.patterns import (
    EdgePattern,
    remember,
    remembered_numbers,
    remembered_pattern,
)
from markov.generators.array_rules.search import (
    WHOLE_SPACE,
    InvalidTransitionError,
    Reached,
    edges_of_space,
    edges_within,
    reached,
)
from markov.models.state_tables import ends_of, sample_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.generators.edges import Edges
    from markov.models.spaces import Space

__all__ = ["ArrayChain", "chain_on_arrays", "key_of"]


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
    places
        States to compare.
    key
        Of chains that may have the same pattern.
    """

    edges: Edges | None
    pattern: EdgePattern | None
    places: list[int]
    key: Any
    invalid: int | None = None

    def remember(self) -> None:
        """Keep the pattern, of a chain that was compared."""
        if self.pattern is not None:
            remember(self.key, self.pattern, ends_of(self.pattern.codes))


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
    key = key_of(calls, space, first)
    try:
        rules = ArrayRules(calls, space)
        found = None
        if first is not None and space.size > WHOLE_SPACE:
            found = reached_again(rules, key, first)
            found = found or reached(rules, first, most, calls.name, always=not whole)
        if found is None and not room:
            return None
        edges = edges_of_space(rules) if found is None else found.edges
    except InvalidTransitionError as error:
        return ArrayChain(None, None, [], key, error.number)
    except NotOnArraysError:
        return None
    if (known := remembered_pattern(key, edges)) is not None:
        return ArrayChain(edges, known[0], known[0].places(known[1]), key)
    pattern = EdgePattern(edges, space, None if found is None else found.numbers, first)
    if pattern.enters_deferred:
        return ArrayChain(edges, None, [], key, pattern.first_deferred)
    return ArrayChain(edges, pattern, sample_of(space, pattern.codes), key)


def key_of(calls: Calls, space: Space, first: int | None) -> tuple[Any, ...]:
    """Return what chains have in common whose transitions may join the same states."""
    function = getattr(calls.model.rules, "__func__", calls.model.rules)
    return function, calls.model.State, space.low, space.shape, first


def reached_again(rules: ArrayRules, key: Any, first: int) -> Reached | None:
    """Return the states that an earlier chain had; None where the start leads to others, or nothing is known."""
    numbers = remembered_numbers(key)
    if numbers is None:
        return None
    edges = edges_within(rules, numbers)
    if edges is None:
        return None
    if remembered_pattern(key, edges) is None and not _are_reached(edges, numbers, first):
        return None
    return Reached(numbers, edges)


def _are_reached(edges: Edges, numbers: NDArray[np.int64], first: int) -> bool:
    """Whether transitions out of some states, ascending, lead from the first one to all of these and to no others."""
    n = len(numbers)
    sources, targets = (np.searchsorted(numbers, part) for part in edges[:2])
    if not np.array_equal(numbers[np.minimum(targets, n - 1)], edges.targets):
        return False
    graph = sp.csr_matrix((np.ones(len(sources), dtype=np.int8), (sources, targets)), shape=(n, n))
    return bool(led_to(graph, int(np.searchsorted(numbers, first))).all())
