"""Nothing is lost in random networks with PFC and its defaults; with less headroom it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import PFC, ByteBuffer, Flow, Link, Packets, Scenario, simulate
from hopflow import Status, gbps
from responsefn import DCQCN
from validation.lossless_networks import KINDS, check_lossless, draw_lossless_network


def with_headroom(scenario: Scenario, headroom: float) -> Scenario:
    links = [
        replace(link, discipline=replace(link.discipline, headroom=headroom))
        for link in scenario.links
    ]
    return replace(scenario, links=tuple(links))


def test_networks_are_of_all_kinds_and_the_same_again() -> None:
    drawn = [draw_lossless_network(5, n) for n in range(12)]
    assert drawn == [draw_lossless_network(5, n) for n in range(12)]
    assert {each.name.split()[0] for each in drawn} == set(KINDS)
    assert {each.links[0].discipline.acks for each in drawn} == {"control", "class"}
    assert all(each.links[0].discipline.headroom is None for each in drawn)


def test_nothing_is_lost_in_five_networks_and_with_little_headroom_it_is() -> None:
    drawn = [draw_lossless_network(1, n) for n in range(2, 7)]
    found = [check_lossless(each) for each in drawn]
    assert all(each.holds for each in found), found
    assert sum(each.pauses for each in found) > 20
    found = [check_lossless(with_headroom(each, 1.0)) for each in drawn]
    assert sum(each.lost > 0.0 for each in found) >= 2
    assert not any(each.holds for each in found if each.lost > 0.0)


def test_nothing_is_lost_in_a_fluid_network() -> None:
    found = check_lossless(draw_lossless_network(1, 3, fluid=True), fluid=True)
    assert found.holds, found
    assert found.pauses > 0


def test_an_all_to_all_of_16_hosts_completes_with_no_option_set() -> None:
    """Two leaves and a spine, 400 Gb/s and 3.2 Tb/s; 15 transfers of 256 packets per host take 0.315 ms at least."""
    size, rule = 4096, PFC((0,))
    rate = gbps(400, size)
    leaves = {f"h{n}": f"leaf{n // 8}" for n in range(16)}
    ends = [(host, leaf, rate) for host, leaf in leaves.items()]
    ends += [(leaf, "spine", 8.0 * rate) for leaf in ("leaf0", "leaf1")]
    links = tuple(
        Link(*way, speed, 0.5e-6, ByteBuffer("16 MB"), rule)
        for a, b, speed in ends
        for way in ((a, b), (b, a))
    )
    flows = tuple(
        Flow(
            f"{a} to {b}",
            (a, *(dict.fromkeys([leaves[a], *["spine"] * (leaves[a] != leaves[b]), leaves[b]])), b),
            DCQCN(),
            size=256,
        )
        for a in leaves
        for b in leaves
        if a != b
    )
    scenario = Scenario("all to all", links, flows, duration=2e-3, packet_size=size)
    run = simulate(scenario, Packets(seed=1), sample=1e-4)
    assert run.status is Status.COMPLETED
    assert run.lost.sum() == 0.0
    assert np.isfinite(run.finished).sum() == len(flows) == 240
    assert 15 * 256 / rate < run.finished.max() < 0.35e-3


@pytest.mark.slow
def test_nothing_is_lost_in_two_hundred_networks() -> None:
    found = [check_lossless(draw_lossless_network(1, n)) for n in range(200)]
    assert all(each.holds for each in found), [each for each in found if not each.holds]


@pytest.mark.slow
def test_nothing_is_lost_in_two_hundred_fluid_networks() -> None:
    drawn = [draw_lossless_network(1, n, fluid=True) for n in range(200)]
    found = [check_lossless(each, fluid=True) for each in drawn]
    assert all(each.holds for each in found), [each for each in found if not each.holds]
