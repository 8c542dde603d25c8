"""The matrix of hosts, and what follows from it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation.claims.takano2006.hosts import Hosts
from validation.claims.takano2006.matrices import low, matrix, moves
from validation.statistics import LEVEL, Swing
from validation.verdicts import Sides, Verdict

R, C, N, A = (
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
    assert low(swapped, Hosts(), LEVEL) == (C, C)
    assert low(dataclasses.replace(swapped, bias=0.5), Hosts(), LEVEL) == (N, C)


def test_instability_is_relative_to_the_mean() -> None:
    runs = Swing(np.full(8, 0.05), np.tile([0.03, 0.04], 4))
    assert moves(runs, 0.5, 0.2, LEVEL) is R
    assert moves(Swing(10 * runs.mean, runs.absolute), 0.5, 0.2, LEVEL) is C
    between = Swing(2 * runs.mean, runs.absolute)
    assert moves(between, 0.5, 0.2, LEVEL) is N
    assert moves(between, 0.5, 1.0, LEVEL) is C
    assert moves(runs, 0.5, 5.0, LEVEL) is R


@pytest.mark.slow  # the models of ten scenarios on four hosts
def test_with_direct_hosts_dfc_leaves_less_in_packets_in_seven_of_ten() -> None:
    """As the tables of ns-3 and ns-2 say without any of this code (pandas means, by hand)."""
    names = ("1", "2", "3", "4", "4S", "4L", "4R", "4N", "5", "6")
    worse = {name for name in names if matrix(name).worse_on_the_same_host.packets}
    assert worse == {"1", "4", "4S", "4L", "4R", "4N", "5"}
