"""Random networks: what they are like, and that they are always the same ones."""

from __future__ import annotations

import pytest

from validation.random_networks import DEVELOPMENT, FRESH, KINDS, draw_network, draw_networks


def test_networks_are_repeated_by_their_seed() -> None:
    assert draw_networks(2, {"chain": 2})["chain-2-1"] == FRESH["chain-2-1"]
    for kind in KINDS:
        assert draw_network(kind, 0, 7) == draw_network(kind, 0, 7)
        assert draw_network(kind, 0, 7).scenario != draw_network(kind, 1, 7).scenario


def test_fresh_networks_are_none_of_those_for_development() -> None:
    assert len(DEVELOPMENT) == 60
    assert len(FRESH) == 30
    assert not {n.scenario.links for n in FRESH.values()} & {
        n.scenario.links for n in DEVELOPMENT.values()
    }


@pytest.mark.parametrize("name", [*DEVELOPMENT, *FRESH])
def test_a_network_is_within_its_ranges(name: str) -> None:
    network = {**DEVELOPMENT, **FRESH}[name]
    scenario = network.scenario
    narrow = [link for link in scenario.links if link.rate == network.rate]
    assert all(link.buffer >= 30.0 for link in narrow)
    assert 6.0 <= scenario.duration <= 24.0
    assert network.rate * 1.001 >= 20e6 / 12000
    assert network.rate <= 150e6 / 12000
    if network.topology == "chain":
        assert 5 <= len(scenario.nodes) <= 80
    if network.topology == "dumbbell":
        assert 2 <= len(scenario.flows) <= 128
        assert set(network.groups) == {"early", "late"}
    if network.topology == "mixed rules":
        assert len({type(flow.source) for flow in scenario.flows}) in (2, 3)
