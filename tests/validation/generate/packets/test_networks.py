"""Networks of the packet level in ns-2: options of the programs, and rows of their outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation import evidence
from validation.generate.cases import digest
from validation.generate.packets import explained_claims, networks, unseen_networks
from validation.generate.packets.random_networks import CASES, TIMES
from validation.recomputing import RANDOM
from validation.unseen_networks import NETWORKS, instance
from validation.waterfalls import CASE

# Networks of the packet level: options of the script, and ns-2's rows.


@pytest.mark.simulators
@pytest.mark.parametrize(
    "case", ["dumbbells-ns2", "parking-lots-ns2", "delayed-acks-ns2", "takano2006-ns2"]
)
def test_ns2_repeats_the_bundled_rows_networks(repeats, case: str) -> None:
    size = 1 if case in ("parking-lots-ns2", "takano2006-ns2") else 2
    repeats(f"packets/{case}", recovery="sack", size=size, seed=2)


def test_every_link_has_its_mirror() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1}
    ((*words,),) = networks.calls(run)
    options = dict(zip(words[::2], words[1::2], strict=True))
    links = options["links"].split()
    ends = {(int(a), int(b)) for a, b in zip(links[::5], links[1::5], strict=True)}
    assert len(ends) == 10
    assert {(b, a) for a, b in ends} == ends
    assert options["agent"] == "Agent/TCP/Sack1"
    assert len(options["flows"].split()) == 4 * 2


def test_receivers_that_delay_acks_have_the_sink_for_it() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1, "delayed": True}
    ((*words,),) = networks.calls(run)
    assert "Agent/TCPSink/Sack1/DelAck" in words
    assert all(flow.delayed_acks for flow in networks.scenario_of(run).flows)


# Random networks: ns-2's rows, and the programs bundled beside them.

(CASE_RANDOM_NETWORKS,) = CASES


@pytest.mark.simulators
def test_ns2_repeats_the_bundled_rows_random_networks(repeats) -> None:
    repeats(RANDOM, seed=7)


def test_bundled_programs_are_those_of_the_recorded_commands() -> None:
    programs = evidence.table(RANDOM, "networks")["program"]
    commands = [CASE_RANDOM_NETWORKS.program.command([text]) for text in programs]
    assert digest(commands) == evidence.provenance(RANDOM)["commands"]["sha256"]
    assert commands == [
        command
        for run in CASE_RANDOM_NETWORKS.runs
        for command in CASE_RANDOM_NETWORKS.commands(run)
    ]


def test_acks_are_bundled_at_ten_times_of_which_the_last_is_the_end() -> None:
    acks, flows = (evidence.table(RANDOM, name) for name in ("acks", "flows"))
    assert len(acks) == TIMES * len(flows)
    last = acks.groupby(["seed", "flow"]).last()
    assert last["acknowledged"].tolist() == flows["acknowledged"].tolist()
    durations = evidence.table(RANDOM, "networks").set_index("seed")["duration"]
    assert (
        last["time"].round(9) == durations.loc[last.index.get_level_values("seed")].values
    ).all()


# The networks that the fluid is judged by, in ns-2: options of the script, and ns-2's rows.


@pytest.mark.simulators
@pytest.mark.parametrize("network", ["chain-5", "dumbbell-2", "newreno-aimd"])
def test_ns2_repeats_the_bundled_rows_unseen_networks(repeats, network: str) -> None:
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


# The step from the fluid to packets: commands of hopflow itself, their time, and their rows.


def test_commands_time_and_rows(tmp_path: Path) -> None:
    (case,) = explained_claims.CASES
    run = {"claim": "D18"}
    assert case.commands(run) == ["hopflow explain D18 --runs 8 --seed 0 --table table.csv"]
    assert (
        case.simulated_seconds(run) == 8 * (2 + 8) * 0.6
    )  # one refinement of the fluid, three of packets
    bundled = evidence.table(CASE).query("claim == 'D18'").drop(columns=["claim", "runs"])
    bundled.to_csv(tmp_path / "table.csv", index=False)
    rows = explained_claims.read(run, tmp_path, [])["waterfalls"]
    assert len(rows) == len(bundled)
    assert {(row["claim"], row["runs"]) for row in rows} == {("D18", 8)}
