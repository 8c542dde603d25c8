"""The states of a model and the rates between them, in the way that is predicted to be the fastest.

Few states are left to plain Python, until chains of the same rules have had so many states that it pays to
translate the rules to arrays. More states are found on arrays. Where these rules have no translation, the
seconds that each of the other ways of `markov.generators.ways` would take are predicted from samples, and
compared with those of plain Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice
from hopflow.errors import RuleError
from markov.computing.memory import StateLimitError
from markov.computing.progress import Counter
from markov.generators.boxes import WaysInBox, WaysInGrowingBox
from markov.generators.built_chains import Built, Series
from markov.generators.compilation import compiled
from markov.generators.regions import seconds_by_regions
from markov.generators.ways import FEW_STATES, LARGE, SAMPLE, Ways
from markov.models.rules import ChainModel
from markov.models.spaces import NUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import scipy.sparse as sp

    from markov.generators.enumeration import Enumeration

__all__ = ["build_chain", "build_chains", "generator"]

MAX_STATES = 50_000_000  # states
PYTHON_STATES = (
    2_000  # states that plain Python always does where there is no translation to arrays
)
SMALLEST = 64  # states of a space from which on arrays are quicker than plain Python
SET_SECONDS = 1e-6  # per state of the space, at least
MAX_COST_RATIO = 2.0  # times what plain Python has taken so far: what another way may take
AGAIN = 8.0  # times that: when a way that was stopped is given another try
ARRAY_SECONDS = 4e-7  # per state of the space, on arrays
MAX_RULES = 1_000  # of which the states are counted
RETRIED_STATES = 100_000  # states of a chain on which rules without a translation are tried again
GAIN = 3.0  # by how much compiled rules are to be quicker, compilation included

_Way = Callable[[float], "Built | None"]
_BY = {
    "python": Ways.by_python,
    "regions": Ways.by_regions,
    "sets": Ways.by_sets,
    "compiled": Ways.by_compiler,
    "arrays": Ways.by_arrays,
}


def generator(model: ChainModel, *, reachable: bool = True, compiled: bool = True) -> sp.csr_matrix:
    """Return the generator matrix Q of a model, shape (states, states), rates in 1/s.

    Parameters
    ----------
    model
        The chain's rules and parameters.
    reachable
        With a start, only the states that it leads to; False: the whole space. `MarkovChain` has the
        states beside the matrix.
    compiled
        False runs the rules state by state as they stand, whatever the number of states.

    Returns
    -------
    scipy.sparse.csr_matrix
        Off-diagonal rates, and the diagonal that makes every row sum to zero. Each row in the order
        of its columns, none of them twice.

    Raises
    ------
    RuleError
        When the rules go wrong in a state that counts, with the state, the file and the line.
    TooLargeError
        When the matrix would not fit into memory, before it is built.

    Examples
    --------
    >>> from markov import MM1K
    >>> generator(MM1K(capacity=2)).toarray()
    array([[ -7.,   7.,   0.],
           [ 10., -17.,   7.],
           [  0.,  10., -10.]])
    """
    if not isinstance(model, ChainModel):
        raise RuleError(f"model = {model!r}: a ChainModel is expected; a matrix is one already")
    choice("reachable", reachable, (True, False))
    choice("compiled", compiled, (True, False))
    return build_chain(model, reachable=reachable, by=None if compiled else "python").Q


def build_chain(
    model: ChainModel, *, reachable: bool = True, by: str | None = None, most: int = MAX_STATES
) -> Built:
    """Return the states of a model and its generator.

    Parameters
    ----------
    model
        Its rules and parameters.
    reachable
        Only the states that its start leads to, where it has one; False: the whole space.
    by
        ``"python"``, ``"arrays"``, ``"regions"``, ``"sets"`` or ``"compiled"``: only this way; None: what is
        predicted to be the fastest.
    most
        Largest number of states; with more, TooLargeError.

    Raises
    ------
    RuleError
        When the rules go wrong in a state that counts, when there is neither a space nor a start, or
        when ``by`` names a way that these rules cannot go.
    TooLargeError
        When the states are more than ``most``, or would not fit into memory.
    """
    ways = Ways(model, reachable, most)
    found = _quickest(ways) if by is None else _BY[by](ways)
    if found is None:
        raise RuleError(f"{model.name}: its rules cannot be run by {by}")
    if ways.start is not None and found.Q.shape[0] > most:
        raise StateLimitError(model.name, most)
    return ways.finite(found._replace(led_to=ways.start is not None))


def build_chains(models: Sequence[ChainModel]) -> Iterator[Built]:
    """Yield the chain of each of many models with the same rules, in the way that is fastest for their number."""
    series, each, cost = Series(), np.inf, np.inf
    for done, model in enumerate(models):
        compile_them = done > 1 and each * (len(models) - done) > GAIN * cost
        begin = time.perf_counter()
        ways = Ways(model, reachable=True, most=MAX_STATES, series=series if compile_them else None)
        built = ways.finite((ways.by_compiler() if compile_them else None) or _quickest(ways))
        built = built._replace(led_to=ways.start is not None)
        if done == 1:  # the first one loads what all share
            each, cost = time.perf_counter() - begin, _seconds_to_compile(ways)
        yield built


def _quickest(ways: Ways) -> Built:
    if ways.declared is None:
        return _without_space(ways)
    if ways.space.size >= NUMBERED:
        return ways.by_python()
    return _over_space(ways) if ways.start is None else _from_start(ways)


class _Experience:
    """How many states chains of the same rules have had in this process."""

    def __init__(self) -> None:
        self.states: dict[Any, float] = {}
        self.searched: dict[Any, float] = {}
        self._compiled_in: dict[Any, float] = {}
        self._by_regions: dict[Any, bool] = {}

    def suggests_regions(self, ways: Ways) -> bool:
        """Whether regions are predicted to be quicker than arrays; predicted once per rules and space."""
        size = ways.space.size
        if size < LARGE or not ways.asks_everywhere:
            return False
        key = getattr(ways.model.rules, "__code__", None), ways.space.low, ways.space.shape
        if key not in self._by_regions:
            seconds = seconds_by_regions(ways.calls, ways.space)
            self._by_regions[key] = seconds < ARRAY_SECONDS * size
            while len(self._by_regions) > MAX_RULES:
                self._by_regions.pop(next(iter(self._by_regions)), None)
        return self._by_regions[key]

    def add(self, ways: Ways, states: float) -> None:
        """Count states; inf: these rules have no translation to arrays."""
        code = getattr(ways.model.rules, "__code__", None)
        self.states[code] = self.states.pop(code, 0.0) + states
        while len(self.states) > MAX_RULES:
            self.states.pop(next(iter(self.states)), None)

    def add_search(self, ways: Ways, seconds: float) -> None:
        """Count the seconds of a search for states; -inf: these rules cannot run compiled."""
        code = getattr(ways.model.rules, "__code__", None)
        self.searched[code] = self.searched.pop(code, 0.0) + seconds
        while len(self.searched) > MAX_RULES:
            self.searched.pop(next(iter(self.searched)), None)

    def suggests_compiler(self, ways: Ways) -> bool:
        """Whether searches by these rules have lasted as long as it takes until they run compiled.

        That is predicted once per rules: little where their machine code is in the cache.
        """
        code = getattr(ways.model.rules, "__code__", None)
        seconds = self.searched.get(code, 0.0)
        if seconds < compiled.WARM or ways.is_known:
            return False
        if code not in self._compiled_in:
            self._compiled_in[code] = _seconds_to_compile(ways)
            while len(self._compiled_in) > MAX_RULES:
                self._compiled_in.pop(next(iter(self._compiled_in)), None)
        return seconds >= self._compiled_in[code]

    def suggests_arrays(self, ways: Ways, expected: int) -> bool:
        """Whether a chain with the expected number of states is to be built on arrays."""
        size = ways.space.size
        if size < SMALLEST or self.suggests_regions(ways):
            return False
        done = self.states.get(getattr(ways.model.rules, "__code__", None), 0.0)
        if done == np.inf:  # the parameters may be to blame: large chains try
            return expected > RETRIED_STATES
        return done + expected > PYTHON_STATES


_experience = _Experience()


def _on_arrays(ways: Ways, expected: int) -> Built | None:
    """Build a chain on arrays where that is quicker; None: it is not, or these rules have no translation."""
    if not _experience.suggests_arrays(ways, expected):
        return None
    if _experience.suggests_compiler(ways):
        if (found := ways.by_compiler()) is not None:
            return found
        _experience.add_search(ways, -np.inf)
    searches, begin = not ways.is_known, time.perf_counter()
    found = ways.by_arrays()
    if searches:
        _experience.add_search(ways, time.perf_counter() - begin)
    _experience.add(ways, np.inf if found is None else found.codes.shape[1])
    return found


def _plain(ways: Ways) -> Built:
    """Build a chain by plain Python."""
    found = ways.by_python()
    _experience.add(ways, found.codes.shape[1])
    return found


def _over_space(ways: Ways) -> Built:
    """Build the chain on the whole space."""
    if (found := _on_arrays(ways, ways.space.size)) is not None:
        return found
    if ways.space.size <= PYTHON_STATES:
        return _plain(ways)
    seconds = ways.space.size * _seconds_per_state(ways)
    if seconds_by_regions(ways.calls, ways.space) < seconds:
        found = ways.by_regions()
    if found is None:
        with suppress(TimeoutError):
            found = ways.by_sets(seconds)
    if found is None and seconds > GAIN * _compiling(ways, seconds):
        found = ways.by_compiler()
    return found or ways.by_python()


def _seconds_per_state(ways: Ways) -> float:
    """Return how long plain Python takes for a state, by a sample."""
    begin = time.perf_counter()
    ways.count_of_some()
    return (time.perf_counter() - begin) / SAMPLE


def _from_start(ways: Ways) -> Built:
    """Build the chain on the states that the start leads to, whose number is not known in advance.

    So plain Python searches, and another way is taken when it is predicted to take at most twice
    the time that has been spent so far.
    """
    if (found := _on_arrays(ways, 0)) is not None:
        return found
    search, begin = ways.search(), time.perf_counter()
    if search.run(PYTHON_STATES):
        return _listed(ways, search)
    return _continued(ways, ways, search, begin)


def _without_space(ways: Ways) -> Built:
    """Build the chain of a model that declares no space: within a box, where one can be found."""
    begin = time.perf_counter()
    search = ways.search()
    if search.run(min(FEW_STATES, ways.most // 2)):
        return ways.listed(search)
    hull = ways.closed_set(search)
    box = WaysInBox.of(ways, hull) if hull else WaysInGrowingBox.around(ways, search.states)
    with ways.explained():
        if box is None:
            return ways.completed(search)
        if search.run(PYTHON_STATES):
            return _listed(ways, search)
        return _continued(ways, box, search, begin)


def _continued(plain: Ways, ways: Ways, search: Enumeration, begin: float) -> Built:
    """Go on with a search by plain Python, begun at a time in s, until another way is predicted to be faster."""
    if (found := _on_arrays(ways, PYTHON_STATES + 1)) is not None:
        return found
    costs, done = _costs(ways), False
    with Counter("states") as counter:
        while not done:
            counter.show(search.done)
            spent, count = time.perf_counter() - begin, search.done
            for way in [
                way for way, cost in costs.items() if cost(spent) <= MAX_COST_RATIO * spent
            ]:
                try:
                    if (found := way(MAX_COST_RATIO * spent)) is not None:
                        return found
                    del costs[way]
                except TimeoutError:
                    costs[way] = _constant(AGAIN * spent)
            done = search.run(count)
    return _listed(plain, search)


def _listed(ways: Ways, search: Enumeration) -> Built:
    """Return the chain that a finished search by plain Python has found."""
    _experience.add(ways, search.done)
    return ways.listed(search)


def _costs(ways: Ways) -> dict[_Way, Callable[[float], float]]:
    """Return the faster ways with functions of their cost in s, given the seconds spent so far."""
    if isinstance(ways, WaysInGrowingBox):
        return {}
    by_regions = _constant(seconds_by_regions(ways.calls, ways.space))
    if isinstance(ways, WaysInBox):
        return {ways.by_regions: by_regions}
    return {
        ways.by_regions: by_regions,
        ways.by_sets: _constant(SET_SECONDS * ways.space.size),
        # of which nobody knows how long they last: compiled when that takes as long as they have so far
        ways.by_compiler: lambda spent: MAX_COST_RATIO * _compiling(ways, spent),
    }


def _constant(seconds: float) -> Callable[[float], float]:
    return lambda _spent: seconds


def _compiling(ways: Ways, seconds: float) -> float:
    """Return how long it takes until the rules run compiled; inf where that is too long."""
    return np.inf if seconds <= GAIN * compiled.WARM else _seconds_to_compile(ways)


def _seconds_to_compile(ways: Ways) -> float:
    """Return how long it takes until the rules run compiled; inf where they cannot."""
    if ways.declared is None or not compiled.compilable(ways.calls, ways.declared):
        return np.inf
    template = compiled.fill if ways.start is None else compiled.reach
    return compiled.seconds_to_compile(ways.calls, ways.declared, template)
