"""The bundled networks as scenarios."""

from __future__ import annotations

import pytest

from validation.packet_networks import HOPS, sample_hash, scenario_of

RUN = {"recovery": "reno", "size": 2, "seed": 1}


def test_a_dumbbell_has_a_flow_for_each_pair() -> None:
    scenario = scenario_of({**RUN, "topology": "dumbbell", "delayed": True})
    assert [flow.path[1:3] for flow in scenario.flows] == [("left", "right")] * 2
    assert all(flow.delayed_acks and 0.0 <= flow.start < 0.5 for flow in scenario.flows)


def test_a_parking_lot_has_long_flows_and_as_many_over_each_hop() -> None:
    scenario = scenario_of({**RUN, "topology": "parking lot"})
    hops = [len(flow.hops) for flow in scenario.flows]
    assert hops == [HOPS + 2, *[3] * HOPS] * 2
    assert not any(flow.delayed_acks for flow in scenario.flows)


def test_chains_of_takano2006_start_as_in_the_paper_or_up_to_a_millisecond_later() -> None:
    starts = [
        [flow.start for flow in scenario_of({**RUN, "topology": "takano2006", "seed": seed}).flows]
        for seed in (0, 1)
    ]
    assert starts[0] == [0.0, 0.1]
    assert all(0.0 < late - own < 1e-3 for own, late in zip(*starts, strict=True))


def test_starts_depend_on_the_seed() -> None:
    starts = [
        [flow.start for flow in scenario_of({**RUN, "topology": "dumbbell", "seed": seed}).flows]
        for seed in (1, 2)
    ]
    assert starts[0] != starts[1]


@pytest.mark.parametrize(("one", "other"), [((1.0, 3), (1.5, 3)), ((1.0, 3), (1.0, 4))])
def test_a_hash_tells_windows_and_acknowledgements_apart(one, other) -> None:
    hashes = {sample_hash([window], [acked]) for window, acked in (one, other)}
    assert len(hashes) == 2
    assert sample_hash([1.0000001], [3]) == sample_hash([1.0], [3])
