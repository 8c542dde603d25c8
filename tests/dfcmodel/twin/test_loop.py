"""The differentiable model: its loop, links and law."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dfcmodel import Twin, takano2006
from dfcmodel.theory.law import Report, Sharing, rates
from dfcmodel.twin import dfc
from dfcmodel.twin.links import of_all_links, of_links, over_links
from dfcmodel.twin.loop import _dropped, _due, _window

# Pieces of the JAX model's time loop: windows of AIMD, and drops at a full buffer.


def window(cwnd: float, acked: float, threshold: float = 8.0, most: float = 100.0) -> float:
    plan: Any = SimpleNamespace(increase=1.0)
    p = SimpleNamespace(slow_start_threshold=threshold, max_window=most)
    return float(_window(plan, p, jnp.asarray(cwnd), jnp.asarray(acked)))


@pytest.mark.parametrize(
    ("cwnd", "acked", "wanted"),
    [
        (2.0, 3.0, 5.0),  # slow start: a packet per packet acknowledged
        (10.0, 5.0, 10.5),  # congestion avoidance: 1/cwnd per packet acknowledged
        (6.0, 4.0, 8.0 + 2.0 / 8.0),  # two packets each
    ],
)
def test_a_window_grows_as_rfc_5681_says(cwnd: float, acked: float, wanted: float) -> None:
    assert window(cwnd, acked) == pytest.approx(wanted, rel=1e-6)


PLAN: Any = SimpleNamespace(
    buffer_of=np.zeros(2, dtype=int),
    bounded=np.ones(2, dtype=bool),
    link_of=np.zeros(2, dtype=int),
    delay=np.ones(1),
)


def test_drops_are_the_excess_in_proportion_to_the_arrivals() -> None:
    arrivals, queue = jnp.array([3.0, 1.0]), jnp.array([60.0, 42.0])
    np.testing.assert_allclose(_dropped(PLAN, 100.0, 0.0, arrivals, queue), [1.5, 0.5])
    np.testing.assert_allclose(_dropped(PLAN, 102.0, 0.0, arrivals, queue), [0.0, 0.0])


def test_queues_with_buffers_of_their_own_drop_what_is_theirs() -> None:
    plan: Any = SimpleNamespace(**(vars(PLAN) | {"buffer_of": np.array([0, 1])}))
    arrivals, queue = jnp.array([3.0, 1.0]), jnp.array([60.0, 42.0])
    np.testing.assert_allclose(_dropped(plan, 58.5, 0.0, arrivals, queue), [1.5, 0.0])


def test_smoothed_drops_tend_to_the_hard_limit() -> None:
    arrivals, queue = jnp.array([4.0, 0.0]), jnp.array([102.0, 0.0])
    off = [float(_dropped(PLAN, 100.0, s, arrivals, queue)[0]) - 2.0 for s in (1.0, 0.5, 0.1)]
    assert off[0] > off[1] > off[2] >= 0.0
    assert off[2] == pytest.approx(0.0, abs=1e-6)


def test_what_is_due_was_sent_whole_and_parts_of_steps_ago() -> None:
    sent = jnp.array([[8.0], [16.0], [4.0]])  # in steps 6, 7 and 5
    assert float(_due(sent, np.array([1]), np.array([0.0]), 8)[0]) == 16.0
    assert float(_due(sent, np.array([1]), np.array([0.25]), 8)[0]) == 14.0


# Values of links and of the queues at them in the JAX model.

PLAN_LINKS: Any = SimpleNamespace(link_of=np.array([0, 2, 0]), delay=np.ones(3))


def test_one_number_stands_for_all_links() -> None:
    assert of_all_links(PLAN_LINKS, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN_LINKS, 7.0).tolist() == [7.0, 7.0, 7.0]
    assert of_links(PLAN_LINKS, np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 3.0, 1.0]


def test_sums_over_the_queues_of_each_link() -> None:
    assert over_links(PLAN_LINKS, np.array([1.0, 5.0, 2.0])).tolist() == [3.0, 0.0, 5.0]


# Feedback in the JAX model: rates are those of the law, once per period, and reach the next node.


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
    J = rates(Report(full, none), queue, on_path, Sharing(1.0, gain, float(p.link_rate)))
    np.testing.assert_allclose(after.sends, J[queues], rtol=1e-12)


def test_between_two_ticks_nothing_changes(start) -> None:
    plan, p = start
    state = dfc.begin(plan, p)
    after, _ = dfc.exchange_feedback(plan, p, state, jnp.full(len(plan.flow_of), 50.0), 4001)
    for before, now in zip(state, after, strict=True):
        np.testing.assert_array_equal(before, now)
