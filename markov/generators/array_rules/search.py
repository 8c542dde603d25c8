"""The states of a model and their transitions, found by running the rules on arrays of states.

A small space is done as a whole, and the part of it that the start leads to is taken. A large one is searched breadth
first, all states of a distance together; where rounds are many and the states of a round few, the whole space is done
as soon as that costs no more than the rounds so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from markov.computing.memory import StateLimitError, check_room
from markov.generators.array_rules.operations import NotOnArraysError
from markov.generators.edges import Edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.array_rules.batches import ArrayRules

__all__ = [
    "WHOLE_SPACE",
    "InvalidTransitionError",
    "Reached",
    "edges_of_space",
    "reached",
]

WHOLE_SPACE = 100_000
"""States of a space that is done as a whole, however few of them the start leads to."""
CHUNK = 1 << 15
"""States that are done together: their columns stay in the cache."""
ROUND_STATES = 4_000
"""States of a whole space that take as long as a round with few states."""
TABLE_STATES = 1 << 27
"""States of a space with a place for each in a table of those that were found."""
EDGE_BYTES = 64.0
"""Per transition, held twice while they are put together."""


class InvalidTransitionError(NotOnArraysError):
    """A state that the start leads to has a transition that is invalid, or leaves the space.

    Attributes
    ----------
    number
        Its number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"an invalid transition out of state {number}")
        self.number = number


class Reached(NamedTuple):
    """The states that a start leads to.

    Attributes
    ----------
    numbers
        In the product space, ascending, shape (states,).
    edges
        Their transitions; none are deferred.
    """

    numbers: NDArray[np.int64]
    edges: Edges


def edges_of_space(rules: ArrayRules) -> Edges:
    """Return the transitions out of all states of a space; NotOnArraysError where arrays cannot find them."""
    size, parts = rules.space.size, []
    for first in range(0, size, CHUNK):
        numbers = np.arange(first, min(first + CHUNK, size))
        found = rules.transitions(numbers)
        parts.append(Edges(numbers[found.sources], found.targets, found.rates, numbers[found.bad]))
    return parts[0] if len(parts) == 1 else Edges.joined(parts)


def reached(rules: ArrayRules, first: int, most: int, name: str, *, always: bool = False) -> Reached | None:
    """Return the states that a start leads to, and their transitions; None: the whole space is to be done.

    ``always`` goes on where that would be sooner: in other states the rules may make no sense.

    Raises
    ------
    NotOnArraysError
        Where arrays cannot find them, or a transition is invalid.
    TooLargeError
        When there are more than ``most`` states, or more would not fit into memory.
    """
    size = rules.space.size
    if size > TABLE_STATES:
        raise NotOnArraysError("a space without room for a table")
    seen = np.zeros(size, dtype=bool)
    seen[first] = True
    front, count, rounds, entries = np.array([first]), 1, 0, 0
    parts, fronts = [], [front]
    while len(front):
        if rounds * ROUND_STATES > size and not always:
            return None
        later = []
        for begin in range(0, len(front), CHUNK):
            numbers = front[begin : begin + CHUNK]
            found = rules.transitions(numbers)
            if len(found.bad):
                raise InvalidTransitionError(int(numbers[found.bad[0]]))
            parts.append(Edges(numbers[found.sources], found.targets, found.rates, found.bad))
            entries += len(found.rates)
            new = found.targets[~seen[found.targets]]
            if len(new):
                new = np.unique(new)
                seen[new] = True
                later.append(new)
                count += len(new)
        front = later[0] if len(later) == 1 else np.concatenate([front[:0], *later])
        fronts.append(front)
        rounds += 1
        room = EDGE_BYTES * entries
        if count > most:
            raise StateLimitError(name, most)
        check_room(f"{name}: more than {count} reachable states", room)
    return Reached(np.sort(np.concatenate(fronts)), Edges.joined(parts))
