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
    F, L = len(plan.entry), len(plan.periods)
    queue = np.random.default_rng(0).uniform(0.0, 100.0, (F, L))
    on_path = (plan.entry[:, None] <= np.arange(L)) & (np.arange(L) <= plan.last[:, None])
    k = int(4 * np.ceil((plan.start.max() + 1) / 4))  # all flows are active, all clocks tick
    _, service, _ = dfc.exchange_feedback(plan, p, dfc.begin(plan, p, None), queue, k)
    full, none = np.full((F, L), float(p.link_rate)), np.zeros((F, L))
    gain = float(p.diffusion) / (4 * plan.step)
    J = rates(full, none, queue, on_path, 1.0, gain, float(p.link_rate))
    np.testing.assert_allclose(service, J * plan.step, rtol=1e-12)


def test_between_two_ticks_nothing_changes(start) -> None:
    plan, p = start
    F, L = len(plan.entry), len(plan.periods)
    state = dfc.begin(plan, p, None)
    after, _, _ = dfc.exchange_feedback(plan, p, state, jnp.full((F, L), 50.0), 4001)
    for before, now in zip(state, after, strict=True):
        np.testing.assert_array_equal(before, now)


def test_a_flow_is_served_at_its_rate_or_less() -> None:
    held, service = jnp.array([[3.0, 5.0]]), jnp.array([[4.0, 4.0]])
    np.testing.assert_array_equal(dfc.serve(None, held, held, service, 0)[1], [[3.0, 4.0]])
