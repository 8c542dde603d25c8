"""Worst cases of headroom, frames that reach them, quantities and links."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    FIFO,
    Flow,
    Link,
    Packets,
    Pause,
    PausedLink,
    Scenario,
    search_worst,
    simulate,
)
from dfcmodel.lossless import witness
from dfcmodel.lossless.quantities import (
    QUANTUM,
    RESPONSE_QUANTA,
    bit_rate,
    bit_times,
    both_ends,
    duration,
    frame_size,
    metres,
    response_time,
    size_in_bytes,
)
from dfcmodel.lossless.random_bursts import frame_counts
from dfcmodel.lossless.worst_cases import largest_burst, largest_drain

# The worst case against brute force over sizes and orders, and against the packet level.


@pytest.mark.parametrize("seed", range(12))
def test_worst_case_is_the_best_of_all_orders_of_all_sizes(seed, best_by_enumeration) -> None:
    rng = np.random.default_rng(seed)
    lossless = int(rng.integers(64, 300))
    cell = 1 if seed % 3 == 0 else int(rng.integers(64, lossless + 1))
    link = PausedLink(10**10, 300, lossless, cell, 1.0, response=int(rng.integers(0, 4000)))
    assert largest_burst(link).cells == best_by_enumeration(link, link.window // 8 - 12)
    for window in (8, 1000, 5000):
        budget = (window - 1) // 8
        assert largest_drain(link, window).cells == best_by_enumeration(link, budget, head=False)


@pytest.mark.parametrize("seed", range(40))
def test_with_a_smallest_frame_the_worst_case_is_the_best_of_all_orders(
    seed, best_by_enumeration
) -> None:
    rng = np.random.default_rng([seed, 47])
    lossless = int(rng.integers(64, 700))
    cell = 1 if seed % 5 == 0 else int(rng.integers(64, lossless + 1))
    smallest = int(rng.integers(64, lossless + 1))
    link = PausedLink(
        10**10, 700, lossless, cell, 1.0, response=int(rng.integers(0, 30_000)), smallest=smallest
    )
    assert largest_burst(link).cells == best_by_enumeration(link, link.window // 8 - 12)
    for window in (8, 1000, 9000):
        budget = (window - 1) // 8
        assert largest_drain(link, window).cells == best_by_enumeration(link, budget, head=False)
    assert witness(link).holds


def cells_of_random_frames(link: PausedLink, small: int, rng: np.random.Generator) -> int:
    """Return the cells above a threshold of frames drawn one by one, with one byte of the frame that crosses."""
    left, cells = link.window // 8 - 12 - 1, 1
    while left >= 0:
        size = small if rng.random() < link.small_packets else link.lossless_mtu
        left, cells = left - size - 20, cells + link.cells_of(size)
    return cells


@pytest.mark.parametrize(("share", "size"), [(0.5, 1024), (0.9, 4096)])
def test_a_share_of_the_traffic_is_exceeded_as_rarely_as_asked(share: float, size: int) -> None:
    link = PausedLink(
        4 * 10**11, 9216, size, 192, share, cable=600_000, response=463_360, exceeded=0.01
    )
    found = largest_burst(link)
    small = min(each for each, _ in found.runs)
    rng = np.random.default_rng(47)
    windows = 4000
    over = sum(cells_of_random_frames(link, small, rng) > found.cells for _ in range(windows))
    assert over <= 0.01 * windows + 4 * (0.01 * windows) ** 0.5  # four standard deviations
    capped = dataclasses.replace(link, exceeded=0.0)
    cap = largest_burst(capped).cells
    over_cap = sum(cells_of_random_frames(link, small, rng) > cap for _ in range(400))
    assert over_cap > 0.2 * 400  # the cap of a window is no share of the traffic
    assert cap < found.cells < largest_burst(dataclasses.replace(capped, small_packets=1.0)).cells


def test_the_distribution_of_random_frames_is_complete_and_its_tail_exact() -> None:
    link = PausedLink(10**10, 1500, 1500, 192, 0.3)
    counts = frame_counts(link, 64, 40_000)
    assert counts.probability.sum() == pytest.approx(1.0, abs=1e-12)
    tail: dict[int, float] = {}
    states = {0: {0: 1.0}}  # bytes used: cells: probability; frames one by one
    while states:
        used = min(states)
        for cells, p in states.pop(used).items():
            for size, chance in ((64, 0.3), (1500, 0.7)):
                new, total = used + size + 20, cells + link.cells_of(size)
                if new > 40_000:
                    tail[total] = tail.get(total, 0.0) + p * chance
                else:
                    at = states.setdefault(new, {})
                    at[total] = at.get(total, 0.0) + p * chance
    for cells, p in tail.items():
        assert counts.probability[counts.cells == cells].sum() == pytest.approx(p, rel=1e-9)


def test_a_share_of_small_frames_takes_the_best_numbers_of_both() -> None:
    rng = np.random.default_rng(5)
    for _ in range(50):
        lossless, share = int(rng.integers(200, 1500)), float(rng.random())
        link = PausedLink(
            10**10,
            1500,
            lossless,
            int(rng.integers(64, 193)),
            share,
            response=int(rng.integers(40_000)),
        )
        found = largest_burst(link)
        small = found.runs[0][0] if len(found.runs) > 1 else lossless
        budget, best = link.window // 8 - 12 - 1, 0
        for large in range(budget // (lossless + 20) + 1):
            left = budget - large * (lossless + 20)
            count = min(left // (small + 20), int(share / (1 - share) * (large + 1) + 1e-9))
            heads = 1 + (left - count * (small + 20)) // link.cell
            heads = min(heads, link.cells_of(lossless))
            cells = heads + count * link.cells_of(small) + (large + 1) * link.cells_of(lossless)
            best = max(best, cells)
        assert found.cells >= best
        assert found.cells <= max(
            best, largest_burst(PausedLink(**{**vars(link), "small_packets": 0.0})).cells
        )


def frames_above_in_packets(link: PausedLink) -> float:
    """Return the packets above a threshold at the packet level: a queue, a saturated link and a message."""
    rate, delay = link.rate / (8 * (link.lossless_mtu + 20)), link.cable / link.rate
    wait = (link.window - 2 * link.cable) / link.rate
    links = (
        Link("a", "b", rate, delay, 1e7, FIFO()),
        Link("b", "c", 1e-6 * rate, delay, 1e7, Pause(high=100, low=50, signalling=wait)),
    )
    flow = Flow("one", ("a", "b", "c"), CBR(rate), host="direct")
    run = simulate(
        Scenario("pause", links, (flow,), 110 / rate + 3 * (2 * delay + wait)), Packets(seed=1)
    )
    return float(run.peak_queue[1]) - 100


def test_the_packet_level_has_as_many_frames_above_the_threshold() -> None:
    """One more where the window ends in the last byte of a complete packet or in the gap after it."""
    rng = np.random.default_rng(24)
    edges = 0
    for n in range(60):
        rate, size = int(1e9 * 800 ** rng.random()), int(rng.integers(512, 9601))
        cable = math.ceil(rate * 80_000 ** rng.random() * 5e-9)
        link = PausedLink(
            rate, 9600, size, cable=cable, response=int(rng.integers(10_000, 500_000))
        )
        if n % 4 == 0:  # move the end of the window into these 13 bytes
            late = (link.window // 8 - int(rng.integers(1, 12))) % (size + 20)
            link = PausedLink(
                rate, 9600, size, cable=cable, response=link.response + 8 * (size + 20 - late)
            )
        edge = link.window / 8 % (size + 20) < 13
        edges += edge
        assert frames_above_in_packets(link) == math.ceil(largest_burst(link).cells / size) + edge
    assert 15 <= edges < 20


# Frames that fill a headroom to its last cell, and a search that finds no more.


def test_a_thousand_headrooms_are_filled_to_the_last_cell_and_one_less_loses(random_link) -> None:
    rng = np.random.default_rng(24)
    for _ in range(1000):
        link = random_link(rng)
        found = witness(link)
        assert found.headroom == largest_burst(link).cells
        assert found.holds, link


def test_a_witness_would_notice_a_headroom_that_is_too_large() -> None:
    link = PausedLink(10**10, 9216, 1500, cell=192, cable=1500, response=34304)
    fills = witness(link).fills
    more = type(fills)(**{**vars(fills), "capacity": fills.capacity + 1}).run()
    assert more.peak == fills.capacity
    assert more.lost == 0


@pytest.mark.parametrize("small", [0.0, 1.0])
def test_no_search_over_sizes_and_phases_finds_more(small, random_link) -> None:
    rng = np.random.default_rng(7)
    gaps = []
    for seed in range(10):
        link = random_link(rng, small=small, top=1500)
        link = PausedLink(**{**vars(link), "cable": link.cable % 20_000, "rate": 10**10})
        gaps.append(largest_burst(link).cells - search_worst(link, 400, seed=seed))
    assert min(gaps) >= 0


# Rates, lengths and times with their units, as data sheets have them.


def test_units_are_those_of_data_sheets():
    assert bit_rate("rate", "2.5Gb/s") == 2_500_000_000
    assert metres("cable", "100ft") == pytest.approx(30.48, rel=1e-15)  # a foot is 0.3048 m
    assert size_in_bytes("pool", "19 KiB") == 19 * 1024
    assert frame_size("mtu", "1.5 kB") == 1500


@pytest.mark.parametrize(
    ("value", "bits"),
    [("905 quanta", 905 * 512), ("820 B", 6560), ("1 us", 400_000), (2.5e-12, 1), (0.0, 0)],
)
def test_durations_are_whole_bit_times_rounded_up(value, bits):
    assert bit_times("response", value, 400_000_000_000) == bits


def test_a_range_is_a_pair_of_its_ends():
    assert both_ends("cable", ("5m", "300m"), metres) == (5.0, 300.0)
    assert both_ends("cable", "5m", metres) == (5.0, 5.0)
    with pytest.raises(ValueError, match="must be a pair"):
        both_ends("cable", ("5m", "6m", "7m"), metres)


@pytest.mark.parametrize("rate", RESPONSE_QUANTA)
def test_a_response_is_the_standards_and_a_shorter_one_must_be_known(rate):
    standard = QUANTUM * RESPONSE_QUANTA[rate]
    assert response_time(int(rate), None, measured=False) == (standard, standard)
    less = f"{standard - 1} bits"
    assert response_time(int(rate), less, measured=True) == (standard - 1, standard - 1)
    with pytest.raises(ValueError, match="response_measured=True"):
        response_time(int(rate), less, measured=False)


@pytest.mark.parametrize(
    ("read", "value", "allowed"),
    [
        (metres, "300km", "from 0 m to 200 km"),
        (bit_rate, "20Tbps", "from 1 Mb/s to 10 Tb/s"),
        (frame_size, "1 MB", "from 64 to 65535 bytes"),
        (size_in_bytes, "-1 kB", "finite and not negative"),
        (duration, "0 us", "above 0, at most 1e9 s"),
        (lambda name, text: bit_times(name, text, 10**9), "3 s", "from 0 to 1 s"),
        (lambda name, text: bit_times(name, text, 10**9), "900 MB", "from 0 to 1 s at line rate"),
    ],
)
def test_values_out_of_range_are_quoted_as_given(read, value, allowed):
    with pytest.raises(ValueError, match=f"given = '{value}': must be {allowed}"):
        read("given", value)


@pytest.mark.parametrize(
    ("read", "value"), [(frame_size, 1500.5), (frame_size, 63), (metres, "3 parsec")]
)
def test_bad_values_are_named(read, value):
    with pytest.raises(ValueError, match=r"length = "):
        read("length", value)


# Links in bits and bit times.


def test_cells_are_those_that_a_frame_touches():
    link = PausedLink(10**10, 9216, 1500, cell=192)
    assert [link.cells_of(size) for size in (64, 192, 193, 1500)] == [1, 1, 2, 8]


def test_the_window_has_two_cables_and_the_response():
    """A pause crosses the cable, and what was sent before it was obeyed crosses it back."""
    near = PausedLink(10**10, 9216, 1500, cable=0, response=0)
    far = PausedLink(10**10, 9216, 1500, cable=1000, response=512)
    assert far.window - near.window == 2 * 1000 + 512


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"small_packets": 1.5}, "small_packets = 1.5"), ({"rate": 0}, "rate = 0")],
)
def test_bad_parameters_are_named(changes, said):
    arguments = {"rate": 10**10, "mtu": 9216, "lossless_mtu": 1500} | changes
    with pytest.raises(ValueError, match=said):
        PausedLink(**arguments)
