"""Rewards of a file's model, in its states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from markov.files.errors import FileError
from markov.files.values import boolean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.files.program import Program
    from markov.files.states.state_space import StateSpace

__all__ = ["rewards_of"]


def rewards_of(name: str, program: Program, state_space: StateSpace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return rewards per second without and with rewards of transitions, shape (states,) each.

    Raises
    ------
    FileError
        If a reward is a truth value, or not finite in a state that earns it.
    """
    c, scope = state_space.columns, state_space.instance.scope
    state_rewards, transition_rewards = np.zeros(c.count), np.zeros(c.count)
    for item in program.rewards[name]:
        location = program.file, item.line
        guard = boolean(scope.value(item.guard), location, "the condition of a reward")
        value = scope.value(item.value)
        if value.kind == "bool":
            raise FileError(location, "a reward is a truth value: must be a number")
        with np.errstate(all="ignore"):
            holds = np.flatnonzero(np.broadcast_to(np.asarray(guard.run(c)), c.count))
            part = np.broadcast_to(np.asarray(value.run(c.take(holds)), float), len(holds))
        if not np.isfinite(part).all():
            raise FileError(location, "a reward that is no finite number")
        if item.action is None:
            state_rewards[holds] += part
        else:
            transition_rewards[holds] += part * state_space.action_rates[item.action][holds]
    if name in program.steps:
        transition_rewards += state_space.gains[list(program.steps).index(name)]
    return state_rewards, state_rewards + transition_rewards
