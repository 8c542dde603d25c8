"""The receiver of the fluid: parts of packets that were lost become whole ones, neither more nor fewer."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel.engine.kernel import tcp_receiver
from dfcmodel.engine.kernel.records import FLOW, HOLE

PACKETS = 3000.0
RING = 4096


@pytest.fixture
def receiver():
    flow = np.zeros(1, dtype=FLOW).view(np.recarray)[0]
    flow.holes_mask = RING - 1
    return flow, np.zeros(RING, dtype=HOLE).view(np.recarray)


def stretches(seed: int) -> list[tuple[float, float]]:
    """Return amounts that arrive step by step, packets, and the part of each that was lost."""
    rng = np.random.default_rng(seed)
    ends = np.sort(np.append(rng.uniform(0.0, PACKETS, 4500), (0.0, PACKETS)))
    return list(zip(np.diff(ends).tolist(), rng.uniform(0.0, 0.3, len(ends) - 1), strict=True))


def test_as_many_packets_are_missing_as_were_lost(receiver) -> None:
    """Within one packet that is not complete, of some 300; nothing is lost where nothing is missing."""
    flow, holes = receiver
    lost = acks = 0.0
    for n, (amount, part) in enumerate(stretches(1)):
        missing = part if n % 3 else 0.0
        lost += missing * amount
        acks += tcp_receiver.receive_new(flow, holes, amount, missing)[0]
    marked = np.count_nonzero(holes.extent)
    assert lost > 250
    assert marked == pytest.approx(lost, abs=1.3)  # one, and what the last stretch may add to it
    assert acks == pytest.approx(PACKETS - marked, abs=1e-6)


def test_as_many_resent_packets_fill_no_hole_as_were_lost_again(receiver) -> None:
    """The first that was lost again is where rcv_nxt stands; ACKs of those behind it are duplicates."""
    flow, holes = receiver
    flow.rcv_max = flow.scanned_to = PACKETS
    holes[: int(PACKETS)] = (1.0, 1.0)
    lost = acks = moved = sequence = 0.0
    for amount, part in stretches(2):
        lost += part * amount
        sequence += amount
        more, advancing = tcp_receiver.receive_resent(
            flow, holes, sequence, amount, part, sequence == PACKETS, 2.0**-26
        )
        acks, moved = acks + more, moved + advancing
    missing = holes[: int(PACKETS)].missing
    assert lost > 250
    assert missing.sum() == pytest.approx(lost, abs=1.3)
    assert acks == pytest.approx(PACKETS - missing.sum())
    assert moved == pytest.approx(flow.rcv_nxt, abs=1e-6)
    assert int(moved) == np.flatnonzero(missing > 0.5)[0]


def test_a_packet_that_fills_a_hole_behind_the_first_is_answered_by_a_duplicate_ack(
    receiver,
) -> None:
    """RFC 5681, 2: its ACK is that of the greatest one before, as in ns-2 and ns-3, which count it."""
    flow, holes = receiver
    flow.rcv_nxt, flow.rcv_max, flow.scanned_to = 1.0, 6.0, 6.0
    for c in (1, 4):
        holes[c] = (1.0, 1.0)
    answers = [
        (*tcp_receiver.receive_resent(flow, holes, c + 1.0, 1.0, 0.0, True, 2.0**-26), flow.rcv_nxt)
        for c in (4, 1)
    ]
    assert answers == [(1.0, 0.0, 1.0), (1.0, 1.0, 6.0)]
