"""The ``hopflow`` command."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import dfcmodel._cli
import markov._cli
from validation import evidence, verdicts
from validation.verdicts import Claim, Finding, Verdict

app = typer.Typer(
    help="Hop-by-hop flow control and end-to-end TCP: models, and what packet simulators say.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="The bundled outputs of packet simulators.", no_args_is_help=True)
app.add_typer(data, name="data")
for commands in (dfcmodel._cli.commands, markov._cli.commands):
    app.add_typer(commands)

STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.NOT_REPRODUCED: "yellow",
    Verdict.NOT_APPLICABLE: "dim",
    Verdict.UNDECIDABLE: "dim",
}


def _check(claims: list[Claim], console: Console) -> dict[Claim, Finding]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    findings = {}
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(claims))
        for claim in claims:
            progress.update(task, description=f"{claim.id} {claim.paper}")
            findings[claim] = claim.check()
            progress.advance(task)
    return findings


@app.command()
def validate(
    claim: Annotated[
        list[str] | None, typer.Option(help="Only this claim; may be given several times.")
    ] = None,
    report: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("report"),
) -> None:
    """Check every claim against the models and the bundled packet data; write the report.

    Exit status 1 when a verdict differs from the recorded one.
    """
    from validation.report import write

    console = Console()
    chosen = [verdicts.find(id) for id in claim] if claim else list(verdicts.ledger().values())
    start = time.perf_counter()
    evidence.verify()
    findings = _check(chosen, console)
    seconds = time.perf_counter() - start
    recorded = verdicts.expected()
    table = Table("claim", "paper", "model", "packets", "what was found", title="Verdicts")
    different = []
    for item, finding in findings.items():
        found = finding.model, finding.simulation
        if recorded.get(item.id) != found:
            different.append(item.id)
        cells = [f"[{STYLES[verdict]}]{verdict}[/]" for verdict in found]
        table.add_row(item.id, item.paper, *cells, finding.summary)
    console.print(table)
    page = write(findings, report, seconds)
    console.print(f"{len(findings)} claims in {seconds:.1f} s; report: {page}")
    if different:
        console.print(f"[red]not as recorded in verdicts.csv:[/] {', '.join(different)}")
        raise typer.Exit(1)


@app.command("claims")
def list_claims() -> None:
    """List the claims that can be checked, with the verdicts recorded."""
    table = Table("claim", "paper", "where", "what it says", "model", "packets")
    recorded = verdicts.expected()
    for item in verdicts.ledger().values():
        model, simulation = recorded.get(item.id, ("", ""))
        table.add_row(item.id, item.paper, item.where, item.text, str(model), str(simulation))
    Console().print(table)


@data.command("list")
def list_cases() -> None:
    """List the cases with their simulator and size."""
    table = Table("case", "title", "simulator", "runs", "simulated")
    for case in evidence.cases():
        record = evidence.provenance(case)
        simulator = f"{record['tool']} {record['version']}"
        simulated = f"{record['simulated_seconds']:g} s"
        table.add_row(case, record["title"], simulator, str(record["runs"]), simulated)
    Console().print(table)


@data.command("verify")
def verify_data() -> None:
    """Recompute the checksum of every bundled file; exit status 1 when one is damaged."""
    console = Console()
    checked = evidence.verify()
    console.print(f"{len(checked)} files of {len(evidence.cases())} cases: all as recorded")


def main() -> None:
    """Run the command; bad input ends with one line and exit status 2, damaged data with 1."""
    try:
        app()
    except evidence.DamagedDataError as error:
        Console(stderr=True).print(f"[red]damaged data:[/] {error}", highlight=False)
        raise SystemExit(1) from None
    except ValueError as error:
        Console(stderr=True).print(f"[red]error:[/] {error}", highlight=False)
        raise SystemExit(2) from None
