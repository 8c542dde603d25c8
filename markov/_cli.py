"""``hopflow pause``: the 802.3x pause tandem on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()


@commands.command()
def pause(
    high_threshold: Annotated[int, typer.Option(help="T1, packets.")] = 15,
    low_threshold: Annotated[int | None, typer.Option(help="T2; default: T1.")] = None,
    rtt: Annotated[float, typer.Option(help="Round-trip time in s.")] = 1.0,
    arrival_rates: Annotated[str, typer.Option(help="lambda_1 ... lambda_N, packets/s.")] = "25 1",
    paused_rate: Annotated[float, typer.Option(help="mu2, packets/s.")] = 2.0,
) -> None:
    """Solve the 802.3x pause tandem of malhotra2005 and print the answer with its proof."""
    from hopflow.checks import number
    from markov.pause import PauseTandem
    from markov.solvers import stationary

    rates = tuple(float(number("arrival_rates", rate)) for rate in arrival_rates.split())
    model = PauseTandem(
        high_threshold=high_threshold,
        low_threshold=low_threshold,
        rtt=rtt,
        arrival_rates=rates,
        paused_rate=paused_rate,
    )
    typer.echo(stationary(model))
