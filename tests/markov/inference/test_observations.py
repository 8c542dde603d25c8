"""What was observed: counted once, and checked."""

from __future__ import annotations

import numpy as np
import pytest

from hopflow import ms
from markov import ObservedPath, Panel, explore, paths
from markov.inference.observations import Statistics


def coin():
    return explore(lambda up, q: [(not up, q.a)], start=True, params={"a": 1.0})


def test_stays_jumps_and_gaps_are_counted_by_states():
    model = coin()
    up, down = model.chain.number_of(True), model.chain.number_of(False)
    data = [
        ObservedPath([1.0, 3.0, 4.0], [True, False, True], end=6.0),
        Panel([0.0, 2.0, 4.0], [True, True, False]),
        Panel([1.0, 3.0], [True, True]),
    ]
    found = Statistics.of(model.chain, data)
    assert found.stays[[up, down]].tolist() == [4.0, 1.0]
    assert found.jumps == {(up, down): 1, (down, up): 1}
    assert found.gaps == {(up, up): {2.0: 2}, (up, down): {2.0: 1}}
    assert found.total == 5


def test_paths_of_a_simulation_are_whole_paths():
    model = coin()
    runs = paths(model, duration=5.0, start=True, runs=3, seed=1)
    found = Statistics.of(model.chain, runs)
    assert found.stays.sum() == pytest.approx(15.0)
    assert sum(found.jumps.values()) == len(runs.times) - 3


def test_times_have_units():
    seen = ObservedPath([0.0, ms(3)], [True, False], end="5 ms")
    assert seen.times.tolist() == [0.0, 0.003]
    assert seen.end == 0.005
    assert repr(seen) == "ObservedPath: 1 jump in 0.005 s"
    assert repr(Panel(["0 s", "2 s"], [1, 2])) == "Panel: 2 observations in 2 s"


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="ascending"):
        ObservedPath([0.0, 0.0], [True, False], end=1.0)
    with pytest.raises(ValueError, match="end = 1"):
        ObservedPath([0.0, 2.0], [True, False], end=1.0)
    with pytest.raises(ValueError, match=r"states\[1\] = True: must differ"):
        ObservedPath([0.0, 1.0], [True, True], end=1.0)
    with pytest.raises(ValueError, match="1 states at 2 times"):
        Panel([0.0, 1.0], [True])
    with pytest.raises(ValueError, match="at least two"):
        Panel([0.0], [True])
    model = coin()
    with pytest.raises(TypeError, match=r"data\[1\] = 'x'"):
        Statistics.of(model.chain, [Panel([0.0, 1.0], [True, True]), "x"])
    wide = paths(np.array([[-1.0, 1, 0], [0, -1, 1], [1, 0, -1]]), 1.0, start=0, seed=1)
    with pytest.raises(ValueError, match="paths of 3 states, not 2"):
        Statistics.of(model.chain, wide)
