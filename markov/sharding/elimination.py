"""The last level of multigrid, by elimination without a subtraction.

W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper. Res. 33, 1985.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from jax import Array
    from numpy.typing import NDArray

    from markov.sharding.levels import Level

__all__ = ["dense", "eliminate", "inverse_of"]

TINY = 1e-300


def eliminate(flows: Array, level: Level) -> Array:
    """Return the factors of the last level, without a subtraction; flows of shape (D, *shape).

    W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper. Res. 33, 1985. The state with the largest flow is
    the last to be eliminated; one that nothing flows out of gets the factor zero.
    """
    import jax.numpy as jnp
    from jax import lax

    n = flows[0].size
    weights = [1]
    for size in reversed(level.shape[1:]):
        weights.insert(0, weights[0] * size)
    matrix = jnp.zeros((n, n), flows.dtype)
    own = jnp.arange(n)
    for flow, change in zip(flows, level.changes, strict=True):
        step = sum(d * weight for d, weight in zip(change, weights, strict=True))
        matrix = matrix.at[own, (own + step) % n].add(flow.ravel())
    turn = jnp.argmax(matrix.sum(axis=1))
    matrix = jnp.roll(jnp.roll(matrix, -turn, 0), -turn, 1)

    def reduce(k: Any, matrix: Array) -> Array:
        last = n - 1 - k
        before = own < last
        total = jnp.where(before, matrix[last], 0.0).sum()
        share = jnp.where(before & (total > 0.0), matrix[:, last] / jnp.maximum(total, TINY), 0.0)
        matrix = matrix + jnp.outer(share, jnp.where(before, matrix[last], 0.0))
        return matrix.at[:, last].set(share)

    matrix = lax.fori_loop(0, n - 1, reduce, matrix)

    def replace(k: Any, found: Array) -> Array:
        return found.at[k].set(jnp.where(own < k, matrix[:, k] * found, 0.0).sum())

    found = lax.fori_loop(1, n, replace, jnp.zeros(n, flows.dtype).at[0].set(1.0))
    return jnp.roll(found, turn).reshape(flows.shape[1:])


def dense(flows: NDArray[np.float64], level: Level) -> NDArray[np.float64]:
    """Return the flows of a small level as a matrix; flows of shape (D, *shape)."""
    n = math.prod(level.shape)
    found, own = np.zeros((n, n)), np.arange(n)
    weights = [math.prod(level.shape[k + 1 :]) for k in range(len(level.shape))]
    for flow, change in zip(flows, level.changes, strict=True):
        step = sum(d * weight for d, weight in zip(change, weights, strict=True))
        some = flow.ravel() > 0.0
        found[own[some], own[some] + step] += flow.ravel()[some]
    return found


def inverse_of(flows: NDArray[np.float64], reference: int, leak: float) -> NDArray[np.float64]:
    """Return the inverse of diag(flows out, leak included) - flows, without a subtraction.

    States that nothing flows out of have zeros. W. K. Grassmann, M. I. Taksar, D. P. Heyman, Oper. Res. 33, 1985.
    """
    n = len(flows)
    flows, leaks, right = flows.copy(), np.zeros(n), np.eye(n)
    leaks[reference] = leak
    order = [reference, *(k for k in range(n) if k != reference)]
    totals = np.zeros(n)
    for place in range(n - 1, -1, -1):
        k, before = order[place], order[:place]
        totals[k] = flows[k, before].sum() + leaks[k]
        if not totals[k] > TINY:
            right[k] = 0.0
            continue
        shares = flows[before, k] / totals[k]
        flows[np.ix_(before, before)] += np.outer(shares, flows[k, before])
        leaks[before] += shares * leaks[k]
        right[before] += np.outer(shares, right[k])
    found = np.zeros((n, n))
    for place in range(n):
        k, before = order[place], order[:place]
        if totals[k] > TINY:
            found[k] = (right[k] + flows[k, before] @ found[before]) / totals[k]
    return found
