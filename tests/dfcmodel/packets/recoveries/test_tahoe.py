"""Tahoe: everything from the lost packet on is sent again, after three duplicates and never in recovery."""

from __future__ import annotations

import pytest

from dfcmodel import TahoeRecovery
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


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
