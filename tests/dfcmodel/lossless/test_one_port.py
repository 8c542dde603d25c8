"""One port, simulated event by event in bit times without any formula of the product: PFC and credits.

The simulation knows what a frame, a cell, a pause frame and a credit are, and what the proof assumes of the port. The
adversary picks frames, the cell at which the threshold is crossed, and the phase of the receiver's own frames.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from dfcmodel import PausedLink
from dfcmodel.lossless import credits
from dfcmodel.lossless.worst_cases import largest_burst


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


def above_threshold(
    link: PausedLink, sizes: list[int], room: int, phase: int | None
) -> tuple[int, int]:
    """Return the cells above the threshold, and how many frames the sender started.

    ``room`` cells are free below the threshold at first. One of the receiver's frames starts ``phase`` bit times
    before the pause frame is ready, or None: none is being sent.
    """
    clock = Events()
    state = {"cells": 0, "sent": 0, "stop": math.inf}
    way = link.cable + link.gearbox

    def ready(now: int) -> None:
        queue = [] if phase is None else [64 + 8 * link.mtu + 96 - phase]
        queue += [64 + 512 + 96] * (
            bool(link.resume_queued) + (0 if link.merged else link.classes - 1)
        )
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
            if (
                link.small_packets and sent > 2
            ):  # one frame is longer, at the cost of the last one or not
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
            state["busy"] = begins + 64 + 8 * size + 96
            clock.at(begins + 64 + 8 * size, left(size))

        return do

    def frame(now: int) -> None:
        if state["sent"] == len(sizes):
            return
        size = sizes[state["sent"]]
        state["sent"] += 1
        state["used"] += -(-size // link.cell)
        state["most"] = max(state["most"], state["used"])
        clock.at(now + 64 + way + (8 * size if found.stored else 0), forward(size))  # type: ignore[attr-defined]
        clock.at(now + 64 + 8 * size + 96, frame)

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
            "100Gbps", "0m", link.mtu, link.lossless_mtu, link.cell, small_packets=link.small_packets,
            smallest=link.smallest, message=int(rng.integers(1, 100)), behind_frame=bool(rng.integers(2)),
            update=f"{int(rng.integers(0, 30_000))} bits", cut_through=bool(rng.integers(2)),
            interface=f"{link.interface} bits", gearbox=f"{link.gearbox} bits",
            pipeline=f"{link.pipeline + link.response} bits",
        )  # fmt: skip
        sizes, most = candidates(link), 0
        top = link.lossless_mtu
        for main in sizes:
            most = max(most, outstanding(found, [top] + [main] * 1500 + [top]))
            count_of = sum(found.delays.values()) // (8 * main + 160) + 2
            for k in range(max(0, count_of - 3), count_of + 1):
                for last in [[], *([longer] for longer in grown(link, main) if link.small_packets)]:
                    most = max(most, outstanding(found, [top] + [main] * k + last + [top]))
        for _ in range(4):
            frames = rng.choice(sizes, 300).tolist()
            most = max(most, outstanding(found, frames))
        assert most <= found.credits, found
        near += most >= found.credits - 1
    assert near >= 0.9 * count


def test_headrooms_of_random_links_are_never_exceeded_and_reached() -> None:
    check_pauses(12, 1)


def test_credits_of_random_links_are_never_exceeded_and_reached() -> None:
    check_credits(12, 2)


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
