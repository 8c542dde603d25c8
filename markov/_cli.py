"""``hopflow solve``: chains on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from markov.files import FileModel

__all__ = ["commands"]


class FilesToo(TyperGroup):
    """A group of commands that takes the name of a file for the command ``file`` with it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        if args[0] not in self.commands and Path(args[0]).suffix in SUFFIXES:
            args = ["file", *args]
        return super().resolve_command(ctx, args)


PRISM, JANI, PYTHON = (".prism", ".sm", ".pm", ".ctmc"), (".jani",), (".py",)
SUFFIXES = PRISM + JANI + PYTHON
commands = typer.Typer()
solve = typer.Typer(
    cls=FilesToo,
    no_args_is_help=True,
    help="Solve pi Q = 0 and print the answer with its proof; evaluate properties of models in "
    "files: hopflow solve model.prism --property 'S=? [ x > 3 ]'.",
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


@solve.command()
def file(
    path: Annotated[Path, typer.Argument(help=f"A model: {', '.join(SUFFIXES)}.")],
    property: Annotated[  # the option's name
        list[str] | None,
        typer.Option(help="A CSL property, or the name of one in the file of properties."),
    ] = None,
    properties: Annotated[Path | None, typer.Option(help="A PRISM file of properties.")] = None,
    const: Annotated[str, typer.Option(help="Constants: N=5,rate=0.1")] = "",
    plot: Annotated[Path | None, typer.Option(help="Draw the stationary marginals here.")] = None,
) -> None:
    """Solve a model in a file, or evaluate properties of it; `hopflow solve FILE` does the same.

    A .py file is run as Python: its variable `model`, or the one ChainModel that it defines.
    """
    from markov.driver import stationary

    constants = constants_of(const)
    if path.suffix in PYTHON:
        for name, given in (("property", property), ("properties", properties), ("const", const)):
            if given:
                raise ValueError(f"{name} = {str(given)!r}: goes with PRISM and JANI files")
        model: Any = python_model(path)
    else:
        model = file_model(path, constants)
        if properties is not None:
            model = model.with_properties(properties)
        names = property or (list(model.properties.properties) if properties is not None else [])
        for text in names:
            typer.echo(model.property(text, on_failure="return"))
        if names:
            return
    answer = stationary(model)
    typer.echo(answer)
    if plot is not None:
        answer.plot().figure.savefig(plot)


def file_model(path: Path, constants: dict[str, Any]) -> FileModel:
    """Return the model of a PRISM or JANI file."""
    from markov.files import read_jani, read_prism

    if path.suffix in JANI:
        return read_jani(path, constants=constants)
    if path.suffix not in PRISM:
        raise ValueError(f"path = {str(path)!r}: must end in {', '.join(SUFFIXES)}")
    return read_prism(path, constants=constants)


def constants_of(text: str) -> dict[str, Any]:
    """Return constants from ``N=5,rate=0.1,fast=true``."""
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        try:
            number = float(value)
        except ValueError:
            if value not in ("true", "false"):
                allowed = "must be a number, true or false, as in N=5,rate=0.1"
                raise ValueError(f"const = {part!r}: {allowed}") from None
            found[name] = value == "true"
            continue
        if not name or not sign:
            raise ValueError(f"const = {part!r}: must be NAME=VALUE")
        found[name] = int(value) if value.lstrip("+-").isdigit() else number
    return found


def python_model(path: Path) -> Any:
    """Return the model of a user's own Python file."""
    import runpy

    from markov.models.rules import ChainModel

    if not path.is_file():
        raise ValueError(f"path = {str(path)!r}: there is no such file")
    found = runpy.run_path(str(path), run_name="model")
    if "model" in found:
        return found["model"]
    own = [
        value
        for value in found.values()
        if isinstance(value, type) and issubclass(value, ChainModel) and value.__module__ == "model"
    ]
    if len(own) != 1:
        said = f"{len(own)} models: must have one ChainModel, or a variable named model"
        raise ValueError(f"path = {str(path)!r}: {said}")
    return own[0]()
