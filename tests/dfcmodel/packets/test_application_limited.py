"""Window senders whose data arrive: both engines, the window while it is not used up, ends, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dfcmodel import (
    Flow,
    Fluid,
    HeavyTailed,
    Link,
    Packets,
    Poisson,
    Replay,
    Scenario,
    load_scenario,
    save_scenario,
    simulate,
    to_ns3,
)
from responsefn import CUBIC, DCTCP, NewReno
from tests.oracles.engines import plan_scenario, run_engine, run_reference

LINKS = [Link(1, 2, 2000.0, 5e-3, 200), Link(2, 3, 1000.0, 5e-3, 20)]
PATH = (1, 2, 3)


def flow_of(arrivals: Any, rule: Any = None, **given: Any) -> Flow:
    return Flow("a", PATH, rule or NewReno(), arrivals=arrivals, **given)


def run_of(flow: Flow, duration: float = 3.0, **given: Any) -> Any:
    scenario = Scenario("data", LINKS, [flow], duration=duration)
    return simulate(scenario, Packets(seed=1, **given), sample=0.01)


@pytest.mark.parametrize(
    ("rule", "recovery", "given", "jitter"),
    [
        (NewReno(), "newreno", {"handshake": True}, 0.0),
        (CUBIC(), "sack", {"handshake": "data", "delayed_acks": True}, 1e-4),
        (DCTCP(), "rack", {"pacing": True, "size": 150.0}, 0.0),
        (NewReno(), "prr", {"stop": 1.1}, 0.0),
        (CUBIC(), "reno", {}, 1e-4),
    ],
)
@pytest.mark.parametrize("arrivals", [Poisson(400.0), HeavyTailed(500.0, 20.0, 1.5), Replay((0.0, 0.3), (5, 400))])
def test_both_engines_agree(arrivals: Any, rule: Any, recovery: str, given: dict[str, Any], jitter: float) -> None:
    other = Flow("b", PATH, NewReno(), start=0.2)
    scenario = Scenario("two", LINKS, [flow_of(arrivals, rule, **given), other], duration=1.5)
    plan = plan_scenario(scenario, Packets(seed=2, recovery=recovery), duration=1.5, sample=0.1, packet_jitter=jitter)
    found, wanted = run_engine(plan), run_reference(plan)
    for name in ("window", "acked", "finished", "timeouts", "round_trip"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    np.testing.assert_array_equal(found.delivered[:-1], wanted.delivered[:-1])


def test_a_window_that_is_not_used_up_does_not_grow() -> None:
    # one packet per 50 ms at a round trip of 22 ms: never more than one in flight
    run = run_of(flow_of(Replay(np.arange(0.0, 2.5, 0.05).tolist())))
    assert run.delivered[0, -1] == 50
    # the first packet is all of the first window, 1; its ACK grows it, none does later
    assert set(run.window[0][run.time > 0.1].tolist()) == {2.0}


def test_a_window_that_is_used_up_grows_as_without_arrivals() -> None:
    waiting = run_of(flow_of(Replay((0.0,), 10**6)), duration=1.0)
    endless = run_of(flow_of(None), duration=1.0)
    np.testing.assert_array_equal(waiting.window, endless.window)


def test_the_window_stays_over_an_idle_time_and_cubic_does_not_jump() -> None:
    # two bursts that the network takes without a loss, the second after 5 s
    rule = CUBIC()
    run = run_of(flow_of(Replay((0.0, 6.0), (150, 150)), rule, max_window=15.0), duration=8.0)
    assert run.lost.sum() == 0
    window, quiet = run.window[0], (run.time > 2.0) & (run.time < 6.0)
    assert len(set(window[quiet].tolist())) == 1
    # a burst acknowledges 150 packets in slow start, whatever the time between them
    assert window[-1] <= window[quiet][0] + 150.0
    both = run_of(flow_of(Replay((0.0, 2.0), (150, 150)), rule, max_window=15.0), duration=8.0)
    np.testing.assert_allclose(both.window[0, -1], window[-1], rtol=1e-9)  # times differ by 4 s


def test_cubic_does_not_count_idle_time_in_congestion_avoidance() -> None:
    last = []
    for pause in (3.0, 30.0):
        arrivals = Replay((0.0, pause), (600, 600))
        run = run_of(flow_of(arrivals, CUBIC()), duration=pause + 2.0, recovery="sack")
        assert run.loss_events[0] >= 1  # so that it grows by the time since the loss
        row = int(np.searchsorted(run.time, pause + 0.1))
        last.append(run.window[0, row])
    # 27 s of growth by 0.4 t^3 would be 7,873 packets
    np.testing.assert_allclose(last[0], last[1], rtol=1e-6)


def test_a_flow_ends_when_its_data_are_delivered() -> None:
    run = run_of(flow_of(Replay((0.0, 0.5), (5, 30))))
    assert run.delivered[0, -1] == 35
    assert 0.5 < run.finished[0] < 0.6
    run = run_of(flow_of(Poisson(500.0), size=100.0))
    assert run.delivered[0, -1] == 100
    assert math.isfinite(run.finished[0])
    run = run_of(flow_of(Poisson(500.0), stop=1.0))
    assert run.finished[0] >= 1.0
    assert run.delivered[0, -1] == run.emitted[0] > 400.0  # 500 less 4.5 standard deviations


def test_a_file_keeps_arrivals(tmp_path: Any) -> None:
    scenario = Scenario(
        "data", LINKS, [flow_of(Poisson(500.0)), Flow("b", PATH, NewReno(), arrivals=Replay((0.0, 1.0)))]
    )  # fmt: skip
    assert load_scenario(save_scenario(scenario, tmp_path / "x.toml")) == scenario


def test_what_has_no_data_that_arrive_refuses_them_by_name() -> None:
    scenario = Scenario("data", LINKS, [flow_of(Poisson(500.0))], duration=1.0)
    for method in (Fluid(), Packets(convention="ns2")):
        with pytest.raises(ValueError, match="arrivals of flow 'a' = Poisson"):
            simulate(scenario, method)
    with pytest.raises(ValueError, match="arrivals of flow 'a' = Poisson"):
        to_ns3(scenario)
