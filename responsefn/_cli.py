"""``hopflow response``: rates, loss rates and curves on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from responsefn.responses.base import Response

__all__ = ["commands"]

commands = typer.Typer()


def _rule(parameter: str, name: str) -> Response:
    """Return the rule or law with this name, in upper or lower case, at its defaults."""
    from hopflow.checks import choice
    from responsefn.rule_catalogue import ENTRIES

    known = {type(entry).__name__.lower(): type(entry)() for entry in ENTRIES}
    return known[choice(parameter, name.lower(), sorted(known))]


@commands.command()
def response(
    rules: Annotated[
        list[str] | None,
        typer.Argument(help="reno, cubic, tfrc, ...; without any the catalogue is listed."),
    ] = None,
    rtt: Annotated[str, typer.Option(help="Round-trip time: 40ms, or a number of s.")] = "0.1",
    p: Annotated[
        list[float] | None,
        typer.Option(help="Loss event rate; may be repeated. Default: 1e-6 to 0.1."),
    ] = None,
    invert: Annotated[
        str | None, typer.Option(help="Rule whose loss event rate at --rate is asked for.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="For --invert: 1Mbps, or a number of packets/s.")
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(help="Capacity of the path, which some rules need: as for --rate."),
    ] = None,
    packet_size: Annotated[
        float, typer.Option(help="Bytes of a packet, for rates in bits.")
    ] = 1500.0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves to this file: .png, .svg or .pdf.")
    ] = None,
    unit_check: Annotated[
        bool, typer.Option(help="Refuse an RTT of 5 s or more, probably meant in ms.")
    ] = True,
) -> None:
    """Print the rates of rules over the loss event rate, or with --invert the loss event rate."""
    import numpy as np

    from hopflow.results import figure
    from hopflow.units import quantity, to_mbps
    from responsefn.responses.curves import curve
    from responsefn.responses.inverse import invert as inverse
    from responsefn.rule_catalogue import catalogue

    trip = quantity("rtt", rtt, "time", bare=True)
    capacity = None
    if bandwidth is not None:
        capacity = quantity("bandwidth", bandwidth, "rate", packet_size, bare=True)
    if rate is not None and invert is None:
        raise ValueError(f"rate = {rate!r}: is for --invert RULE only")
    if invert is not None:
        if rules:
            raise ValueError(f"invert = {invert!r}: goes without other rules, not {rules}")
        if rate is None:
            raise ValueError("rate is missing: --invert needs --rate, for example --rate 1Mbps")
        wanted = quantity("rate", rate, "rate", packet_size, bare=True)
        rule = _rule("invert", invert)
        try:
            found = inverse(rule, wanted, trip, capacity, unit_check=unit_check)
        except TypeError as error:  # a rule without an inverse says why
            raise ValueError(f"invert: {error}") from None
        typer.echo(f"{rule!r}: p = {float(found):.6g} for {wanted:.6g} packets/s at {trip:g} s")
        return
    if not rules:
        for row in catalogue().rows():
            typer.echo(f"{row['name']:<28} {row['domain']:<20} {row['source']}")
        return
    at = np.asarray(p) if p else np.geomspace(1e-6, 0.1, 6)
    chosen = [_rule("rule", name) for name in rules]
    table = curve(chosen, at, trip, capacity, unit_check=unit_check)
    typer.echo("p".ljust(12) + "".join(f"{rule!r}".rjust(28) for rule in chosen))
    for n, loss in enumerate(at):
        cells = (
            f"{rate:.5g} /s = {to_mbps(float(rate), packet_size):.4g} Mb/s".rjust(28)
            for rate in table.rate[:, n]
        )
        typer.echo(f"{loss:<12.4g}" + "".join(cells))
    if plot is not None:
        between = np.geomspace(at.min(), at.max(), 121)
        fine = curve(chosen, between, trip, capacity, unit_check=unit_check)
        new, axes = figure()
        fine.plot(axes)
        plot.parent.mkdir(parents=True, exist_ok=True)
        new.savefig(plot)
        typer.echo(f"figure: {plot}")
