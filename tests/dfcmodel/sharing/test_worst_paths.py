"""The delay within a bound that hurts a rule most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import (
    Aggregation,
    DelayTrace,
    Flow,
    JitteredPath,
    Link,
    Packets,
    Scenario,
    simulate,
    worst_case,
)
from dfcmodel.sharing.worst_paths import SHARE
from responsefn import DCTCP, FAST, BBRv1, Copa, NewReno, Vegas, Vivace

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


def rates(rule, trips, elements=()) -> np.ndarray:
    """Return the mean rates of flows over 120 Mb/s from 10 s to 60 s, Mb/s."""
    names = ("first", "second")[: len(trips)]
    links = [Link("router", "end", "120Mbps", "1ms", 10_000)]
    links += [
        Link(name, "router", "1200Mbps", 0.5 * trip - 1e-3, 1e5)
        for name, trip in zip(names, trips, strict=True)
    ]
    flows = [Flow(name, (name, "router", "end"), rule) for name in names]
    scenario = Scenario("flows", links, flows, duration=60.0, elements=elements)
    run = simulate(scenario, Packets(seed=1), sample=0.1, packet_jitter="1pkt")
    return run.mean_goodput(10.0) * 12e-3


def misled(by: float) -> DelayTrace:
    times, delays = (0.0, 0.06, 0.061), (by, 0.0, by)
    return DelayTrace("first->router", times, delays, period=4.0, acks=True, in_order=False)


@pytest.mark.parametrize("by", [1e-3, 3e-3])
def test_copa_takes_a_constant_delay_for_its_queue(by: float) -> None:
    """Its rate is 1/(delta d) (Arun et al. 2022, Sect. 5.1), and the other flow has the rest of the link."""
    first, second = rates(Copa(competitive=0), (0.06, 0.06), (misled(by),))
    assert first == pytest.approx(12e-3 / (0.5 * by), rel=0.1)
    assert first + second > 115.0


def test_the_first_version_of_bbr_starves_the_shorter_round_trip() -> None:
    """Arun et al. 2022, Sect. 5.2: 8.3 and 107 Mb/s, round trips of 40 and 80 ms."""
    alike, apart = (rates(BBRv1(), trips) for trips in ((0.04, 0.04), (0.04, 0.08)))
    assert alike.min() > 0.8 * alike.max()
    assert apart[0] / apart.sum() == pytest.approx(8.3 / 115.3, abs=0.05)


def test_vivace_of_the_module_for_linux_starves_behind_acks_in_groups() -> None:
    """Arun et al. 2022, Sect. 5.3: 9.9 and 99.4 Mb/s; a regression over the packets of an interval sees no increase."""
    together = (Aggregation("first->router", interval=0.06),)
    linux, user = (rates(Vivace(smoothed=n), (0.06, 0.06), together) for n in (1, 0))
    assert linux[0] / linux.sum() == pytest.approx(9.9 / 109.3, abs=0.06)
    assert user.min() > 0.3 * user.max()


def test_fast_shares_equally_after_losses_in_slow_start() -> None:
    """Both keep alpha packets in the queue: windows shrink below the threshold of the last loss."""
    both = rates(FAST(), (0.06, 0.06))
    assert both[0] == pytest.approx(both[1], rel=0.02)
