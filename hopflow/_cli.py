"""``hopflow cache``: compiled kernels on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()


@commands.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all compiled kernels.")] = False,
) -> None:
    """Show location and size of the cache of compiled kernels; with --clear, empty it."""
    from hopflow.kernels.cache import clear_cache, kernel_cache

    found = clear_cache() if clear else kernel_cache()
    word = "removed" if clear else "kept"
    typer.echo(f"{found.kernels} kernels, {found.size / 1e6:.1f} MB {word} in {found.folder}")
