"""``hopflow simulate``: scenarios by name or from a file on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dfcmodel.network.networks import Scenario

__all__ = ["commands"]

commands = typer.Typer()


def _scenario(name: str, dfc: bool | None, tcp: str | None, host: str | None) -> Scenario:
    """Return a scenario by its name, or from a TOML file, which allows no further options."""
    from dfcmodel.network.scenarios import takano2006
    from dfcmodel.network.toml_reading import load_scenario
    from hopflow.checks import choice

    if name.endswith(".toml"):
        for option, value in (("dfc", dfc), ("tcp", tcp), ("host", host)):
            if value is not None:
                raise ValueError(f"{option} = {value!r}: {name} defines it, omit --{option}")
        return load_scenario(name)
    paper, slash, short = name.partition("/")
    allowed = "must be takano2006/1 to takano2006/6, takano2006/4S, ..., or a file ending in .toml"
    if not slash:
        raise ValueError(f"scenario = {name!r}: {allowed}")
    choice("paper of the scenario", paper, ("takano2006",))
    return takano2006(short, dfc=dfc is not False, tcp=tcp, host=host)


@commands.command()
def simulate(
    scenario: Annotated[str, typer.Argument(help="takano2006/4, or my_network.toml")],
    dfc: Annotated[
        bool | None,
        typer.Option(
            "--dfc/--no-dfc",
            help="Diffusion-type flow control (default), or FIFO.",
            show_default=False,
        ),
    ] = None,
    tcp: Annotated[
        str | None, typer.Option(help="tahoe, reno, newreno or vegas; default: the paper's.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="shaped, unshaped or direct; default: shaped with DFC, else direct."),
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time in s.")] = None,
    level: Annotated[str, typer.Option(help="fluid, packets, or auto.")] = "fluid",
    steps: Annotated[int, typer.Option(help="Time steps of the fluid per link delay.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    runs: Annotated[int, typer.Option(help="Number of runs; more than one is an ensemble.")] = 1,
    plot: Annotated[Path | None, typer.Option(help="Write a plot of the result here.")] = None,
    animation: Annotated[
        Path | None, typer.Option(help="Write an animation of the queues: .gif, .mp4 or .html.")
    ] = None,
    netcdf: Annotated[Path | None, typer.Option(help="Write all records as netCDF here.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the scenario as TOML here.")] = None,
) -> None:
    """Simulate a network as a fluid, or packet by packet, and print a summary."""
    from dfcmodel.ensembles import Ensemble, ensemble
    from dfcmodel.methods import Packets
    from dfcmodel.network.toml_writing import save_scenario
    from dfcmodel.results.plots import animation_format
    from dfcmodel.results.trajectories import Trajectory
    from dfcmodel.simulation import simulate as run_once
    from hopflow.checks import choice

    methods: dict[str, Packets | str | None]
    methods = {"fluid": None, "packets": Packets(), "auto": "auto"}
    method = methods[choice("level", level, methods)]
    chosen = _scenario(scenario, dfc, tcp, host)
    if save is not None:
        typer.echo(f"scenario: {save_scenario(chosen, save)}")
    found: Trajectory | Ensemble
    if runs == 1:
        if animation is not None:
            animation_format(animation)
        found = run_once(chosen, method, duration=duration, steps_per_delay=steps, rng=seed)
    else:
        for option, value in (("animation", animation), ("netcdf", netcdf)):
            if value is not None:
                raise ValueError(f"{option} = {value}: needs a single run, omit --runs")
        found = ensemble(
            chosen, runs, seed=seed, duration=duration, steps_per_delay=steps, method=method
        )
    typer.echo(found)
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        found.plot().figure.savefig(plot)
        typer.echo(f"figure: {plot}")
    if isinstance(found, Trajectory):
        if animation is not None:
            typer.echo(f"animation: {found.animate().save(animation)}")
        if netcdf is not None:
            typer.echo(f"records: {found.to_netcdf(netcdf)}")


@commands.command()
def explain(
    scenario: Annotated[str, typer.Argument(help="takano2006/4 (without DFC), or my_network.toml")],
    measures: Annotated[
        str, typer.Option(help="Of share, losses, first_loss, completion, paused; by commas.")
    ] = "share",
    tcp: Annotated[
        str | None, typer.Option(help="tahoe, reno, newreno or vegas; default: the paper's.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time in s.")] = None,
    runs: Annotated[int, typer.Option(help="Number of seeds, at least 2.")] = 8,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    table: Annotated[Path | None, typer.Option(help="Write the numbers as CSV here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write the waterfall here.")] = None,
) -> None:
    """Explain how far packets are from a fluid: what each refinement accounts for."""
    from dfcmodel.levels.explaining import explain as explain_gap

    no_dfc = None if scenario.endswith(".toml") else False
    found = explain_gap(
        _scenario(scenario, no_dfc, tcp, None), measures.split(","), runs=runs, duration=duration,
        seed=seed,
    )  # fmt: skip
    typer.echo(found)
    if table is not None:
        table.parent.mkdir(parents=True, exist_ok=True)
        found.table().to_csv(table, index=False)
        typer.echo(f"table: {table}")
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        found.plot().figure.savefig(plot)
        typer.echo(f"figure: {plot}")


@commands.command()
def pde(
    scenario: Annotated[str, typer.Argument(help="takano2006/4, or my_network.toml")],
    packets: Annotated[float, typer.Option(help="Packets in the loaded node.")] = 1000.0,
    node: Annotated[float | None, typer.Option(help="Its number; default: the middle.")] = None,
    periods: Annotated[float, typer.Option(help="Time, in link delays.")] = 300.0,
    feedback: Annotated[
        bool, typer.Option(help="r fed back by eq. (5); otherwise r = 0, eq. (7).")
    ] = True,
    plot: Annotated[Path | None, typer.Option(help="Write a plot of the densities here.")] = None,
) -> None:
    """Solve the continuous limit of DFC for one loaded node in the chain of a scenario.

    Prints the evolution of the density and the stability limits of the law.
    """
    import numpy as np

    from dfcmodel.theory.law import law_of
    from dfcmodel.theory.pde import loaded_node
    from dfcmodel.theory.spectra import spectrum

    chain = _scenario(scenario, None, None, None)
    times = np.linspace(0.0, periods, 6) * law_of(chain).delay
    solution = loaded_node(chain, packets, times, node=node, feedback=feedback)
    typer.echo(solution)
    typer.echo(spectrum(chain))
    if plot is not None:
        solution.plot().figure.savefig(plot)
        typer.echo(f"figure: {plot}")
