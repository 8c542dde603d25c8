"""Combinations of iterates over devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markov.multigrid.iteration import DEPENDENT
from markov.sharding.levels import AXIS

if TYPE_CHECKING:
    from jax import Array

__all__ = ["best_combination"]

MIN_NORM = 1e-150
"""Of a norm: its square is still a number."""


def best_combination(x: Array, residual: Array, weight: Array, olds: Sequence[Array]) -> Array:
    """Return x + sum a (old - x) with the least sum of weight times residual squared.

    Parameters
    ----------
    x, residual, weight
        This device's parts of the newest iterate, its residual, and weights.
    olds
        Former iterates, each followed by its residual; the residual is affine in the iterate.
    """
    import jax.numpy as jnp
    from jax import lax

    moves = [old - x for old in olds[::2]]
    gains = [old - residual for old in olds[1::2]]
    products = jnp.stack([(a * b * weight).sum() for a in gains for b in [*gains, residual]])
    products = lax.psum(products, AXIS).reshape(len(gains), len(gains) + 1)
    size = jnp.maximum(jnp.sqrt(jnp.diagonal(products)), MIN_NORM)
    normal = products[:, :-1] / jnp.outer(size, size)
    shares = jnp.linalg.lstsq(normal, -products[:, -1] / size, rcond=DEPENDENT)[0] / size
    better = x
    for share, move in zip(shares, moves, strict=True):
        better = better + share * move
    return better
