"""Both levels as packets shrink."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dfcmodel as dfc
from dfcmodel.results import PacketLimit
from responsefn import AIMD, CUBIC
from tests.dfcmodel.levels.conftest import by_input

# Packets approach the fluid as they shrink: at rate 1 where nothing is chaotic.


@pytest.fixture(scope="module")
def limit() -> PacketLimit:
    """Three constant rates, 1500 packets/s, into 1000 packets/s."""
    links = dfc.chain(2, rate=1000.0, delay=0.01, buffer=20)
    flows = [dfc.Flow(f"{n}", (1, 2), dfc.CBR(400.0 + 100.0 * n)) for n in range(3)]
    return dfc.packet_limit(
        dfc.Scenario("overload", links, flows, 0.2),
        ["losses", "first_loss"],
        factors=(1, 2, 4, 8),
        runs=4,
    )


def test_losses_approach_the_fluid_at_rate_one(limit) -> None:
    """A counted packet is a packet, a time is that of a packet: both are 1/factor of what they were."""
    low, high = limit.rate_interval()
    np.testing.assert_allclose(limit.rate, 1.0, atol=0.25)
    assert (low < limit.rate).all()
    assert (limit.rate < high).all()
    assert limit.distance[-1, 0] < 0.3 * limit.distance[0, 0]
    assert limit.status.ok


def test_the_rate_is_the_slope_in_logarithms(limit) -> None:
    k = np.array(limit.factors)[np.newaxis, :, np.newaxis]
    for p in (0.5, 2.0):
        known = replace(limit, packets=limit.fluid + 3.0 * k**-p)
        np.testing.assert_allclose(known.rate, p, rtol=1e-9)
        np.testing.assert_allclose(known.rate_interval(), p, rtol=1e-9)


def test_the_result_shows_itself(limit) -> None:
    data = limit.to_xarray()
    assert dict(data["packets"].sizes) == {"run": 4, "factor": 4, "quantity": 2}
    assert "p = " in repr(limit)
    assert len(limit.plot().lines) == 3


def test_wrong_arguments_are_refused_before_any_run(refused, bottleneck, monkeypatch) -> None:
    monkeypatch.delattr("dfcmodel.packet_limits.simulate")
    refused(["factors", "three"], lambda: dfc.packet_limit(bottleneck, factors=(1, 2)))
    refused(["factors"], lambda: dfc.packet_limit(bottleneck, factors=(0.5, 1, 2)))
    refused(["runs"], lambda: dfc.packet_limit(bottleneck, runs=1))
    refused(["since"], lambda: dfc.packet_limit(bottleneck, options=dfc.RandomRuns(since=1e3)))
    with pytest.raises(TypeError, match=r"^packet_jitter = '1pkt': has no effect here"):
        dfc.packet_limit(bottleneck, options=dfc.RandomRuns(packet_jitter="1pkt"))
    refused(["source"], lambda: dfc.packet_limit(dfc.takano2006("1", dfc=False)))
    refused(["both levels"], lambda: dfc.packet_limit(by_input(dfc.takano2006("1"))))
    refused(
        ["loss"],
        lambda: dfc.packet_limit(bottleneck, packets=dfc.Packets(loss={"near->router": 0.1})),
    )


@pytest.mark.slow
def test_window_flows_lose_as_the_fluid_does_in_the_limit(bottleneck) -> None:
    """Losses and times of the first loss come nearer at a rate above 1/2; shares of two flows scatter.

    In one of eight runs or so the first loss comes a round trip later at one level, at any size of packets: of its
    times the median over the runs is judged.
    """
    found = dfc.packet_limit(replace(bottleneck, duration=4.0), ["losses", "first_loss"], runs=32)
    low, high = found.rate_interval()
    assert 0.5 < low[0] < high[0] < 1.5
    assert found.distance[-1, 0] < 0.2 * found.distance[0, 0]
    first_loss = np.median(abs(found.packets - found.fluid), axis=0)[:, 1]
    assert (first_loss * np.sqrt(found.factors) <= first_loss[0]).all()


# Smaller packets: everything stays the same in bytes, and constant rates behave the same.


def test_bytes_stay_the_same(bottleneck) -> None:
    small = dfc.shrink_packets(bottleneck, 5)
    for one, other in zip(bottleneck.links, small.links, strict=True):
        assert other.rate * small.packet_size == pytest.approx(one.rate * bottleneck.packet_size)
        assert other.buffer * small.packet_size == pytest.approx(one.buffer * bottleneck.packet_size)
        assert other.delay == one.delay
    for one, other in zip(bottleneck.flows, small.flows, strict=True):
        assert other.max_window == 5 * one.max_window
        assert other.source == AIMD(5.0, 0.5)


def test_thresholds_and_rates_are_scaled(bottleneck) -> None:
    *others, last = bottleneck.links
    for rule, expected in (
        (dfc.Pause(high=20.0, low=10.0), dfc.Pause(high=80.0, low=40.0)),
        (dfc.Fair(), dfc.Fair()),
        (dfc.Priority(), dfc.Priority()),
    ):
        given = replace(bottleneck, links=(*others, replace(last, discipline=rule)))
        assert dfc.shrink_packets(given, 4).links[-1].discipline == expected
    red = replace(last, discipline=dfc.RED(low=5.0, high=15.0, weight=0.02))
    small = dfc.shrink_packets(replace(bottleneck, links=(*others, red)), 4).links[-1].discipline
    assert (small.low, small.high) == (20.0, 60.0)
    assert (1.0 - small.weight) ** 4 == pytest.approx(1.0 - 0.02)
    for source in (dfc.CBR(100.0), dfc.OnOff(100.0, 0.1, 0.2)):
        flow = replace(bottleneck.flows[0], source=source, size=50.0)
        (found,) = dfc.shrink_packets(replace(bottleneck, flows=(flow,)), 3).flows
        assert (found.source.rate, found.size) == (300.0, 150.0)


def test_a_fluid_of_constant_rates_does_not_know_the_size(bottleneck) -> None:
    """Without transmission times the fluid is linear in the unit of amounts."""
    from dfcmodel import Fluid

    flows = tuple(replace(flow, source=dfc.CBR(1200.0)) for flow in bottleneck.flows)
    given, method = replace(bottleneck, flows=flows), Fluid(store_and_forward=False)
    one, other = (dfc.simulate(dfc.shrink_packets(given, k), method, duration=0.2) for k in (1, 8))
    np.testing.assert_allclose(other.delivered / 8, one.delivered, atol=1e-6)
    np.testing.assert_allclose(other.lost.sum() / 8, one.lost.sum(), rtol=1e-6)


def test_what_has_no_known_form_is_refused(refused, bottleneck) -> None:
    refused(["factor"], lambda: dfc.shrink_packets(bottleneck, 0.5))
    refused(["source", "'target'"], lambda: dfc.shrink_packets(dfc.takano2006("1", dfc=False), 2))
    cubic = replace(bottleneck.flows[0], source=CUBIC())
    refused(["source", "CUBIC"], lambda: dfc.shrink_packets(replace(bottleneck, flows=(cubic,)), 2))
    *others, last = bottleneck.links
    links = (*others, replace(last, discipline=dfc.PIE()))
    refused(
        ["discipline", "router->end"],
        lambda: dfc.shrink_packets(replace(bottleneck, links=links), 2),
    )
