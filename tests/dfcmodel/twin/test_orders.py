"""Order of arrival in the JAX model: who came first leaves first, in proportion within a step."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from dfcmodel.twin import orders

PLAN: Any = SimpleNamespace(flow_of=np.arange(2), link_of=np.zeros(2, dtype=int), delay=np.ones(1))


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def served(came, service, remembered: int = 8):
    """Return what two flows at one link send in each step."""
    shape: Any = SimpleNamespace(waiting=remembered)
    state, left = orders.begin(PLAN, shape), []
    serve = jax.jit(lambda *given: orders.serve(PLAN, *given))
    for k, (arrivals, most) in enumerate(zip(came, service, strict=True)):
        state, out = serve(state, np.array(arrivals), np.array([most]), k)
        left.append(np.asarray(out).tolist())
    return left


def test_the_oldest_leave_first_and_those_of_one_step_in_proportion() -> None:
    came = [(4.0, 0.0), (1.0, 3.0), (0.0, 0.0), (0.0, 0.0)]
    assert served(came, [2.0, 4.0, 1.0, 9.0]) == [
        [2.0, 0.0],
        [2.5, 1.5],
        [0.25, 0.75],
        [0.25, 0.75],
    ]


def test_nothing_leaves_while_nothing_is_served() -> None:
    assert served([(4.0, 0.0), (0.0, 4.0), (0.0, 0.0)], [0.0, 0.0, 4.0])[:2] == [[0.0, 0.0]] * 2
    assert served([(0.0, 0.0), (1.0, 0.0)], [1.0, 0.0]) == [[0.0, 0.0]] * 2


def test_departures_are_nan_where_the_order_is_forgotten() -> None:
    """A queue that is longer than what is remembered of it: no number instead of a wrong one."""
    came, service = [(4.0, 0.0), *([(1.0, 3.0)] * 5)], [0.0] * 5 + [1.0]
    assert np.isnan(served(came, service, remembered=4)[-1]).all()
    assert served(came, service, remembered=8)[-1] == [1.0, 0.0]
