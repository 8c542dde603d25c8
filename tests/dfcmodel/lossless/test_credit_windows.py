"""Credits: items, witness, and how they compare with pauses."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CreditDatasheet, headroom
from dfcmodel.lossless import credits
from tests.option_objects import grouped


def random_credits(rng: np.random.Generator):
    """Return credits of a random link and message."""
    lossless = int(rng.integers(64, 9601))
    cell = None if rng.random() < 0.2 else int(rng.integers(64, min(lossless, 400) + 1))
    return credits(
        f"{1 + 799 * rng.random() ** 2}Gbps",
        f"{10 ** (3.5 * rng.random())}m",
        int(rng.integers(lossless, 9601)),
        lossless,
        cell,
        small_packets=float(rng.choice([0.0, 0.5, 1.0])),
        datasheet=CreditDatasheet(
            smallest=int(rng.integers(64, lossless + 1)),
            message=int(rng.integers(1, 100)),
            behind_frame=bool(rng.integers(2)),
            cut_through=bool(rng.integers(2)),
            update=f"{rng.random()}us",
            pipeline=f"{rng.random()}us",
            interface=f"{rng.random()}us",
            gearbox=f"{0.1 * rng.random()}us",
            overhead=int(rng.choice([0, 4, 20, 36, 60])),
        ),
    )


def test_with_the_credits_no_frame_waits_and_with_one_fewer_one_does() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        found = random_credits(rng)
        assert found.witness().holds, found.link
        assert sum(item.bytes[1] for item in found.items) == pytest.approx(found.bytes, rel=1e-12)
        assert sum(item.share for item in found.items) == pytest.approx(1.0, rel=1e-12)
        assert found.least == found.link.cells_of(found.link.lossless_mtu) < found.credits


@pytest.mark.parametrize(("overhead", "source"), [(20, "preamble and gap, of Ethernet"), (24, "overhead given")])
def test_only_the_overhead_of_ethernet_has_the_standard_as_its_source(overhead, source) -> None:
    """Fibre Channel at 14.025 GBd over 50 km, 13.6 Gb/s: six idle words, 24 bytes, between frames of 2148 bytes."""
    link = credits("13.6Gbps", "50km", 2148, credit=2148, datasheet=CreditDatasheet(overhead=overhead, message=4))
    (item,) = (item for item in link.items if item.name == "preambles, gaps and phase")
    assert item.formula.startswith(f"- {overhead} B per frame")
    assert item.source.startswith(source)


def test_a_witness_would_notice_credits_that_are_too_few_or_too_many() -> None:
    both = credits("400Gbps", "300m", 9216, 4096, 192, small_packets=1).witness()
    assert both.waits.run() == 1
    more = type(both).of(type(both.fills)(**{**vars(both.fills), "credits": both.fills.credits + 1}))
    assert not more.holds  # one fewer is still enough


def test_pauses_need_two_windows_and_credits_one() -> None:
    """On long cables, where frames count little: xoff and xon each hold what credits hold together."""
    pause = headroom("400Gbps", "100km", 9216, 4096, 192)
    found = credits("400Gbps", "100km", 9216, 4096, 192)
    assert (pause.bytes + pause.xon_bytes) / found.bytes == pytest.approx(2.0, abs=0.01)


def test_what_makes_a_loop_shorter_needs_fewer_credits() -> None:
    usual = credits("400Gbps", "40m", 9216, 4096, 192)
    for less in ({"behind_frame": False}, {"cut_through": True}, {"message": 1}, {"mtu": 4096}):
        assert (
            credits(
                **grouped(
                    credits,
                    {"rate": "400Gbps", "cable": "40m", "mtu": 9216, "lossless_mtu": 4096, "credit": 192, **less},
                )
            ).credits
            <= usual.credits
        )
    late = credits("400Gbps", "40m", 9216, 4096, 192, datasheet=CreditDatasheet(update="1us"))
    assert late.bytes - usual.bytes == pytest.approx(50_000, abs=2 * 4224)  # 1 us at 400 Gb/s, whole frames


def test_frames_with_less_beside_them_need_more_credits() -> None:
    """Of 64-byte frames the loop holds 84/64 times as many without Ethernet's preamble and gap."""
    link = {"rate": "400Gbps", "cable": "10km", "mtu": 4096, "credit": 64, "small_packets": 1.0}
    without = credits(**link, datasheet=CreditDatasheet(overhead=0))
    assert without.credits / credits(**link).credits == pytest.approx(84 / 64, rel=0.01)
    assert "- 0 B per frame" in {item.formula.split(",")[0] for item in without.items}
    with pytest.raises(ValueError, match=r"overhead = 1001: must be a whole number in 0\.\.1000 \(bytes\)"):
        credits(**link, datasheet=CreditDatasheet(overhead=1001))


def test_a_credit_is_a_flit_a_cell_or_the_buffer_of_a_frame() -> None:
    """simllm, pull request 149: packets of 272 B in flits of 16 B, 256 credits of a packet, reported after 200 ns."""
    sheet = CreditDatasheet(overhead=0, pipeline="200ns", message=16)
    packets, flits = (credits("800Gbps", "1m", 272, credit=size, datasheet=sheet) for size in (272, 16))
    assert flits.bytes == packets.bytes == 22_032
    assert packets.credits < 256
    sheet = CreditDatasheet(overhead=24)
    whole, frame = (credits("6.8Gbps", "100km", 2148, 1060, size, datasheet=sheet) for size in (2148, 1060))
    assert whole.credits == frame.credits
    rng = np.random.default_rng(6)
    for _ in range(100):
        size = int(rng.integers(64, 3000))
        credit = int(rng.integers(1, 64) if rng.random() < 0.5 else rng.integers(size, 2 * size + 1))
        share, smallest = float(rng.choice([0.0, 0.5, 1.0])), int(rng.integers(16, 65))
        found = credits(
            "100Gbps", "300m", 9216, size, credit, small_packets=share, datasheet=CreditDatasheet(smallest=smallest)
        )
        assert found.witness().holds, found.link
        assert sum(item.bytes[1] for item in found.items) == pytest.approx(found.bytes, rel=1e-12)


def test_frames_may_be_smaller_than_those_of_ethernet() -> None:
    """A buffer of 2,148 B for each frame of Fibre Channel, of 36 B and a gap of 24 B: 60 B on the line."""
    link = {"rate": "6.8Gbps", "cable": "50km", "mtu": 2148, "credit": 2148, "small_packets": 1.0}
    small, usual = (credits(**link, datasheet=CreditDatasheet(smallest=size, overhead=24)) for size in (36, 64))
    assert small.credits / usual.credits == pytest.approx(88 / 60, rel=0.01)
    assert small.witness().holds
    assert small.credits > 2 * 50e3 * 5e-9 * 6.8e9 / 8 / 60  # the frames on both ways of the cable
    with pytest.raises(ValueError, match=r"smallest = 0: must be a whole number in 1\.\.65535 \(bytes\)"):
        credits(**link, datasheet=CreditDatasheet(smallest=0))


def test_results_as_data_and_display() -> None:
    found = credits("100Gbps", "100m", 1500, credit=64)
    data = found.to_dict()
    assert data["credits"] * 64 == data["bytes"] == found.bytes
    assert credits("100Gbps", "100m", 1500).to_dict()["credits"] is None
    assert f"({found.credits:,} credits of 64 B)" in repr(found)
    assert found.plot().get_title() == f"credits: {found.bytes:,} B"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 400.0}, "rate = 4"),
        ({"cable": "300"}, "cable = '300'"),
        ({"credit": 70_000}, "credit = 70000"),
        ({"message": 0}, "message = 0"),
        ({"small_packets": 2}, "small_packets = 2"),
        ({"update": "1 B B"}, "update = '1 B B'"),
        ({"velocity": 1.0}, "velocity = 1"),
        ({"cut_through": 3}, "cut_through = 3"),
    ],
)
def test_bad_input_is_named(given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        credits(**grouped(credits, {"rate": "100Gbps", "cable": "5m", **given}))
