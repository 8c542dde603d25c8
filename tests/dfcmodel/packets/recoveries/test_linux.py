"""Recovery of Linux 6.12: what an ACK lets out below and above the window, and when another recovery begins."""

from __future__ import annotations

import math

import pytest

from dfcmodel import Flow, Link, Packets, Scenario, simulate
from dfcmodel.recoveries import LinuxRecovery, RackRecovery
from responsefn.linux import LinuxBIC
from tests.dfcmodel.packets.conftest import recovering_sender, recovery_event

EVENT = {"next_loss": math.inf, "rto_left": 3.0, "srtt": 0.1}


def sender(pipe: float, **fields: float):
    """Return a sender in recovery whose window is 20 packets, and was 40 before."""
    usual = {"recovering": 1.0, "recover": 29.0, "pipe": pipe, "recover_fs": 40.0, "sacked": 5.0}
    return recovering_sender(LinuxRecovery, **{**usual, "prr_out": 8.0, "prr_delivered": 8.0, **fields})  # fmt: skip


@pytest.mark.parametrize(
    ("acked", "newly_lost", "sent"), [(0.0, 0.0, 2.0), (1.0, 0.0, 3.0), (1.0, 1.0, 2.0), (0.0, 1.0, 2.0)]
)  # fmt: skip
def test_below_the_window_one_more_is_sent_only_if_snd_una_advances_without_new_loss(
    acked: float, newly_lost: float, sent: float
) -> None:
    """tcp_cwnd_reduction, as SafeACK of RFC 9937; RFC 6937 sends one more at each ACK."""
    e = recovery_event(acked=acked, delivered=2.0, newly_lost=newly_lost, **EVENT)
    s = sender(pipe=12.0)
    event = "on_ack" if acked else "on_duplicate_ack"
    after = getattr(LinuxRecovery, event)(s, e)
    assert after.pipe == 10.0 - newly_lost
    assert after.pipe_limit - after.pipe == sent
    other = getattr(RackRecovery, event)(s, e)
    assert other.pipe_limit - other.pipe == 3.0


def test_not_more_is_sent_than_the_window_has_room_for() -> None:
    e = recovery_event(acked=1.0, delivered=4.0, **EVENT)
    assert LinuxRecovery.on_ack(sender(pipe=23.0), e).pipe_limit == 20.0


def test_above_the_window_packets_are_sent_in_proportion_to_the_window_before() -> None:
    """Of 10 packets delivered the part 20 / 40 may be sent: 5, of which 4 were."""
    e = recovery_event(delivered=2.0, **EVENT)
    after = LinuxRecovery.on_duplicate_ack(sender(pipe=34.0, prr_out=4.0), e)
    assert (after.prr_delivered, after.pipe, after.pipe_limit) == (10.0, 32.0, 33.0)
    none = LinuxRecovery.on_duplicate_ack(sender(pipe=34.0, prr_out=6.0), e)
    assert none.pipe_limit == none.pipe


def test_the_first_lost_packet_is_sent_again_at_once() -> None:
    """The window before the reduction is kept when recovery begins; then one packet is sent whatever the proportion."""
    s = recovering_sender(LinuxRecovery, cwnd=20.5, sacked=3.0, snd_una=10.0, snd_max=30.0)
    begun = LinuxRecovery.on_duplicate_ack(
        s, recovery_event(delivered=1.0, newly_lost=2.0, unrepaired=1.0, **EVENT)
    )
    assert (begun.recovering, begun.reduce, begun.recover_fs) == (1.0, 1.0, 20.0)
    assert (begun.pipe, begun.pipe_limit) == (15.0, 16.0)
    waiting = sender(pipe=40.0, prr_out=0.0, prr_delivered=-1.0)
    late = LinuxRecovery.on_alarm(waiting, recovery_event(newly_lost=1.0, **EVENT))
    assert (late.pipe, late.pipe_limit) == (39.0, 40.0)


@pytest.mark.parametrize(
    ("sacked", "unrepaired", "again"), [(5.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)]
)
def test_another_recovery_begins_while_packets_are_lost(
    sacked: float, unrepaired: float, again: float
) -> None:
    """tcp_time_to_recover asks for lost_out: packets that were lost and sent again count until they arrive."""
    s = sender(pipe=12.0, snd_una=30.0, snd_max=60.0, snd_nxt=60.0, sacked=sacked)
    e = recovery_event(acked=3.0, delivered=1.0, unrepaired=unrepaired, **EVENT)
    after = LinuxRecovery.on_ack(s, e)
    assert (after.recovering, after.reduce) == (again, again)
    if again:
        assert (after.pipe, after.pipe_limit, after.recover_fs) == (11.0, 12.0, 20.0)
    reordered = LinuxRecovery.on_ack(
        s, recovery_event(**{**EVENT, "acked": 3.0, "next_loss": 0.01})
    )
    assert reordered.recovering == 0.0


def test_less_is_lost_after_the_overshoot_of_slow_start() -> None:
    """BIC keeps 0.8 of the window, more than the path holds: RFC 6937 sends more into the full buffer."""
    links = (Link("a", "b", 20e6 / 12e3, 0.02, 67), Link("b", "a", 20e6 / 12e3, 0.02, 1000.0))
    flow = Flow("0", ("a", "b"), LinuxBIC(), stack="linux-6.12", quick_acks=16)
    scenario = Scenario("overshoot", links, (flow,), duration=1.5)
    lost = [
        simulate(scenario, Packets(seed=1, recovery=recovery, ack_delay=0.04)).lost.sum()
        for recovery in (None, "rack")
    ]
    assert lost[0] < 0.7 * lost[1]
