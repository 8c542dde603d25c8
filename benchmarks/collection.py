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
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm import tqdm

from benchmarks.collection_paths import agrees, hits
from hopflow.text_files import write_rows
from markov.files import FileError, read_prism

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markov.files import FileModel

RESULTS = Path(__file__).resolve().parent / "results" / "collection.csv"
HEAD = (
    "file", "question", "outcome", "value", "bound", "reason", "paths", "hits", "effort", "most", "seconds",
)  # fmt: skip
WIDTHS = ("1e-9", "1e-6", "1e-3", "1e-2", "1e-1")
MOST = 200_000
LONG_RUN = "R=? [ S ]"
MAX_LONG_RUN_STATES = 2_000_000
IGNORED = re.compile(r"//[^\n]*|\s+")

USEFUL_WIDTH = 1e-3
MAX_ESTIMATE = 1e8
LEVEL = 1e-6
"""Probability that any of the intervals from simulated paths misses its value."""

Row = dict[str, str]


def files_of(folder: Path) -> list[Path]:
    """Return the PRISM files of the collection but the copies of SBML's tests."""
    paths = (p for suffix in ("sm", "pm", "prism") for p in folder.rglob(f"*.{suffix}"))
    return sorted(p for p in paths if "SBMLstochasticTests" not in p.parts)


def properties_of(path: Path) -> Path | None:
    """Return the properties file of a model: its own, or else the first in its folder."""
    own = (path.with_suffix(".csl"), path.with_suffix(".props"))
    beside = [*sorted(path.parent.glob("*.csl")), *sorted(path.parent.glob("*.props"))]
    return next((each for each in (*own, *beside) if each.exists()), None)


def content(path: Path) -> str:
    """Return a model and its properties, without comments and blanks."""
    files = [path, *filter(None, [properties_of(path)])]
    return "\0".join(IGNORED.sub("", file.read_text(encoding="utf-8")) for file in files)


def asked(path: Path, most: int) -> tuple[FileModel, str]:
    """Return the model of a file, and the property to evaluate."""
    properties = properties_of(path)
    if properties is None:
        return read_prism(path, most=MAX_LONG_RUN_STATES), LONG_RUN
    model = read_prism(path, most=most).with_properties(properties)
    assert model.properties is not None
    return model, next(iter(model.properties.properties))


def outcome(path: Path, most: int) -> Row:
    """Return what came of a file: the property's value is sought in at most ``most`` states."""
    begin = time.process_time()
    row = {"question": "", "most": str(most)}
    try:
        model, row["question"] = asked(path, most)
        found = model.property(row["question"], on_failure="return")
    except FileError as error:
        reason = str(error).partition(": ")[2]
        kind = next((k for k in ("not defined", "no value", "defined twice") if k in reason), reason)
        row["outcome"] = f"refused: a name is {kind}" if "def" in kind else f"refused: {kind}"
        return row
    row["effort"] = found.reason
    if found.value is None or not math.isfinite(found.error_bound):
        row["outcome"], row["value"] = "no bound", str(found.value)
        return row
    width = next((w for w in WIDTHS if found.error_bound <= float(w)), None)
    said = "a wider bound" if width is None else f"bound at most {width}"
    row["outcome"] = f"answered: {said}"
    row["value"], row["bound"] = repr(float(found.value)), f"{found.error_bound:.2e}"
    row["seconds"] = f"{time.process_time() - begin:.1f}"
    return row


def reason_of(path: Path, row: Row) -> str:
    """Return why a bound is wide, in words, with an estimate of the states that a narrower one takes.

    The estimate supposes that the logarithm of the width goes on to fall with that of the number of states as
    from half the number to the number.
    """
    most, width = int(row["most"]), 2.0 * float(row["bound"])
    half = outcome(path, most // 2)
    slope = math.log2(2.0 * float(half["bound"]) / width)
    lost = f"up to {width:.2g} of the probability has left sets of {most:,} states"
    if "followed until" in row["effort"]:
        lost = f"the jumps are too many: {row['effort'].partition('followed ')[2]} only"
    needed = most * (width / USEFUL_WIDTH) ** (1.0 / max(slope, 0.1))
    if needed > MAX_ESTIMATE:
        return f"{lost}; hardly fewer than with half as many: no estimate"
    return f"{lost}; about {needed:.0e} lose {USEFUL_WIDTH:g} if that falls as from half as many"


def rows_of(results: Path) -> dict[str, Row]:
    """Return the rows of a table that is there, by their files."""
    if not results.exists():
        return {}
    with results.open(encoding="utf-8") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def disagreements(rows: Iterable[Row]) -> tuple[int, list[str]]:
    """Return how many bounds were compared with simulated paths, and which files' do not agree."""
    compared = [row for row in rows if row.get("hits") and row.get("bound")]
    level = LEVEL / max(len(compared), 1)
    bad = []
    for row in compared:
        value, bound = float(row["value"]), float(row["bound"])
        if not agrees((value - bound, value + bound), int(row["hits"]), int(row["paths"]), level):
            bad.append(row["file"])
    return len(compared), bad


def main(
    folder: Annotated[Path, typer.Argument(help="A copy of the collection.")],
    most: Annotated[int, typer.Option(help="Largest number of states of a property.")] = MOST,
    only: Annotated[str, typer.Option(help="Files to evaluate, as a pattern: others keep rows.")] = "",
    results: Annotated[Path, typer.Option(help="Where the table goes.")] = RESULTS,
    resume: Annotated[bool, typer.Option(help="Keep the rows that are there.")] = False,
    reasons: Annotated[bool, typer.Option(help="Say why bounds are wide.")] = False,
    paths: Annotated[int, typer.Option(help="Simulated paths of each probability.")] = 0,
) -> None:
    """Read all PRISM files but the copies of SBML's tests, and evaluate a property of each."""
    rows, found = rows_of(results), dict[str, Row]()
    files = [p for p in files_of(folder) if re.search(only, p.name)]
    for path in tqdm(files, disable=None):
        name, same = path.relative_to(folder).as_posix(), content(path)
        row = found.setdefault(same, rows.get(name, {}) if resume else {})
        if not row:
            row.update(outcome(path, most))
        wide = float(row.get("bound") or 0.0) > USEFUL_WIDTH
        if reasons and wide and not row.get("reason"):
            row["reason"] = reason_of(path, row)
        if paths and row.get("bound") and not row.get("hits"):
            count = hits(*asked(path, 1), paths)
            row.update({} if count is None else {"paths": str(paths), "hits": str(count)})
        rows[name] = row | {"file": name}
        table = [tuple(rows[k].get(c) or "" for c in HEAD) for k in sorted(rows)]
        write_rows(results, HEAD, table)
    print(f"{time.process_time():.0f} s of CPU time")
    for said, count in Counter(row["outcome"] for row in rows.values()).most_common():
        print(count, said)
    compared, bad = disagreements(rows.values())
    print(f"{compared} compared with simulated paths")
    if bad:
        print(f"do not agree: {', '.join(bad)}")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
