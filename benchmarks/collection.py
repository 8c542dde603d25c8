"""``python -m benchmarks.collection FOLDER``: which PRISM files of a collection are read and answered, and why not.

The folder is a copy of the repository fluentverification/CaseStudies_StochasticModelChecking on GitHub: reaction networks
whose variables have up to 127 bits together, or no bounds. The first property of each file's own file of properties
is evaluated, from the initial state, in at most a given number of states. For a file without properties it is the
long-run mean of its first reward. Files that differ in comments and blanks alone are evaluated once.

    git clone https://github.com/fluentverification/CaseStudies_StochasticModelChecking FOLDER
"""

from __future__ import annotations

import csv
import math
import re
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from hopflow.csv_tables import write_rows
from markov.files import FileError, read_prism

RESULTS = Path(__file__).resolve().parent / "results" / "collection.csv"
HEAD = ("file", "question", "outcome", "value", "bound", "effort", "most", "seconds")
WIDTHS = ("1e-9", "1e-6", "1e-3")
MOST = 200_000
LONG_RUN = "R=? [ S ]"
MAX_LONG_RUN_STATES = 2_000_000
IGNORED = re.compile(r"//[^\n]*|\s+")

Outcome = tuple[str, str, str, str, str]
"""The question, what came of it in words, the value, the bound on its error, and the states and jumps of it."""


def properties_of(path: Path) -> Path | None:
    """Return the properties file of a model: its own, or else the first in its folder."""
    own = (path.with_suffix(".csl"), path.with_suffix(".props"))
    beside = [*sorted(path.parent.glob("*.csl")), *sorted(path.parent.glob("*.props"))]
    return next((each for each in (*own, *beside) if each.exists()), None)


def content(path: Path) -> str:
    """Return a model and its properties, without comments and blanks."""
    files = [path, *filter(None, [properties_of(path)])]
    return "\0".join(IGNORED.sub("", file.read_text(encoding="utf-8")) for file in files)


def outcome(path: Path, most: int) -> Outcome:
    """Return what came of a file: the property's value is sought in at most ``most`` states."""
    properties, question = properties_of(path), ""
    try:
        if properties is None:
            model, question = read_prism(path, most=MAX_LONG_RUN_STATES), LONG_RUN
        else:
            model = read_prism(path, most=most).with_properties(properties)
            assert model.properties is not None
            question = next(iter(model.properties.properties))
        found = model.property(question, on_failure="return")
    except FileError as error:
        reason = str(error).partition(": ")[2]
        kind = next(
            (k for k in ("not defined", "no value", "defined twice") if k in reason), reason
        )
        said = f"refused: a name is {kind}" if "def" in kind else f"refused: {kind}"
        return question, said, "", "", ""
    if found.value is None or not math.isfinite(found.error_bound):
        return question, "no bound", str(found.value), "", found.reason
    width = next((w for w in WIDTHS if found.error_bound <= float(w)), None)
    said = "a wider bound" if width is None else f"bound at most {width}"
    value, bound = repr(float(found.value)), f"{found.error_bound:.1e}"
    return question, f"answered: {said}", value, bound, found.reason


def rows_of(results: Path) -> dict[str, tuple[str, ...]]:
    """Return the rows of a table that is there, by their files."""
    if not results.exists():
        return {}
    with results.open(encoding="utf-8") as file:
        found = [tuple(row.get(name) or "" for name in HEAD) for row in csv.DictReader(file)]
    return {row[0]: row[1:] for row in found}


def main(
    folder: Annotated[Path, typer.Argument(help="A copy of the collection.")],
    most: Annotated[int, typer.Option(help="Largest number of states of a property.")] = MOST,
    only: Annotated[
        str, typer.Option(help="Files to evaluate, as a pattern: others keep rows.")
    ] = "",
    results: Annotated[Path, typer.Option(help="Where the table goes.")] = RESULTS,
    resume: Annotated[bool, typer.Option(help="Keep the rows that are there.")] = False,
) -> None:
    """Read all PRISM files but the copies of SBML's tests, and evaluate a property of each."""
    paths = sorted(p for s in ("sm", "pm", "prism") for p in folder.rglob(f"*.{s}"))
    rows, found = rows_of(results), dict[str, tuple[str, ...]]()
    paths = [p for p in paths if "SBMLstochasticTests" not in p.parts and re.search(only, p.name)]
    for path in tqdm(paths, disable=None):
        same, row = content(path), rows.get(path.relative_to(folder).as_posix())
        if resume and row is not None:
            found[same] = row
        if same not in found:
            begin = time.process_time()
            answer = outcome(path, most)
            found[same] = (*answer, str(most), f"{time.process_time() - begin:.1f}")
        rows[path.relative_to(folder).as_posix()] = found[same]
        write_rows(results, HEAD, [(name, *rows[name]) for name in sorted(rows)])
    print(f"{time.process_time():.0f} s of CPU time")
    for said, count in Counter(row[1] for row in rows.values()).most_common():
        print(count, said)


if __name__ == "__main__":
    typer.run(main)
