"""Receivers: cumulative and selective acknowledgements."""

from __future__ import annotations

from dfcmodel.packets.reference_receivers import Packet, Receiver


def answers(numbers, *, selective: bool):
    """Return (number, blocks) of the ACKs that packets of these numbers get."""
    receiver = Receiver(selective)
    found = []
    for number in numbers:
        packet = Packet(0, number, 0.0)
        receiver.take(number)
        ack = receiver.answer(packet)
        found.append((ack.number, ack.blocks))
    return found


def test_acknowledgements_are_cumulative() -> None:
    got = [number for number, _ in answers((0, 1, 3, 4, 2, 5), selective=False)]
    assert got == [0, 1, 1, 1, 4, 5]


def test_blocks_say_what_arrived_out_of_order_the_latest_first() -> None:
    """RFC 2018, section 4: the first block holds the packet that caused the ACK."""
    got = answers((0, 2, 5, 3, 1), selective=True)
    assert [blocks for _, blocks in got] == [
        (), ((2, 3),), ((5, 6), (2, 3)), ((2, 4), (5, 6)), ((5, 6),),
    ]  # fmt: skip
    assert got[-1][0] == 3


def test_an_echo_lasts_until_the_sender_has_reduced_its_window() -> None:
    """RFC 3168, 6.1.3: CE sets ECE, CWR clears it; a packet with both sets it anew."""
    receiver = Receiver(selective=False)
    got = []
    for number, marked, reduced in (
        (0, False, False), (1, True, False), (2, False, False), (3, False, True), (4, True, True),
    ):  # fmt: skip
        receiver.take(number)
        packet = Packet(0, number, 0.0, marked=marked, reduced=reduced)
        got.append(receiver.answer(packet).marked)
    assert got == [False, True, True, False, True]


def test_an_accurate_echo_is_of_each_packet() -> None:
    """RFC 8257, 3.2."""
    receiver = Receiver(selective=False, accurate=True)
    got = []
    for number, marked in enumerate((False, True, False, True, True)):
        receiver.take(number)
        got.append(receiver.answer(Packet(0, number, 0.0, marked=marked)).marked)
    assert got == [False, True, False, True, True]
