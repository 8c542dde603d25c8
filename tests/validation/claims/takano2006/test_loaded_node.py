"""D03 notices a spread that is not normal, and a variance that is not linear."""

from __future__ import annotations

import dataclasses

import pytest

from validation import evidence
from validation.claims.takano2006 import loaded_node
from validation.verdicts import Sides, Verdict

C = Verdict.CONTRADICTED


def test_one_side_of_a_bell_is_not_normal() -> None:
    found = loaded_node.measure()
    halves = found.spreads["prescribed"].each(
        lambda spread: spread._replace(packets=spread.packets * (spread.distance >= 0))
    )
    changed = dataclasses.replace(found, spreads={**found.spreads, "prescribed": halves})
    assert loaded_node.judge(changed)["prescribed"] == (C, C)


def test_a_variance_that_stops_growing_is_noticed() -> None:
    """Packets that stay where they are: the runs of 200 periods stand for those of 300."""
    found = loaded_node.measure()
    model, packets = found.spreads["prescribed"]
    late = packets.packets.copy()
    late[:, 3:] = late[:, 3:4]
    stuck = Sides(model, packets._replace(packets=late))
    changed = dataclasses.replace(found, spreads={**found.spreads, "prescribed": stuck})
    assert loaded_node.judge(changed)["prescribed"].packets is C


def test_d03_packets_are_all_there() -> None:
    """No packet enters or leaves the ring: those on links are D/(1+D) of the load, r fed back."""
    rows = evidence.table(loaded_node.LOADED)
    alone = rows[(rows["mode"] == "alone") & (rows["link_rate"] == loaded_node.FAST)]
    sums = alone.groupby(["seed", "time"])[["waiting", "on_link"]].sum()
    missing = 1500 - sums.sum(axis=1)  # in transmission
    assert missing.between(0, 60).all()
    # 1/11 with clocks that are out of step by up to a period: 10 % of it
    assert sums["on_link"].mean() / 1500 == pytest.approx(1 / 11, rel=0.1)
