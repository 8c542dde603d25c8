"""Time alternatives for one task in turn, A B C A B C, and compare their medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tqdm import tqdm


@dataclass(frozen=True)
class Row:
    """One alternative: median and range of its seconds, and the ratio of medians to the first.

    Where tasks differ in size alone (flows, nodes), ``size`` is that, and ``moved`` the bytes that the task cannot help
    writing and reading: with the bandwidth of the machine they are its physical limit.
    """

    task: str
    name: str
    seconds: float
    fastest: float
    slowest: float
    ratio: float
    note: str = ""
    size: float | None = None
    moved: float | None = None


TURNS = 500_000


def fixed_loop() -> float:
    """Return the CPU time of a turn of a loop in plain Python that never changes, s.

    Beside a time that was taken it tells how fast the processor was then. On a virtual machine that shares cores with
    others it doubles at times, and what the fluid takes per step with it.
    """
    x = 0
    start = time.process_time()
    for n in range(TURNS):
        x = (3 * x + n) & 0xFFFF
    return (time.process_time() - start) / TURNS


def cpu_seconds(run: Callable[[], object], rounds: int) -> tuple[float, ...]:
    """Return the CPU seconds of calls one after another, the first of which does not count."""
    found = []
    for _ in range(rounds + 1):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return tuple(found[1:])


def compare(
    task: str,
    alternatives: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    note: Callable[[str, object], str] = lambda _name, _result: "",
    clock: Callable[[], float] = time.perf_counter,
) -> list[Row]:
    """Run every alternative once to warm up, then ``rounds`` times in turn, by ``clock``."""
    notes = {name: note(name, run()) for name, run in alternatives.items()}
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in tqdm(range(rounds), desc=task, leave=False):
        for name, run in alternatives.items():
            start = clock()
            run()
            times[name].append(clock() - start)
    medians = {name: statistics.median(values) for name, values in times.items()}
    first = next(iter(medians.values()))
    return [
        Row(task, name, medians[name], min(values), max(values), medians[name] / first, notes[name])
        for name, values in times.items()
    ]
