"""C++ programs: what they refuse; ns-3 runs them, and its means are near those of the engine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dfcmodel as dfc
from hopflow import mbps
from responsefn import CTCP, CUBIC, DCTCP, HSTCP, BBRv1, NewReno, Reno, Vegas
from responsefn.linux import LinuxScalable

MODULES = ("core", "network", "internet", "point-to-point", "traffic-control")
RUNS = 6


def two_flows(*rules: Any, discipline: Any = None, buffer: int = 40, **flow: Any) -> dfc.Scenario:
    links = dfc.dumbbell(2, rate=mbps(10), delay=20e-3, buffer=buffer, access_rate=mbps(100), access_delay=5e-3)
    if discipline is not None:
        links = tuple(replace(link, discipline=discipline) if link.name == "left->right" else link for link in links)
    flows = tuple(
        dfc.Flow(f"flow {n}", (f"s{n}", "left", "right", f"d{n}"), rule, 500.0, **flow)
        for n, rule in enumerate(rules, start=1)
    )
    return dfc.Scenario("two flows", links, flows, duration=20.0)


def lot_with_cbr() -> dfc.Scenario:
    """Return three hops with a long flow, a flow over each hop, and a source of constant rate against them."""
    one = {"access_rate": mbps(100), "access_delay": 1e-3}
    links = dfc.parking_lot(3, rate=mbps(10), delay=5e-3, buffer=30, **one)
    there = {(link.source, link.target) for link in links}
    links = (
        *links,
        *(dfc.Link(n + 1, n, mbps(10), 5e-3, 30.0) for n in (1, 2, 3) if (n + 1, n) not in there),
    )
    paths = [("s1", 1, 2, 3, 4, "d4"), *((f"s{h}", h, h + 1, f"d{h + 1}") for h in (1, 2, 3))]
    flows = [dfc.Flow(f"flow {f}", path, NewReno(), 500.0) for f, path in enumerate(paths)]
    flows.append(dfc.Flow("constant", (4, 3, 2, 1), dfc.CBR(200.0), start=1.0, size=2000.0))
    return dfc.Scenario("parking lot", links, flows, duration=20.0)


@pytest.fixture
def built(tmp_path: Path, ns3: Path) -> Callable[[str], Path]:
    """Compile programs in a folder."""

    def build(program: str) -> Path:
        (tmp_path / "run.cc").write_text(program)
        libraries = ns3 / "lib64"
        subprocess.run(
            [
                "g++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem",
                str(ns3 / "include"), "run.cc", "-o", "run", f"-L{libraries}",
                f"-Wl,-rpath,{libraries}", *(f"-lns3.44-{module}" for module in MODULES),
            ],
            cwd=tmp_path, check=True,
        )  # fmt: skip
        return tmp_path

    return build


def run_ns3(folder: Path, seed: int) -> tuple[np.ndarray, ...]:
    """Run a program with starts in the first second; return samples, flows and links."""
    command = ["./run", f"--seed={seed}", "--jitter=1"]
    subprocess.run(command, cwd=folder, check=True)
    return tuple(np.loadtxt(folder / f"{name}.txt", ndmin=2) for name in ("samples", "flows", "links"))


@pytest.mark.slow
@pytest.mark.simulators
@pytest.mark.parametrize(
    ("scenario", "recovery"),
    [
        (two_flows(NewReno(), NewReno()), "newreno"),
        (two_flows(CUBIC(), NewReno()), "sack"),
        (two_flows(BBRv1(), NewReno()), {"flow 2": "sack"}),
        (two_flows(NewReno(), NewReno(), discipline=dfc.CoDel(), buffer=100), "sack"),
        (two_flows(NewReno(), NewReno(), discipline=dfc.PIE(), buffer=100), "sack"),
        (two_flows(DCTCP(), DCTCP(), discipline=dfc.StepMarking(20.0), buffer=100), "sack"),
        (lot_with_cbr(), "sack"),
    ],
    ids=["newreno", "cubic", "bbr", "codel", "pie", "dctcp", "lot"],
)
def test_ns3_delivers_as_much(built, scenario: dfc.Scenario, recovery: Any) -> None:
    """Means of 6 runs of both with random starts.

    The total within 4 % (measured: 0.4 to 3.1), shares within 3.5 joint standard errors and 0.02: ns-3's senders
    are others than ours, with a handshake, larger headers of ACKs and another first round trip. Without SACK they
    send again what has arrived, more than twice what was lost, and deliver 5 % less: within 7 %.
    """
    method = dfc.Packets(recovery=recovery)
    folder = built(dfc.to_ns3(scenario, method=method, sample=1.0))
    theirs, ours, again = [], [], []
    for seed in range(1, RUNS + 1):
        samples, flows, links = run_ns3(folder, seed)
        run = dfc.simulate(scenario, replace(method, seed=seed), sample=1.0, jitter=1.0)
        theirs.append(flows[:, 1])
        again.append(flows[:, 2].sum() - links[:, 2].sum())
        ours.append(run.delivered[:, -1])
        np.testing.assert_allclose(samples[-1, 1::2], flows[:, 1])
        assert len(samples) == 20
        assert (links[:, 2].sum() > 0) == (run.lost.sum() > 0)
    totals = [np.sum(each, axis=1) for each in (theirs, ours)]
    most = 0.07 if recovery == "newreno" else 0.04
    assert np.mean(totals[1]) == pytest.approx(np.mean(totals[0]), rel=most)
    assert (np.mean(again) > 200.0) == (recovery == "newreno")
    shares = [each / total[:, None] for each, total in zip((theirs, ours), totals, strict=True)]
    error = np.sqrt(sum(share.var(axis=0, ddof=1) / RUNS for share in shares))
    apart = abs(shares[0].mean(axis=0) - shares[1].mean(axis=0))
    assert (apart <= 0.02 + 3.5 * error).all()


def test_a_program_has_all_links_both_ways_and_all_flows() -> None:
    scenario = lot_with_cbr()
    text = dfc.to_ns3(scenario, method=dfc.Packets(recovery="sack", seed=7), duration=3.0, sample=0.5)
    rows = {
        name: part.split("\n};")[0].splitlines()[1:]
        for name in ("LINKS", "FLOWS")
        for part in [text.split(f" {name}{{")[1]]
    }
    pairs = {frozenset((link.source, link.target)) for link in scenario.links}
    assert len(rows["LINKS"]) == len(pairs)
    assert len(rows["FLOWS"]) == 5
    assert '"", {}, false, 1.0, 2000, 10000, 1, 1, 200.0}' in rows["FLOWS"][-1]
    assert "SEED = 7" in text
    assert "SAMPLES = 6;" in text
    assert "%SCENARIO" not in text
    assert "%N" not in text


def test_hosts_have_links_of_their_own() -> None:
    flows = [dfc.Flow("a", (1, 2, 3), NewReno(), host="unshaped")]
    scenario = dfc.Scenario("host", dfc.chain(3, rate=1e3, delay=1e-3, buffer=20), flows, duration=1.0)
    text = dfc.to_ns3(scenario)
    assert "NODES = 4;" in text
    assert "{3, 0, 0.001, {12000000, 1000000000" in text
    assert "{{3, 0, 1, 2}, " in text


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Reno(), "TcpNewReno"),
        (CUBIC(C=0.3), 'TcpCubic", {{"C", "0.3"}'),
        (DCTCP(), 'TcpDctcp", {{"DctcpShiftG", "0.0625"}'),
        (HSTCP(table=1), "TcpHighSpeed"),
        (LinuxScalable(kernel="2.6.22"), 'TcpScalable", {{"AIFactor", "50"}'),
        (Vegas(), 'TcpVegas", {{"Alpha", "2"}'),
        (BBRv1(), "TcpBbr"),
    ],
)
def test_rules_that_ns3_has(rule: Any, kind: str) -> None:
    discipline = dfc.StepMarking(20.0) if isinstance(rule, DCTCP) else None
    text = dfc.to_ns3(two_flows(rule, discipline=discipline), method=dfc.Packets(recovery="sack"))
    assert f'"ns3::{kind}' in text


@pytest.mark.parametrize(
    ("discipline", "part"),
    [
        (dfc.CoDel(target=3e-3), '"ns3::CoDelQueueDisc", {{"Target", "0.003s"}'),
        (dfc.PIE(), '"ns3::PieQueueDisc", {{"QueueDelayReference", "0.015s"}'),
        (dfc.RED(5.0, 15.0, ecn=True), '{"QW", "0.002"}, {"LInterm", "10.0"}, {"Gentle", "true"}'),
        (dfc.StepMarking(20.0), '{"UseEcn", "true"}, {"UseHardDrop", "false"}'),
    ],
)
def test_managers_that_ns3_has(discipline: Any, part: str) -> None:
    assert part in dfc.to_ns3(two_flows(NewReno(), discipline=discipline))


@pytest.mark.parametrize(
    ("scenario", "method", "message"),
    [
        (two_flows(NewReno(), discipline=dfc.DFC()), dfc.Packets(), "discipline of link left->right"),
        (two_flows(NewReno(), discipline=dfc.PFC(headroom=5.0, xoff=5.0, xon=1.0)), dfc.Packets(), "discipline of link"),
        (two_flows(NewReno(), discipline=dfc.RampMarking()), dfc.Packets(), "discipline of link"),
        (two_flows(NewReno(), discipline=dfc.RED(mean_packet=500.0)), dfc.Packets(), "discipline of link"),
        (two_flows(NewReno(), discipline=dfc.CoDel(), buffer=1), dfc.Packets(), "buffer of link left->right"),
        (two_flows(CTCP()), dfc.Packets(), "source of flow 'flow 1'"),
        (two_flows(HSTCP()), dfc.Packets(), "source of flow 'flow 1'"),
        (two_flows(dfc.OnOff(10.0, 0.1, 0.1)), dfc.Packets(), "source of flow 'flow 1'"),
        (two_flows(NewReno(), pacing=True), dfc.Packets(), "pacing of flow 'flow 1'"),
        (two_flows(NewReno(), size=9.0, idle=1.0), dfc.Packets(), "idle of flow 'flow 1' = 1"),
        (two_flows(Reno()), dfc.Packets(), "recovery of flow 'flow 1' = 'reno'"),
        (two_flows(NewReno()), dfc.Packets(convention="ns2"), 'convention="standard"'),
        (two_flows(NewReno()), dfc.Packets(loss={"left->right": 0.01}), "loss of left->right = 0.01"),
        (two_flows(NewReno()), dfc.Packets(ack_transmission=False), "ack_transmission = False"),
        (replace(two_flows(NewReno()), packet_size=40.0), dfc.Packets(), "packet_size = 40"),
        (replace(two_flows(NewReno()), packet_size=100.5), dfc.Packets(), "packet_size = 100.5"),
    ],
)  # fmt: skip
def test_what_ns3_does_not_have_is_refused(scenario: dfc.Scenario, method: dfc.Packets, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dfc.to_ns3(scenario, method=method)


def test_both_directions_of_a_channel_have_one_delay() -> None:
    links = (dfc.Link(1, 2, 1e3, 1e-3, 20.0), dfc.Link(2, 1, 1e3, 2e-3, 20.0))
    scenario = dfc.Scenario("delays", links, [dfc.Flow("a", (1, 2), NewReno())], duration=1.0)
    with pytest.raises(ValueError, match="delay of link 2->1 ="):
        dfc.to_ns3(scenario)


def test_names_stay_in_comments() -> None:
    scenario = replace(two_flows(NewReno()), name="a\nint main() {} \\")
    assert dfc.to_ns3(scenario).splitlines()[0].startswith(r"// 'a\nint main() {} \\'")
