"""The states of a program found one by one by its rules: where numbers of states are too short, or have no bounds.

States are rows of values, found again by their hash and compared exactly. So the states that are reached
decide, and not the combinations that the variables may have.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.matrices import from_edges, rank_of
from markov.computing.memory import StateLimitError, check_room
from markov.computing.progress import Counter
from markov.files.columns import Columns
from markov.files.states.explored import Explored
from markov.files.states.state_rules import FileRules
from markov.generators.ways import FEW_STATES, Ways

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.files.binding import Bound

__all__ = ["explored_by_rules", "with_reached_windows"]

BYTES_PER_STATE, BYTES_PER_TRANSITION = 400.0, 40.0
BURST = 4096  # states between two looks at the memory


class _FileWays(Ways):
    """The ways of a file's rules, which take longer for a state than those of a user."""

    growth_states = (10_000, 100_000)


def with_reached_windows(bound: Bound, most: int) -> Bound:
    """Return a program with open variables, with the values that are reached as windows where these are few.

    Raises
    ------
    InfiniteStatesError
        Where it is proved that the start leads to infinitely many states.
    RuleError
        Where a rate is so small that those that tend to zero would become 0.
    """
    ways = _FileWays(FileRules(bound.program, bound.constants), True, most)
    search = ways.search()
    if not search.run(FEW_STATES):
        ways.closed_set(search)
        return bound
    ways.refuse_underflow(search)
    return bound.windowed(_ends(search.states))


def _ends(states: Sequence[Any]) -> list[tuple[int, int]]:
    return [(int(min(column)), int(max(column))) for column in zip(*states, strict=True)]


def explored_by_rules(bound: Bound, most: int) -> Explored:
    """Return the states that the initial state leads to, and the rates between them; see `explored`.

    Raises
    ------
    FileError
        When a reachable state has a rate that is none, or a transition out of the ranges.
    TooLargeError
        When there are more than ``most`` states, or more would not fit into memory.
    """
    rules, program = FileRules(bound.program, bound.constants), bound.program
    states: list[Any] = [rules.start()]
    index = {states[0]: 0}
    items = (item for rewards in program.rewards.values() for item in rewards)
    wanted = sorted({item.action for item in items if item.action is not None})
    actions = {action: array("d") for action in wanted}
    gains = [array("d") for _ in program.steps]
    counts, targets, rates = array("q"), array("q"), array("d")
    with Counter(f"states of {program.file}") as bar:
        for done, state in enumerate(states):  # grows on the way
            before = len(targets)
            for row in (*actions.values(), *gains):
                row.append(0.0)
            for action, target, rate, earned in rules.moves(state):
                rules.check_rate(state, rate)
                if not rate:
                    continue
                place = index.setdefault(target, len(states))
                if place == len(states):
                    states.append(target)
                targets.append(place)
                rates.append(rate)
                if action in actions:
                    actions[action][-1] += rate
                for k, gain in earned.items():
                    gains[k][-1] += rate * gain
            counts.append(len(targets) - before)
            if done % BURST == 0:
                bar.show(done)
                _check_size(program.file, len(states), len(targets), most)
    _check_size(program.file, len(states), len(targets), most)
    codes = np.array(states, dtype=np.int64).T.reshape(len(bound.ranges), len(states))
    order = np.lexsort(codes[::-1]) if len(codes) else np.arange(len(states))
    rank, n = rank_of(order), len(states)
    sources = np.repeat(rank, counts)
    ends, amounts = rank[np.array(targets, dtype=np.int64)], np.array(rates)
    own = sources == ends
    return Explored(
        bound.windowed(_ends(states)),
        Columns(codes[:, order], np.arange(n)),
        from_edges(sources, ends, amounts, n),
        np.bincount(sources[own], amounts[own], minlength=n).astype(np.float64),
        rank[:1],
        {action: _ordered(row, order) for action, row in actions.items()},
        np.array([_ordered(row, order) for row in gains]).reshape(len(gains), n),
    )


def _ordered(row: array[float], order: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array(row, dtype=np.float64)[order]


def _check_size(file: str, states: int, transitions: int, most: int) -> None:
    room = BYTES_PER_STATE * states + BYTES_PER_TRANSITION * transitions
    if states > most:
        raise StateLimitError(file, most)
    check_room(f"{file}: more than {states} states", room)
