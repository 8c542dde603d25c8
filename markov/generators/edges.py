"""Transitions between numbered states of a space, and how plain Python finds those of some states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from markov.generators.calls import Calls
    from markov.models.spaces import Space

__all__ = ["Edges", "edges_by_python"]


class Edges(NamedTuple):
    """Transitions between states, by their numbers in the product space.

    Attributes
    ----------
    sources, targets
        Shape (transitions,).
    rates
        In 1/s, > 0, shape (transitions,).
    deferred
        States whose transitions are not among them: plain Python is to say what they are, or what
        is wrong with them. Shape (states left,).
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    rates: NDArray[np.float64]
    deferred: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: list[Edges]) -> Edges:
        """Return the transitions of several parts together."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def edges_by_python(
    calls: Calls, space: Space, numbers: NDArray[np.int64], read: Callable[[Any], float] = float
) -> Edges:
    """Return the transitions out of some states by running the rules as they stand, one by one.

    ``read`` gives the number that is kept of a rate.

    Raises
    ------
    RuleError
        When the rules go wrong in one of them.
    """
    sources: list[int] = []
    targets: list[object] = []
    rates: list[float] = []
    rules, q, admit = calls.rules, calls.q, space.admits()
    for number, code in zip(numbers.tolist(), space.unnumbered(numbers).T.tolist(), strict=True):
        state = calls.with_names(space.state(code))
        try:
            for target, rate in rules(state, q):
                if rate > 0.0:
                    fits = isinstance(target, tuple) and admit(target)
                    targets.append(target if fits else calls.known(target))
                    sources.append(number)
                    rates.append(read(rate))
                elif rate != 0.0:
                    raise ValueError("a rate is negative or not a number")
        except Exception as error:  # noqa: BLE001  # a rule may raise anything
            found = calls.refused(state, error)
            raise found from found.__cause__
    none = np.zeros(0, dtype=np.int64)
    ends = space.numbers(space.codes(targets)) if targets else none
    return Edges(np.array(sources, dtype=np.int64), ends, np.array(rates), none)
