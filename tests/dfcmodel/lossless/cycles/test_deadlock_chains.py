"""Time to the deadlock of a cycle: the chain beside an event simulation of the same queues, and what it refuses."""

from __future__ import annotations

import random
import time
from typing import Any

import networkx as nx
import numpy as np
import pytest

import markov
from dfcmodel.lossless import deadlock, torus

RING = deadlock(nx.DiGraph(["ab", "bc", "ca"]), routes=[tuple("abc"), tuple("bca"), tuple("cab")])


def simulated(buffers: int, load: float, room: int, draw: random.Random) -> float:
    """Return when one run of queues of packets, 1 those that go on, stands still."""
    queues: list[list[int]] = [[] for _ in range(buffers)]
    now = 0.0
    while not all(len(queue) == room and queue[0] == 1 for queue in queues):
        events = [(load / 2.0, k, True) for k, queue in enumerate(queues) if len(queue) < room]
        for k, queue in enumerate(queues):
            if queue and (queue[0] == 0 or len(queues[(k + 1) % buffers]) < room):
                events.append((1.0, k, False))
        now += draw.expovariate(sum(rate for rate, *_ in events))
        ((_, k, comes),) = draw.choices(events, [rate for rate, *_ in events])
        if comes:
            queues[k].append(1)
        elif queues[k].pop(0) == 1:
            queues[(k + 1) % buffers].append(0)
    return now


@pytest.mark.parametrize(("graph", "room", "load"), [(None, 2, 0.5), (torus([4]), 2, 0.6)])
@pytest.mark.slow
def test_mean_and_distribution_are_those_of_simulated_queues(graph: nx.DiGraph | None, room: int, load: float) -> None:
    found = RING if graph is None else deadlock(graph)
    cycle = next(found.cycles())
    soon = found.passage(load, cycle, room=room)
    draw = random.Random(1)
    times = np.array([simulated(len(cycle), load, room, draw) for _ in range(300)])
    error = times.std() / len(times) ** 0.5
    assert soon.mean == pytest.approx(times.mean(), abs=4.0 * error)
    part = float(soon.distribution([soon.mean]).cdf[0])
    spread = (part * (1.0 - part) / len(times)) ** 0.5
    assert part == pytest.approx((times <= soon.mean).mean(), abs=4.0 * spread)


def test_its_time_has_that_of_the_search_for_states(monkeypatch: pytest.MonkeyPatch) -> None:
    search, begun = markov.explore, []

    def explore_and_note(*arguments: Any, **options: Any) -> Any:
        begun.append(time.perf_counter())
        chain = search(*arguments, **options)
        while time.perf_counter() < begun[0] + 0.05:
            pass
        return chain

    monkeypatch.setattr(markov, "explore", explore_and_note)
    assert RING.passage(0.5, room=1).seconds >= 0.05


@pytest.mark.slow
def test_less_load_and_more_room_put_it_off() -> None:
    means = [RING.passage(load, room=room).mean for load, room in ((0.6, 2), (0.5, 2), (0.5, 3))]
    assert means == sorted(means)
    assert RING.passage(0.5).mean == means[2]
