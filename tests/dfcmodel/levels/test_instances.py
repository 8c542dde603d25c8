"""Random instances: the same at both levels, different from run to run."""

from __future__ import annotations

import pytest

from dfcmodel import Fluid, Packets, takano2006
from dfcmodel.levels.instances import Runs, checked_runs, refuse_one_level
from tests.dfcmodel.levels.conftest import by_input


def test_starts_are_delayed_and_differ_between_runs(bottleneck) -> None:
    runs = Runs(3, seed=1, duration=1.0, sample=0.01, jitter=0.5)
    found = [runs.instance(bottleneck, seeds) for seeds in runs.seeds()]
    starts = [flow.start for scenario, _ in found for flow in scenario.flows]
    assert len(set(starts)) == 6
    assert all(0.0 <= start <= 0.5 for start in starts)
    assert len({seed for _, seed in found}) == 3
    assert runs.instance(bottleneck, runs.seeds()[1]) == found[1]


def test_defaults_follow_the_scenario(bottleneck) -> None:
    given = {"runs": 2, "seed": 0, "since": 0.0}
    runs = checked_runs(bottleneck, Fluid(), **given, duration=None, jitter=None)
    assert (runs.duration, runs.jitter) == (1.0, bottleneck.base_rtt(bottleneck.flows[0]))
    short = checked_runs(bottleneck, Fluid(), **given, duration=1e-3, jitter=None)
    assert (short.jitter, short.sample) == (1e-3, 2e-3 / 4)  # no shorter than a step


def test_what_one_level_cannot_run_is_refused(bottleneck) -> None:
    refuse_one_level(bottleneck, Packets(loss={"near->router": 0.0}))
    with pytest.raises(ValueError, match="both levels"):
        refuse_one_level(by_input(takano2006("1")), Packets())
    with pytest.raises(ValueError, match="loss"):
        refuse_one_level(bottleneck, Packets(loss={"near->router": 0.1}))
