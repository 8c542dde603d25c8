"""Feedback in the JAX model: rates are those of the law, once per period, and reach the next node."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import Twin, takano2006
from dfcmodel.theory.law import rates
from dfcmodel.twin import dfc


@pytest.fixture(scope="module")
def start():
    twin = Twin(takano2006("4S"), phases=[0] * 16)
    p = jax.tree.map(lambda value: jnp.asarray(value, dtype=float), twin.parameters)
    return twin._plan, p


def test_rates_are_those_of_the_law(start) -> None:
    """Eqs. (1), (2) and (13) with what is known at first: the link rate and an empty next node."""
    plan, p = start
    F, L, queues = len(plan.first), len(plan.periods), (plan.flow_of, plan.link_of)
    queue = np.random.default_rng(0).uniform(0.0, 100.0, (F, L))
    on_path = np.zeros((F, L), dtype=bool)
    on_path[queues] = True
    k = int(4 * np.ceil((plan.start.max() + 1) / 4))  # all flows are active, all clocks tick
    after, _ = dfc.exchange_feedback(plan, p, dfc.begin(plan, p), queue[queues], k)
    full, none = np.full((F, L), float(p.link_rate)), np.zeros((F, L))
    gain = float(p.diffusion) / (4 * plan.step)
    J = rates(full, none, queue, on_path, 1.0, gain, float(p.link_rate))
    np.testing.assert_allclose(after.sends, J[queues], rtol=1e-12)


def test_between_two_ticks_nothing_changes(start) -> None:
    plan, p = start
    state = dfc.begin(plan, p)
    after, _ = dfc.exchange_feedback(plan, p, state, jnp.full(len(plan.flow_of), 50.0), 4001)
    for before, now in zip(state, after, strict=True):
        np.testing.assert_array_equal(before, now)
