"""S08: the comparison of the fluid with ns-2 on networks that nothing was tuned to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from validation.claims.simulators import unseen_networks
from validation.claims.simulators.unseen_networks import Comparison
from validation.network_comparison import Differences
from validation.unseen_networks import NETWORKS, SET_ASIDE
from validation.verdicts import Verdict


def half(difference: float = 0.0, error: float = 0.01, **networks: float) -> Differences:
    """Return a half of 20 shares, half of them off to either side."""
    signs = np.resize([1.0, -1.0], 20)
    shares = {
        "difference": difference * signs,
        "error": error,
        "spread": networks.pop("spread", 1.0),
    }
    whole = {"ratio": 1.0, "later": 0.0} | networks
    return Differences(pd.DataFrame(shares), pd.DataFrame([whole] * 12))


def both(aside: Differences, other: Differences) -> Comparison:
    """Return a comparison, without its experiments."""
    return Comparison(aside, other, other, other, other, other)


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
def test_what_is_off_contradicts_its_statement(key: str, aside: Differences) -> None:
    good = half(0.01)
    judge = unseen_networks.judge
    assert judge(both(good, good))[key].packets is Verdict.REPRODUCED
    assert judge(both(aside, good))[key].packets is Verdict.CONTRADICTED
    verdicts = judge(both(good, aside)).values()
    assert {sides.packets for sides in verdicts} == {Verdict.REPRODUCED}, "only those set aside"


def test_the_module_of_cubic_is_compared_with_the_same_packets() -> None:
    """Three of ten parts less of the window after a loss, two of ten in ns-2's TCP/Linux."""
    network = unseen_networks.of_module()
    betas = [getattr(flow.source.params, "beta", None) for flow in network.scenario.flows]
    assert betas == [None, None, 819 / 1024, 819 / 1024]
    assert network.name == unseen_networks.MIXED in SET_ASIDE


@pytest.mark.slow
def test_both_halves_are_measured_and_losses_and_first_losses_of_the_open_one_agree() -> None:
    found = unseen_networks.measure()
    assert set(found.aside.networks["network"]) == SET_ASIDE
    assert set(found.other.networks["network"]) == set(NETWORKS) - SET_ASIDE
    assert found.other.losses < 0.2
    assert found.other.first < 0.05
    assert found.plain.first > 0.1, "transmission times are needed for the first loss"
    assert found.together.spread < found.chains.spread, "flows that lose together differ less"
    assert found.together.beyond > found.chains.beyond
    of_module, standard = (
        h.shares["difference"].abs().max() for h in (found.module, found.standard)
    )
    assert of_module < 0.6 * standard
