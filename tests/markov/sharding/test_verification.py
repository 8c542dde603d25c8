"""What is evaluated for a bound holds for the numbers as they are, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import jax
import numpy as np
import pytest

from markov import PauseTandem
from markov.sharding.chains import ShardedChain
from markov.sharding.levels import rated
from markov.sharding.stencils import stencil_of
from markov.sharding.verification import BITS, drift, misfit

pytestmark = pytest.mark.slow  # JAX compiles

REFERENCE = 7


@pytest.fixture(scope="module")
def judged():
    """Both evaluations of random numbers, and the transitions as (from, to, rate) of exact numbers."""
    _, stencil = stencil_of(PauseTandem(buffers=(3, 4), high_threshold=3))
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        chain = ShardedChain(stencil, jax.devices()[:1])
        level, shape = chain.levels[0], chain.shape
        n = int(np.prod(shape))
        h, x = 10.0 ** rng.uniform(-3, 6, n), 10.0 ** rng.uniform(-30, 0, n)
        counted = rng.integers(0, 2, n).astype(np.uint8)
        x /= 2.0 * x.sum()
        h[REFERENCE], counted[REFERENCE] = 1e-6, 1
        place = tuple(int(k) for k in np.unravel_index(REFERENCE, shape))
        many = [each.reshape(shape) for each in (counted, h, x)]
        everywhere, into = chain.everywhere, chain.of_data
        top = chain.compiled(
            lambda *a: drift(level, place, *a), [*into, *[chain.spread] * 2], everywhere
        )(*chain.data, *many[:2])
        sums = chain.compiled(
            lambda *a: misfit(level, place, *a), [*into, *[chain.spread] * 3], (everywhere,) * 5
        )(*chain.data, *many)
        flows = np.stack([np.asarray(f) for f in rated(*chain.data, np.ones(shape))])
    numbers = np.arange(n).reshape(shape)
    moves = [
        (
            int(numbers[place]),
            int(numbers[tuple(np.add(place, change))]),
            Fraction(float(flow[place])),
        )
        for flow, change in zip(flows, level.changes, strict=True)
        for place in np.ndindex(*shape)
        if flow[place] > 0.0
    ]
    exact = [[Fraction(float(v)) for v in each] for each in (h, x)]
    return moves, counted, *exact, float(top), [each.item() for each in sums]


def test_the_largest_drift_is_bounded_from_above(judged):
    moves, counted, h, _, top, _ = judged
    drifts = [Fraction(0)] * len(h)
    for a, b, rate in moves:
        drifts[a] += rate * (h[b] - h[a])
    worst = max(d for s, d in enumerate(drifts) if counted[s] and s != REFERENCE)
    assert worst <= Fraction(top) <= worst + Fraction(1e-12) * abs(worst)


def test_the_misfit_is_bounded_from_above_and_the_mass_is_exact(judged):
    """To 2^-53 of what the whole numbers leave, 2^-60 a state."""
    moves, counted, h, x, _, (*sides, units, rest, elsewhere) = judged
    inside = [v if counted[s] else Fraction(0) for s, v in enumerate(x)]
    net = [Fraction(0)] * len(h)
    for a, b, rate in moves:
        net[a] -= rate * inside[a]
        net[b] += rate * inside[a]
    rounding = Fraction(len(h)) * Fraction(2) ** -52
    for sign, off in zip((1, -1), sides, strict=True):
        terms = [max(sign * net[s], 0) * (h[s] - h[REFERENCE]) for s in range(len(h)) if counted[s]]
        assert sum(terms) <= Fraction(off) * (1 + rounding)
        assert Fraction(off) <= sum(terms) * (1 + Fraction(1e-12))
    mass = (Fraction(units) + Fraction(rest)) / 2**BITS
    assert abs(mass - sum(inside)) <= Fraction(len(h)) * Fraction(2) ** -110
    assert elsewhere == pytest.approx(float(sum(x) - sum(inside)), rel=1e-14)
