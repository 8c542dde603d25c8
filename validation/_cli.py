"""``hopflow validate``, ``hopflow figure`` and ``hopflow claims``."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape as _escaped

from hopflow.console.command_line import (
    AsJson,
    Commands,
    as_json,
    check_folder,
    examples,
    refuse_unused,
    warn_deprecated_option,
)
from hopflow.text_files import write_rows
from hopflow.whole_files import replacing
from validation import manifest
from validation.claims import claims_of_figure, figures, find, ledger
from validation.commands.claim_lines import print_recorded
from validation.commands.dask_clusters import connected
from validation.commands.judge_command import known_claims
from validation.display.finding_rows import Number
from validation.display.svg import drawn, standalone
from validation.display.texts import plain
from validation.judgements.recording import record as write_records
from validation.judgements.verdicts import Finding
from validation.networks.recomputing import PARTS
from validation.records import entries, recorded_verdicts

commands = Commands()


def _figures(incomplete: str) -> list[str]:
    """Complete the figure of a paper, or the id of a claim."""
    return [name for name in figures() if name.startswith(incomplete)] + known_claims(incomplete)


@commands.command(
    epilog=examples(
        "hopflow validate",
        "hopflow validate --claim M06 --claim M03 --report my_report",
        "hopflow validate --claim M06 --json",
        "hopflow validate --dask tcp://scheduler:8786",
    )
)
def validate(
    claim: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this one of `hopflow claims`; may be given several times.",
            autocompletion=known_claims,
        ),
    ] = None,
    report: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Forget what was computed before; kernels stay compiled."),
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="In a checkout: record the verdicts as found, with --claim those of these claims.",
        ),
    ] = False,
    recompute: Annotated[
        str | None,
        typer.Option(
            help="Bundled runs of ns-2 that the packet level computes again: today (default), a part "
            f"from 0 to {PARTS - 1}, all, none (default with --claim)."
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Check on the workers of this scheduler of Dask.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Also tables by paper, and a line and a paragraph for each claim.",
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Check every claim against the models and the bundled packet data; write the report.

    Where nothing has changed since the report was written, it is printed again. It can be read while claims are being checked, and after Ctrl-C, with what was found so far. A finding is kept and used again as long as nothing that it is made from changes: the code that its claim uses, texts, data, versions. After a change only the claims that use it are checked, with what models computed and the change does not touch. A part of the bundled runs of ns-2, another one each day, is computed again by the packet level. Exit status 1 when a verdict differs from the recorded one, or a run from ns-2.
    """
    from validation.commands.checking import collected, print_found, print_unchanged, recomputed
    from validation.judgements import running
    from validation.networks import recomputing
    from validation.report import Report
    from validation.report.stamps import hash_of_sources, is_current, write_stamp

    console = Console(stderr=json)
    check_folder("report", report)
    parts = recomputing.parts_of(recompute or ("none" if claim else "today"))
    sources = "" if claim else hash_of_sources()
    if not (claim or fresh or record or dask) and is_current(report, sources):
        manifest.verify()
        manifest.verify_published()
        pages = Report(report, entries())
        different = print_unchanged(pages, console, json=json, verbose=verbose)
        _end(different, not parts or recomputed(parts, pages, console), console)
        return
    if dask is None and (claim is None or len(claim) > 1):
        running.begin_imports(fresh=fresh)
    running.collect_less_often()
    chosen = [find(id) for id in claim] if claim else list(ledger().values())
    executor = connected(dask) if dask else None
    pages = Report(report, (each.id for each in chosen))
    start = time.perf_counter()
    manifest.verify()
    manifest.verify_published()
    found = collected(chosen, pages, console, fresh=fresh, executor=executor, recompute=parts)
    seconds = time.perf_counter() - start
    different = print_found(found, pages, console, seconds=seconds, json=json, verbose=verbose)
    repeated = not parts or recomputed(parts, pages, console)
    if record:
        write_records({each: found.findings[each] for each in chosen})
        return
    if not claim:
        write_stamp(report, sources)
    _end(different, repeated, console)


MAX_DIFFERENT = 10
"""Claims not as recorded that the terminal names."""


def _end(different: list[str], repeated: bool, console: Console) -> None:
    """Say which claims are not as recorded; exit with status 1 if there are any, or if a run was not repeated."""
    for claim in different[:MAX_DIFFERENT]:
        text = textwrap.shorten(claim, 80, placeholder=" ...)")
        console.print(f"[red]not as recorded:[/] {_escaped(text)}", highlight=False, soft_wrap=True)
    if len(different) > MAX_DIFFERENT:
        console.print(f"and {len(different) - MAX_DIFFERENT} more that are not as recorded")
    if different or not repeated:
        raise typer.Exit(1)


@commands.command(
    "figure",
    epilog=examples(
        "hopflow figure",
        "hopflow figure malhotra2005/4 --tables",
        "hopflow figure M03 --folder talk",
    ),
)
def draw_figure(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="PAPER/FIGURE, such as malhotra2005/4, or a claim, such as M03; none lists them all.",
            autocompletion=_figures,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder of the files.")] = Path("report/figures"),
    tables: Annotated[
        bool,
        typer.Option(
            "--tables",
            help="Write the points of each picture as CSV beside it: one row per point, with curve, x, y, ends of intervals, "
            "quantities and units; and the claim's table of numbers.",
        ),
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", hidden=True)] = False,
    json: AsJson = False,
) -> None:
    """Draw a figure of a paper: the model's curves, and packet runs with confidence intervals.

    A claim that `hopflow validate` has checked before, with nothing changed since, is not checked again.
    """
    from validation.commands.checking import checked_under_a_bar

    console = Console(stderr=json)
    if name is None:
        refuse_unused(context, ("json",), "is for a figure or a claim, and without a name all are listed")
    if csv:
        warn_deprecated_option("--csv", "--tables")
        tables = True
    if name is None:
        known = {figure: [claim.id for claim in claims] for figure, claims in figures().items()}
        if json:
            typer.echo(as_json(known))
            return
        for figure, ids in known.items():
            console.print(f"{figure}: {', '.join(ids)}", highlight=False)
        return
    check_folder("folder", folder)
    claims = claims_of_figure(name)
    found = dict(checked_under_a_bar(claims, console, fresh=False))
    files = []
    for claim in claims:
        if not found[claim].pictures:
            console.print(f"[bold]{claim.id}[/] {claim.where}: has no figure")
        for n, picture in enumerate(map(drawn, found[claim].pictures), 1):
            target = folder / f"{claim.id}-{n}.svg"
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as scratch:
                scratch.write_text(standalone(picture.svg), encoding="utf-8")
            caption = plain(picture.caption)
            about = {"claim": claim.id, "where": claim.where, "caption": caption, "file": target}
            console.print(f"[bold]{claim.id}[/] {claim.where}: {_escaped(caption)}\n{target}")
            if tables and picture.points is not None:
                about["points"] = place = target.with_suffix(".csv")
                with replacing(place) as scratch:
                    picture.points.to_csv(scratch, index=False, lineterminator="\n")
                console.print(f"points: {place}", highlight=False)
            files.append(about)
        if tables:
            target = _write_numbers(found[claim], folder / f"{claim.id}-numbers.csv")
            console.print(f"table of the claim: {target}", highlight=False)
    if json:
        typer.echo(as_json(files))


def _write_numbers(finding: Finding, path: Path) -> Path:
    """Write the table of a finding as CSV, values as text: quantity, model, simulation, paper, tolerance and level."""
    names = [each.name for each in dataclasses.fields(Number)]
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = ([plain(getattr(row, name)) for name in names] for row in finding.numbers)
    write_rows(path, names, rows)
    return path


@commands.command("claims", epilog=examples("hopflow claims", "hopflow claims --json"))
def list_claims(json: AsJson = False) -> None:
    """List the claims that can be checked, with their recorded verdicts."""
    recorded = recorded_verdicts()
    if json:
        names = ("id", "paper", "where", "setting", "text")
        typer.echo(
            as_json(
                [
                    {name: getattr(item, name) for name in names}
                    | dict(recorded[item.id].items() if item.id in recorded else ())
                    for item in ledger().values()
                ]
            )
        )
        return
    console = Console()
    for paper, own in itertools.groupby(ledger().values(), key=lambda item: item.paper):
        print_recorded(paper, list(own), console)
