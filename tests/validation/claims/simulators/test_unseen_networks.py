"""S08: the comparison of the fluid with ns-2 on networks that nothing was tuned to."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from validation import Verdict
from validation.claims.simulators import unseen_networks
from validation.claims.simulators.unseen_networks import Comparison
from validation.generate.packets.unseen_networks import agent_of
from validation.generate.programs import call
from validation.network_comparison import Differences
from validation.unseen_networks import NETWORKS, SET_ASIDE


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


def both(aside: Differences, other: Differences, fresh: Differences | None = None) -> Comparison:
    """Return a comparison, without its experiments; fresh networks are good unless they are given."""
    return Comparison(aside, other, other, other, other, other, other, fresh or half())


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
    assert judge(both(good, good))[key].model is Verdict.HOLDS
    assert judge(both(aside, good))[key].model is Verdict.CONTRADICTED
    verdicts = judge(both(good, aside)).values()
    assert {sides.model for sides in verdicts} == {Verdict.HOLDS}, "only those set aside"


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("worst", half(0.09, 0.01)),
        ("losses", half(ratio=0.79)),
        ("first", half(later=-0.051)),
        ("interval", half(0.4, 0.005)),
    ],
)
def test_fresh_networks_are_judged(key: str, bad: Differences) -> None:
    verdicts = unseen_networks.judge(both(half(), half(), bad))
    failed = {key for key, sides in verdicts.items() if sides.model is Verdict.CONTRADICTED}
    assert failed in ({f"fresh-{key}"}, {"fresh-worst", "fresh-interval"})
    assert f"fresh-{key}" in failed


def test_an_error_of_the_model_within_its_interval_is_covered() -> None:
    """Intervals by chance alone are too short for it: those of the half set aside."""
    off = half(0.03, 0.005)
    verdicts = unseen_networks.judge(both(off, off, off))
    assert verdicts["interval"].model is Verdict.CONTRADICTED
    assert verdicts["fresh-interval"].model is Verdict.HOLDS


def test_the_fresh_networks_run_here_are_one_of_each_topology() -> None:
    networks = unseen_networks.drawn()
    assert len({network.topology for network in networks}) == len(networks) == 5
    assert all(len(network.scenario.flows) <= unseen_networks.FLOWS for network in networks)


def test_cubic_beside_newreno_repairs_losses_as_in_ns2() -> None:
    """ns-2's TCP/Linux has a receiver that sends SACKs, its NewReno none; that network was set aside."""
    network = NETWORKS[unseen_networks.MIXED]
    assert network.name in SET_ASIDE
    assert network.recovery is None, "as the rules say"
    recoveries = [flow.source.recovery for flow in network.scenario.flows]
    assert recoveries == ["newreno", "newreno", "sack", "sack"]
    senders = [agent_of(network, flow).split()[0] for flow in network.scenario.flows]
    assert senders == ["Newreno", "Newreno", "Linux/cubic", "Linux/cubic"]


def test_the_aimd_of_ns2_halves_at_the_first_loss_and_after_a_timeout() -> None:
    network = unseen_networks.halving(NETWORKS[unseen_networks.GENTLE])
    (rule,) = {f.source for f in network.scenario.flows if f.name.startswith("AIMD")}
    assert network.name in SET_ASIDE
    q, state, kept = rule.params, rule.State(cwnd=160.0), []
    for happens in (rule.on_loss, rule.on_loss, rule.on_timeout, rule.on_loss, rule.on_loss):
        after = happens(state._replace(cwnd=160.0), q, None)
        kept.append(after.ssthresh / 160.0)
        state = after
    assert kept == [0.5, 0.875, 0.5, 0.5, 0.875]


@pytest.mark.simulators
def test_in_ns2_the_first_loss_halves_whatever_decrease_num_says(tmp_path, ns2) -> None:
    """The windows before and after each reduction of one flow with ``decrease_num_`` 0.875."""
    script = """
        set ns [new Simulator]
        set a [$ns node]; set b [$ns node]
        $ns duplex-link $a $b 12Mb 20ms DropTail
        $ns queue-limit $a $b 40
        set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink]
        $tcp set window_ 1000; $tcp set increase_num_ 0.2; $tcp set decrease_num_ 0.875
        $ns attach-agent $a $tcp; $ns attach-agent $b $sink; $ns connect $tcp $sink
        set ftp [new Application/FTP]; $ftp attach-agent $tcp
        set out [open windows.txt w]
        $tcp attach $out; $tcp trace cwnd_
        $ns at 0 "$ftp start"
        $ns at 20 "close $out; exit 0"
        $ns run
    """
    (tmp_path / "aimd.tcl").write_text(script)
    call([ns2, "aimd.tcl"], tmp_path)
    lines = (tmp_path / "windows.txt").read_text().splitlines()
    windows = [float(line.split()[-1]) for line in lines]
    falls = [after / before for before, after in pairwise(windows) if after < before - 1.0]
    assert falls[0] == pytest.approx(0.5)
    assert falls[-1] == pytest.approx(0.875, abs=0.001)


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
    partial, standard, halving, gentle = (
        h.shares["difference"].abs().max()
        for h in (found.partial, found.standard, found.halving, found.gentle)
    )
    assert standard < 0.6 * partial, "SACK is what CUBIC has in ns-2"
    assert halving < 0.6 * gentle
