"""Worst cases of a paused port: bursts, drains, frames."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Callable

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
    headroom,
    search_worst,
    simulate,
)
from dfcmodel.lossless import BufferRow, CreditDatasheet, PauseDatasheet, audit_headroom, credits, witness
from dfcmodel.lossless.paused.random_bursts import frame_counts
from dfcmodel.lossless.paused.worst_cases import largest_burst, largest_drain
from dfcmodel.lossless.quantities import (
    RESPONSE_BITS,
    bit_rate,
    bit_times,
    both_ends,
    frame_size,
    metres,
    response_time,
    size_in_bytes,
)

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


QUICK = (0, 1, 2, 3, 9, 10, 12, 13)


@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in range(40)])
def test_with_a_smallest_frame_the_worst_case_is_the_best_of_all_orders(seed, best_by_enumeration) -> None:
    rng = np.random.default_rng([seed, 47])
    lossless = int(rng.integers(64, 700))
    cell = 1 if seed % 5 == 0 else int(rng.integers(64, lossless + 1))
    smallest = int(rng.integers(64, lossless + 1))
    link = PausedLink(10**10, 700, lossless, cell, 1.0, response=int(rng.integers(0, 30_000)), smallest=smallest)
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
    link = PausedLink(4 * 10**11, 9216, size, 192, share, cable=600_000, response=463_360, exceeded=0.01)
    found = largest_burst(link)
    small = min(each for each, _ in found.runs)
    rng = np.random.default_rng(47)
    windows = 2000
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


def test_a_share_of_the_traffic_has_the_worst_size() -> None:
    """In a rare window nearly all frames are small: those of 64 B fill more cells per byte then than those of 193 B."""
    link = PausedLink(10**10, 9216, 1500, 192, 0.9, cable=15_000, response=34_304, exceeded=1e-12)
    cells, budget = largest_burst(link).cells, link.window // 8 - 12 - 1
    quantiles = {size: frame_counts(link, size, budget).quantile(1e-12) for size in (64, 193, 385, 1345)}
    assert quantiles[64] > 1.2 * quantiles[193]
    assert cells > max(quantiles.values())


def most_cells(link: PausedLink, budget: int, heads: list[tuple[int, int]]) -> int:
    """Return the most cells of a head, small frames of any sizes and large frames, of which the last may start late.

    By dynamic programming over the bytes of the small frames; a head is a pair of bytes and cells.
    """
    large, of_large = link.lossless_mtu + 20, link.cells_of(link.lossless_mtu)
    sizes: dict[int, int] = {}
    for size in range(link.smallest, link.lossless_mtu):
        sizes.setdefault(link.cells_of(size), size + 20)  # the smallest of each number of cells
    small = [np.zeros(budget + 1, dtype=np.int64)]  # by number of frames, the most cells within so many bytes
    while (small[-1] >= 0).any():
        cells = np.full(budget + 1, -(10**9))
        for count, wire in sizes.items():
            if wire <= budget:
                cells[wire:] = np.maximum(cells[wire:], small[-1][: budget + 1 - wire] + count)
        small.append(cells)
    best = 0
    for (first, of_head), m in itertools.product(heads, range(budget // large + 1)):
        limit = int(link.small_packets / (1.0 - link.small_packets) * (m + 1) + 1e-9)
        left = max(0, budget - first) - m * large
        if left >= 0 and (first <= budget or of_head <= 1):
            most = max(int(cells[left]) for cells in small[: limit + 1])
            best = max(best, of_head + most + of_large * (m + 1))
    return best


@pytest.mark.parametrize("cell", [1, 64, 80, 110])
def test_a_fraction_of_small_frames_takes_the_best_numbers_and_sizes_of_both(cell: int) -> None:
    """The small frames had one size, of most cells per byte in the long run: up to 18 % fewer credits than needed."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        link = PausedLink(
            10**10, 400, int(rng.integers(128, 320)), cell, round(float(rng.random()), 2),
            response=int(rng.integers(8_000)), smallest=int(rng.integers(64, 128)),
        )  # fmt: skip
        budget, cells = link.window // 8 - 12, link.cells_of(link.lossless_mtu)
        minimum = next(  # bytes from the first byte in a new cell to the end of a frame
            size - (link.cells_of(size) - 1) * cell
            for size in sorted(range(link.smallest, link.lossless_mtu + 1), key=lambda n: (n - 1) % cell)
            if size > cell or link.lossless_mtu <= cell
        )
        heads = [(minimum + (n - 1) * cell, n) for n in range(1, cells + 1)]
        assert largest_burst(link).cells == most_cells(link, budget, heads), link
        window = int(rng.integers(500, 16_000))
        assert largest_drain(link, window).cells == most_cells(link, (window - 1) // 8, [(0, 0)]), link


def frames_above_in_packets(link: PausedLink) -> float:
    """Return the packets above a threshold at the packet level: a queue, a saturated link and a message."""
    rate, delay = link.rate / (8 * (link.lossless_mtu + 20)), link.cable / link.rate
    wait = (link.window - 2 * link.cable) / link.rate
    links = (
        Link("a", "b", rate, delay, 1e7, FIFO()),
        Link("b", "c", 1e-6 * rate, delay, 1e7, Pause(high=100, low=50, signalling=wait)),
    )
    flow = Flow("one", ("a", "b", "c"), CBR(rate), host="direct")
    run = simulate(Scenario("pause", links, (flow,), 110 / rate + 3 * (2 * delay + wait)), Packets(seed=1))
    return float(run.peak_queue[1]) - 100


def test_the_packet_level_has_as_many_frames_above_the_threshold() -> None:
    """One more where the window ends in the last byte of a complete packet or in the gap after it."""
    rng = np.random.default_rng(24)
    edges = 0
    for n in range(60):
        rate, size = int(1e9 * 800 ** rng.random()), int(rng.integers(512, 9601))
        cable = math.ceil(rate * 80_000 ** rng.random() * 5e-9)
        link = PausedLink(rate, 9600, size, cable=cable, response=int(rng.integers(10_000, 500_000)))
        if n % 4 == 0:  # move the end of the window into these 13 bytes
            late = (link.window // 8 - int(rng.integers(1, 12))) % (size + 20)
            link = PausedLink(rate, 9600, size, cable=cable, response=link.response + 8 * (size + 20 - late))
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


@pytest.mark.parametrize(
    ("rate", "bits"),
    [
        ("10Mbps", 512 + 64),
        ("100Mbps", 512 + 64),
        ("1Gbps", 2 * 512),
        ("10Gbps", 74 * 512),
        ("40Gbps", 118 * 512),
        ("100Gbps", 394 * 512),
    ],
)
def test_the_response_is_the_longest_that_the_standard_allows_a_port(rate, bits):
    """IEEE 802.3ba-2010, 31B.3.7, at the MDI: 10GBASE-T has 74 quanta, of which SONiC's list has 67."""
    parts = {item.name: item.bytes for item in headroom(rate, "100m", mtu=1518).items}
    assert parts["response"] == (bits / 8, bits / 8)


def test_other_ports_of_10_gigabits_are_named_where_their_response_matters():
    with pytest.raises(ValueError, match="3789 ns with 10GBASE-T, and 3,072 ns with other ports"):
        headroom("10Gbps", "100m", mtu=1518, datasheet=PauseDatasheet(response="60 quanta"))
    fibre = PauseDatasheet(response="60 quanta", response_measured=True)
    shorter = headroom("10Gbps", "100m", mtu=1518, datasheet=fibre)
    assert headroom("10Gbps", "100m", mtu=1518).bytes - shorter.bytes == (74 - 60) * 64
    reasons = [
        audit_headroom([BufferRow(rate, 100.0, shorter.bytes)], mtu=1518).rows[0].reason for rate in (10e9, 25e9)
    ]
    assert ["10GBASE-T" in reason for reason in reasons] == [True, False]


@pytest.mark.parametrize("rate", RESPONSE_BITS)
def test_a_response_is_the_standards_and_a_shorter_one_must_be_known(rate):
    standard = RESPONSE_BITS[rate]
    assert response_time(int(rate), None, measured=False) == (standard, standard)
    less = f"{standard - 1} bits"
    assert response_time(int(rate), less, measured=True) == (standard - 1, standard - 1)
    with pytest.raises(ValueError, match="response_measured=True"):
        response_time(int(rate), less, measured=False)


# Links in bits and bit times.


def test_cells_are_those_that_a_frame_touches():
    link = PausedLink(10**10, 9216, 1500, cell=192)
    assert [link.cells_of(size) for size in (64, 192, 193, 1500)] == [1, 1, 2, 8]


def test_the_window_has_two_cables_and_the_response():
    """A pause crosses the cable, and what was sent before it was obeyed crosses it back."""
    near = PausedLink(10**10, 9216, 1500, cable=0, response=0)
    far = PausedLink(10**10, 9216, 1500, cable=1000, response=512)
    assert far.window - near.window == 2 * 1000 + 512


# One port, simulated event by event in bit times without any formula of the product: PFC and credits.


class Events:
    """A clock with events in the order of their times."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, Callable[[int], None]]] = []
        self.count = itertools.count()

    def at(self, time: int, do: Callable[[int], None], order: int = 1) -> None:
        """Let something happen at a time; lower orders first among equal times."""
        heapq.heappush(self.heap, (time, order * 10**9 + next(self.count), do))

    def run(self) -> None:
        """Let everything happen."""
        while self.heap:
            time, _, do = heapq.heappop(self.heap)
            do(time)


def above_threshold(link: PausedLink, sizes: list[int], room: int, phase: int | None) -> tuple[int, int]:
    """Return the cells above the threshold, and how many frames the sender started.

    ``room`` cells are free below the threshold at first. One of the receiver's frames starts ``phase`` bit times
    before the pause frame is ready, or None: none is being sent.
    """
    clock = Events()
    state = {"cells": 0, "sent": 0, "stop": math.inf}
    way = link.cable + link.gearbox

    def ready(now: int) -> None:
        queue = [] if phase is None else [64 + 8 * link.mtu + 96 - phase]
        queue += [64 + 512 + 96] * (bool(link.resume_queued) + (0 if link.merged else link.classes - 1))
        gone = now + sum(queue) + 64 + 512
        state["stop"] = gone + link.interface + way + link.response

    def cell(now: int) -> None:
        state["cells"] += 1
        if state["cells"] == room + 1:
            clock.at(now + link.pipeline, ready)

    def frame(now: int) -> None:
        if now > state["stop"] or state["sent"] == len(sizes):
            return
        size = sizes[state["sent"]]
        state["sent"] += 1
        for first in range(0, size, link.cell):
            clock.at(now + 64 + 8 * first + way, cell)
        clock.at(now + 64 + 8 * size + 96, frame)

    clock.at(0, frame)
    clock.run()
    return state["cells"] - room, state["sent"]


def candidates(link: PausedLink) -> list[int]:
    """Return frame sizes that an adversary may like: the ends, and one byte more than whole cells."""
    if link.small_packets == 0.0:
        return [link.lossless_mtu]
    sizes = {link.smallest, link.lossless_mtu}
    for cells in range(3):
        whole = link.smallest // link.cell + cells
        sizes.add(min(max(whole * link.cell + 1, link.smallest), link.lossless_mtu))
    return sorted(sizes)


def grown(link: PausedLink, size: int) -> list[int]:
    """Return sizes with more cells than a frame has, a dozen at most: the smallest of each number of cells."""
    first = (size - 1) // link.cell + 1
    cells = range(first, (link.lossless_mtu - 1) // link.cell + 1)
    return [n * link.cell + 1 for n in cells[:: max(1, len(cells) // 12)]]


def worst_found(link: PausedLink, rng: np.random.Generator) -> int:
    """Return the most cells above a threshold that an adversary finds."""
    sizes, found, top, tails = candidates(link), 0, link.lossless_mtu, [link.lossless_mtu] * 3
    for first in {
        *sizes,
        *(grown(link, sizes[-1 if len(sizes) < 2 else -2])[:3] if link.small_packets else ()),
    }:
        cells = -(-first // link.cell)
        for main, room in itertools.product(sizes, range(cells)):
            frames = [first] + [main] * (300_000 // (8 * main + 160) + 4)
            _, sent = above_threshold(link, frames, room, 0)
            tried = [[*frames[: sent - 1], top], [*frames[:sent], top]]
            if link.small_packets and sent > 2:  # one frame is longer, at the cost of the last one or not
                for longer in grown(link, main):
                    tried += [[*frames[: sent - k], longer, top] for k in (2, 3) if sent > k]
            for now in tried:
                found = max(found, above_threshold(link, now + tails, room, 0)[0])
    return found


def random_found(link: PausedLink, rng: np.random.Generator) -> int:
    """Return the cells above the threshold of random frames, threshold and phase."""
    sizes = rng.choice(candidates(link), 3000)
    if link.small_packets:
        free = rng.integers(link.smallest, link.lossless_mtu + 1, len(sizes))
        sizes = np.where(rng.random(len(sizes)) < 0.3, free, sizes)
    room = int(rng.integers(0, 2 * link.cells_of(link.lossless_mtu)))
    phase = int(rng.integers(0, 8 * link.mtu + 160))
    return above_threshold(link, sizes.tolist(), room, phase)[0]


def draw_link(rng: np.random.Generator, *, new: bool) -> PausedLink:
    """Return a link whose window holds up to some hundred frames, with the new assumptions or without."""
    lossless = int(rng.integers(64, 9601))
    cell = int(rng.integers(64, min(lossless, 420) + 1))
    mtu = int(rng.integers(lossless, 9601))
    smallest = int(rng.integers(64, lossless + 1)) if new else 64
    window = int(rng.integers(0, 150_000))
    parts = (rng.dirichlet(np.ones(5)) * window).astype(int).tolist()
    return PausedLink(
        10**11, mtu, lossless, cell, float(rng.choice([0.0, 1.0])), int(rng.integers(1, 9)),
        parts[0] // 2, parts[1], parts[2], parts[3] // 2, parts[4], smallest,
        merged=new and bool(rng.integers(2)), resume_queued=new and bool(rng.integers(2)),
    )  # fmt: skip


def check_pauses(count: int, seed: int) -> None:
    """Assert that no bound is exceeded, and that nine of ten are reached within a cell."""
    rng = np.random.default_rng(seed)
    near = 0
    for n in range(count):
        link = draw_link(rng, new=n % 2 == 1)
        bound = largest_burst(link).cells
        found = max(worst_found(link, rng), *(random_found(link, rng) for _ in range(4)))
        assert found <= bound, link
        near += found >= bound - 1
    assert near >= 0.9 * count


def outstanding(found: object, sizes: list[int]) -> int:
    """Return the most credits that are in use at once if a sender never waits for any."""
    link, clock = found.link, Events()  # type: ignore[attr-defined]
    wait = found.delays["frame leaving the receiver"]  # type: ignore[attr-defined]
    update = found.delays["waiting for the next message"] + found.delays["credit message"]  # type: ignore[attr-defined]
    state = {"used": 0, "most": 0, "sent": 0, "busy": 0}
    way = link.cable + link.gearbox
    preamble = min(64, 8 * link.overhead)
    gap = 8 * link.overhead - preamble

    def back(cells: int) -> Callable[[int], None]:
        def do(now: int) -> None:
            state["used"] -= cells

        return do

    def left(size: int) -> Callable[[int], None]:
        cells = -(-size // link.cell)

        def do(now: int) -> None:
            arrives = now + link.pipeline + wait + update + link.interface + way
            clock.at(arrives, back(cells), order=0)

        return do

    def forward(size: int) -> Callable[[int], None]:
        def do(now: int) -> None:
            begins = max(now, state["busy"])
            state["busy"] = begins + preamble + 8 * size + gap
            clock.at(begins + preamble + 8 * size, left(size))

        return do

    def frame(now: int) -> None:
        if state["sent"] == len(sizes):
            return
        size = sizes[state["sent"]]
        state["sent"] += 1
        state["used"] += -(-size // link.cell)
        state["most"] = max(state["most"], state["used"])
        clock.at(now + preamble + way + (8 * size if found.stored else 0), forward(size))  # type: ignore[attr-defined]
        clock.at(now + preamble + 8 * size + gap, frame)

    clock.at(0, frame)
    clock.run()
    return state["most"]


def check_credits(count: int, seed: int) -> None:
    """Assert the same of credits."""
    rng = np.random.default_rng(seed)
    near = 0
    for n in range(count):
        link = draw_link(rng, new=n % 2 == 1)
        found = credits(
            "100Gbps",
            "0m",
            link.mtu,
            link.lossless_mtu,
            link.cell,
            small_packets=link.small_packets,
            datasheet=CreditDatasheet(
                smallest=link.smallest,
                message=int(rng.integers(1, 100)),
                behind_frame=bool(rng.integers(2)),
                update=f"{int(rng.integers(0, 30_000))} bits",
                cut_through=bool(rng.integers(2)),
                interface=f"{link.interface} bits",
                gearbox=f"{link.gearbox} bits",
                pipeline=f"{link.pipeline + link.response} bits",
                overhead=(20, 4, 60)[n % 3],
            ),
        )
        sizes, most = candidates(link), 0
        top = link.lossless_mtu
        for main in sizes:
            most = max(most, outstanding(found, [top] + [main] * 1500 + [top]))
            count_of = sum(found.delays.values()) // (8 * (main + found.link.overhead)) + 2
            for k in range(max(0, count_of - 3), count_of + 1):
                for last in [[], *([longer] for longer in grown(link, main) if link.small_packets)]:
                    most = max(most, outstanding(found, [top] + [main] * k + last + [top]))
        for _ in range(4):
            frames = rng.choice(sizes, 300).tolist()
            most = max(most, outstanding(found, frames))
        assert most <= found.credits, found
        near += most >= found.credits - 1
    assert near >= 0.9 * count


@pytest.mark.slow
def test_headrooms_of_random_links_are_never_exceeded_and_reached() -> None:
    check_pauses(4, 1)


def test_credits_of_random_links_are_never_exceeded_and_reached() -> None:
    check_credits(6, 2)


@pytest.mark.slow
def test_headrooms_of_a_thousand_random_links() -> None:
    check_pauses(1000, 47)


@pytest.mark.slow
def test_credits_of_a_thousand_random_links() -> None:
    check_credits(1000, 48)


@pytest.mark.slow
def test_a_bound_of_one_frame_less_would_be_exceeded() -> None:
    """The simulation would notice a bound that is too small."""
    rng = np.random.default_rng(3)
    link = dataclasses.replace(draw_link(rng, new=True), small_packets=1.0)
    assert worst_found(link, rng) > largest_burst(dataclasses.replace(link, mtu=link.lossless_mtu, pipeline=0, response=0)).cells  # fmt: skip
