"""Entry point of the ``hopflow`` command and of ``python -m hopflow``."""

from __future__ import annotations

import sys

from hopflow import __version__

__all__ = ["main"]


def main() -> None:
    """Run the command; the version is printed before anything else is loaded."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"hopflow {__version__}\n")
        return
    from hopflow.console.commands import run

    run()
