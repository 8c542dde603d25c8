"""``hopflow infer``: what the printed numbers of a paper say about what it leaves open."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from hopflow.checks import count_of
from hopflow.console.command_line import AsJson, Commands, as_json, completions, examples
from validation.commands.bundled_data import case_generator
from validation.inference.recording import CASES, PAPERS, differences, infer_paper, record
from validation.inference.results import Inference, percent

commands = Commands()


def _papers(incomplete: str) -> list[str]:
    """Complete the name of a paper."""
    return completions(incomplete, PAPERS)


@commands.command(
    "infer",
    epilog=examples("hopflow infer zheng2002", "hopflow infer", "hopflow infer yang2001 --json"),
)
def infer(
    paper: Annotated[
        str | None,
        typer.Argument(help="zheng2002, yang2001 or kaneko2007; none: all.", autocompletion=_papers),
    ] = None,
    rerun: Annotated[
        bool,
        typer.Option(
            "--rerun",
            help="In a checkout: repeat the runs of all settings first (ns-2; up to an hour).",
        ),
    ] = False,
    save: Annotated[bool, typer.Option("--record", help="In a checkout: record the weights of all papers.")] = False,
    json: AsJson = False,
) -> None:
    """Infer the parameters that a paper does not state from the numbers that it prints.

    Each of the bundled settings is weighted by how well its runs reproduce the printed numbers; claims are judged in the settings so weighted. Exit status 1 when a weight differs from the recorded one.
    """
    if save and paper is not None:
        raise typer.BadParameter("records all papers at once: leave out the paper", param_hint="--record")
    console = Console(stderr=json)
    names = PAPERS if paper is None else (paper,)
    if rerun:
        case_generator("rerun").rebuild([case for name in names for case in CASES[name]], jobs=1)
    found = [infer_paper(name) for name in names]
    if save:
        record(found)
    if json:
        typer.echo(as_json([{**asdict(each), "compatible": each.compatible} for each in found]))
    else:
        for each in found:
            _print(console, each)
    if different := [claim for each in found for claim in differences(each)]:
        console.print(f"[red]not as recorded in inferred.csv:[/] {', '.join(different)}")
        raise typer.Exit(1)


def _print(console: Console, found: Inference) -> None:
    """Print what was inferred about a paper."""
    tau, omega = found.model_errors
    console.print(
        f"[bold]{found.paper}[/]: {count_of(found.runs, 'setting')} run, {found.settings} weighted, effective number {found.effective:.1f}\n"
        f"{found.used} printed numbers and sentences used; of {found.aside} set aside {found.covered} agree\n"
        f"{_further(found)}"
        f"error of the model: {_factor(tau)} for a number{f', {_factor(omega)} in common for a group' if omega else ''}; "
        f"known noise {_factor(found.noise)}, best setting {_factor(found.best)}"
        + ("" if found.compatible else ": no setting agrees within the noise alone")
        + "\nweights and 90 % intervals hold if the paper's simulator differs by these parameters and an error of that size alone",
        highlight=False,
    )
    table = Table("parameter", Column("meaning", ratio=1), "before", "after", "unit")
    for each in found.parameters:
        table.add_row(each.name, each.meaning, each.before, each.after, each.unit)
    console.print(table)
    claims = Table("claim", Column("statements", ratio=1), "all hold", "without the numbers")
    for weight in found.claims:
        said = ", ".join(f"{name} {percent(part)}" for name, part in weight.statements.items())
        claims.add_row(weight.claim, said, percent(weight.every), percent(weight.before))
    console.print(claims)


def _factor(log: float) -> str:
    return f"{100 * log:.0f} %"


def _further(found: Inference) -> str:
    """Return a line on numbers that took no part; "" where there are none."""
    number, agree = found.further
    return f"{number} further numbers predicted; {agree} agree\n" if number else ""
