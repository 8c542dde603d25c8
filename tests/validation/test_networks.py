"""Networks that the levels are judged by: drawn, run, compared, in ns-2 too."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

from dfcmodel import (
    CBR,
    FIFO,
    PFC,
    ByteBuffer,
    Flow,
    Fluid,
    Link,
    Packets,
    Scenario,
    simulate,
    to_ns2,
    trace_packets,
)
from hopflow import Status, gbps
from responsefn import DCQCN, NewReno, Reno
from tests.oracles.engines import plan_scenario, run_engine, run_reference
from tests.surface import for_each
from validation import evidence
from validation.networks import (
    lossless_networks,
    network_comparison,
    network_runs,
    own_links,
    pause_networks,
)
from validation.networks.network_comparison import (
    Differences,
    Limits,
    compare,
    criteria,
    model_error,
)
from validation.networks.network_runs import Runs, packet_level
from validation.networks.packet_networks import BITS, HOPS, SAMPLE, sample_hash, scenario_of
from validation.networks.random_networks import (
    DEVELOPMENT,
    FRESH,
    KINDS,
    draw_network,
    draw_networks,
)
from validation.networks.random_packet_networks import TOPOLOGIES, random_network
from validation.networks.unseen_networks import LATER, LONGER, NETWORKS, SEEDS, SET_ASIDE, instance

# What is compared of the fluid's runs and of those in packets.


def test_a_fluid_equal_to_the_packets_agrees(monkeypatch) -> None:
    table = evidence.table(network_runs.CASE)
    monkeypatch.setattr(network_comparison, "runs_of", lambda network, *_: network_runs.recorded(network, table))
    found = network_comparison.compare([NETWORKS["chain-8"], NETWORKS["dumbbell-2"]])
    assert found.mean_error == found.losses == found.first == 0.0
    assert found.chance == 0.0
    assert found.spread == 1.0
    assert found.inside.all()


def test_errors_are_those_of_paired_runs(monkeypatch) -> None:
    """A fluid with a constant excess has a difference without error."""
    table = evidence.table(network_runs.CASE)

    def shifted(network, *_):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + 0.03, 1.1 * runs.lost, 0.98 * runs.first)

    monkeypatch.setattr(network_comparison, "runs_of", shifted)
    found = network_comparison.compare([NETWORKS["chain-8"]])
    assert found.mean_error == pytest.approx(0.03)
    assert found.beyond == pytest.approx(0.03)
    assert found.losses == pytest.approx(0.1)
    assert found.first == pytest.approx(0.02)


def test_chance_makes_the_mean_of_a_normal_deviation(monkeypatch) -> None:
    """Differences of standard deviation s over 16 seeds: on average s / 4 times sqrt(2 / pi)."""
    noise = np.random.default_rng(0).normal(0.0, 0.1, (16, 2))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1) * 0.1
    table = evidence.table(network_runs.CASE)

    def noisy(network, *_):  # type: ignore[no-untyped-def]
        runs = network_runs.recorded(network, table)
        return Runs(runs.shares + noise, runs.lost, runs.first)

    monkeypatch.setattr(network_comparison, "runs_of", noisy)
    found = network_comparison.compare([NETWORKS["chain-8"]])
    assert found.chance == pytest.approx(0.025 * np.sqrt(2.0 / np.pi))
    assert found.mean_error == pytest.approx(0.0, abs=1e-12)


def differences(values: object, error: float) -> Differences:
    """Return shares that differ by these values, each with the same error over the seeds."""
    shares = pd.DataFrame({"difference": values, "error": error, "spread": 1.0})
    return Differences(shares, pd.DataFrame([{"ratio": 1.0, "later": 0.0}]))


def test_the_error_of_the_model_is_what_intervals_lack() -> None:
    """Of 39 shares the 38th is taken; without an error over the seeds it is the difference itself."""
    values = np.linspace(-0.039, -0.001, 39)
    assert model_error(differences(values, 0.0)) == pytest.approx(0.038)
    half = float(student.ppf(0.975, 15)) * 0.01
    assert model_error(differences(values, 0.01)) == pytest.approx(np.sqrt(0.038**2 - half**2))
    assert model_error(differences(values, 0.02)) == 0.0, "covered by the seeds"
    assert model_error(differences(values[:18], 0.0)) == np.inf, "too few for 95 %"


def test_with_the_error_of_the_model_other_shares_are_covered_as_often_as_they_say() -> None:
    """Whatever the distribution: Laplace's here, with an error over the seeds of a third of it."""
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(200):
        both = rng.laplace(0.0, 0.02, 120) + rng.normal(0.0, 0.01, 120)
        old, new = differences(both[:80], 0.01), differences(both[80:], 0.01)
        covered.append(new.covered(model_error(old)).mean())
        assert new.covered(0.0).mean() < 0.9
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


def test_each_criterion_has_its_limit() -> None:
    good = differences(np.resize([0.019, -0.019], 40), 0.01)
    assert all(criteria(good).values())
    assert not criteria(good, limits=Limits(shares=0.018))["shares"]
    far = differences(np.resize([0.019, -0.019], 40), 0.001)
    assert not criteria(far)["interval"]
    assert criteria(far, 0.02)["interval"], "with an error of the model"
    assert not criteria(differences([0.081], 0.01))["worst"]
    assert criteria(differences([0.079], 0.01))["worst"]


# Runs of the networks that the fluid is judged by: ns-2's and our own.


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
    conventions = {network.name: network_runs.packet_level(network).convention for network in FRESH.values()}
    assert conventions["chain-2-0"] == "ns2"
    assert conventions["mixed-rules-2-1"] == "standard", "Reno, AIMD and CUBIC"


@pytest.mark.slow
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


# The bundled networks as scenarios.

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
        [flow.start for flow in scenario_of({**RUN, "topology": "takano2006", "seed": seed}).flows] for seed in (0, 1)
    ]
    assert starts[0] == [0.0, 0.1]
    assert all(0.0 < late - own < 1e-3 for own, late in zip(*starts, strict=True))


def test_starts_depend_on_the_seed() -> None:
    starts = [
        [flow.start for flow in scenario_of({**RUN, "topology": "dumbbell", "seed": seed}).flows] for seed in (1, 2)
    ]
    assert starts[0] != starts[1]


@pytest.mark.parametrize(("one", "other"), [((1.0, 3), (1.5, 3)), ((1.0, 3), (1.0, 4))])
def test_a_hash_tells_windows_and_acknowledgements_apart(one, other) -> None:
    hashes = {sample_hash([window], [acked]) for window, acked in (one, other)}
    assert len(hashes) == 2
    assert sample_hash([1.0000001], [3]) == sample_hash([1.0], [3])


# The networks that the fluid is judged by: what they are, their halves, their random instances.


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


@for_each(NETWORKS)
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


@for_each(n for n, v in NETWORKS.items() if v.topology == "mixed rules")
def test_no_flow_of_mixed_rules_fills_path_and_buffer_by_itself(name: str) -> None:
    network = NETWORKS[name]
    for flow in network.scenario.flows:
        narrow = min(network.scenario.path(flow), key=lambda link: link.rate)
        room = narrow.rate * network.scenario.base_rtt(flow) + narrow.buffer
        assert flow.max_window < room
        everyone = sum(each.max_window for each in network.scenario.flows)
        assert everyone > room, "together they lose packets"


# Random networks: what they are like, and that they are always the same ones.


def test_networks_are_repeated_by_their_seed() -> None:
    assert draw_networks(2, {"chain": 2})["chain-2-1"] == FRESH["chain-2-1"]
    for kind in KINDS:
        assert draw_network(kind, 0, 7) == draw_network(kind, 0, 7)
        assert draw_network(kind, 0, 7).scenario != draw_network(kind, 1, 7).scenario


def test_fresh_networks_are_none_of_those_for_development() -> None:
    assert len(DEVELOPMENT) == 60
    assert len(FRESH) == 30
    assert not {n.scenario.links for n in FRESH.values()} & {n.scenario.links for n in DEVELOPMENT.values()}


@for_each([*DEVELOPMENT, *FRESH])
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


# takano2006's chain with the hosts that the paper describes: clocks, settings, and the phase of simultaneous events.


def test_every_scenario_has_every_kind_of_run() -> None:
    each = list(own_links.runs())
    found = {(run["scenario"], run["clocks"], run["convention"]) for run in each if not run["dfc"]}
    assert found == {(name, *kind) for name in own_links.SCENARIOS for kind in own_links.KINDS.values()}
    assert {run["convention"] for run in each if run["dfc"]} == {"standard"}


def test_clocks_stay_within_their_tolerance_and_their_seed_fixes_them() -> None:
    plain = own_links.scenario_of("4S", False, 0.0, 1).links[0].rate
    rates = np.array([link.rate for link in own_links.scenario_of("4S", False, own_links.CLOCKS, 1).links])
    again = [link.rate for link in own_links.scenario_of("4S", False, own_links.CLOCKS, 1).links]
    assert 0.0 < abs(rates / plain - 1.0).max() <= own_links.CLOCKS
    assert list(rates) == again
    assert list(rates) != [link.rate for link in own_links.scenario_of("4S", False, own_links.CLOCKS, 2).links]


def test_hosts_are_shaped_with_dfc_only() -> None:
    hosts = {dfc: own_links.scenario_of("1", dfc, 0.0, 1).flows[0].host for dfc in (True, False)}
    assert hosts == {True: "shaped", False: "unshaped"}


def test_unknown_scenarios_are_refused() -> None:
    with pytest.raises(ValueError, match="name = '4V'"):
        own_links.scenario_of("4V", False, 0.0, 1)


def test_the_order_of_simultaneous_events_decides_who_loses() -> None:
    """Scenario 1: all of the first losses are the background's, or the target's; means as in ns-3 (.058) or above .9."""
    first = {}
    for kind in ("departures first", "as in ns-2"):
        clocks, convention = own_links.KINDS[kind]
        words = {"scenario": "1", "dfc": 0, "clocks": clocks, "convention": convention, "seed": 1}
        flows = [line.split(",") for line in own_links.lines(words) if line.startswith("flows")]
        target, background = (int(flow[-1]) for flow in flows)
        first[kind] = target / (target + background), float(flows[0][2])
    assert first["departures first"] == (0.0, pytest.approx(0.99, abs=0.02))
    assert first["as in ns-2"] == (1.0, pytest.approx(0.09, abs=0.06))


@pytest.mark.slow
def test_both_levels_lose_as_many_packets_after_the_slow_start_of_cubic() -> None:
    """ns-2's TCP/Linux loses five times as many: it sends lost packets again into the full queue, some 13 times."""
    network, seeds = NETWORKS["chain-20"], SEEDS[:4]
    ratios = [
        compare([network], seeds=seeds).networks["ratio"].item(),
        compare([network], packet_level, seeds).networks["ratio"].item(),
    ]
    assert 0.8 < ratios[0] / ratios[1] < 1.25
    assert max(ratios) < 0.25


# Fluid and packets agree on deadlocks of random rings and fabrics with pauses.


def test_networks_with_pauses_are_of_all_kinds_and_the_same_again() -> None:
    drawn = [
        pause_networks.draw_pause_network(3, n) for n in range(len(pause_networks.KINDS) * len(pause_networks.RULES))
    ]
    assert drawn == [pause_networks.draw_pause_network(3, n) for n in range(len(drawn))]
    rules = {getattr(each.links[0].discipline, "counts", "pause") for each in drawn}
    assert rules == set(pause_networks.RULES)
    assert {each.name.partition(" ")[0] for each in drawn} == set(pause_networks.KINDS)
    assert drawn != [pause_networks.draw_pause_network(4, n) for n in range(len(drawn))]


@pytest.mark.slow
def test_levels_agree_on_some_networks() -> None:
    """Six of seed 3, set aside; near the critical load one may differ."""
    found = [pause_networks.compare_verdicts(pause_networks.draw_pause_network(3, n)) for n in range(6)]
    assert sum(each.agree for each in found) >= 5
    counts = Counter(each.fluid for each in found)
    assert counts["deadlocked"] >= 1
    assert counts["completed"] >= 1


@pytest.mark.slow
def test_levels_agree_on_190_of_200_networks() -> None:
    """Of a seed that was not looked at; a difference has an explanation where starts of flows decide at one level."""
    found = [pause_networks.compare_verdicts(pause_networks.draw_pause_network(4, n)) for n in range(200)]
    different = [each for each in found if not each.agree]
    assert len(different) <= 10, different
    assert all(each.phases is not None for each in different)
    assert {each.packets for each in found} == {"completed", "deadlocked"}


def test_the_fluid_says_where_its_verdict_may_differ() -> None:
    network = pause_networks.draw_pause_network(1, 152)  # completed in the fluid, deadlocked in packets
    run = simulate(network, Fluid())
    limits = {limit.partition(":")[0] for limit in run.limits}
    assert "deadlock" in limits
    assert "limit, deadlock" in run.summary()


# Nothing is lost in random networks with PFC and its defaults; with less headroom it is.


def with_headroom(scenario: Scenario, headroom: float) -> Scenario:
    links = [replace(link, discipline=replace(link.discipline, headroom=headroom)) for link in scenario.links]
    return replace(scenario, links=tuple(links))


def test_lossless_networks_are_of_all_kinds_and_the_same_again() -> None:
    drawn = [lossless_networks.draw_lossless_network(5, n) for n in range(12)]
    assert drawn == [lossless_networks.draw_lossless_network(5, n) for n in range(12)]
    assert {each.name.split()[0] for each in drawn} == set(lossless_networks.KINDS)
    assert {each.links[0].discipline.acks for each in drawn} == {"control", "class"}
    assert all(each.links[0].discipline.headroom is None for each in drawn)


def test_nothing_is_lost_in_five_networks_and_with_little_headroom_it_is() -> None:
    drawn = [lossless_networks.draw_lossless_network(1, n) for n in range(2, 7)]
    found = [lossless_networks.check_lossless(each) for each in drawn]
    assert all(each.holds for each in found), found
    assert sum(each.pauses for each in found) > 20
    found = [lossless_networks.check_lossless(with_headroom(each, 1.0)) for each in drawn]
    assert sum(each.lost > 0.0 for each in found) >= 2
    assert not any(each.holds for each in found if each.lost > 0.0)


def test_nothing_is_lost_in_a_fluid_network() -> None:
    found = lossless_networks.check_lossless(lossless_networks.draw_lossless_network(1, 3, fluid=True), fluid=True)
    assert found.holds, found
    assert found.pauses > 0


def test_an_all_to_all_of_16_hosts_completes_with_no_option_set() -> None:
    """Two leaves and a spine, 400 Gb/s and 3.2 Tb/s; 15 transfers of 256 packets per host take 0.315 ms at least."""
    size, rule = 4096, PFC((0,))
    rate = gbps(400, size)
    leaves = {f"h{n}": f"leaf{n // 8}" for n in range(16)}
    ends = [(host, leaf, rate) for host, leaf in leaves.items()]
    ends += [(leaf, "spine", 8.0 * rate) for leaf in ("leaf0", "leaf1")]
    links = tuple(
        Link(*way, speed, 0.5e-6, ByteBuffer("16 MB"), rule) for a, b, speed in ends for way in ((a, b), (b, a))
    )
    flows = tuple(
        Flow(
            f"{a} to {b}",
            (a, *(dict.fromkeys([leaves[a], *["spine"] * (leaves[a] != leaves[b]), leaves[b]])), b),
            DCQCN(),
            size=256,
        )
        for a in leaves
        for b in leaves
        if a != b
    )
    scenario = Scenario("all to all", links, flows, duration=2e-3, packet_size=size)
    run = simulate(scenario, Packets(seed=1), sample=1e-4)
    assert run.status is Status.COMPLETED
    assert run.lost.sum() == 0.0
    assert np.isfinite(run.finished).sum() == len(flows) == 240
    assert 15 * 256 / rate < run.finished.max() < 0.35e-3


@pytest.mark.slow
def test_nothing_is_lost_in_two_hundred_networks() -> None:
    found = [lossless_networks.check_lossless(lossless_networks.draw_lossless_network(1, n)) for n in range(200)]
    assert all(each.holds for each in found), [each for each in found if not each.holds]


@pytest.mark.slow
def test_nothing_is_lost_in_two_hundred_fluid_networks() -> None:
    drawn = [lossless_networks.draw_lossless_network(1, n, fluid=True) for n in range(200)]
    found = [lossless_networks.check_lossless(each, fluid=True) for each in drawn]
    assert all(each.holds for each in found), [each for each in found if not each.holds]


# Random networks in ns-2 and here: every ACK and every drop.

FRESH_IN_NS2 = 40
"""New networks in a call of `make test-simulators`."""


def check_equal_to_ns2(folder: Path, run_ns2: Callable[..., Any], seed: int) -> None:
    """Compare the ACKs of each flow every 10 ms, and the drops of each link."""
    scenario, method = random_network(seed)
    samples, links = run_ns2(folder, to_ns2(scenario, method=method, sample=SAMPLE))
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    found = run_engine(plan)
    windowed = [f for f, flow in enumerate(scenario.flows) if not isinstance(flow.source, CBR)]
    again = f"seed {seed}: make test-simulators FIRST_SEED={seed}"
    np.testing.assert_array_equal(samples[:, 2::2], found.acked[:, windowed], err_msg=again)
    nodes = {node: n for n, node in enumerate(scenario.nodes)}
    ends = [(nodes[port.source], nodes[port.target]) for port in plan.ports]
    theirs = {(int(a), int(b)): int(drops) for a, b, drops in links}
    assert dict(zip(ends, found.drops.tolist(), strict=True)) == theirs, again


@pytest.mark.simulators
@pytest.mark.parametrize("seed", range(40))
def test_random_networks_are_equal_to_ns2(tmp_path, run_ns2, seed: int) -> None:
    check_equal_to_ns2(tmp_path, run_ns2, seed)


@pytest.mark.slow
@pytest.mark.simulators
@pytest.mark.parametrize("first", range(40, 500, 20))
def test_more_random_networks_are_equal_to_ns2(tmp_path, run_ns2, first: int) -> None:
    for seed in range(first, first + 20):
        check_equal_to_ns2(tmp_path, run_ns2, seed)


@pytest.mark.simulators
@pytest.mark.parametrize("number", range(FRESH_IN_NS2))
def test_fresh_networks_are_equal_to_ns2(tmp_path, run_ns2, number: int) -> None:
    """Of seeds from the environment variable on, which `make test-simulators` sets to those of the day."""
    first = os.environ.get("HOPFLOW_FIRST_SEED")
    if first is None:
        pytest.skip("HOPFLOW_FIRST_SEED is not set: `make test-simulators` does it")
    check_equal_to_ns2(tmp_path, run_ns2, int(first) + number)


@for_each(range(8))
def test_networks_have_the_ranges_that_the_record_states(seed: int) -> None:
    scenario, method = random_network(seed)
    assert scenario.name == f"{TOPOLOGIES[seed % 4]} {seed}"
    assert method.seed == seed + 1
    for link in scenario.links:
        assert 1e6 <= link.rate * BITS <= 1e8
        assert 5e-5 <= link.delay <= 5e-2
        assert 2 <= link.buffer <= (199 if scenario.name.startswith("dumbbell") else 39)
        assert type(link.discipline) is FIFO
    assert round(scenario.duration / SAMPLE, 9).is_integer(), "the last sample is at the end"


def test_a_seed_draws_the_same_network_on_every_machine() -> None:
    """Digits from `decimal`, not from the processor's exponential function."""
    scenario, _ = random_network(1)
    found = [(link.rate * BITS, link.delay) for link in scenario.links[:2]]
    assert found == [(63842156.785095714, 0.0076658), (29190286.590019073, 0.0160012)]


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_both_engines_agree_on_random_networks(seed: int) -> None:
    scenario, method = random_network(seed)
    plan = plan_scenario(scenario, method, duration=min(3.0, scenario.duration), sample=SAMPLE)
    compiled, plain = run_engine(plan), run_reference(plan)
    np.testing.assert_array_equal(compiled.acked, plain.acked)
    np.testing.assert_array_equal(compiled.drops, plain.drops)


def test_a_transmission_that_ends_as_a_packet_arrives_ends_first_where_it_began_first() -> None:
    """Packet 31 leaves the queue at 0.798974 s as packet 33 of f4 arrives: ns-2.35 keeps 33 and drops 34.

    The transmission of 8.6 ms began before that of the packet on the access link of 1.7 + 1.1 ms.
    """
    ends = {
        3: (1385.2856003518507, 0.0003546, 0.0002762),
        4: (588.7168306706419, 0.0011266, 0.0014919),
        5: (1183.584871711949, 0.0011217, 0.0001914),
    }
    links = [Link("l", "r", 116.73570177199345, 0.0317121, 3)]
    for k, (rate, near, far) in ends.items():
        links += [Link(f"s{k}", "l", rate, near, 10000), Link("r", f"d{k}", rate, far, 10000)]

    def path(k: int) -> tuple[str, ...]:
        return (f"s{k}", "l", "r", f"d{k}")

    flows = [
        Flow("f3", path(3), Reno(), 20.0, 0.142361, 1952),
        Flow("f4", path(4), NewReno(), 64.0, 0.00201, delayed_acks=True),
        Flow("f5", path(5), NewReno(), 5.0, 0.726016, 396),
    ]
    scenario = Scenario("A", links, flows, duration=0.9, min_rto=1.0)
    recovery = {"f3": "reno", "f4": "sack", "f5": "sack"}
    method = Packets(convention="ns2", recovery=recovery, seed=5)
    table = trace_packets(scenario, ["l->r"], method).to_pandas()
    drops = table[table.dropped & (table.flow == "f4") & (table.number.isin([33, 34]))]
    assert [(round(row.arrived, 6), row.number) for row in drops.itertuples()] == [(0.800672, 34)]


def test_a_delayed_ack_that_is_due_as_a_packet_arrives_is_sent_first() -> None:
    """Packet 9 of f3 arrives at 3.144771 s, exactly 100 ms after packet 8: ns-2.35 acknowledges 8 before it arrives.

    The timer was scheduled at the arrival of packet 8, the arrival when packet 9 left the queue. Packet 10 then
    completes a pair with 9, and packet 17 leaves the last queue at 3.245193 s as in ns-2's trace; otherwise 40 ms later.
    """
    scenario, method = random_network(249)
    scenario = replace(scenario, duration=3.4)
    table = trace_packets(scenario, ["3->d2"], method).to_pandas()
    sent = table[(table.flow == "f3") & table.number.isin([9, 10, 17])].sent
    assert [round(time, 6) for time in sent] == [3.098867, 3.099715, 3.245193]
    plan = plan_scenario(scenario, method, duration=scenario.duration, sample=SAMPLE)
    compiled, plain = run_engine(plan), run_reference(plan)
    np.testing.assert_array_equal(compiled.acked, plain.acked)
    assert compiled.acked[321, 3] == 10, "at 3.22 s, as in ns-2"


def test_phases_are_drawn_by_tcp_agents_alone() -> None:
    """A CBR flow before them moves no clock: they are those without it."""
    links = [Link(1, 2, 1000.0, 0.01, 20)]
    tcp = [Flow(str(f), (1, 2), Reno()) for f in range(3)]
    method = Packets(convention="ns2", seed=5)
    alone, mixed = (
        plan_scenario(Scenario("x", links, flows, duration=1.0), method, duration=1.0, sample=0.1).phases
        for flows in (tcp, [Flow("cbr", (1, 2), CBR(100.0)), *tcp])
    )
    np.testing.assert_array_equal(mixed[1:], alone)
