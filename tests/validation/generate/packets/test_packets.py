"""The packet level's networks in ns-2 and ns-3: options and rows, and our levels beside them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import ns3_sharing
from benchmarks.ns3_sharing import FOLDER, TARGET, bottleneck, matched_share
from dfcmodel import PIE, CoDel, Fluid, Packets, QueueManager, simulate, to_ns2
from dfcmodel.sharing.bottlenecks import Bottleneck
from responsefn import CUBIC, BBRv1, NewReno
from tests.surface import for_each
from validation import evidence, table
from validation.display.waterfalls import CASE
from validation.generate.cases import digest
from validation.generate.packets import (
    explained_claims,
    exported,
    managed_queues,
    networks,
    random_networks,
    red_dumbbells,
    sharing,
    unseen_networks,
)
from validation.generate.programs import ROOT
from validation.networks.packet_networks import sample_hash
from validation.networks.recomputing import RANDOM
from validation.networks.unseen_networks import NETWORKS, instance

# Networks of the packet level in ns-2: options of the programs, and rows of their outputs.


# Networks of the packet level: options of the script, and ns-2's rows.


def test_every_link_has_its_mirror() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1}
    ((text,),) = exported.calls(run)
    ends = set(re.findall(r"simplex-link \$node\((\d+)\) \$node\((\d+)\)", text))
    assert len(ends) == 10
    assert {(b, a) for a, b in ends} == ends
    assert text.count("new Agent/TCP/Sack1]") == text.count("new Agent/TCPSink/Sack1]") == 2


def test_instruments_stand_before_the_program_runs() -> None:
    run = {"topology": "dumbbell", "recovery": "reno", "size": 2, "seed": 1}
    ((text,),) = exported.calls(run)
    own = (ROOT / exported.SENT_AGAIN).read_text(encoding="utf-8")
    assert text.endswith(f"{own}$ns run\n")
    scenario, method = networks.scenario_of(run), Packets(1, convention="ns2", recovery="reno")
    assert text.replace(own, "") == to_ns2(scenario, method=method, sample=networks.SAMPLE)


def test_receivers_that_delay_acks_have_the_sink_for_it() -> None:
    run = {"topology": "dumbbell", "recovery": "sack", "size": 2, "seed": 1, "delayed": True}
    ((text,),) = exported.calls(run)
    assert text.count("new Agent/TCPSink/Sack1/DelAck]") == 2
    assert all(flow.delayed_acks for flow in networks.scenario_of(run).flows)


def test_rows_of_flows_with_a_window(tmp_path: Path) -> None:
    """A flow of constant rate has no row; links without drops have none."""
    (tmp_path / "samples.txt").write_text("0.01 1.5 0\n0.02 2.5 7\n")
    (tmp_path / "flows.txt").write_text("1 7 2 11\n")
    (tmp_path / "links.txt").write_text("10 2 4\n2 10 3\n2 3 0\n")
    scenario = networks.scenario_of({"topology": "dumbbell", "recovery": "reno", "size": 2, "seed": 1})
    (row,) = exported.flows_of(scenario, tmp_path)
    hashed = sample_hash([1.5, 2.5], [0, 7])
    assert row == {"flow": 1, "acknowledged": 7, "sent": 11, "timeouts": 2, "samples": hashed}
    assert [link["from"] for link in exported.drops_of(tmp_path)] == [2, 10]


# Random networks: ns-2's rows, and the programs bundled beside them.

(CASE_RANDOM_NETWORKS,) = random_networks.CASES


def test_bundled_programs_are_those_of_the_recorded_commands() -> None:
    programs = evidence.table(RANDOM, "networks")["program"]
    commands = [CASE_RANDOM_NETWORKS.program.command([text]) for text in programs]
    assert digest(commands) == evidence.provenance(RANDOM)["commands"]["sha256"]
    assert commands == [command for run in CASE_RANDOM_NETWORKS.runs for command in CASE_RANDOM_NETWORKS.commands(run)]


def test_acks_are_bundled_at_ten_times_of_which_the_last_is_the_end() -> None:
    acks, flows = (evidence.table(RANDOM, name) for name in ("acks", "flows"))
    assert len(acks) == random_networks.TIMES * len(flows)
    last = acks.groupby(["seed", "flow"]).last()
    assert last["acknowledged"].tolist() == flows["acknowledged"].tolist()
    durations = evidence.table(RANDOM, "networks").set_index("seed")["duration"]
    assert (last["time"].round(9) == durations.loc[last.index.get_level_values("seed")].to_numpy()).all()


# The networks that the fluid is judged by, in ns-2: options of the script, and ns-2's rows.


def options(network: str, seed: int = 1) -> dict[str, str]:
    ((*words,),) = unseen_networks.calls({"network": network, "seed": seed})
    return dict(zip(words[::2], words[1::2], strict=True))


@for_each(NETWORKS)
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
    assert case.simulated_seconds(run) == 8 * (2 + 8) * 0.6  # one refinement of the fluid, three of packets
    bundled = evidence.table(CASE).query("claim == 'D18'").drop(columns=["claim", "runs"])
    bundled.to_csv(tmp_path / "table.csv", index=False)
    rows = explained_claims.read(run, tmp_path, [])["waterfalls"]
    assert len(rows) == len(bundled)
    assert {(row["claim"], row["runs"]) for row in rows} == {("D18", 8)}


# Managed queues and recoveries in ns-2 and ns-3: options and rows, and our packet level beside them.


# Managed queues: the program's options, ns-3's rows, and the fluid beside them.


def test_options_and_rows_managed_queues() -> None:
    ((*words,),) = managed_queues.calls({"disc": "codel", "flows": 2, "seed": 3})
    assert {"--disc=ns3::CoDelQueueDisc", "--flows=2", "--seed=3", "--end=60.0"} <= {*words}
    printed = "flow 1458000\nflow 2916000\nqueue 7 1.5 0.25\n"
    run = {"disc": "codel", "flows": 2, "seed": 3}
    (row,) = managed_queues.read(run, None, [printed])["runs"]
    assert (row["goodput"], row["least"]) == (3000.0 / 50.0, 20.0)
    assert (row["drops"], row["queue"], row["sojourn"]) == (7, 1.5, 0.25)


@pytest.mark.parametrize("steps_per_delay", [1, 4])
@pytest.mark.parametrize("flows", [2, 8, 32])
def test_codel_of_the_fluid_beside_that_of_ns3(flows: int, steps_per_delay: int) -> None:
    """What docs/networks.md says: drops within 20 %, goodput within 15 %, the queue within 3 packets or 20 %.

    Nothing was fitted; ns-3's CoDel drops what leaves, and does not count the packet in its device.
    """
    found = table("packets/codel-ns3", "runs").query("flows == @flows").mean(numeric_only=True)
    scenario = managed_queues.managed_scenario(flows, CoDel())
    run = simulate(scenario, method=Fluid(steps_per_delay), sample=0.1)
    late = run.time > managed_queues.BEGIN
    sent = np.ptp(run.delivered[:, late], axis=1).sum() / 50.0
    assert run.lost[:, :, late].sum() == pytest.approx(found["drops"], rel=0.2)
    assert sent == pytest.approx(found["goodput"], rel=0.15)
    assert run.queued[0, late].mean() == pytest.approx(found["queue"], rel=0.2, abs=3.0)


def packet_level(flows: int, manager: QueueManager, seeds: int = 8) -> np.ndarray:
    """Return goodput, drops and mean queue of runs with random starts and delays, shape (seeds, 3)."""
    scenario = managed_queues.managed_scenario(flows, manager)
    rows = []
    for seed in range(1, seeds + 1):
        rng = np.random.default_rng([seed, flows])
        extra = managed_queues.ACCESS * (1.0 + 0.01 * rng.random(flows))
        access = [replace(link, delay=float(delay)) for link, delay in zip(scenario.links[1:], extra, strict=True)]
        own = [replace(flow, start=float(rng.random())) for flow in scenario.flows]
        network = replace(scenario, links=(scenario.links[0], *access), flows=tuple(own))
        run = simulate(network, method=Packets(seed=seed), sample=0.1)
        late = run.time > managed_queues.BEGIN
        goodput = np.ptp(run.delivered[:, late], axis=1).sum() / 50.0
        node = list(network.senders).index("left")
        rows.append((goodput, run.lost[:, :, late].sum(), run.queued[node, late].mean()))
    return np.array(rows)


@pytest.mark.parametrize("disc", ["codel", "pie"])
@pytest.mark.parametrize("flows", [2, 8, 32])
def test_managed_queues_of_packets_beside_those_of_ns3(flows: int, disc: str) -> None:
    """What docs/packets.md says. Nothing was fitted.

    The senders differ: over a plain drop-tail queue of 20 packets ours have 0.81, 1.04 and 0.68 times
    ns-3's drops (2, 8, 32 flows), and 1.04, 0.98 and 1.08 times its goodput. So drops are compared
    within the largest of these, 32 %; goodput is at most the link's and at least ns-3's, whose senders
    without SACK repeat data; the queue within 20 %, or 3 packets. Two joint standard errors are added.
    """
    ours = packet_level(flows, {"codel": CoDel(), "pie": PIE()}[disc])
    theirs = table(f"packets/{disc}-ns3", "runs").query("flows == @flows")
    theirs = theirs[["goodput", "drops", "queue"]].to_numpy()
    error = 2.0 * np.hypot(*(x.std(axis=0, ddof=1) / np.sqrt(len(x)) for x in (ours, theirs)))
    (goodput, drops, queue), expected = ours.mean(axis=0), theirs.mean(axis=0)
    assert expected[0] - error[0] < goodput < managed_queues.RATE / managed_queues.BITS
    assert abs(drops - expected[1]) < 0.32 * expected[1] + error[1]
    assert abs(queue - expected[2]) < max(3.0, 0.2 * expected[2]) + error[2]


# Few flows under RED: ns-2's rows.


def test_each_run_has_its_own_command() -> None:
    (case,) = red_dumbbells.CASES
    commands = [command for run in case.runs for command in case.commands(run)]
    assert len(set(commands)) == len(case.runs) == len(red_dumbbells.FLOWS) * len(red_dumbbells.SEEDS)
    assert all(" queue RED " in command for command in commands)


# Pairs over one queue in ns-3: options and rows of the driver, and our packet level beside them.

RULES = {"bbr": BBRv1(), "newreno": NewReno(), "cubic": CUBIC(fast_convergence=1)}
KEYS = ["first", "second", "rate", "rtt", "buffer"]


def test_options_and_rows_sharing() -> None:
    run = {"first": "bbr", "second": "cubic", "rate": 1e7, "rtt": 0.02, "buffer": 8, "seed": 3}
    ((*words,),) = sharing.calls(run)
    assert {"--first=ns3::TcpBbr", "--second=ns3::TcpCubic", "--buffer=8", "--seed=3"} <= {*words}
    (row,) = sharing.read(run, None, ["flow 1446000\nflow 2892000\nqueue 1.5 7\n"])["runs"]  # type: ignore[arg-type]
    assert (row["goodput_first"], row["goodput_second"]) == (10.0, 20.0)
    assert (row["queue"], row["drops"]) == (1.5, 7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "most"),
    [("newreno", 0.04), ("cubic", 0.07)],
)
def test_bbrs_shares_beside_those_of_ns3(second: str, most: float) -> None:
    """Median over 16 paths. 0.04 is the target; beside CUBIC it is missed, 0.056 is measured.

    ns-3's CUBIC gets less than ours from NewReno too, by 0.1 in the median: its PRR counts packets twice, and its
    timer ends recoveries (docs/responses.md). Nothing was fitted.
    """
    runs = table("packets/sharing-ns3", "runs").query("first == 'bbr' and second == @second")
    errors = []
    for (_, _, rate, rtt, buffer), group in runs.groupby(KEYS):
        both = group["goodput_first"] + group["goodput_second"]
        path = Bottleneck(rate / 12e3, rtt, int(buffer), duration=120.0, warm_up=20.0)
        rules = [RULES["bbr"], RULES[second]]
        ours = [path.run(rules, seed=seed, starts=[0.0, 0.5]).share[0] for seed in (1, 2, 3)]
        errors.append(abs(np.mean(ours) - (group["goodput_first"] / both).mean()))
    assert len(errors) == 16
    assert np.median(errors) < most


# CUBIC beside NewReno in ns-3 with the recovery of RFC 6937: options, rows, and our packet level beside them.

RFC_6937 = "packets/sharing-rfc6937-ns3"


def test_options_and_rows_recoveries() -> None:
    run = sharing.CASES[1].runs[0]
    ((first, *words),) = sharing.calls(run)
    assert first == "--leastTimeout=1.0", "the program takes this option first"
    assert {"--ns3::TcpL4Protocol::RecoveryType=Rfc6937Recovery", "--begin=100.0"} <= {*words}
    printed = ["flow 433800000\nflow 867600000\nqueue 1.5 7\n"]
    (row,) = sharing.read(run, None, printed)["runs"]  # type: ignore[arg-type]
    assert (row["goodput_cubic"], row["goodput_reno"]) == (1000.0, 2000.0)
    assert (row["queue"], row["drops"]) == (1.5, 7)


def test_a_share_beside_that_of_ns3() -> None:
    """One path of 16, both seeds of ns-3 and three of ours; 0.04 is the target of the median."""
    runs = table(RFC_6937, "runs").query("rate == 1e7 and rtt == 0.08 and buffer == 333")
    assert len(runs) == 2
    ns3 = (runs["goodput_cubic"] / (runs["goodput_cubic"] + runs["goodput_reno"])).mean()
    path = bottleneck({"rate": 1e7, "rtt": 0.08, "buffer": 333}, 100.0, 400.0)
    ours = sum(matched_share(path, seed) for seed in ns3_sharing.SEEDS) / 3
    assert ours == pytest.approx(ns3, abs=TARGET)


def test_bbrs_share_falls_by_the_timer_alone_where_the_queue_is_longer() -> None:
    """From near half to less than a tenth in ns-3, by a least timeout of 0.2 s and a queue of 0.4 s."""
    runs = table("packets/sharing-bbr-rfc6937-ns3", "runs").set_index(["least_timeout", "recovery"])
    runs = runs.query("begin == 100 and rtt == 0.08 and buffer == 333")
    share = runs["goodput_bbr"] / (runs["goodput_bbr"] + runs["goodput_cubic"])
    assert share[0.2, "rfc6937"] < 0.1
    assert share[1.0, "rfc6937"] > 0.4


def test_bbrs_options_and_a_share_beside_that_of_ns3() -> None:
    """One path of 8, its seed and three of ours."""
    run = sharing.CASES[3].runs[0]
    ((_, *words),) = sharing.calls(run)
    assert {"--first=ns3::TcpBbr", "--second=ns3::TcpCubic"} <= {*words}
    (row,) = sharing.read(run, None, ["flow 433800000\nflow 867600000\nqueue 1.5 7\n"])["runs"]  # type: ignore[arg-type]
    assert (row["goodput_bbr"], row["goodput_cubic"]) == (1000.0, 2000.0)
    runs = table("packets/sharing-bbr-rfc6937-ns3", "runs").query("rtt == 0.02 and buffer == 17")
    first = runs.query("recovery == 'rfc6937' and least_timeout == 1 and begin == 100").iloc[0]
    path = bottleneck({"rate": 1e7, "rtt": 0.02, "buffer": 17}, 100.0, 400.0)
    for pair in ("bbr cubic", "bbr+ cubic"):
        ours = matched_share(path, 1, pair)
        ns3 = first["goodput_bbr"] / (first["goodput_bbr"] + first["goodput_cubic"])
        assert ours == pytest.approx(ns3, abs=TARGET)


def test_the_tables_are_made_from_the_rows() -> None:
    """And the medians that the documentation names: the target is met over all, and just missed by BBR beside CUBIC."""
    values = pd.read_csv(FOLDER / "ns3_sharing.csv")
    text = ns3_sharing.summary(values) + "\n" + ns3_sharing.paths(values)
    assert (FOLDER / "ns3_sharing.md").read_text(encoding="utf-8") == text
    apart = (values["hopflow"] - values["simulator"]).abs()
    equal = values["group"].isin(ns3_sharing.EQUAL)
    assert equal.sum() == 60
    assert apart[equal].median() < TARGET
    medians = apart.groupby(values["group"]).median()
    missed = {"bbr cubic", "cubic newreno", "bbr cubic rfc6937"}
    assert {*medians.index[medians > TARGET]} == missed
    assert round(medians["bbr cubic rfc6937"], 3) == 0.044 < medians["bbr cubic"]


@pytest.mark.slow
def test_shares_beside_those_of_ns3() -> None:
    """The rows of all 16 paths, computed again; in the median within the target."""
    rows = pd.DataFrame(ns3_sharing.rfc6937_pairs())
    kept = pd.read_csv(FOLDER / "ns3_sharing.csv").query("group == 'cubic newreno rfc6937'")
    assert rows["hopflow"].to_numpy() == pytest.approx(kept["hopflow"].to_numpy(), abs=1e-5)
    assert rows["simulator"].to_numpy() == pytest.approx(kept["simulator"].to_numpy(), abs=1e-5)
    assert (rows["hopflow"] - rows["simulator"]).abs().median() < TARGET
