"""Responses to pauses, and the sizes of frames that they count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import PFC, ByteBuffer, Flow, Packets, Scenario, chain, headroom
from dfcmodel.network.frame_sizes import BLOCK, HEADER, SHORTEST_FRAME
from dfcmodel.network.pause_responses import (
    ACK_BYTES,
    QUANTUM,
    RESPONSE_QUANTA,
    default_headroom,
    listed_rate,
    small_packet_factor,
)
from hopflow import gbps
from hopflow.tcp_constants import MAX_SACK_BLOCKS
from responsefn import NewReno
from tests.oracles.engines import plan_scenario

# The default headroom of PFC: that of `headroom` for the link, and what is assumed where the standard has no value.

BYTES = 1500.0


@pytest.mark.parametrize("rate", RESPONSE_QUANTA)
@pytest.mark.parametrize("metres", [1.0, 300.0])
def test_it_is_the_headroom_of_the_cable_without_preambles_and_gaps(
    rate: float, metres: float
) -> None:
    """`headroom` rounds delays up to bit times: within a byte; preambles and gaps are 20 bytes of 1520."""
    port = headroom(f"{rate:.0f}bps", f"{metres:g}m", mtu=1500)
    parts = {item.name: item.bytes[1] for item in port.items}
    whole = sum(parts.values()) - parts["preambles, gaps and phase"]
    found = default_headroom(rate / (8.0 * BYTES), metres / 2e8, BYTES) * BYTES
    assert found == pytest.approx(whole, abs=1.0)
    assert port.bytes <= found <= 1.02 * port.bytes + 2.0 * BYTES


def test_rates_that_are_not_listed_take_the_response_of_the_next_faster_one() -> None:
    rates = [1e6, 100e6, 99e9, 100e9 * (1.0 + 1e-12), 101e9, 3.2e12]
    assert listed_rate(rates).tolist() == [100e6, 100e6, 100e9, 100e9, 200e9, 800e9]
    delay, bits = 1e-6, 24e9
    response = QUANTUM * 80 / 25e9  # s
    wanted = 2.0 + (92.0 + bits / 8.0 * (2.0 * delay + response)) / BYTES
    assert default_headroom(bits / 12e3, delay, BYTES) == pytest.approx(wanted, rel=1e-12)
    with pytest.raises(ValueError, match="response at 24 Gb/s: must be given"):
        headroom("24Gbps", "200m")


def test_signalling_is_a_pipeline_and_arrays_are_taken() -> None:
    rate = gbps(100)
    more = default_headroom(rate, 1e-6, BYTES, 3e-6) - default_headroom(rate, 1e-6, BYTES)
    assert more == pytest.approx(3e-6 * rate)
    rates = np.array([rate, 2.0 * rate])
    found = default_headroom(rates, 1e-6, BYTES)
    assert found.tolist() == [default_headroom(each, 1e-6, BYTES) for each in rates]


def test_acks_in_the_class_take_whole_cells() -> None:
    """An ACK of 40 bytes takes a cell of 80: the room for what comes is twice as large."""
    cells = ByteBuffer("10 MB", cell=80)
    rule = PFC(acks="class")
    plain = rule.room(1e6, 1e-6, 1600.0, 1e4) - rule.xoff
    assert rule.room(1e6, 1e-6, 1600.0, cells) - rule.xoff == pytest.approx(2.0 * plain)
    assert replace(rule, acks="control").room(1e6, 1e-6, 1600.0, cells) - rule.xoff == plain
    assert replace(rule, headroom=5.0).room(1e6, 1e-6, 1600.0, cells) == rule.xoff + 5.0
    assert small_packet_factor(ByteBuffer("10 MB"), 1500.0) == 1.0
    assert small_packet_factor(ByteBuffer("10 MB", cell=64), 6400.0) == 1.6


# Packets without data have the same sizes wherever they are counted.


def test_acks_of_the_packet_level_are_those_of_the_headroom() -> None:
    links = chain(2, rate=1e4, delay=1e-3, buffer=10)
    scenario = Scenario("one", links, [Flow("one", (1, 2), NewReno())], duration=0.1)
    plan = plan_scenario(scenario, Packets(), duration=0.1, sample=0.1)
    assert plan.sizes[1:6].tolist() == [
        *ACK_BYTES[:-1],
        HEADER + MAX_SACK_BLOCKS * BLOCK,
        SHORTEST_FRAME,
    ]
    assert ACK_BYTES[-1] == SHORTEST_FRAME == HEADER + MAX_SACK_BLOCKS * BLOCK
