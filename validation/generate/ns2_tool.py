"""How ns-2 is called: our Tcl scripts, given their options as words ``key value``."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from validation.generate.cases import ROOT, call

TOOL = "ns-2"
SCRIPTS = "validation/generate/ns2"


def version() -> str:
    """Version of ns-2 and, where it came from one, of its Debian package."""
    done = subprocess.run(
        ["ns"], input="puts [ns-version]; exit 0\n", capture_output=True, text=True, check=True
    )
    release = done.stdout.strip()
    if shutil.which("dpkg-query"):
        package = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "ns2"],
            check=False,
            capture_output=True,
            text=True,
        )
        if package.returncode == 0:
            return f"{release} (Debian ns2 {package.stdout.strip()})"
    return release


def command(script: str, options: Mapping[str, float | str]) -> str:
    """Command line, relative to the repository root, that runs ``script`` with ``options``."""
    words = [word for pair in options.items() for word in map(str, pair)]
    return shlex.join(["ns", f"{SCRIPTS}/{script}", *words])


def run(script: str, options: Mapping[str, float | str], folder: Path) -> str:
    """Run ``script`` in ``folder``; its standard output."""
    relative = f"{SCRIPTS}/{script}"
    line = command(script, options)
    return call(line.replace(relative, shlex.quote(str(ROOT / relative)), 1), folder)
