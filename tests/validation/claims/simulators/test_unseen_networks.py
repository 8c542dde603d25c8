"""S08: the comparison of the fluid with ns-2 on networks that nothing was tuned to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from validation import evidence, network_runs
from validation.claims.simulators import unseen_networks
from validation.claims.simulators.unseen_networks import Comparison, Half
from validation.network_runs import Runs
from validation.random_networks import FRESH
from validation.unseen_networks import NETWORKS
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


def test_a_fluid_equal_to_the_packets_agrees(monkeypatch) -> None:
    table = evidence.table(network_runs.CASE)
    monkeypatch.setattr(
        unseen_networks, "runs_of", lambda network, _: network_runs.recorded(network, table)
    )
    found = unseen_networks.compare([NETWORKS["chain-8"], NETWORKS["dumbbell-2"]])
    assert found.mean_error == found.losses == found.first == 0.0
    assert found.spread == 1.0
    assert found.inside.all()


def test_errors_are_those_of_paired_runs(monkeypatch) -> None:
    """A fluid with a constant excess has a difference without error."""
    table = evidence.table(network_runs.CASE)

    def shifted(network, _):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + 0.03, 1.1 * runs.lost, 0.98 * runs.first)

    monkeypatch.setattr(unseen_networks, "runs_of", shifted)
    found = unseen_networks.compare([NETWORKS["chain-8"]])
    assert found.mean_error == pytest.approx(0.03)
    assert found.beyond == pytest.approx(0.03)
    assert found.losses == pytest.approx(0.1)
    assert found.first == pytest.approx(0.02)


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
