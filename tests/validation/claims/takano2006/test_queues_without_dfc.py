"""D10 notices a queue elsewhere."""

from __future__ import annotations

from validation.claims.takano2006 import queues
from validation.verdicts import Verdict

R, C, N = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE


def test_a_queue_elsewhere_is_noticed(doctor, judged) -> None:
    def more(frame) -> None:
        frame.loc[frame["node"] == 1, "queued"] = 900

    doctor(queues.FIFO, more, "occupancy")
    assert judged("D10")["at_node_15"].packets is C


def test_a_queue_that_stays_is_noticed(doctor, judged) -> None:
    def fill(frame) -> None:
        frame.loc[frame["node"] == 15, "queued"] = 900

    doctor(queues.FIFO, fill, "occupancy")
    assert judged("D10")["drains"].packets is C
