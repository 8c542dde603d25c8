"""The same question in two ways: random models, rules and networks, and what differs between their answers."""

from __future__ import annotations

import random
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fuzz.judging import TYPED, has_nan, raised_by_hopflow


@dataclass(frozen=True)
class Answers:
    """Two answers to one question.

    Attributes
    ----------
    question
        The model, in words that can be typed again.
    one, other
        Numbers, of equal shapes.
    within
        Largest difference that both together allow, absolute and of the shape of the answers.
    """

    question: str
    one: Any
    other: Any
    within: Any


Ask = Callable[[random.Random], Answers]


@dataclass(frozen=True)
class Pair:
    """Two ways to ask, by name, and a function that draws a question and asks it in both."""

    name: str
    ask: Ask


@dataclass(frozen=True)
class Question:
    """One question of a pair, by the seed that it is drawn from."""

    pair: Pair
    seed: int

    def __str__(self) -> str:
        return f"{self.pair.name} ({self.seed})"


def pairs() -> tuple[Pair, ...]:
    """Return all pairs."""
    from benchmarks.fuzz import chain_pairs, network_pairs, rule_pairs

    return tuple(
        Pair(name, ask) for module in (chain_pairs, rule_pairs, network_pairs) for name, ask in module.PAIRS.items()
    )


def contradiction(question: Question) -> tuple[str, str | None]:
    """Ask one question in both ways; return how it ended, and the fault or None.

    An error that hopflow raises is an answer. Any other error is a fault, and so is NaN.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = question.pair.ask(random.Random(str(question)))
    except Exception as error:  # noqa: BLE001
        raised = isinstance(error, TYPED) and raised_by_hopflow(error)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        said = f"{type(error).__name__} at {place}: {str(error)[:200]}"
        return "refused", None if raised else f"not raised by hopflow: {said}"
    return "compared", _difference(found)


def _difference(found: Answers) -> str | None:
    if has_nan(found.one) or has_nan(found.other):
        return f"{found.question}: NaN in {found.one!r} or {found.other!r}"
    one, other = np.asarray(found.one, dtype=float), np.asarray(found.other, dtype=float)
    if one.shape != other.shape:
        return f"{found.question}: shapes {one.shape} and {other.shape}"
    with np.errstate(invalid="ignore"):
        far = ~((np.abs(one - other) <= found.within) | (one == other))
    if not far.any():
        return None
    n = tuple(int(k[0]) for k in np.nonzero(np.atleast_1d(far)))
    left, right = np.atleast_1d(one)[n], np.atleast_1d(other)[n]
    return f"{found.question}: {left!r} and {right!r} at {n}"


def questions(count: int, seed: int, only: str = "") -> list[Question]:
    """Return questions of the pairs in turn, each with a seed of its own."""
    asked = [pair for pair in pairs() if only in pair.name]
    if not asked:
        return []
    return [Question(asked[n % len(asked)], seed * 1_000_003 + n // len(asked)) for n in range(count)]
