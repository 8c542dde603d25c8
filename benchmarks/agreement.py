"""``python -m benchmarks.agreement [--largest 1e6]``: pi of `MatrixFree` beside that of elimination, entry by entry.

The pause chain of `benchmarks.scale`, by `GTH` up to 1e4 states and by `Levels` from there on, which subtract nothing:
each of their entries is right to the relative error that they state (where no probability underflows). `MatrixFree` as it is and with
``proof="tight"``: the largest relative difference of an entry above 1e-9, and of one above 1e-250; the distance in
total variation, and the bound on it that was proved. The table goes to ``benchmarks/results/agreement.md``.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.records import RESULTS
from benchmarks.scale import model_of
from markov import GTH, Levels, MatrixFree, stationary

SIZES = (1e4, 1e5, 1e6, 1e7)
ELIMINATED = 1e4  # states up to which GTH takes seconds
LIKELY, LEAST = 1e-9, 1e-250


def rows(states: float) -> list[list[str]]:
    """Return what the table says of one size."""
    model = model_of(states)
    solver = GTH() if states <= ELIMINATED else Levels(component="j")
    right = stationary(model, solver, proof=False)
    found = []
    for proof in (True, "tight"):
        answer = stationary(model, MatrixFree(threads=1), proof=proof)  # type: ignore[arg-type]
        distance = 0.5 * np.abs(answer.pi - right.pi).sum()
        found.append(
            [
                f"{answer.chain.size:,}",
                f"`{type(solver).__name__}`",
                f"{right.entry_error:.0e}" if np.isfinite(right.entry_error) else "not stated",
                "tight" if proof == "tight" else "plain",
                f"{_largest(answer.pi, right.pi, LIKELY):.0e}",
                f"{_largest(answer.pi, right.pi, LEAST):.0e}",
                f"{distance:.1e}",
                f"{answer.error_bound:.1e}",
                f"{answer.error_bound / distance:.0f}",
            ]
        )
    return found


def _largest(pi: Any, right: Any, least: float) -> float:
    """Return the largest relative difference of an entry above ``least``."""
    some = right > least
    return float(np.max(np.abs(pi[some] / right[some] - 1.0)))


def main(
    largest: Annotated[float, typer.Option(help="Number of states; 1e7 takes an hour.")] = 1e6,
) -> None:
    """Compare every size up to the largest, and write the table after each."""
    columns = [
        "states",
        "by",
        "right to",
        "proof",
        "relative difference above 1e-9",
        "above 1e-250",
    ]
    columns += ["total variation", "bound", "times the distance"]
    lines = [f"| {' | '.join(columns)} |", "|--:|:--|--:|:--|--:|--:|--:|--:|--:|"]
    for states in SIZES:
        if states > largest:
            break
        lines += [f"| {' | '.join(row)} |" for row in rows(states)]
        print("\n".join(lines[-2:]), flush=True)
        (RESULTS / "agreement.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
