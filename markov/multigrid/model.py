"""A model as a chain on a grid: its reached states, a check against the rules, and a matrix only if requested."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import count_of
from hopflow.errors import RuleError, location_of
from hopflow.fork_safety import cached_property
from markov.chains import MarkovChain, refuse_truth_value
from markov.computing.compilation import bound_kernel
from markov.computing.resources import MIN_CHECKED_BYTES, available, check_room
from markov.generators.building import build_chain
from markov.generators.plain import Calls, describe_difference, edges_by_python, rates_by_source
from markov.generators.regions import find_regions
from markov.models.spaces import SAMPLE, Space
from markov.models.state_tables import StateBlocks, StateTable
from markov.multigrid.grid import Unsuitable, coarsen, factors_along, lay_out, positions_in_boxes
from markov.multigrid.kernels import state_kernels
from markov.multigrid.kernels.state_kernels import Digits, SlotIndex
from markov.multigrid.kernels.tables import Marked
from markov.multigrid.matrix_free import is_numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel
    from markov.multigrid.grid import Grid, Layout


__all__ = ["GridChain", "GridModel", "GridStates", "SeveralClassesError"]

PRESENT, REACHED, RECURRENT, VISITED, BACK, QUEUED = 1, 2, 4, 8, 16, 32
MAX_PASSES = 16  # over the grid, before states are followed one by one
STACK_STATES = 1 << 16  # capacity of the stack of states to follow
BLOCK = 1 << 20  # states of the space per block


class SeveralClassesError(ValueError):
    """Error: the chain has several recurrent classes."""


class GridStates:
    """Marks of the states of a grid: which are reached from the start, and which are recurrent.

    Parameters
    ----------
    layout
        The grid.
    space
        The components of a state.
    start
        Component values of the initial state; None: every state is reached.

    Attributes
    ----------
    marks
        Bits of each state of the grid: ``PRESENT``, ``REACHED`` from the start, ``RECURRENT``.
    size, transitions
        Number of reached states, and of their transitions.
    recurrent
        Number of recurrent states.

    Raises
    ------
    SeveralClassesError
        When the chain has several recurrent classes.
    """

    def __init__(self, layout: Layout, space: Space, start: NDArray[np.int64] | None) -> None:
        self.layout, self.space = layout, space
        grid = layout.out[0]
        cells, span = grid.cells, _all_rows(grid)
        combinations = layout.combinations
        slots = np.full((len(combinations), len(layout.shift)), -1)  # of each combination in each kind; -1: none
        for slot in range(combinations.shape[1]):
            has = np.flatnonzero(combinations[:, slot] >= 0)
            slots[has, combinations[has, slot]] = slot
        self._slot = slots
        self.marks = np.zeros(grid.size, dtype=np.uint8)
        present = np.ascontiguousarray((layout.combinations >= 0).ravel())
        bit = PRESENT | (REACHED if start is None else 0)
        bound_kernel(state_kernels.fill, span, cells, present, bit, self.marks)()
        self._search(start)
        reached, recurrent = (
            bound_kernel(state_kernels.count_entries, span, cells, bit, self.marks)() for bit in (REACHED, RECURRENT)
        )
        self.size, self.transitions = map(int, reached)
        self.recurrent = int(recurrent[0])

    # ------------------------------------------------------------------ which states count

    def _search(self, start: NDArray[np.int64] | None) -> None:
        """Mark the reached states and the recurrent states of the grid.

        From any reached state, follow transitions forward and backward. A state that is found forward but not backward
        does not lead back: continue from it, until all states lead back. The forward set is then the recurrent class.
        """
        out, into = self.layout.out[0], self.layout.into[0]
        state = int(np.argmax(self.marks)) if start is None else self._index_of(start)
        if start is not None:
            self._spread(out, state, PRESENT, REACHED)
            self.marks[(self.marks & REACHED) > 0] |= VISITED
        else:
            self._spread(out, state, REACHED, VISITED)
        while True:
            self._spread(into, state, REACHED, BACK)
            remaining = np.flatnonzero((self.marks & (VISITED | BACK)) == VISITED)
            if not len(remaining):
                break
            state = int(remaining[0])
            self._clear(VISITED | BACK)
            self._spread(out, state, REACHED, VISITED)
        if bool(np.any((self.marks & (REACHED | BACK)) == REACHED)):
            raise SeveralClassesError
        self.marks[(self.marks & VISITED) > 0] |= RECURRENT
        self._clear(VISITED | BACK)

    def _spread(self, grid: Grid, state: int, old: int, new: int) -> None:
        """Add the bit ``new`` to the states with the bit ``old`` to which transitions lead from a state."""
        self.marks[state] |= new
        table = _all_rows(grid), grid.cells
        runs = [
            bound_kernel(state_kernels.spread, *table, backward, old, new, self.marks) for backward in (False, True)
        ]
        remaining = int(np.count_nonzero((self.marks & (old | new)) == old))
        number = 0
        while remaining and (n_marked := runs[number % 2]()):  # a run that finds nothing was the last
            remaining, number = remaining - n_marked, number + 1
            if number == MAX_PASSES:
                stack = np.empty(STACK_STATES, dtype=np.uint64)
                runs = [bound_kernel(state_kernels.follow, grid.cells, stack, old, new, self.marks)] * 2

    def _clear(self, bits: int) -> None:
        """Clear bits of the marks of all states."""
        self.marks &= np.uint8(255 ^ bits)

    # ------------------------------------------------------------------ where they are

    def _index_of(self, codes: NDArray[np.int64]) -> int:
        """Return the index in the grid of one state, by its component values."""
        number = int(self.space.numbers(codes[:, None])[0])
        _, indices = self._find_marked(number, 1, PRESENT)
        return int(indices[0])

    def _find_marked(self, begin: int, count: int, bit: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return numbers in the space and grid indices of the marked states among ``count`` numbers from ``begin``."""
        layout, grid = self.layout, self.layout.out[0]
        shape = np.array(self.space.shape)
        weight, ahead = np.zeros((2, len(shape)), dtype=np.int64)
        tail = 1
        for n, size in zip(reversed(layout.inner), reversed(layout.inner_shape), strict=True):
            weight[n] = tail
            tail *= size
        strides = grid.strides[:-1] // (grid.shape[-1] * grid.width)  # rows from one to the next
        ahead[list(layout.axes[:-1])] = strides
        digits = self.space.codes_of_numbers(np.array([begin]))[:, 0] - np.array(self.space.low)
        numbers, indices = np.empty((2, count), dtype=np.int64)
        index = SlotIndex(
            along=layout.axes[-1],
            lead=layout.shift[:, :-1] @ strides,
            shift=np.ascontiguousarray(layout.shift[:, -1]),
            cells=grid.shape[-1],
            width=grid.width,
            row_kind=grid.row_kind,
            rows=grid.rows,
            slot=self._slot,
        )
        digit = Digits(digits, shape, weight, ahead)
        arguments = begin, count, digit, index, Marked(bit, self.marks), (numbers, indices)
        count = bound_kernel(state_kernels.survey, *arguments)()
        return numbers[:count], indices[:count]

    @property
    def in_order(self) -> bool:
        """Whether the grid consists of the reached states in the order of their numbers in the space."""
        ordered = self.layout.axes == tuple(range(len(self.layout.axes)))
        return ordered and not self.layout.shift.any() and self.size == len(self.marks)

    def blocks(self, bit: int = REACHED) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield arrays with the numbers in the space, ascending, and the grid indices of marked states."""
        for begin in range(0, self.space.size, BLOCK):
            yield self._find_marked(begin, min(BLOCK, self.space.size - begin), bit)

    def gather(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an array over the grid as an array over the reached states, shape (size,).

        The array is not copied if the order is the same.
        """
        if self.in_order:
            return x
        values, begin = np.empty(self.size), 0
        for _, indices in self.blocks():
            values[begin : begin + len(indices)] = x[indices]
            begin += len(indices)
        return values

    def codes_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the component values of states by their grid indices, shape (components, states)."""
        layout, grid = self.layout, self.layout.out[0]
        cells, slots = np.divmod(indices, grid.width)
        coordinates = self.cells_at(indices)
        kinds = grid.rows[grid.row_kind[cells // grid.shape[-1]], coordinates[-1]]
        combination = layout.combinations[kinds, slots]
        codes = np.empty((len(layout.low), len(indices)), dtype=np.int64)
        codes[list(layout.axes)] = coordinates - layout.shift[combination].T
        if layout.inner:
            codes[list(layout.inner)] = np.stack(np.unravel_index(combination, layout.inner_shape))
        codes += np.array(layout.low)[:, None]
        return codes

    def cells_at(self, indices: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return the coordinates of the cells of states by their grid indices, shape (axes, states)."""
        grid = self.layout.out[0]
        return np.stack(np.unravel_index(np.asarray(indices) // grid.width, grid.shape))

    def kinds_at(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return kind * width + slot of states by their grid indices: the index into tables by kind and slot."""
        grid = self.layout.out[0]
        cells, slots = np.divmod(indices, grid.width)
        kinds = grid.rows[grid.row_kind[cells // grid.shape[-1]], cells % grid.shape[-1]]
        return np.asarray(kinds * grid.width + slots, dtype=np.int64)


def _all_rows(grid: Grid) -> tuple[np.uint64, np.uint64]:
    """Return the span of all rows of a grid: 0, and the number of rows."""
    return np.uint64(0), np.uint64(len(grid.row_kind))


REGIONS = (
    5_000,
    20_000,
)  # maximum number of boxes with identical rules: of a small space, and of any (60 microseconds each)
MIN_STATES_PER_REGION = 20
LIMIT = 2**31  # states of a space
SOLUTION_BYTES = 9.0  # per state: x, and marks
COPY_BYTES = 8.0  # pi, if the order of its states is not the grid's
PROOF_BYTES = 5.0  # hitting times, and levels of costs
SOLVED_BYTES = 16.0  # per coarse state: factors, and outflows
ABOUT_BYTES = 19.0  # per state in total, for a pause tandem with its bound
BOUND_BYTES = 16.0  # hitting times, right-hand sides, and flows out


class GridModel:
    """A `ChainModel` with the same rules on each of a few boxes of its space, laid out as a chain on a grid.

    Attributes
    ----------
    layout
        The grid and its transitions.
    states
        The reached states, and their indices in the grid.
    how
        How the rates were computed, in words.

    Parameters
    ----------
    model
        On a space of whole numbers.
    states_per_region
        Minimum mean number of states in a box with the same rules. More than `MIN_STATES_PER_REGION` also stops where
        the first boxes are so small that their number is predicted to be too large.

    Raises
    ------
    Unsuitable
        With the reason why its transitions do not form a grid.
    TooLargeError
        Before arrays are allocated that would not fit into memory.
    """

    def __init__(self, model: ChainModel, states_per_region: int = MIN_STATES_PER_REGION) -> None:
        if not is_numbered(model):
            raise Unsuitable("it declares no space() of whole numbers")
        self.model = model
        self.space = Space.of(model.State, model.space(), model.name)
        if self.space.size > LIMIT:
            raise ValueError(_too_large_message(model.name, self.space.size))
        calls = Calls(model, self.space)
        start = self._start_codes(calls)
        predict = states_per_region > MIN_STATES_PER_REGION
        minimum, maximum = REGIONS
        allowed = min(max(self.space.size // states_per_region, 0 if predict else minimum), maximum)
        regions = find_regions(calls, self.space, allowed, counts=True, predict=predict)
        if regions is None:
            msg = (
                f"its rules are not alike on few boxes of the space, {allowed} at most (a condition on a sum or "
                "difference of components, a rate that depends on two of them or on a power of one, or many "
                "thresholds?)"
            )
            raise Unsuitable(msg)
        moves = [region for region in regions if region.moves is not None]
        self._undecided = [region for region in regions if region.moves is None]
        codes = None if start is None else start.tolist()
        self.layout = lay_out(moves, self.space.low, self.space.shape, codes)
        if not len(self.layout.out[0].step):
            raise Unsuitable("the chain does not leave the state that it starts in")
        self.how = f"the rules on {count_of(len(regions), 'region')} of the space, without a matrix"
        self.check_room(proof=False)
        self.states = GridStates(self.layout, self.space, start)
        if self.states.recurrent == 1:
            raise Unsuitable("the chain ends in one state")
        self._compare_with_rules(calls)

    def _start_codes(self, calls: Calls) -> NDArray[np.int64] | None:
        """Return the component values of the initial state, shape (components,); None without an initial state."""
        start = self.model.start()
        if start is None:
            return None
        try:
            canonical = calls.as_state(start)
        except (TypeError, ValueError) as error:
            message = f"{self.model.name}: start = {start!r}: {error}"
            raise RuleError.at(location_of(self.model.start), message) from None
        codes: NDArray[np.int64] = self.space.codes([canonical])[:, 0]
        return codes

    def check_room(self, *, proof: bool) -> None:
        """Raise TooLargeError unless a solution fits into memory, with or without a bound on its error."""
        grid = self.layout.into[0]
        needed = self.predicted_bytes(proof=proof)
        if needed <= MIN_CHECKED_BYTES:
            return
        alone = self.predicted_bytes(proof=False)
        hint = f" with a bound on the error (without, proof=False, {alone:.3g})" if proof else ""
        fits = f" ({available() / needed * grid.size:.2g} would fit)"
        check_room(f"{self.model.name} on a grid of {grid.size} states{fits}{hint}", needed)

    def predicted_bytes(self, *, proof: bool) -> float:
        """Return the predicted peak memory of a solution in bytes: the maximum over its consecutive steps."""
        grid, (size, flows) = self.layout.into[0], self._coarse_size
        axes = [n > 1 for n in grid.shape]
        below, wide = (math.prod(factors_along(axes, wide=is_wide)) for is_wide in (False, True))
        levels = 8.0 * flows + SOLVED_BYTES * size  # of the first coarse level
        levels *= 1.0 + below / (below - 1.0) / wide  # the second is smaller by the same factor
        nbytes = [SOLUTION_BYTES * grid.size + levels, (SOLUTION_BYTES + COPY_BYTES) * grid.size]
        if proof:
            levels = (4.0 * flows + BOUND_BYTES * size) * wide / (wide - 1.0)
            nbytes.append((SOLUTION_BYTES + PROOF_BYTES) * grid.size + levels)
        return max(nbytes)

    @cached_property
    def _coarse_size(self) -> tuple[int, int]:
        """Number of states, and number of flows, of the first coarse level."""
        grid = self.layout.into[0]
        coarse, _ = coarsen(grid, factors_along([n > 1 for n in grid.shape], wide=True))
        return coarse.size, int(coarse.value_begin[-1])

    def _compare_with_rules(self, calls: Calls) -> None:
        """Compare the grid's transitions out of a sample of states with plain Python; Unsuitable if they differ."""
        if self._undecided:
            self._refuse_undecided(calls)
        grid, rates = self.layout.out
        rng = np.random.default_rng(2)
        first_states = np.flatnonzero(self.states.marks[: 4 * SAMPLE] & 2)[:SAMPLE]
        tries = rng.integers(grid.size, size=8 * SAMPLE)
        tries = tries[(self.states.marks[tries] & 2) > 0][:SAMPLE]
        sample = np.unique(np.concatenate([first_states[::8], tries]))
        numbers = self.space.numbers(self.states.codes_at(sample))
        slots = self.states.kinds_at(sample)
        row, entry = positions_in_boxes(grid.begin[slots][:, None], grid.begin[slots + 1][:, None], (1,))
        targets = self.space.numbers(self.states.codes_at(sample[row] + grid.step[entry]))
        values = rates.rate[entry]
        if rates.counts is not None:
            cells = self.states.cells_at(sample).T.tolist()
            values = np.concatenate([rates.at_cell(cell)[0][entry[row == n]] for n, cell in enumerate(cells)])
        edges = numbers[row], targets, values
        grid_edges = rates_by_source(edges, numbers)
        expected = rates_by_source(edges_by_python(calls, self.space, numbers), numbers)
        for number in numbers.tolist():
            if (mismatch := describe_difference(grid_edges[number], expected[number])) is not None:
                state = self.space.state(self.space.codes_of_numbers(np.array([number]))[:, 0])
                raise Unsuitable(f"{state}: {mismatch}")

    def _refuse_undecided(self, calls: Calls) -> None:
        """Raise Unsuitable if a reached state has transitions that only plain Python can compute."""
        for numbers, _ in self.states.blocks():
            codes = self.space.codes_of_numbers(numbers)
            for region in self._undecided:
                low, high = np.array(region.low)[:, None], np.array(region.high)[:, None]
                inside = ((codes >= low) & (codes <= high)).all(axis=0)
                if inside.any():
                    state = self.space.state(codes[:, int(np.argmax(inside))])
                    calls.transitions(calls.as_state(state))
                    raise Unsuitable(f"{state}: only plain Python can say what its transitions are")


def _too_large_message(name: str, size: int) -> str:
    """Return the message for a model whose space is too large, with the size that would fit."""
    free = available()
    return (
        f"{name}: its space has {size} states, and MatrixFree() takes at most {LIMIT}; at {ABOUT_BYTES:g} "
        f"bytes for each that the chain comes back to ({ABOUT_BYTES * size:.2g} for all of them) "
        f"{min(free / ABOUT_BYTES, LIMIT):.2g} fit into the {free:.2g} bytes that are free here, and fewer "
        f"by any other method: make the ranges of space() smaller"
    )


class GridChain(MarkovChain):
    """A `MarkovChain` of a model on a grid, whose generator matrix is built only if it is used.

    Its states are those of ``MarkovChain(model)``, in the same order.
    """

    def __init__(self, grid: GridModel) -> None:
        self.grid_model = grid
        self.model, self._names = grid.model, None
        self._space, self.how = grid.space, grid.how
        self._grid_states = grid.states

    @cached_property
    def Q(self) -> sp.csr_matrix:  # type: ignore[override]
        """The generator as a sparse matrix; TooLargeError if it would not fit into memory."""
        return build_chain(self.grid_model.model).Q

    @property
    def size(self) -> int:
        """Number of states of the chain."""
        return self._grid_states.size

    @property
    def transitions(self) -> int:
        """Number of pairs of states with a rate from one to the other."""
        return self._grid_states.transitions

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        """Numbers of the states in the product space, ascending."""
        check_room(f"{self.grid_model.model.name}: the numbers of {self.size} states", 8.0 * self.size)
        return np.concatenate([numbers for numbers, _ in self._grid_states.blocks()])

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Component values of the states, shape (components, size)."""
        nbytes = 8.0 * self.size * (2 + len(self.grid_model.space.components))
        check_room(f"{self.grid_model.model.name}: a list of {self.size} states", nbytes)
        return self.grid_model.space.codes_of_numbers(self._numbers)

    @cached_property
    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """The only closed class that the start leads to: a list with the sorted indices of its states."""
        if self._grid_states.recurrent == self.size:
            return [np.arange(self.size)]
        parts, begin = [], 0
        for _, indices in self._grid_states.blocks(REACHED):
            marked = (self._grid_states.marks[indices] & RECURRENT) > 0
            parts.append(begin + np.flatnonzero(marked))
            begin += len(indices)
        return [np.concatenate(parts)]

    @cached_property
    def transient_states(self) -> NDArray[np.int64]:
        """Indices of the states that the chain leaves for good."""
        if self._grid_states.recurrent == self.size:
            return np.zeros(0, dtype=np.int64)
        return super().transient_states

    def number_of(self, state: Any) -> int:
        """Return the number of a state: its index in ``states``, in pi and in Q; KeyError for another state."""
        space = self.grid_model.space
        try:
            codes = space.codes([space.canonical_state(state)])
            number = int(space.numbers(codes)[0])
        except ValueError:
            raise KeyError(state) from None
        refuse_truth_value(state, space.state(codes[:, 0]))
        index = int(np.searchsorted(self._numbers, number))
        if index == self.size or self._numbers[index] != number:
            raise KeyError(state)
        return index

    def state_blocks(self) -> StateBlocks:
        """Return the states in blocks, so that measures over them take little memory."""
        space = self.grid_model.space

        def blocks() -> Iterator[StateTable]:
            for numbers, _ in self._grid_states.blocks():
                if len(numbers):
                    yield StateTable(space, space.codes_of_numbers(numbers))

        return StateBlocks(self.size, blocks, lambda: self.table)
