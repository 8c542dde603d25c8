"""The stationary distribution of a chain in levels, finitely or infinitely many, by level on demand.

For infinitely many levels the error bound is the theorem of infinite chains (`markov.infinite.bounds`). Above the
boundary all levels have the same rows, so that V = a (level + v of the phase) has the same drift in all of them: -a
times the mean drift down if v solves the Poisson equation of the phases. h is computed in the levels up to one of them,
and is V + b above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hopflow.checks import format_value, integer
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver, figure, short_text
from markov.computing.matrices import from_edges
from markov.computing.rounding import U
from markov.elimination.lu import LUFactors, best_order
from markov.infinite.bounds import FiniteSet, Height, distance, max_merged_rates, sides_of
from markov.methods.level_reduction import Reduction, Rows, Segment
from markov.models.measures import measures_of
from markov.models.rules import ChainModel
from markov.models.spaces import NO_END
from markov.models.state_tables import StateTable
from markov.phases.quasi_birth_death import LevelRun, QuasiBirthDeath
from markov.results.answers import Solved

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from markov.models.measures import Measure

    Vector = NDArray[np.float64]

__all__ = ["NO_BOUND", "LevelBound", "StationaryByLevel", "level_bound", "stationary_by_level"]

RESIDUAL_TOLERANCE = 1e-12
MAX_CONVERGED_BOUND = 1e-9  # error bound of a result whose status is CONVERGED
MIN_CHECKED_PROBABILITY = 1e-290  # levels of less probability are neither checked nor drawn

MAX_STATES = 100_000  # of the levels that are listed
MAX_PHASES = 100
MAX_TRANSITIONS = 2_000_000
TAIL_PROBABILITY = 1e-18  # of the first level that is not listed
DRIFT_MARGIN = 4.0 * U  # relative: a sum, a quotient and the number itself are rounded, so the drift stays below -1


def stationary_by_level(chain: QuasiBirthDeath | ChainModel, *, on_failure: OnFailure = "raise") -> StationaryByLevel:
    """Return the stationary distribution of a chain in levels, which computes the probabilities of a level on request.

    Time O(m^3 log L) and memory O(m^2 log L) for L levels of m states with equal rows: cyclic
    reduction, which for infinitely many levels stops when the next levels no longer matter. It also gives sums over
    all levels.

    Parameters
    ----------
    chain
        A `QuasiBirthDeath`, or a model: `QuasiBirthDeath.of` it.
    on_failure
        ``"raise"`` or ``"return"`` a result whose status is not ``ok``. A successful result is CONVERGED, with an error
        bound, for infinitely many levels of at most 100 states whose probabilities fall below 1e-18 within 100,000
        states and two million transitions. Otherwise it is SOLVED: the checked equations are satisfied.

    Raises
    ------
    ValueError
        For a chain with several closed classes.
    NotSolvedError
        Carries the partial result. NOT_FINITE: rates beyond float64, or another closed class that
        never leads to the most likely level.

    Examples
    --------
    >>> from markov import QuasiBirthDeath, stationary_by_level
    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> round(stationary_by_level(queue).mean_level, 12)
    2.333333333333
    """
    watch = Stopwatch()
    if not isinstance(chain, QuasiBirthDeath):
        model: Any = chain
        if not isinstance(model, ChainModel):
            msg = "must be a QuasiBirthDeath, or a model by rules"
            raise ValueError(f"chain = {format_value(chain)}: {msg}")  # noqa: TRY004
        chain = QuasiBirthDeath.of(model)
    segments = [Segment(partial(getattr, run, "rows"), run.length) for run in chain.levels]
    reduction = Reduction(segments)
    residual, checked = _residual(chain, reduction) if reduction.finite else (math.inf, 0)
    bound = NO_BOUND
    if reduction.finite and chain.levels[-1].high is None:
        bound = level_bound(
            chain, _spectral_radius(reduction.rate_matrix()), partial(_level_probabilities, chain, reduction)
        )
    status = Status.SOLVED if residual <= RESIDUAL_TOLERANCE else Status.INACCURATE
    if bound.error <= MAX_CONVERGED_BOUND:
        status = Status.CONVERGED
    result = StationaryByLevel(
        chain=chain,
        reduction=reduction,
        status=status if reduction.finite else Status.NOT_FINITE,
        residual=residual,
        checked=checked,
        error_bound=bound.error,
        proved_level=bound.highest,
        seconds=watch.seconds(),
        memory=reduction.memory,
    )
    return deliver(result, on_failure)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StationaryByLevel(Solved):
    """Stationary distribution of a chain in levels; computes the probabilities of any level on request.

    A finite ``error_bound`` proves that there is exactly one stationary distribution, and bounds the distance to it.
    Otherwise the balance equations of ``checked`` levels are verified one by one, and the equations of all levels in
    their sums over every run. No step of the method subtracts.

    Attributes
    ----------
    chain
        The `QuasiBirthDeath` that was solved.
    reduction
        Gives pi of any level.
    residual
        The largest ||(pi Q)_k||_1 / ||(pi |Q|)_k||_1 of the checked levels k and of the sums over runs of levels.
    checked
        Number of checked levels: the ends of every run, and levels at powers of two from them.
    error_bound
        Rigorous bound on the error of the probability of any set of states, with levels above ``proved_level`` taken
        as zero; inf if none was computed.
    proved_level
        Highest level with a bound; 0 without one.

    Examples
    --------
    >>> from markov import QuasiBirthDeath, stationary_by_level
    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> answer = stationary_by_level(queue)
    >>> print(answer.status.label, answer.error_bound < 1e-15)
    converged True
    """

    chain: QuasiBirthDeath
    reduction: Reduction
    checked: int
    error_bound: float = math.inf
    proved_level: int = 0

    def level(self, k: int) -> NDArray[np.float64]:
        """Return pi of the states of level k, shape (m,); in O(m^2 log L) time.

        Parameters
        ----------
        k
            The level, as the component's value where the chain came from a model.
        """
        return _level_probabilities(self.chain, self.reduction, [k])[0]

    def marginal(self, levels: ArrayLike) -> NDArray[np.float64]:
        """Return the total probability of each of ``levels``, shape (len(levels),); ValueError for other levels."""
        return np.array(
            [part.sum() for part in _level_probabilities(self.chain, self.reduction, np.atleast_1d(levels))]
        )

    @cached_property
    def mean_level(self) -> float:
        """Mean of the level in the long run."""
        return float(sum(run.low * mass.sum() + moment.sum() for run, mass, moment in self._run_sums()))

    def _run_sums(self) -> list[tuple[LevelRun, Vector, Vector]]:
        """Return each run of levels with its sums of pi and of pi times the level's offset, shape (m,) each."""
        return [(run, *self.reduction.sums(s)) for s, run in enumerate(self.chain.levels)]

    @cached_property
    def rate_matrix(self) -> NDArray[np.float64]:
        """R of infinitely many levels, shape (m, m): pi(k + 1) = pi(k) R above the boundary.

        R(x, y) is the mean time in state y of the next level per unit of time in x, before the return.
        """
        if self.chain.levels[-1].high is not None:
            raise AttributeError(f"{self.chain!r}: a finite number of levels has no rate matrix")
        return self.reduction.rate_matrix()

    @cached_property
    def decay_rate(self) -> float:
        """Spectral radius of R: the ratio of pi of neighbouring levels for large levels."""
        return _spectral_radius(self.rate_matrix)

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        """Long-run values of the model's measures by name, computed from the sums over runs of levels.

        A measure may depend on the level of a run in a linear way only. So the levels of a run are
        replaced by two levels with the same probability and the same mean by state. Measures by two such pairs, the
        ends of the run and the neighbours of the mean, must agree.
        """
        model, component = self.chain.model, self.chain.component
        if model is None or component is None:
            return {}
        far, near = (self._measures_by_two_levels(model, component, spread) for spread in (True, False))
        for name, (_, value, _) in far.items():
            if not np.allclose(value, near[name][1], rtol=1e-9, atol=0.0, equal_nan=True):
                msg = "is not linear in the level where the transitions repeat: use pi by level"
                raise ValueError(f"measure {name} of {model!r} {msg}")
        return far

    def _measures_by_two_levels(self, model: ChainModel, component: str, spread: bool) -> dict[str, Measure]:
        """Return the measures with each run replaced by two levels of the same mean, far apart or near."""
        weights, levels = [], []
        for run, mass, moment in self._run_sums():
            mean = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)
            last = 2 * math.ceil(mean.max()) + 2 if run.high is None else run.high - run.low
            mean = np.clip(mean, 0, last)
            low = np.zeros_like(mean) if spread else np.minimum(np.floor(mean), max(last - 1, 0))
            high = np.full_like(mean, last) if spread else np.minimum(low + 1, last)
            upper = mass * np.divide(mean - low, high - low, out=np.zeros_like(mass), where=high > low)
            weights += [mass - upper, upper]
            levels += [run.low + low, run.low + high]
        space, codes = self.chain.space, np.tile(self.chain.codes, len(levels))
        codes[space.names.index(component)] = np.concatenate(levels).astype(np.int64)
        return measures_of(model, np.concatenate(weights), StateTable(space, codes))

    def to_xarray(self) -> Any:
        """Return the probabilities of the levels that `plot` draws, and the measures, as a data set."""
        levels = self._levels_to_draw()
        pi = ("level", self.marginal(levels), {"units": "1"})
        return self._measures_beside({"level", "probability"}).assign_coords(level=levels).assign(probability=pi)

    def _levels_to_draw(self) -> NDArray[np.int64]:
        """Return a few hundred levels for a plot, shape (levels,), dense near the first and last level of a run."""
        parts = []
        for run in self.chain.levels:
            last = (NO_END if run.high is None else run.high) - run.low
            steps = np.unique(np.geomspace(1, max(last, 1), 120).astype(np.int64))
            offsets = np.concatenate([[0], steps, last - steps, np.arange(11) * (last // 10)])
            parts.append(run.low + offsets[(offsets >= 0) & (offsets <= last)])
        levels = np.unique(np.concatenate(parts))
        if self.chain.levels[-1].high is None:
            levels = levels[: 1 + int(np.flatnonzero(self.marginal(levels) > MIN_CHECKED_PROBABILITY).max())]
        return levels

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities of the levels down to 1e-20 of the largest, and return the Axes."""
        if ax is None:
            _, ax = figure()
        levels = self._levels_to_draw()
        probability = self.marginal(levels)
        visible = probability > 1e-20 * probability.max()
        ax.semilogy(levels[visible], probability[visible], ".-")
        ax.ticklabel_format(axis="x", useOffset=False)
        title = repr(self.chain.model or self.chain)
        ax.set(xlabel=self.chain.component or "level", ylabel="probability", title=title)
        return ax

    def _about(self) -> dict[str, object]:
        """Return rows of `summary` about the chain: states, mean level, decay rate."""
        infinite = self.chain.levels[-1].high is None
        return {
            "chain": short_text(self.chain),
            "states": f"{self.chain.size:.4g}",
            "mean level": f"{self.mean_level:.6g}",
            **({"decay rate": f"{self.decay_rate:.6g}"} if infinite else {}),
        }

    def _proof(self) -> dict[str, object]:
        """Return rows of `summary` about what is checked and proved: residual and error bound."""
        scope = f"{self.checked} levels and the sums over all of them"
        rows: dict[str, object] = {"residual": f"{self.residual:.1e}, {scope}"}
        if math.isfinite(self.error_bound):
            rows["error bound (TV)"] = f"{self.error_bound:.1e}, levels up to {self.proved_level}"
        return rows


def _level_probabilities(
    chain: QuasiBirthDeath, reduction: Reduction, levels: Sequence[int] | NDArray[Any]
) -> list[Vector]:
    """Return pi of the states of each of ``levels``, a list of arrays of shape (m,); ValueError for other levels."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    ks = [integer("level", k, lowest, NO_END if highest is None else highest) for k in levels]
    numbers = np.array(ks, dtype=np.int64)
    parts: list[Vector] = [np.zeros(0)] * len(ks)
    for segment, run in enumerate(chain.levels):
        in_run = (numbers >= run.low) & (True if run.high is None else numbers <= run.high)
        positions = np.flatnonzero(in_run)
        for position, part in zip(positions, reduction.values(segment, numbers[positions] - run.low), strict=True):
            parts[position] = part
    return parts


def _spectral_radius(R: Vector) -> float:
    """Return the largest absolute eigenvalue of R."""
    return float(np.abs(np.linalg.eigvals(R)).max())


def _residual(chain: QuasiBirthDeath, reduction: Reduction) -> tuple[float, int]:
    """Return the largest relative residual of checked levels and of sums over runs, and the number of levels."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    checks: set[int] = set()
    for run in chain.levels:
        last = NO_END // 2 if run.length is None else run.length - 1
        powers = [0, *(1 << s for s in range(last.bit_length()))]
        offsets = {*powers, *(p + 1 for p in powers), *(last - p for p in powers)}
        checks |= {run.low + offset for offset in offsets if 0 <= offset <= last}
    around = sorted({k + side for k in checks for side in (-1, 0, 1)})
    around = [k for k in around if k >= lowest and (highest is None or k <= highest)]
    pi = dict(zip(around, _level_probabilities(chain, reduction, around), strict=True))
    checked = [k for k in checks if pi[k].sum() >= MIN_CHECKED_PROBABILITY]
    residuals = []
    for k in checked:
        into, out = pi[k] @ chain.rows(k).local, _exit_rates(chain.rows(k), k > lowest, k != highest)
        if k > lowest:
            into = into + pi[k - 1] @ chain.rows(k - 1).up
        if k != highest:
            into = into + pi[k + 1] @ chain.rows(k + 1).down
        residuals.append(_relative_residual(into, pi[k] * out))
    for segment, run in enumerate(chain.levels):
        if run.length == 1:
            continue
        (mass, _), first = reduction.sums(segment), pi[run.low]
        highest_pi = pi[run.high] if run.high is not None else np.zeros_like(first)
        into = mass @ run.rows.local
        into = into + (mass - highest_pi) @ run.rows.up + (mass - first) @ run.rows.down
        if run.low > lowest:
            into = into + pi[run.low - 1] @ chain.rows(run.low - 1).up
        above = run.high is None or run.high != highest
        if run.high is not None and above:
            into = into + pi[run.high + 1] @ chain.rows(run.high + 1).down
        residuals.append(_relative_residual(into, mass * _exit_rates(run.rows, run.low > lowest, above)))
    return max(residuals, default=0.0), len(checked)


def _exit_rates(rows: Rows, below: bool, above: bool) -> Vector:
    """Return the exit rate of each state of a level, shape (m,), with or without levels below and above it."""
    return np.asarray(
        rows.local.sum(axis=1) + (rows.down.sum(axis=1) if below else 0.0) + (rows.up.sum(axis=1) if above else 0.0)
    )


def _relative_residual(into: Vector, out: Vector) -> float:
    """Return the sum of |into - out| over the sum of into + out; 0 if that is 0."""
    size = float((into + out).sum())
    return float(np.abs(into - out).sum()) / size if size > 0 else 0.0


class LevelBound(NamedTuple):
    """Proved bound on the error of the probability of any set of states, with all levels above ``highest`` at zero.

    Attributes
    ----------
    error
        The bound, absolute; inf if nothing is proved.
    highest
        The highest level whose probabilities are not replaced by zero.
    """

    error: float
    highest: int


NO_BOUND = LevelBound(math.inf, 0)


def level_bound(chain: QuasiBirthDeath, decay_rate: float, values: Callable[[range], list[Vector]]) -> LevelBound:
    """Return a proved error bound of pi of a chain with infinitely many levels, or `NO_BOUND`.

    `NO_BOUND` if it would take too many states, or if nothing is proved.

    Parameters
    ----------
    chain
        The levels.
    decay_rate
        The ratio of the probabilities of neighbouring levels far up.
    values
        Returns the probabilities of a range of levels, arrays of shape (m,).
    """
    # 1. The levels from which on probabilities are below TAIL_PROBABILITY are not listed.
    run = chain.levels[-1]
    phases = len(run.rows.local)
    if phases > MAX_PHASES or not 0.0 <= decay_rate < 1.0:
        return NO_BOUND
    n_levels = math.ceil(math.log(TAIL_PROBABILITY) / math.log(decay_rate)) if decay_rate > TAIL_PROBABILITY else 1
    highest = run.low + n_levels
    boundary_states = sum((r.length or 0) * len(r.rows.local) for r in chain.levels)
    transitions = n_levels * sum(np.count_nonzero(block) for block in run.rows)
    if boundary_states + n_levels * phases > MAX_STATES or transitions > MAX_TRANSITIONS:
        return NO_BOUND
    # 2. V = a (level + v), with a drift below -1 above the boundary.
    drift = _linear_lyapunov(run.rows)
    if drift is None:
        return NO_BOUND
    a, v = drift
    # 3. The listed levels as a finite set of states, and h by sparse LU in it.
    lowest = chain.levels[0].low
    pi = np.concatenate(values(range(lowest, highest + 1)))
    anchor = int(np.argmax(pi))
    states = _finite_set(chain, highest, anchor)
    levels_by_state = []
    for r in chain.levels:
        levels = np.arange(r.low, 1.0 + (highest if r.high is None else r.high))
        levels_by_state.append(np.repeat(levels, len(r.rows.local)))
    inside = a * (np.concatenate(levels_by_state) - lowest)
    inside[-phases * (n_levels + 1) :] += a * np.tile(v, n_levels + 1)  # below the run the theorem takes any value
    top = a * (highest + 1 - lowest + float(v.max()))
    height = Height(inside, top, 0.0, np.ones(len(pi)))
    try:
        solver = LUFactors(states.Q, anchor, best_order(states.Q))
    except (RuntimeError, MemoryError):  # singular to rounding, or too large
        return NO_BOUND
    error = distance(sides_of(states, pi, solver, height), pi)
    return LevelBound(error, highest) if math.isfinite(error) else NO_BOUND


def _linear_lyapunov(rows: Rows) -> tuple[float, Vector] | None:
    """Return a and v >= 0, shape (m,), such that a (level + v) drifts down by more than 1/s in all phases.

    None if the v that the equations give is not proved to have such a drift.
    """
    down, local, up = rows
    rates = down + local + up
    rise = up.sum(axis=1) - down.sum(axis=1)
    m = len(rise)
    A = rates - np.diag(rates.sum(axis=1))
    equations = np.block([[A, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    solution, *_ = np.linalg.lstsq(equations, np.append(-rise, 0.0), rcond=None)
    v = solution[:m] - solution[:m].min()
    change = v[None, :] - v[:, None]
    terms = [down * (change - 1.0), local * change, up * (change + 1.0)]
    sizes = (down + up) * (np.abs(change) + 1.0) + local * np.abs(change)
    rounding = (m + 8) * U * sizes.sum(axis=1)
    worst = float((sum(terms).sum(axis=1) + rounding).max())
    if not worst < 0.0:
        return None
    return (1.0 + DRIFT_MARGIN) / -worst, v


def _finite_set(chain: QuasiBirthDeath, highest: int, anchor: int) -> FiniteSet:
    """Return the levels up to ``highest`` as a finite set; transitions out of it lead to the state ``anchor``."""
    first, edges = 0, []
    for run in chain.levels:
        rows, size = run.rows, len(run.rows.local)
        count = (highest if run.high is None else run.high) - run.low + 1
        starts = first + size * np.arange(count)
        for target_starts, block in (
            (starts - rows.down.shape[1], rows.down),
            (starts, rows.local),
            (starts + size, rows.up),
        ):
            row, column = np.nonzero(block)
            sources, targets = np.add.outer(starts, row), np.add.outer(target_starts, column)
            edges.append((sources, targets, np.broadcast_to(block[row, column], sources.shape)))
        first += size * count
    sources, targets, rates = (np.concatenate([part.ravel() for part in parts]) for parts in zip(*edges, strict=True))
    out = targets >= first
    leaving = np.bincount(sources[out], rates[out], first).astype(np.float64)
    targets[out] = anchor
    merged = max_merged_rates(sources, targets == anchor, out)
    return FiniteSet(from_edges(sources, targets, rates, first), leaving, anchor, merged)
