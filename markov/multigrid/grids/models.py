"""From a model to its chain on a grid, compared with the rules in plain Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hopflow.checks import count_of
from hopflow.errors import RuleError, location_of
from hopflow.fork_safety import cached_property
from markov.computing.memory import available, check_room
from markov.generators.agreement import by_source, difference
from markov.generators.calls import Calls
from markov.generators.edges import edges_by_python
from markov.generators.regions import find_regions
from markov.models.spaces import Space
from markov.multigrid.grids.boxes import Unsuitable
from markov.multigrid.grids.coarsening import coarsen, factors_along
from markov.multigrid.grids.layouts import lay_out
from markov.multigrid.grids.methods import is_numbered
from markov.multigrid.grids.moves import products
from markov.multigrid.grids.places import GridStates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel

__all__ = ["GridModel"]

SAMPLE = 120  # states in which the transitions are compared with plain Python
REGIONS = (
    5_000,
    20_000,
)  # maximum number of boxes with identical rules: of a small space, and of any (60 microseconds each)
MIN_STATES_PER_REGION = 20
LIMIT = 2**31  # states of a space
SOLUTION_BYTES = 9.0  # per state: x, and marks
COPY_BYTES = 8.0  # pi, where its states have another order than those of the grid
PROOF_BYTES = 5.0  # hitting times, and levels of costs
SOLVED_BYTES = 16.0  # per coarse state: factors, and flows out
ABOUT_BYTES = 19.0  # per state, all of it, for a pause tandem with its bound
BOUND_BYTES = 16.0  # hitting times, right-hand sides, and flows out


class GridModel:
    """A model whose rules are alike on few boxes of its space, as a chain on a grid.

    Attributes
    ----------
    layout
        The grid and its transitions.
    states
        Which states count, and where they are.
    how
        How the rates were found, in words.

    Parameters
    ----------
    model
        On a space of whole numbers.
    states_per_region
        The minimum mean number of states in a box with identical rules.

    Raises
    ------
    Unsuitable
        Saying why its transitions cannot be laid out on a grid.
    TooLargeError
        Before arrays are allocated that would not fit into memory.
    """

    def __init__(self, model: ChainModel, states_per_region: int = MIN_STATES_PER_REGION) -> None:
        if not is_numbered(model):
            raise Unsuitable("it declares no space() of whole numbers")
        self.model = model
        self.space = Space.of(model.State, model.space(), model.name)
        if self.space.size > LIMIT:
            raise ValueError(_beyond(model.name, self.space.size))
        calls = Calls(model, self.space)
        start = self._start(calls)
        minimum, maximum = REGIONS if states_per_region == MIN_STATES_PER_REGION else (0, REGIONS[1])
        allowed = min(max(self.space.size // states_per_region, minimum), maximum)
        regions = find_regions(calls, self.space, allowed, counts=True)
        if regions is None:
            msg = (
                f"its rules are not alike on few boxes of the space, {allowed} at most (a condition on a sum or "
                "difference of components, a rate that depends on two of them or on a power of one, or many thresholds?)"
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
        self._compare(calls)

    def _start(self, calls: Calls) -> NDArray[np.int64] | None:
        start = self.model.start()
        if start is None:
            return None
        try:
            canonical = calls.known(start)
        except (TypeError, ValueError) as error:
            message = f"{self.model.name}: start = {start!r}: {error}"
            raise RuleError.at(location_of(self.model.start), message) from None
        codes: NDArray[np.int64] = self.space.codes([canonical])[:, 0]
        return codes

    def check_room(self, *, proof: bool) -> None:
        """Raise TooLargeError unless a solution, with a bound on its error or not, fits into memory."""
        grid = self.layout.into[0]
        needed, alone = self.predicted_bytes(proof=proof), self.predicted_bytes(proof=False)
        hint = f" with a bound on the error (without, proof=False, {alone:.3g})" if proof else ""
        fits = f" ({available() / needed * grid.size:.2g} would fit)"
        check_room(f"{self.model.name} on a grid of {grid.size} states{fits}{hint}", needed)

    def predicted_bytes(self, *, proof: bool) -> float:
        """Return the bytes that a solution takes: the most that its steps hold, one after the other."""
        grid, (size, flows) = self.layout.into[0], self._coarse
        axes = [n > 1 for n in grid.shape]
        below, wide = (math.prod(factors_along(axes, wide=is_wide)) for is_wide in (False, True))
        levels = 8.0 * flows + SOLVED_BYTES * size  # of the first coarse level
        levels *= 1.0 + below / (below - 1.0) / wide  # the second one is as much smaller
        nbytes = [SOLUTION_BYTES * grid.size + levels, (SOLUTION_BYTES + COPY_BYTES) * grid.size]
        if proof:
            levels = (4.0 * flows + BOUND_BYTES * size) * wide / (wide - 1.0)
            nbytes.append((SOLUTION_BYTES + PROOF_BYTES) * grid.size + levels)
        return max(nbytes)

    @cached_property
    def _coarse(self) -> tuple[int, int]:
        """States and flows of the first coarse level."""
        grid = self.layout.into[0]
        coarse, _ = coarsen(grid, factors_along([n > 1 for n in grid.shape], wide=True))
        return coarse.size, int(coarse.value_begin[-1])

    def _compare(self, calls: Calls) -> None:
        """Compare the transitions out of some states with what plain Python gives."""
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
        row, entry = products(grid.begin[slots][:, None], grid.begin[slots + 1][:, None], (1,))
        targets = self.space.numbers(self.states.codes_at(sample[row] + grid.step[entry]))
        values = rates.rate[entry]
        if rates.counts is not None:
            cells = self.states.cells_at(sample).T.tolist()
            values = np.concatenate([rates.at(cell)[0][entry[row == n]] for n, cell in enumerate(cells)])
        edges = numbers[row], targets, values
        grid_edges = by_source(edges, numbers)
        expected = by_source(edges_by_python(calls, self.space, numbers), numbers)
        for number in numbers.tolist():
            if (mismatch := difference(grid_edges[number], expected[number])) is not None:
                state = self.space.state(self.space.unnumbered(np.array([number]))[:, 0])
                raise Unsuitable(f"{state}: {mismatch}")

    def _refuse_undecided(self, calls: Calls) -> None:
        """Refuse a model that enters a state whose transitions only plain Python can find."""
        for numbers, _ in self.states.blocks():
            codes = self.space.unnumbered(numbers)
            for region in self._undecided:
                low, high = np.array(region.low)[:, None], np.array(region.high)[:, None]
                inside = ((codes >= low) & (codes <= high)).all(axis=0)
                if inside.any():
                    state = self.space.state(codes[:, int(np.argmax(inside))])
                    calls.transitions(calls.known(state))
                    raise Unsuitable(f"{state}: only plain Python can say what its transitions are")


def _beyond(name: str, size: int) -> str:
    """Return why a space is too large, and what size would do: all other methods take more memory."""
    free = available()
    return (
        f"{name}: its space has {size} states, and MatrixFree() takes at most {LIMIT}; at {ABOUT_BYTES:g} "
        f"bytes for each that the chain comes back to ({ABOUT_BYTES * size:.2g} for all of them) "
        f"{min(free / ABOUT_BYTES, LIMIT):.2g} fit into the {free:.2g} bytes that are free here, and fewer "
        f"by any other method: make the ranges of space() smaller"
    )
