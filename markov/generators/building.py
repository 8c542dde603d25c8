"""The states of a model and the rates between them: by plain Python for few states, on arrays for many.

Plain Python, state by state, defines the meaning of the rules. For many states they run on arrays of states. A
generator from arrays is compared with plain Python in a sample of states that includes the corners of the space; if a
row differs, there is a warning, and plain Python builds the chain. The states and their order are the same in both.

What runs is a function of the rules, the declared space and the start. Neither a clock nor earlier calls decide. So the
same question has the same answer to the last bit, whatever the process did before:

===============================  ===================  ===========================================================
states by plain Python           model                reason
===============================  ===================  ===========================================================
fewer than `PYTHON_STATES`       declares its states  arrays take as long for one state as for 256
up to `PYTHON_STATES`,           declares more than   the start may lead to few states, and a table of all states
then arrays                      100,000 states and   takes longer
                                 a start
up to `STATES_BEFORE_BOX`, and   declares no states   it takes 10 to 100 ms to find out whether they are
as many again if they are                             infinitely many, and a box for arrays that the rules do
finitely many, then arrays                            not leave
all                              without arrays       its rules have no translation, or there is no such box
===============================  ===================  ===========================================================

A model without a space whose components may grow without bound is first searched in ``growth_states`` states.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from hopflow.errors import RuleError, RuleWarning, format_location, location_of
from hopflow.parameters import param, validate_parameters
from markov.computing.matrices import from_edges, rank_of, reachable_from
from markov.computing.resources import (
    Counter,
    GrowingStatesError,
    InfiniteStatesError,
    StateLimitError,
    TooLargeError,
    check_room,
)
from markov.generators.array_chains import COMPLETE_SPACE_STATES, ArrayChain, chain_on_arrays
from markov.generators.hulls import Hull, hull_of
from markov.generators.plain import (
    Calls,
    Edges,
    Enumeration,
    edges_by_python,
    first_disagreement,
    indices_to_repeat,
    refuse_changed_answers,
    refuse_changing_rules,
)
from markov.generators.polynomials import Unfollowed
from markov.models.bare import FunctionModel
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END, NUMBERED, Space, format_state, sample_of, warn_of_unintended_states

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_STATES", "STATES_BEFORE_BOX", "Built", "ChainBuilder", "build_chain", "generator"]

MAX_STATES = 50_000_000
"""Default limit on the number of states."""
PYTHON_STATES = 256
"""States of a declared space that plain Python searches first: see the table above."""
STATES_BEFORE_BOX = 2_000
"""States of a model without a space that plain Python searches first: see the table above."""
MIN_PREDICTED_STATES, PREDICTION_SAMPLE = 250_000, 120
"""States from which on the size of the matrix is predicted, by the transitions out of a sample."""
BYTES_PER_STATE = 150.0
"""Memory per state of a space whose transitions are listed."""
MAX_ROUNDS = 10
"""Largest number of rounds in which plain Python computes the transitions that arrays have left out."""
SMALLEST_RATE = float(np.finfo(np.float64).tiny)
"""Smallest rate of full precision in 1/s."""
FIRST_BOX = 1 << 24
"""States of the first box around the states of a search, which costs a byte for each."""
BY_PYTHON, ON_ARRAYS = "the rules as they stand", "the rules on arrays of states"


class Built(NamedTuple):
    """A chain that was built from a model: its states, as codes of a space, and its generator.

    Attributes
    ----------
    space
        The components of a state.
    codes
        The states, ascending in the product of their components, shape (components, states).
    Q
        The generator, rates in 1/s.
    how
        Description of how the chain was built.
    led_to
        Whether only states that the model's start leads to are listed.
    """

    space: Space
    codes: NDArray[np.int64]
    Q: sp.csr_matrix
    how: str
    led_to: bool = False


@validate_parameters
def generator(
    model: ChainModel,
    *,
    reachable: bool = param(True),
    compiled: bool = param(True),
) -> sp.csr_matrix:
    """Return the generator matrix Q of a model, shape (states, states), rates in 1/s.

    Parameters
    ----------
    model
        The chain's rules and parameters.
    reachable
        With a start, only the states that it leads to; False: the complete space. `MarkovChain` has the
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
        When the rules fail in a state of the chain, with the state, the file and the line.
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
        raise RuleError(
            f"model = {model!r}: a ChainModel is expected; a matrix is one already, others have MarkovChain(model).Q"
        )
    return build_chain(model, reachable=reachable, by=None if compiled else "python").Q


def build_chain(
    model: ChainModel, *, reachable: bool = True, by: str | None = None, max_states: int = MAX_STATES
) -> Built:
    """Return the states and the generator of a model as `Built`.

    Parameters
    ----------
    model
        The rules and parameters.
    reachable
        Only the states that the model's start leads to, if it has one; False: the complete space.
    by
        ``"python"`` or ``"arrays"``; None: chosen by the table of this module.
    max_states
        Largest number of states; with more, TooLargeError.

    Raises
    ------
    RuleError
        When the rules fail in a state of the chain, when there is neither a space nor a start, or when
        ``by="arrays"`` is not possible for these rules.
    TooLargeError
        When the states are more than ``max_states``, or would not fit into memory.
    ValueError
        For a component without a last value, if the start leads to many of its values.
    """
    _refuse_infinite_levels(model, reachable, max_states)
    builder = ChainBuilder(model, reachable, max_states)
    if by is None:
        built = builder.build()
    else:
        result = builder.build_by_python() if by == "python" else builder.build_on_arrays()
        if result is None:
            raise RuleError(f"{model.name}: its rules cannot be run by {by}")
        built = result
    if builder.start is not None and built.Q.shape[0] > max_states:
        raise StateLimitError(model.name, max_states)
    return builder.require_finite_rates(built._replace(led_to=builder.start is not None))


def _refuse_infinite_levels(model: ChainModel, reachable: bool, max_states: int) -> None:
    """Raise ValueError if a component of the space has no last value, unless few states are reachable."""
    space = model.space() if model.has_space else None
    if not isinstance(space, dict):  # another object is refused by `Space.of`
        return
    unbounded = [name for name, values in space.items() if isinstance(values, range) and values.stop >= NO_END]
    if not unbounded:
        return
    has_start = reachable and model.start() is not None
    if not has_start or not ChainBuilder(model, reachable, max_states).new_search().run(STATES_BEFORE_BOX):
        raise ValueError(
            f"{model.name}: {unbounded[0]!r} has infinitely many values (NO_END): "
            "stationary_by_level solves chains of infinitely many levels, or give it a last value"
        )


def _whole_numbers(values: Sequence[Any]) -> range:
    """Return the range of the whole numbers among the values of a component, which may have names beside them."""
    if isinstance(values, range):
        return values
    numbers = [value for value in values if type(value) is int]
    return range(min(numbers), max(numbers) + 1) if numbers else range(0)


class ChainBuilder:
    """Builds the states and the generator of a model, by plain Python or by rules on arrays of states.

    Parameters
    ----------
    model
        The rules and parameters.
    reachable
        Whether the chain has only the states that the start leads to.
    max_states
        Largest number of states; with more, TooLargeError.

    Attributes
    ----------
    unfollowed
        Why the rules cannot be followed for infinitely many states; None if they can, or if this was not tried.
    """

    growth_states = (20_000, 200_000)
    """Numbers of states between which no component may grow if the rules cannot be followed: a search of some 3 s."""
    only_reachable = False
    """Whether the rules run only in states that the start leads to."""

    def __init__(self, model: ChainModel, reachable: bool, max_states: int) -> None:
        self.model, self.max_states = model, max_states
        self.unfollowed: str | None = None
        self.declared = Space.of(model.State, model.space(), model.name) if model.has_space else None
        start = model.start() if reachable or self.declared is None else None
        self.calls = Calls(model, self.declared)
        self.start = None if start is None else self._validate_start(start)
        if self.declared is None and self.start is None:
            hint = "say which states there are, space(), or where it starts, start()"
            raise RuleError.at(location_of(model.rules), f"{model.name} has no states", hint)
        if self.start is None and self.declared is not None:
            check_room(f"{model.name}: a matrix on {self.declared.size} states", self._predict_bytes())

    def _validate_start(self, start: Any) -> Any:
        """Return the start that a model declares as a state for its rules; RuleError if it is no state."""
        try:
            return self.calls.as_state(start)
        except (TypeError, ValueError) as error:
            location = None if isinstance(self.model, FunctionModel) else location_of(self.model.start)
            raise RuleError.at(location, f"{self.model.name}: start = {start!r}: {error}") from None

    @property
    def space(self) -> Space:
        """The space that the model declares; an assertion fails for a model that declares none."""
        assert self.declared is not None
        return self.declared

    def _predict_bytes(self) -> float:
        """Return the predicted bytes of the generator on the complete space, from a sample of its rows."""
        size = self.space.size
        if size < MIN_PREDICTED_STATES:
            return 0.0
        rng, count = np.random.default_rng(0), 0
        bounds = zip(self.space.shape, self.space.low, strict=True)
        codes = [low + rng.integers(n, size=PREDICTION_SAMPLE) for n, low in bounds]
        for code in np.array(codes).T:
            with suppress(RuleError):  # an error is reported for the first state that has it
                count += len(self.calls.transitions(self.calls.as_state(self.space.state(code))))
        return size * (16.0 + 12.0 * count / PREDICTION_SAMPLE)

    def require_finite_rates(self, built: Built) -> Built:
        """Return the chain unchanged; RuleError with a state if a rate, or the sum of a state's rates, is infinite."""
        if not np.isfinite(built.Q.data).all():
            x = int(np.searchsorted(built.Q.indptr, np.argmin(np.isfinite(built.Q.data)), "right"))
            state = self.calls.as_state(built.space.state(built.codes[:, x - 1]))
            raise self.calls.error_in_state(state, OverflowError("rates are infinite"))
        return built

    def build(self) -> Built:
        """Return the chain, by plain Python or on arrays as the table at the head of this module says."""
        if self.declared is None:
            return self._build_without_space()
        if not PYTHON_STATES <= self.space.size < NUMBERED:
            return self.build_by_python()
        if self.start is None:
            return self.build_on_arrays() or self.build_by_python()
        search = self.new_search()
        if self.space.size > COMPLETE_SPACE_STATES and search.run(PYTHON_STATES):
            return self.build_from_search(search)
        return self.build_on_arrays() or self.finish_search(search)

    def _build_without_space(self) -> Built:
        """Return the chain of a model that declares no space: by plain Python, or on arrays over a box of states."""
        search = self.new_search()
        if search.run(min(STATES_BEFORE_BOX, self.max_states // 2)):
            return self.build_from_search(search)
        hull = self.find_closed_set(search)
        box = BoxBuilder.of_hull(self, hull) if hull else GrowingBoxBuilder.enclosing(self, search.states)
        with self._explain_size_errors():
            if box is None or search.run(STATES_BEFORE_BOX):
                return self.finish_search(search)
            return box.build_on_arrays() or self.finish_search(search)

    # Plain Python

    def build_by_python(self) -> Built:
        """Return the chain from a search for its states in which plain Python runs the rules state by state."""
        search = self.new_search()
        if self.declared is None and not search.run(min(STATES_BEFORE_BOX, self.max_states // 2)):
            self.find_closed_set(search)
        with self._explain_size_errors():
            return self.finish_search(search)

    def new_search(self) -> Enumeration:
        """Return a search for the states of the model by plain Python, in which no rules have run yet."""
        states = [self.start] if self.start is not None else map(self.calls.as_state, self.space.states())
        return Enumeration(self.calls, states, closed=self.start is None, max_states=self.max_states)

    def finish_search(self, search: Enumeration) -> Built:
        """Run a search to its end, with a progress counter, and return the chain on its states."""
        with Counter("states") as counter:
            while not search.run(1 << 16):
                counter.show(search.done)
        return self.build_from_search(search)

    @contextmanager
    def _explain_size_errors(self) -> Iterator[None]:
        """Add to TooLargeError in a ``with`` block why it is unknown whether the states are infinitely many."""
        try:
            yield
        except TooLargeError as error:
            if self.unfollowed is not None:
                error.add_note(f"the rules cannot be followed for infinitely many states: {self.unfollowed}")
            raise

    def find_closed_set(self, search: Enumeration) -> Hull | None:
        """Return a set that has the states of a search and that no rule leaves; None if rules cannot be followed.

        Raises
        ------
        InfiniteStatesError
            If the rules lead to infinitely many states for certain.
        GrowingStatesError
            If this is unknown, a component grows, and the caller has set no largest number of states.
        """
        refuse_changed_answers(self.calls, search.answers(indices_to_repeat(search.done)))
        try:
            hull = hull_of(self.calls, search.states)
        except Unfollowed as stop:
            self.unfollowed = str(stop)
            self._refuse_growth(search, f"the rules cannot be followed: {stop}")
            return None
        if hull.is_infinite:
            raise InfiniteStatesError(self.model.name, hull, self.max_states)
        if hull.unbounded:
            self._refuse_growth(search, "no move, and no cycle of moves, is proved to be possible again and again")
        return hull

    def _refuse_growth(self, search: Enumeration, reason: str) -> None:
        """Raise GrowingStatesError if a component's range grows while a search runs on through `growth_states`."""
        before: dict[str, range] = {}
        growing: list[str] = []
        for count in self.growth_states if self.max_states == MAX_STATES else ():
            if search.run(count - search.done):
                return
            components = Space.of_states(self.model.State, search.states[: search.done]).components
            ranges = {c.name: numbers for c in components if (numbers := _whole_numbers(c.values))}
            growing = [name for name, values in ranges.items() if before.get(name, values) != values]
            before = ranges
        if before and growing:
            values = before[growing[0]]
            raise GrowingStatesError(self.model.name, growing[0], values[0], values[-1], search.done, reason)

    def refuse_underflow(self, search: Enumeration) -> None:
        """Raise an error if a search may have ended because rates that tend to zero became 0 in float64.

        Raises
        ------
        InfiniteStatesError
            If the rules lead to infinitely many states for certain.
        RuleError
            Naming the state with the smallest rate.
        """
        rows = search.rows()
        if self.declared is not None or not len(rows.rates) or rows.rates.min() >= SMALLEST_RATE:
            return
        with suppress(Unfollowed):
            hull = hull_of(self.calls, search.states[:STATES_BEFORE_BOX])
            if hull.is_infinite:
                raise InfiniteStatesError(self.model.name, hull, self.max_states)
        entry = int(np.argmin(rows.rates))
        state = search.states[int(np.searchsorted(rows.indptr, entry, "right")) - 1]
        message = f"a rate of {rows.rates[entry]:.3g}: must be 0 or at least {SMALLEST_RATE:.3g}"
        hint = "rates that tend to zero become 0 in float64, and the states end there: give the states a limit"
        raise RuleError(f"{self.model.name}: {format_state(state)}: {message}; {hint}")

    def build_from_search(self, search: Enumeration) -> Built:
        """Return the chain on the states of a search that is complete, sorted in ascending order."""
        self.refuse_underflow(search)
        refuse_changed_answers(self.calls, search.answers(indices_to_repeat(search.done)))
        space = self.declared
        if space is None or not space.has_codes:
            space = Space.of_states(self.model.State, search.states)
            warn_of_unintended_states(self.model.name, space)
        rows, codes = search.rows(), space.codes(search.states)
        order = space.sort_order(codes)
        Q = rows.generator(None if order is None else rank_of(order))
        return Built(space, codes if order is None else codes[:, order], Q, BY_PYTHON)

    # Arrays

    def build_on_arrays(self) -> Built | None:
        """Return the chain from rules run on arrays of states; None if they cannot, or differ from plain Python."""
        fits = self.space.size < NUMBERED
        try:
            check_room(self.model.name, BYTES_PER_STATE * self.space.size)
        except MemoryError:
            fits = False
        options = {"only_reachable": self.only_reachable}
        chain = chain_on_arrays(self.calls, self.space, self._start_number(), self.max_states, fits, **options)
        if chain is None:
            return None
        if chain.pattern is None or chain.edges is None:
            return self._complete_by_python(chain)
        codes, Q = chain.pattern.codes, chain.pattern.generator(chain.edges.rates)
        return self._verify_sample(Built(self.space, codes, Q, ON_ARRAYS), chain.pattern.sample)

    def _start_number(self) -> int | None:
        """Return the number of the start in the space; None without a start."""
        if self.start is None:
            return None
        return int(self.space.numbers(self.space.codes([self.start]))[0])

    def _complete_by_python(self, chain: ArrayChain) -> Built | None:
        """Return a chain from arrays after plain Python has run in the states they left out; None if these are many."""
        if chain.edges is None:
            return None
        edges, size = chain.edges, self.space.size
        start = self._start_number()
        if start is None:
            edges = self._add_deferred(edges, edges.deferred)
            Q = from_edges(edges.sources, edges.targets, edges.rates, size)
            codes = self.space.codes_of_numbers(np.arange(size))
            return self._verify_sample(Built(self.space, codes, Q, ON_ARRAYS), sample_of(self.space, codes))
        for _ in range(MAX_ROUNDS):
            ones = np.ones(len(edges.rates), dtype=np.int8)
            entered = reachable_from(sp.csr_matrix((ones, (edges.sources, edges.targets)), shape=(size, size)), start)
            deferred = edges.deferred[entered[edges.deferred]]
            if not len(deferred):
                break
            edges = self._add_deferred(edges, deferred)
        else:
            return None
        listed = entered[edges.sources]
        rank = np.cumsum(entered) - 1
        pair = rank[edges.sources[listed]], rank[edges.targets[listed]]
        Q = from_edges(*pair, edges.rates[listed], int(rank[-1]) + 1)
        codes = self.space.codes_of_numbers(np.flatnonzero(entered))
        return self._verify_sample(Built(self.space, codes, Q, ON_ARRAYS), sample_of(self.space, codes))

    def _add_deferred(self, edges: Edges, deferred: NDArray[np.int64]) -> Edges:
        """Return ``edges`` with the transitions out of the states ``deferred`` added, computed by plain Python."""
        more = edges_by_python(self.calls, self.space, np.sort(deferred))
        remaining = np.setdiff1d(edges.deferred, deferred)
        return Edges.concatenate([edges._replace(deferred=remaining), more])

    def _verify_sample(self, built: Built, sample: list[int]) -> Built | None:
        """Return a chain if its rows agree with plain Python in the states ``sample``; otherwise warn, return None."""
        result = first_disagreement(self.calls, self.space, built.codes, built.Q, sample)
        if result is None:
            return built
        refuse_changing_rules(self.calls, map(self.space.state, built.codes[:, sample].T.tolist()))
        x, difference = result
        location = format_location(location_of(self.model.rules))
        message = f"{self.space.state(built.codes[:, x])}: {built.how} give {difference}"
        text = f"{self.model.name}: {message}{location}; the rules run as plain Python instead"
        warnings.warn(RuleWarning(text), stacklevel=5)
        return None


class BoxBuilder(ChainBuilder):
    """Builds the chain of a model that declares no space, by rules on arrays over a box of states.

    The box is that of a closed set, from following the rules for all states at once. Whether the rules leave it is
    checked in every transition. If they do, or a component is no ``int``, the result is None, and plain Python
    continues.
    """

    @classmethod
    def of_hull(cls, builder: ChainBuilder, hull: Hull) -> Self | None:
        """Return a builder over the smallest box that has the states of a hull; None if there is no such box."""
        layout = hull.layout
        if hull.unbounded or not layout.space.has_only_integers:
            return None
        values: list[list[Any]] = [[] for _ in range(layout.width)]
        for mode, low in hull.low.items():
            for k, value in zip(layout.others, mode, strict=True):
                values[k].append(value)
            for k, first, last in zip(layout.free, low, hull.high[mode], strict=True):
                values[k] += [first, int(last)]
        if any(type(value) is not int for column in values for value in column):
            return None
        return cls.on_box(builder, layout.space.with_ranges([range(min(v), max(v) + 1) for v in values], exact=True))

    @classmethod
    def on_box(cls, builder: ChainBuilder, box: Space) -> Self | None:
        """Return a copy of a builder with ``box`` as its space; None if the box has more than 2^63 states."""
        if not _has_numbers(box):
            return None
        boxed = cls.__new__(cls)
        boxed.__dict__.update(builder.__dict__)
        boxed.declared, boxed.calls = box, Calls(builder.model, box)
        return boxed

    def build_on_arrays(self) -> Built | None:
        """Return the chain, with its space cut to the smallest box of its states; None if arrays cannot build it."""
        try:
            built = super().build_on_arrays()
        except RuleError:  # a state outside of the box: plain Python reports errors of the rules
            return None
        if built is None:
            return None
        bounds = zip(built.codes.min(axis=1).tolist(), built.codes.max(axis=1).tolist(), strict=True)
        return built._replace(space=built.space.with_ranges([range(low, high + 1) for low, high in bounds]))


class GrowingBoxBuilder(BoxBuilder):
    """Builds a chain by rules on arrays over a box around the states of a search, which grows if the rules leave it."""

    only_reachable = True

    @classmethod
    def enclosing(cls, builder: ChainBuilder, states: Sequence[Any]) -> Self | None:
        """Return a builder over a box around ``states``; None if a component is no integer, or the box is too large."""
        space = Space.of_states(builder.model.State, states)
        if not space.has_only_integers or not _has_numbers(space):
            return None
        ranges: list[Any] = [c.values for c in space.components]
        while space.size <= FIRST_BOX:
            ranges = [range(values.start, values.stop + len(values)) for values in ranges]
            space = space.with_ranges(ranges)
        return cls.on_box(builder, space.with_ranges(ranges, exact=True))

    def _complete_by_python(self, chain: ArrayChain) -> Built | None:
        """Return the chain over a larger box, with the targets of the state that left it; None if arrays cannot."""
        assert chain.invalid is not None
        code = self.space.codes_of_numbers(np.array([chain.invalid]))[:, 0]
        state = self.calls.name_fields(self.space.state(code))
        ranges: list[Any] = [c.values for c in self.space.components]
        grown = list(ranges)
        with suppress(Exception):  # plain Python reports errors of the rules
            for target, rate in self.calls.rules(state, self.calls.q):
                if rate > 0.0:
                    values = self.space.flatten(self.space.as_tuple(target))
                    grown = [_extend_range(r, v) for r, v in zip(grown, values, strict=True)]
        box = self.space.with_ranges(grown, exact=True)
        if grown == ranges or not _has_numbers(box):
            return None
        self.declared, self.calls = box, Calls(self.model, box)
        return ChainBuilder.build_on_arrays(self)


def _extend_range(values: range, target: Any) -> range:
    """Return a range at least twice as long that includes ``target``; unchanged if it has it or that is no int."""
    if type(target) is not int or target in values:
        return values
    size = len(values)
    if target < values.start:
        return range(min(target, values.start - size), values.stop)
    return range(values.start, max(target + 1, values.stop + size))


def _has_numbers(box: Space) -> bool:
    """Return whether the numbers and the codes of a box's states fit into 64 bits."""
    return box.size < NUMBERED and box.has_codes
