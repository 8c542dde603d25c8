"""Buffers in bytes and cells: units, what fits, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dfcmodel import (
    CBR,
    PFC,
    ByteBuffer,
    Flow,
    Fluid,
    Link,
    Pause,
    Scenario,
    shrink_packets,
    simulate,
)
from dfcmodel.network.buffers import buffer_in_packets
from responsefn import NewReno


def scenario(buffer: float | ByteBuffer, discipline=None, size: float = 1500.0) -> Scenario:
    rules = {} if discipline is None else {"discipline": discipline}
    links = (Link("a", "b", 1e4, 1e-3, 1e5), Link("b", "c", 1e3, 1e-3, buffer, **rules))
    return Scenario("bytes", links, [Flow("x", "abc", NewReno())], duration=0.5, packet_size=size)


def test_cells_are_whole() -> None:
    """1500 bytes are 19 cells of 80; of 1000 bytes 12 cells are used."""
    cells = ByteBuffer("1 kB", cell="80 B")
    assert (cells.room, cells.taken(1500.0), cells.taken(80.0), cells.taken(80.5)) == (
        960,
        1520.0,
        80.0,
        160.0,
    )
    assert ByteBuffer("15.2 kB", cell=80).packets(1500.0) == 10.0
    assert buffer_in_packets(ByteBuffer("3 MB"), 1500.0) == 2000.0
    assert ByteBuffer(1500.0) == ByteBuffer("1.5 kB")


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"size": 0}, "size = 0"),
        ({"size": "3 packets"}, "size = '3 packets': must be a number and a unit of B, kB"),
        ({"size": 1.5}, "size = 1.5: must be a whole number"),
        ({"size": 100, "cell": 200}, "size = 100: must be at least a cell of 200 B"),
        ({"size": 100, "cell": 0.5}, "cell = 0.5"),
        ({"size": "1e9 GB"}, "size = "),
    ],
)
def test_sizes_that_are_refused(given, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        ByteBuffer(**given)


def test_a_buffer_holds_a_packet_and_what_exceeds_a_threshold() -> None:
    with pytest.raises(ValueError, match=r"buffer of link 'b->c' = .*must hold a packet, 1500 B"):
        scenario(ByteBuffer(1499))
    with pytest.raises(ValueError, match="high of link 'b->c' = 20"):
        scenario(ByteBuffer("30 kB"), Pause(20.0, 10.0))
    with pytest.raises(ValueError, match=r"buffer of link 'b->c' = ByteBuffer.*PFC reserves"):
        scenario(ByteBuffer("30 kB"), PFC((0,), 20.0, 10.0))
    with pytest.raises(ValueError, match=r"in packets, or ByteBuffer"):
        Link("a", "b", 1.0, 1.0, "30 kB")  # type: ignore[arg-type]


def test_the_fluid_has_as_many_data_packets() -> None:
    """As bits: 24,000 bytes are 20 packets of 1200."""
    runs = [
        simulate(scenario(buffer, size=1200.0), Fluid()) for buffer in (20.0, ByteBuffer("24 kB"))
    ]
    assert (runs[0].delivered == runs[1].delivered).all()
    assert runs[0].lost.sum() == runs[1].lost.sum() > 0.0


def test_bytes_stay_when_packets_become_smaller() -> None:
    links = (Link("a", "b", 1e3, 1e-3, ByteBuffer("24 kB")),)
    one = Scenario("one", links, [Flow("x", "ab", CBR(2e3))], packet_size=1200.0)
    small = shrink_packets(one, 4)
    assert small.links[0].buffer == ByteBuffer("24 kB")
    assert (one.buffer_of(0), small.buffer_of(0)) == (20.0, 80.0)
    assert replace(one, packet_size=600.0).buffer_of(0) == 40.0
