"""``python -m benchmarks.outside [qcomp] [prism] [dsmts]``: compare, print a summary, write the table."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from benchmarks.outside.rows import answered, suites, written

SETS = ("qcomp", "prism", "dsmts")
FOLDER = Path(__file__).resolve().parents[1] / "results"


def main(
    sets: Annotated[list[str] | None, typer.Argument(help=" or ".join(SETS))] = None,
    most_states: Annotated[int, typer.Option(help="Larger models are listed as such.")] = 200_000,
    folder: Annotated[Path, typer.Option(help="Where the tables go.")] = FOLDER,
) -> None:
    """Compare reference results of test suites in $HOPFLOW_SUITES with ours."""
    root = suites()
    if root is None:
        raise typer.BadParameter("HOPFLOW_SUITES is not set: the folder of the suites")
    folder.mkdir(parents=True, exist_ok=True)
    for name in sets or SETS:
        questions = list(importlib.import_module(f"benchmarks.outside.{name}").questions(root))
        begin = time.process_time()
        rows = [answered(q, most_states) for q in tqdm(questions, desc=name, disable=None)]
        written(rows, folder / f"outside_{name}.csv")
        counts = Counter(row.status for row in rows)
        said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        print(f"{name}: {len(rows)}: {said}; {time.process_time() - begin:.0f} s of CPU")


if __name__ == "__main__":
    typer.run(main)
