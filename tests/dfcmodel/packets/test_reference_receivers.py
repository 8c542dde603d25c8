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
