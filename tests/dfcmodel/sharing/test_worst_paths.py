"""The delay within a bound that hurts a rule most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import JitteredPath, Packets, simulate, worst_case
from dfcmodel.sharing.worst_paths import SHARE
from responsefn import DCTCP, FAST, Copa, NewReno, Vegas

PATH = JitteredPath("12Mbps", "50ms", buffer=300, bound="30ms")


def test_vegas_starves_by_a_delay_that_is_absent_for_two_round_trips() -> None:
    """It takes the delay for its own queue and has less than a tenth of the share, without loss."""
    found = worst_case(Vegas(), PATH, runs=9)
    assert found.without > 0.3
    assert found.value < 0.05
    assert found.value == found.tried.min()
    assert max(found.trace.delays) == PATH.bound


def test_a_trace_is_replayed_to_the_value_that_was_found() -> None:
    found = worst_case(Vegas(), PATH, runs=9)
    again = found.replay()
    begin = np.searchsorted(again.time, 0.4 * PATH.duration)
    rates = again.delivered[:, -1] - again.delivered[:, begin]
    assert rates.min() / rates.sum() == pytest.approx(found.value, abs=1e-3)
    scenario = replace(PATH.scenario(Vegas(), None), elements=(found.trace,))
    run = simulate(scenario, Packets(seed=0), duration=PATH.duration)
    assert run.delivered[:, -1].min() < 0.15 * run.delivered[:, -1].sum()


def test_a_longer_search_finds_nothing_better_for_the_rule() -> None:
    short, long = (worst_case(FAST(), PATH, runs=runs) for runs in (4, 16))
    np.testing.assert_array_equal(long.tried[:4], short.tried)
    assert long.value <= short.value


def test_a_bound_of_nothing_hurts_nobody() -> None:
    found = worst_case(NewReno(), replace(PATH, bound=0.0), SHARE, runs=3)
    assert found.trace is None
    assert found.value == found.without
    assert found.summary()["delay"] == "none"


def test_the_utilisation_of_one_flow() -> None:
    """Copa takes alternating delays for its own queue and halves its rate."""
    found = worst_case(Copa(), PATH, "utilisation", runs=8)
    assert found.without > 0.95
    assert found.value < 0.6 * found.without
    assert found.plot().get_ylabel() == "rate (packets/s)"


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="bound = -1"):
        replace(PATH, bound=-1.0)
    with pytest.raises(ValueError, match="measure"):
        worst_case(Vegas(), PATH, "delay")
    with pytest.raises(TypeError, match="path"):
        worst_case(Vegas(), 3.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="answers congestion marks"):
        worst_case(DCTCP(), PATH)
