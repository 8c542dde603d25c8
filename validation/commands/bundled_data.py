"""``hopflow data``: the bundled outputs of packet simulators, listed, shown, verified, made again."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Column, Table

from hopflow.checks import choice
from hopflow.console.command_line import AsJson, Commands, as_json, check_output, examples, refuse_unused
from hopflow.whole_files import replacing
from validation import evidence, history, manifest, row_checks
from validation.history import Change, History, Words, read_history

commands = Commands(help="The bundled outputs of packet simulators.", no_args_is_help=True)

WIDE = 100
"""Columns of a terminal from which on tables are printed whole."""
NUMBERS = {"runs": "runs", "seeds": "seeds", "cpu_seconds": "CPU s", "kilobytes": "kB"}


def _cases(incomplete: str) -> list[str]:
    """Complete the name of a case."""
    return [case for case in evidence.cases() if case.startswith(incomplete)]


def _papers(incomplete: str) -> list[str]:
    """Complete the name of a paper."""
    papers = sorted({case.partition("/")[0] for case in evidence.cases()})
    return [paper for paper in papers if paper.startswith(incomplete)]


Case = Annotated[
    str,
    typer.Argument(help="PAPER/CASE, or CASE as in `hopflow data list`.", autocompletion=_cases),
]


def case_generator(parameter: str) -> Any:
    """Return the module that builds cases.

    Raises
    ------
    ValueError
        Naming the parameter that asks for it, in an installed hopflow.
    """
    try:
        return importlib.import_module("validation.generate.__main__")
    except ModuleNotFoundError:
        message = f"{parameter}: the generators are in the source repository, not in an installed hopflow"
        raise ValueError(message) from None


@commands.command("list", epilog=examples("hopflow data list", "hopflow data list yang2001 --json"))
def list_cases(
    paper: Annotated[
        str | None,
        typer.Argument(help="Only the cases of this paper.", autocompletion=_papers),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the cases paper by paper: titles, runs, seeds, CPU seconds and sizes."""
    console = Console()
    overview = evidence.overview()
    if paper is not None:
        overview = overview[overview["paper"] == choice("paper", paper, set(overview["paper"]))]
    if json:
        typer.echo(as_json(overview.to_dict("records")))
        return
    titles = console.width >= WIDE
    for name, cases in overview.groupby("paper"):
        table = Table(Column("case", no_wrap=True), title=f"{name}: {len(cases)} case{'s' * (len(cases) > 1)}")
        table.expand = titles
        if titles:
            table.add_column("what it is", no_wrap=True, overflow="ellipsis", ratio=1)
        for heading in NUMBERS.values():
            table.add_column(heading, no_wrap=True, justify="right")
        for case in cases.to_dict("records"):
            table.add_row(
                str(case["case"]).partition("/")[2],
                *([str(case["title"])] if titles else []),
                *(f"{case[column]:.0f}" for column in NUMBERS),
            )
        table.add_section()
        totals = ("" if column == "seeds" else f"{cases[column].sum():.0f}" for column in NUMBERS)
        table.add_row("all", *([""] if titles else []), *totals)
        console.print(table)
    console.print(
        f"{len(overview)} cases, {overview['runs'].sum()} runs, "
        f"{overview['cpu_seconds'].sum():.0f} CPU s, {overview['kilobytes'].sum() / 1000:.1f} MB"
    )
    if not titles:
        console.print(f"Titles are shown from {WIDE} columns on; `hopflow data show CASE` and --json have them")


@commands.command(
    "show",
    epilog=examples(
        "hopflow data show zheng2002/periodic-loss",
        "hopflow data show zheng2002/window-sweep --table link --rows 5 --plot link.png",
        "hopflow data show zheng2002/periodic-loss --json",
    ),
)
def show_case(
    context: typer.Context,
    case: Case,
    name: Annotated[str | None, typer.Option("--table", help="One of its tables; default: the first.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows to print.")] = 12,
    picture: Annotated[
        Path | None,
        typer.Option("--plot", help="File of the plot; default: report/data/PAPER-CASE.png."),
    ] = None,
    value: Annotated[str | None, typer.Option(help="Column to plot; default: the main result of the table.")] = None,
    json: AsJson = False,
) -> None:
    """Show the provenance of a case, the meaning of its columns and its first rows; draw a plot of results, if it has any."""
    import pandas as pd

    from validation.display.picture_plans import NoPictureError
    from validation.display.pictures import draw

    console = Console()
    if json:
        refuse_unused(
            context, ("case", "name", "rows", "json"), "draws, and --json prints rows alone; omit one of them"
        )
    check_output("plot", picture)
    case = evidence.full_name(case)
    record = evidence.provenance(case)
    frame = evidence.table(case, name)
    if json:
        typer.echo(as_json({"provenance": record, "rows": frame.head(rows).to_dict("records")}))
        return
    drawn, why = None, ""
    try:
        drawn = draw(case, name, value=value)
    except NoPictureError as error:
        if picture is not None:
            raise ValueError(
                f"plot = {str(picture)!r}: {error}; name a column (--value) or another table (--table)"
            ) from None
        why = str(error)
    console.print(f"[bold]{case}[/]: {record['title']}")
    console.print(f"{record['tool']} {record['version']}; {record['runs']} runs, made {record['date']}")
    console.print(f"$ {record['command']}", highlight=False)
    for file, about in record["files"].items():
        columns = Table("column", "unit", "meaning", title=f"{file}: {about['rows']} rows")
        for column, what in about["columns"].items():
            marked = f"{column} *" if column in about["index"] else column
            columns.add_row(marked, what["unit"], what["meaning"])
        console.print(columns)
    console.print("* identifies a row")
    with pd.option_context("display.width", console.width, "display.max_columns", None):
        console.print(str(frame.head(rows)), markup=False, highlight=False)
    if drawn is None:
        console.print(why, markup=False, highlight=False)
        return
    picture = picture or Path("report", "data", f"{case.replace('/', '-')}.png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    with replacing(picture) as scratch:
        drawn.savefig(scratch, dpi=150)
    console.print(f"figure: {picture}")


@commands.command(
    "regenerate",
    epilog=examples(
        "hopflow data regenerate zheng2002/periodic-loss",
        "hopflow data regenerate zheng2002/periodic-loss --jobs 1 --json",
    ),
)
def regenerate_case(
    case: Case,
    jobs: Annotated[int, typer.Option(min=1, help="Simulators side by side.")] = 2,
    json: AsJson = False,
) -> None:
    """Run the packet simulator again for a case (in a checkout, with ns-2 or ns-3 installed)."""
    generator = case_generator("case")
    case = evidence.full_name(case, generator.all_cases())
    changed = generator.rebuild([case], jobs)
    if json:
        typer.echo(as_json({"case": case, "as_recorded": not changed, "changed": changed}))
        return
    said = "the same files as recorded"
    if changed:
        said = (
            "files changed, and are refused until they are restored, or `python -m validation.generate --seal` takes"
            f" them:\n{chr(10).join(changed)}"
        )
    Console().print(f"{case}: {said}", highlight=False, markup=False)


@commands.command("verify", epilog=examples("hopflow data verify", "hopflow data verify --json"))
def verify_data(json: AsJson = False) -> None:
    """Compare bundled files and published tables with the manifests, columns with each other, and all with the history in git.

    Prints the commit that first held each expectation. Exit status 1 on damage and for a program that is not the one a record names.
    In a checkout also for rows and files that changed since a base commit without a line in CHANGELOG.md that names their claim,
    case or file, for protected files that are not as committed, for tables of simulators that changed without their record, and
    for expectations that were changed afterwards.
    """
    checked, tables = manifest.verify(), manifest.verify_published()
    identities = row_checks.verify()
    programs = manifest.verify_programs()
    about = read_history()
    if json:
        counts = {
            "files": len(checked),
            "cases": len(evidence.cases()),
            "tables": len(tables),
            "identities": identities,
            "programs": programs._asdict(),
        }
        typer.echo(as_json(counts | {"history": _as_json(about)}))
    else:
        console = Console()
        console.print(
            f"{len(checked)} files of {len(evidence.cases())} cases and {len(tables)} published tables: all as recorded"
        )
        console.print(f"{identities} tables whose columns have identities: all rows add up")
        console.print(
            f"{programs.compared} hashes of programs: {programs.equal} are those of the files, {programs.listed} of versions "
            f"listed in {manifest.CHANGED_PROGRAMS}{f', {programs.absent} not in this copy' if programs.absent else ''}"
        )
        for line in _lines(about):
            console.print(line, highlight=False, markup=False)
    if not about.is_clean:
        raise typer.Exit(1)


ROWS_SHOWN = 5
"""Rows of a claim, case or file that are named; the others are counted."""


def _lines(about: History) -> Iterator[str]:
    """Yield what the history says, in words."""
    if about.missing:
        yield f"History not compared: {about.missing}."
        return
    for commit, names in _by_commit(about).items():
        claims = ", ".join(dict.fromkeys(name.split()[0] for name in names))
        yield f"Commit {commit} first held {len(names)} expectations, of {claims}."
    total = about.named + len(about.unnamed)
    yield f"Since commit {history.BASE[:8]} {total} rows and files changed; {about.named} have their line in {history.CHANGELOG}."
    for change in about.expectations:
        yield (
            f"EXPECTATION {change.how.upper()}: {change.row} in {change.table}, by {change.commit}; "
            f"commit {change.first} first held another one."
        )
    by_words: dict[Words, list[Change]] = {}
    for change in about.unnamed:
        by_words.setdefault(change.words, []).append(change)
    for words, changes in by_words.items():
        rows = "; ".join(map(_change, changes[:ROWS_SHOWN]))
        more = f"; {len(changes) - ROWS_SHOWN} more" if len(changes) > ROWS_SHOWN else ""
        yield f"NO LINE in {history.CHANGELOG} with {' and '.join(map(repr, words))}, added with or after: {rows}{more}."
    for table in about.without_record:
        yield f"CHANGED WITHOUT ITS RECORD: {table}."
    for file in about.uncommitted:
        yield f"NOT AS COMMITTED: {file}."
    yield f"Not compared: {'; '.join(history.UNSEEN)}."


def _change(change: Change) -> str:
    """Return a change in words: what, how and by which commit."""
    return f"{change.table}{f', {change.row},' if change.row else ''} {change.how} ({change.commit})"


def _by_commit(about: History) -> dict[str, list[str]]:
    """Return the expectations by the commit that first held them."""
    names: dict[str, list[str]] = {}
    for name, commit in about.first.items():
        names.setdefault(str(commit), []).append(name)
    return names


def _as_json(about: History) -> dict[str, Any]:
    """Return what the history says as in JSON: commits as texts."""

    def changes(some: tuple[Change, ...]) -> list[dict[str, Any]]:
        return [change._asdict() | {"first": str(change.first), "commit": str(change.commit)} for change in some]

    return about._asdict() | {
        "base": history.BASE,
        "first": {name: str(commit) for name, commit in about.first.items()},
        "expectations": changes(about.expectations),
        "unnamed": changes(about.unnamed),
        "unseen": history.UNSEEN,
    }
