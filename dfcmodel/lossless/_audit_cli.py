"""``hopflow headroom audit``: audits of buffer tables on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dfcmodel.lossless.audits.audits import audit_headroom
from hopflow.console import command_line as cli

__all__ = ["audit"]

EPILOG = cli.examples(
    "hopflow headroom audit pg_profile_lookup.ini",
    "hopflow headroom audit pg_profile_lookup.ini --chip tomahawk5 --json",
    "hopflow headroom audit config_db.json --cell 192 --lossless-mtu 4096",
    "hopflow headroom audit /etc/sonic/config_db.json --strict",
)


def in_bytes(text: str | None) -> Any:
    """Return the string of a size with its unit: " B" after digits alone; other strings and None are unchanged."""
    return f"{text} B" if text is not None and text.strip().isdigit() else text


TABLE = cli.Parameter(audit_headroom)
SIZE = cli.Parameter(audit_headroom, lambda _, text: in_bytes(text), "192 or 9kB")
TIME = cli.Parameter(audit_headroom, lambda _, text: text, "1.2us")


@dataclass(frozen=True)
class _Switch:
    """The switch whose table it is, and its peers: parameters of `audit_headroom`."""

    chip: Annotated[str | None, TABLE]
    cell: Annotated[Any, SIZE]
    mtu: Annotated[Any, SIZE]
    lossless_mtu: Annotated[Any, SIZE]
    response: Annotated[Any, TIME]


@cli.expand_options
def audit(
    file: Annotated[
        Path,
        typer.Argument(
            help="pg_profile_lookup.ini, buffers.json.j2, config_db.json, mmuconfig output, CSV (speed, cable, xoff)."
        ),
    ],
    switch: _Switch,
    rate: Annotated[str | None, typer.Option(help="Of rows without a rate: 400Gbps.")] = None,
    cable: Annotated[str | None, typer.Option(help="Of rows without a length: 300m.")] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Status 1 also for rows below the standard's response time."),
    ] = False,
    json: cli.AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the table to this file.")] = None,
) -> None:
    """Print a verdict on each row of a table of headrooms, with the reason and the value to write.

    The status is 1 if a row holds less than the bytes on its cable, or a class with PFC has no headroom; with --strict
    also if a row does not cover the standard's response time, cannot be judged, or has a profile that is named for
    another port.
    """
    from dfcmodel.lossless import read_table

    cli.check_output("plot", plot)
    result = audit_headroom(read_table(file, rate=rate, cable=cable), **vars(switch))
    typer.echo(cli.as_json(result.to_dict()) if json else result.text())
    if plot is not None:
        cli.save_figure(result.plot(), plot, quiet=json)
    raise typer.Exit(1 if result.impossible or (strict and result.insufficient) else 0)
