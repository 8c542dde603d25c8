"""``python -m benchmarks.collection FOLDER``: which PRISM files of a collection are read and answered, and why not.

The folder is a copy of the repository fluentverification/CaseStudies_StochasticModelChecking on GitHub: reaction networks
whose variables have up to 127 bits together, or no bounds. The first property of each file's own file of properties
is evaluated, from the initial state, in at most a given number of states.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from hopflow.csv_tables import write_rows
from markov.errors import TooLargeError
from markov.files import FileError, read_prism

RESULTS = Path(__file__).resolve().parent / "results" / "collection.csv"
HEAD = ("file", "outcome", "value", "bound")
TIGHT = 1e-6


def outcome(path: Path, most: int) -> tuple[str, str, str]:
    """Return what came of a file: in words, its property's value, and the bound on the error."""
    try:
        model = read_prism(path, most=most)
        own = (path.with_suffix(".csl"), path.with_suffix(".props"))
        beside = [*sorted(path.parent.glob("*.csl")), *sorted(path.parent.glob("*.props"))]
        properties = next((each for each in (*own, *beside) if each.exists()), None)
        if properties is None:
            return f"read; {model.chain.size} states, no property", "", ""
        model = model.with_properties(properties)
        assert model.properties is not None
        found = model.property(next(iter(model.properties.properties)), on_failure="return")
    except FileError as error:
        reason = str(error).partition(": ")[2]
        kind = next(
            (k for k in ("not defined", "no value", "defined twice") if k in reason), reason
        )
        return f"refused: a name is {kind}" if "def" in kind else f"refused: {kind}", "", ""
    except TooLargeError:
        return f"read; more than {most} states, no property", "", ""
    if found.value is None or not math.isfinite(found.error_bound):
        return "no bound", str(found.value), ""
    said = "bound at most 1e-6" if found.error_bound <= TIGHT else "a wider bound"
    return f"answered: {said}", repr(found.value), f"{found.error_bound:.1e}"


def main(
    folder: Annotated[Path, typer.Argument(help="A copy of the collection.")],
    most: Annotated[int, typer.Option(help="Largest number of states.")] = 2_000,
    results: Annotated[Path, typer.Option(help="Where the table goes.")] = RESULTS,
) -> None:
    """Read all PRISM files but the copies of SBML's tests, and evaluate a property of each."""
    paths = sorted(p for s in ("sm", "pm", "prism") for p in folder.rglob(f"*.{s}"))
    rows = []
    for path in tqdm([p for p in paths if "SBMLstochasticTests" not in p.parts], disable=None):
        rows.append((path.relative_to(folder).as_posix(), *outcome(path, most)))
    write_rows(results, HEAD, rows)
    for said, count in Counter(row[1] for row in rows).most_common():
        print(count, said)


if __name__ == "__main__":
    typer.run(main)
