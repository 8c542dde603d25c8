"""What ``hopflow validate`` does: claims checked under a progress bar, their lines, runs computed again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from validation.commands import claim_lines
from validation.judgements import running
from validation.judgements.verdicts import Claim, Finding
from validation.networks import recomputing
from validation.report import Report
from validation.report.rows import Row, as_json


@dataclass
class Found:
    """What a call has found so far, and whether it was interrupted.

    Attributes
    ----------
    claims
        Those to check, in the order of the lists.
    findings, rows
        Of those checked, by claim and by id.
    """

    claims: list[Claim]
    findings: dict[Claim, Finding] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    interrupted: bool = False

    def in_order(self) -> list[Row]:
        """Return the rows in the order of the claims."""
        return [self.rows[each.id] for each in self.claims if each.id in self.rows]


def checked_under_a_bar(
    claims: list[Claim],
    console: Console,
    *,
    fresh: bool,
    executor: Executor | None = None,
    recompute: Sequence[int] = (),
) -> Iterator[tuple[Claim, Finding]]:
    """Yield the claims with their findings as they are done, under a progress bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    hidden = not console.is_terminal  # it would leave an empty line in a file
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task("checking", total=len(claims))
        found = running.checked(claims, fresh=fresh, executor=executor, recompute=recompute)
        for claim, finding in found:
            progress.update(task, description=f"{claim.id} {claim.paper}", advance=1)
            yield claim, finding


def collected(
    claims: list[Claim],
    pages: Report,
    console: Console,
    *,
    fresh: bool,
    executor: Executor | None = None,
    recompute: Sequence[int] = (),
) -> Found:
    """Check claims and write their pages; Ctrl-C ends it with what was found.

    ``recompute`` are parts that processes compute again meanwhile, for `recomputed`.
    """
    found = Found(claims)
    try:
        for each, finding in checked_under_a_bar(claims, console, fresh=fresh, executor=executor, recompute=recompute):
            found.findings[each] = finding
            found.rows[each.id] = pages.add(each, finding)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


MAX_CLAIM_LINES = 10
"""Claims up to which each has a line and its answer; more are counted by paper, unless all is asked for."""


def print_rows(rows: list[Row], console: Console, *, verbose: bool) -> None:
    """Print a line for each paper; ``verbose``: tally, tables, a line and a paragraph for each claim.

    A few claims have the tally, a line and their answer each.
    """
    if not rows:
        return
    if len(rows) > MAX_CLAIM_LINES and not verbose:
        claim_lines.print_papers(rows, console)
        return
    claim_lines.print_tally(rows, console)
    if verbose:
        claim_lines.print_tables(rows, console)
    claim_lines.print_legend(console)
    for row in rows:
        claim_lines.print_row(row, console)
    for row in rows:
        (claim_lines.print_details if verbose else claim_lines.print_answer)(row, console)


def print_found(
    found: Found,
    pages: Report,
    console: Console,
    *,
    seconds: float,
    json: bool,
    verbose: bool = False,
) -> list[str]:
    """Print tally and claims, write the report, and return the claims not as recorded, with what differs.

    ``verbose`` adds the tables by paper, and a line and a paragraph for each claim.

    Raises
    ------
    typer.Exit
        With 130 after Ctrl-C.
    """
    rows = found.in_order()
    print_rows(rows, console, verbose=verbose)
    if found.interrupted:
        total = len(found.claims)
        console.print(f"interrupted: {len(rows)} of {total} claims; report: {pages.write()}")
        raise typer.Exit(130)
    claim_lines.print_surprises(rows, console)
    claim_lines.print_not_judged(rows, console)
    page = pages.write(seconds)
    _print_end(rows, console, f"in {seconds:.1f} s; report: {page}", json=json)
    return _not_as_recorded(rows)


def print_unchanged(pages: Report, console: Console, *, json: bool, verbose: bool) -> list[str]:
    """Print what a report says of all claims, as `print_found` does, and return the claims not as recorded."""
    rows = pages.in_order()
    print_rows(rows, console, verbose=verbose)
    claim_lines.print_surprises(rows, console)
    claim_lines.print_not_judged(rows, console)
    place = pages.folder / "index.html"
    _print_end(rows, console, f"as before, nothing has changed; report: {place}", json=json)
    return _not_as_recorded(rows)


def _print_end(rows: list[Row], console: Console, end: str, *, json: bool) -> None:
    if json:
        typer.echo(as_json(rows))
    checked = "1 claim" if len(rows) == 1 else f"{len(rows)} claims"
    console.print(f"{checked} {end}")


def _not_as_recorded(rows: list[Row]) -> list[str]:
    return [f"{row['id']} ({'; '.join(row['changed'])})" for row in rows if not row["as_recorded"]]


def recomputed(parts: range, pages: Report, console: Console) -> bool:
    """Compute bundled runs again, say how they compare, and return whether all are equal."""
    found = list(recomputing.recompute(parts))
    about = recomputing.about(found, parts)
    pages.recomputed(about)
    off = [each for each in found if each.differences]
    of = f" (part {parts[0]} of 0 to {recomputing.PARTS - 1})" if len(parts) == 1 else ""
    said = "all equal packet for packet" if not off else f"[red]{len(off)} differ[/]"
    console.print(
        f"Packet level: {len(found)} of {about['of_runs']} bundled runs of ns-2 computed again{of}, "
        f"{about['packets']} packets: {said}.",
        highlight=False,
    )
    for each in off:
        console.print(f"  {each.run}: {', '.join(each.differences)}", highlight=False)
    return not off
