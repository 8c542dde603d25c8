"""Packets approach the fluid as they shrink: at rate 1 where nothing is chaotic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, Flow, PacketLimit, Packets, Scenario, chain, packet_limit, takano2006
from tests.dfcmodel.levels.conftest import by_input


@pytest.fixture(scope="module")
def limit() -> PacketLimit:
    """Three constant rates, 1500 packets/s, into 1000 packets/s."""
    links = chain(2, rate=1000.0, delay=0.01, buffer=20)
    flows = [Flow(f"{n}", (1, 2), CBR(400.0 + 100.0 * n)) for n in range(3)]
    return packet_limit(
        Scenario("overload", links, flows, 0.2),
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
    monkeypatch.delattr("dfcmodel.levels.packet_limits.simulate")
    refused(["factors", "three"], lambda: packet_limit(bottleneck, factors=(1, 2)))
    refused(["factors"], lambda: packet_limit(bottleneck, factors=(0.5, 1, 2)))
    refused(["runs"], lambda: packet_limit(bottleneck, runs=1))
    refused(["source"], lambda: packet_limit(takano2006("1", dfc=False)))
    refused(["both levels"], lambda: packet_limit(by_input(takano2006("1"))))
    refused(["loss"], lambda: packet_limit(bottleneck, packets=Packets(loss={"near->router": 0.1})))


@pytest.mark.slow
def test_window_flows_lose_as_the_fluid_does_in_the_limit(bottleneck) -> None:
    """Rates of losses and of the first loss have intervals above 1/2; shares of two flows scatter."""
    found = packet_limit(replace(bottleneck, duration=4.0), ["losses", "first_loss"], runs=8)
    low, high = found.rate_interval()
    assert (low > 0.5).all()
    assert (high < 1.5).all()
    assert (found.distance[-1] < 0.2 * found.distance[0]).all()
