"""The networks that the fluid is judged by, in ns-2: options of the script, and ns-2's rows."""

from __future__ import annotations

import pytest

from validation.generate.packets import unseen_networks
from validation.unseen_networks import NETWORKS, instance


@pytest.mark.simulators
@pytest.mark.parametrize("network", ["chain-5", "dumbbell-2", "newreno-aimd"])
def test_ns2_repeats_the_bundled_rows(repeats, network: str) -> None:
    repeats("packets/unseen-networks-ns2", network=network, seed=3)


def options(network: str, seed: int = 1) -> dict[str, str]:
    ((*words,),) = unseen_networks.calls({"network": network, "seed": seed})
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_delays_and_starts_are_those_of_the_instance_and_waits_one_packet_time(name: str) -> None:
    network, scenario, words = NETWORKS[name], instance(NETWORKS[name], 5), options(name, 5)
    links = words["links"].split()
    delays = [float(delay) for delay in links[3::5]]
    assert delays[::2] == delays[1::2] == [link.delay for link in scenario.links]
    starts = [float(flow.split()[2]) for flow in words["flows"].strip("{}").split("}} {")]
    assert starts == [flow.start for flow in scenario.flows]
    assert float(words["overhead"]) * network.rate == pytest.approx(1.0)


def test_only_queues_of_data_are_bounded() -> None:
    links = options("chain-5")["links"].split()
    assert links[4::5] == ["60", "1000000"] * 4


def test_each_rule_has_its_sender() -> None:
    """AIMD(a, b) keeps 1 - b of the window, which is what ns-2's decrease_num_ is."""
    flows = options("newreno-aimd")["flows"]
    assert flows.count(" 100 Newreno {}}") == 2
    assert flows.count(" 100 Newreno {increase_num_ 0.2 decrease_num_ 0.875}}") == 2
    assert options("newreno-cubic")["flows"].count(" 200 Linux/cubic {}}") == 2
    assert options("parking-lot-4")["flows"].count(" Sack1 {}}") == 6
    assert options("dumbbell-2")["flows"].count(" Tahoe {}}") == 2


def test_a_dropped_acknowledgement_is_refused(tmp_path) -> None:
    """The fluid has none, so that the comparison would be another."""
    (tmp_path / "drops.txt").write_text("d 0.5 2 1 ack 40 ------- 0 3.0 1.0 7 12\n")
    (tmp_path / "flows.txt").write_text("0 1 2 3 0 0\n")
    with pytest.raises(ValueError, match="an ACK was dropped"):
        unseen_networks.read({"network": "chain-5", "seed": 1}, tmp_path, [])


def test_drops_are_counted_by_flow(tmp_path) -> None:
    lines = (f"d {t} 0 1 tcp 1500 ------- {f} 0.0 1.0 7 12" for t, f in ((0.5, 1), (0.7, 1)))
    (tmp_path / "drops.txt").write_text("\n".join(lines))
    (tmp_path / "flows.txt").write_text("0 1 20 30 0 0\n1 5 25 40 2 1\n")
    rows = unseen_networks.read({"network": "chain-5", "seed": 1}, tmp_path, [])["flows"]
    assert [(row["drops"], row["acknowledged"]) for row in rows] == [(0, 20), (2, 25)]
    assert rows[1]["first_drop"] == 0.5
