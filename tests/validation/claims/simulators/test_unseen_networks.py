"""S08: the comparison of the fluid with ns-2 on networks that nothing was tuned to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dfcmodel import Fluid
from validation import evidence
from validation.claims.simulators import unseen_networks
from validation.claims.simulators.unseen_networks import Comparison, Half, Runs
from validation.random_networks import FRESH
from validation.unseen_networks import NETWORKS, SEEDS
from validation.verdicts import Verdict


def half(difference: float = 0.0, error: float = 0.01, **networks: float) -> Half:
    """Return a half of 20 shares, half of them off to either side."""
    signs = np.resize([1.0, -1.0], 20)
    shares = {
        "difference": difference * signs,
        "error": error,
        "spread": networks.pop("spread", 1.0),
    }
    whole = {"ratio": 1.0, "later": 0.0} | networks
    return Half(pd.DataFrame(shares), pd.DataFrame([whole] * 12))


def both(aside: Half, other: Half) -> Comparison:
    """Return a comparison, without its experiments."""
    return Comparison(aside, other, other, other, other, other, other)


@pytest.mark.parametrize(
    ("key", "aside"),
    [
        ("shares", half(0.021, 0.02)),
        ("worst", half(0.09, 0.01)),
        ("losses", half(ratio=0.79)),
        ("first", half(later=-0.051)),
        ("spread", half(spread=0.6)),
        ("spread", half(spread=1.6)),
        ("interval", half(0.019, 0.005)),
    ],
)
def test_what_is_off_contradicts_its_statement(key: str, aside: Half) -> None:
    good = half(0.01)
    judge = unseen_networks.judge
    assert judge(both(good, good))[key].packets is Verdict.REPRODUCED
    assert judge(both(aside, good))[key].packets is Verdict.CONTRADICTED
    verdicts = judge(both(good, aside)).values()
    assert {sides.packets for sides in verdicts} == {Verdict.REPRODUCED}, "only the fresh ones"


def test_packets_are_those_of_the_table() -> None:
    """Goodput by hand, from the acknowledgements of one run."""
    network = NETWORKS["chain-5"]
    table = evidence.table(unseen_networks.CASE)
    runs = unseen_networks.recorded(network, table)
    rows = table[(table["network"] == "chain-5") & (table["seed"] == 1)]
    sent = (rows["acknowledged"] - rows["acknowledged_since"]).to_numpy()
    np.testing.assert_allclose(runs.shares[0], sent / (50e6 / 12000 * 6.0))
    assert runs.lost[0] == rows["drops"].sum()
    assert runs.first[0] == rows["first_drop"].min()
    assert runs.shares.shape == (len(SEEDS), 2)


def test_shares_of_a_network_do_not_exceed_its_links() -> None:
    """All flows cross one bottleneck; a cumulative ACK can jump over what path and buffer hold."""
    table = evidence.table(unseen_networks.CASE)
    for name in ("chain-5", "dumbbell-32"):
        network = NETWORKS[name]
        scenario = network.scenario
        holds = network.rate * scenario.base_rtt(scenario.flows[0]) + 250.0
        jump = holds / network.rate / (scenario.duration - network.since)
        fluid = unseen_networks.runs_of(network, Fluid(1, recovery=network.recovery))
        for runs in (unseen_networks.recorded(network, table), fluid):
            assert runs.shares.shape == (16, 2)
            assert runs.shares.sum(axis=1).max() < 1.0 + jump
            assert runs.shares.sum(axis=1).min() > 0.5


def test_a_fluid_equal_to_the_packets_agrees(monkeypatch) -> None:
    table = evidence.table(unseen_networks.CASE)
    monkeypatch.setattr(
        unseen_networks, "runs_of", lambda network, _: unseen_networks.recorded(network, table)
    )
    found = unseen_networks.compare([NETWORKS["chain-8"], NETWORKS["dumbbell-2"]])
    assert found.mean_error == found.losses == found.first == 0.0
    assert found.spread == 1.0
    assert found.inside.all()


def test_errors_are_those_of_paired_runs(monkeypatch) -> None:
    """A fluid with a constant excess has a difference without error."""
    table = evidence.table(unseen_networks.CASE)

    def shifted(network, _):  # type: ignore[no-untyped-def]
        runs = unseen_networks.recorded(network, table)
        return Runs(runs.shares + 0.03, 1.1 * runs.lost, 0.98 * runs.first)

    monkeypatch.setattr(unseen_networks, "runs_of", shifted)
    found = unseen_networks.compare([NETWORKS["chain-8"]])
    assert found.mean_error == pytest.approx(0.03)
    assert found.beyond == pytest.approx(0.03)
    assert found.losses == pytest.approx(0.1)
    assert found.first == pytest.approx(0.02)


def test_the_transmission_time_of_a_packet_has_eight_steps() -> None:
    for network in (*NETWORKS.values(), *FRESH.values()):
        shortest = min(link.delay for link in network.scenario.links)
        step = shortest / unseen_networks.steps_of(network)
        assert step * network.rate <= 1 / 8 + 1e-12


def test_a_fresh_network_is_compared_with_the_packet_level() -> None:
    """By ns-2's conventions where ns-2 has the rules; of those seen before ns-2's runs are bundled."""
    conventions = {
        network.name: unseen_networks.packet_level(network).convention for network in FRESH.values()
    }
    assert conventions["chain-2-0"] == "ns2"
    assert conventions["mixed-rules-2-1"] == "standard", "Reno, AIMD and CUBIC"
    network = FRESH["round-trips-2-2"]
    runs = unseen_networks.packets_of(network)
    assert runs.shares.shape == (16, 2)
    assert runs.lost.std() > 0.0


def test_the_module_of_cubic_is_compared_with_the_same_packets() -> None:
    """Three of ten parts less of the window after a loss, two of ten in ns-2's TCP/Linux."""
    network = unseen_networks.of_module()
    betas = [getattr(flow.source.params, "beta", None) for flow in network.scenario.flows]
    assert betas == [None, None, 819 / 1024, 819 / 1024]
    assert network.name == unseen_networks.MIXED in NETWORKS


@pytest.mark.slow
def test_fresh_networks_and_those_seen_before_are_measured_and_agree() -> None:
    found = unseen_networks.measure()
    assert set(found.aside.networks["network"]) == set(FRESH)
    assert set(found.other.networks["network"]) == set(NETWORKS)
    assert found.other.mean_error < 0.03
    assert found.plain.first > 0.1, "transmission times are needed for the first loss"
    assert found.together.spread < found.chains.spread, "flows that lose together differ less"
    assert found.together.beyond > found.chains.beyond
