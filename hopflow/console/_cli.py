"""``hopflow cache``: compiled kernels and kept results on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from hopflow.checks import count_of
from hopflow.console.command_line import AsJson, Commands, as_json, examples

__all__ = ["commands"]

commands = Commands()


@commands.command(epilog=examples("hopflow cache", "hopflow cache --clear"))
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove compiled kernels and kept results.")] = False,
    json: AsJson = False,
) -> None:
    """Show location and size of the cache of compiled kernels and kept results; with --clear, empty it."""
    from hopflow.kernels.cache import clear as empty
    from hopflow.kernels.cache import contents

    usage = empty() if clear else contents()
    if json:
        report = {"folder": usage.folder, "entries": usage.entries, "bytes": usage.size}
        typer.echo(as_json(report | {"removed": clear}))
        return
    verb = "removed" if clear else "kept"
    where = f"in {usage.folder}" if usage.folder else "on disk: no folder is private to the user"
    typer.echo(f"{count_of(usage.entries, 'entry', 'entries')}, {usage.size / 1e6:.1f} MB {verb} {where}")
