"""``hopflow headroom``, ``pool`` and ``deadlock``: lossless networks on the command line."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfcmodel.lossless._audit_cli import EPILOG, audit, in_bytes
from dfcmodel.lossless.datasheets import PauseDatasheet
from dfcmodel.lossless.paused import headrooms
from hopflow.checks import count_of
from hopflow.console import command_line as cli
from hopflow.keywords import WithFields
from hopflow.units import quantity

if TYPE_CHECKING:
    from dfcmodel.lossless.pools.blocked_times import BlockedTime
    from dfcmodel.lossless.pools.headroom_pools import HeadroomPool

__all__ = ["commands"]

commands = cli.Commands()
group = cli.Commands(invoke_without_command=True)
commands.add_typer(group, name="headroom")
group.command(epilog=EPILOG)(audit)

CHIP_OF_AUDIT = (
    "--chip belongs to `hopflow headroom audit FILE`. The headrooms of chips are printed with each headroom; "
    "--cell and --pipeline are a chip's buffer cell and delay"
)
"""Error message of the hidden option ``--chip``."""


def _read_range(text: str) -> Any:
    """Return a string unchanged, or a range such as ``100m..300m`` as a pair."""
    low, dots, high = text.partition("..")
    return (low, high) if dots else text


def _read_numbers(name: str, text: str) -> float | tuple[float, float]:
    """Return a number, or a range such as ``0..0.5`` as a pair."""
    low, dots, high = text.partition("..")
    try:
        return (float(low), float(high)) if dots else float(text)
    except ValueError:
        msg = f"{name} = {text!r}: must be a number, or a range such as 1.9e8..2e8"
        raise ValueError(msg) from None


def _read_shares(name: str, text: str) -> float | tuple[float, float]:
    """Return a share such as ``0.5`` or ``50%``, or a range such as ``0..50%`` as a pair."""
    low, dots, high = text.partition("..")
    first, last = (quantity(name, end, "share", bare=True) for end in (low, high if dots else low))
    return (first, last) if dots else first


PORT, SHEET = cli.Parameter(headrooms.headroom), cli.Parameter(PauseDatasheet)
SIZE, SIZE_OF_SHEET = (
    cli.Parameter(of, lambda _, text: in_bytes(text), "192 or 9kB") for of in (headrooms.headroom, PauseDatasheet)
)
DELAY = cli.Parameter(PauseDatasheet, lambda _, text: _read_range(text), "1.2us, 905quanta, 820B, or a range 1us..2us")
NUMBER_OF_SHEET = cli.Parameter(PauseDatasheet, _read_numbers, "a number, or a range 1.9e8..2e8")
SHARE = cli.Parameter(headrooms.headroom, _read_shares, "0.5, 50%, or a range 0..50%")


@dataclass(frozen=True, kw_only=True)
class _Ports:
    """Ports and their peers: parameters of `headroom`."""

    rate: Annotated[list[str] | None, typer.Option(help="Line rate: 400Gbps. Several: a table.")] = None
    cable: Annotated[
        list[str] | None,
        typer.Option(help="Length: 300m, 2km, or a range 100m..300m. Several: a table."),
    ] = None
    mtu: Annotated[Any, SIZE]
    lossless_mtu: Annotated[Any, SIZE]
    cell: Annotated[Any, SIZE]
    response: Annotated[Any, DELAY]
    response_measured: Annotated[bool, SHEET]
    interface: Annotated[Any, DELAY]
    gearbox: Annotated[Any, DELAY]
    pipeline: Annotated[Any, DELAY]
    classes: Annotated[int, PORT]
    velocity: Annotated[Any, NUMBER_OF_SHEET]
    small_packets: Annotated[Any, SHARE]
    smallest: Annotated[Any, SIZE_OF_SHEET]
    exceeded: Annotated[Any, SHEET]
    merged: Annotated[bool, SHEET]
    resume_queued: Annotated[bool, SHEET]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `headroom` besides rate and cable."""
        return {name: value for name, value in vars(self).items() if name not in ("rate", "cable")}


@group.callback(
    epilog=cli.examples(
        "hopflow headroom --rate 400Gbps --cable 300m",
        "hopflow headroom --rate 100Gbps --cable 100m..300m --response 1.2us --response-measured --json",
        "hopflow headroom --rate 400Gbps --cable 300m --cell 192 --small-packets 0..0.5",
        "hopflow headroom --rate 100Gbps --rate 400Gbps --cable 30m --cable 300m",
    )
)
@cli.expand_options
def headroom(
    context: typer.Context,
    ports: _Ports,
    json: cli.AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the parts to this file.")] = None,
    chip: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Print the headroom: the bytes needed above a pause threshold for zero loss.

    Of several rates or cables the headrooms are printed as a table, in bytes. With ``audit``: a verdict on each
    row of a table of headrooms.
    """
    if chip is not None:
        raise typer.BadParameter(CHIP_OF_AUDIT, ctx=context)
    if context.invoked_subcommand is not None:
        for option in cli.given_options(context).values():
            msg = f"stands before {context.invoked_subcommand!r}, which does not see it: write it behind"
            raise typer.BadParameter(msg, ctx=context, param_hint=option)
        return
    for name, values in (("rate", ports.rate), ("cable", ports.cable)):
        if not values:
            raise typer.BadParameter(f"Missing option '--{name}'.", ctx=context)
    if ports.response is None and "response_measured" in cli.given_options(context):
        raise ValueError("response_measured = True: is of a --response, which is missing")
    from dfcmodel.lossless.audits.switch_chips import census_lines, chip_lines
    from dfcmodel.lossless.paused import headroom_tables

    rates, cables = ports.rate or [], [_read_range(length) for length in ports.cable or ()]
    several = len(rates) * len(cables) > 1
    if several and plot is not None:
        raise ValueError(f"plot = '{plot}': takes one rate and one cable, not a table")
    cli.check_output("plot", plot)
    if several:
        tabulate = WithFields(headroom_tables.headroom_table)
        table = tabulate(rates=rates, cables=cables, **ports.parameters())
        typer.echo(cli.as_json({"bytes": table.to_dict("index")}) if json else table)
        return
    result = WithFields(headrooms.headroom)(rate=rates[0], cable=cables[0], **ports.parameters())
    port = float(result.high.rate), result.metres[1]
    tables, laws = census_lines(*port), chip_lines(*port)
    typer.echo(cli.as_json({**result.to_dict(), "census": [*tables, *laws]}) if json else result)
    for heading, lines in (
        ("Public tables for this rate and cable:", tables),
        (
            "Laws of chips, found from their tables, for this rate and cable and any frame sizes:",
            laws,
        ),
    ):
        if lines and not json:
            typer.echo("\n  ".join([heading, *lines]))
    if plot is not None:
        cli.save_figure(result.plot(), plot, quiet=json)


@dataclass(frozen=True)
class _Pool:
    """A headroom pool: the parameters of `headroom_pool`, as strings of the command line."""

    headroom: Annotated[str, typer.Option(help="Of a class of a port: 225792 B, 220.5 KiB.")]
    rate: Annotated[str, typer.Option(help="Line rate of the ports: 400Gbps.")]
    ports: Annotated[int, typer.Option(help="Number of ports.")]
    size: Annotated[str, typer.Option(help="Of the pool: 40 MB.")]
    shared: Annotated[str, typer.Option(help="Buffer below the thresholds: 60 MB.")]
    classes: Annotated[int, typer.Option(help="Lossless classes of each port.")] = 1
    xoff: Annotated[str | None, typer.Option(help="Fixed thresholds: 100 kB.")] = None
    alpha: Annotated[
        float | None,
        typer.Option(help="Dynamic thresholds: alpha times the free shared buffer, 2**n of SONiC's dynamic_th n."),
    ] = None

    def build(self) -> HeadroomPool:
        """Return the headroom pool of the options."""
        from dfcmodel.lossless import headroom_pool
        from dfcmodel.lossless.quantities import size_in_bytes

        return headroom_pool(
            size_in_bytes("headroom", in_bytes(self.headroom)), self.ports, self.classes,
            size=in_bytes(self.size), shared=in_bytes(self.shared),
            xoff=in_bytes(self.xoff), alpha=self.alpha, rate=self.rate,
        )  # fmt: skip


@dataclass(frozen=True)
class _Traffic:
    """Active ports and classes, the time of blocked outputs, and the probability of a pause."""

    blocked: Annotated[str | None, typer.Option(help="How long outputs may serve nothing: 20us.")] = None
    active_ports: Annotated[int | None, typer.Option(help="Most ports active at once.")] = None
    active_classes: Annotated[int | None, typer.Option(help="Most classes of a port.")] = None
    paused: Annotated[str, typer.Option(help="Probability that a class of a port is paused, independently: 1%.")] = (
        "0.01"
    )


@commands.command(
    epilog=cli.examples(
        'hopflow pool --headroom "225792 B" --rate 400Gbps --ports 64 --classes 8 --size "40 MB" '
        '--shared "60 MB" --alpha 0.125',
        'hopflow pool --headroom "80 kB" --rate 100Gbps --ports 32 --size "1 MB" '
        '--shared "16 MB" --xoff "50 kB" --blocked 20us --json',
    )
)
@cli.expand_options
def pool(
    shared_pool: _Pool,
    traffic: _Traffic,
    json: cli.AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the worst case to this file.")] = None,
) -> None:
    """Print whether a headroom pool shared by ports and classes can overflow, when, and how probably."""
    from dfcmodel.lossless import PausedGroups, longest_blocking, overflow, worst_demand

    cli.check_output("plot", plot)
    headroom_pool = shared_pool.build()
    active: dict[str, Any] = {
        "active_ports": traffic.active_ports,
        "active_classes": traffic.active_classes,
    }
    paused = quantity("paused", traffic.paused, "share", bare=True)
    risk = overflow(headroom_pool, PausedGroups(paused))
    worst = worst_demand(headroom_pool, blocked=traffic.blocked, **active)
    times = longest_blocking(headroom_pool, **active)
    if json:
        sizes = {f"{limit:g}": risk.least_size(limit) for limit in (1e-6, 1e-9, 1e-12)}
        demand = {"reached": worst.lower, "at_most": worst.upper, "overflows": worst.overflows}
        chance = {"paused": paused, "overflow": risk.probability, "least_size": sizes}
        rows = {"oversubscription": headroom_pool.oversubscription, "demand": demand}
        blocks = {name: t if t < math.inf else None for name, t in times._asdict().items()}
        typer.echo(cli.as_json({**rows, "blocked": blocks, "probability": chance}))
    else:
        typer.echo(worst)
        typer.echo(_blocked_text(times))
        limited = any(limit is not None for limit in (traffic.blocked, *active.values()))
        of_limits = " and of the limits above" if limited else ""
        groups = count_of(headroom_pool.groups, "group")
        typer.echo(f"\n{groups}, each paused {paused:.3g} of the time, independently of the others{of_limits}:\n{risk}")
    if plot is not None:
        cli.save_figure(worst.plot(), plot, quiet=json)


def _blocked_text(times: BlockedTime) -> str:
    """Return how long outputs may be blocked: proved, and reached by a known traffic."""
    if times.safe == math.inf:
        return "blocked for any time: no overflow, proved"
    reached = f"for {times.overflows * 1e6:.4g} us: reached" if times.overflows < math.inf else "for longer: undecided"
    return f"blocked up to {times.safe * 1e6:.4g} us: no overflow, proved; {reached}"


@commands.command(
    epilog=cli.examples("hopflow deadlock topology.toml --plot cycle.svg", "hopflow deadlock topology.toml --json")
)
def deadlock(
    topology: Annotated[Path, typer.Argument(help="A TOML file with links or cables, and flows.")],
    most: Annotated[int, typer.Option(help="Cycles to print.", min=1)] = 5,
    json: cli.AsJson = False,
    plot: Annotated[Path | None, typer.Option(help="Draw network and cycle to this file.")] = None,
) -> None:
    """Print whether the pauses of a network can deadlock, and the cycles of buffers if they can."""
    from dfcmodel.lossless.cycles.deadlocks import deadlock as examine
    from dfcmodel.lossless.topologies.topology_files import load_topology

    cli.check_output("plot", plot)
    graph, routes = load_topology(topology)
    result = examine(graph, routes)
    if routes is not None:
        result = replace(result, routing=graph.graph["routing"])
    cycles = list(itertools.islice(result.cycles(), most))
    if json:
        typer.echo(cli.as_json({"free": result.is_free, "cycles": cycles, "routing": result.routing}))
    else:
        typer.echo(result)
        for cycle in cycles[1:]:
            typer.echo("  another  " + ", ".join(f"{a}->{b}" for a, b, *_ in cycle))
    if plot is not None:
        cli.save_figure(result.plot(), plot, quiet=json)
