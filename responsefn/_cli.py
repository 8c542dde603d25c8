"""``hopflow response``: rates, loss rates and curves on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from hopflow.console import command_line as cli
from hopflow.units import mbps, to_mbps
from responsefn import inverse
from responsefn.curves import Curve, curve
from responsefn.response import Response, domain_of
from responsefn.rule_catalogue import catalogue, names, rule_named

__all__ = ["commands"]

commands = cli.Commands()
MAX_COLUMNS = 3
"""Maximum number of rules in columns; more rules are printed in rows."""


def _names(incomplete: str) -> list[str]:
    """Complete the name of a rule."""
    return cli.completions(incomplete, names())


@commands.command(
    epilog=cli.examples(
        "hopflow response reno cubic --rtt 40ms --plot curves.png",
        "hopflow response cubic --p 1e-5 --rtt 40ms --json",
        "hopflow response --invert tfrc --rate 1Mbps --rtt 100ms",
    )
)
@cli.expand_options
def response(
    context: typer.Context,
    rules: Annotated[
        list[str] | None,
        typer.Argument(
            help="reno, 'aimd(b=0.25)', tfrc, ..., or my_rule.py; without any the catalogue is listed.",
            autocompletion=_names,
        ),
    ] = None,
    *,
    rtt: Annotated[float, cli.Parameter(curve)],
    p: Annotated[list[float] | None, cli.Parameter(curve)],
    invert: Annotated[
        str | None,
        typer.Option(help="Rule whose loss event rate at --rate is asked for.", autocompletion=_names),
    ] = None,
    rate: Annotated[float | None, cli.Parameter(inverse.invert)] = None,
    bandwidth: Annotated[float | None, cli.Parameter(curve)],
    packet_size: Annotated[float, cli.Parameter(mbps)],
    unit_check: Annotated[bool, cli.Parameter(curve)],
    plot: Annotated[Path | None, typer.Option(help="Draw the curves to this file: .png, .svg or .pdf.")] = None,
    csv: cli.AsCsv = None,
    json: cli.AsJson = False,
) -> None:
    """Print the rates of rules over the loss event rate, or with --invert the loss event rate."""
    cli.check_output("plot", plot)
    cli.check_output("csv", csv, ())
    if rate is not None and invert is None:
        raise ValueError("--rate is for --invert RULE only")
    if invert is not None:
        if rules:
            raise ValueError(f"invert = {invert!r}: goes without other rules, not {rules}")
        if rate is None:
            raise ValueError("rate is missing: --invert needs --rate, for example --rate 1Mbps")
        used = {"invert", "rate", "rtt", "bandwidth", "packet_size", "unit_check", "json"}
        cli.refuse_unused(context, used, "is for rates of rules, not for --invert")
        _refuse_unused(context, [rule_named("invert", invert)], prints_bits=False)
        _invert(invert, rate, rtt, bandwidth, unit_check, json)
        return
    if not rules:
        cli.refuse_unused(context, {"json"}, "is for rates of rules, name some")
        _list(json)
        return
    at = np.geomspace(1e-6, 0.1, 6) if p is None else np.asarray(p)
    selected = [rule_named("rule", name) for name in rules]
    _refuse_unused(context, selected, prints_bits=not json and len(selected) <= MAX_COLUMNS)
    table = curve(selected, at, rtt, bandwidth, unit_check=unit_check)
    if json:
        rates = {repr(rule): table.rate[n] for n, rule in enumerate(selected)}
        inside = {repr(rule): table.in_domain[n] for n, rule in enumerate(selected)}
        typer.echo(cli.as_json({"rtt": rtt, "p": at, "rate": rates, "in_domain": inside}))
    else:
        _print(table, rtt, bandwidth, packet_size)
    if csv is not None:
        rows = [
            {"rule": repr(rule), "p": loss, "rtt": rtt, "rate": rate, "in_domain": bool(inside)}
            for rule, rates, marks in zip(selected, table.rate, table.in_domain, strict=True)
            for loss, rate, inside in zip(table.p, rates, marks, strict=True)
        ]
        cli.save_table(rows, csv, quiet=json)
    if plot is not None:
        fine_p = np.geomspace(at.min(), at.max(), 121)
        fine_curve = curve(selected, fine_p, rtt, bandwidth, unit_check=unit_check)
        cli.save_figure(fine_curve.plot(), plot, quiet=json)


def _refuse_unused(context: typer.Context, rules: list[Response], *, prints_bits: bool) -> None:
    """Refuse a capacity that no rule uses, and a packet size by which nothing is converted."""
    given = cli.given_options(context)
    if "bandwidth" in given and all(rule.capacity == "ignored" for rule in rules):
        names = ", ".join(map(repr, rules))
        raise ValueError(f"{given['bandwidth']}: is for rules that depend on a queue, not for {names}")
    texts = (str(context.params[name] or "") for name in ("rate", "bandwidth"))
    if "packet_size" in given and not prints_bits and not any(text.strip()[-1:].isalpha() for text in texts):
        msg = f"converts bit rates: of up to {MAX_COLUMNS} rules as text, and of --rate and --bandwidth such as 1Mbps"
        raise ValueError(f"{given['packet_size']}: {msg}")


def _invert(name: str, rate: float, rtt: float, bandwidth: float | None, unit_check: bool, json: bool) -> None:
    rule = rule_named("invert", name)
    try:
        p = inverse.invert(rule, rate, rtt, bandwidth, unit_check=unit_check)
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
    rows = catalogue().rows()
    if json:
        typer.echo(cli.as_json(rows))
        return
    for row in rows:
        typer.echo(f"{row['name']:<28} {row['domain']:<20} {row['source']}")


def _print(table: Curve, rtt: float, bandwidth: float | None, packet_size: float) -> None:
    """Print a row for each loss event rate; for more than three rules a row for each rule.

    Rates outside of a rule's domain have a star, which a line below explains. Another line has what the rates are for,
    with the defaults.
    """
    _print_rates(table, packet_size)
    bits = f"; Mb/s in packets of {packet_size:g} bytes" if len(table.rules) <= MAX_COLUMNS else ""
    capacity = "" if bandwidth is None else f", {bandwidth:.6g} packets/s"
    typer.echo(f"at a round-trip time of {rtt:g} s{capacity}{bits}")
    for rule, inside in zip(table.rules, table.in_domain, strict=True):
        if not inside.all():
            typer.echo(f"* outside of the domain of {rule!r}, {domain_of(rule)}")


def _print_rates(table: Curve, packet_size: float) -> None:
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
