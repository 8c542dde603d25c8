"""What was observed of a chain: whole paths, or the state at some times."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import count_of, format_value, number, one_number
from hopflow.units import WithUnit, quantities
from markov.analysis.sampling import Paths

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["ObservedPath", "Panel", "Statistics"]


@quantities(times="time", end="time")
class ObservedPath:
    """A path of which every jump was observed.

    Parameters
    ----------
    times
        When each state was entered, in s, ascending, shape (visits,).
    states
        The states, as `explore` or the model names them, two neighbours never the same.
    end
        When observation ended, in s, at least the last time: the last state had not been left then.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from markov import ObservedPath
    >>> ObservedPath([0.0, 2.5], ["up", "down"], end=4.0)
    ObservedPath: 1 jump in 4 s
    """

    def __init__(self, times: ArrayLike, states: Sequence[Any], end: WithUnit) -> None:
        self.times, self.states = _ascending(times, states)
        self.end = one_number("end", end)
        if self.end < self.times[-1]:
            raise ValueError(f"end = {self.end:g}: must be at least the last time, {self.times[-1]:g}")
        for k, (one, other) in enumerate(itertools.pairwise(self.states)):
            if one == other:
                raise ValueError(f"states[{k + 1}] = {format_value(other)}: must differ from the one before")

    def __repr__(self) -> str:
        jumps = len(self.states) - 1
        return f"ObservedPath: {count_of(jumps, 'jump')} in {self.end - self.times[0]:g} s"


@quantities(times="time")
class Panel:
    """The state of one chain at some times, and nothing of what happened between them.

    Parameters
    ----------
    times
        Of the observations, in s, ascending, shape (observations,), at least two.
    states
        The states, as `explore` or the model names them.

    Raises
    ------
    ValueError
        Naming the parameter, its value and what is allowed.

    Examples
    --------
    >>> from markov import Panel
    >>> Panel([0.0, 1.0, 3.0], ["up", "up", "down"])
    Panel: 3 observations in 3 s
    """

    def __init__(self, times: ArrayLike, states: Sequence[Any]) -> None:
        self.times, self.states = _ascending(times, states)
        if len(self.states) < 2:
            raise ValueError("times: at least two observations are expected")

    def __repr__(self) -> str:
        return f"Panel: {count_of(len(self.states), 'observation')} in {self.times[-1] - self.times[0]:g} s"


def _ascending(times: ArrayLike, states: Sequence[Any]) -> tuple[Vector, list[Any]]:
    moments = np.atleast_1d(number("times", times))
    named: object = states
    if not isinstance(named, Iterable) or isinstance(named, str) or getattr(named, "ndim", 1) != 1:
        raise TypeError(f"states = {format_value(named)}: must be a list of states")
    given = list(states)
    if moments.ndim != 1 or not len(moments) or not (np.diff(moments) > 0.0).all():
        raise ValueError(f"times = {format_value(times)}: must be ascending, at least one")
    if len(given) != len(moments):
        raise ValueError(f"states: {count_of(len(given), 'state')} at {len(moments)} times")
    return moments, given


class Statistics(NamedTuple):
    """What a likelihood needs to know of observations, by numbers of states.

    Attributes
    ----------
    stays
        Time spent in each state of observed paths, in s, shape (n,).
    jumps
        How often one state followed another in them.
    gaps
        By a pair of states, how often they were observed one after the other, by the time between, in s.
    """

    stays: Vector
    jumps: dict[tuple[int, int], int]
    gaps: dict[tuple[int, int], dict[float, int]]

    @staticmethod
    def of(chain: MarkovChain, data: Any) -> Statistics:
        """Return those of one observation, or a list of them.

        Raises
        ------
        TypeError
            For other things.
        ValueError
            For states that the chain does not have.
        """
        kinds = ObservedPath, Panel, Paths
        given: Iterable[Any] = [data] if isinstance(data, kinds) else data
        if not isinstance(given, (list, tuple)) or not given:
            raise TypeError(f"data = {format_value(data)}: must be an ObservedPath, a Panel, Paths, or a list of them")
        stays, known = np.zeros(chain.size), {}
        jumps: dict[tuple[int, int], int] = defaultdict(int)
        gaps: dict[tuple[int, int], dict[float, int]] = defaultdict(lambda: defaultdict(int))

        def places(states: list[Any], name: str) -> list[int]:
            found = []
            for state in states:
                key = repr(state)
                if key not in known:
                    try:
                        known[key] = chain.number_of(state)
                    except KeyError:
                        said = "is no state of the chain"
                        raise ValueError(f"{name}: {format_value(state)} {said}") from None
                found.append(known[key])
            return found

        def add_path(times: Vector, found: list[int], end: float) -> None:
            np.add.at(stays, found, np.diff(np.append(times, end)))
            for pair in itertools.pairwise(found):
                jumps[pair] += 1

        for k, each in enumerate(given):
            name = "data" if each is data else f"data[{k}]"
            if isinstance(each, Paths):
                if each.chain.size != chain.size:
                    raise ValueError(f"{name}: paths of {each.chain.size} states, not {chain.size}")
                for run in range(each.runs):
                    times, states = each.path(run)
                    add_path(times, states.tolist(), each.duration)
            elif isinstance(each, ObservedPath):
                add_path(each.times, places(each.states, name), each.end)
            elif isinstance(each, Panel):
                found = places(each.states, name)
                pairs = itertools.pairwise(found)
                for pair, gap in zip(pairs, np.diff(each.times).tolist(), strict=True):
                    gaps[pair][gap] += 1
            else:
                raise TypeError(f"{name} = {format_value(each)}: must be an ObservedPath, a Panel or Paths")
        return Statistics(stays, dict(jumps), {pair: dict(times) for pair, times in gaps.items()})

    @property
    def total(self) -> int:
        """Jumps of paths, and pairs of neighbouring observations."""
        return sum(self.jumps.values()) + sum(sum(each.values()) for each in self.gaps.values())
