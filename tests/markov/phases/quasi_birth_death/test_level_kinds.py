"""Levels on which rules are alike."""

from __future__ import annotations

import numpy as np
import pytest

from markov import (
    BirthDeath,
    JacksonTandem,
    PauseTandem,
    generator,
    stationary,
    stationary_by_level,
)
from markov.phases.quasi_birth_death.level_kinds import repeating
from tests.markov.phases.quasi_birth_death.conftest import Lot


def test_rules_are_alike_on_ranges_of_levels():
    levels, _, _ = repeating(Lot(), "n")
    assert [(run.low, run.high) for run in levels] == [
        (0, 0), (1, 1), (2, 2), (3, 3), (4, 29), (30, 49), (50, 50),
    ]  # fmt: skip
    pi = stationary(Lot()).pi.reshape(51, 2)
    answer = stationary_by_level(Lot())
    np.testing.assert_allclose([answer.level(n) for n in range(51)], pi, rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "component"),
    [
        (PauseTandem(buffers=(7, 4), high_threshold=3), "i"),
        (PauseTandem(buffers=(7, 4), high_threshold=3, low_threshold=1), "j"),
        (JacksonTandem(capacity=6), "n"),
        (BirthDeath(), "n"),
        (Lot(), "n"),
    ],
    ids=repr,
)
def test_traced_rules_are_the_generators(model, component):
    Q = generator(model, reachable=False).toarray()
    np.fill_diagonal(Q, 0.0)
    levels, space, codes = repeating(model, component)
    phases = space.columns(codes)

    def places(level):
        there = phases._replace(**{component: np.full(len(phases[0]), level)})
        low = [values.start for values in model.space().values()]
        return np.ravel_multi_index([c - n for c, n in zip(there, low, strict=True)], model.shape)

    seen = []
    for run in levels:
        for level in range(run.low, run.high + 1):
            seen.append(level)
            for side, block in zip((-1, 0, 1), run.rows, strict=True):
                if level + side in model.space()[component]:
                    np.testing.assert_array_equal(
                        block, Q[np.ix_(places(level), places(level + side))]
                    )
                else:
                    assert not block.any()
    assert seen == list(model.space()[component])
