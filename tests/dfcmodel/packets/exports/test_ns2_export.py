"""Scenarios as programs of ns-2."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, Flow, OnOff, Packets, Scenario, chain, simulate, to_ns2
from responsefn import NewReno, Tahoe
from tests.dfcmodel.packets.conftest import plan_of, random_scenario
from tests.oracles.engines import run_engine

# Tcl programs: what they refuse; ns-2 runs them and gives what the engine gives.

NS2 = Packets(convention="ns2", seed=4)


@pytest.mark.simulators
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_ns2_runs_the_program_of_a_random_network_to_the_same_end(tmp_path, run_ns2, seed: int) -> None:
    scenario = random_scenario("fifo", seed)
    flows = [f for f in scenario.flows if not isinstance(f.source, (CBR, OnOff))]
    scenario = replace(scenario, flows=tuple(replace(f, size=np.inf) for f in flows))
    samples, links = run_ns2(tmp_path, to_ns2(scenario, method=NS2))
    found = run_engine(plan_of(scenario, NS2))
    np.testing.assert_array_equal(samples[:, 2::2], found.acked)
    assert links[:, 2].sum() == found.drops.sum() > 0


@pytest.mark.simulators
def test_constant_rates_stop_in_ns2_as_here(tmp_path, run_ns2) -> None:
    links = chain(3, rate=1000.0, delay=0.01, buffer=10)
    flows = [
        Flow("a", (1, 2, 3), CBR(310.0), start=0.0303, stop=0.7),
        Flow("b", (1, 2, 3), CBR(970.0), start=0.0101, stop=0.5),
    ]
    scenario = Scenario("stops", links, flows, duration=1.5)
    _, found = run_ns2(tmp_path, to_ns2(scenario, method=NS2))
    run = simulate(scenario, method=NS2)
    assert found[:, 2].sum() == run.lost.sum() > 50  # no packet is due at a stop, or comes as another leaves


def test_the_program_names_agents_of_the_recovery(one_link) -> None:
    text = to_ns2(one_link, method=Packets(convention="ns2", recovery="sack", seed=7))
    assert "new Agent/TCP/Sack1" in text
    assert "new Agent/TCPSink/Sack1" in text
    assert "$defaultRNG seed 7" in text


def test_random_waits_are_exported_and_the_program_says_who_draws_them(one_link) -> None:
    plain, drawn = (to_ns2(one_link, packet_jitter=wait) for wait in (0.0, 1e-3))
    assert "set overhead_ 0\n" in plain
    assert "set overhead_ 0.001" in drawn
    assert "agree with Packets in distribution only" in drawn
    assert "distribution" not in plain
    in_packets = to_ns2(one_link, packet_jitter="2pkt")
    assert f"set overhead_ {2 / one_link.links[0].rate:.17g}" in in_packets
    assert to_ns2(one_link, packet_jitter="1ms") == drawn
    for refused in (-1.0, "1 furlong"):
        with pytest.raises(ValueError, match="packet_jitter"):
            to_ns2(one_link, packet_jitter=refused)


@pytest.mark.simulators
def test_with_random_waits_goodput_and_losses_agree_in_the_mean(one_link, tmp_path, run_ns2) -> None:
    """Of eight seeds; within four standard errors of the difference."""
    scenario, found = replace(one_link, duration=20.0), []
    for seed in range(1, 9):
        method = Packets(convention="ns2", seed=seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        samples, links = run_ns2(folder, to_ns2(scenario, method=method, packet_jitter=2e-3))
        run = simulate(scenario, method, packet_jitter=2e-3)
        ours = run.delivered[0, -1], run.lost.sum()
        found.append([ours[0] - samples[-1, 2], ours[1] - links[:, 2].sum(), ours[0], ours[1]])
    table = np.array(found)
    error = np.hypot(1e-3 * table[:, 2:].mean(axis=0), table[:, :2].std(axis=0, ddof=1) / 8**0.5)
    assert (np.abs(table[:, :2].mean(axis=0)) < 4.0 * error).all()
    assert np.abs(table[:, 0]).max() > 0.0, "not packet for packet"


@pytest.mark.parametrize(
    ("flow", "recovery", "message"),
    [
        (Flow("f", ("a", "b"), NewReno(), 1000, stop=2.0), None, "^stop of flow 'f' = 2: cannot be exported to ns-2.*give size=$"),
        (Flow("f", ("a", "b"), NewReno()), "rack", "^recovery of flow 'f' = 'rack': .*; use another recovery$"),
        (Flow("f", ("a", "b"), Tahoe()), "sack", "^recovery of flow 'f' with Tahoe.*; use another recovery$"),
        (Flow("f", ("a", "b"), NewReno(), handshake=True), None, "^handshake of flow 'f' = True"),
        (Flow("f", ("a", "b"), NewReno(), pacing=True), None, "^pacing of flow 'f' = True"),
    ],
)  # fmt: skip
def test_no_message_asks_for_a_convention_that_the_export_refuses(
    one_link, flow: Flow, recovery: str | None, message: str
) -> None:
    """Under ``convention="standard"``, which `simulate` advises, there is no program for ns-2."""
    scenario = replace(one_link, flows=(flow,))
    with pytest.raises(ValueError, match=message) as refused:
        to_ns2(scenario, method=Packets(convention="ns2", recovery=recovery))
    assert "convention=" not in str(refused.value).split(": ", 1)[1]
