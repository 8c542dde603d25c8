"""Search for the states of a program one by one, by its rules: for numbers of states beyond 62 bits or without bounds.

States are rows of values in a hash table, compared exactly. The cost depends on the reached states, not on the
combinations of values of the variables.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.computing.matrices import from_edges, rank_of
from markov.computing.memory import StateLimitError, check_room
from markov.computing.progress import Counter
from markov.files.columns import Columns
from markov.files.states.explored import StateSpace
from markov.files.states.state_rules import FileRules
from markov.generators.building import STATES_BEFORE_BOX, ChainBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from markov.files.binding import Instance

__all__ = ["explore_by_rules", "with_reached_windows"]

BYTES_PER_STATE, BYTES_PER_TRANSITION = 400.0, 40.0
STATES_PER_CHECK = 4096  # states between two looks at the memory


class _FileBuilder(ChainBuilder):
    """Builder for the rules of a file, which take longer per state than the rules of a user."""

    growth_states = (10_000, 100_000)


def with_reached_windows(instance: Instance, max_states: int) -> Instance:
    """Return an instance with open variables, with the reached values as windows if few states are reached.

    Raises
    ------
    InfiniteStatesError
        If a proof shows that the start leads to infinitely many states.
    RuleError
        If a rate is so small that rates that tend to zero would underflow.
    """
    builder = _FileBuilder(FileRules(instance.program, instance.constants), True, max_states)
    search = builder.search()
    if not search.run(STATES_BEFORE_BOX):
        builder.closed_set(search)
        return instance
    builder.refuse_underflow(search)
    return instance.with_windows(_value_ranges(search.states))


def _value_ranges(states: Sequence[Any]) -> list[tuple[int, int]]:
    return [(int(min(values)), int(max(values))) for values in zip(*states, strict=True)]


def explore_by_rules(instance: Instance, max_states: int) -> StateSpace:
    """Return the reachable states, and the rates between them; see `explore`.

    Raises
    ------
    FileError
        If a reachable state has an invalid rate, or a transition out of the ranges.
    TooLargeError
        If there are more than ``max_states`` states, or more would not fit into memory.
    """
    rules, program = FileRules(instance.program, instance.constants), instance.program
    states: list[Any] = [rules.start()]
    index = {states[0]: 0}
    reward_items = (item for rewards in program.rewards.values() for item in rewards)
    rewarded = sorted({item.action for item in reward_items if item.action is not None})
    actions = {action: array("d") for action in rewarded}
    gains = [array("d") for _ in program.steps]
    counts, targets, rates = array("q"), array("q"), array("d")
    with Counter(f"states of {program.file}") as counter:
        for index_of_state, state in enumerate(states):  # grows on the way
            first_target = len(targets)
            for row in (*actions.values(), *gains):
                row.append(0.0)
            for action, target, rate, step_rewards in rules.moves(state):
                rules.check_rate(state, rate)
                if not rate:
                    continue
                target_index = index.setdefault(target, len(states))
                if target_index == len(states):
                    states.append(target)
                targets.append(target_index)
                rates.append(rate)
                if action in actions:
                    actions[action][-1] += rate
                for k, gain in step_rewards.items():
                    gains[k][-1] += rate * gain
            counts.append(len(targets) - first_target)
            if index_of_state % STATES_PER_CHECK == 0:
                counter.show(index_of_state)
                _check_size(program.file, len(states), len(targets), max_states)
    _check_size(program.file, len(states), len(targets), max_states)
    codes = np.array(states, dtype=np.int64).T.reshape(len(instance.ranges), len(states))
    order = np.lexsort(codes[::-1]) if len(codes) else np.arange(len(states))
    rank, n = rank_of(order), len(states)
    sources = np.repeat(rank, counts)
    target_numbers, amounts = rank[np.array(targets, dtype=np.int64)], np.array(rates)
    is_loop = sources == target_numbers
    return StateSpace(
        instance.with_windows(_value_ranges(states)),
        Columns(codes[:, order], np.arange(n)),
        from_edges(sources, target_numbers, amounts, n),
        np.bincount(sources[is_loop], amounts[is_loop], minlength=n).astype(np.float64),
        rank[:1],
        {action: _reorder(row, order) for action, row in actions.items()},
        np.array([_reorder(row, order) for row in gains]).reshape(len(gains), n),
    )


def _reorder(row: array[float], order: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array(row, dtype=np.float64)[order]


def _check_size(file: str, states: int, transitions: int, max_states: int) -> None:
    memory = BYTES_PER_STATE * states + BYTES_PER_TRANSITION * transitions
    if states > max_states:
        raise StateLimitError(file, max_states)
    check_room(f"{file}: more than {states} states", memory)
