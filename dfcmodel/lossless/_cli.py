"""``hopflow headroom`` and ``hopflow deadlock``: lossless networks on the command line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()


def _ends(text: str) -> str | tuple[str, str]:
    """Return the string itself, or both ends of a range such as ``100m..300m``."""
    low, dots, high = text.partition("..")
    return (low, high) if dots else text


@commands.command()
def headroom(
    rate: Annotated[str, typer.Option(help="Line rate: 400Gbps.")],
    cable: Annotated[str, typer.Option(help="Length: 300m, 2km, or a range 100m..300m.")],
    mtu: Annotated[str, typer.Option(help="Largest frame of any class, bytes.")] = "9216 B",
    lossless_mtu: Annotated[
        str | None, typer.Option(help="Largest frame of the paused class; default: the MTU.")
    ] = None,
    cell: Annotated[str | None, typer.Option(help="Buffer cell: 192 B. Default: bytes.")] = None,
    response: Annotated[
        str | None,
        typer.Option(help="Peer's response time: 1.2us, 905quanta; default: IEEE 802.3."),
    ] = None,
    response_measured: Annotated[
        bool, typer.Option(help="Accept a response time below the standard's maximum.")
    ] = False,
    interface: Annotated[str, typer.Option(help="Delay of the receiver's MAC and PHY.")] = "0ns",
    gearbox: Annotated[
        str, typer.Option(help="Delay of a retimer or gearbox, per direction.")
    ] = "0ns",
    pipeline: Annotated[str, typer.Option(help="From threshold crossing to pause frame.")] = "0ns",
    classes: Annotated[int, typer.Option(help="Classes paused separately.")] = 1,
    small_packets: Annotated[float, typer.Option(help="Fraction of frames of any size.")] = 0.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the parts to this file.")] = None,
) -> None:
    """Print the headroom: the bytes needed above a pause threshold for zero loss."""
    from dfcmodel.lossless import headrooms

    found = headrooms.headroom(
        rate,
        _ends(cable),
        _bytes(mtu),
        None if lossless_mtu is None else _bytes(lossless_mtu),
        None if cell is None else _bytes(cell),
        response=None if response is None else _ends(response),
        response_measured=response_measured,
        interface=_ends(interface),
        gearbox=_ends(gearbox),
        pipeline=_ends(pipeline),
        classes=classes,
        small_packets=small_packets,
    )
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else found)
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        found.plot().figure.savefig(plot)
        if not as_json:
            typer.echo(f"figure: {plot}")


def _bytes(text: str) -> str:
    """Return a size with its unit; a plain number is in bytes."""
    return f"{text} B" if text.strip().isdigit() else text


@commands.command()
def deadlock(
    topology: Annotated[Path, typer.Argument(help="A TOML file with links or cables, and routes.")],
    most: Annotated[int, typer.Option(help="Cycles to print.", min=1)] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw network and cycle to this file.")] = None,
) -> None:
    """Print whether the pauses of a network can deadlock, and the cycles of buffers if they can."""
    from dfcmodel.lossless.deadlocks import deadlock as examine
    from dfcmodel.lossless.topology_files import load_topology

    found = examine(*load_topology(topology))
    cycles = list(itertools.islice(found.cycles(), most))
    if as_json:
        typer.echo(json.dumps({"free": found.is_free, "cycles": cycles}, indent=2, default=str))
    else:
        typer.echo(found)
        for cycle in cycles[1:]:
            typer.echo("  another  " + ", ".join(f"{a}->{b}" for a, b, *_ in cycle))
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        found.plot().figure.savefig(plot)
        if not as_json:
            typer.echo(f"figure: {plot}")
