"""pi Q = 0 by multigrid on the grid of cells of a model, without a matrix.

The algorithm is that of `markov.methods.multilevel`: a forward sweep, a correction by the flows between
aggregates, and a backward sweep, on every level. It differs in these points:

1. The finest level takes its rates from the kinds of cells that follow from the rules. Coarse levels store only the
   flows between cells. Below 1,500 states `_CoarsestLevel` continues with a sparse matrix.
2. Two levels join three cells along each of two axes. If these do not converge, levels with two cells are set up.
3. Slow iterates are combined with the last two.
4. A source of 1e-280 in every state keeps tails from underflow; before a bound, cycles continue until tails balance.
5. Iterates of long solutions are written to a checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from hopflow.whole_files import replacing
from markov.computing.resources import available, report_residual
from markov.multigrid.cycle import (
    COARSEST_LEVEL_STATES,
    GROWTH_FACTOR,
    MIN_ENTRY_SHARE,
    UNDERFLOW_GUARD,
    StoppingRule,
    best_shares,
    cycle_on_grid,
    visits,
)
from markov.multigrid.grid import Unsuitable, coarsen, factors_along
from markov.multigrid.hierarchy import Hierarchy, build_hierarchy
from markov.multigrid.kernels import state_kernels, vector_kernels
from markov.multigrid.levels import ALONE, MIN_UNROLLED_STATES, Coarse, Finest, Team
from markov.multigrid.matrix_free import stopping_rule_of
from markov.multigrid.model import RECURRENT, GridChain, GridModel, SeveralClassesError
from markov.multigrid.proofs import GridBound, bound_on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.models.rules import ChainModel
    from markov.multigrid.grid import Layout
    from markov.multigrid.matrix_free import MatrixFree


__all__ = [
    "NO_CHECKPOINT",
    "Checkpoint",
    "GridSolution",
    "Multigrid",
    "NoCheckpoint",
    "checkpoint_of",
    "grid_model",
    "solve_on_grid",
]

MAGIC = "hopflow MatrixFree checkpoint 1"
SECONDS_BETWEEN_FILES = 120.0  # s between two files


class NoCheckpoint:
    """Checkpoint without a file: solutions start from the beginning and are not stored.

    Attributes
    ----------
    cycles
        Number of completed cycles.
    """

    cycles = 0

    def load(self, x: NDArray[np.float64]) -> None:
        """Read the stored iterate into x, if there is one."""

    def on_cycle(self, cycles: int, x: NDArray[np.float64]) -> None:
        """Set the number of completed cycles, and save x if the last file is old."""

    def save(self, x: NDArray[np.float64]) -> None:
        """Write x to the file."""

    def delete(self) -> None:
        """Delete the file, if there is one."""


NO_CHECKPOINT = NoCheckpoint()


class Checkpoint(NoCheckpoint):
    """A file with the iterate x of a solution, a hash of its chain, and the number of completed cycles.

    A new file is written beside the old one and then replaces it: at every moment there is a complete
    file. A line of JSON comes first, then x as float64 in the byte order of the machine.

    Parameters
    ----------
    path
        Path of the file, in an existing folder.
    grid
        The chain.

    Raises
    ------
    ValueError
        If there is no such folder, too little free space on its disk, or a file that is not a checkpoint,
        truncated, or of another chain.
    """

    def __init__(self, path: str | os.PathLike[str], grid: GridModel) -> None:
        self.path, self.name = Path(path), grid.model.name
        self.size = grid.layout.into[0].size
        self.key = _hash_of_chain(grid)
        self.cycles = 0
        self._next = time.monotonic() + SECONDS_BETWEEN_FILES
        folder = self.path.absolute().parent
        if not folder.is_dir():
            raise self._error("there is no such folder")
        if self.path.exists():
            self.cycles = self._header()["cycles"]
        elif (free := shutil.disk_usage(folder).free) < 8 * self.size:
            raise self._error(f"{8 * self.size:.3g} bytes are needed, {free:.3g} are free")

    def load(self, x: NDArray[np.float64]) -> None:
        """Read the file into x, if there is one; ValueError unless its numbers are probabilities."""
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.readline()
            file.readinto(x.view(np.uint8).data)
        if not (np.isfinite(x.sum()) and x.min() >= 0.0):
            raise self._error("its numbers are not probabilities")

    def on_cycle(self, cycles: int, x: NDArray[np.float64]) -> None:
        """Set the number of completed cycles, and write x to the file if the last file is old."""
        self.cycles = cycles
        if time.monotonic() >= self._next:
            self.save(x)

    def save(self, x: NDArray[np.float64]) -> None:
        """Write x to the file, with the hash of the chain and the number of completed cycles."""
        header = {"magic": MAGIC, "chain": self.name, "key": self.key, "size": self.size}
        with replacing(self.path) as scratch, scratch.open("wb") as file:
            file.write(json.dumps({**header, "cycles": self.cycles}).encode() + b"\n")
            file.write(x.view(np.uint8).data)
        self._next = time.monotonic() + SECONDS_BETWEEN_FILES

    def delete(self) -> None:
        """Delete the file, if there is one."""
        self.path.unlink(missing_ok=True)

    def _header(self) -> dict[str, Any]:
        """Return the header of the file; ValueError unless the file is complete and of this chain."""
        try:
            with self.path.open("rb") as file:
                line = file.readline(10_000)
            header: dict[str, Any] = json.loads(line)
            right = header["magic"] == MAGIC
        except (OSError, ValueError, KeyError, TypeError):
            right = False
        if not right:
            raise self._error("it is not a checkpoint")
        if header["key"] != self.key:
            message = f"it is of another chain ({header['chain']}, other parameters or rules)"
            raise self._error(f"{message}: delete it, or name another file")
        if self.path.stat().st_size != len(line) + 8 * self.size:
            raise self._error("it is not whole")
        return header

    def _error(self, why: str) -> ValueError:
        """Return a ValueError with the path of the checkpoint and a reason."""
        return ValueError(f"checkpoint = {str(self.path)!r}: {why}")


def checkpoint_of(path: str | os.PathLike[str] | None, grid: GridModel) -> NoCheckpoint:
    """Return the checkpoint file of a chain at a path, or `NO_CHECKPOINT` without a path."""
    return NO_CHECKPOINT if path is None else Checkpoint(path, grid)


def _hash_of_chain(grid: GridModel) -> str:
    """Return a hash of all arrays of a chain on a grid, in hexadecimal digits."""
    layout = grid.layout
    digest = hashlib.sha256(repr((layout.axes, layout.inner, layout.low)).encode())
    for side, rates in (layout.into, layout.out):
        digest.update(repr((side.shape, side.width)).encode())
        arrays: list[Any] = [side.begin, side.steps, side.others, side.rows, side.row_kind]
        arrays += [rates.rate, rates.exit_rate]
        if rates.counts is not None:
            arrays += [rates.counts.curves, *rates.counts.rates, *rates.counts.exits]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
    for array in (layout.combinations, layout.shift):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


FIRST_SWEEPS = 3
WIDE_LEVELS = 2  # coarse levels with three cells to one along each of two axes; others have two
FINE_SWEEPS = 2  # of the finest level, before and after a correction
COMBINE_FACTOR = 0.6  # iterates are combined if the residual falls by less per cycle
MAX_PAUSE = 4  # cycles between two residuals: slow convergence is detected by the tenth cycle
MAX_TAIL_IMBALANCE = 2.0  # inflow / outflow in tails that serve a bound
MAX_TAIL_PAIRS = 8  # pairs of cycles until tails have settled
MAX_STAGNANT_PAIRS, STAGNANT_IMBALANCE = 2, 1e3  # tails above this imbalance that stagnate are given up
MAX_FLOW_RATIO = 1e3  # flow of the likeliest state over that of the state that supplies all sources
WIDE_STAGNANT_CYCLES = 10  # after which levels with two cells to one are set up
NARROW_BYTES = 24.0  # per state, of levels with two cells to one


class Multigrid:
    """Multigrid for pi of a chain on a grid: its levels, and ``x``, the probabilities up to a factor."""

    def __init__(self, layout: Layout, x: NDArray[np.float64], team: Team = ALONE) -> None:
        grid, rates = layout.into
        unroll = grid.size >= MIN_UNROLLED_STATES
        self.finest = Finest(grid, rates, layout.combinations >= 0, x, unroll=unroll, team=team)
        self.x = x
        self.history: list[NDArray[np.float64]] = []
        self._set_up(WIDE_LEVELS)

    def _set_up(self, wide: int) -> None:
        """Set up the coarse levels; the first ``wide`` of them join three cells along each of two axes."""
        self.wide = wide
        for _ in range(FIRST_SWEEPS):
            self.finest.forward()
        self.levels: list[Coarse] = []
        level: Finest | Coarse = self.finest
        while level.grid.size > COARSEST_LEVEL_STATES:
            factors = factors_along(level.strong_axes(), wide=len(self.levels) < wide)
            grid, aggregation = coarsen(level.grid, factors)
            level = Coarse(grid, aggregation, level)
            level.restrict()
            self.levels.append(level)
        sizes = [level.grid.size for level in (self.finest, *self.levels)]
        self.coarsest = _CoarsestLevel(level, visits(sizes)[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of the large arrays of all levels."""
        vectors = [self.x, *self.history]
        coarse = sum(level.nbytes for level in self.levels)
        return sum(array.nbytes for array in vectors) + coarse + self.coarsest.hierarchy.nbytes

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        """Number of states and number of transitions of each level, the finest first."""
        levels = [self.finest, *self.levels]
        sizes = [(level.grid.size, int(level.grid.value_begin[-1])) for level in levels]
        return (*sizes, *self.coarsest.hierarchy.sizes[1:])

    def cycle(self) -> None:
        """Improve x by one cycle, in place."""
        sweeps = [FINE_SWEEPS, *(1 for _ in self.levels)]
        cycle_on_grid([self.finest, *self.levels], self.coarsest.solve, sweeps)

    def solve(self, rule: StoppingRule, checkpoint: NoCheckpoint = NO_CHECKPOINT) -> tuple[int, float]:
        """Run cycles until a rule ends them; return the number of all cycles and the relative residual of x.

        Residuals are computed, and iterates combined, as rarely as the rate of convergence allows.
        """
        pause = 1
        while rule.may_continue:
            pause = min(pause, rule.max_cycles - rule.done)
            for n in range(pause):
                self.cycle()
                checkpoint.on_cycle(rule.done + n + 1, self.x)
            size, mass = self.finest.residual()
            ended = rule.record(size, pause)
            report_residual(rule.done, size)
            if ended:
                break
            if self.wide and rule.stagnant > WIDE_STAGNANT_CYCLES and self.narrow():
                rule.restart()
                pause = 1
                continue
            rate = (size / rule.before) ** (1.0 / pause)
            if rate > COMBINE_FACTOR:
                pause = 1
                self.finest.multiply(1.0 / mass)
                self.combine(size)
                continue
            self.history.clear()
            if rule.before < np.inf:
                cycles_left = np.log(rule.tolerance / size) / np.log(rate)
                pause = min(max(int(0.7 * cycles_left), 1), MAX_PAUSE)
        return rule.done, rule.size

    def narrow(self) -> bool:
        """Restart with coarse levels that join two cells along each axis, if memory allows; return whether it did."""
        if available() < NARROW_BYTES * self.x.size:
            return False
        self.history.clear()
        del self.levels, self.coarsest  # before there are others
        self.x[:] = 1.0 / self.x.size
        self._set_up(0)
        return True

    def refine(self, done: int) -> int:
        """Run pairs of cycles while each pair at least halves the residual; return the number of all cycles."""
        size = self.finest.residual()[0]
        while True:
            for _ in range(2):
                self.cycle()
            done += 2
            before, (size, mass) = size, self.finest.residual()
            self.finest.multiply(1.0 / mass)
            report_residual(done, size)
            if not size < 0.5 * before:
                return done

    def cycle_tails(self, done: int, max_cycles: int, marks: NDArray[np.uint8]) -> int:
        """Run cycles until the tails of x balance, at most ``max_cycles`` in all; return the number of all cycles.

        A residual does not depend on states without probability. As weights, such states serve a bound if their inflow
        is at most their outflow. At the source of 1e-280, less than twice the outflow is enough. An imbalance above 1e3
        that two pairs of cycles do not halve is that of tails at the floor of float64: they never settle.
        """
        minimum, stagnant_pairs = np.inf, 0
        for _ in range(MAX_TAIL_PAIRS):
            imbalance = self.finest.imbalance(RECURRENT, marks)
            stagnant_pairs = stagnant_pairs + 1 if imbalance > max(STAGNANT_IMBALANCE, 0.5 * minimum) else 0
            minimum = min(minimum, imbalance)
            if done + 2 > max_cycles or imbalance < MAX_TAIL_IMBALANCE or stagnant_pairs == MAX_STAGNANT_PAIRS:
                break
            for _ in range(2):
                self.cycle()
            done += 2
            size, mass = self.finest.residual()
            self.finest.multiply(1.0 / mass)
            report_residual(done, size)
        return done

    def combine(self, residual: float) -> None:
        """Replace x by its combination with two former iterates that has the smallest residual."""
        if len(self.history) < 2:
            if available() < 2.0 * self.x.nbytes:
                return  # no combination without memory for it
            self.history.append(self.x.copy())
            return
        newer, older = self.history
        level, products = self.finest, self.finest.compare(newer, older)
        g11, g12, g22, b1, b2 = products
        shares = np.zeros(2)
        if np.all(np.isfinite(products)) and g11 > 0.0 and g22 > 0.0:
            shares = best_shares(np.array([[g11, g12, b1], [g12, g22, b2]]))
        a, b = shares.tolist()
        taken = vector_kernels.Shares(a, b, MIN_ENTRY_SHARE)
        level.on_states(vector_kernels.blend, taken, self.x, newer, older)()
        after, mass = level.residual()
        if after < GROWTH_FACTOR * residual:
            level.multiply(1.0 / mass)
        else:
            self.x[:] = older
        self.history = [older, newer]


class _CoarsestLevel:
    """The coarsest grid as a chain with a sparse matrix, solved by cycles on its aggregates.

    The source of its states is taken out of a likely state, so that flows balance.

    Parameters
    ----------
    level
        The coarsest grid.
    cycles
        Number of cycles that solve it.
    """

    def __init__(self, level: Finest | Coarse, cycles: int) -> None:
        self.level, self._cycles = level, cycles
        self._pattern = level.pattern()
        if isinstance(level, Coarse):
            self._values, self._scale = level.values, level.scale
        else:
            self._values, scale = level.state_rates(level.rates)
            self._scale = np.where(scale > 0.0, scale, 1.0)
        self._sources = level.by_state(level.sources)
        x = np.maximum(level.x, UNDERFLOW_GUARD)
        self._begun = (
            self._values.copy(),
            x,
            1.0 / self._scale,
        )  # for later layouts with the same aggregates
        self._set_up()

    def _set_up(self) -> None:
        """Set up the aggregates of this level, with the source taken out of the state that is likeliest now."""
        grid, (indptr, indices) = self.level.grid, self._pattern
        self._likely, first = int(np.argmin(self._scale)), indptr[:-1]
        self._sources_there = first + np.arange(grid.size)  # before what a state gets from others
        flows, x, mass = self._begun
        values = np.insert(flows, first, self._sources)
        self._values_there = np.delete(np.arange(len(values)), self._sources_there)
        values[self._sources_there[self._likely]] = 0.0
        index = np.insert(indices, first, self._likely), indptr + np.arange(len(indptr))
        matrix = sp.csr_matrix((values, *index), shape=(grid.size, grid.size))
        coordinates = np.indices((*grid.shape, grid.width)).reshape(len(grid.shape) + 1, -1)
        components = {str(n): coordinate for n, coordinate in enumerate(coordinates)}
        self.hierarchy: Hierarchy = build_hierarchy(matrix, x, mass, components)
        self._run = self.hierarchy.make_cycle(1)

    def solve(self) -> None:
        """Improve the level's x by cycles on its aggregates, in place."""
        if self._scale[self._likely] > MAX_FLOW_RATIO * self._scale.min():
            self._set_up()
        level, levels, n = self.level, self.hierarchy, self.level.grid.size
        levels.values[self._values_there] = self._values
        levels.values[self._sources_there] = self._sources
        levels.values[self._sources_there[self._likely]] = 0.0
        levels.x[:n], levels.scale[:n] = level.x, self._scale
        for _ in range(self._cycles):
            self._run()
        level.x[:] = levels.x[:n]


MIN_REACHED_SHARE = 0.5  # of the states of a grid; otherwise a search from the start is better
STATES_PER_REGION = 200  # minimum mean: finding more regions could cost a quarter of a solution with a matrix


class GridSolution(NamedTuple):
    """Result of `solve_on_grid`: chain, pi, residual, number of cycles, memory and error bound.

    Attributes
    ----------
    chain
        States, and a matrix if requested.
    pi
        Shape (states,), summing to one.
    residual
        Relative, in the norm of `Stationary`.
    iterations, memory, levels
        Cycles, bytes of all arrays, and states and transitions of each level.
    error_bound
        On the distance in total variation; inf without proof.
    """

    chain: GridChain
    pi: NDArray[np.float64]
    residual: float
    iterations: int
    memory: int
    levels: tuple[tuple[int, int], ...]
    error_bound: float


def grid_model(model: ChainModel, requested: bool) -> GridModel | None:
    """Return a model laid out as a grid; None if ``requested`` is False and it is impossible or mostly unreached.

    Raises
    ------
    ValueError
        If it is requested and impossible.
    """
    try:
        grid = GridModel(model) if requested else GridModel(model, STATES_PER_REGION)
    except Unsuitable as error:
        if not requested:
            return None
        msg = "MatrixFree() cannot lay its transitions out on a grid; write Multilevel()"
        raise ValueError(f"{model.name}: {msg}: {error}") from None
    except SeveralClassesError:
        if not requested:
            return None  # the driver raises the error
        msg = "the stationary distribution is not unique; use stationary_by_class(model)"
        raise ValueError(f"{model.name}: {msg}") from None
    share = grid.states.size / grid.layout.into[0].size
    return grid if requested or share >= MIN_REACHED_SHARE else None


def solve_on_grid(grid: GridModel, method: MatrixFree, *, proof: bool, tight: bool) -> GridSolution:
    """Return the stationary distribution of a model on its grid, with a bound on its error if requested.

    Parameters
    ----------
    grid
        The model.
    method
        Tolerance and maximum number of cycles.
    proof, tight
        Whether to bound the error; tight first cycles until the residual stagnates.
    """
    grid.check_room(proof=proof)
    with Team(method.threads) as team:
        return _solve(grid, method, team, proof, tight)


def _solve(grid: GridModel, method: MatrixFree, team: Team, proof: bool, tight: bool) -> GridSolution:
    """Return the solution of `solve_on_grid` with a team of threads."""
    states, n = grid.states, grid.layout.into[0].size
    checkpoint = checkpoint_of(method.checkpoint, grid)
    x = np.full(n, 1.0 / n)
    levels = Multigrid(grid.layout, x, team)
    checkpoint.load(x)  # after the levels, which do not depend on a checkpoint
    try:
        with np.errstate(all="ignore"):  # the residual shows values that are not finite
            cycles, residual = levels.solve(stopping_rule_of(method, checkpoint.cycles), checkpoint)
            if tight and residual <= method.tolerance:
                cycles = levels.refine(cycles)
            if proof and residual <= method.tolerance:
                cycles = levels.cycle_tails(cycles, method.max_iterations, states.marks)
    finally:  # at Ctrl-C as well
        checkpoint.save(x)
    levels.finest.on_states(state_kernels.clear_unmarked, RECURRENT, states.marks, x)()
    residual, mass = levels.finest.residual()
    levels.finest.multiply(1.0 / mass)
    sizes, memory = levels.sizes, levels.nbytes
    del levels  # its memory is that of the bound
    bound = GridBound(np.inf, 0.0, 0, 0)
    if proof and residual <= method.tolerance:
        bound = bound_on_grid(grid.layout, states, x, team, exact=tight)
    if residual <= method.tolerance:
        checkpoint.delete()
    pi = states.gather(x)
    copied = 0 if pi is x else pi.nbytes
    memory = states.marks.nbytes + max(memory, x.nbytes + max(bound.memory, copied))
    return GridSolution(GridChain(grid), pi, residual, cycles, memory, sizes, bound.distance)
