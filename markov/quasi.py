"""Quasi-birth-death chains: many levels or infinitely many, solved without listing their states."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hopflow.checks import number, whole
from hopflow.results import Result, figure
from hopflow.status import OnFailure, Status, deliver
from markov.chains import ROW_SUM_TOLERANCE, MarkovChain
from markov.methods import GTH
from markov.reduction import Reduction, Rows, Segment
from markov.results import Stationary
from markov.rules import ChainModel
from markov.tracing import Repeating, repeating

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from markov.rules import Measure

__all__ = ["QuasiBirthDeath", "StationaryByLevel", "stationary_by_level"]

TOLERANCE = 1e-12
VISIBLE = 1e-290
MOST_LEVELS = 2**52


class QuasiBirthDeath:
    """A chain on levels 0, 1, 2, ... whose transitions change the level by at most one.

    Parameters
    ----------
    down, local, up
        The blocks of the generator for a step to the level below, within the level and to the level
        above (A2, A1, A0), in 1/s, shape (m, m) each; together their rows sum to zero.
    boundary
        ``(local, up, down)``: the blocks of level 0, with b states of its own, shapes (b, b) and
        (b, m), and the one from level 1 down to it, shape (m, b). None: level 0 is like the others,
        but for the steps down, which do not happen there.
    levels
        How many there are; in the highest one the steps up do not happen. None: infinitely many.

    Attributes
    ----------
    levels
        Runs of levels with equal rows, from the lowest to the highest.
    model, component, phases
        The model that the levels came from, its component that counts them, and the values of its
        other components in the states of a level; None where there is none.

    Raises
    ------
    ValueError
        Naming the block, its first bad entry or row and what is allowed. For infinitely many levels
        with a mean drift up that is not below the one down: such a chain has no stationary
        distribution.

    Notes
    -----
    M. F. Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981; D. A. Bini, G. Latouche,
    B. Meini, Numerical Methods for Structured Markov Chains, 2005.

    Examples
    --------
    An M/M/1 queue:

    >>> queue = QuasiBirthDeath(down=[[10.0]], local=[[-17.0]], up=[[7.0]])
    >>> stationary_by_level(queue).mean_level  # doctest: +ELLIPSIS
    2.3333...
    """

    def __init__(
        self,
        down: ArrayLike,
        local: ArrayLike,
        up: ArrayLike,
        boundary: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None,
        levels: int | None = None,
    ) -> None:
        A2, A1, A0 = _block("down", down), _block("local", local), _block("up", up)
        m = len(A1)
        for name, block in (("down", A2), ("local", A1), ("up", A0)):
            _shaped(name, block, (m, m))
        _balanced("down, local and up", A2, A1, A0)
        inner = Rows(A2, _rates(A1), A0)
        low = [Repeating(0, 0, inner._replace(down=np.zeros((m, 0))))]
        if boundary is not None:
            B1, B0, B2 = (_block(f"boundary[{k}]", block) for k, block in enumerate(boundary))
            b = len(B1)
            _shaped("boundary[0]", B1, (b, b))
            _shaped("boundary[1]", B0, (b, m))
            _shaped("boundary[2]", B2, (m, b))
            _balanced("boundary[0] and boundary[1]", B1, B0)
            _balanced("boundary[2], local and up", B2, A1, A0)
            lowest = Rows(np.zeros((b, 0)), _rates(B1), B0)
            low = [Repeating(0, 0, lowest), Repeating(1, 1, inner._replace(down=B2))]
        first = len(low)
        if levels is None:
            self.levels = (*low, Repeating(first, None, inner))
            _check_drift(Rows(A2, inner.local, A0))
        else:
            high = whole("levels", levels, first + 2, MOST_LEVELS) - 1
            highest = Repeating(high, high, inner._replace(up=np.zeros((m, 0))))
            self.levels = (*low, Repeating(first, high - 1, inner), highest)
        self.model: ChainModel | None = None
        self.component: str | None = None
        self.phases: Any = None

    @classmethod
    def of(cls, model: Any, component: str | None = None) -> QuasiBirthDeath:
        """Return the levels of a model on a product space, by one of its components.

        Its rules are run for one level of each kind only; see `markov.tracing.repeating`.

        Parameters
        ----------
        model
            Any number of states.
        component
            The one that counts the levels, which transitions change by at most one; None is the one
            with most values.

        Raises
        ------
        ValueError
            See `markov.tracing.repeating`.
        """
        if not isinstance(model, ChainModel):
            msg = "must be a model by rules; for blocks there is QuasiBirthDeath(down, local, up)"
            raise ValueError(f"model = {model!r}: {msg}")  # noqa: TRY004
        space = model.space()
        chain = cls.__new__(cls)
        chain.component = (
            max(space, key=lambda k: len(space[k])) if component is None else component
        )
        levels, chain.phases = repeating(model, chain.component)
        chain.levels, chain.model = tuple(levels), model
        return chain

    @property
    def size(self) -> float:
        """Number of states; infinite where there is no last level."""
        return sum(len(run.rows.local) * (run.length or math.inf) for run in self.levels)

    def rows(self, k: int) -> Rows:
        """Return the rates out of a level."""
        return next(r.rows for r in self.levels if r.high is None or k <= r.high)

    def __repr__(self) -> str:
        states = max(len(run.rows.local) for run in self.levels)
        count = sum(run.length or math.inf for run in self.levels)
        many = "infinitely many" if count == math.inf else f"{count:.0f}"
        origin = "" if self.model is None else f" of {self.model!r} by {self.component}"
        kinds = f"{len(self.levels)} kinds"
        return f"QuasiBirthDeath{origin}: {many} levels of {states} states, {kinds}"


def stationary_by_level(
    chain: QuasiBirthDeath | ChainModel, *, on_failure: OnFailure = "raise"
) -> StationaryByLevel:
    """Return the stationary distribution of a chain in levels, however many, by level on demand.

    Time O(m^3 log L) and memory O(m^2 log L) for L levels of m states with equal rows: cyclic
    reduction, which stops by itself when there is no end. Sums over all levels come with it.

    Parameters
    ----------
    chain
        A `QuasiBirthDeath`, or a model: `QuasiBirthDeath.of` it.
    on_failure
        ``"raise"`` or ``"return"``: what to do with a result whose status is not CONVERGED.

    Raises
    ------
    ValueError
        For a chain with several closed classes.
    NotSolvedError
        Carrying the partial result. Not finite: rates beyond float64, or another closed class that
        never comes to the likeliest level.
    """
    start = time.perf_counter()
    if not isinstance(chain, QuasiBirthDeath):
        chain = QuasiBirthDeath.of(chain)
    segments = [Segment(partial(getattr, run, "rows"), run.length) for run in chain.levels]
    reduction = Reduction(segments)
    residual, checked = _residual(chain, reduction) if reduction.finite else (math.inf, 0)
    status = Status.CONVERGED if residual <= TOLERANCE else Status.INACCURATE
    result = StationaryByLevel(
        chain=chain,
        reduction=reduction,
        status=status if reduction.finite else Status.NOT_FINITE,
        residual=residual,
        checked=checked,
        seconds=time.perf_counter() - start,
        memory=reduction.memory,
    )
    deliver(result, on_failure)
    return result


@dataclass(frozen=True, repr=False, eq=False)
class StationaryByLevel(Result):
    """The stationary distribution of a chain in levels.

    What is verified: the balance equations of ``checked`` levels, each by itself, and their sums over
    all levels of every run. What is not: the equations of the other levels, one by one. No bound on
    the distance to the true distribution is claimed; no step of the method subtracts.

    Attributes
    ----------
    chain
        The `QuasiBirthDeath` that was solved.
    reduction
        What gives pi of any level.
    status
        CONVERGED, or what went wrong.
    residual
        The largest ||(pi Q)_k||_1 / ||(pi |Q|)_k||_1 of a level k that was checked, or of the sum
        over a run of levels.
    checked
        Number of levels that were: the ends of every run, and those at powers of two from them.
    seconds
        Wall-clock time of the solution, in s.
    memory
        Bytes that are kept.
    """

    chain: QuasiBirthDeath
    reduction: Reduction
    status: Status
    residual: float
    checked: int
    seconds: float
    memory: int

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
        return np.array(
            [part.sum() for part in _at(self.chain, self.reduction, np.atleast_1d(levels))]
        )

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
        return float(np.abs(np.linalg.eigvals(self.rate_matrix)).max())

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
                msg = "is not linear in the level where the rules are alike: use pi by level"
                raise ValueError(f"measure {name} of {model!r} {msg}")
        return far

    def _measured(self, model: ChainModel, component: str, spread: bool) -> dict[str, Measure]:
        weights, places = [], []
        for run, mass, moment in self._sums():
            assert run.high is not None
            last = run.high - run.low
            mean = np.clip(
                np.divide(moment, mass, out=np.zeros_like(mass), where=mass > 0), 0, last
            )
            low = np.zeros_like(mean) if spread else np.minimum(np.floor(mean), max(last - 1, 0))
            high = np.full_like(mean, last) if spread else np.minimum(low + 1, last)
            upper = mass * np.divide(
                mean - low, high - low, out=np.zeros_like(mass), where=high > low
            )
            weights += [mass - upper, upper]
            places += [run.low + low, run.low + high]
        copies = {name: np.tile(v, len(places)) for name, v in self.chain.phases._asdict().items()}
        copies[component] = np.concatenate(places).astype(np.int64)
        few = model.replace()
        object.__setattr__(few, "states", lambda: model.State(**copies))
        return few.measures(np.concatenate(weights))

    measures = cast("Any", Stationary.measures)
    __getitem__ = Stationary.__getitem__
    throughput = Stationary.throughput

    def to_xarray(self) -> Any:
        """Return the probabilities of the levels that `plot` shows, and the measures."""
        levels = self._shown()
        pi = ("level", self.marginal(levels), {"units": "1"})
        return self.measures.assign_coords(level=levels).assign(probability=pi)

    def _shown(self) -> NDArray[np.int64]:
        """Return up to some hundred levels, close to each other at the ends of every run."""
        found = []
        for run in self.chain.levels:
            last = (MOST_LEVELS if run.high is None else run.high) - run.low
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

    def summary(self) -> dict[str, object]:
        """Return status, what was verified, and the scalar measures."""
        measures = {
            name: f"{float(value):.6g}"
            for name, (dims, value, _) in self._measures.items()
            if not dims
        }
        infinite = self.chain.levels[-1].high is None
        return {
            "status": self.status,
            "chain": repr(self.chain),
            "states": f"{self.chain.size:.4g}",
            "mean level": f"{self.mean_level:.6g}",
            **({"decay rate": f"{self.decay_rate:.6g}"} if infinite else {}),
            **measures,
            "residual": f"{self.residual:.1e}, {self.checked} levels and the sums over all of them",
            "memory": f"{self.memory / 1e6:.3g} MB",
            "time": f"{self.seconds:.3f} s",
        }


def _at(
    chain: QuasiBirthDeath, reduction: Reduction, levels: Sequence[int] | NDArray[Any]
) -> list[NDArray[np.float64]]:
    """Return pi of some levels, in their order."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    ks = [whole("level", k, lowest, MOST_LEVELS if highest is None else highest) for k in levels]
    wanted = np.array(ks, dtype=np.int64)
    found: list[NDArray[np.float64]] = [np.zeros(0)] * len(ks)
    for segment, run in enumerate(chain.levels):
        mine = (wanted >= run.low) & (True if run.high is None else wanted <= run.high)
        places = np.flatnonzero(mine)
        for place, part in zip(
            places, reduction.values(segment, wanted[places] - run.low), strict=True
        ):
            found[place] = part
    return found


def _residual(chain: QuasiBirthDeath, reduction: Reduction) -> tuple[float, int]:
    """Return the largest relative residual of some levels and of the runs' sums, and how many."""
    lowest, highest = chain.levels[0].low, chain.levels[-1].high
    checks: set[int] = set()
    for run in chain.levels:
        last = MOST_LEVELS // 2 if run.length is None else run.length - 1
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
        rows.local.sum(axis=1)
        + (rows.down.sum(axis=1) if below else 0.0)
        + (rows.up.sum(axis=1) if above else 0.0)
    )


def _relative(into: NDArray[np.float64], out: NDArray[np.float64]) -> float:
    size = float((into + out).sum())
    return float(np.abs(into - out).sum()) / size if size > 0 else 0.0


def _block(name: str, value: ArrayLike) -> NDArray[np.float64]:
    block = number(name, value)
    if block.ndim != 2 or not block.size:
        raise ValueError(
            f"{name} has shape {block.shape}: a matrix with at least one row is expected"
        )
    return block


def _shaped(name: str, block: NDArray[np.float64], shape: tuple[int, int]) -> None:
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}: must be {shape}")
    inner = (
        ~np.eye(*shape, dtype=bool) if name in ("local", "boundary[0]") else np.ones(shape, bool)
    )
    bad = np.argwhere((block < 0) & inner)
    if len(bad):
        row, column = bad[0]
        raise ValueError(f"{name}[{row}, {column}] = {block[row, column]:g}: rates must be >= 0")


def _balanced(names: str, *blocks: NDArray[np.float64]) -> None:
    whole_rows = np.hstack(blocks)
    off = np.abs(whole_rows.sum(axis=1)) > ROW_SUM_TOLERANCE * np.abs(whole_rows).max(axis=1)
    if off.any():
        row = int(np.flatnonzero(off)[0])
        total = whole_rows[row].sum()
        raise ValueError(f"row {row} of {names} sums to {total:g}: must be 0, as of a generator")


def _rates(local: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a block without its diagonal."""
    rates = local.copy()
    np.fill_diagonal(rates, 0.0)
    return rates


def _check_drift(inner: Rows) -> None:
    """Raise ValueError unless the mean drift of an infinite run of levels is down."""
    jumps = inner.down + inner.local + inner.up
    np.fill_diagonal(jumps, 0.0)
    phases = MarkovChain(jumps - np.diag(jumps.sum(axis=1)))
    for states in phases.recurrent_classes:
        alpha = GTH().solve(phases.restricted(states).Q).pi
        up, down = (float(alpha @ block[states].sum(axis=1)) for block in (inner.up, inner.down))
        if not up < down:
            msg = f"the mean drift is {up:.6g} up and {down:.6g} down (levels/s)"
            raise ValueError(f"{msg}: not positive recurrent, up must be < down")
