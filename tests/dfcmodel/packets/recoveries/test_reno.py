"""Reno: RFC 5681, 3.2, step by step."""

from __future__ import annotations

from dfcmodel import RenoRecovery
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


def test_fast_recovery_runs_through_the_steps_of_rfc_5681() -> None:
    seen = recovery_event()
    s = RenoRecovery.on_duplicate_ack(recovering_sender(RenoRecovery, dupacks=2.0), seen)
    assert (s.limited, s.burst, s.recovering) == (1.0, 0.0, 0.0)  # step 1
    s = RenoRecovery.on_duplicate_ack(recovering_sender(RenoRecovery, dupacks=3.0), seen)
    assert (s.reduce, s.resend, s.inflation, s.recovering) == (1.0, 10.0, 3.0, 1.0)  # steps 2, 3
    s = RenoRecovery.on_duplicate_ack(s._replace(dupacks=4.0), seen)
    assert s.inflation == 4.0  # step 4
    s = RenoRecovery.on_ack(s._replace(snd_una=12.0), recovery_event(acked=2.0))
    assert (s.recovering, s.inflation, s.grow) == (0.0, 0.0, 1.0)  # step 6
