"""``hopflow simulate``: scenarios by name on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()


@commands.command()
def simulate(
    scenario: Annotated[str, typer.Argument(help="paper/name, for example takano2006/4")],
    dfc: Annotated[bool, typer.Option(help="With diffusion-type flow control, or FIFO.")] = True,
    tcp: Annotated[
        str | None, typer.Option(help="tahoe, reno or newreno; default: the paper's.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="shaped, unshaped or direct.")] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time in s.")] = None,
    seed: Annotated[int, typer.Option(help="Of the feedback phases.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Write the efficiency plot here.")] = None,
) -> None:
    """Simulate a scenario of takano2006 as a fluid and print what came out."""
    from dfcmodel.scenarios import takano2006
    from dfcmodel.simulation import simulate as run_scenario
    from hopflow.checks import choice

    paper, _, name = scenario.partition("/")
    choice("scenario", paper if name else scenario, ("takano2006",))
    run = run_scenario(takano2006(name, dfc=dfc, tcp=tcp, host=host), duration=duration, rng=seed)
    typer.echo(run)
    if figure is not None:
        run.plot().figure.savefig(figure)
        typer.echo(f"figure: {figure}")
