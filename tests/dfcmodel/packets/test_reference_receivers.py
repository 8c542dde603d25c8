"""Receivers: cumulative and selective acknowledgements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from responsefn import NewReno
from tests.oracles.engines import ENGINES, NAMES
from tests.oracles.packets.receivers import Packet, Receiver


def answers(numbers, *, selective: bool):
    """Return (number, blocks) of the ACKs that packets of these numbers get."""
    receiver = Receiver(selective)
    found = []
    for number in numbers:
        packet = Packet(0, number, 0.0)
        receiver.take(packet)
        ack = receiver.answer(packet)
        found.append((ack.number, ack.blocks))
    return found


def test_acknowledgements_are_cumulative() -> None:
    got = [number for number, _ in answers((0, 1, 3, 4, 2, 5), selective=False)]
    assert got == [0, 1, 1, 1, 4, 5]


def test_blocks_say_what_arrived_out_of_order_the_latest_first() -> None:
    """RFC 2018, section 4: the first block holds the packet that caused the ACK."""
    got = answers((0, 2, 5, 3, 1), selective=True)
    assert [blocks for _, blocks in got] == [
        (), ((2, 3),), ((5, 6), (2, 3)), ((2, 4), (5, 6)), ((5, 6),),
    ]  # fmt: skip
    assert got[-1][0] == 3


def test_an_echo_lasts_until_the_sender_has_reduced_its_window() -> None:
    """RFC 3168, 6.1.3: CE sets ECE, CWR clears it; a packet with both sets it anew."""
    receiver = Receiver(selective=False)
    got = []
    for number, marked, reduced in (
        (0, False, False), (1, True, False), (2, False, False), (3, False, True), (4, True, True),
    ):  # fmt: skip
        packet = Packet(0, number, 0.0, marked=marked, reduced=reduced)
        receiver.take(packet)
        got.append(receiver.answer(packet).marked)
    assert got == [False, True, True, False, True]


def test_an_accurate_echo_is_of_each_packet() -> None:
    """RFC 8257, 3.2."""
    receiver = Receiver(selective=False, accurate=True)
    got = []
    for number, marked in enumerate((False, True, False, True, True)):
        packet = Packet(0, number, 0.0, marked=marked)
        receiver.take(packet)
        got.append(receiver.answer(packet).marked)
    assert got == [False, True, False, True, True]


@pytest.mark.parametrize("simulate", ENGINES, ids=NAMES)
def test_the_ack_of_a_single_packet_comes_when_its_timer_expires(one_link, simulate: Any) -> None:
    """RFC 1122, 4.2.3.2: a transfer of one packet ends a delay later, and no more."""
    flows = (replace(one_link.flows[0], size=1.0),)
    trips = []
    for delayed in (False, True):
        scenario = replace(one_link, flows=(replace(flows[0], delayed_acks=delayed),))
        run = simulate(scenario, method=Packets(ack_delay=0.04), duration=0.5)
        trips.append(run.round_trip[0, -1])
        assert run.timeouts.sum() == 0
    assert trips[1] - trips[0] == pytest.approx(0.04, abs=1e-12)


def test_delayed_acks_slow_growth_by_the_square_root_of_two() -> None:
    """Rate ~ sqrt(3 / (2 b p)) (Padhye et al. 1998, eq. 20): b = 2 against b = 1, timeouts aside.

    Ten independent stretches have a standard error of about 2 % each.
    """
    rates = []
    for delayed in (False, True):
        links = (Link("a", "b", 1e5, 0.05, 1e3),)
        flow = Flow("f", ("a", "b"), NewReno(), delayed_acks=delayed)
        scenario = Scenario("lossy", links, (flow,), duration=2000.0)
        method = Packets(seed=1, recovery="sack", loss={"a->b": 1e-3}, ack_delay=0.01)
        rates.append(np.ptp(simulate(scenario, method=method, sample=10.0).delivered[0]))
    assert rates[1] / rates[0] == pytest.approx(np.sqrt(0.5), rel=0.05)
