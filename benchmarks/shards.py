"""``python -m benchmarks.shards``: one chain over the devices of one processor: cycles, memory, its bound.

Pause tandems with buffers (B, B), the threshold at 3/4 of B and four TCP states, by `stationary_sharded` on several devices, each in
a process of its own, and by `Multilevel`, which sweeps in order. CPU seconds of the solution with its bound, most of them
compilation. Each row is written when it is measured (``results/shards.json``, and ``shards.md``, the table of the documentation).
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Annotated, Any

import typer

from benchmarks.records import measure_cell
from markov import Multilevel, PauseTandem, stationary
from markov.sharding import host_device_flags, stationary_sharded

CASES = ((50, 1), (50, 2), (50, 4), (100, 1))
"""Buffers and devices."""
COLUMNS = {
    "buffer": "B",
    "states": "states in the box",
    "devices": "devices",
    "ordered": "cycles, in order (`Multilevel`)",
    "cycles": "cycles, all at once",
    "held": "held by each device, bytes per state of the box",
    "bound": "error bound",
    "hitting": "cycles for the bound",
    "proof": "held by each for the bound, MB",
    "seconds": "CPU time, s",
}


def cell(buffer: int, devices: int) -> dict[str, Any]:
    """Return one row, measured in this process, which must not have used JAX."""
    os.environ |= {"XLA_FLAGS": host_device_flags(devices), "JAX_PLATFORMS": "cpu"}
    import jax

    model = PauseTandem(
        buffers=(buffer, buffer),
        high_threshold=3 * buffer // 4,
        arrival_rates=(25.0, 10.0, 5.0, 1.0),
    )
    begin = time.process_time()
    answer = stationary_sharded(model, devices=jax.devices()[:devices])
    proof = answer.proof
    seconds = time.process_time() - begin
    ordered = stationary(model, Multilevel(tolerance=1e-12), proof=False)
    return {
        "buffer": buffer,
        "states": len(answer.pi),
        "devices": devices,
        "ordered": ordered.iterations,
        "cycles": answer.cycles,
        "held": answer.bytes_per_device / len(answer.pi),
        "bound": proof.distance,
        "hitting": proof.cycles,
        "proof": proof.bytes_per_device / 1e6,
        "seconds": seconds,
    }


def table(cells: list[dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown."""
    formats = {"states": ",", "held": ".0f", "bound": ".5e", "proof": ".2f", "seconds": ".0f"}
    lines = [f"| {' | '.join(COLUMNS.values())} |", f"|{'--:|' * len(COLUMNS)}"]
    for each in cells:
        lines.append("| " + " | ".join(format(each[name], formats.get(name, "")) for name in COLUMNS) + " |")
    return "\n".join(lines) + "\n"


def merged(held: list[dict[str, Any]], found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of the cases, those found in place of the ones held."""
    cells = {(each["buffer"], each["devices"]): each for each in [*held, *found]}
    return [cells[key] for key in CASES if key in cells]


def main(
    only: Annotated[str | None, typer.Option(help="One row: buffer;devices.")] = None,
) -> None:
    """Measure every row, and write the table after each."""
    if only is not None:
        buffer, devices = map(int, only.split(";"))
        sys.stdout.write("\n" + json.dumps(cell(buffer, devices)))
        return
    for buffer, devices in CASES:
        measure_cell("benchmarks.shards", f"{buffer};{devices}", "shards", merged, table)


if __name__ == "__main__":
    typer.run(main)
