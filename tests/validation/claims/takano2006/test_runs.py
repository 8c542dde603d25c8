"""Runs of the scenarios: bundled ones, those of our packet level, and what is read from them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from dfcmodel import Packets, simulate, takano2006
from hopflow.results import figure
from validation import Verdict, evidence
from validation.claims.takano2006 import axes, level, queues, studies, vegas_runs
from validation.claims.takano2006.hosts import (
    BOTH,
    CLOCKS,
    NS3,
    OWN_LINK,
    READINGS,
    Hosts,
    by_simulator,
)
from validation.claims.takano2006.matrices import (
    Cell,
    Matrix,
    Own,
    in_own_links,
    low,
    matrix,
    moves,
    of_sources,
)
from validation.claims.takano2006.own_links import first_losses, runs_with_dfc, runs_without_dfc
from validation.claims.takano2006.studies import Efficiencies
from validation.own_links import KINDS, SCENARIOS
from validation.statistics import LEVEL, Swing
from validation.verdicts import Sides, model_only

# Running means of curves.


@pytest.mark.parametrize("width", [5, 20])
def test_running_means_are_those_of_pandas(width: int) -> None:
    series = np.random.default_rng(1).random(60)
    expected = pd.Series(series).rolling(width, center=True).mean()
    np.testing.assert_allclose(axes.smooth(series, width), expected, rtol=1e-12)


def test_a_band_spans_the_runs() -> None:
    _, ax = figure()
    runs = Efficiencies(np.arange(9.0), {"target": np.array([np.zeros(9), np.ones(9)])})
    axes.band(ax, runs, "two runs", "black")
    (band,) = ax.collections
    inside = band.get_paths()[0].vertices
    assert (inside[:, 1].min(), inside[:, 1].max()) == (0.0, 1.0)
    axes.efficiency_axes(ax, "title", 2.0)
    assert ax.get_xlim() == (0.0, 2.0)


# Readings of the hosts, and the simulators that ran what a statement compares.

H = Verdict.HOLDS


def test_hosts_with_a_link_of_their_own_are_those_of_ns3() -> None:
    judged = {"": {"low": Sides(H, H)}, OWN_LINK: {"low": Sides(H, H)}}
    found = by_simulator(judged, {"low": BOTH})
    assert found[""] == {"low": {"ns-2": H, "ns-3": H}}
    assert found[OWN_LINK] == {"low": {"ns-3": H}}


def test_a_statement_without_packets_has_no_simulator() -> None:
    assert by_simulator({"": {"settles": model_only(H)}}, {"settles": NS3}) == {"": {}}


def test_the_default_is_shaped_with_dfc_and_direct_without() -> None:
    assert (Hosts().with_dfc, Hosts().without) == ("shaped", "direct")
    assert Hosts() not in READINGS.values()
    assert [bool(hosts.clocks) for hosts in READINGS.values()].count(True) == 1


# Scenarios of takano2006 at hopflow's packet level.


@pytest.mark.slow
def test_with_dfc_the_target_has_half_of_the_links() -> None:
    found = level.swings_of("1")
    assert found is not None
    assert found[0].mean == pytest.approx(0.5, abs=0.01)
    assert found[1].mean.std() > 0.005  # without DFC runs differ


def test_fast_links_are_not_run() -> None:
    assert level.swings_of("6") is None


def test_pacing_takes_the_bursts_away() -> None:
    bursts, spaced = (
        level.vegas("without DFC", pacing).bursts.relative for pacing in (False, True)
    )
    assert spaced.max() < 0.3 * bursts.min()


@pytest.mark.slow
def test_with_the_conventions_of_ns2_some_runs_are_below_the_share() -> None:
    """As in ns-2, whose runs of scenario 1 are undecided; with standard timers none of as many is."""
    found = level.by_convention("1")
    below = {name: int((runs < 0.5).sum()) for name, runs in found.items()}
    assert below["standard"] == 0 < below["ns2"] < level.MORE
    assert level.by_convention("2") == {}


@pytest.mark.parametrize(
    ("name", "meets"), [("4S", 8), ("4", 15), ("4L", 30), ("5", 15), ("6", 15)]
)
def test_the_overshoot_hits_the_flow_that_enters_where_they_meet_as_in_ns2(
    name: str, meets: int
) -> None:
    """It sends bursts into a full buffer, into which the target comes at the pace of its path.

    The target loses 0 to 6 % of what the other one loses there in ns-2; in the fluid, which drops in
    proportion to arrivals, as much as the other one in 4S.
    """
    nodes = evidence.table(studies.Study(name).without_dfc_case, "nodes").query(f"node == {meets}")
    low, high = nodes["background_drops"].min(), nodes["background_drops"].max()
    assert (nodes["target_drops"] < 0.1 * nodes["background_drops"]).all()
    settings = {"jitter": 1e-3, "packet_jitter": studies.PACKET_JITTER, "duration": 0.3}
    for seed in (1, 2):
        method = Packets(seed=seed, convention="ns2")
        run = simulate(takano2006(name, dfc=False), method, **settings)
        target, background = run.lost.sum(axis=2)[:, meets - 1]
        assert target < 0.1 * background
        if name.startswith("4"):  # 5 and 6: three runs of ns-2 that differ by half
            # its runs' standard deviation is two per cent
            assert 0.97 * low <= background <= 1.03 * high


# The matrix of hosts, and what follows from it.

R_MATRICES, C_MATRICES, N_MATRICES, A = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
)


def test_network_and_target_agree_where_both_flows_have_half() -> None:
    """Scenario 1 with shaped hosts: half of 29 links, and half of 15 of them (takano2006, Fig. 5)."""
    found = matrix("1")
    cell = found.with_dfc["shaped"].packets
    assert found.part == 15 / 29
    assert cell.target.mean.mean() == pytest.approx(0.5, abs=0.005)
    assert cell.network.mean.mean() == pytest.approx(found.fair(Hosts(network=True)), abs=0.005)


@pytest.mark.slow
def test_hosts_without_packet_runs_say_nothing_on_packets() -> None:
    assert low(matrix("2"), Hosts("unshaped", "unshaped"), LEVEL).packets is A


def test_the_order_turns_with_the_runs_and_the_bias_widens_it() -> None:
    found = matrix("2")
    high = Swing(np.full(8, 0.9) + np.linspace(0, 1e-3, 8), np.zeros(8))
    cell = found.direct.model._replace(target=high)
    swapped = dataclasses.replace(found, direct=Sides(cell, cell))
    assert low(swapped, Hosts(), LEVEL) == (C_MATRICES, C_MATRICES)
    assert low(dataclasses.replace(swapped, bias=0.5), Hosts(), LEVEL) == (N_MATRICES, C_MATRICES)


def test_instability_is_relative_to_the_mean() -> None:
    runs = Swing(np.full(8, 0.05), np.tile([0.03, 0.04], 4))
    assert moves(runs, 0.5, 0.2, LEVEL) is R_MATRICES
    assert moves(Swing(10 * runs.mean, runs.absolute), 0.5, 0.2, LEVEL) is C_MATRICES
    between = Swing(2 * runs.mean, runs.absolute)
    assert moves(between, 0.5, 0.2, LEVEL) is N_MATRICES
    assert moves(between, 0.5, 1.0, LEVEL) is C_MATRICES
    assert moves(runs, 0.5, 5.0, LEVEL) is R_MATRICES


@pytest.mark.slow  # the models of ten scenarios on four hosts
def test_with_direct_hosts_dfc_leaves_less_in_packets_in_seven_of_ten() -> None:
    """As the tables of ns-3 and ns-2 say without any of this code (pandas means, by hand)."""
    names = ("1", "2", "3", "4", "4S", "4L", "4R", "4N", "5", "6")
    worse = {name for name in names if matrix(name).worse_on_the_same_host.packets}
    assert worse == {"1", "4", "4S", "4L", "4R", "4N", "5"}


# The bundled runs of hosts with a link of their own, and what the claims make of them.

R_OWN_LINKS, C_OWN_LINKS, N_OWN_LINKS, A = (
    Verdict.HOLDS,
    Verdict.CONTRADICTED,
    Verdict.INCONCLUSIVE,
    Verdict.NOT_APPLICABLE,
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_eight_runs_of_each_kind_and_three_with_dfc(name: str) -> None:
    for kind in KINDS:
        assert len(runs_without_dfc(name, kind)[0].flows["target"]) == 8
        runs, lost = runs_with_dfc(name, kind)
        assert len(runs.flows["target"]) == 3
        assert not lost.any()


def test_with_equal_clocks_one_flow_has_all_of_the_first_losses() -> None:
    """Scenario 1: whichever of two simultaneous events is first decides, in every run; real clocks do not agree."""
    found = first_losses("1")
    assert set(found["departures first"]) == {0.0}
    assert set(found["as in ns-2"]) == {1.0}
    assert np.ptp(found["clocks"]) > 0.9


def cell(mean: float) -> Cell:
    swing = Swing(np.full(8, mean), np.full(8, 0.1))
    return Cell(swing, swing, np.zeros(8))


def matrix_of(fluid: float, packets: float) -> Matrix:
    both = Sides(cell(fluid), cell(fluid))
    own = {kind: Own(cell(0.5), cell(packets)) for kind in KINDS}
    return Matrix({"shaped": both}, both, Sides(cell(fluid), None), 0.5, 0.0, own)


def test_a_fluid_that_is_wrong_decides_nothing_without_dfc() -> None:
    """0.88 against 0.06, as in scenario 1; 0.5 against 0.3 is within a factor of two, not within 1.5."""
    judgement = {"settles": Sides(R_OWN_LINKS, R_OWN_LINKS), "low": Sides(C_OWN_LINKS, A)}
    hosts = READINGS[OWN_LINK]
    wrong, right = matrix_of(0.88, 0.06), matrix_of(0.5, 0.3)
    assert of_sources(judgement, (wrong,), hosts, 2.0)["low"].model is N_OWN_LINKS
    assert of_sources(judgement, (wrong,), hosts, 2.0)["settles"].model is R_OWN_LINKS
    assert of_sources(judgement, (right,), hosts, 2.0)["low"].model is C_OWN_LINKS
    assert of_sources(judgement, (right,), hosts, 1.5)["low"].model is N_OWN_LINKS
    assert of_sources(judgement, (right, wrong), hosts, 2.0)["low"].model is N_OWN_LINKS


def test_simulators_have_no_clocks() -> None:
    judgement = {"settles": Sides(R_OWN_LINKS, R_OWN_LINKS)}
    found = of_sources(judgement, (matrix_of(0.5, 0.5),), READINGS[CLOCKS], 2.0)
    assert found["settles"] == (R_OWN_LINKS, A)


def test_orders_of_events_that_disagree_decide_nothing() -> None:
    verdicts = {"departures first": C_OWN_LINKS, "as in ns-2": R_OWN_LINKS, "clocks": C_OWN_LINKS}
    found = in_own_links(lambda kind, _: {"low": Sides(A, verdicts[kind])})
    assert found == {OWN_LINK: {"low": N_OWN_LINKS}, CLOCKS: {"low": C_OWN_LINKS}}


def test_runs_of_the_level_take_the_place_of_packets() -> None:
    found = matrix_of(0.88, 0.06).at_level("clocks")
    without = found.without(READINGS[CLOCKS])
    assert without.packets is not None
    assert without.packets.target.mean.mean() == pytest.approx(0.06)
    assert found.with_dfc["shaped"].packets.target.mean.mean() == pytest.approx(0.5)
    assert dataclasses.replace(found).direct.packets.target.mean.mean() == pytest.approx(0.88)


# Queues of a run: what they are asked.

R_QUEUES, C_QUEUES, N_QUEUES = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_properties_of_a_hand_made_run() -> None:
    time = np.array([0.05, 0.15, 0.25])
    stored = np.zeros((20, 3))
    stored[0, 0], stored[queues.MERGE], stored[3, 1] = 50.0, (0.0, 90.0, 10.0), 10.0
    run = queues.Queues(time, stored, np.arange(20.0), np.zeros(20), stored.max(axis=1), 0.15)
    assert run.share_of_merge == pytest.approx(100 / 110)
    assert run.share_of_largest == pytest.approx(0.9)
    assert (run.left, run.largest, run.peak_of_merge, run.lost) == (10.0, 90.0, 90.0, 190.0)


def test_one_run_of_several_decides_against_a_statement() -> None:
    runs = queues.without_dfc()
    assert queues.every(runs, lambda run: run.lost > 0) == (R_QUEUES, R_QUEUES)
    first = runs.packets[0]
    assert queues.every(runs, lambda run: run is not first) == (R_QUEUES, C_QUEUES)


# Vegas with its own slow start.


def test_vegas_ends_its_slow_start_at_the_queue_of_its_own_burst() -> None:
    """Of W packets sent at twice the link rate W/2 wait behind each other, W/4 on average."""
    run = vegas_runs.fluid("without DFC")
    fits = run.scenario.links[0].rate * run.scenario.base_rtt(run.scenario.flows[0])
    left = float(run.window[0, run.time < 0.1].max())
    assert 1 < left * left / 4 / fits < 4  # gamma; one doubling before, it was a quarter of that


def test_users_get_the_vegas_that_is_judged() -> None:
    """Nothing is lost, as in ns-2 (`vegas_runs.NS2`); with Reno's slow start thousands of packets were."""
    run = simulate(takano2006("4V", dfc=False), duration=vegas_runs.END, level="fluid")
    np.testing.assert_array_equal(run.delivered, vegas_runs.fluid("without DFC").delivered)
    assert run.lost.sum() == 0.0


def test_means_within_a_tenth_are_alike() -> None:
    assert vegas_runs.alike(1.0, 0.95, 0.1)
    assert not vegas_runs.alike(0.85, 1.0, 0.1)
