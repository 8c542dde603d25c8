"""Runs of the networks that the fluid is judged by: ns-2's and our own."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Fluid
from validation import evidence, network_runs
from validation.random_networks import DEVELOPMENT, FRESH
from validation.unseen_networks import NETWORKS, SEEDS


def test_packets_are_those_of_the_table() -> None:
    """Goodput by hand, from the acknowledgements of one run."""
    network = NETWORKS["chain-5"]
    table = evidence.table(network_runs.CASE)
    runs = network_runs.recorded(network, table)
    rows = table[(table["network"] == "chain-5") & (table["seed"] == 1)]
    sent = (rows["acknowledged"] - rows["acknowledged_since"]).to_numpy()
    np.testing.assert_allclose(runs.shares[0], sent / (50e6 / 12000 * 6.0))
    assert runs.lost[0] == rows["drops"].sum()
    assert runs.first[0] == rows["first_drop"].min()
    assert runs.shares.shape == (len(SEEDS), 2)


@pytest.mark.parametrize("name", ["chain-5", pytest.param("dumbbell-32", marks=pytest.mark.slow)])
def test_shares_of_a_network_do_not_exceed_its_links(name: str) -> None:
    """All flows cross one bottleneck; a cumulative ACK can jump over what path and buffer hold."""
    table = evidence.table(network_runs.CASE)
    network = NETWORKS[name]
    scenario = network.scenario
    holds = network.rate * scenario.base_rtt(scenario.flows[0]) + 250.0
    jump = holds / network.rate / (scenario.duration - network.since)
    fluid = network_runs.runs_of(network, Fluid(1, recovery=network.recovery))
    for runs in (network_runs.recorded(network, table), fluid):
        assert runs.shares.shape == (16, 2)
        assert runs.shares.sum(axis=1).max() < 1.0 + jump
        assert runs.shares.sum(axis=1).min() > 0.5


def test_no_step_is_shorter_than_the_time_of_a_packet() -> None:
    for network in NETWORKS.values():
        m = network_runs.steps_of(network)
        shortest = min(link.delay for link in network.scenario.links)
        assert m == 1 or m <= 4
        assert m == 1 or shortest / m * network.rate >= 1.0


def test_the_packet_level_has_ns2s_conventions_where_ns2_has_the_rules() -> None:
    conventions = {
        network.name: network_runs.packet_level(network).convention for network in FRESH.values()
    }
    assert conventions["chain-2-0"] == "ns2"
    assert conventions["mixed-rules-2-1"] == "standard", "Reno, AIMD and CUBIC"


def test_a_network_that_ns2_did_not_run_is_compared_with_the_packet_level() -> None:
    """Those for development; ns-2's runs of the others are bundled."""
    cases = {network_runs.bundled(network) for network in DEVELOPMENT.values()}
    assert cases == {None}
    for case, networks in network_runs.CASES.items():
        assert {network_runs.bundled(network) for network in networks.values()} == {case}
    network = DEVELOPMENT["mixed-rules-1-3"]
    runs = network_runs.packets_of(network)
    level = network_runs.runs_of(network, network_runs.packet_level(network))
    np.testing.assert_array_equal(runs.shares, level.shares)
    assert runs.lost.std() > 0.0
