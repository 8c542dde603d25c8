"""SACK senders of the fluid step by step, against RFC 6675: what is resent, and when."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dfcmodel.engine.kernel import tcp_sender
from dfcmodel.engine.kernel.records import FLOW, HOLE, SACK, STRETCH
from dfcmodel.engine.source_events import source_events_of
from responsefn import NewReno
from responsefn.responses.rule_compilation import numbers_of
from responsefn.responses.rule_events import signature_of

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
        assert tcp_sender.send(
            flow, self.log, self.holes, self.events, 1.0, 0.01, ack, 0.2, QUANTUM
        )
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
