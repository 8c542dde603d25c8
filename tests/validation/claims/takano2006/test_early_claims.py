"""D01 to D11 notice evidence that says otherwise."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from validation import Verdict, evidence
from validation.claims.takano2006 import control_delay, limit, loaded_node, queues
from validation.verdicts import Sides

# D01 notices counts that no packet size makes, and another delay.


def test_counts_that_no_packet_size_makes_are_noticed(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "SEVERAL_MILLION", (2e7, 9e7))
    found = control_delay.judge(control_delay.measure.measure())
    assert found["counts"].model is Verdict.CONTRADICTED


def test_another_delay_is_noticed(monkeypatch) -> None:
    monkeypatch.setattr(control_delay, "LIGHT_IN_FIBRE", 3e8)
    found = control_delay.judge(control_delay.measure.measure())
    assert found["factor"].model is Verdict.CONTRADICTED


# D02 fails where the limit is another.


def test_another_limit_is_noticed(monkeypatch) -> None:
    def another(x, kappa, time):
        return 1 + 0.3 * np.cos(2 * np.pi * x) + 0 * kappa * time

    monkeypatch.setattr(limit, "density", another)
    assert limit.judge(limit.measure.measure())["converges"].model is Verdict.CONTRADICTED


def test_the_density_solves_the_diffusion_equation() -> None:
    """dn/dt = -dr/dx + kappa d2n/dx2 by central differences."""
    x, kappa, time, h = np.linspace(0, 1, 9), 0.01, 0.7, 1e-4
    n = lambda x, t: limit.density(x, kappa, t)
    rate = 0.2 * 2 * np.pi * np.cos(2 * np.pi * x)
    curvature = (n(x + h, time) - 2 * n(x, time) + n(x - h, time)) / h**2
    change = (n(x, time + h) - n(x, time - h)) / (2 * h)
    assert change == pytest.approx(-rate + kappa * curvature, abs=1e-4)


NODES = np.array([16.0, 32.0, 64.0, 128.0, 256.0])
SECOND_ORDER, CONSTANT = 50.0 / NODES**2, np.full(5, 0.05)


@pytest.mark.parametrize(
    ("square", "linear", "expected"),
    [
        (SECOND_ORDER, CONSTANT, (Verdict.HOLDS, Verdict.CONTRADICTED)),
        (CONSTANT, SECOND_ORDER, (Verdict.CONTRADICTED, Verdict.HOLDS)),
        (SECOND_ORDER * 2.0, SECOND_ORDER * 2.0, (Verdict.CONTRADICTED, Verdict.CONTRADICTED)),
        (50.0 / NODES**1.85 / 256**0.15, 50.0 / NODES**1.95 / 256**0.05, (Verdict.CONTRADICTED, Verdict.HOLDS)),
    ],
    ids=["square", "linear", "too large an error", "order 1.85 and 1.95"],
)  # fmt: skip
def test_errors_of_second_order_below_a_thousandth_converge(square, linear, expected) -> None:
    """Order 2 to within 0.1 and an error below 1e-3 with 256 nodes; each reading by its own errors."""
    found = limit.Refinement(NODES, square, linear, CONSTANT)
    (other,) = limit.readings(found).values()
    assert (limit.judge(found)["converges"].model, other["converges"].model) == expected


def test_only_a_delay_like_the_square_of_the_distance_has_the_limit() -> None:
    """With d as h the diffusion coefficient D h^2 / d vanishes as h, and eq. (7) is no limit."""
    found = limit.measure.measure()
    assert limit.judge(found)["converges"].model is Verdict.HOLDS
    (other,) = limit.readings(found).values()
    assert other["converges"].model is Verdict.CONTRADICTED
    assert found.order_vanished == pytest.approx(1.0, abs=0.2)  # the remainder is of order h


# D03 notices a spread that is not normal, and a variance that is not linear.

C_LOADED_NODE = Verdict.CONTRADICTED


def test_one_side_of_a_bell_is_not_normal() -> None:
    found = loaded_node.measure()
    halves = found.spreads["prescribed"].each(
        lambda spread: spread._replace(packets=spread.packets * (spread.distance >= 0))
    )
    changed = dataclasses.replace(found, spreads={**found.spreads, "prescribed": halves})
    assert loaded_node.judge(changed)["prescribed"] == (C_LOADED_NODE, C_LOADED_NODE)


def test_a_variance_that_stops_growing_is_noticed() -> None:
    """Packets that stay where they are: the runs of 200 periods stand for those of 300."""
    found = loaded_node.measure()
    model, packets = found.spreads["prescribed"]
    late = packets.packets.copy()
    late[:, 3:] = late[:, 3:4]
    stuck = Sides(model, packets._replace(packets=late))
    changed = dataclasses.replace(found, spreads={**found.spreads, "prescribed": stuck})
    assert loaded_node.judge(changed)["prescribed"].packets is C_LOADED_NODE


def test_d03_packets_are_all_there() -> None:
    """No packet enters or leaves the ring: those on links are D/(1+D) of the load, r fed back."""
    rows = evidence.table(loaded_node.LOADED)
    alone = rows[(rows["mode"] == "alone") & (rows["link_rate"] == loaded_node.FAST)]
    sums = alone.groupby(["seed", "time"])[["waiting", "on_link"]].sum()
    missing = 1500 - sums.sum(axis=1)  # in transmission
    assert missing.between(0, 60).all()
    # 1/11 with clocks that are out of step by up to a period: 10 % of it
    assert sums["on_link"].mean() / 1500 == pytest.approx(1 / 11, rel=0.1)


# D10 notices a queue elsewhere.

R, C_QUEUES_WITHOUT_DFC, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_a_queue_elsewhere_is_noticed(doctor, judged) -> None:
    def more(frame) -> None:
        frame.loc[frame["node"] == 1, "queued"] = 900

    doctor(queues.FIFO, more, "occupancy")
    assert judged("D10")["at_node_15"].packets is C_QUEUES_WITHOUT_DFC


def test_a_queue_that_stays_is_noticed(doctor, judged) -> None:
    def fill(frame) -> None:
        frame.loc[frame["node"] == 15, "queued"] = 900

    doctor(queues.FIFO, fill, "occupancy")
    assert judged("D10")["drains"].packets is C_QUEUES_WITHOUT_DFC


# D11 notices one overflow.

R, C_QUEUES_WITH_DFC, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_one_overflow_is_noticed(doctor, judged) -> None:
    def full(frame) -> None:
        frame.loc[frame["node"] == 3, "peak"] = 1800

    doctor(queues.DFC_CASE, full, "nodes")
    found = judged("D11")
    assert [sides.packets for sides in found.values()] == [R, C_QUEUES_WITH_DFC, R, R]


def test_packets_that_stay_in_the_nodes_are_no_recovery(doctor, judged) -> None:
    doctor(queues.DFC_CASE, lambda frame: frame.assign(queued_target=10), "occupancy")
    assert judged("D11")["recovers"].packets is C_QUEUES_WITH_DFC
