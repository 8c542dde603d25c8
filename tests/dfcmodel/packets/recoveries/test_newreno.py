"""NewReno: RFC 6582, 3.2, full and partial ACKs."""

from __future__ import annotations

import pytest

from dfcmodel import NewRenoRecovery
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


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
