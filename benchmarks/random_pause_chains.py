"""``python -m benchmarks.random_pause_chains [--count 1000]``: random parameter sets, to a residual of 1e-12.

N from 1 to 8, buffers from 20 to 160, thresholds anywhere, rates over three decades; the default method and
`MatrixFree`, without bounds. One CSV row per set and method, written as it is found; a later call goes on
where the file ends. ``--slowest 20`` solves the sets that took `MatrixFree` most cycles in that file again, and says in
which cycle it was seen that they are slow, and what they would take if nothing were done about it.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.records import RESULTS
from markov import MatrixFree, PauseTandem, stationary
from markov.multigrid import solver

TOLERANCE = 1e-12
COLUMNS = (
    "set",
    "method",
    "used",
    "states",
    "residual",
    "cycles",
    "seconds",
    "failure",
    "parameters",
)
DEFAULT, MATRIX_FREE = "default", "MatrixFree"
SLOW = 60
"""Cycles beyond which a set is counted as slow."""


def parameters(seed: int, number: int) -> dict[str, Any]:
    """Return one parameter set: sizes uniform, rates and the round-trip time uniform in their logarithms."""
    rng = np.random.default_rng([seed, number])

    def rate() -> float:
        return float(10.0 ** rng.uniform(-1.0, 2.0))

    first, second = (int(x) for x in rng.integers(20, 161, 2))
    high = int(rng.integers(1, second + 1))
    low = int(rng.integers(1, high + 1)) if rng.random() < 0.5 else None
    return {
        "buffers": (first, second),
        "high_threshold": high,
        "low_threshold": low,
        "link_rate": rate(),
        "paused_rate": rate(),
        "bottleneck_rate": rate(),
        "arrival_rates": tuple(rate() for _ in range(int(rng.integers(1, 9)))),
        "rtt": float(10.0 ** rng.uniform(-2.0, 1.0)),
    }


def row(seed: int, number: int, name: str) -> dict[str, object]:
    """Solve one set by one method."""
    given = parameters(seed, number)
    found: dict[str, object] = {"set": number, "method": name, "parameters": repr(given)}
    begin = time.process_time()
    try:
        method = MatrixFree(tolerance=TOLERANCE) if name == MATRIX_FREE else None
        answer = stationary(PauseTandem(**given), method, proof=False, on_failure="return")
    except (ArithmeticError, MemoryError, ValueError) as error:
        return {**found, "failure": f"{type(error).__name__}: {error}"}
    missed = not answer.residual <= TOLERANCE
    found |= {"used": answer.method, "states": len(answer.pi), "residual": f"{answer.residual:.2e}"}
    found |= {"cycles": answer.iterations, "seconds": f"{time.process_time() - begin:.2f}"}
    return {**found, "failure": str(answer.status) if missed else ""}


class Noted(solver.Multigrid):
    """Levels that note in which cycle iterates were first combined, and in which they began anew."""

    done = 0
    combined: int | None = None
    anew: int | None = None

    def cycle(self) -> None:
        """Improve x by one cycle."""
        self.done += 1
        super().cycle()

    def combine(self, size: float) -> None:
        """Combine iterates."""
        type(self).combined = type(self).combined or self.done
        super().combine(size)

    def narrow(self) -> bool:
        """Begin anew with narrower levels."""
        type(self).anew = type(self).anew or self.done
        return super().narrow()


def again(seed: int, number: int, *, combine: bool) -> tuple[int, float, int | None, int | None]:
    """Return the cycles and the residual of a set by `MatrixFree`, and when it combined and began anew."""
    factor, levels = solver.COMBINE_FACTOR, solver.Multigrid
    Noted.combined = Noted.anew = None
    try:
        solver.Multigrid = Noted  # type: ignore[misc]
        solver.COMBINE_FACTOR = factor if combine else np.inf
        model = PauseTandem(**parameters(seed, number))
        method = MatrixFree(tolerance=TOLERANCE)
        answer = stationary(model, method, proof=False, on_failure="return")
    finally:
        solver.Multigrid = levels  # type: ignore[misc]
        solver.COMBINE_FACTOR = factor
    return int(answer.iterations or 0), answer.residual, Noted.combined, Noted.anew


def slow(seed: int, rows: list[dict[str, str]], count: int) -> str:
    """Return what becomes of the slowest sets, as a table in Markdown."""
    mine = [r for r in rows if r["method"] == MATRIX_FREE and r["cycles"]]
    mine.sort(key=lambda r: -int(r["cycles"]))
    lines = ["| set | states | cycles | combined from cycle | begun anew | cycles without combination |"]
    lines.append("|--:|--:|--:|--:|--:|--:|")
    for each in mine[:count]:
        number = int(each["set"])
        cycles, _, combined, anew = again(seed, number, combine=True)
        plain, residual, _, _ = again(seed, number, combine=False)
        left = str(plain) if residual <= TOLERANCE else f"{plain}, residual {residual:.0e}"
        cells = number, each["states"], cycles, combined or "", anew or "", left
        lines.append(f"| {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main(
    count: Annotated[int, typer.Option(help="Parameter sets.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the sets.")] = 22,
    path: Annotated[Path, typer.Option(help="The table.")] = Path("random_pause_chains.csv"),
    slowest: Annotated[int, typer.Option(help="Only so many of its slowest sets, again.")] = 0,
) -> None:
    """Solve random parameter sets; say how many reached the residual, and what the others did."""
    done = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            done = list(csv.DictReader(file))
    if slowest:
        text = slow(seed, done, slowest)
        (RESULTS / "slow_pause_chains.md").write_text(text, encoding="utf-8")
        return
    known = {(int(r["set"]), r["method"]) for r in done}
    with path.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not done:
            table.writeheader()
        for number in range(count):
            for name in (DEFAULT, MATRIX_FREE):
                if (number, name) not in known:
                    table.writerow(row(seed, number, name))
                    file.flush()
    with path.open(encoding="utf-8", newline="") as file:
        rows = [r for r in csv.DictReader(file) if int(r["set"]) < count]
    summarise(rows)
    (RESULTS / "random_pause_chains.md").write_text(counts(rows), encoding="utf-8")


def counts(rows: list[dict[str, str]]) -> str:
    """Return how many sets reached the residual, and in how many cycles, as a table in Markdown."""
    lines = ["| method | sets | with a residual of 1e-12 | cycles: median | 99 % | most | more than 60 |"]
    lines.append("|:--|--:|--:|--:|--:|--:|--:|")
    for name, title in ((DEFAULT, "default"), (MATRIX_FREE, "`MatrixFree`")):
        mine = [r for r in rows if r["method"] == name]
        cycles = sorted(int(r["cycles"]) for r in mine if not r["failure"])
        n = len(cycles)
        lines.append(
            f"| {title} | {len(mine):,} | {n:,} | {cycles[n // 2]} | {cycles[int(0.99 * n)]} | "
            f"{cycles[-1]} | {sum(c > SLOW for c in cycles)} |"
        )
    return "\n".join(lines) + "\n"


def summarise(rows: list[dict[str, str]]) -> None:
    """Print counts, the worst cycles, and every set that failed."""
    for name in (DEFAULT, MATRIX_FREE):
        mine = [r for r in rows if r["method"] == name]
        failed = [r for r in mine if r["failure"]]
        cycles = sorted(int(r["cycles"]) for r in mine if not r["failure"])
        print(f"{name}: {len(mine) - len(failed)} of {len(mine)} reach {TOLERANCE:g}; cycles: "
              f"median {cycles[len(cycles) // 2]}, worst {cycles[-1]}")  # fmt: skip
        print(f"  more than {SLOW} cycles: {sum(c > SLOW for c in cycles)}")
        for each in failed:
            print(f"  set {each['set']}: {each['residual']} {each['failure']} {each['parameters']}")


if __name__ == "__main__":
    typer.run(main)
