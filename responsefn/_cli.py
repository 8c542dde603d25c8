"""``hopflow response``: rates, loss rates and curves on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from responsefn.responses import Response

__all__ = ["commands"]

commands = typer.Typer()
UNITS = {"": 0.0, "bps": 1.0, "kbps": 1e3, "mbps": 1e6, "gbps": 1e9}


def _rule(name: str) -> Response:
    """Return the rule or law with this name, in any case, at its defaults."""
    from hopflow.checks import choice
    from responsefn.catalogue import ENTRIES

    known = {type(entry).__name__.lower(): type(entry)() for entry in ENTRIES}
    return known[choice("rule", name.lower(), sorted(known))]


def _packets(name: str, text: str, packet_size: float) -> float:
    """Return a rate such as 1Mbps, or a bare number of packets/s, in packets/s."""
    from hopflow.units import mbps

    found = re.fullmatch(r"([0-9.eE+-]+)\s*([a-zA-Z/]*)", text.strip())
    unit = found.group(2).lower().replace("b/s", "bps").replace("bit/s", "bps") if found else "?"
    if found is None or unit not in UNITS:
        raise ValueError(
            f"{name} = {text!r}: must be packets/s, or a number with kbps, Mbps or Gbps"
        )
    try:
        value = float(found.group(1))
    except ValueError:
        raise ValueError(f"{name} = {text!r}: must begin with a number") from None
    return value if not unit else mbps(value * UNITS[unit] / 1e6, packet_size)


@commands.command()
def response(
    rules: Annotated[list[str] | None, typer.Argument(help="reno, cubic, tfrc, ...")] = None,
    rtt: Annotated[float, typer.Option(help="Round-trip time in s.")] = 0.1,
    p: Annotated[list[float] | None, typer.Option(help="Loss event rate; may be repeated.")] = None,
    invert: Annotated[str | None, typer.Option(help="Rule whose loss rate is asked for.")] = None,
    rate: Annotated[str | None, typer.Option(help="For --invert: 1Mbps, or packets/s.")] = None,
    bandwidth: Annotated[str | None, typer.Option(help="Capacity: 100Mbps, or packets/s.")] = None,
    packet_size: Annotated[float, typer.Option(help="Bytes, for rates in bits.")] = 1500.0,
    plot: Annotated[Path | None, typer.Option(help="Write the curves here.")] = None,
    unit_check: Annotated[bool, typer.Option(help="Refuse an RTT of 30 s or more.")] = True,
) -> None:
    """Print the rates of rules over the loss event rate, or with --invert the loss event rate.

    Without rules it lists the catalogue.
    """
    import numpy as np

    from hopflow.results import figure
    from hopflow.units import to_mbps
    from responsefn.catalogue import catalogue
    from responsefn.curves import curve
    from responsefn.inverse import invert as inverse

    capacity = None if bandwidth is None else _packets("bandwidth", bandwidth, packet_size)
    if invert is not None:
        if rate is None:
            raise ValueError("rate is missing: --invert needs --rate, for example --rate 1Mbps")
        wanted = _packets("rate", rate, packet_size)
        rule = _rule(invert)
        try:
            found = inverse(rule, wanted, rtt, capacity, unit_check=unit_check)
        except TypeError as error:  # a rule without an inverse says why
            raise ValueError(f"invert: {error}") from None
        typer.echo(f"{rule!r}: p = {float(found):.6g} for {wanted:.6g} packets/s at {rtt:g} s")
        return
    if not rules:
        for row in catalogue().rows():
            typer.echo(f"{row['name']:<28} {row['domain']:<20} {row['source']}")
        return
    at = np.asarray(p) if p else np.geomspace(1e-6, 0.1, 6)
    chosen = [_rule(name) for name in rules]
    table = curve(chosen, at, rtt, capacity, unit_check=unit_check)
    typer.echo("p".ljust(12) + "".join(f"{rule!r}".rjust(28) for rule in chosen))
    for n, loss in enumerate(at):
        cells = (
            f"{rate:.5g} /s = {to_mbps(float(rate), packet_size):.4g} Mb/s".rjust(28)
            for rate in table.rate[:, n]
        )
        typer.echo(f"{loss:<12.4g}" + "".join(cells))
    if plot is not None:
        between = np.geomspace(at.min(), at.max(), 121)
        fine = curve(chosen, between, rtt, capacity, unit_check=unit_check)
        new, axes = figure()
        fine.plot(axes)
        new.savefig(plot)
        typer.echo(f"figure: {plot}")
