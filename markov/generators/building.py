"""The states of a model and the rates between them: which of the ways is taken, and why it is right.

What the rules mean is what plain Python does with them, state by state (`enumeration`). Three ways are
quicker for many states: regions where the rules are alike (`regions`), sets of states (`sets`), and
compiled rules (`compiled`). Their rows are compared with plain Python on a sample of states that
includes the corners of the space; where one differs, or cannot do as Python does, plain Python is
taken. The states and their order are the same in each case.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order

from hopflow.errors import RuleError, RuleWarning, place_of, shown_place
from markov.generators import compiled
from markov.generators.agreement import disagreement, ends_of, sample_of
from markov.generators.assembly import Pattern, from_edges, generator_of, rank_of
from markov.generators.blocks import copied
from markov.generators.calls import Calls
from markov.generators.edges import Edges, edges_by_python
from markov.generators.enumeration import Enumeration, Rows
from markov.generators.regions import edges_by_regions, regions, seconds_by_regions
from markov.generators.sets import edges_by_sets
from markov.memory import TooLargeError, check_room
from markov.progress import Counter
from markov.spaces import Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from markov.rules import ChainModel

__all__ = ["Built", "build_chain"]

MOST = 50_000_000  # states
NUMBERED = 2**63  # states of a space that have numbers
FEW = 2_000  # states that plain Python always does
LARGE = 250_000  # states from which on rows are copied by compiled code
EDGE_BYTES = 150.0  # per state of a space whose transitions are listed
SET_SECONDS = 1e-6  # per state of the space, at least
PATIENCE = 2.0  # times what plain Python has taken so far: what another way may take
ROUNDS = 10  # in which plain Python completes what another way has left
AGAIN = 8.0  # times that: when a way that was stopped is given another try
GAIN = 3.0  # by how much compiled rules are to be quicker, compilation included
SAMPLE = 120  # states by which the cost of plain Python is predicted


_Way = Callable[[float], "Built | None"]


class Built(NamedTuple):
    """The states of a chain and its generator.

    Attributes
    ----------
    space
        What a state is made of.
    codes
        The states, ascending in the product of their components, shape (components, states).
    Q
        The generator, rates in 1/s.
    how
        How it was found, in words.
    """

    space: Space
    codes: NDArray[np.int64]
    Q: sp.csr_matrix
    how: str


def build_chain(
    model: ChainModel, *, reachable: bool = True, by: str | None = None, most: int = MOST
) -> Built:
    """Return the states of a model and its generator.

    Parameters
    ----------
    model
        Its rules and parameters.
    reachable
        Only the states that its start leads to, where it has one; False: the whole space.
    by
        ``"python"``, ``"regions"``, ``"sets"`` or ``"compiled"``: only this way; None: what is
        predicted to be the quickest.
    most
        Give up beyond so many states.

    Raises
    ------
    RuleError
        When the rules go wrong in a state that counts, when there is neither a space nor a start, or
        when ``by`` names a way that these rules cannot go.
    TooLargeError
        When the states are more than ``most``, or would not fit into memory.
    """
    job = _Job(model, reachable, most)
    found = job.quickest() if by is None else _WAYS[by](job)
    if found is None:
        raise RuleError(f"{model.name}: its rules cannot be run by {by}")
    return job.finite(found)


def build_chains(models: Sequence[ChainModel]) -> Iterator[Built]:
    """Yield the chain of each of many models with the same rules, in the quickest way for so many."""
    compile_them, series = False, _Series()
    for model in models:
        begin = time.perf_counter()
        job = _Job(model, reachable=True, most=MOST)
        job.series = series if compile_them else None
        yield job.finite((job.by_compiler() if compile_them else None) or job.quickest())
        if model is models[0]:
            template = compiled.fill if job.start is None else compiled.reach
            cost = job.seconds_to_compile(template)
            compile_them = (time.perf_counter() - begin) * len(models) > GAIN * cost


class _Series:
    """What chains with the same transitions share."""

    def __init__(self) -> None:
        self.pattern: Pattern | None = None
        self.codes = np.zeros((0, 0), dtype=np.int64)
        self.places: list[int] = []  # of the states on which chains after the first are compared

    def generator(
        self, space: Space, numbers: NDArray[np.int64], rows: Rows
    ) -> tuple[NDArray[np.int64], sp.csr_matrix]:
        """Return the codes of the states in ascending order, and the generator on them."""
        if self.pattern is None or not self.pattern.fits(numbers, rows):
            self.pattern = Pattern(numbers, rows)
            self.codes = space.unnumbered(numbers[self.pattern.order])
            self.places = sorted(ends_of(self.codes))
        return self.codes, self.pattern.generator(rows.rates)


class _Job:
    """One chain to build."""

    def __init__(self, model: ChainModel, reachable: bool, most: int) -> None:
        self.model, self.most = model, most
        self.series: _Series | None = None
        self.declared = (
            Space.of(model.State, model.space(), model.name) if model.has_space else None
        )
        start = model.start() if reachable or self.declared is None else None
        self.calls = Calls(model, self.declared)
        self.start = None if start is None else self._known(start)
        if self.declared is None and self.start is None:
            hint = "say which states there are, space(), or where it starts, start()"
            raise RuleError.at(place_of(model.rules), f"{model.name} has no states", hint)
        if self.start is None and self.declared is not None:
            check_room(f"{model.name}: a matrix on {self.declared.size} states", self._predicted())

    def _known(self, start: Any) -> Any:
        try:
            return self.calls.known(start)
        except (TypeError, ValueError) as error:
            said = f"{self.model.name}: start = {start!r}: {error}"
            raise RuleError.at(place_of(self.model.start), said) from None

    @property
    def space(self) -> Space:
        assert self.declared is not None
        return self.declared

    def _predicted(self) -> float:
        """Return the bytes of the matrix of the whole space, by the rows of a few states."""
        size = self.space.size
        if size < LARGE:
            return 0.0
        return size * (16.0 + 12.0 * self._count_of_some() / SAMPLE)

    def _count_of_some(self) -> int:
        """Return the number of transitions out of some states of the space, at random."""
        rng, count = np.random.default_rng(0), 0
        shape = (self.space.shape, self.space.low)
        codes = [low + rng.integers(n, size=SAMPLE) for n, low in zip(*shape, strict=True)]
        for code in np.array(codes).T:
            with suppress(RuleError):  # the first state in which the rules fail is to be named
                count += len(self.calls.transitions(self.calls.known(self.space.state(code))))
        return count

    # ------------------------------------------------------------------ the choice

    def finite(self, built: Built) -> Built:
        """Return a chain whose rates, and their sums, are numbers; else say where they are not."""
        if not np.isfinite(built.Q.data).all():
            x = int(np.searchsorted(built.Q.indptr, np.argmin(np.isfinite(built.Q.data)), "right"))
            state = self.calls.known(built.space.state(built.codes[:, x - 1]))
            raise self.calls.refused(state, OverflowError("rates are infinite"))
        return built

    def quickest(self) -> Built:
        """Build the chain in the way that is predicted to be the quickest."""
        if self.declared is None or self.space.size >= NUMBERED:
            return self.by_python()
        return self.from_start() if self.start is not None else self.over_space()

    def over_space(self) -> Built:
        """Build the chain on the whole space."""
        if self.space.size <= FEW:
            return self.by_python()
        seconds = self.space.size * self._seconds_per_state()
        found = None
        if seconds_by_regions(self.calls, self.space) < seconds:
            found = self.by_regions()
        if found is None:
            with suppress(TimeoutError):
                found = self.by_sets(seconds)
        if found is None and seconds > GAIN * self._compiling(compiled.fill, seconds):
            found = self.by_compiler()
        return found or self.by_python()

    def _seconds_per_state(self) -> float:
        """Return how long plain Python takes for a state, by a sample."""
        begin = time.perf_counter()
        self._count_of_some()
        return (time.perf_counter() - begin) / SAMPLE

    def from_start(self) -> Built:
        """Build the chain on the states that the start leads to: how many, nobody knows before.

        So plain Python searches, and another way is taken when it is predicted to take at most twice
        the time that has been spent so far.
        """
        search = Enumeration(self.calls, [self.start], most=self.most)
        begin, count = time.perf_counter(), FEW
        ways: dict[_Way, Callable[[float], float]] = {}
        with Counter("states") as counter:
            while not search.run(count):
                counter.show(search.done)
                spent, count = time.perf_counter() - begin, search.done
                ways = ways or self._costs()
                for way in [way for way, cost in ways.items() if cost(spent) <= PATIENCE * spent]:
                    try:
                        if (found := way(PATIENCE * spent)) is not None:
                            return found
                        del ways[way]
                    except TimeoutError:
                        ways[way] = _constant(AGAIN * spent)
        return self._listed(search)

    def _costs(self) -> dict[_Way, Callable[[float], float]]:
        """Return the quicker ways, and what gives their cost in s after so many s of plain Python."""
        by_regions = seconds_by_regions(self.calls, self.space)
        return {
            self.by_regions: _constant(by_regions),
            self.by_sets: _constant(SET_SECONDS * self.space.size),
            self.by_compiler: lambda spent: (
                GAIN * PATIENCE * self._compiling(compiled.reach, spent)
            ),
        }

    def _compiling(self, template: Callable[..., Any], seconds: float) -> float:
        """Return how long it takes until the rules run compiled; inf where that is too long."""
        if seconds <= GAIN * compiled.WARM or not compiled.compilable(self.calls, self.space):
            return np.inf
        return compiled.seconds_to_compile(self.calls, self.space, template)

    def seconds_to_compile(self, template: Callable[..., Any]) -> float:
        """Return how long it takes until the rules run compiled; inf where they cannot."""
        if self.declared is None or not compiled.compilable(self.calls, self.declared):
            return np.inf
        return compiled.seconds_to_compile(self.calls, self.declared, template)

    # ------------------------------------------------------------------ the ways

    def by_python(self, _seconds: float = np.inf) -> Built:
        """Run the rules state by state."""
        begin = (
            [self.start] if self.start is not None else map(self.calls.known, self.space.states())
        )
        search = Enumeration(self.calls, begin, closed=self.start is None, most=self.most)
        with Counter("states") as counter:
            while not search.run(1 << 16):
                counter.show(search.done)
        return self._listed(search)

    def _listed(self, search: Enumeration) -> Built:
        """Return the chain on the states that a search has found, in ascending order."""
        space = self.declared or Space.found(self.model.State, search.states)
        rows, codes = search.rows(), space.codes(search.states)
        order = _ascending(space, codes)
        Q = generator_of(rows, None if order is None else rank_of(order))
        return Built(
            space, codes if order is None else codes[:, order], Q, "the rules as they stand"
        )

    def by_regions(self, _seconds: float = np.inf) -> Built | None:
        """Run the rules once for each region of states in which they are alike."""
        if not self._fits():
            return None
        found = regions(self.calls, self.space)
        if found is None:
            return None
        how = f"the rules on {len(found)} regions of the space"
        if self.space.size >= LARGE and all(region.moves is not None for region in found):
            matrix = copied(found, self.space)
            if matrix is not None:
                return self._compared(self._part(matrix, how))
        return self._checked(edges_by_regions(found, self.space), how)

    def by_sets(self, seconds: float = np.inf) -> Built | None:
        """Run the rules on sets of states."""
        if not self._fits():
            return None
        edges = edges_by_sets(self.calls, self.space, seconds)
        return None if edges is None else self._checked(edges, "the rules on sets of states")

    def _fits(self) -> bool:
        try:
            check_room(self.model.name, EDGE_BYTES * self.space.size)
        except MemoryError:
            return False
        return self.space.size < NUMBERED

    def by_compiler(self, _seconds: float = np.inf) -> Built | None:
        """Run the rules compiled."""
        if not compiled.compilable(self.calls, self.space):
            return None
        space, how = self.space, "the rules compiled"
        try:
            if self.start is None:
                rows = compiled.rows_of_space(self.calls, space)
                codes = space.unnumbered(np.arange(space.size))
                return self._compared(Built(space, codes, generator_of(rows), how))
            first = space.codes([self.start])[:, 0]
            numbers, rows = compiled.reached(self.calls, space, first, self.most)
        except (RuleError, TooLargeError):
            raise
        except compiled.Failed as failed:
            if failed.state is not None:
                state = self.space.state(failed.state)
                self.calls.transitions(self.calls.known(state))
                self._warn(f"{state}: compiled, the rules fail there")
            return None
        except Exception:  # noqa: BLE001  # what a compiler cannot do is left to Python
            return None
        if self.series is not None:
            return self._compared(Built(space, *self.series.generator(space, numbers, rows), how))
        order = np.argsort(numbers, kind="stable")
        Q = generator_of(rows, rank_of(order))
        return self._compared(Built(space, space.unnumbered(numbers[order]), Q, how))

    # ------------------------------------------------------------------ from the space to its part

    def _checked(self, edges: Edges, how: str) -> Built | None:
        """Return the chain of transitions over the space, those left to Python filled in."""
        if self.start is None:
            edges = self._completed(edges, edges.deferred)
            Q = from_edges(*edges[:3], self.space.size)
            codes = self.space.unnumbered(np.arange(self.space.size))
            return self._compared(Built(self.space, codes, Q, how))
        first = int(self.space.numbers(self.space.codes([self.start]))[0])
        for _ in range(ROUNDS):
            ones = np.ones(len(edges.rates), dtype=np.int8)
            size = self.space.size
            graph = sp.csr_matrix((ones, (edges.sources, edges.targets)), shape=(size, size))
            entered = _led_to(graph, first)
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

    def _part(self, Q: sp.csr_matrix, how: str) -> Built:
        """Return the part of a generator over the space that the start leads to."""
        if self.start is None:
            return Built(self.space, self.space.unnumbered(np.arange(Q.shape[0])), Q, how)
        first = int(self.space.numbers(self.space.codes([self.start]))[0])
        entered = _led_to(Q, first)
        codes = self.space.unnumbered(np.flatnonzero(entered))
        return Built(self.space, codes, _closed_part(Q, entered), how)

    # ------------------------------------------------------------------ the comparison

    def _compared(self, built: Built) -> Built | None:
        """Return a chain if its rows are those of plain Python on a sample; else warn, and None."""
        if self.series is not None and built.codes is self.series.codes:
            places = self.series.places
        else:
            places = sample_of(self.space, built.codes)
        found = disagreement(self.calls, self.space, built.codes, built.Q, places)
        if found is None:
            return built
        x, difference = found
        self._warn(f"{self.space.state(built.codes[:, x])}: {built.how} give {difference}")
        return None

    def _warn(self, said: str) -> None:
        place = shown_place(place_of(self.model.rules))
        msg = f"{self.model.name}: {said}{place}; the rules run as plain Python instead"
        warnings.warn(RuleWarning(msg), stacklevel=6)


_WAYS: dict[str, Callable[[_Job], Built | None]] = {
    "python": _Job.by_python,
    "regions": _Job.by_regions,
    "sets": _Job.by_sets,
    "compiled": _Job.by_compiler,
}


def _constant(seconds: float) -> Callable[[float], float]:
    return lambda _spent: seconds


def _ascending(space: Space, codes: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the order of states by their components, the last varying fastest; None: as they are."""
    if space.size < NUMBERED:
        numbers = space.numbers(codes)
        if np.all(numbers[1:] > numbers[:-1]):
            return None
        return np.argsort(numbers, kind="stable")
    return np.lexsort(codes[::-1])


def _led_to(graph: sp.csr_matrix, first: int) -> NDArray[np.bool_]:
    entered = np.zeros(graph.shape[0], dtype=bool)
    entered[breadth_first_order(graph, first, return_predecessors=False)] = True
    return entered


def _closed_part(Q: sp.csr_matrix, inside: NDArray[np.bool_]) -> sp.csr_matrix:
    """Return a generator on a set of states that it does not lead out of."""
    if inside.all():
        return Q
    counts = np.diff(Q.indptr)
    kept = np.repeat(inside, counts)
    place = (np.cumsum(inside) - 1).astype(Q.indices.dtype)
    indptr = np.append(0, np.cumsum(counts[inside])).astype(Q.indptr.dtype)
    found: Any = Q.data[kept], place[Q.indices[kept]], indptr
    n = len(indptr) - 1
    part = sp.csr_matrix(found, shape=(n, n))
    part.has_canonical_format = True
    return part
