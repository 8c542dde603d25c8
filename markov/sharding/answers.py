"""A stationary distribution whose probabilities are spread over devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopflow.fork_safety import cached_property
from hopflow.results import Result, Status
from markov.models.functions.evaluation import called, check_on_arrays
from markov.models.rules import ChainModel
from markov.models.state_tables import StateTable

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    from markov.models.spaces import Space
    from markov.sharding.chains import ShardedChain
    from markov.sharding.proofs import ShardedBound

__all__ = ["ShardedStationary"]

SAMPLE = 120  # states in which a function is compared with plain Python


@dataclass(frozen=True, repr=False, eq=False)
class ShardedStationary(Result):
    """A stationary distribution over devices.

    Attributes
    ----------
    model
        The model.
    values
        The probabilities as a `jax.Array` spread over the devices, shape (rows, ...): the component
        ``components[0]`` first, its rows filled up with zeros to a multiple of the devices'.
    components
        Names of the components, in the order of ``values``.
    devices
        Number of devices.
    status
        SOLVED when the tolerance was reached: no error bound is computed until it is asked for. Else
        INACCURATE.
    residual
        ||pi Q||_1 / ||pi |Q| ||_1.
    cycles
        Of multigrid.
    bytes_per_device
        Of all arrays that a device holds between steps; those within a step are about as many more.
    seconds
        Wall-clock time, compilation included.
    """

    model: ChainModel
    values: Array
    components: tuple[str, ...]
    devices: int
    status: Status
    residual: float
    cycles: int
    bytes_per_device: int
    seconds: float
    _space: Space
    _chain: ShardedChain
    _start: tuple[int, ...] | None

    @property
    def _order(self) -> tuple[int, ...]:
        return self._chain.stencil.order

    @property
    def pi(self) -> NDArray[np.float64]:
        """The probabilities in one array, in the order of `MarkovChain` on the whole space, (states,).

        In several processes, a copy in each of them.
        """
        values = self.values
        if not values.is_fully_addressable:
            from jax.experimental import multihost_utils

            values = multihost_utils.process_allgather(values, tiled=True)
        shape = self._space.shape
        whole = np.asarray(values)[: shape[self._order[0]]]
        return np.ascontiguousarray(whole.transpose(np.argsort(self._order))).ravel()

    @cached_property
    def proof(self) -> ShardedBound:
        """The bound, and what it took: found on the devices that have the probabilities, when first asked for.

        In several processes each of them asks for it.

        Raises
        ------
        ValueError
            For several recurrent classes.
        """
        from markov.sharding.proofs import bound_on_shards

        return bound_on_shards(self._chain, self._start, self.values, self.model.name)

    @property
    def error_bound(self) -> float:
        """An upper bound on the distance in total variation: that of ``proof``; inf: none was found.

        Raises
        ------
        ValueError
            For several recurrent classes.
        """
        return self.proof.distance

    def mean(self, reward: Callable[[Any], Any]) -> float:
        """Return the mean of a function of the state, computed where the probabilities are.

        Parameters
        ----------
        reward
            Takes a state, and uses only arithmetic and comparisons (or `jax.numpy`): it is called with
            arrays for the components, after a comparison with plain Python in a sample of states.

        Raises
        ------
        RuleError
            Where arrays give another value than a state.
        """
        import jax
        import jax.numpy as jnp
        from jax.sharding import NamedSharding
        from jax.sharding import PartitionSpec as P

        def weighted(values: Array) -> Array:
            grids: list[Any] = [None] * values.ndim
            for n, place in enumerate(self._order):
                shape = [-1 if m == n else 1 for m in range(values.ndim)]
                grids[place] = jnp.arange(values.shape[n]).reshape(shape) + self._space.low[place]
            return (values * reward(self._space.joined(grids))).sum()

        with jax.enable_x64(True):
            self._compare(reward)
            sharding: Any = self.values.sharding
            everywhere = NamedSharding(sharding.mesh, P())
            return float(jax.jit(weighted, out_shardings=everywhere)(self.values))

    def _compare(self, reward: Callable[[Any], Any]) -> None:
        """Refuse a function that arrays would give other values than states."""
        import jax.numpy as jnp

        random = np.random.default_rng(3)
        bounds = zip(self._space.low, self._space.shape, strict=True)
        rows = [np.concatenate([[low, low + n - 1], random.integers(low, low + n, SAMPLE)]) for low, n in bounds]
        table = StateTable(self._space, np.array(rows))

        arrays = self._space.joined([jnp.asarray(code) for code in table.codes])
        check_on_arrays(reward, table, arrays, f"reward = {called(reward)}")

    def summary(self) -> dict[str, object]:
        """Return status, states, devices, cycles, residual, memory and time."""
        return {
            "status": self.status,
            "states": f"{self._space.size}, spread along {self.components[0]}",
            "devices": f"{self.devices}, {self.bytes_per_device:.3g} bytes each",
            "cycles": self.cycles,
            "residual": f"{self.residual:.1e}",
            "time": f"{self.seconds:.1f} s",
        }
