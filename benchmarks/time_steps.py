"""``python -m benchmarks.time_steps``: the fluid with the step of short access links, and with the longer default.

Writes ``results/time_steps.md``: mean shares and losses of TCP over 8 random starts, with both steps and at packet level,
and CPU seconds of a run. Access links have 0.1 ms; with 10 us the gain is ten times as large, and less than a tenth
of a packet comes in a short step.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dfcmodel import Flow, Fluid, Packets, Scenario, dumbbell, parking_lot, simulate
from hopflow import mbps, ms
from responsefn import CUBIC, NewReno, Reno, WindowRule

RESULT = Path(__file__).parent / "results/time_steps.md"
RUNS, SECONDS, RATE, WINDOW = 8, 20.0, 100.0, 1000.0
ENDS = {"access_rate": mbps(1000), "access_delay": ms(0.1)}
METHODS = {
    "short step": Fluid(contracted=False), "default step": Fluid(), "packets": Packets(),
}  # fmt: skip


def pairs(rule: WindowRule, flows: int, buffer: int, apart: float = 0.0) -> Scenario:
    """Return a dumbbell of 20 ms; each access link is ``apart`` s longer than the one before."""
    links = list(dumbbell(flows, rate=mbps(RATE), delay=ms(20), buffer=buffer, **ENDS))
    links[:flows] = [replace(link, delay=link.delay + n * apart) for n, link in enumerate(links[:flows])]
    sent = [Flow(f"{n}", (f"s{n}", "left", "right", f"d{n}"), rule, WINDOW) for n in range(1, flows + 1)]
    name = f"dumbbell, {flows} {type(rule).__name__}, buffer {buffer}"
    return Scenario(name + (", unequal delays" if apart else ""), tuple(links), tuple(sent), SECONDS)


def lot(rule: WindowRule, hops: int) -> Scenario:
    """Return a parking lot with links of 10 ms."""
    links = parking_lot(hops, rate=mbps(RATE), delay=ms(10), buffer=200, **ENDS)
    ways = [("s1", *range(1, hops + 2), f"d{hops + 1}")]
    ways += [(f"s{n}", n, n + 1, f"d{n + 1}") for n in range(1, hops + 1)]
    flows = [Flow(f"{n}", way, rule, WINDOW) for n, way in enumerate(ways)]
    return Scenario(f"parking lot, {hops} links, {type(rule).__name__}", links, tuple(flows), SECONDS)


def kaneko() -> Scenario:
    """Return two flows at 100 Mb/s with round trips of 40 ms and a buffer of that many packets (kaneko2007)."""
    return replace(pairs(NewReno(), 2, 333), name="dumbbell, 2 NewReno, 40 ms (kaneko2007)")


def compared(scenario: Scenario) -> list[str]:
    """Return the rows of a scenario: one per way to simulate it."""
    found = []
    fine: tuple[np.ndarray, np.ndarray] | None = None
    for name, method in METHODS.items():
        simulate(scenario, method, duration=0.2)
        shares, lost, begin = [], [], time.process_time()
        for seed in range(RUNS):
            run = simulate(scenario, method, sample=0.5, jitter=0.5, seed=seed)
            shares.append(run.delivered[:, -1] / run.time[-1] / mbps(RATE))
            lost.append(run.lost.sum())
        seconds = (time.process_time() - begin) / RUNS
        mean, error = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / np.sqrt(RUNS)
        fine = fine or (mean, error)
        apart = np.abs(mean - fine[0])
        joint = np.hypot(error, fine[1]).max()
        told = "" if name == "short step" else f"{apart.max():.3f} (standard error {joint:.3f})"
        step = f"{1e6 * method.step_of(scenario):.0f} us" if isinstance(method, Fluid) else ""
        values = " ".join(f"{share:.3f}" for share in mean)
        found.append(f"| {scenario.name} | {name} | {step} | {values} | {told} | {np.mean(lost):.0f} | {seconds:.3f} |")
    return found


def main() -> None:
    """Write the table."""
    cases = [
        kaneko(), pairs(NewReno(), 4, 100, ms(2)), pairs(NewReno(), 8, 30, ms(2)), pairs(CUBIC(), 4, 333),
        pairs(Reno(), 4, 333, ms(2)), lot(NewReno(), 2), lot(Reno(), 3),
    ]  # fmt: skip
    lines = [
        "| network | method | step | mean shares | largest difference from the short step | lost | CPU s |",
        "|---|---|---|---|---|---|---|",
    ]
    for scenario in cases:
        lines += compared(scenario)
        print("\n".join(lines[-len(METHODS) :]), flush=True)
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
