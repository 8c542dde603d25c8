"""``hopflow cache``: compiled kernels on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["commands"]

commands = typer.Typer()


@commands.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove them.")] = False,
) -> None:
    """Show where compiled kernels are kept and how much they take; with --clear, remove them."""
    from hopflow.kernels.cache import clear_cache, kernel_cache

    found = clear_cache() if clear else kernel_cache()
    word = "removed" if clear else "kept"
    typer.echo(f"{found.kernels} kernels, {found.size / 1e6:.1f} MB {word} in {found.folder}")
