"""pi Q = 0 for one chain over several devices: multigrid whose sweeps update all states at once."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.checks import choice, listed, one_number, whole
from hopflow.status import OnFailure, Status, deliver
from markov.computing.progress import report, watched
from markov.models.rules import ChainModel
from markov.sharding.answers import ShardedStationary
from markov.sharding.levels import (
    AXIS,
    Level,
    aggregate,
    arrivals,
    coarse_changes,
    eliminate,
    refine,
)
from markov.sharding.stencils import Stencil, stencil_of

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    from markov.models.spaces import Space

__all__ = ["stationary_sharded"]

LAST = 160
"""States of the level that is eliminated, at most, as far as pairs can be formed."""
STRONG = 0.25
"""A component is paired whose changes per second are at least so many of the quickest's."""
DAMPING = 0.7
"""Share of the inflow in an update of all states at once: steps of 1 would swing in periodic chains."""
SWEEPS = 2
VISITS = 2
"""Of each level but the last for one of the level before."""
KEPT = 3
"""Former iterates that the best combination is made of."""
LEAST_SHARE = 0.1
FLOOR = 1e-280
STAGNANT = 30
SMALL = 256
"""States for each device below which a level is on all of them."""
EIGHT = 8
PASSES = 8
"""Steps of the search for the states that the start leads to, between two looks at the end."""


def stationary_sharded(
    model: ChainModel,
    *,
    devices: Sequence[Any] | None = None,
    along: str | None = None,
    tolerance: float = 1e-12,
    max_cycles: int = 300,
    on_failure: OnFailure = "raise",
) -> ShardedStationary:
    """Return the stationary distribution of a chain whose states are spread over devices.

    No matrix is stored: the transitions are those of the rules on boxes of states, along one component
    of which each device has a part. The same call runs on one CPU, on several devices of one process,
    and in each of several processes after ``jax.distributed.initialize``; in 64 bits, whatever JAX is
    set to otherwise.

    Parameters
    ----------
    model
        A `ChainModel` with a space of whole numbers and one recurrent class, whose rules compare the
        state with numbers and add to it; rates are the same on large boxes of states.
    devices
        JAX devices; None: ``jax.devices()``, those of all processes.
    along
        The component along which the states are spread; None: the one with the most values for the
        longest change.
    tolerance
        Relative residual at which to stop.
    max_cycles
        Most cycles of multigrid. A chain on which thirty in a row gain nothing is given up.
    on_failure
        ``"raise"`` or ``"return"``: what to do when the tolerance is not reached.

    Raises
    ------
    RuleError
        For rules that are not alike on boxes, or a space of anything but whole numbers.
    ValueError
        For more devices than the component has values to spread.
    ConvergenceError
        Carrying the partial result.

    Notes
    -----
    Aggregation multigrid as `Multilevel`, with updates of all states at once from those before (damped
    Jacobi) in place of Gauss-Seidel sweeps in order, which would go from device to device. It takes more
    cycles; ``docs/many-machines.md`` has the figures. A bound on the error, and whether there is one
    recurrent class, are found when ``error_bound`` of the answer is asked for, in one process.

    Examples
    --------
    >>> from markov import PauseTandem, stationary_sharded
    >>> answer = stationary_sharded(PauseTandem(high_threshold=18))  # doctest: +SKIP
    >>> answer.mean(lambda s: 15.0 * (s.j > 0))  # doctest: +SKIP
    12.2
    """
    import jax

    if not isinstance(model, ChainModel):
        raise ValueError(f"model = {model!r}: must be a ChainModel")  # noqa: TRY004
    one_number("tolerance", tolerance, above=0.0, below=1.0)
    max_cycles = whole("max_cycles", max_cycles, 1, 10**6)
    choice("on_failure", on_failure, ("raise", "return"))
    chosen = list(jax.devices())
    if devices is not None:
        chosen = list(listed("devices", devices, jax.Device, "a jax.Device"))
    if not chosen:
        raise ValueError("devices: at least one is expected")
    began = time.perf_counter()
    space, stencil = stencil_of(model, along)
    with jax.enable_x64(True):
        solver = _Solver(stencil, chosen, _started(model, space, stencil))
        with watched(tolerance):
            values, residual, cycles = solver.solve(tolerance, max_cycles)
    result = ShardedStationary(
        model=model,
        values=values,
        components=tuple(space.names[n] for n in stencil.order),
        devices=len(chosen),
        status=Status.SOLVED if residual <= tolerance else Status.INACCURATE,
        residual=residual,
        cycles=cycles,
        bytes_per_device=solver.bytes_per_device,
        seconds=time.perf_counter() - began,
        _space=space,
        _order=stencil.order,
    )
    deliver(result, on_failure)
    return result


def plan_levels(stencil: Stencil, devices: int) -> list[Level]:
    """Return the levels: pairs along the quickest components, spread as long as each device has some.

    Which components are paired depends on the chain alone, so that all numbers of devices do the same.
    """
    busy = stencil.rates[:, :-1].mean(axis=tuple(range(1, stencil.rates.ndim)))
    speed = [
        float(busy @ np.abs([c[n] for c in stencil.changes])) for n in range(len(stencil.shape))
    ]
    sizes = list(stencil.shape)
    halvings: list[tuple[bool, ...]] = []
    single = min(2, max(sizes) - 1)  # a component with so many values has no pairs
    while any(n > single for n in sizes) and (math.prod(sizes) > LAST or not halvings):
        most = max(v for v, n in zip(speed, sizes, strict=True) if n > single)
        halved = tuple(v >= STRONG * most and n > single for v, n in zip(speed, sizes, strict=True))
        halvings.append(halved)
        sizes = [-(-n // 2) if half else n for n, half in zip(sizes, halved, strict=True)]
        speed = [0.5 * v if half else v for v, half in zip(speed, halved, strict=True)]
    rows = -(-stencil.shape[0] // devices)
    longest = max(abs(change[0]) for change in stencil.changes)
    if devices > 1 and rows < max(2, longest):
        said = f"{devices} are too many for {stencil.shape[0]} values with changes up to {longest}"
        raise ValueError(f"devices: {said}")
    times = sum(halved[0] for halved in halvings)  # each device has whole pairs as often as it can
    unit = 2 ** min(times, max(1, int(math.log2(max(rows / 16.0, 1.0))))) if devices > 1 else 1
    rows = -(-rows // unit) * unit
    shape, changes, spread = (rows * devices, *stencil.shape[1:]), stencil.changes, devices
    levels = []
    for n, halved in enumerate(halvings):
        levels.append(Level(shape, changes, halved, spread))
        changes = coarse_changes(changes, halved)
        rows = rows // 2 if halved[0] else rows
        shape = tuple(
            -(-size // 2) if half else size for size, half in zip(shape, halved, strict=True)
        )
        last = n + 1 == len(halvings)
        reach = max((abs(change[0]) for change in changes), default=1)
        split = not last and halvings[n + 1][0] and rows % 2 == 1
        if last or split or rows < reach or math.prod(shape) < SMALL * devices:
            spread = 1
    return [*levels, Level(shape, changes, tuple(False for _ in shape), 1)]


def held_bytes(levels: Sequence[Level], stencil: Stencil) -> int:
    """Return the bytes of a device: iterates and residuals, flows and unknowns of levels, rates."""
    first, *others = levels
    held = (2 * KEPT + 3) * math.prod(first.shape) // first.devices
    for level in others:
        held += (len(level.changes) + 2) * math.prod(level.shape) // level.devices
    return EIGHT * (held + stencil.rates.size)


class _Solver:
    """The compiled steps of a solution, and what they work on."""

    def __init__(self, stencil: Stencil, devices: list[Any], start: tuple[int, ...] | None) -> None:
        import jax
        from jax.sharding import Mesh, NamedSharding
        from jax.sharding import PartitionSpec as P

        self.levels = plan_levels(stencil, len(devices))
        self.mesh = Mesh(np.array(devices), (AXIS,))
        self.spread, self.everywhere = P(AXIS), P()
        rows, known = self.levels[0].shape[0], len(stencil.classes)
        classes = np.full(rows, stencil.rates.shape[1] - 1, dtype=np.int32)
        classes[:known] = stencil.classes
        self.classes = self._put(classes, NamedSharding(self.mesh, self.spread))
        self.rates = self._put(stencil.rates, NamedSharding(self.mesh, self.everywhere))
        shape = self.levels[0].shape
        self.start = jax.make_array_from_callback(
            shape,
            NamedSharding(self.mesh, self.spread),
            lambda place: _indicator(shape, known, start, place[0] if place else slice(None)),
        )
        self.bytes_per_device = held_bytes(self.levels, stencil)

    @staticmethod
    def _put(values: NDArray[Any], sharding: Any) -> Array:
        import jax

        return jax.make_array_from_callback(values.shape, sharding, lambda place: values[place])

    def _compiled(self, function: Callable[..., Any], into: Sequence[Any], out: Any) -> Any:
        import jax

        mapped = jax.shard_map(
            function, mesh=self.mesh, in_specs=tuple(into), out_specs=out, check_vma=False
        )
        return jax.jit(mapped)

    def _of(self, level: Level, leading: bool = False) -> Any:
        """Return how an array of a level is spread; ``leading``: behind the changes."""
        from jax.sharding import PartitionSpec as P

        if level.devices == 1:
            return self.everywhere
        return P(None, AXIS) if leading else self.spread

    # ------------------------------------------------------------------ steps on one level

    @functools.cached_property
    def steps(self) -> list[dict[str, Any]]:
        """The compiled steps of each level."""
        found = []
        for n, level in enumerate(self.levels):
            data = (self.everywhere, self.spread) if n == 0 else (self._of(level, leading=True),)
            x = self._of(level)
            flows = _rated if n == 0 else _given
            steps: dict[str, Any] = {
                "relax": self._compiled(functools.partial(_relaxed, level, flows), (*data, x), x)
            }
            if n + 1 < len(self.levels):
                after = self.levels[n + 1]
                steps["aggregate"] = self._compiled(
                    functools.partial(_aggregated, level, after, flows),
                    (*data, x),
                    (self._of(after, leading=True), self._of(after)),
                )
                steps["refine"] = self._compiled(
                    functools.partial(refine, level=level, after=after), (x, self._of(after)), x
                )
            else:
                steps["eliminate"] = self._compiled(
                    functools.partial(eliminate, level=level), (self._of(level, leading=True),), x
                )
            found.append(steps)
        return found

    def _improved(self, n: int, data: tuple[Array, ...], x: Array) -> Array:
        """Return the unknown of a level after a cycle from there down."""
        steps = self.steps[n]
        if n + 1 == len(self.levels):
            return steps["eliminate"](*data)
        x = steps["relax"](*data, x)
        flows, ones = steps["aggregate"](*data, x)
        factors = ones
        for _ in range(VISITS if n + 2 < len(self.levels) else 1):
            factors = self._improved(n + 1, (flows,), factors)
        return steps["relax"](*data, steps["refine"](x, factors))

    # ------------------------------------------------------------------ the iteration

    def solve(self, tolerance: float, max_cycles: int) -> tuple[Array, float, int]:
        """Return probabilities, their relative residual, and the number of cycles."""
        first, data = self.levels[0], (self.rates, self.classes)
        both = (*(self.everywhere, self.spread), self.spread)
        reached = self._compiled(functools.partial(_reached, first), both, self.spread)
        residual_of = self._compiled(
            functools.partial(_residual, first), both, (self.spread, self.spread, self.everywhere)
        )
        combine = self._compiled(
            _combined, (self.everywhere, *([self.spread] * (2 * KEPT + 3))), self.spread
        )
        x, residual, size = residual_of(*data, reached(*data, self.start))
        kept: list[tuple[Array, Array]] = []
        best, since, done = math.inf, 0, 0
        while done < max_cycles and since <= STAGNANT:
            x, residual, size = residual_of(*data, self._improved(0, data, x))
            done += 1
            now = float(size)
            report(done, now)
            if not tolerance < now < math.inf:
                break
            best, since = (now, 0) if now < 0.5 * best else (best, since + 1)
            before = (x, residual)
            if kept:
                filled = [*kept, *[kept[0]] * (KEPT - len(kept))]
                olds = [each for pair in filled for each in pair]
                better = combine(self.rates, self.classes, x, residual, *olds)
                tried = residual_of(*data, better)
                if float(tried[2]) < now:
                    x, residual, size = tried
                    before = (x, residual)
            kept = [before, *kept][:KEPT]
        return x, float(size), done


def _rated(rates: Array, classes: Array, x: Array) -> list[Array]:
    """Return the flows out of each state by change, from the rates of its class."""
    import jax.numpy as jnp

    return [jnp.take(each, classes, axis=0) * x for each in rates]


def _given(flows: Array, x: Array) -> list[Array]:
    return [flow * x for flow in flows]


def _out(data: tuple[Array, ...]) -> Array:
    """Return the rate out of each state."""
    import jax.numpy as jnp

    if len(data) == 1:
        return data[0].sum(axis=0)
    rates, classes = data
    return jnp.take(rates.sum(axis=0), classes, axis=0)


def _relaxed(level: Level, flows: Any, *arguments: Array) -> Array:
    """Return the unknown after some updates of all states at once."""
    import jax.numpy as jnp

    *data, x = arguments
    out = _out(tuple(data))
    for _ in range(SWEEPS):
        into = arrivals(flows(*data, x), level)
        changed = (1.0 - DAMPING) * x + DAMPING * into / jnp.maximum(out, FLOOR)
        x = jnp.where((x > 0.0) & (out > 0.0), jnp.maximum(changed, FLOOR), 0.0)
    return x


def _aggregated(level: Level, after: Level, flows: Any, *arguments: Array) -> tuple[Array, Array]:
    """Return the flows between aggregates, and factors of one."""
    import jax.numpy as jnp

    found = aggregate(flows(*arguments), level, after)
    return found, jnp.ones_like(found[0])


def _reached(level: Level, rates: Array, classes: Array, start: Array) -> Array:
    """Return which states some states lead to, themselves among them, as numbers 0 and 1."""
    import jax.numpy as jnp
    from jax import lax

    possible = (rates > 0.0).astype(jnp.uint8)

    def grown(known: tuple[Array, Array]) -> tuple[Array, Array]:
        found, _ = known
        before = found
        for _ in range(PASSES):
            found = ((found + arrivals(_rated(possible, classes, found), level)) > 0).astype(
                jnp.uint8
            )
        return found, lax.psum((found != before).sum(), AXIS)

    found, _ = lax.while_loop(lambda known: known[1] > 0, grown, (start, jnp.ones((), int)))
    return found.astype(rates.dtype)


def _residual(level: Level, rates: Array, classes: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return x with sum 1, x Q, and its relative size."""
    import jax.numpy as jnp
    from jax import lax

    x = x / lax.psum(x.sum(), AXIS)
    left = _out((rates, classes)) * x
    found = arrivals(_rated(rates, classes, x), level) - left
    size = lax.psum(jnp.abs(found).sum(), AXIS) / (2.0 * lax.psum(left.sum(), AXIS))
    return x, found, size


def _combined(rates: Array, classes: Array, x: Array, residual: Array, *olds: Array) -> Array:
    """Return the combination of iterates with the least residual, in the norm sum r^2 / (q x)."""
    import jax.numpy as jnp
    from jax import lax

    weight = _out((rates, classes)) * x
    weight = jnp.where(weight > 0.0, 1.0 / jnp.maximum(weight, FLOOR), 0.0)
    moves = [old - x for old in olds[::2]]
    gains = [old - residual for old in olds[1::2]]
    products = jnp.stack([(a * b * weight).sum() for a in gains for b in [*gains, residual]])
    products = lax.psum(products, AXIS).reshape(len(gains), len(gains) + 1)
    size = jnp.sqrt(jnp.diagonal(products)) + 1e-300
    normal = products[:, :-1] / jnp.outer(size, size)
    shares = jnp.linalg.lstsq(normal, -products[:, -1] / size, rcond=1e-12)[0] / size
    better = x
    for share, move in zip(shares, moves, strict=True):
        better = better + share * move
    return jnp.maximum(better, LEAST_SHARE * x)


def _started(model: ChainModel, space: Space, stencil: Stencil) -> tuple[int, ...] | None:
    """Return the place of the start, the spread component first; None where there is none."""
    start = model.start()
    if start is None:
        return None
    codes = space.codes([start])[:, 0] - np.array(space.low)
    return tuple(codes[list(stencil.order)].tolist())


def _indicator(
    shape: tuple[int, ...], known: int, start: tuple[int, ...] | None, rows: slice
) -> NDArray[np.uint8]:
    """Return 1 at the start, or without one in the whole box, 0 elsewhere, for some rows."""
    first, last, _ = rows.indices(shape[0])
    found = np.zeros((last - first, *shape[1:]), dtype=np.uint8)
    if start is None:
        found[: max(0, known - first)] = 1
    elif first <= start[0] < last:
        found[(start[0] - first, *start[1:])] = 1
    return found
