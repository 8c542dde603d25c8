"""Fluid and packets agree on deadlocks of random rings and fabrics with pauses."""

from __future__ import annotations

from collections import Counter

import pytest

from dfcmodel import Fluid, simulate
from validation.pause_networks import KINDS, RULES, compare_verdicts, draw_pause_network


def test_networks_are_of_all_kinds_and_the_same_again() -> None:
    drawn = [draw_pause_network(3, n) for n in range(len(KINDS) * len(RULES))]
    assert drawn == [draw_pause_network(3, n) for n in range(len(drawn))]
    rules = {getattr(each.links[0].discipline, "counts", "pause") for each in drawn}
    assert rules == set(RULES)
    assert {each.name.partition(" ")[0] for each in drawn} == set(KINDS)
    assert drawn != [draw_pause_network(4, n) for n in range(len(drawn))]


def test_levels_agree_on_some_networks() -> None:
    """Six of seed 3, set aside; near the critical load one may differ."""
    found = [compare_verdicts(draw_pause_network(3, n)) for n in range(6)]
    assert sum(each.agree for each in found) >= 5
    counts = Counter(each.fluid for each in found)
    assert counts["deadlocked"] >= 1
    assert counts["completed"] >= 1


@pytest.mark.slow
def test_levels_agree_on_190_of_200_networks() -> None:
    """Of a seed that was not looked at; a difference has an explanation where starts of flows decide at one level."""
    found = [compare_verdicts(draw_pause_network(4, n)) for n in range(200)]
    different = [each for each in found if not each.agree]
    assert len(different) <= 10, different
    assert all(each.phases is not None for each in different)
    assert {each.packets for each in found} == {"completed", "deadlocked"}


def test_the_fluid_says_where_its_verdict_may_differ() -> None:
    network = draw_pause_network(1, 152)  # completed in the fluid, deadlocked in packets
    run = simulate(network, Fluid())
    limits = {limit.partition(":")[0] for limit in run.limits}
    assert "deadlock" in limits
    assert "limit, deadlock" in run.summary()
