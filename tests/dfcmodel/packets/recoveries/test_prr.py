"""Proportional rate reduction: the counts of RFC 6937, Sect. 3; runs are in test_reference_reductions."""

from __future__ import annotations

import math

import pytest

from dfcmodel import PRRRecovery
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


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
