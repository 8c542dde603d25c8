"""The networks that the fluid is judged by: what they are, their halves, their random instances."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from validation.unseen_networks import LATER, LONGER, NETWORKS, SEEDS, SET_ASIDE, instance


def test_half_of_each_topology_is_set_aside_by_the_hash_of_the_names() -> None:
    """Names are fixed before anything is run, so that the choice can favour no result."""
    by_topology: dict[str, list[str]] = {}
    for network in NETWORKS.values():
        by_topology.setdefault(network.topology, []).append(network.name)
    assert len(NETWORKS) == 24
    for names in by_topology.values():
        first = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        assert set(first[: len(names) // 2]) == SET_ASIDE & set(names)


def test_chains_have_5_to_80_nodes_and_dumbbells_2_to_128_flows() -> None:
    of = {network.topology: [] for network in NETWORKS.values()}  # type: dict[str, list[int]]
    for network in NETWORKS.values():
        scenario = network.scenario
        counted = scenario.nodes if network.topology == "chain" else scenario.flows
        of[network.topology].append(len(counted))
    assert (min(of["chain"]), max(of["chain"])) == (5, 80)
    assert (min(of["dumbbell"]), max(of["dumbbell"])) == (2, 128)


@pytest.mark.parametrize("name", NETWORKS)
def test_delays_are_generic_and_starts_random(name: str) -> None:
    network = NETWORKS[name]
    one, again, other = (instance(network, seed) for seed in (1, 1, 2))
    assert one == again != other
    plain = network.scenario
    longer = np.array([a.delay / b.delay for a, b in zip(one.links, plain.links, strict=True)])
    later = np.array([a.start - b.start for a, b in zip(one.flows, plain.flows, strict=True)])
    assert len(set(longer)) == len(longer)
    assert longer.min() >= 1.0
    assert longer.max() <= 1.0 + LONGER
    assert later.min() >= 0.0
    assert later.max() <= LATER
    assert len(SEEDS) == 16


@pytest.mark.parametrize("name", [n for n, v in NETWORKS.items() if v.topology == "mixed rules"])
def test_no_flow_of_mixed_rules_fills_path_and_buffer_by_itself(name: str) -> None:
    network = NETWORKS[name]
    for flow in network.scenario.flows:
        narrow = min(network.scenario.path(flow), key=lambda link: link.rate)
        room = narrow.rate * network.scenario.base_rtt(flow) + narrow.buffer
        assert flow.max_window < room
        everyone = sum(each.max_window for each in network.scenario.flows)
        assert everyone > room, "together they lose packets"
