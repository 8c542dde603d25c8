"""The loss recoveries that have names, function by function."""

from __future__ import annotations

import math

import pytest

from dfcmodel.recoveries import (
    NewRenoRecovery,
    PRRRecovery,
    RenoRecovery,
    SackRecovery,
    TahoeRecovery,
)
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event

# NewReno: RFC 6582, 3.2, full and partial ACKs.


@pytest.mark.parametrize(
    ("inflation", "acked", "cwnd", "after"),
    [(8.0, 3.0, 20.0, 6.0), (3.0, 3.0, 20.0, 1.0), (3.0, 5.0, 18.0, 1.0), (3.0, 60.0, 1.0, 1.0)],
)
def test_a_partial_ack_deflates_by_what_it_covers_and_adds_one(
    inflation: float, acked: float, cwnd: float, after: float
) -> None:
    """RFC 6582, 3.2, step 3: window and inflation together fall by what is acknowledged, less one packet sent again."""
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, inflation=inflation)
    new = NewRenoRecovery.on_ack(s, recovery_event(acked=acked))
    assert (new.cwnd, new.inflation, new.resend, new.recovering) == (cwnd, after, 10.0, 1.0)
    assert new.burst == 2.0


def test_the_first_partial_ack_alone_restarts_the_timer() -> None:
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, inflation=3.0)
    first = NewRenoRecovery.on_ack(s, recovery_event(acked=1.0))
    second = NewRenoRecovery.on_ack(first._replace(restart=0.0), recovery_event(acked=1.0))
    assert (first.restart, second.restart) == (1.0, 0.0)


@pytest.mark.parametrize(("snd_una", "recovering"), [(29.0, 1.0), (30.0, 0.0)])
def test_the_ack_of_recover_ends_recovery(snd_una: float, recovering: float) -> None:
    s = recovering_sender(NewRenoRecovery, recovering=1.0, recover=29.0, snd_una=snd_una)
    new = NewRenoRecovery.on_ack(s, recovery_event(acked=1.0))
    assert (new.recovering, new.grow) == (recovering, 1.0 - recovering)


# What recoveries take from ns-2: the first packet of a connection, and ``recover`` after recovery.


@pytest.mark.parametrize(
    ("snd_una", "recover", "ns2", "new"),
    [
        (10.0, 8.0, 0.0, True),
        (10.0, 9.0, 0.0, False),
        (1.0, 0.0, 0.0, False),
        (1.0, 0.0, 1.0, True),
    ],
)
def test_a_loss_is_new_beyond_recover_or_after_ns2s_first_packet(
    snd_una: float, recover: float, ns2: float, new: bool
) -> None:
    for kind in (NewRenoRecovery, RenoRecovery, SackRecovery, TahoeRecovery):
        s = recovering_sender(kind, snd_una=snd_una, recover=recover, dupacks=3.0)
        after = kind.on_duplicate_ack(s, recovery_event(ns2=ns2, delivered=1.0))
        assert after.reduce == (1.0 if new else 0.0)


def test_recover_is_below_every_packet_or_ns2s_first_one() -> None:
    s = recovering_sender(SackRecovery, recovering=1.0, recover=29.0, snd_una=30.0)
    for ns2, recover in ((0.0, -2.0), (1.0, 0.0)):
        assert SackRecovery.on_ack(s, recovery_event(acked=1.0, ns2=ns2)).recover == recover


# Proportional rate reduction: the counts of RFC 6937, Sect. 3; runs are in test_equal_senders.


def test_recovery_begins_with_what_is_beyond_the_highest_sacked_packet() -> None:
    s = recovering_sender(PRRRecovery, dupacks=3.0, highest_sacked=13.0, sacked=3.0)
    new = PRRRecovery.on_duplicate_ack(s, recovery_event(delivered=1.0))
    assert (new.pipe, new.pipe_limit, new.recover_fs) == (17.0, 17.0, 20.0)
    assert (new.prr_out, new.prr_delivered, new.resend) == (1.0, 1.0, 10.0)


@pytest.mark.parametrize(("pipe", "delivered"), [(18.0, 1.0), (18.0, 2.0), (12.0, 1.0)])
def test_each_ack_permits_what_rfc_6937_says(pipe: float, delivered: float) -> None:
    """Above ssthresh ceil(prr_delivered ssthresh / RecoverFS) - prr_out; below MAX(...) + 1, up to ssthresh."""
    s = recovering_sender(
        PRRRecovery, recovering=1.0, recover=29.0, cwnd=10.0, pipe=pipe, prr_out=2.0,
        prr_delivered=4.0, recover_fs=20.0,
    )  # fmt: skip
    new = PRRRecovery.on_duplicate_ack(s, recovery_event(delivered=delivered))
    left = pipe - delivered
    total = 4.0 + delivered
    if left > 10.0:
        expected = math.ceil(total * 10.0 / 20.0) - 2.0
    else:
        expected = min(10.0 - left, max(total - 2.0, delivered) + 1.0)
    assert new.pipe == left
    assert new.pipe_limit == left + max(0.0, expected)


# Reno: RFC 5681, 3.2, step by step.


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


# SACK: the pipe of Fall and Floyd 1996, and when recovery ends.


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


# Tahoe: everything from the lost packet on is sent again, after three duplicates and never in recovery.


@pytest.mark.parametrize("dupacks", [1.0, 2.0, 3.0, 4.0])
def test_the_third_duplicate_sends_everything_again(dupacks: float) -> None:
    s = recovering_sender(TahoeRecovery, dupacks=dupacks)
    new = TahoeRecovery.on_duplicate_ack(s, recovery_event())
    assert new.limited == (dupacks < 3.0)  # RFC 3042
    assert new.snd_nxt == (10.0 if dupacks == 3.0 else 30.0)
    assert (new.reduce, new.restart) == ((1.0, 1.0) if dupacks == 3.0 else (0.0, 0.0))
    assert new.recovering == 0.0


def test_a_timeout_keeps_the_count_of_duplicates_as_in_ns2() -> None:
    s = recovering_sender(TahoeRecovery, dupacks=2.0)
    assert TahoeRecovery.on_timeout(s, recovery_event()) == s
