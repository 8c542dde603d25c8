"""pi Q = 0 for one chain over several devices: multigrid whose sweeps update all states at once."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hopflow.checks import choice, instances, integer, one_number
from hopflow.fork_safety import cached_property
from hopflow.results import OnFailure, Status, deliver
from markov.computing.progress import report, watched
from markov.models.rules import ChainModel
from markov.multigrid.iteration import LEAST_SHARE, StoppingRule
from markov.sharding.answers import ShardedStationary
from markov.sharding.chains import ShardedChain
from markov.sharding.combinations import best_combination
from markov.sharding.elimination import eliminate
from markov.sharding.levels import AXIS, Level, aggregate, arrivals, given, rated, refine, total_out
from markov.sharding.plans import N_FORMER_ITERATES, held_bytes
from markov.sharding.reachability import reached, start_of
from markov.sharding.stencils import stencil_of

if TYPE_CHECKING:
    from jax import Array

__all__ = ["stationary_sharded"]

DAMPING = 0.7
"""Share of the inflow in an update of all states at once: steps of 1 would swing in periodic chains."""
SWEEPS = 2
VISITS = 2
"""Of each level but the last for one of the level before."""
FLOOR = 1e-280


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
    recurrent class, are found when ``error_bound`` of the answer is asked for, on the same devices.

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
    max_cycles = integer("max_cycles", max_cycles, 1, 10**6)
    choice("on_failure", on_failure, ("raise", "return"))
    chosen = list(jax.devices())
    if devices is not None:
        chosen = list(instances("devices", devices, jax.Device, "a jax.Device"))
    if not chosen:
        raise ValueError("devices: at least one is expected")
    began = time.perf_counter()
    space, stencil = stencil_of(model, along)
    start = start_of(model, space, stencil)
    with jax.enable_x64(True):
        chain = ShardedChain(stencil, chosen)
        with watched(tolerance):
            values, residual, cycles = _Solver(chain).solve(start, tolerance, max_cycles)
    result = ShardedStationary(
        model=model,
        values=values,
        components=tuple(space.names[n] for n in stencil.order),
        devices=len(chosen),
        status=Status.SOLVED if residual <= tolerance else Status.INACCURATE,
        residual=residual,
        cycles=cycles,
        bytes_per_device=held_bytes(chain.levels, stencil),
        seconds=time.perf_counter() - began,
        _space=space,
        _chain=chain,
        _start=start,
    )
    return deliver(result, on_failure)


class _Solver:
    """The compiled steps of a solution."""

    def __init__(self, chain: ShardedChain) -> None:
        self.chain, self.levels = chain, chain.levels

    # ------------------------------------------------------------------ steps on one level

    @cached_property
    def steps(self) -> list[dict[str, Any]]:
        """The compiled steps of each level."""
        found = []
        for n, level in enumerate(self.levels):
            data = self.chain.of_data if n == 0 else (self.chain.of(level, leading=True),)
            x = self.chain.of(level)
            flows = rated if n == 0 else given
            steps: dict[str, Any] = {
                "relax": self.chain.compiled(functools.partial(_relaxed, level, flows), (*data, x), x)
            }
            if n + 1 < len(self.levels):
                after = self.levels[n + 1]
                steps["aggregate"] = self.chain.compiled(
                    functools.partial(_aggregated, level, after, flows),
                    (*data, x),
                    (self.chain.of(after, leading=True), self.chain.of(after)),
                )
                steps["refine"] = self.chain.compiled(
                    functools.partial(refine, level=level, after=after),
                    (x, self.chain.of(after)),
                    x,
                )
            else:
                steps["eliminate"] = self.chain.compiled(
                    functools.partial(eliminate, level=level),
                    (self.chain.of(level, leading=True),),
                    x,
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

    def solve(self, start: tuple[int, ...] | None, tolerance: float, max_cycles: int) -> tuple[Array, float, int]:
        """Return probabilities, their relative residual, and the number of cycles."""
        first, data = self.levels[0], self.chain.data
        spread, into = self.chain.spread, (*self.chain.of_data, self.chain.spread)
        residual_of = self.chain.compiled(
            functools.partial(_residual, first), into, (spread, spread, self.chain.everywhere)
        )
        combine = self.chain.compiled(_combined, (*into, *([spread] * (2 * N_FORMER_ITERATES + 1))), spread)
        x, residual, size = residual_of(*data, reached(self.chain, start).astype(float))
        kept: list[tuple[Array, Array]] = []
        rule = StoppingRule(tolerance, max_cycles)
        while rule.goes_on:
            x, residual, size = residual_of(*data, self._improved(0, data, x))
            ended = rule.ends(float(size))
            report(rule.done, rule.size)
            if ended:
                break
            before = (x, residual)
            if kept:
                filled = [*kept, *[kept[0]] * (N_FORMER_ITERATES - len(kept))]
                olds = [each for pair in filled for each in pair]
                better = combine(*data, x, residual, *olds)
                tried = residual_of(*data, better)
                if float(tried[2]) < rule.size:
                    x, residual, size = tried
                    before = (x, residual)
            kept = [before, *kept][:N_FORMER_ITERATES]
        return x, float(size), rule.done


def _relaxed(level: Level, flows: Any, *arguments: Array) -> Array:
    """Return the unknown after some updates of all states at once."""
    import jax.numpy as jnp

    *data, x = arguments
    out = total_out(tuple(data))
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


def _residual(level: Level, rates: Array, classes: Array, x: Array) -> tuple[Array, Array, Array]:
    """Return x with sum 1, x Q, and its relative size."""
    import jax.numpy as jnp
    from jax import lax

    x = x / lax.psum(x.sum(), AXIS)
    left = total_out((rates, classes)) * x
    found = arrivals(rated(rates, classes, x), level) - left
    size = lax.psum(jnp.abs(found).sum(), AXIS) / (2.0 * lax.psum(left.sum(), AXIS))
    return x, found, size


def _combined(rates: Array, classes: Array, x: Array, residual: Array, *olds: Array) -> Array:
    """Return the combination of iterates with the least residual, in the norm sum r^2 / (q x)."""
    import jax.numpy as jnp

    weight = total_out((rates, classes)) * x
    weight = jnp.where(weight > 0.0, 1.0 / jnp.maximum(weight, FLOOR), 0.0)
    return jnp.maximum(best_combination(x, residual, weight, olds), LEAST_SHARE * x)
