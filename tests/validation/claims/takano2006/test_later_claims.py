"""D12 to D20 notice evidence that says otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation import Verdict
from validation.claims.takano2006 import (
    shares,
    udp,
    unequal_delays,
    variants,
    vegas_runs,
    vegas_small_buffers,
)
from validation.statistics import Swing
from validation.verdicts import Sides

# D12 to D15 could have come out otherwise.

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "mean", "verdict"),
    [
        ("4S", 0.9, R),
        ("4S", 0.0, C),
        pytest.param("4L", 0.0, R, marks=pytest.mark.slow),
        pytest.param("4L", 0.9, C, marks=pytest.mark.slow),
        pytest.param("4R", 0.9, R, marks=pytest.mark.slow),
        pytest.param("4N", 0.0, C, marks=pytest.mark.slow),
    ],
)
def test_the_order_of_the_runs_decides(name: str, mean: float, verdict: Verdict) -> None:
    found = variants.measure(name)

    def at(matrix, level: float):
        runs = Swing(level + np.linspace(0, 1e-3, 8), np.zeros(8))
        return dataclasses.replace(
            matrix, direct=Sides(*(cell._replace(target=runs) for cell in matrix.direct))
        )

    changed = dataclasses.replace(found, matrix=at(found.matrix, mean), plain=at(found.plain, 0.4))
    assert variants.judge(changed)["compared"] == (verdict, verdict)


def test_only_other_tcps_are_compared_with_dfc() -> None:
    assert "below" in variants.judge(variants.measure("4R"))
    assert "below" not in variants.judge(variants.measure("4S"))


def test_d13_is_no_contradiction_for_the_network() -> None:
    from validation.claims import find

    finding = find("D13").check()
    assert finding.default == (C, C)
    (network,) = (each for each in finding.readings if "network" in each.name)
    assert C not in {part.simulation for part in network.parts}
    assert finding.simulation is C  # nor does the network uphold it


# D16 notices losses, and another mean with DFC.


@pytest.mark.slow
def test_losses_are_noticed_vegas(doctor, judged) -> None:
    doctor(vegas_runs.NS2, lambda d: d.assign(dropped=1), "flows")
    assert judged("D16")["lossless, without DFC"].packets is C


def test_another_mean_is_noticed(doctor, judged) -> None:
    def more_with_dfc(frame) -> None:
        frame.loc[frame["discipline"] == "dfc", "efficiency"] *= 2

    doctor(vegas_runs.NS3, more_with_dfc, "efficiency")
    assert judged("D16")["same"].packets is C


# D17 notices losses without DFC.


def test_losses_are_noticed_vegas_small_buffers(doctor, judged) -> None:
    doctor(vegas_runs.SMALL_BUFFER_RUNS, lambda d: d.assign(dropped=1), "flows")
    assert judged("D17")["lossy"].packets is R


def test_with_dfc_nothing_is_lost_and_the_window_is_that_of_large_buffers(judged) -> None:
    """ns-3's runs with DFC drop no packet, and their means are the same as in 4V."""
    assert judged("D17")["dfc_same"] == Sides(R, R)


def test_the_pattern_of_the_paper_is_losses_with_the_small_buffer_only() -> None:
    shown = vegas_small_buffers.ByBuffer((0.0, 5.0), (0.8, 0.3))
    assert shown.as_printed
    assert not shown._replace(lost=(1.0, 5.0)).as_printed
    assert not shown._replace(mean=(0.8, 0.5)).as_printed
    assert not vegas_small_buffers.ByBuffer((np.nan, np.nan), (np.nan, np.nan)).known


# D18 would keep its efficiency if packets said so.


def test_equal_efficiencies_are_seen(doctor, judged) -> None:
    def same(frame) -> None:
        frame.loc[frame["flow"] == "target", "mean_efficiency"] = 0.5

    doctor(unequal_delays.UNEQUAL, same, "flows")
    assert judged("D18")["even"].packets is Verdict.HOLDS


def test_packet_level_falls_as_ns3_does() -> None:
    """With delays of their own in each run: within a third of what unequal delays cost."""
    seen = unequal_delays.measure().mean(unequal_delays.DIFFUSION)
    found, lost = unequal_delays.packet_level(3.0)
    assert lost == 0.0
    assert abs(found.mean() - seen[3]) < (seen[1] - seen[3]) / 3


# D19 notices losses.


def test_losses_are_noticed_udp(doctor, judged) -> None:
    doctor(udp.CASE, lambda d: d.assign(dropped=1), "flows")
    found = judged("D19")
    assert all(found[f"lossless, {where}"].packets is C for where in udp.WHERE)
    assert all(found[f"fair, {where}"].packets is R for where in udp.WHERE)


# D20 notices a link for the shorter queue.


def test_a_link_for_the_shorter_queue_is_noticed(doctor, judged) -> None:
    swapped = {"queued_target": "queued_background", "queued_background": "queued_target"}
    doctor(shares.UNSHAPED, lambda frame: frame.rename(columns=swapped), "occupancy")
    assert judged("D20")["larger"].packets is Verdict.CONTRADICTED
