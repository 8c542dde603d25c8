"""D20 notices a link for the shorter queue."""

from __future__ import annotations

from validation.claims.takano2006 import shares
from validation.verdicts import Verdict


def test_a_link_for_the_shorter_queue_is_noticed(doctor, judged) -> None:
    swapped = {"queued_target": "queued_background", "queued_background": "queued_target"}
    doctor(shares.UNSHAPED, lambda frame: frame.rename(columns=swapped), "occupancy")
    assert judged("D20")["larger"].packets is Verdict.CONTRADICTED
