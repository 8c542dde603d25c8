"""What recoveries take from ns-2: the first packet of a connection, and ``recover`` after recovery."""

from __future__ import annotations

import pytest

from dfcmodel import NewRenoRecovery
from dfcmodel.packets.recoveries.ns2 import cleared_recover, is_new_loss
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event


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
    s = recovering_sender(NewRenoRecovery, snd_una=snd_una, recover=recover)
    assert is_new_loss(s, recovery_event(ns2=ns2)) is new


def test_recover_is_below_every_packet_or_ns2s_first_one() -> None:
    assert cleared_recover(recovery_event()) == -2.0
    assert cleared_recover(recovery_event(ns2=1.0)) == 0.0
