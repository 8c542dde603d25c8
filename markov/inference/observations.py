"""Observations of a chain: complete paths, or panels of its state at given times."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.callers import warn_caller
from hopflow.checks import count_of, format_value, refuse_unordered
from hopflow.parameters import param, validate_parameters
from hopflow.units import WithUnit
from markov.analysis.sampling import Paths
from markov.selections import describe_unknown_state

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.chains import MarkovChain

    Vector = NDArray[np.float64]

__all__ = ["ObservedPath", "Panel", "Statistics"]

MIN_PAIRS_LIKE_JUMPS = 10  # of consecutive observations; fewer may be one transition apart by chance
MAX_SHARE_OF_EQUAL_GAPS = 0.5  # times between jumps differ, those of most schedules do not
GAP_DIGITS = 9  # relative to the longest gap; differences of regular times round differently


@validate_parameters
class ObservedPath:
    """A completely observed path: every state with its entry time, and the end of the observation.

    Parameters
    ----------
    times
        Entry times of the states, in s, ascending, shape (visits,).
    states
        The states, as `explore` or the model names them; neighbours differ.
    end
        End of the observation, in s, at least the last time. The path is still in its last state.

    Raises
    ------
    ValueError
        The message names the parameter, its value and the allowed values.

    Examples
    --------
    >>> from markov import ObservedPath
    >>> ObservedPath([0.0, 2.5], ["up", "down"], end=4.0)
    ObservedPath: 1 jump in 4 s
    """

    def __init__(
        self,
        times: ArrayLike = param(unit="time"),
        states: Sequence[Any] = param(),
        end: WithUnit = param(unit="time"),
    ) -> None:
        self.times, self.states = _validate_series(times, states)
        self.end = float(end)
        if self.end < self.times[-1]:
            raise ValueError(f"end = {self.end:g}: must be at least the last time, {self.times[-1]:g}")
        for k, (state, successor) in enumerate(itertools.pairwise(self.states)):
            if state == successor:
                rule = "must differ from the one before: leave out records without a jump, as `end` has the last one"
                rule += "; states at times of observation are a Panel"
                raise ValueError(f"states[{k + 1}] = {format_value(successor)}: {rule}")

    def __repr__(self) -> str:
        jumps = len(self.states) - 1
        return f"ObservedPath: {count_of(jumps, 'jump')} in {self.end - self.times[0]:g} s"


@validate_parameters
class Panel:
    """States of a chain at several observation times, with unknown jumps between them.

    The times are those of observations, not of jumps, which an `ObservedPath` has.

    Parameters
    ----------
    times
        Times of the observations, in s, ascending, shape (observations,), at least two.
    states
        The states, as `explore` or the model names them.

    Raises
    ------
    ValueError
        The message names the parameter, its value and the allowed values.

    Examples
    --------
    >>> from markov import Panel
    >>> Panel([0.0, 1.0, 3.0], ["up", "up", "down"])
    Panel: 3 observations in 3 s
    """

    def __init__(self, times: ArrayLike = param(unit="time"), states: Sequence[Any] = param()) -> None:
        self.times, self.states = _validate_series(times, states)
        if len(self.states) < 2:
            raise ValueError("times: at least two observations are expected")

    def __repr__(self) -> str:
        return f"Panel: {count_of(len(self.states), 'observation')} in {self.times[-1] - self.times[0]:g} s"


def _validate_series(times: ArrayLike, states: Sequence[Any]) -> tuple[Vector, list[Any]]:
    """Return ``times`` as an array and ``states`` as a list of equal length; ValueError unless times ascend."""
    moments = np.atleast_1d(times)
    sequence: object = states
    refuse_unordered("states", sequence, "states")
    if not isinstance(sequence, Iterable) or isinstance(sequence, (str, Mapping)) or getattr(sequence, "ndim", 1) != 1:
        raise TypeError(f"states = {format_value(sequence)}: must be a list of states")
    names = list(states)
    if moments.ndim != 1 or not len(moments):
        raise ValueError(f"times = {format_value(times)}: must be a list of times, at least one")
    if not (later := np.diff(moments) > 0.0).all():
        k = int(np.argmin(later)) + 1
        rule = f"must be later than the one before, {moments[k - 1]:g}"
        raise ValueError(f"times[{k}] = {moments[k]:g}: {rule}; another subject is another object in the list of data")
    if len(names) != len(moments):
        raise ValueError(f"states: {count_of(len(names), 'state')} at {len(moments)} times")
    return moments, names


class Statistics(NamedTuple):
    """Sufficient statistics of observations for the likelihood: stays, jumps and panel gaps, by state numbers.

    Attributes
    ----------
    stays
        Total time of observed paths by state, in s, shape (n,).
    jumps
        Number of jumps by pair of states.
    gaps
        For a pair of states in consecutive observations of a panel, the number of such observations by the time between
        them, in s.
    """

    stays: Vector
    jumps: dict[tuple[int, int], int]
    gaps: dict[tuple[int, int], dict[float, int]]

    @staticmethod
    def of(chain: MarkovChain, data: Any) -> Statistics:
        """Return the sufficient statistics of one observation or a list of observations of a chain.

        Raises
        ------
        TypeError
            For data of other types.
        ValueError
            For states that the chain does not have.
        """
        types = ObservedPath, Panel, Paths
        observations: Iterable[Any] = [data] if isinstance(data, types) else data
        if not isinstance(observations, (list, tuple)) or not observations:
            raise TypeError(f"data = {format_value(data)}: must be an ObservedPath, a Panel, Paths, or a list of them")
        stays, numbers_by_name = np.zeros(chain.size), {}
        jumps: dict[tuple[int, int], int] = defaultdict(int)
        gaps: dict[tuple[int, int], dict[float, int]] = defaultdict(lambda: defaultdict(int))
        inner: list[tuple[tuple[int, int], float]] = []

        def numbers_of(states: list[Any], name: str) -> list[int]:
            """Return the numbers of ``states`` in the chain; ValueError with ``name`` for an unknown state."""
            numbers = []
            for state in states:
                key = repr(state)
                if key not in numbers_by_name:
                    try:
                        numbers_by_name[key] = chain.number_of(state)
                    except KeyError:
                        raise ValueError(f"{name}: {describe_unknown_state(chain, state)}") from None
                numbers.append(numbers_by_name[key])
            return numbers

        def simulated_states(observation: Paths, name: str) -> NDArray[np.int64]:
            """Return the number in ``chain`` of each visited state of a simulated chain, shape (its states,)."""
            simulated = observation.chain
            if simulated is chain or isinstance(simulated.states, range):
                if simulated.size != chain.size:
                    raise ValueError(f"{name}: paths of {simulated.size} states, not {chain.size}")
                return np.arange(chain.size)
            visited = np.unique(observation.states)
            numbers = np.full(simulated.size, -1)
            numbers[visited] = numbers_of(list(simulated.table.plain(visited)), name)
            return numbers

        def add_path(times: Vector, states: list[int], end: float) -> None:
            """Add a completely observed path to ``stays`` and ``jumps``."""
            np.add.at(stays, states, np.diff(np.append(times, end)))
            for pair in itertools.pairwise(states):
                jumps[pair] += 1

        for k, observation in enumerate(observations):
            name = "data" if observation is data else f"data[{k}]"
            if isinstance(observation, Paths):
                numbers = simulated_states(observation, name)
                for run in range(observation.runs):
                    times, states = observation.path(run)
                    add_path(times, numbers[states].tolist(), observation.duration)
            elif isinstance(observation, ObservedPath):
                add_path(observation.times, numbers_of(observation.states, name), observation.end)
            elif isinstance(observation, Panel):
                pairs = itertools.pairwise(numbers_of(observation.states, name))
                timed = list(zip(pairs, np.diff(observation.times).tolist(), strict=True))
                for pair, gap in timed:
                    gaps[pair][gap] += 1
                inner.extend(timed[:-1])
            else:
                raise TypeError(f"{name} = {format_value(observation)}: must be an ObservedPath, a Panel or Paths")
        _warn_of_jump_times(chain, inner)
        return Statistics(stays, dict(jumps), {pair: dict(times) for pair, times in gaps.items()})

    @property
    def total(self) -> int:
        """Number of observed jumps plus number of pairs of consecutive panel observations."""
        return sum(self.jumps.values()) + sum(sum(counts.values()) for counts in self.gaps.values())


def _warn_of_jump_times(chain: MarkovChain, inner: list[tuple[tuple[int, int], float]]) -> None:
    """Warn if panels look like paths: each pair is one transition of ``chain``, after irregular times.

    ``inner`` has the pairs of consecutive states and their gaps in s, without the last pair of each panel, in which a
    path that is cut off keeps its state.
    """
    if len(inner) < MIN_PAIRS_LIKE_JUMPS or not all(chain.Q[pair] > 0.0 for pair in {pair for pair, _ in inner}):
        return
    gaps = np.array([gap for _, gap in inner])
    if len(np.unique(np.round(gaps / gaps.max(), GAP_DIGITS))) < (1.0 - MAX_SHARE_OF_EQUAL_GAPS) * len(gaps):
        return
    message = f"data: all {len(inner)} pairs of observations before the last of each Panel are one transition apart"
    remedy = "where the times are those of jumps, write ObservedPath(times, states, end=...)"
    warn_caller(UserWarning(f"{message}, after irregular times, as jumps are: {remedy}"), "markov")
