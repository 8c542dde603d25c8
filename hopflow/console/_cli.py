"""``hopflow cache``: compiled kernels on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from hopflow.console.command_line import AsJson, as_json, examples

__all__ = ["commands"]

commands = typer.Typer()


@commands.command(epilog=examples("hopflow cache", "hopflow cache --warm", "hopflow cache --clear"))
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all compiled kernels.")] = False,
    warm: Annotated[
        bool, typer.Option("--warm", help="Compile all kernels now, not at their first use.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show location and size of the cache of compiled kernels; with --clear, empty it; with --warm, fill it."""
    from hopflow.kernels.cache import clear_cache, kernel_cache

    if clear and warm:
        raise typer.BadParameter("--clear and --warm: must be one of them")
    found = clear_cache() if clear else kernel_cache()
    if warm:
        from hopflow.console.warming import warm_cache

        left_out, before, found = warm_cache(), found, kernel_cache()
        if not json:
            typer.echo(f"{found.kernels - before.kernels} kernels compiled")
            for name in left_out:
                typer.echo(f"not in the light installation: {name}")
    if json:
        about = {"folder": found.folder, "kernels": found.kernels, "bytes": found.size}
        typer.echo(as_json(about | {"removed": clear}))
        return
    word = "removed" if clear else "kept"
    typer.echo(f"{found.kernels} kernels, {found.size / 1e6:.1f} MB {word} in {found.folder}")
