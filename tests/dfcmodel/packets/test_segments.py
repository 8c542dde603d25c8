"""Segments of senders: both engines alike, what is sent together, and the acknowledgement of a pushed packet."""

from __future__ import annotations

from typing import Any

import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import LEDBAT, BBRv1, NewReno
from responsefn.linux import LinuxCUBIC, LinuxHSTCP, LinuxScalable
from tests.dfcmodel.packets.conftest import plan_of
from tests.oracles.engines import equal_records

BBR_OF_LINUX = BBRv1(pacing_margin=0.01, probe_packets=2.0, min_rtt_tick=1e-6, extra_acked_rounds=10.0, segments=1)


def path(rules: Any, rate: float, buffer: float, duration: float, **options: Any) -> Scenario:
    """Return flows with the stack of Linux over a link and one back, of which the second starts later."""
    links = (Link("a", "b", rate, 0.02, buffer), Link("b", "a", rate, 0.02, 1000.0))
    flows = tuple(
        Flow(str(n), ("a", "b"), rule, 2000.0, start=0.03 * n, stack="linux-6.12", quick_acks=20, **options)
        for n, rule in enumerate(rules)
    )  # fmt: skip
    return Scenario("segments", links, flows, duration=duration)


@pytest.mark.parametrize("jitter", [0.0, 5e-4])
@pytest.mark.parametrize(
    ("rules", "rate", "options"),
    [
        ((NewReno(), LinuxCUBIC()), 1000.0, {}),
        ((LinuxHSTCP(), BBR_OF_LINUX), 1500.0, {}),
        ((NewReno(), LinuxScalable()), 6000.0, {}),
        ((NewReno(), LEDBAT()), 1000.0, {"pacing": True}),
    ],
    ids=["windows", "BBR", "large", "paced"],
)
def test_segments_run_bit_equal_in_both_engines(rules: Any, rate: float, options: Any, jitter: float) -> None:
    method = Packets(seed=3, ack_delay=0.04, loss={"a->b": 1e-3})
    scenario = path(rules, rate, 30.0, duration=max(2000.0 / rate, 0.6), **options)
    run = equal_records(plan_of(scenario, method, jitter=jitter))
    assert (run.imbalance == 0.0).all()
    assert run.drops.sum() > 0


def test_the_last_packet_of_a_segment_is_acknowledged_at_once() -> None:
    """11 packets in five segments of two and one more, of which the first is acknowledged alone.

    Every packet that ends a segment is acknowledged at once, the last one after 40 ms: seven ACKs. Without segments six: the
    first one, then one for every second.
    """
    grown = {}
    for segments in (False, True):
        links = (Link("a", "b", 1e4, 0.02, 1000.0), Link("b", "a", 1e4, 0.02, 1000.0))
        flow = Flow("f", ("a", "b"), NewReno(), size=11, initial_window=11, delayed_acks=True,
                    quick_acks=1, segments=segments)  # fmt: skip
        scenario = Scenario("one window", links, [flow], duration=0.2)
        run = simulate(scenario, Packets(seed=1, recovery="rack", ack_delay=0.04), sample=1e-3)
        grown[segments] = run.window[0, -1] - 11.0
    assert grown == {False: 6.0, True: 7.0}


@pytest.mark.parametrize("value", [2, "yes", 0.5])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="segments of flow 'f'"):
        Flow("f", ("a", "b"), NewReno(), segments=value)


@pytest.mark.parametrize(
    ("rule", "recovery"),
    [(NewReno(), None), (NewReno(), "prr"), (NewReno(), "go-back-n"), (LEDBAT(), None)],
)
def test_segments_are_refused_where_they_cannot_be(rule: Any, recovery: str | None) -> None:
    """With a stack they are off there, so that its recovery can be switched."""
    links = [Link("a", "b", 1000.0, 0.02, 30)]
    flow = Flow("f", ("a", "b"), rule, segments=True)
    with pytest.raises(ValueError, match="segments of flow 'f' = True"):
        simulate(Scenario("one", links, [flow], duration=1.0), Packets(recovery=recovery))
    whole = Flow("f", ("a", "b"), rule, stack="linux-6.12")
    assert simulate(Scenario("one", links, [whole], duration=1.0), Packets(recovery=recovery))
