"""``hopflow cache``: compiled kernels and kept results on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from hopflow.console.command_line import AsJson, Commands, as_json, examples

__all__ = ["commands"]

commands = Commands()


@commands.command(epilog=examples("hopflow cache", "hopflow cache --clear"))
def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove compiled kernels and kept results.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Show location and size of the cache of compiled kernels and kept results; with --clear, empty it."""
    from hopflow.kernels.cache import clear as empty
    from hopflow.kernels.cache import contents

    found = empty() if clear else contents()
    if json:
        about = {"folder": found.folder, "entries": found.entries, "bytes": found.size}
        typer.echo(as_json(about | {"removed": clear}))
        return
    word = "removed" if clear else "kept"
    where = f"in {found.folder}" if found.folder else "on disk: no folder is private to the user"
    typer.echo(f"{found.entries} entries, {found.size / 1e6:.1f} MB {word} {where}")
