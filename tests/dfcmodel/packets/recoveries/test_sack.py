"""SACK: the pipe of Fall and Floyd 1996, and when recovery ends."""

from __future__ import annotations

from dfcmodel import SackRecovery
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


def test_the_pipe_is_what_left_three_duplicates_ago_and_falls_with_acks() -> None:
    s = recovering_sender(SackRecovery, dupacks=3.0)
    s = SackRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert (s.pipe, s.recovering, s.resend, s.reduce, s.burst) == (17.0, 1.0, 10.0, 1.0, 0.0)
    s = s._replace(recover=29.0)  # as the engine sets it with the reduction
    s = SackRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert s.pipe == 16.0
    s = SackRecovery.on_ack(s._replace(snd_una=15.0), recovery_event(acked=5.0))
    assert (s.pipe, s.restart, s.recovering) == (14.0, 1.0, 1.0)


def test_recovery_ends_with_the_ack_of_recover_unless_losses_wait() -> None:
    s = recovering_sender(SackRecovery, recovering=1.0, recover=29.0, snd_una=30.0)
    assert SackRecovery.on_ack(s, recovery_event(acked=1.0)).recovering == 0.0
    assert SackRecovery.on_ack(s, recovery_event(acked=1.0, unrepaired=1.0)).recovering == 1.0
