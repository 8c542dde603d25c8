"""The stationary distribution of a chain in levels, however many, by level on demand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import format_value, integer
from hopflow.fork_safety import cached_property
from hopflow.kernels.stopwatch import Stopwatch
from hopflow.results import OnFailure, Status, deliver, figure
from markov.methods.block_reduction import Reduction, Rows, Segment
from markov.models.measures import measures_of
from markov.models.rules import NO_END, ChainModel
from markov.models.state_tables import StateTable
from markov.phases.quasi_birth_death.chains import QuasiBirthDeath
from markov.phases.quasi_birth_death.level_bounds import NO_BOUND, level_bound
from markov.phases.quasi_birth_death.level_kinds import Repeating
from markov.results.answers import Solved

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.models.measures import Measure

__all__ = ["StationaryByLevel", "stationary_by_level"]

TOLERANCE = 1e-12
USEFUL = 1e-9  # bound that counts as converged
VISIBLE = 1e-290


def stationary_by_level(chain: QuasiBirthDeath | ChainModel, *, on_failure: OnFailure = "raise") -> StationaryByLevel:
    """Return the stationary distribution of a chain in levels, however many, by level on demand.

    Time O(m^3 log L) and memory O(m^2 log L) for L levels of m states with equal rows: cyclic
    reduction, which stops by itself when there is no end. Sums over all levels come with it.

    Parameters
    ----------
    chain
        A `QuasiBirthDeath`, or a model: `QuasiBirthDeath.of` it.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose status is not ``ok``. A good one is CONVERGED,
        with a bound on the error, for infinitely many levels of at most 100 states whose probabilities fall below 1e-18
        within 100,000 states and two million transitions; otherwise SOLVED: the equations that were looked at are met.

    Raises
    ------
    ValueError
        For a chain with several closed classes.
    NotSolvedError
        Carrying the partial result. Not finite: rates beyond float64, or another closed class that
        never comes to the likeliest level.

    Examples
    --------
    >>> from markov import QuasiBirthDeath, stationary_by_level
    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> round(stationary_by_level(queue).mean_level, 12)
    2.333333333333
    """
    watch = Stopwatch()
    if not isinstance(chain, QuasiBirthDeath):
        given: Any = chain
        if not isinstance(given, ChainModel):
            msg = "must be a QuasiBirthDeath, or a model by rules"
            raise ValueError(f"chain = {format_value(chain)}: {msg}")  # noqa: TRY004
        chain = QuasiBirthDeath.of(chain)
    segments = [Segment(partial(getattr, run, "rows"), run.length) for run in chain.levels]
    reduction = Reduction(segments)
    residual, checked = _residual(chain, reduction) if reduction.finite else (math.inf, 0)
    proved = NO_BOUND
    if reduction.finite and chain.levels[-1].high is None:
        proved = level_bound(chain, _spectral_radius(reduction.rate_matrix()), partial(_at, chain, reduction))
    status = Status.SOLVED if residual <= TOLERANCE else Status.INACCURATE
    if proved.error <= USEFUL:
        status = Status.CONVERGED
    result = StationaryByLevel(
        chain=chain,
        reduction=reduction,
        status=status if reduction.finite else Status.NOT_FINITE,
        residual=residual,
        checked=checked,
        error_bound=proved.error,
        proved_level=proved.highest,
        seconds=watch.seconds(),
        memory=reduction.memory,
    )
    return deliver(result, on_failure)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StationaryByLevel(Solved):
    """The stationary distribution of a chain in levels.

    With a finite ``error_bound`` it is proved that there is exactly one stationary distribution, and how far it is. Otherwise
    what is verified are the balance equations of ``checked`` levels, each by itself, and their sums over
    all levels of every run, not the equations of the other levels, one by one. No step of the method subtracts.

    Attributes
    ----------
    chain
        The `QuasiBirthDeath` that was solved.
    reduction
        What gives pi of any level.
    residual
        The largest ||(pi Q)_k||_1 / ||(pi |Q|)_k||_1 of a level k that was checked, or of the sum
        over a run of levels.
    checked
        Number of levels that were: the ends of every run, and those at powers of two from them.
    error_bound
        Rigorous bound on the error of the probability of any set of states, with levels above ``proved_level`` taken
        as zero; inf where none was computed.
    proved_level
        The highest of those levels; 0 without a bound.

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
        """Return pi of one level, shape (m,); in O(m^2 log L) time.

        Parameters
        ----------
        k
            The level, as the component's value where the chain came from a model.
        """
        return _at(self.chain, self.reduction, [k])[0]

    def marginal(self, levels: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of some levels, shape (len(levels),)."""
        return np.array([part.sum() for part in _at(self.chain, self.reduction, np.atleast_1d(levels))])

    @cached_property
    def mean_level(self) -> float:
        """Mean level."""
        return float(sum(run.low * mass.sum() + moment.sum() for run, mass, moment in self._sums()))

    def _sums(self) -> list[tuple[Repeating, NDArray[np.float64], NDArray[np.float64]]]:
        return [(run, *self.reduction.sums(s)) for s, run in enumerate(self.chain.levels)]

    @cached_property
    def rate_matrix(self) -> NDArray[np.float64]:
        """R of infinitely many levels, shape (m, m): pi(k + 1) = pi(k) R above the boundary.

        R(x, y) is the mean time in y of the level above per unit of time in x, before the return.
        """
        if self.chain.levels[-1].high is not None:
            raise AttributeError(f"{self.chain!r}: a finite number of levels has no rate matrix")
        return self.reduction.rate_matrix()

    @cached_property
    def decay_rate(self) -> float:
        """Spectral radius of R: the ratio of the probabilities of neighbouring levels far up."""
        return _spectral_radius(self.rate_matrix)

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        """The model's measures, from the sums over the levels of each run.

        A measure may tell the levels of a run apart in a linear way only. So the levels of a run are
        replaced by two with the same probabilities and the same mean, by state; two choices of the
        two must agree.
        """
        model, component = self.chain.model, self.chain.component
        if model is None or component is None:
            return {}
        far, near = (self._measured(model, component, spread) for spread in (True, False))
        for name, (_, value, _) in far.items():
            if not np.allclose(value, near[name][1], rtol=1e-9, atol=0.0, equal_nan=True):
                msg = "is not linear in the level where the transitions repeat: use pi by level"
                raise ValueError(f"measure {name} of {model!r} {msg}")
        return far

    def _measured(self, model: ChainModel, component: str, spread: bool) -> dict[str, Measure]:
        weights, places = [], []
        for run, mass, moment in self._sums():
            mean = np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0)
            last = 2 * math.ceil(mean.max()) + 2 if run.high is None else run.high - run.low
            mean = np.clip(mean, 0, last)
            low = np.zeros_like(mean) if spread else np.minimum(np.floor(mean), max(last - 1, 0))
            high = np.full_like(mean, last) if spread else np.minimum(low + 1, last)
            upper = mass * np.divide(mean - low, high - low, out=np.zeros_like(mass), where=high > low)
            weights += [mass - upper, upper]
            places += [run.low + low, run.low + high]
        space, codes = self.chain.space, np.tile(self.chain.codes, len(places))
        codes[space.names.index(component)] = np.concatenate(places).astype(np.int64)
        return measures_of(model, np.concatenate(weights), StateTable(space, codes))

    def to_xarray(self) -> Any:
        """Return the probabilities of the levels that `plot` shows, and the measures."""
        levels = self._shown()
        pi = ("level", self.marginal(levels), {"units": "1"})
        return self.measures.assign_coords(level=levels).assign(probability=pi)

    def _shown(self) -> NDArray[np.int64]:
        """Return up to some hundred levels, close to each other at the ends of every run."""
        found = []
        for run in self.chain.levels:
            last = (NO_END if run.high is None else run.high) - run.low
            steps = np.unique(np.geomspace(1, max(last, 1), 120).astype(np.int64))
            offsets = np.concatenate([[0], steps, last - steps, np.arange(11) * (last // 10)])
            found.append(run.low + offsets[(offsets >= 0) & (offsets <= last)])
        levels = np.unique(np.concatenate(found))
        if self.chain.levels[-1].high is None:
            levels = levels[: 1 + int(np.flatnonzero(self.marginal(levels) > VISIBLE).max())]
        return levels

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities of the levels down to 1e-20 of the largest."""
        if ax is None:
            _, ax = figure()
        levels = self._shown()
        probability = self.marginal(levels)
        seen = probability > 1e-20 * probability.max()
        ax.semilogy(levels[seen], probability[seen], ".-")
        ax.ticklabel_format(axis="x", useOffset=False)
        title = repr(self.chain.model or self.chain)
        ax.set(xlabel=self.chain.component or "level", ylabel="probability", title=title)
        return ax

    def _about(self) -> dict[str, object]:
        infinite = self.chain.levels[-1].high is None
        return {
            "chain": repr(self.chain),
            "states": f"{self.chain.size:.4g}",
            "mean level": f"{self.mean_level:.6g}",
            **({"decay rate": f"{self.decay_rate:.6g}"} if infinite else {}),
        }

    def _proof(self) -> dict[str, object]:
        seen = f"{self.checked} levels and the sums over all of them"
        found: dict[str, object] = {"residual": f"{self.residual:.1e}, {seen}"}
        if math.isfinite(self.error_bound):
            found["error bound (TV)"] = f"{self.error_bound:.1e}, levels up to {self.proved_level}"
        return found


def _at(
    chain: QuasiBirthDeath, reduction: Reduction, levels: Sequence[int] | NDArray[Any]
) -> list[NDArray[np.float64]]:
    """Return pi of some levels, in their order."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    ks = [integer("level", k, lowest, NO_END if highest is None else highest) for k in levels]
    wanted = np.array(ks, dtype=np.int64)
    found: list[NDArray[np.float64]] = [np.zeros(0)] * len(ks)
    for segment, run in enumerate(chain.levels):
        mine = (wanted >= run.low) & (True if run.high is None else wanted <= run.high)
        places = np.flatnonzero(mine)
        for place, part in zip(places, reduction.values(segment, wanted[places] - run.low), strict=True):
            found[place] = part
    return found


def _spectral_radius(R: NDArray[np.float64]) -> float:
    return float(np.abs(np.linalg.eigvals(R)).max())


def _residual(chain: QuasiBirthDeath, reduction: Reduction) -> tuple[float, int]:
    """Return the largest relative residual of some levels and of the runs' sums, and how many."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    checks: set[int] = set()
    for run in chain.levels:
        last = NO_END // 2 if run.length is None else run.length - 1
        powers = [0, *(1 << s for s in range(last.bit_length()))]
        ends = {*powers, *(p + 1 for p in powers), *(last - p for p in powers)}
        checks |= {run.low + offset for offset in ends if 0 <= offset <= last}
    around = sorted({k + side for k in checks for side in (-1, 0, 1)})
    around = [k for k in around if k >= lowest and (highest is None or k <= highest)]
    pi = dict(zip(around, _at(chain, reduction, around), strict=True))
    seen = [k for k in checks if pi[k].sum() >= VISIBLE]
    residuals = []
    for k in seen:
        into, out = pi[k] @ chain.rows(k).local, _exit(chain.rows(k), k > lowest, k != highest)
        if k > lowest:
            into = into + pi[k - 1] @ chain.rows(k - 1).up
        if k != highest:
            into = into + pi[k + 1] @ chain.rows(k + 1).down
        residuals.append(_relative(into, pi[k] * out))
    for segment, run in enumerate(chain.levels):
        if run.length == 1:
            continue
        (mass, _), first = reduction.sums(segment), pi[run.low]
        last_one = pi[run.high] if run.high is not None else np.zeros_like(first)
        into = mass @ run.rows.local
        into = into + (mass - last_one) @ run.rows.up + (mass - first) @ run.rows.down
        if run.low > lowest:
            into = into + pi[run.low - 1] @ chain.rows(run.low - 1).up
        above = run.high is None or run.high != highest
        if run.high is not None and above:
            into = into + pi[run.high + 1] @ chain.rows(run.high + 1).down
        residuals.append(_relative(into, mass * _exit(run.rows, run.low > lowest, above)))
    return max(residuals, default=0.0), len(seen)


def _exit(rows: Rows, below: bool, above: bool) -> NDArray[np.float64]:
    return np.asarray(
        rows.local.sum(axis=1) + (rows.down.sum(axis=1) if below else 0.0) + (rows.up.sum(axis=1) if above else 0.0)
    )


def _relative(into: NDArray[np.float64], out: NDArray[np.float64]) -> float:
    size = float((into + out).sum())
    return float(np.abs(into - out).sum()) / size if size > 0 else 0.0
