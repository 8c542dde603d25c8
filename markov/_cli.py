"""``hopflow solve``: chains on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()
solve = typer.Typer(
    no_args_is_help=True, help="Solve pi Q = 0 and print the answer with its proof."
)
commands.add_typer(solve, name="solve")


@solve.command()
def pause(
    buffers: Annotated[tuple[int, int], typer.Option(help="B1 and B2, packets.")] = (10, 20),
    high_threshold: Annotated[int, typer.Option(help="T1, packets.")] = 15,
    low_threshold: Annotated[int | None, typer.Option(help="T2; default: T1.")] = None,
    link_rate: Annotated[float, typer.Option(help="mu1, packets/s.")] = 100.0,
    paused_rate: Annotated[float, typer.Option(help="mu2, packets/s.")] = 2.0,
    bottleneck_rate: Annotated[float, typer.Option(help="nu, packets/s.")] = 15.0,
    arrival_rates: Annotated[str, typer.Option(help="lambda_1 ... lambda_N, packets/s.")] = "25 1",
    rtt: Annotated[float, typer.Option(help="Round-trip time in s.")] = 1.0,
    recovery: Annotated[str, typer.Option(help="Rule 13: always, or up.")] = "always",
    pause_at_threshold: Annotated[
        str, typer.Option(help="Rules 6 and 8 at j = T1: exclusive, or both.")
    ] = "exclusive",
    plot: Annotated[Path | None, typer.Option(help="Draw the marginals into this file.")] = None,
) -> None:
    """Solve the 802.3x pause tandem of malhotra2005."""
    from markov.driver import stationary
    from markov.models.pause import PauseTandem

    try:
        rates = tuple(map(float, arrival_rates.split()))
    except ValueError:
        msg = "must be numbers separated by spaces"
        raise ValueError(f"arrival_rates = {arrival_rates!r}: {msg}") from None
    model = PauseTandem(
        buffers=buffers,
        high_threshold=high_threshold,
        low_threshold=low_threshold,
        link_rate=link_rate,
        paused_rate=paused_rate,
        bottleneck_rate=bottleneck_rate,
        arrival_rates=rates,
        rtt=rtt,
        recovery=recovery,
        pause_at_threshold=pause_at_threshold,
    )
    answer = stationary(model)
    typer.echo(answer)
    if plot is not None:
        answer.plot().figure.savefig(plot)
