"""``hopflow headroom audit``: audits of buffer tables on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hopflow.console import command_line as cli

__all__ = ["audit"]

EPILOG = cli.examples(
    "hopflow headroom audit pg_profile_lookup.ini",
    "hopflow headroom audit pg_profile_lookup.ini --chip tomahawk5 --json",
    "hopflow headroom audit config_db.json --cell 192 --lossless-mtu 4096",
    "hopflow headroom audit /etc/sonic/config_db.json --strict",
)


@dataclass(frozen=True)
class _Switch:
    """The switch whose table it is, and its peers."""

    chip: Annotated[str | None, typer.Option(help="The switch's chip: tomahawk5.")] = None
    cell: Annotated[
        str | None,
        typer.Option(help="Buffer cell: 192 B. Default: the chip's, or as the table shows."),
    ] = None
    mtu: Annotated[str, typer.Option(help="Largest frame of any class, bytes.")] = "9216 B"
    lossless_mtu: Annotated[str | None, typer.Option(help="Largest frame of the paused class; default: the MTU.")] = (
        None
    )
    response: Annotated[str | None, typer.Option(help="Peer's response time; default: IEEE 802.3.")] = None


@cli.expand_options
def audit(
    file: Annotated[
        Path,
        typer.Argument(help="pg_profile_lookup.ini, buffers.json.j2, config_db.json, or CSV (speed, cable, xoff)."),
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

    The status is 1 if a row holds less than the bytes on its cable, or a class with PFC has no headroom; with --strict also if
    a row does not cover the standard's response time, cannot be judged, or has a profile that is named for another port.
    """
    from dfcmodel.lossless import audit_headroom, read_table

    cli.check_output("plot", plot)
    found = audit_headroom(
        read_table(file, rate=rate, cable=cable), chip=switch.chip, cell=in_bytes(switch.cell),
        mtu=in_bytes(switch.mtu), lossless_mtu=in_bytes(switch.lossless_mtu), response=switch.response,
    )  # fmt: skip
    typer.echo(cli.as_json(found.to_dict()) if json else found.text())
    if plot is not None:
        cli.save_figure(found.plot(), plot, quiet=json)
    raise typer.Exit(1 if found.impossible or (strict and found.insufficient) else 0)


def in_bytes(text: str | None) -> Any:
    """Return a size with its unit; a plain number is in bytes, and None stays."""
    return f"{text} B" if text is not None and text.strip().isdigit() else text
