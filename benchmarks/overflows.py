"""``python -m benchmarks.overflows``: rare overflows of a headroom pool in packet runs, recombined.

Four ports that share nothing but the pool are independent. The answer that it is compared with counts: ports of
different plain runs are put together at random, many times as many pools as there are runs. Each part is written when
it is complete (``results/overflows.json``, and ``recombined.md``, the table of the
documentation); the others stay.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numba import njit

from dfcmodel import Flow, Link, OnOff, Packets, Pause, Scenario
from dfcmodel.lossless import PacketRuns, Recombination, overflow
from dfcmodel.packets.engine import begin_run
from dfcmodel.packets.simulation import plan_scenario

RESULTS = Path(__file__).parent / "results"
SIZES = (220, 300)
MORE_SIZES = (60, 140, 180, 220, 300, 400)
FEW, MANY = 2_000, 20_000
WITHIN, SAMPLE = 5e-4, 1e-5
RUNS, POOLS = 20_000, 100_000_000
HIGH, PORTS, SENDERS = 10, 4, 12


def fabric() -> Scenario:
    """Return the ports of the documentation: pauses take 110 us, twelve senders with bursts share each."""
    rule = Pause(high=HIGH, low=5, signalling=100e-6)
    bursts = OnOff(rate=2e5, on=50e-6, off=200e-6, random=True)
    links = [Link("switch", f"h{p}", 1e6, 5e-6, 2000, rule) for p in range(PORTS)]
    flows = [
        Flow(
            f"{p}.{k}", ("switch", f"h{p}"), bursts, host="unshaped",
            start=(SENDERS * p + k) * 7 % 48 / 48 * 200e-6,
        )
        for p in range(PORTS) for k in range(SENDERS)
    ]  # fmt: skip
    return Scenario("four ports", tuple(links), tuple(flows), duration=0.2)


def known() -> dict[str, Any]:
    """Return the parts of recombined pools that overflow, by size, and their standard errors."""
    plan = plan_scenario(fabric(), Packets(), duration=WITHIN, sample=SAMPLE)
    first, draw = begin_run(plan), np.random.default_rng(1)
    above = np.zeros((PORTS, RUNS, plan.samples), np.float32)
    for n in range(RUNS):
        run = first.fork(draw)
        run.records.waiting[:] = 0
        assert run.advance(plan.samples)
        queued = np.cumsum(run.records.waiting[:-1, :PORTS], axis=0)
        above[:, n] = np.maximum(0.0, queued.T - HIGH)
    parts = np.array_split(np.arange(RUNS), 10)  # the runs, not the pools, limit the accuracy
    sizes, share = np.array(SIZES, float), POOLS // len(parts)
    hits = np.array([recombine(above[:, part], share, sizes, draw) for part in parts])
    shares = hits / share
    errors = shares.std(axis=0, ddof=1) / len(parts) ** 0.5
    return {
        str(size): {"probability": mean, "error": error}
        for size, mean, error in zip(SIZES, shares.mean(axis=0), errors, strict=True)
    }


@njit
def recombine(above: Any, pools: int, sizes: Any, draw: Any) -> Any:
    """Return how many of the pools of four ports of random runs exceed each size at some sample."""
    ports, runs, samples = above.shape
    hits = np.zeros(len(sizes))
    chosen = np.zeros(ports, np.int64)
    for _ in range(pools):
        for p in range(ports):
            chosen[p] = draw.integers(0, runs)
        peak = 0.0
        for t in range(samples):
            total = 0.0
            for p in range(ports):
                total += above[p, chosen[p], t]
            peak = max(peak, total)
        for k in range(len(sizes)):
            if peak > sizes[k]:
                hits[k] += 1.0
    return hits


def recombined(runs: int) -> dict[str, Any]:
    """Return the estimates by size from one set of recombined runs, and the CPU seconds of all together."""
    begin = time.process_time()
    traffic = PacketRuns(fabric(), within=WITHIN, sample=SAMPLE)
    one = overflow(SIZES[0], traffic, Recombination(runs), seed=2)
    found = {str(size): one.at(size) for size in MORE_SIZES}
    cells: dict[str, Any] = {
        size: {
            "probability": each.probability,
            "interval": each.interval,
            "effective": float(each.effective_runs.min()),
            "narrow": each.is_narrow,
            "plain": each.histories.plain(),
        }
        for size, each in found.items()
    }
    return cells | {"seconds": time.process_time() - begin}


def recombined_table(cells: dict[str, Any]) -> str:
    """Return the recombined estimates as a table in Markdown."""
    lines = [
        "| pool, packets | runs | of them overflow | recombined | 95 % interval | effective runs | counted |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for size in MORE_SIZES:
        for runs in (FEW, MANY):
            if not (own := cells.get(f"recombined {runs}", {}).get(str(size))):
                continue
            low, high = own["interval"]
            right = cells.get("known", {}).get(str(size))
            known = f"{right['probability']:.2g} ± {right['error']:.1g}" if right else ""
            lines.append(
                f"| {size} | {runs:,} | {own['plain']} | {own['probability']:.2g} | {low:.2g} to {high:.2g} | "
                f"{own['effective']:.0f} | {known} |"
            )
    return "\n".join(lines) + "\n"


def compute(part: str) -> dict[str, Any]:
    """Return the cells of a part of the results."""
    if part == "known":
        return {part: known()}
    return {f"recombined {int(part[1:])}": recombined(int(part[1:]))}


def main(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="r2000, r20000 (recombined), or known; none: all"),
    ] = None,
) -> None:
    """Compute the parts, and write each when it is complete."""
    path = RESULTS / "overflows.json"
    for part in parts or [f"r{FEW}", f"r{MANY}", "known"]:
        found = compute(part)
        cells = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        cells |= found
        path.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        path.with_name("recombined.md").write_text(recombined_table(cells), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
