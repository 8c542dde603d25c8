"""D11 notices one overflow."""

from __future__ import annotations

from validation.claims.takano2006 import queues
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_one_overflow_is_noticed(doctor, judged) -> None:
    def full(frame) -> None:
        frame.loc[frame["node"] == 3, "peak"] = 1800

    doctor(queues.DFC_CASE, full, "nodes")
    found = judged("D11")
    assert [sides.packets for sides in found.values()] == [R, C, R, R]


def test_packets_that_stay_in_the_nodes_are_no_recovery(doctor, judged) -> None:
    doctor(queues.DFC_CASE, lambda frame: frame.assign(queued_target=10), "occupancy")
    assert judged("D11")["recovers"].packets is C
