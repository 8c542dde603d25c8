"""Rules that give another answer when they are asked again: random numbers, the time, counters."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.errors import RuleError, failed_rule, place_of
from markov.generators.calls import CHANGED, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markov.generators.calls import Calls

__all__ = ["refuse_changed", "refuse_changing", "some_of"]

ASKED = 32  # states that are asked again
SHOWN = 3  # transitions of an answer in a message
HINT = (
    "random numbers, the time, counters and iterators cannot be part of a rule: "
    "make what changes a component of the state or a parameter"
)

Answer = list[tuple[Any, float]]


def some_of(count: int) -> list[int]:
    """Return the places of some of the states that were asked: the first, twice, the last, and others.

    Of a few states each several times: two of them give random answers again by chance otherwise.
    """
    if count <= ASKED:
        each = [0, *range(count)]
        return (each * -(-ASKED // len(each)))[: max(ASKED, len(each))]
    others = np.random.default_rng(6).integers(count, size=ASKED - 3).tolist()
    return [0, 0, count - 1, *others]


def refuse_changed(calls: Calls, asked: Iterable[tuple[Any, Answer]]) -> None:
    """Raise RuleError where rules do not give the answer again that they gave before.

    Parameters
    ----------
    calls
        The rules.
    asked
        States, and the transitions out of them: targets as states, and rates > 0.
    """
    for state, first in asked:
        try:
            found = [pair for pair in calls.rules(state, calls.q) if pair[1] != 0.0]
            if found == first:
                continue
            second = _as_answer(calls, found)
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            said = f"{calls.name}: {written(state)}: {CHANGED}: first {_shown(first)}"
            raised = failed_rule(error, calls.rules, f"{said}, then it raises")
            raise raised from raised.__cause__
        if Counter(first) != Counter(second):
            answers = f"first {_shown(first)}, then {_shown(second)}"
            said = f"{calls.name}: {written(state)}: {CHANGED}: {answers}"
            raise RuleError.at(place_of(calls.rules), said, HINT)


def refuse_changing(calls: Calls, states: Iterable[Any]) -> None:
    """Raise RuleError where rules give two answers for one of some states in which they do not go wrong."""
    found = []
    for state in map(calls.known, states):
        with suppress(Exception):  # what is wrong with a state is said where it counts
            found.append((state, _as_answer(calls, calls.rules(state, calls.q))))
    refuse_changed(calls, found[:1] + found)


def _as_answer(calls: Calls, pairs: Iterable[tuple[Any, Any]]) -> Answer:
    return [(calls.known(target), float(rate)) for target, rate in pairs if rate != 0.0]


def _shown(answer: Answer) -> str:
    shown = [f"{written(target)} at rate {rate!r}" for target, rate in answer[:SHOWN]]
    if len(answer) > SHOWN:
        shown.append(f"{len(answer) - SHOWN} more")
    return f"[{', '.join(shown)}]"
