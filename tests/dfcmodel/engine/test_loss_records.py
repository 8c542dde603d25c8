"""Stretches of losses at a queue, as the receiver finds them."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel.engine.kernel.loss_records import up_to_next_change


def stretch(first: float, end: float, lost: float) -> np.recarray:
    return np.rec.array([(first, end, lost, 0.0)], names="first,end,lost,marked")


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        (4.99, (0.01, 1.0)),  # before the stretch nothing is lost
        (5.0, (3.0, 4.0 / 3.0)),  # in it three of four packets leave
        (7.99, (0.0, 1.0)),  # at its end what is left is lost
    ],
)
def test_packets_leave_up_to_where_the_density_of_losses_changes(cursor, expected) -> None:
    queue = SimpleNamespace(losses_first=0, losses_end=1, cursor=cursor)
    left, came_each = up_to_next_change(queue, stretch(5.0, 9.0, 1.0 if cursor < 7.0 else 1.5))
    assert (left, came_each) == pytest.approx(expected)


def test_without_losses_nothing_changes() -> None:
    queue = SimpleNamespace(losses_first=2, losses_end=2, cursor=0.0)
    assert up_to_next_change(queue, stretch(0.0, 1.0, 0.5)) == (math.inf, 1.0)
