"""Comparison of what rules do on polynomials with plain Python, in a sample of states.

Polynomials behave as numbers in arithmetic and comparisons. Rules that tell them from numbers in another way
would be taken for other rules: a difference in a sample of states refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from markov.generators.unbounded.hulls import value
from markov.generators.unbounded.polynomials import Unfollowed, terms_of

if TYPE_CHECKING:
    from markov.generators.unbounded.layouts import Layout, Mode, Move
    from markov.generators.unbounded.runs import Part

__all__ = ["compare", "compare_stops"]

SAMPLES = 8  # states of a part
REACH = (3, 40, 1_000_000)  # offsets from the corner
REACH_OF_FUNCTIONS = 10_000
"""Largest offset for rules that call functions of floats: n! and 1.01 ** n take long, or overflow, farther away."""
ROUNDING = 1e-9  # relative, of a rate in plain Python

Rates = dict[tuple[Any, tuple[int, ...]], tuple[float, float]]


def compare(layout: Layout, mode: Mode, part: Part, moves: list[Move]) -> None:
    """Compare the moves out of a part with plain Python.

    Raises
    ------
    Unfollowed
        With a state in which they differ.
    """
    width = len(part.corner)
    for chosen in _chosen(layout, part):
        places = part.state(chosen)
        given = _given(moves, chosen, width)
        expected = _expected(layout, mode, places)
        if not expected.keys() <= given.keys() or not all(
            low * (1 - ROUNDING) <= expected.get(key, 0.0) <= high * (1 + ROUNDING)
            for key, (low, high) in given.items()
        ):  # a rate without a positive lower bound may be 0 in float64
            state = layout.state(mode, places)
            raise Unfollowed(f"they do otherwise in {state!r} in plain Python")


def compare_stops(layout: Layout, mode: Mode, part: Part, stops: Callable[[Any], bool] | None) -> None:
    """Compare with plain Python that the chain stops in the states of a part.

    Raises
    ------
    Unfollowed
        With a state in which it does not.
    """
    assert stops is not None
    for chosen in _chosen(layout, part):
        state = layout.state(mode, part.state(chosen))
        if not stops(state):
            raise Unfollowed(f"the set to be entered is another in {state!r} in plain Python")


def _chosen(layout: Layout, part: Part) -> Iterator[list[int]]:
    """Yield offsets of some states of a part."""
    rng = np.random.default_rng(3)
    offsets = [[0] * len(part.corner)]
    for reach in (min(reach, REACH_OF_FUNCTIONS) if layout.substitute else reach for reach in REACH):
        for _ in range(SAMPLES):
            sides = (reach if side is None else min(side, reach) for side in part.sides)
            offsets.append([int(rng.integers(side + 1)) for side in sides])
    for chosen in offsets:
        if all(value(fact, chosen)[0] >= 0 for fact in part.facts):
            yield chosen


def _given(moves: list[Move], offsets: list[int], width: int) -> Rates:
    found: dict[Any, tuple[Fraction, Fraction]] = {}
    for there, targets, rate in moves:
        ends = value(terms_of(rate, width) or {}, offsets)
        to = tuple(int(value(terms_of(t, width) or {}, offsets)[0]) for t in targets)
        before = found.get((there, to), (Fraction(0), Fraction(0)))
        found[there, to] = before[0] + ends[0], before[1] + ends[1]
    return {key: (float(low), float(high)) for key, (low, high) in found.items()}


def _expected(layout: Layout, mode: Mode, places: tuple[int, ...]) -> dict[Any, float]:
    calls = layout.calls
    found: dict[Any, float] = {}
    try:
        for target, rate in calls.transitions(layout.state(mode, places)):
            key = layout.split(target)
            found[key] = found.get(key, 0.0) + rate
    except Exception as error:  # noqa: BLE001  # a rule may raise anything
        raise Unfollowed(f"they raise {type(error).__name__} in plain Python") from None
    return {key: rate for key, rate in found.items() if rate > 0.0}
