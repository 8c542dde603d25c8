"""The ways from rules to the states of a model and the rates between them, and why each is right.

What the rules mean is what plain Python does with them, state by state (`enumeration`). Two ways are
quicker for many states: arrays of states (`array_rules`) and regions with the same transitions (`regions`).
Their rows are compared with plain Python on a sample of states that includes the corners of the space; where
one differs, there is a warning and no chain. The states and their order are the same in each case.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from hopflow.checks import count_of
from hopflow.errors import RuleError, RuleWarning, format_location, location_of
from markov.computing.graphs import led_to
from markov.computing.matrices import from_edges, rank_of
from markov.computing.memory import GrowingStatesError, InfiniteStatesError, TooLargeError, check_room
from markov.computing.progress import Counter
from markov.generators.agreement import disagreement
from markov.generators.built_chains import Built
from markov.generators.calls import Calls, written
from markov.generators.edges import Edges, edges_by_python
from markov.generators.enumeration import Enumeration, refuse_changed, refuse_changing, some_of
from markov.generators.regions import edges_by_regions, find_regions
from markov.generators.unbounded.hulls import Hull, hull_of
from markov.generators.unbounded.polynomials import Unfollowed
from markov.models.spaces import NUMBERED, Space
from markov.models.state_tables import sample_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.generators.array_rules.chains import ArrayChain
    from markov.models.rules import ChainModel

__all__ = ["FEW_STATES", "MAX_STATES", "Ways"]

LARGE = 250_000  # states from which on the size of the matrix is predicted
EDGE_BYTES = 150.0  # per state of a space whose transitions are listed
ROUNDS = 10  # in which plain Python completes what another way has left
FEW_STATES = 2_000  # found before it is asked whether there is an end
MAX_STATES = 50_000_000
"""Default limit on the number of states."""
SMALLEST_RATE = float(np.finfo(np.float64).tiny)
"""Smallest rate of full precision in 1/s."""
SAMPLE = 120  # states by which the size of the matrix is predicted
ON_ARRAYS = "the rules on arrays of states"


class Ways:
    """The ways to the chain of a model; each gives None where these rules cannot go it.

    Parameters
    ----------
    model
        Its rules and parameters.
    reachable
        Whether only the states count that its start leads to.
    most
        Largest number of states; with more, TooLargeError.

    Attributes
    ----------
    unfollowed
        Why the rules cannot be followed for infinitely many states; None where they can, or nobody asked.
    """

    growth_states = (20_000, 200_000)
    """Numbers of states between which no component may grow if the rules cannot be followed: found in some 3 s."""
    asks_everywhere = True
    """Whether the rules may run in states of the space that the start does not lead to."""

    def __init__(self, model: ChainModel, reachable: bool, most: int) -> None:
        self.model, self.most = model, most
        self.unfollowed: str | None = None
        self.declared = Space.of(model.State, model.space(), model.name) if model.has_space else None
        start = model.start() if reachable or self.declared is None else None
        self.calls = Calls(model, self.declared)
        self.start = None if start is None else self._known(start)
        if self.declared is None and self.start is None:
            hint = "say which states there are, space(), or where it starts, start()"
            raise RuleError.at(location_of(model.rules), f"{model.name} has no states", hint)
        if self.start is None and self.declared is not None:
            check_room(f"{model.name}: a matrix on {self.declared.size} states", self._predicted())

    def _known(self, start: Any) -> Any:
        try:
            return self.calls.known(start)
        except (TypeError, ValueError) as error:
            said = f"{self.model.name}: start = {start!r}: {error}"
            raise RuleError.at(location_of(self.model.start), said) from None

    @property
    def space(self) -> Space:
        """The space that the model declares; not for models without one."""
        assert self.declared is not None
        return self.declared

    def _predicted(self) -> float:
        """Return the bytes of the matrix of the whole space, by the rows of a few states."""
        size = self.space.size
        if size < LARGE:
            return 0.0
        return size * (16.0 + 12.0 * self.count_of_some() / SAMPLE)

    def count_of_some(self) -> int:
        """Return the number of transitions out of some states of the space, at random."""
        rng, count = np.random.default_rng(0), 0
        shape = (self.space.shape, self.space.low)
        codes = [low + rng.integers(n, size=SAMPLE) for n, low in zip(*shape, strict=True)]
        for code in np.array(codes).T:
            with suppress(RuleError):  # the first state in which the rules fail is to be named
                count += len(self.calls.transitions(self.calls.known(self.space.state(code))))
        return count

    def finite(self, built: Built) -> Built:
        """Return a chain whose rates, and their sums, are numbers; else say where they are not."""
        if not np.isfinite(built.Q.data).all():
            x = int(np.searchsorted(built.Q.indptr, np.argmin(np.isfinite(built.Q.data)), "right"))
            state = self.calls.known(built.space.state(built.codes[:, x - 1]))
            raise self.calls.refused(state, OverflowError("rates are infinite"))
        return built

    # ------------------------------------------------------------------ the ways

    def by_python(self) -> Built:
        """Run the rules state by state."""
        search = self.search()
        if self.declared is None and not search.run(min(FEW_STATES, self.most // 2)):
            self.closed_set(search)
        with self.explained():
            return self.completed(search)

    def search(self) -> Enumeration:
        """Return the search state by state, not yet begun."""
        begin = [self.start] if self.start is not None else map(self.calls.known, self.space.states())
        return Enumeration(self.calls, begin, closed=self.start is None, most=self.most)

    def completed(self, search: Enumeration) -> Built:
        """Run the rules for the remaining states of a search; return the chain."""
        with Counter("states") as counter:
            while not search.run(1 << 16):
                counter.show(search.done)
        return self.listed(search)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Add to errors about too many states why it is not known whether there are infinitely many."""
        try:
            yield
        except TooLargeError as error:
            if self.unfollowed is not None:
                said = "the rules cannot be followed for infinitely many states"
                error.add_note(f"{said}: {self.unfollowed}")
            raise

    def closed_set(self, search: Enumeration) -> Hull | None:
        """Return a closed set that has the states found so far; None where the rules cannot be followed.

        Raises
        ------
        InfiniteStatesError
            Where they lead to infinitely many states for certain.
        GrowingStatesError
            Where this is not known, a component grows, and the caller has given no ``most``.
        """
        refuse_changed(self.calls, search.answers(some_of(search.done)))
        try:
            hull = hull_of(self.calls, search.states)
        except Unfollowed as stop:
            self.unfollowed = str(stop)
            self._refuse_growth(search, f"the rules cannot be followed: {stop}")
            return None
        if hull.is_infinite:
            raise InfiniteStatesError(self.model.name, hull, self.most)
        if hull.unbounded:
            self._refuse_growth(search, "a rate is not proved to be positive in all states")
        return hull

    def _refuse_growth(self, search: Enumeration, reason: str) -> None:
        """Raise GrowingStatesError where a component's values grow from one number of states to the next."""
        before: dict[str, range] = {}
        growing: list[str] = []
        for count in self.growth_states if self.most == MAX_STATES else ():
            if search.run(count - search.done):
                return
            components = Space.found(self.model.State, search.states[: search.done]).components
            ranges = {c.name: c.values for c in components if isinstance(c.values, range)}
            growing = [name for name, values in ranges.items() if before.get(name, values) != values]
            before = ranges
        if before and growing:
            ends = before[growing[0]][0], before[growing[0]][-1]
            raise GrowingStatesError(self.model.name, growing[0], *ends, search.done, reason)

    def refuse_underflow(self, search: Enumeration) -> None:
        """Raise an error where a search ended because rates that tend to zero become 0 in float64.

        Raises
        ------
        InfiniteStatesError
            Where the rules lead to infinitely many states for certain.
        RuleError
            Naming the state with the smallest rate.
        """
        rows = search.rows()
        if self.declared is not None or not len(rows.rates) or rows.rates.min() >= SMALLEST_RATE:
            return
        with suppress(Unfollowed):
            hull = hull_of(self.calls, search.states[:FEW_STATES])
            if hull.is_infinite:
                raise InfiniteStatesError(self.model.name, hull, self.most)
        entry = int(np.argmin(rows.rates))
        state = search.states[int(np.searchsorted(rows.indptr, entry, "right")) - 1]
        said = f"a rate of {rows.rates[entry]:.3g}: must be 0 or at least {SMALLEST_RATE:.3g}"
        hint = "rates that tend to zero become 0 in float64, and the states end there: give the states a limit"
        raise RuleError(f"{self.model.name}: {written(state)}: {said}; {hint}")

    def listed(self, search: Enumeration) -> Built:
        """Return the chain on the states that a search has found, in ascending order."""
        self.refuse_underflow(search)
        refuse_changed(self.calls, search.answers(some_of(search.done)))
        space = self.declared
        if space is None or not space.coded:
            space = Space.found(self.model.State, search.states)
        rows, codes = search.rows(), space.codes(search.states)
        order = space.order_of(codes)
        Q = rows.generator(None if order is None else rank_of(order))
        return Built(space, codes if order is None else codes[:, order], Q, "the rules as they stand")

    def by_regions(self) -> Built | None:
        """Run the rules once for each region of states with the same transitions."""
        if not self._fits():
            return None
        found = find_regions(self.calls, self.space)
        if found is None:
            return None
        how = f"the rules on {count_of(len(found), 'region')} of the space"
        return self._checked(edges_by_regions(found, self.space), how)

    def by_arrays(self) -> Built | None:
        """Run the rules on arrays of states."""
        from markov.generators.array_rules.chains import chain_on_arrays

        given = self.calls, self.space, self._first(), self.most, self._fits()
        found = chain_on_arrays(*given, whole=self.asks_everywhere)
        if found is None:
            return None
        if found.pattern is None or found.edges is None:
            return self._with_invalid(found)
        codes, Q = found.pattern.codes, found.pattern.generator(found.edges.rates)
        return self._compared(Built(self.space, codes, Q, ON_ARRAYS), found.pattern.sample)

    def _with_invalid(self, found: ArrayChain) -> Built | None:
        """Return the chain where plain Python is to say what transitions there are out of some states."""
        return None if found.edges is None else self._checked(found.edges, ON_ARRAYS)

    def _first(self) -> int | None:
        """Return the number of the start, or None."""
        if self.start is None:
            return None
        return int(self.space.numbers(self.space.codes([self.start]))[0])

    def _fits(self) -> bool:
        try:
            check_room(self.model.name, EDGE_BYTES * self.space.size)
        except MemoryError:
            return False
        return self.space.size < NUMBERED

    # ------------------------------------------------------------------ from the space to its part

    def _checked(self, edges: Edges, how: str) -> Built | None:
        """Return the chain of transitions over the space, those left to Python filled in."""
        if self.start is None:
            edges = self._completed(edges, edges.deferred)
            Q = from_edges(*edges[:3], self.space.size)
            codes = self.space.unnumbered(np.arange(self.space.size))
            return self._compared(Built(self.space, codes, Q, how))
        first = self._first()
        assert first is not None
        for _ in range(ROUNDS):
            ones = np.ones(len(edges.rates), dtype=np.int8)
            size = self.space.size
            graph = sp.csr_matrix((ones, (edges.sources, edges.targets)), shape=(size, size))
            entered = led_to(graph, first)
            late = edges.deferred[entered[edges.deferred]]
            if not len(late):
                break
            edges = self._completed(edges, late)
        else:
            return None
        kept = entered[edges.sources]
        place = np.cumsum(entered) - 1
        ends = place[edges.sources[kept]], place[edges.targets[kept]]
        Q = from_edges(*ends, edges.rates[kept], int(place[-1]) + 1)
        codes = self.space.unnumbered(np.flatnonzero(entered))
        return self._compared(Built(self.space, codes, Q, how))

    def _completed(self, edges: Edges, late: NDArray[np.int64]) -> Edges:
        """Return edges with the transitions out of some states that plain Python gives."""
        more = edges_by_python(self.calls, self.space, np.sort(late))
        rest = np.setdiff1d(edges.deferred, late)
        return Edges.joined([edges._replace(deferred=rest), more])

    # ------------------------------------------------------------------ the comparison

    def _compared(self, built: Built, places: list[int] | None = None) -> Built | None:
        """Return a chain if its rows are those of plain Python on a sample; else warn, and None."""
        if places is None:
            places = sample_of(self.space, built.codes)
        found = disagreement(self.calls, self.space, built.codes, built.Q, places)
        if found is None:
            return built
        refuse_changing(self.calls, map(self.space.state, built.codes[:, places].T.tolist()))
        x, difference = found
        self._warn(f"{self.space.state(built.codes[:, x])}: {built.how} give {difference}")
        return None

    def _warn(self, said: str) -> None:
        place = format_location(location_of(self.model.rules))
        msg = f"{self.model.name}: {said}{place}; the rules run as plain Python instead"
        warnings.warn(RuleWarning(msg), stacklevel=6)
