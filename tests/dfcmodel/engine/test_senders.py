"""Ends of flows in the fluid: random waits, receivers and SACK."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel.engine.kernel import tcp_receiver, tcp_sender
from dfcmodel.engine.kernel.endpoints import released
from dfcmodel.engine.kernel.records import FLOW, HOLE, SACK, STRETCH, Step
from dfcmodel.engine.sender_tables import source_events_of
from responsefn import NewReno
from responsefn.responses.rule_events import numbers_of, signature_of

# Random waits of senders: the fluid's delays beside those of single packets, as ns-2 draws them.

NUMBER = 20_000


def delays_of_packets(spacing: float, longest: float) -> np.ndarray:
    """Return the waits of packets: one that finds no wait begins one, and all leave at its end."""
    random = np.random.default_rng(1)
    found, end = np.empty(NUMBER), -1.0
    for n in range(NUMBER):
        if n * spacing >= end:
            end = n * spacing + random.uniform(0.0, longest)
        found[n] = end - n * spacing
    return found


def delays_of_fluid(spacing: float, longest: float) -> np.ndarray:
    """Return how long ago what has been let go was emitted, in each step."""
    flow = SimpleNamespace(
        jitter=longest, ack_lag=100, start=0, wait_begin=0.0, wait_end=0.0, waited=0.0, seed=12345
    )
    emitted = np.zeros((256, 1))
    found, before = np.empty(NUMBER), 0.0
    for k in range(1, NUMBER + 1):
        emitted[k % 256, 0] = k / spacing
        before = max(before, released(flow, 0, k, emitted))
        found[k - 1] = k - before * spacing
    return found[256:]


@pytest.mark.parametrize(
    ("spacing", "longest"), [(10.0, 0.5), (10.0, 3.0), (0.1, 3.0), (0.01, 3.0), (0.01, 0.8)]
)
def test_random_waits_delay_the_fluid_as_they_delay_packets(spacing: float, longest: float) -> None:
    """Mean and deviation, of the longest wait; 0.02 is four standard errors of 700 waits' mean.

    From one packet per wait (mean 1/2) to hundreds (mean 1/3): waits of several packets last.
    """
    packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
    assert fluid.mean() == pytest.approx(packets.mean(), abs=0.02 * longest)
    assert fluid.std() == pytest.approx(packets.std(), abs=0.02 * longest)


def test_waits_of_few_packets_delay_the_fluid_a_little_less() -> None:
    """A fluid has no whole packets: at one to six packets per wait it is early by up to 0.1 of it."""
    for spacing, longest in [(1.0, 3.0), (5.0, 20.0), (3.0, 20.0)]:
        packets, fluid = delays_of_packets(spacing, longest), delays_of_fluid(spacing, longest)
        assert 0.0 < packets.mean() - fluid.mean() < 0.1 * longest


# The receiver of the fluid: parts of packets that were lost become whole ones, neither more nor fewer.

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
        resent = tcp_receiver.Resent(sequence, amount, part, sequence == PACKETS)
        more, advancing = tcp_receiver.receive_resent(flow, holes, resent, 2.0**-26)
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
    resent = [tcp_receiver.Resent(c + 1.0, 1.0, 0.0, True) for c in (4, 1)]
    answers = [
        (*tcp_receiver.receive_resent(flow, holes, each, 2.0**-26), flow.rcv_nxt) for each in resent
    ]
    assert answers == [(1.0, 0.0, 1.0), (1.0, 1.0, 6.0)]


# SACK senders of the fluid step by step, against RFC 6675: what is resent, and when.

QUANTUM = 2.0**-40


class Sender:
    """A sender with a window of ``window`` packets in flight from number 100 on, of which some are lost."""

    def __init__(self, window: float, lost: set[int], largest: float = 1000.0) -> None:
        self.flow = np.zeros(1, dtype=FLOW).view(np.recarray)[0]
        self.log = np.zeros(64, dtype=STRETCH).view(np.recarray)
        self.holes = np.zeros(2048, dtype=HOLE).view(np.recarray)
        self.events = source_events_of((signature_of(NewReno()),), compiled=False)
        flow = self.flow
        flow.recovery, flow.max_window, flow.flow_size = SACK, largest, np.inf
        flow.log_mask, flow.holes_mask = 63, 2047
        flow.cwnd = flow.ssthresh = window
        flow.snd_una, flow.snd_nxt, flow.snd_max = 100.0, 100.0 + window, 100.0 + window
        flow.emitted, flow.offset, flow.log_end = 100.0 + window, 0.0, 1
        flow.deadline, flow.rto, flow.backoff = 1e3, 0.2, 1.0
        flow.rtt, flow.recover, flow.timed_seq, flow.acks_each = 0.1, -1.0, -1.0, 1.0
        flow.parameters[: len(numbers_of(NewReno()))] = list(numbers_of(NewReno()).values())
        for n in lost:
            self.holes[n & 2047] = (1.0, 1.0)

    def hear(
        self, rcv_nxt: float, rcv_max: float, acks: float, advancing: float = 0.0
    ) -> list[tuple[float, float]]:
        """Return what is sent on the ACKs of a step: numbers and amounts, those resent first."""
        flow, before = self.flow, float(self.flow.emitted)
        ack = SimpleNamespace(
            acks=acks, advancing=advancing, rcv_nxt=rcv_nxt, rcv_max=rcv_max, marked=0.0, sent=0.0
        )
        step = Step(100, 1.0, 1, 0.01, QUANTUM, 0.2)
        assert tcp_sender.send(flow, self.log, self.holes, self.events, ack, step)
        stretches = [self.log[n & 63] for n in range(flow.log_end)]
        ends = [*(each.position for each in stretches[1:]), flow.emitted]
        return [
            (float(max(before, each.position) - each.position + each.sequence), float(end - max(before, each.position)))
            for each, end in zip(stretches, ends, strict=True)
            if end > before
        ]  # fmt: skip


def test_the_first_packet_lost_is_resent_at_once_whatever_is_in_flight() -> None:
    """Section 5, step 4.3: cwnd is 10, in flight are 16 of 20, and packet 100 is resent."""
    sender = Sender(20.0, {100})
    assert sender.hear(100.0, 104.0, 3.0) == [(100.0, 1.0)]
    assert sender.flow.cwnd == 10.0
    assert sender.flow.pipe == 17.0  # 20 less 3 that arrived, less 1 lost, and 1 resent


def test_what_is_lost_of_new_data_is_resent_in_the_same_recovery() -> None:
    """Section 4, NextSeg, rule 1 knows no recovery point: packet 121, sent in it, is resent in it."""
    sender = Sender(20.0, {100, 121})
    sender.hear(100.0, 104.0, 3.0)
    sent = sender.hear(100.0, 120.0, 16.0)  # 1 is in flight: 9 of new data
    assert sent == [(120.0, 9.0)]
    sent = sender.hear(100.0, 125.0, 4.0)
    assert sent[0] == (121.0, 1.0)
    assert sender.flow.recover == 120.0


def test_a_recovery_begins_without_duplicates_where_sack_tells_of_the_loss() -> None:
    """Section 5, step 2: IsLost(HighACK + 1). Packet 103 is known to be lost when 100 to 102 are
    acknowledged with 104 to 106, all in one step."""
    sender = Sender(20.0, {103})
    assert sender.hear(103.0, 107.0, 6.0, 3.0) == [(103.0, 1.0)]
    assert sender.flow.in_recovery == 1
    other = Sender(20.0, {103})
    other.hear(103.0, 106.0, 5.0, 3.0)
    assert other.flow.in_recovery == 0


@pytest.mark.parametrize(("recover", "begins"), [(100.0, True), (101.0, False)])
def test_no_recovery_begins_before_the_recovery_point_of_a_timeout(recover, begins) -> None:
    """Section 5.1: not until HighACK reaches what had been sent when the timer expired."""
    sender = Sender(20.0, {100})
    sender.flow.recover = recover
    sender.hear(100.0, 104.0, 3.0)
    assert sender.flow.in_recovery == begins


def test_new_data_in_a_recovery_stay_within_the_receivers_window() -> None:
    """Section 4, NextSeg, rule 2: with packet 100 missing nothing beyond 129 may be sent."""
    sender = Sender(20.0, {100}, largest=30.0)
    sender.hear(100.0, 104.0, 3.0)
    sender.hear(100.0, 120.0, 16.0)
    sender.hear(100.0, 129.0, 9.0)
    assert sender.flow.snd_max == 130.0
