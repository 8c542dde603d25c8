"""The fluid model of priorities and turns."""

from __future__ import annotations

import pytest

from validation.claims.yang2001 import sharing
from validation.claims.yang2001.sharing import CAPACITY, SIZE, transfer_times, turns


@pytest.mark.parametrize("environment", ["cc/cc", "cc/be", "be/be"])
def test_the_last_transfer_ends_when_the_load_is_carried(environment: str) -> None:
    """The link never idles while TCP has something to send: load over capacity."""
    times = transfer_times(environment, "FCFS", 90)
    assert max(times.values()) == pytest.approx(200 * SIZE / CAPACITY)


def test_strict_priority_ends_class_by_class() -> None:
    """50 flows of the first priority of 200 under cc/cc: their share of the whole time."""
    times = transfer_times("cc/cc", "SFQ", 100)
    first = next(t for kind, t in times.items() if kind.priority == 1)
    assert first == pytest.approx(50 * SIZE / CAPACITY)


@pytest.mark.slow
def test_with_short_ageing_nothing_is_left_of_priority() -> None:
    aged = transfer_times("cc/cc", "SFQ", 90, ageing=1e-3)
    assert max(aged.values()) == pytest.approx(min(aged.values()), rel=1e-4)


def test_turns_without_end_are_first_come_first_served() -> None:
    times = turns(90, scale=1e9)["time"].to_numpy()
    assert (times[1:] > times[:-1]).all()
    assert times[0] == pytest.approx(SIZE / (CAPACITY / 2))


def test_flows_that_are_alike_have_equal_weights_in_turns() -> None:
    """The lowest class has 32 of 480 slots: the weights of `_sending` are the slots of a turn."""
    of = [k for k in sharing.kinds("ts/ts", 100) if k.source == 0]
    left = sharing.np.ones(len(of))
    sends = sharing._sending(of, left, 0)
    assert sends.sum() == pytest.approx(1.0)
    assert sends[3] == pytest.approx(32 / 480)
