"""``hopflow response``: rates, loss rates and curves on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopflow.console import command_line as cli
from hopflow.units import quantity

if TYPE_CHECKING:
    from responsefn.curves import Curve

__all__ = ["commands"]

commands = cli.Commands()
MAX_COLUMNS = 3
"""Maximum number of rules in columns; more rules are printed in rows."""


def _names(incomplete: str) -> list[str]:
    """Complete the name of a rule."""
    from responsefn.rule_catalogue import names

    return cli.completions(incomplete, names())


@dataclass(frozen=True)
class _Request:
    """Requested loss rates or rate, and the path."""

    rtt: Annotated[str, typer.Option(help="Round-trip time: 40ms, or a number of s.")] = "0.1"
    p: Annotated[
        list[str] | None,
        typer.Option(help="Loss event rate: 0.01 or 1%; may be repeated. Default: 1e-6 to 0.1."),
    ] = None
    invert: Annotated[
        str | None,
        typer.Option(help="Rule whose loss event rate at --rate is asked for.", autocompletion=_names),
    ] = None
    rate: Annotated[str | None, typer.Option(help="For --invert: 1Mbps, or a number of packets/s.")] = None
    bandwidth: Annotated[
        str | None,
        typer.Option(help="Capacity of the path, which some rules need: as for --rate."),
    ] = None
    packet_size: Annotated[str, typer.Option(help="Of a packet, for rates in bits: 1500, in bytes, or 9kB.")] = "1500"

    @property
    def bytes_per_packet(self) -> float:
        """Size of a packet in bytes."""
        return quantity("packet_size", self.packet_size, "size", bare=True)

    @property
    def trip(self) -> float:
        """The round-trip time in s."""
        return quantity("rtt", self.rtt, "time", bare=True)

    @property
    def capacity(self) -> float | None:
        """The capacity in packets/s, or None."""
        if self.bandwidth is None:
            return None
        return quantity("bandwidth", self.bandwidth, "rate", self.bytes_per_packet, bare=True)


@commands.command(
    epilog=cli.examples(
        "hopflow response reno cubic --rtt 40ms --plot curves.png",
        "hopflow response cubic --p 1e-5 --rtt 40ms --json",
        "hopflow response --invert tfrc --rate 1Mbps --rtt 100ms",
    )
)
@cli.takes_records
def response(
    rules: Annotated[
        list[str] | None,
        typer.Argument(
            help="reno, cubic, tfrc, ..., or my_rule.py; without any the catalogue is listed.",
            autocompletion=_names,
        ),
    ] = None,
    *,
    request: _Request,
    plot: Annotated[Path | None, typer.Option(help="Draw the curves to this file: .png, .svg or .pdf.")] = None,
    unit_check: Annotated[bool, typer.Option(help="Refuse an RTT of 5 s or more, probably meant in ms.")] = True,
    csv: cli.AsCsv = None,
    json: cli.AsJson = False,
) -> None:
    """Print the rates of rules over the loss event rate, or with --invert the loss event rate."""
    import numpy as np

    from responsefn.curves import curve
    from responsefn.rule_catalogue import rule_named

    cli.check_output("plot", plot)
    cli.check_output("csv", csv, ())
    for name, path in (("plot", plot), ("csv", csv)):
        if path is not None and not rules:
            raise ValueError(f"{name} = {str(path)!r}: is for rates of rules, name some")
    trip, capacity, invert = request.trip, request.capacity, request.invert
    if request.rate is not None and invert is None:
        raise ValueError(f"rate = {request.rate!r}: is for --invert RULE only")
    if invert is not None:
        if rules:
            raise ValueError(f"invert = {invert!r}: goes without other rules, not {rules}")
        if request.rate is None:
            raise ValueError("rate is missing: --invert needs --rate, for example --rate 1Mbps")
        target_rate = quantity("rate", request.rate, "rate", request.bytes_per_packet, bare=True)
        _invert(invert, target_rate, trip, capacity, unit_check, json)
        return
    if not rules:
        _list(json)
        return
    at = np.geomspace(1e-6, 0.1, 6)
    if request.p:
        at = np.asarray([quantity("p", text, "share", bare=True) for text in request.p])
    selected = [rule_named("rule", name) for name in rules]
    table = curve(selected, at, trip, capacity, unit_check=unit_check)
    if json:
        rates = {repr(rule): table.rate[n] for n, rule in enumerate(selected)}
        inside = {repr(rule): table.in_domain[n] for n, rule in enumerate(selected)}
        typer.echo(cli.as_json({"rtt": trip, "p": at, "rate": rates, "in_domain": inside}))
    else:
        _print(table, request.bytes_per_packet)
    if csv is not None:
        rows = [
            {"rule": repr(rule), "p": loss, "rtt": trip, "rate": rate, "in_domain": bool(inside)}
            for rule, rates, marks in zip(selected, table.rate, table.in_domain, strict=True)
            for loss, rate, inside in zip(table.p, rates, marks, strict=True)
        ]
        cli.save_table(rows, csv, quiet=json)
    if plot is not None:
        fine_p = np.geomspace(at.min(), at.max(), 121)
        fine_curve = curve(selected, fine_p, trip, capacity, unit_check=unit_check)
        cli.save_figure(fine_curve.plot(), plot, quiet=json)


def _invert(name: str, rate: float, rtt: float, capacity: float | None, unit_check: bool, json: bool) -> None:
    from responsefn.inverse import invert
    from responsefn.response import domain_of
    from responsefn.rule_catalogue import rule_named

    rule = rule_named("invert", name)
    try:
        p = invert(rule, rate, rtt, capacity, unit_check=unit_check)
    except TypeError as error:  # a rule without an inverse says why
        raise ValueError(f"invert: {error}") from None
    if json:
        inside = bool(rule.in_domain(p))
        answer = {"rule": repr(rule), "p": p, "rate": rate, "rtt": rtt, "in_domain": inside}
        typer.echo(cli.as_json(answer))
    else:
        mark = "" if rule.in_domain(p) else f" (outside of its domain, {domain_of(rule)})"
        typer.echo(f"{rule!r}: p = {float(p):.6g} for {rate:.6g} packets/s at {rtt:g} s{mark}")


def _list(json: bool) -> None:
    from responsefn.rule_catalogue import catalogue

    rows = catalogue().rows()
    if json:
        typer.echo(cli.as_json(rows))
        return
    for row in rows:
        typer.echo(f"{row['name']:<28} {row['domain']:<20} {row['source']}")


def _print(table: Curve, packet_size: float) -> None:
    """Print a row for each loss event rate; for more than three rules a row for each rule.

    Rates outside of a rule's domain have a star, which a line below explains.
    """
    from responsefn.response import domain_of

    _print_rates(table, packet_size)
    for rule, inside in zip(table.rules, table.in_domain, strict=True):
        if not inside.all():
            typer.echo(f"* outside of the domain of {rule!r}, {domain_of(rule)}")


def _print_rates(table: Curve, packet_size: float) -> None:
    import numpy as np

    from hopflow.units import to_mbps

    stars = np.where(table.in_domain, "", "*")
    if len(table.rules) <= MAX_COLUMNS:
        typer.echo("p".ljust(12) + "".join(f"{rule!r}".rjust(28) for rule in table.rules))
        for n, loss in enumerate(table.p):
            cells = (
                f"{rate:.5g} /s = {to_mbps(float(rate), packet_size):.4g} Mb/s{star}".rjust(28)
                for rate, star in zip(table.rate[:, n], stars[:, n], strict=True)
            )
            typer.echo(f"{loss:<12.4g}" + "".join(cells))
        return
    typer.echo("packets/s at p =".ljust(20) + "".join(f"{loss:.4g}".rjust(10) for loss in table.p))
    for rule, rates, marks in zip(table.rules, table.rate, stars, strict=True):
        cells = (f"{rate:.4g}{star}".rjust(10) for rate, star in zip(rates, marks, strict=True))
        typer.echo(f"{rule!r}".ljust(20) + "".join(cells))
